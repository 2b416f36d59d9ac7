"""Low-order features of columns, and moments of all pairs: whole numbers, a record's vector cut to a public length.

Features are made from private distributions of single columns, which makes them public: polynomials of a number that
are orthonormal under its distribution, contrasts of levels, an indicator of gaps.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from alphasynth.errors import PrivacyFault
from alphasynth.raking.cells import Cells

# Features are multiples of 1 / SCALE, and no further from 0 than FARTHEST; where they are multiplied, than IN_PAIRS:
# few records lie further, and would have all of their products cut.
SCALE, FARTHEST, IN_PAIRS = 16, 8.0, 3.0
# Levels with a contrast of their own, at the most: the most frequent ones.
CONTRASTS = 6
# Powers of a number that are measured at least, if not in pairs: its sd is what pairs need first.
ALONE = 2
# What is left of a feature without those before it, below which it says nothing new.
NOTHING_NEW = 1e-3
# Features are mixed by multiples of 1 / MIXED; no combination of them is taken to vary by less than this.
MIXED, NEVER = 1_024, 0.05
# Being zero is a feature of a skewed number whose logarithm leaves more than this of it untold; where zero and one are
# far apart on that scale, it says enough.
UNTOLD = 0.5
# Rarer than this neither zeros nor gaps are a feature in pairs: it would lie farther from 0 than features may.
RARE = 1 / FARTHEST**2
CHUNK = 8_192


@dataclass(frozen=True, eq=False)
class Features:
    """Features (features, cells) of a column, in whole numbers; the first `in_pairs` are multiplied by others'.

    Of these the first `low` matter most: all but powers of a number. Those after them, up to the first `with_response`,
    are multiplied by what matters most alone.
    """

    table: np.ndarray = field(repr=False)
    low: int
    in_pairs: int
    with_response: int = 0


def features_of(
    cells: Cells,
    share: np.ndarray,
    degree: int,
    contrasts: int = CONTRASTS,
    rare: float = RARE,
    response: bool = False,
) -> Features:
    """Features of a column whose cells have these shares, up to a degree in pairs: multiples of 1 / SCALE.

    A skewed number's logarithm has them, and so have the number itself, and its square, which decides its sd. Gaps and
    zeros that are `rare` are in no pair. Where there is a `response`, levels that have no contrast have one for it,
    unless few rows have them.
    """
    low, powers, alone = [np.ones(cells.size)], list[np.ndarray](), list[np.ndarray]()
    beside = list[np.ndarray]()
    if cells.gap:
        gap = (np.arange(cells.size) == cells.size - 1).astype(float)
        (alone if share[-1] < rare else low).append(gap)
    if cells.nominal:
        frequent = np.argsort(-share[: cells.size - cells.gap], kind="stable")
        made = [(np.arange(cells.size) == level).astype(float) for level in frequent if share[level] >= RARE]
        few = [(np.arange(cells.size) == level).astype(float) for level in frequent[:contrasts]]
        low, beside = [*low, *few], made[contrasts:] if response else []
    else:
        value = cells.value / (np.ptp(cells.value) or 1.0)
        one, *others = [_with_gap(cells, share, value**power) for power in range(1, max(degree, ALONE) + 1)]
        low, powers, alone = [*low, one], others[: degree - 1], [*alone, *others[degree - 1 :]]
    if cells.unit is not None:
        itself, zero = _of_skewed(cells, share)
        told = cells.unit == 1.0 or share[0] < rare or _untold(zero, low, share) <= UNTOLD
        low, alone = [*low, *([] if told else [zero]), itself], [*alone, itself**2]
    first = [low, [*low, *powers], [*low, *powers, *beside]]
    numbers = [len(_orthonormal(candidates, share)) for candidates in first]
    found = np.clip(_orthonormal([*low, *powers, *beside, *alone], share), -FARTHEST, FARTHEST)
    return Features(np.rint(found * SCALE).astype(np.int64), *numbers)


def _with_gap(cells: Cells, share: np.ndarray, feature: np.ndarray) -> np.ndarray:
    """A feature of numbers, with what it is on average for gaps: where these are a feature too, that says all else."""
    if not cells.gap:
        return feature
    there = share[:-1]
    return np.append(feature, there @ feature / max(there.sum(), 1e-300))


def _of_skewed(cells: Cells, share: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A skewed number itself, by cell, and where it is zero, the least that it can be."""
    middle = (cells.lower + cells.upper) / 2 - cells.lower[0]
    zero = (np.arange(len(middle)) == 0) & (cells.lower[0] == cells.upper[0] == 0.0)
    itself = _with_gap(cells, share, middle / (middle.max() or 1.0))
    return itself, _with_gap(cells, share, zero.astype(float))


