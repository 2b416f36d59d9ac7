"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const epsilon = document.getElementById("epsilon"), delta = document.getElementById("delta");
  const summary = document.getElementById("summary");
  const rows = [...document.querySelectorAll("tr[data-item]")], parts = [...document.querySelectorAll("tr[data-part]")];

  // The place of a height among the rungs: the rung below it, and how far it is to the next.
  const place = (heights, height) => {
    if (height <= heights[0]) return [0, 0];
    let at = 0;
    while (at < heights.length - 2 && heights[at + 1] < height) at += 1;
    return [at, Math.min((height - heights[at]) / (heights[at + 1] - heights[at]), 1)];
  };
  const curve = (pure) => (pure ? data.pure : data.gaussian);
  const heightsOf = (power) => (power === 0 ? data.pureHeights : data.heights[power - 1]);
  const noise = (item, pure, height) => {
    const { heights, noise: lines } = curve(pure), [at, share] = place(heights, height), line = lines[item];
    return Math.exp(line[at] + share * (line[at + 1] - line[at]));
  };
  const digits = (value) => (value < data.nothing ? `below ${data.nothing}` : value < 10 ? value.toFixed(2) : value.toFixed(0));
  const number = (value) => Number(value.toPrecision(2)).toLocaleString("en", { maximumSignificantDigits: 2, useGrouping: true });
  // The smallest epsilon of the slider's from which on noise stays below sampling error; it rises over the stops.
  const enough = (item, power) => {
    const heights = heightsOf(power);
    let from = heights.length;
    while (from > 0 && noise(item, power === 0, heights[from - 1]) < 1) from -= 1;
    if (from === 0) return "any";
    return from === heights.length ? `above ${data.epsilons[heights.length - 1]}` : String(data.epsilons[from]);
  };
  const show = () => {
    const step = Number(epsilon.value), power = Number(delta.value), pure = power === 0;
    const height = heightsOf(power)[step], words = pure ? "none (pure)" : `1e${data.powers[power - 1]}`;
    document.getElementById("epsilon-value").textContent = data.epsilons[step];
    document.getElementById("delta-value").textContent = words;
    epsilon.setAttribute("aria-valuetext", `epsilon ${data.epsilons[step]}`);
    delta.setAttribute("aria-valuetext", pure ? "no delta, a pure epsilon" : `delta ${words}`);
    let below = 0;
    for (const row of rows) {
      const item = Number(row.dataset.item), value = noise(item, pure, height), cells = row.children;
      cells[1].textContent = digits(value);
      cells[2].firstElementChild.style.width = `${Math.min(value, 2) * 45}px`;
      cells[3].textContent = number(value * data.errors[item]);
      cells[4].textContent = `${(100 * (Math.hypot(1, value) - 1)).toFixed(0)} %`;
      cells[5].textContent = enough(item, power);
      row.classList.toggle("loud", value >= 1);
      below += value < 1 ? 1 : 0;
    }
    const [at, share] = place(data.gaussian.heights, pure ? data.gaussian.heights[0] : height);
    for (const row of parts) {
      const percent = data.parts[row.dataset.part][share < 0.5 ? at : at + 1];
      if (!pure) row.children[1].textContent = percent;
      row.children[2].firstElementChild.style.width = `${percent}px`;
    }
    summary.textContent = `At epsilon ${data.epsilons[step]} ${pure ? "without a delta" : `and delta ${words}`}, privacy noise is below sampling error for ${below} of the ${rows.length} items below.`;
  };
  [epsilon.value, delta.value] = data.first;
  for (const slider of [epsilon, delta]) {
    slider.disabled = false;
    slider.addEventListener("input", show);
  }
  show();
})();
