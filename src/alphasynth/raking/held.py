"""What is not measured and must not change: squares of a number where another column has gaps and where it has none.

Weights exp(tilt x y) that make x and y go together act on rows that have a y. They have more of the far x than of the
near ones, and rows without a y, since counts of x are held, fewer: x would vary more where y is there, and a regression
of y on x come out too flat. At the second degree such products are measured; at the first they are held to the pool.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from alphasynth.raking.cells import Cells
from alphasynth.raking.features import SCALE, Moments

# Products of two columns' features are strong from this correlation on; at most so many squares are held.
STRONG, MOST = 0.1, 300
# Cells of numbers that a square needs.
FEWEST = 4


def gaps_and_squares(
    columns: Sequence[Cells],
    shares: Sequence[np.ndarray],
    codes: Sequence[np.ndarray],
    moments: Moments,
    means: np.ndarray,
) -> np.ndarray | None:
    """Products (rows, held) of gaps of one column and the square of another, of pairs that go together.

    `means` (D,) are those of the noisy moments. None where there is nothing to hold.
    """
    strong = _strength(moments, means, len(columns))
    pairs = [(gap, x) for gap, x in np.argwhere(strong > STRONG) if gap != x and _apart(columns[gap], columns[x])]
    pairs = sorted(pairs, key=lambda pair: -strong[pair[0], pair[1]])[:MOST]
    made = [_gaps(shares[gap])[codes[gap]] * _square(columns[x], shares[x])[codes[x]] for gap, x in pairs]
    return np.stack(made, axis=1).astype(np.float32) * np.float32(SCALE**2) if made else None


def _apart(gap: Cells, number: Cells) -> bool:
    """Whether one column may have gaps and the other has numbers enough."""
    return gap.gap and not number.nominal and number.size - number.gap >= FEWEST


def _strength(moments: Moments, means: np.ndarray, columns: int) -> np.ndarray:
    """The largest correlation (columns, columns) of two columns' features, by the noisy moments."""
    owner = np.repeat(np.arange(columns), [len(table) for table in moments.tables])
    pairs, mixed = ~moments.alone, len(moments.mix)
    left, right = moments.left[pairs], moments.right[pairs]
    single = moments.mix[:, : len(owner)]
    of = owner[np.abs(single).argmax(axis=1)] if mixed else np.zeros(0, np.int64)
    size = np.abs(means[pairs]) / (moments.scale[pairs] * SCALE**2)
    found = np.zeros((columns, columns))
    for one, other in ((left, right), (right, left)):
        np.maximum.at(found, (of[one], of[other]), size)
    return found


def _gaps(share: np.ndarray) -> np.ndarray:
    """Whether a cell is the gaps', less how often that is, in deviations."""
    often = float(share[-1])
    made = np.full(len(share), -often)
    made[-1] += 1.0
    return made / math.sqrt(max(often * (1 - often), 1e-6))


def _square(cells: Cells, share: np.ndarray) -> np.ndarray:
    """The square of a number, without what the number itself says of it, in deviations; nothing for gaps."""
    there = share[: len(cells.value)] / max(float(share[: len(cells.value)].sum()), 1e-300)
    first = cells.value - there @ cells.value
    first = first / math.sqrt(max(float(there @ first**2), 1e-300))
    second = first**2 - (there @ first**3) * first - 1.0
    second = second / math.sqrt(max(float(there @ second**2), 1e-300))
    return np.append(second, 0.0) if cells.gap else second