def _untold(feature: np.ndarray, others: Sequence[np.ndarray], share: np.ndarray) -> float:
    """What part of a feature's deviation others leave."""
    centred, left = (feature - share @ feature,) * 2
    for each in _orthonormal(others, share):
        left = left - (share @ (left * each)) * each
    return math.sqrt((share @ left**2) / max(share @ centred**2, 1e-300))


def _orthonormal(candidates: Sequence[np.ndarray], share: np.ndarray) -> np.ndarray:
    """Functions (functions, cells) of mean 0, variance 1 and no correlation; the first candidate is constant."""
    made: list[np.ndarray] = []
    for candidate in candidates:
        size = math.sqrt(share @ candidate**2)
        left = candidate
        for _ in range(2):  # twice is enough
            for each in made:
                left = left - (share @ (left * each)) * each
        length = math.sqrt(share @ left**2)
        if size > 0 and length > NOTHING_NEW * size:
            made.append(left / length)
    return np.array(made[1:]).reshape(len(made) - 1, len(share))


def mixing(correlation: np.ndarray, turn: np.ndarray) -> np.ndarray:
    """Multiples (features, features) of 1 / MIXED that make features of this correlation nearly uncorrelated.

    Those whose `turn` (features,) comes later have what earlier ones say of them taken off, and leave these alone.

    >>> mixing(np.eye(2), np.zeros(2, np.int64)).tolist()
    [[1024, 0], [0, 1024]]
    """
    together = (1 - NEVER) * correlation + NEVER * np.eye(len(correlation))
    mix = np.zeros_like(together)
    for number in np.unique(turn):
        now, before = turn == number, turn < number
        explained = np.linalg.solve(together[np.ix_(before, before)], together[np.ix_(before, now)])
        rest = together[np.ix_(now, now)] - together[np.ix_(now, before)] @ explained
        mix[np.ix_(now, now)] = _whitening(rest)
        mix[np.ix_(now, before)] = -mix[np.ix_(now, now)] @ explained.T
    return np.rint(mix * MIXED).astype(np.int64)


def _whitening(covariance: np.ndarray) -> np.ndarray:
    """The symmetric matrix that makes this covariance one of uncorrelated features of variance 1."""
    size, axes = np.linalg.eigh(covariance)
    return np.asarray((axes / np.sqrt(np.maximum(size, NEVER))) @ axes.T)


@dataclass(frozen=True, eq=False)
class Interaction:
    """Products of two features, by their numbers in a row of all; what they are on average is taken off."""

    left: int
    right: int
    less: int


