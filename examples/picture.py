"""The README's picture: a simulated table of visits and one synthetic table of it by `Raked`, side by side.

    python examples/picture.py docs/figures/what_comes_out.png

The table is simulated and the seed fixed, so that nothing here is confidential and the picture can be made again.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd

import alphasynth as syn

EPSILON, DELTA, ROWS, SEED = 4.0, 1e-9, 5_000, 7
GREY, BROWN = "#757575", "#b46e3c"


def draw(original: pd.DataFrame, synthetic: pd.DataFrame, out: Path) -> None:
    """Distributions of two columns, and what visits have to do with age and sex."""
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, spaces = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")
    for table, name, colour in ((original, "original", GREY), (synthetic, "synthetic", BROWN)):
        style = {"color": colour, "label": name}
        spaces[0].hist(table["age"], np.arange(18, 98, 4), histtype="step", linewidth=1.6, **style)
        spaces[1].hist(
            np.log10(table["income"].dropna() + 1), np.linspace(3.3, 5.3, 31), histtype="step", linewidth=1.6, **style
        )
        for sex, line in (("f", "-"), ("m", "--")):
            own = table[table["sex"] == sex]
            by_age = own.groupby(own["age"] // 10 * 10 + 5)["visits"].mean()
            spaces[2].plot(by_age.index, by_age, line, marker="o", markersize=3, **style | {"label": f"{name}, {sex}"})
    for space, (title, x, y) in zip(
        spaces,
        (("age", "years", "rows"), ("income", "log10", "rows"), ("visits by age and sex", "years", "mean visits")),
        strict=True,
    ):
        space.set(title=title, xlabel=x, ylabel=y)
        space.legend(frameon=False, fontsize=7)
    figure.suptitle(f"{ROWS:,} simulated people and one synthetic table: Raked, epsilon {EPSILON:g}, delta {DELTA:g}")
    figure.savefig(out, dpi=130)


def main() -> None:
    original = syn.datasets.visits(ROWS, SEED)
    made = syn.Synthesizer(syn.datasets.VISITS, mechanism="Raked", epsilon=EPSILON, delta=DELTA, m=1, seed=SEED)
    draw(original, made.fit(original).sample()[0], Path(sys.argv[1]))


if __name__ == "__main__":
    main()
