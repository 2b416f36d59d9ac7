"use strict";
(() => {
  const $ = (selector) => document.querySelector(selector);
  const held = JSON.parse($("#held").textContent);
  const { facts, dials, driven, epsilon: asked, m, limits } = held;
  const rows = held.counts.length, draws = held.draws;

  function bytes(text) {
    const raw = atob(text), found = new Uint8Array(raw.length);
    for (let i = 0; i < raw.length; i++) found[i] = raw.charCodeAt(i);
    return found.buffer;
  }
  const counts = Float64Array.from(held.counts);
  const logLik = new Float32Array(bytes(held.logLik)); // draw by draw
  const mixture = new Float64Array(bytes(held.mixture));
  const shareByDraw = new Float32Array(bytes(held.shares));
  const measureByDraw = new Float64Array(bytes(held.measures));
  const total = counts.reduce((a, b) => a + b, 0);

  // |f| of each row, or how far f lies below the row's peak: values and draws, the largest first. The order never
  // changes, so that a step sorts nothing. A float of 32 bits above 0 sorts as its bits do; the draw rides along.
  const size = new Float32Array(rows * draws), order = new Uint16Array(rows * draws);
  function sortRows() {
    const one = new Float32Array(draws), bits = new Uint32Array(one.buffer), keys = new Float64Array(draws);
    for (let i = 0; i < rows; i++) {
      for (let s = 0; s < draws; s++) {
        const f = logLik[s * rows + i];
        one[s] = facts.kind === "cut" ? Math.max(facts.peak[i] - f, 0) : Math.abs(f);
      }
      for (let s = 0; s < draws; s++) keys[s] = bits[s] * 65536 + s;
      keys.sort();
      for (let j = 0; j < draws; j++) {
        const s = keys[draws - 1 - j] % 65536;
        order[i * draws + j] = s;
        size[i * draws + j] = one[s];
      }
    }
  }

  // What rows add to the log density at each draw, and the largest that one adds where weights are alpha.
  function summed(terms) {
    const { alpha, centre, low, high } = terms, totals = new Float64Array(draws), largest = new Float64Array(draws);
    const weight = new Float64Array(rows);
    for (let i = 0; i < rows; i++) weight[i] = alpha[i] * counts[i];
    for (let s = 0, at = 0; s < draws; s++) {
      let sum = 0, top = 0;
      if (low) {
        for (let i = 0; i < rows; i++, at++) {
          const a = alpha[i];
          if (a > 0) {
            const value = a * (logLik[at] - centre[i]);
            sum += counts[i] * (value < low[i] ? low[i] : value > high[i] ? high[i] : value);
          }
        }
      } else {
        for (let i = 0; i < rows; i++, at++) {
          const f = logLik[at], value = alpha[i] * (f < 0 ? -f : f);
          sum += weight[i] * f;
          if (value > top) top = value;
        }
      }
      totals[s] = sum;
      largest[s] = top;
    }
    return { totals, largest };
  }

  // Shares of the draws in proportion to their importance ratios, and what they are worth.
  function standing(totals) {
    const ratios = new Float64Array(draws), shares = new Float64Array(draws);
    let top = -Infinity, sum = 0, squares = 0;
    for (let s = 0; s < draws; s++) {
      ratios[s] = totals[s] - mixture[s];
      if (ratios[s] > top) top = ratios[s];
    }
    for (let s = 0; s < draws; s++) sum += shares[s] = Math.exp(ratios[s] - top);
    for (let s = 0; s < draws; s++) squares += (shares[s] /= sum) ** 2;
    return { shares, ratios, effective: 1 / squares };
  }

  // Pareto shape of the largest ratios (Vehtari et al. 2024; the fit is Zhang and Stephens', 2009).
  function khat(ratios) {
    const sorted = Float64Array.from(ratios, (r) => (Number.isFinite(r) ? r : -Infinity)).sort();
    const n = sorted.length, top = sorted[n - 1], tail = Math.ceil(Math.min(n / 5, 3 * Math.sqrt(n)));
    if (top === -Infinity) return Infinity;
    const least = Math.exp(sorted[n - tail - 1] - top), x = [];
    for (let i = n - tail; i < n; i++) {
      const over = Math.exp(sorted[i] - top) - least;
      if (over > 0) x.push(over);
    }
    return x.length < 5 ? -Infinity : paretoShape(x);
  }
  function paretoShape(x) {
    const n = x.length, grid = 30 + Math.floor(Math.sqrt(n)), quarter = x[Math.floor(n / 4 + 0.5) - 1];
    const mean = (rate) => x.reduce((sum, value) => sum + Math.log1p(-rate * value), 0) / n;
    const rates = [], profile = [];
    for (let j = 1; j <= grid; j++) {
      const rate = 1 / x[n - 1] + (1 - Math.sqrt(grid / (j - 0.5))) / (3 * quarter), shape = mean(rate);
      rates.push(rate);
      profile.push(n * (Math.log(-rate / shape) - shape - 1));
    }
    let sum = 0, rate = 0;
    rates.forEach((each, j) => {
      const weight = 1 / profile.reduce((all, other) => all + Math.exp(other - profile[j]), 0);
      sum += weight;
      rate += weight * each;
    });
    return (mean(rate / sum) * n + 5) / (n + 10);
  }

  // Expected largest of a run's draws, as `pool.py` has it: of a quarter of the stored ones' worth (2 ^ powers) it is
  // taken from them, and from there on it grows with the logarithm. `values` go down from the place `at` on, `by`
  // has the draw of each: one is the largest of 2 ^ p where none above it is drawn, with the chance (1 - above) ^ 2 ^ p.
  function expected(values, by, at, shares, powers) {
    let above = 0, few = 1, many = 1, ofFew = 0, ofMany = 0;
    for (let j = at; j < at + draws; j++) {
      const share = shares[by[j]];
      if (share === 0) continue;
      above += share;
      let chance = above >= 1 ? 0 : 1 - above;
      for (let p = 1; p < powers; p++) chance *= chance;
      ofFew += values[j] * (few - chance);
      ofMany += values[j] * (many - chance * chance);
      few = chance;
      many = chance * chance;
      if (few < 1e-10) break;
    }
    return ofMany + (ofMany - ofFew) * Math.log2(facts.numDraws / 2 ** powers);
  }
  function reliable(shares) {
    let squares = 0;
    for (let s = 0; s < draws; s++) squares += shares[s] ** 2;
    return Math.max(Math.floor(Math.log2(Math.min(facts.numDraws, (1 - 1e-9) / squares / 4))), 1);
  }
  function expectedByRow(shares) {
    const found = new Float64Array(rows), powers = reliable(shares);
    for (let i = 0; i < rows; i++) found[i] = expected(size, order, i * draws, shares, powers);
    return found;
  }
  function expectedOverall(largest, shares) {
    const by = Uint16Array.from(largest, (_, s) => s).sort((a, b) => largest[b] - largest[a]);
    return expected(Float64Array.from(by, (s) => largest[s]), by, 0, shares, reliable(shares));
  }

  // The rules, as `mechanisms/rules.py` has them.
  const clip = (value) => Math.min(Math.max(value, 0), 1);
  const known = (facts.largest || []).map((value) => value !== null);
  function risks(setting) {
    if (facts.rule === "LW") {
      const finite = facts.largest.filter((value) => value !== null), low = Math.min(...finite), high = Math.max(...finite);
      return facts.largest.map((value) => (value === null || high <= low ? 0 : (value - low) / (high - low)));
    }
    return outside(setting.radius);
  }
  let grouped = null;
  function groups() {
    if (grouped) return grouped;
    const place = Array.from(facts.near, (_, i) => i);
    place.sort((a, b) => facts.group[a] - facts.group[b] || facts.near[a] - facts.near[b]);
    const before = new Float64Array(rows + 1), ends = new Map();
    place.forEach((i, j) => {
      before[j + 1] = before[j] + counts[i];
      const group = facts.group[i];
      ends.set(group, [ends.has(group) ? ends.get(group)[0] : j, j]);
    });
    grouped = { place, before, ends };
    return grouped;
  }
  // Share of the group's records that lie farther away than the radius, by bisection on either side.
  function outside(radius) {
    const { place, before, ends } = groups(), risk = new Float64Array(rows);
    for (let j = 0; j < rows; j++) {
      const i = place[j], y = facts.near[i], [first, last] = ends.get(facts.group[i]);
      const reach = facts.category ? 0.5 : facts.relative ? radius * Math.abs(y) : radius;
      const far = (end) => {
        let inside = j, out = end + (end < j ? -1 : 1);
        while (Math.abs(out - inside) > 1) {
          const middle = (inside + out) >> 1;
          if (Math.abs(facts.near[place[middle]] - y) <= reach) inside = middle;
          else out = middle;
        }
        return inside;
      };
      const members = before[last + 1] - before[first];
      risk[i] = (members - (before[far(last) + 1] - before[far(first)])) / members;
    }
    return risk;
  }
  function firstAlpha(setting) {
    if (facts.rule === "SW") return Float64Array.from(known, (is) => (is ? setting.alpha : 0));
    const risk = risks(setting);
    return Float64Array.from(known, (is, i) => (is ? clip(setting.scale * (1 - risk[i]) + setting.shift) : 0));
  }
  function reweighted(alpha, largest, bound) {
    return Float64Array.from(alpha, (before, i) => {
      if (!known[i] || (before === 0 && (facts.keepZeros || largest[i] === 0))) return 0;
      return largest[i] > 0 ? Math.min(bound / largest[i], 1) : 1;
    });
  }

  // What weights come to, as a share of what they do in the widest fit made.
  function kept(alpha) {
    let sum = 0;
    for (let i = 0; i < rows; i++) sum += alpha[i] * counts[i];
    return sum / held.least;
  }

  // Each kind: what rows add at a setting, and what that comes to.
  function firstRound(setting) {
    const alpha = firstAlpha(setting), sums = summed({ alpha }), stand = standing(sums.totals);
    return { alpha, stand, delta: expectedOverall(sums.largest, stand.shares), kept: kept(alpha) };
  }
  function byRules(setting) {
    const first = firstRound(setting);
    if (!("k" in setting)) return { ...first, rounds: [first.stand] };
    const second = secondRound(setting.k, first, expectedByRow(first.stand.shares));
    return { ...second, rounds: [first.stand, second.stand], kept: Math.min(first.kept, second.kept) };
  }
  function secondRound(k, first, largest) {
    const alpha = reweighted(first.alpha, largest, k * first.delta), sums = summed({ alpha });
    const stand = standing(sums.totals);
    return { alpha, stand, delta: expectedOverall(sums.largest, stand.shares), kept: kept(alpha) };
  }
  const KINDS = {
    rules(setting) {
      const { alpha, stand, delta, rounds, kept } = byRules(setting), largest = expectedByRow(stand.shares);
      const bounds = Float64Array.from(alpha, (a, i) => (a > 0 ? a * largest[i] : 0));
      return { weights: alpha, bounds, delta, epsilon: 2 * delta * m, stand, rounds, kept };
    },
    budget(setting) {
      const bound = setting.epsilon / m / 2, most = bound / setting.cap;
      const alpha = new Float64Array(rows), low = new Float64Array(rows), high = new Float64Array(rows);
      for (let i = 0; i < rows; i++) {
        const at = facts.at[i];
        if (at === null) continue;
        const top = Math.max(Math.abs(at) + facts.reach, most), half = Math.min(top - Math.abs(at), top / 2);
        alpha[i] = Math.min(Math.min(bound / top, 1), setting.cap);
        low[i] = alpha[i] * (at - half);
        high[i] = alpha[i] * (at + half);
      }
      const stand = standing(summed({ alpha, centre: new Float64Array(rows), low, high }).totals);
      const bounds = Float64Array.from(alpha, (a) => (a > 0 ? bound : 0));
      const { epsilon } = setting;
      return { weights: alpha, bounds, delta: bound, epsilon, stand, rounds: [stand], kept: kept(alpha) };
    },
    cut(setting) {
      const bound = setting.epsilon / m, a = Math.min(1, bound / setting.cut), fill = (v) => new Float64Array(rows).fill(v);
      const terms = { alpha: fill(a), centre: facts.peak, low: fill(-bound), high: fill(0) };
      const stand = standing(summed(terms).totals), largest = expectedByRow(stand.shares), weights = fill(0);
      for (let i = 0; i < rows; i++) {
        let cut = 0;
        for (let j = 0; j < draws && a * size[i * draws + j] >= bound; j++) cut += stand.shares[order[i * draws + j]];
        weights[i] = a * Math.max(1 - cut, 0);
      }
      const bounds = Float64Array.from(largest, (value) => Math.min(a * value, bound));
      const { epsilon } = setting;
      return { weights, bounds, delta: bound, epsilon, stand, rounds: [stand], kept: kept(terms.alpha) };
    },
  };

  // What a setting comes to: the page's numbers, and what the tests hold against Python's.
  function step(setting) {
    const found = KINDS[facts.kind](setting), { shares } = found.stand;
    const mean = (width, values) => {
      const sums = new Float64Array(width);
      for (let s = 0; s < draws; s++) {
        const share = shares[s];
        if (share > 0) for (let b = 0; b < width; b++) sums[b] += share * values[s * width + b];
      }
      return sums;
    };
    const names = held.names.length, means = mean(names, measureByDraw);
    const squares = new Float64Array(names), errors = new Float64Array(names);
    for (let s = 0; s < draws; s++) {
      for (let b = 0; b < names; b++) {
        const square = (measureByDraw[s * names + b] - means[b]) ** 2;
        squares[b] += shares[s] * square;
        errors[b] += shares[s] ** 2 * square;
      }
    }
    const khats = found.rounds.map((stand) => khat(stand.ratios)), worth = found.rounds.map((stand) => stand.effective);
    const measures = Array.from(means, (value, b) => [value, Math.sqrt(squares[b]), Math.sqrt(errors[b])]);
    let meanWeight = 0;
    for (let i = 0; i < rows; i++) meanWeight += (found.weights[i] * counts[i]) / total;
    return {
      ...found, meanWeight, measures, shares: mean(held.bins.length, shareByDraw),
      khat: Math.max(...khats), effective: Math.min(...worth),
    };
  }

  // The largest value on the driven slider whose epsilon is at most this. A larger value never has less, and epsilon is
  // almost in proportion to it: the next guess is by proportion, kept between what is known to do and what is not.
  function drive(setting, most) {
    const { values } = dials.find((dial) => dial.name === driven);
    const first = driven === "k" ? firstRound(setting) : null;
    const largest = first && expectedByRow(first.stand.shares);
    const cost = (value) => {
      const found = first ? secondRound(value, first, largest) : firstRound({ ...setting, [driven]: value });
      return 2 * found.delta * m;
    };
    let low = -1, high = values.length, guess = nearest(values, setting[driven]);
    for (let tries = 0; high - low > 1; tries++) {
      const found = cost(values[guess]);
      if (found <= most) low = guess;
      else high = guess;
      const wanted = tries < 6 && found > 0 ? nearest(values, (values[guess] * most) / found) : (low + high) >> 1;
      guess = Math.min(Math.max(wanted, low + 1), high - 1);
    }
    return values[Math.max(low, 0)];
  }
  function nearest(values, wanted) {
    let best = 0;
    for (let i = 1; i < values.length; i++) if (Math.abs(values[i] - wanted) < Math.abs(values[best] - wanted)) best = i;
    return best;
  }

  // Words for numbers: privacy numbers are never rounded down.
  function roundUp(value) {
    if (value === 0 || !Number.isFinite(value)) return String(value);
    const places = Math.max(3 - Math.floor(Math.log10(value)), 0), unit = 10 ** places;
    let up = Math.ceil(value * unit);
    if (up / unit < value) up += 1;
    return places ? (up / unit).toFixed(places).replace(/\.?0+$/, "") : String(up);
  }
  const short = (value) => {
    if (!Number.isFinite(value)) return "";
    if (Math.abs(value) >= 1000) return Math.round(value).toLocaleString("en");
    return String(Number(value.toPrecision(4)));
  };
  // As many decimals as two digits of the error have, as `evaluation/digits.py` has it.
  function told(value, error) {
    if (!(error >= 1e-5) || !Number.isFinite(error) || !Number.isFinite(value)) return short(value);
    const exponent = Math.floor(Math.log10(error)), up = Math.round((error / 10 ** exponent) * 10) >= 100;
    const decimals = 1 - exponent - (up ? 1 : 0), places = Math.max(decimals, 0);
    const rounded = decimals < 0 ? Math.round(value * 10 ** decimals) / 10 ** decimals : Number(value.toFixed(places));
    return (rounded + 0).toLocaleString("en", { minimumFractionDigits: places, maximumFractionDigits: places });
  }
  const percent = (share) => `${Number((share * 100).toPrecision(3))} %`;
  const plain = (value) => String(Number(value.toPrecision(6)));
  const fixed = (value) => (value === -Infinity ? "none" : value === Infinity ? "no limit" : value.toFixed(2));

  const slider = (name) => document.getElementById(`dial-${name}`);
  const setting = Object.fromEntries(dials.map((dial) => [dial.name, dial.start]));
  function say(name, text) {
    slider(name).setAttribute("aria-valuetext", text);
    document.getElementById(`value-${name}`).textContent = text;
  }

  // Drawing: one path for all dots or bars of a kind, so that a step changes a few attributes.
  const WIDE = 420, HIGH = 240, LEFT = 54, BOTTOM = 34, TOP = 10, RIGHT = 10;
  const across = (share) => LEFT + share * (WIDE - LEFT - RIGHT), up = (share) => HIGH - BOTTOM - share * (HIGH - BOTTOM - TOP);
  const put = (figure, part, value) => figure.querySelector(`.${part}`).setAttribute("d", value);
  const at = (value) => value.toFixed(1);
  function label(figure, ends) {
    for (const [name, text] of Object.entries(ends)) figure.querySelector(`.${name}`).textContent = text;
  }
  function dots(xs, ys) {
    let path = "";
    for (let i = 0; i < rows; i++) path += `M${at(across(xs[i]))} ${at(up(ys[i]))}h0`;
    return path;
  }
  function bars(values, top, from = 0, to = 1) {
    const width = 1 / values.length;
    let path = "";
    values.forEach((value, i) => {
      const left = at(across((i + from) * width)), right = at(across((i + to) * width));
      path += `M${left} ${at(up(0))}V${at(up(value / top))}H${right}V${at(up(0))}z`;
    });
    return path;
  }
  const x = held.x, xLow = x ? Math.min(...x) : 0, xWide = x ? Math.max(...x) - xLow || 1 : 1;
  const places = x ? x.map((value) => (value - xLow) / xWide) : null;
  const HISTOGRAM = 20;
  function draw(found) {
    const top = Math.max(...found.bounds, found.delta) || 1, scatter = $("#figure-bounds svg");
    put(scatter, "points", dots(found.weights, Array.from(found.bounds, (value) => value / top)));
    put(scatter, "dashed", `M${LEFT} ${at(up(found.delta / top))}H${WIDE - RIGHT}`);
    label(scatter, { high: roundUp(top) });
    if (places) {
      const values = $("#figure-values svg");
      put(values, "points", dots(places, found.weights));
      label(values, { left: short(xLow), right: short(xLow + xWide) });
    }
    const spread = new Array(HISTOGRAM).fill(0);
    found.weights.forEach((weight, i) => (spread[Math.min(Math.floor(weight * HISTOGRAM), HISTOGRAM - 1)] += counts[i] / total));
    const most = Math.max(...spread), weights = $("#figure-weights svg");
    put(weights, "bars", bars(spread, most, 0.05, 0.95));
    label(weights, { high: percent(most) });
    const highest = Math.max(...held.confidential, ...found.shares), tables = $("#figure-tables svg");
    put(tables, "own", bars(held.confidential, highest, 0.05, 0.5));
    put(tables, "bars", bars(Array.from(found.shares), highest, 0.5, 0.95));
    label(tables, { high: percent(highest) });
    return spread;
  }
  function fill(found, spread) {
    document.querySelectorAll("#utility tbody tr").forEach((line, b) => {
      const own = held.own[b], [mean, sd, error] = found.measures[b];
      const cells = [[mean, error], [mean - own, error], [sd, sd], [error, error]];
      cells.forEach(([value, by], place) => (line.cells[place + 2].textContent = told(value, by)));
    });
    document.querySelectorAll("#bins tbody tr").forEach((line, b) => (line.cells[2].textContent = `${(found.shares[b] * 100).toFixed(1)} %`));
    document.querySelectorAll("#spread tbody tr").forEach((line, b) => (line.cells[1].textContent = `${(spread[b] * 100).toFixed(1)} %`));
  }
  function write(found, stands) {
    for (const [name, text] of Object.entries({
      epsilon: roundUp(found.epsilon), delta: roundUp(found.delta), weight: found.meanWeight.toFixed(3),
      khat: fixed(found.khat), effective: Math.round(found.effective).toLocaleString("en"),
    })) document.querySelectorAll(`[data-number="${name}"]`).forEach((place) => (place.textContent = text));
    document.querySelectorAll("[data-option]").forEach((place) => {
      const name = place.dataset.option;
      place.textContent = plain(setting[name]);
    });
    $("#own").hidden = dials.some((dial) => setting[dial.name] !== dial.start);
    document.body.classList.toggle("fails", !stands);
    $("#fails").hidden = stands;
    const svgs = { bounds: `Bounds against weights of ${rows} distinct rows; the largest bound is ${roundUp(found.delta)}.`,
      values: `Weights against values of ${rows} distinct rows; the mean weight is ${found.meanWeight.toFixed(3)}.`,
      weights: `Histogram of weights; the mean weight is ${found.meanWeight.toFixed(3)}.`,
      tables: `Confidential and synthetic shares over ${held.bins.length} bins; the numbers are in the table below.` };
    for (const [name, text] of Object.entries(svgs)) $(`#figure-${name} svg`)?.setAttribute("aria-label", text);
  }

  // In words, for who listens: once the hand rests.
  let later = 0;
  function tell(found, stands) {
    clearTimeout(later);
    later = setTimeout(() => {
      const where = dials.map((dial) => `${dial.name} ${plain(setting[dial.name])}`).join(", ");
      const trust = stands ? `k-hat ${fixed(found.khat)}, the draws are worth ${Math.round(found.effective)}` :
        "the stored draws do not stand for this setting: do not use these numbers";
      const [mean, sd, error] = found.measures[0];
      const first = `${held.names[0]} ${told(mean, error)} against ${told(held.own[0], sd)}`;
      $("#spoken").textContent = `${where}: epsilon ${roundUp(found.epsilon)}, mean weight ${found.meanWeight.toFixed(2)}, ${first}; ${trust}.`;
    }, 400);
  }

  function show() {
    const found = step(setting);
    const stands = found.khat <= limits.khat && found.effective >= limits.effective && found.kept >= limits.kept;
    fill(found, draw(found));
    write(found, stands);
    tell(found, stands);
    return found;
  }

  // A step for every frame at most, whatever the hand does in between.
  let pending = null, steps = [];
  function turn(name) {
    const waiting = pending !== null;
    pending = name;
    if (!waiting) requestAnimationFrame(() => {
      const turned = pending, begin = performance.now();
      pending = null;
      move(turned);
      steps.push(performance.now() - begin);
      if (steps.length > 1000) steps.shift();
    });
  }
  function move(name) {
    const dial = dials.find((each) => each.name === name), place = Number(slider(name).value);
    if (dial) {
      setting[name] = dial.values[place];
      say(name, plain(setting[name]));
    } else {
      setting[driven] = drive(setting, asked.values[place]);
      const own = dials.find((each) => each.name === driven);
      slider(driven).value = own.values.indexOf(setting[driven]);
      say(driven, plain(setting[driven]));
    }
    const found = show();
    if (!driven) return;
    if (dial) slider("epsilon").value = nearest(asked.values, found.epsilon);
    const beside = found.epsilon > asked.values[place] ? "no value goes so low" : `at most ${asked.values[place]} asked`;
    say("epsilon", dial ? roundUp(found.epsilon) : `${roundUp(found.epsilon)} (${beside})`);
  }

  sortRows();
  const names = [...dials.map((dial) => dial.name), ...(driven ? ["epsilon"] : [])];
  for (const name of names) {
    slider(name).disabled = false;
    slider(name).addEventListener("input", () => turn(name));
  }
  $("#again").disabled = false;
  $("#again").addEventListener("click", () => {
    for (const dial of dials) {
      slider(dial.name).value = dial.values.indexOf(dial.start);
      setting[dial.name] = dial.start;
      say(dial.name, plain(dial.start));
    }
    turn(dials[0].name);
  });
  for (const dial of dials) say(dial.name, plain(dial.start));
  const opened = show();
  if (driven) {
    slider("epsilon").value = nearest(asked.values, opened.epsilon);
    say("epsilon", roundUp(opened.epsilon));
  }
  clearTimeout(later); // nothing was moved yet
  document.body.classList.add("moves");
  window.explorer = { step, khat, drive, roundUp, setting, steps };
})();
