"use strict";
(() => {
  const all = (selector, within = document) => Array.from(within.querySelectorAll(selector));

  // Rows of violins close up over those that are hidden.
  function stack(svg) {
    const row = Number(svg.dataset.row), top = Number(svg.dataset.top), bottom = Number(svg.dataset.bottom);
    const shown = all(".row", svg).filter((g) => !g.classList.contains("off"));
    shown.forEach((g, i) => g.setAttribute("transform", `translate(0 ${i * row})`));
    const height = Math.max(shown.length, 1) * row;
    svg.setAttribute("viewBox", `0 0 420 ${top + height + bottom}`);
    svg.querySelector(".axis").setAttribute("transform", `translate(0 ${height})`);
    for (const tall of all("[data-tall]", svg)) tall.setAttribute(tall.tagName === "rect" ? "height" : "y2", height);
  }

  function show() {
    const hidden = new Set(all(".pick input").filter((box) => !box.checked).map((box) => box.value));
    for (const mark of all("[data-series]")) mark.classList.toggle("off", hidden.has(mark.dataset.series));
    all("svg.rows").forEach(stack);
  }
  all(".pick input").forEach((box) => box.addEventListener("change", show));

  // Tables sort by the column whose head is pressed: numbers by size, text by alphabet, gaps last.
  function sort(head) {
    const table = head.closest("table"), body = table.tBodies[0], place = head.cellIndex;
    const down = head.getAttribute("aria-sort") === "ascending";
    all("th", table).forEach((other) => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const key = (line) => line.cells[place].dataset.value ?? line.cells[place].textContent.trim();
    const lines = Array.from(body.rows).sort((a, b) => {
      const [x, y] = [key(a), key(b)];
      if (x === "" || y === "") return (x === "") - (y === "");
      const order = isNaN(x) || isNaN(y) ? x.localeCompare(y, "en", { numeric: true }) : Number(x) - Number(y);
      return down ? -order : order;
    });
    body.append(...lines);
  }
  all("th button").forEach((button) => button.addEventListener("click", () => sort(button.closest("th"))));

  // What a mark is, and the value under the pointer.
  const tip = document.createElement("div");
  tip.id = "tip";
  tip.hidden = true;
  tip.setAttribute("role", "status");
  document.body.append(tip);
  function tell(event) {
    const mark = event.target.closest ? event.target.closest("[data-tip]") : null;
    tip.hidden = !mark;
    if (!mark) return;
    const svg = mark.ownerSVGElement, box = svg.getBoundingClientRect();
    const at = ((event.clientX - box.left) / box.width) * 420;
    const { from, to, left, right } = svg.dataset;
    const value = Number(from) + ((at - left) / (right - left)) * (to - from);
    const inside = at >= Number(left) && at <= Number(right) && mark.classList.contains("row");
    const spoken = () => "dates" in svg.dataset ? new Date(Math.round(value) * 864e5).toISOString().slice(0, 10) : Number(value.toPrecision(4)).toLocaleString("en");
    tip.textContent = mark.dataset.tip + (inside ? ` (here: ${spoken()})` : "");
    const width = tip.offsetWidth, height = tip.offsetHeight;
    tip.style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - width - 4))}px`;
    tip.style.top = `${event.clientY + 18 + height > innerHeight ? event.clientY - height - 10 : event.clientY + 18}px`;
  }
  addEventListener("pointermove", tell);
  addEventListener("pointerdown", tell);
  addEventListener("scroll", () => { tip.hidden = true; }, { passive: true });
})();