@dataclass(frozen=True, eq=False)
class Moments:
    """Sums of all columns' features and of products of two; a record's vector is cut to a length of `length`.

    `tables` has the features (features, cells) of each column, and `interactions` are products of two columns' that
    count as features. Features that are multiplied are mixed first: `mix` (mixed, features) are multiples of 1 / MIXED
    that make them uncorrelated, so that noise is as large in every direction as sampling error is. `left` and `right`
    (D,) are what is multiplied, by its number in a row of all mixed ones, all features and a one; `scale` (D,) weighs
    entries: what has more is measured better. All are whole numbers. `powers` (D,) tells those of products with powers
    of a number, and `degree` is that of products.
    """

    tables: tuple[np.ndarray, ...] = field(repr=False)
    interactions: tuple[Interaction, ...] = field(repr=False)
    mix: np.ndarray = field(repr=False)
    left: np.ndarray = field(repr=False)
    right: np.ndarray = field(repr=False)
    scale: np.ndarray = field(repr=False)
    powers: np.ndarray = field(repr=False)
    length: int = 1 << 40
    degree: int = 2

    @property
    def size(self) -> int:
        """How many moments there are."""
        return len(self.left)

    @property
    def alone(self) -> np.ndarray:
        """Which moments (D,) are of one column; they come last."""
        return self.right == sum(self.mix.shape)

    @property
    def usual_length(self) -> float:
        """How long a vector is on average, about: entries have a mean of 0 and a deviation of scale SCALE^2."""
        return float(np.sqrt((self.scale.astype(float) ** 2).sum())) * SCALE**2

    def features(self, codes: Sequence[np.ndarray]) -> np.ndarray:
        """What is multiplied, (features, rows), in whole numbers as floats: exact, since none reaches 2^53."""
        found = all_features(self.tables, self.interactions, codes)
        mixed = np.floor((self.mix.astype(np.float64) @ found + MIXED // 2) / MIXED)
        farthest = IN_PAIRS * SCALE
        return np.concatenate([np.clip(mixed, -farthest, farthest), found, np.full((1, found.shape[1]), float(SCALE))])

    def uncut(self, codes: Sequence[np.ndarray]) -> np.ndarray:
        """Vectors (rows, D) of records whose columns lie in these cells, in whole numbers."""
        rows = self.features(codes).T.astype(np.int64)
        return rows[:, self.left] * rows[:, self.right] * self.scale

    def vectors(self, codes: Sequence[np.ndarray]) -> np.ndarray:
        """Vectors (rows, D) cut to the public length: whole numbers, none longer."""
        whole = self.uncut(codes)
        square = (whole**2).sum(axis=1)
        factor = np.minimum(1.0, self.length / np.sqrt(np.maximum(square, 1))) * (1 - 2.0**-40)
        cut = np.where((square > self.length**2)[:, None], np.trunc(whole * factor[:, None]).astype(np.int64), whole)
        if ((cut**2).sum(axis=1) > self.length**2).any():
            raise PrivacyFault("no vector must be longer than the public length, found one that is")
        return cut

    def chunks(self, codes: Sequence[np.ndarray]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Vectors (rows, D) of some records at a time before they are cut, and the part (rows,) left of each."""
        for first in range(0, len(codes[0]), CHUNK):
            whole = self.uncut([column[first : first + CHUNK] for column in codes])
            length = np.sqrt(np.maximum((whole**2).sum(axis=1), 1))
            yield whole.astype(np.float32), np.minimum(1.0, self.length / length)

    def lengths(self, codes: Sequence[np.ndarray]) -> np.ndarray:
        """Lengths (rows,) of records' vectors before they are cut."""
        parts = [
            np.sqrt((self.uncut([c[first : first + CHUNK] for c in codes]) ** 2).sum(axis=1))
            for first in range(0, len(codes[0]), CHUNK)
        ]
        return np.concatenate(parts)


def all_features(
    tables: Sequence[np.ndarray], interactions: Sequence[Interaction], codes: Sequence[np.ndarray]
) -> np.ndarray:
    """Features (features, rows) of all columns, then interactions, of records whose columns lie in these cells."""
    found = np.concatenate([table[:, column] for table, column in zip(tables, codes, strict=True)]).astype(np.float64)
    if not interactions:
        return found
    left, right, less = np.array([(each.left, each.right, each.less) for each in interactions]).T
    products = np.floor((found[left] * found[right] + SCALE // 2) / SCALE) - less[:, None]
    return np.concatenate([found, np.clip(products, -FARTHEST * SCALE, FARTHEST * SCALE)])
