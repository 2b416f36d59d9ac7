"""How long a step of the explorer takes in Chromium: 1,000 draws and 1,000 distinct rows, every mechanism.

Run: python benchmarks/explorer.py. A key is pressed on each slider, over and over; printed are the median and the
longest time of a step's computing and drawing commands, and of the whole from the key to the next picture on the screen
as the browser itself times it (in steps of 8 ms). The table is simulated.
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

from alphasynth.explorer.explore import explore
from alphasynth.explorer.opening import Start
from alphasynth.synthesis.outcome import carry_out
from alphasynth.synthesizer import Synthesizer
from alphasynth.tables.records import Records

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from browser import chromium

ROWS = 1_000
PRESSES = 20
MECHANISMS = {
    "LW": {},
    "CW": {"radius": 0.2, "relative": True},
    "SW": {"alpha": 0.5},
    "LW_final": {"k": 0.95},
    "CW_final": {"radius": 0.2, "relative": True, "k": 0.95},
    "BW": {"epsilon": 16},
    "Censored": {"epsilon": 4},
}
# Every key press that took 16 ms or more from the press to the picture.
WATCH = """() => { window.waited = []; new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) if (entry.name === "keydown") window.waited.push(entry.duration);
}).observe({ type: "event", durationThreshold: 16 }); }"""


def table() -> Records:
    """Records of 1,000 distinct counts."""
    rng = np.random.default_rng(1)
    counts = np.unique(rng.poisson(rng.gamma(3.0, 30_000 / 3.0, 4 * ROWS)))
    chosen = np.sort(rng.choice(counts, ROWS, replace=False))
    return Records.from_table(pd.DataFrame({"y": chosen}), ["y"])


def main() -> None:
    records, names = table(), sys.argv[1:] or list(MECHANISMS)
    print(f"{'mechanism':10s} {'MB':>6s} {'load':>7s} {'median':>8s} {'longest':>8s} {'to the picture':>15s}   ms")
    with chromium() as browser, tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in names:
            path = Path(folder) / f"{name}.html"
            asked = {"family": "negative_binomial", "mechanism": name, "m": 1, "seed": 1}
            synthesizer = Synthesizer("y ~ 1", **asked, **MECHANISMS[name])
            trail = carry_out(np.random.SeedSequence(1), synthesizer, synthesizer.model, records).trail
            start = Start.of_trail(trail, 1, synthesizer.epsilon)
            path.write_text(explore(np.random.SeedSequence(2), synthesizer, records, start))
            tab = browser.new_context(viewport={"width": 1_280, "height": 900}).new_page()
            tab.goto(path.as_uri())
            loaded = tab.evaluate("performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd")
            tab.evaluate(WATCH)
            for slider in tab.locator(".dial input").all():
                slider.focus()
                for key in ["ArrowLeft"] * PRESSES + ["ArrowRight"] * PRESSES:
                    tab.keyboard.press(key)
                    tab.wait_for_timeout(60)
            steps = np.array(tab.evaluate("explorer.steps"))
            waited = max(tab.evaluate("waited"), default=16)
            size = path.stat().st_size / 1e6
            numbers = f"{np.median(steps):8.1f} {steps.max():8.1f} {waited:15.0f}"
            print(f"{name:10s} {size:6.1f} {loaded:7.0f} {numbers}", flush=True)


if __name__ == "__main__":
    main()
