"""Which moments are measured: products of all pairs of columns' features, mixed by what the pool says of them.

And their exact sums without a vector for each record: where none is cut, the sum of all products of two features is a
matrix product, in whole numbers. Floats hold it exactly: no entry of any sum over a chunk reaches 2^53.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from alphasynth.raking.features import SCALE, Features, Interaction, Moments, all_features, mixing

# The weight of an entry, of products with powers of a number or with rarer levels, of a single column, and of what
# matters at the most.
USUAL, OF_POWERS, OF_ONE, MOST = 4, 2, 3, 24
# Features go along with a response from this correlation on; with levels that are multiplied by responses alone they
# are multiplied too, as long as there are fewer products than this part of the square of how many others there are.
ALONG, BESIDE = 0.25, 0.1
# Features of a column that take part in an interaction, at the most.
IN_INTERACTIONS = 3

# Records at a time; numbers in the vectors of those that are cut, at a time.
ROWS, NUMBERS = 16_384, 4_000_000


def all_moments(
    columns: Sequence[Features],
    codes: Sequence[np.ndarray],
    important: Sequence[int] = (),
    interactions: Sequence[tuple[int, int]] = (),
    share: float = 0.5,
) -> Moments:
    """Moments of all pairs, given the pool's cells (rows,); those of `important` columns have this share of the budget.

    An interaction of two columns is multiplied by features of those that matter, or of all others where none does.
    """
    tables = tuple(column.table for column in columns)
    every = [(i, j) for i, table in enumerate(tables) for j in range(len(table))]
    owner, number = np.array(every, np.int64).reshape(-1, 2).T
    paired = number < np.array([column.in_pairs for column in columns])[owner]
    crossed = _interactions(tables, owner, number, paired, codes, interactions)
    owners = [*({each} for each in owner.tolist()), *({owner[c.left], owner[c.right]} for c in crossed)]
    beside = ~paired & (number < np.array([column.with_response for column in columns])[owner])
    beside &= ~np.isin(owner, list(important))
    taken = [i for i in range(len(owners)) if i >= len(owner) or paired[i] or beside[i]]
    rows = all_features(tables, crossed, codes)[taken] / SCALE
    matters = np.array([owners[i] <= set(important) for i in taken], bool)
    mix = np.zeros((len(taken), len(owners)), np.int64)
    late = np.array([i < len(owner) and beside[i] for i in taken], bool)
    correlation = _correlation(rows)
    mix[:, taken] = mixing(correlation, np.where(matters, 2, late))
    single = np.array([i < len(owner) and number[i] < columns[owner[i]].low for i in taken], bool)
    along = matters | _along(correlation, matters, single & ~late & ~matters, int(late.sum()))
    pairs = [
        (i, j)
        for i, j in itertools.combinations(range(len(taken)), 2)
        if _multiplied(taken[i], taken[j], owners, len(owner), set(important))
        and (not late[i] or along[j])
        and (not late[j] or along[i])
    ]
    one = len(taken) + len(owners)
    alone = [(len(taken) + i, one) for i in range(len(owner))] or [(one, one)]  # of columns of one level: nothing
    left, right = np.array(pairs + alone, np.int64).reshape(-1, 2).T
    of = np.array([*matters, *(each <= set(important) for each in owners), False], bool)
    heavy = of[left] | of[right]
    less, power = np.zeros((2, one + 1), bool)
    less[: len(taken)] = [i < len(owner) and number[i] >= columns[owner[i]].low for i in taken]
    power[: len(taken)] = less[: len(taken)] & ~late
    scale = np.where(less[left] | less[right], OF_POWERS, USUAL)
    scale = np.where(right == one, OF_ONE, scale)
    ratio = share / (1 - share) * (scale[~heavy] ** 2).sum() / max((scale[heavy] ** 2).sum(), 1)
    scale = np.where(heavy, np.clip(np.rint(scale * math.sqrt(ratio)).astype(np.int64), scale, MOST), scale)
    return Moments(tables, crossed, mix, left, right, scale, power[left] | power[right])


def _along(correlation: np.ndarray, matters: np.ndarray, others: np.ndarray, late: int) -> np.ndarray:
    """Which of the `others` (taken,) go along with what matters, the strongest of so many as `late` levels allow.

    What a level does to a response cannot be told from what goes along with the response there, unless both are known.
    """
    together = np.abs(correlation[:, matters]).max(axis=1, initial=0.0) * others
    first = np.argsort(-together, kind="stable")[: int(BESIDE * others.sum() ** 2) // max(late, 1)]
    found = np.zeros(len(others), bool)
    found[first[together[first] > ALONG]] = True
    return found


def _interactions(
    tables: Sequence[np.ndarray],
    owner: np.ndarray,
    number: np.ndarray,
    paired: np.ndarray,
    codes: Sequence[np.ndarray],
    interactions: Sequence[tuple[int, int]],
) -> tuple[Interaction, ...]:
    """Products of the first features of the two columns of each interaction, less their means over the pool."""
    first = paired & (number < IN_INTERACTIONS)
    both = [
        Interaction(int(i), int(j), 0)
        for a, b in interactions
        for i in np.flatnonzero(first & (owner == a))
        for j in np.flatnonzero(first & (owner == b))
    ]
    means = all_features(tables, both, codes)[len(owner) :].mean(axis=1) if both else []
    return tuple(Interaction(each.left, each.right, round(mean)) for each, mean in zip(both, means, strict=True))


def _multiplied(i: int, j: int, owners: Sequence[set[int]], single: int, important: set[int]) -> bool:
    """Whether two features are: two columns', and interactions with what matters."""
    if owners[i] & owners[j]:
        return False
    if i < single and j < single:
        return True
    if i >= single and j >= single:
        return False
    return not important or owners[min(i, j)] <= important


def _correlation(rows: np.ndarray) -> np.ndarray:
    """Correlations of features (features, rows)."""
    rows = rows - rows.mean(axis=1, keepdims=True)
    together = rows @ rows.T
    size = np.sqrt(np.maximum(np.diag(together), 1e-9))
    return np.asarray(together / size / size[:, None])


def exact_sums(moments: Moments, codes: Sequence[np.ndarray], weights: np.ndarray | None = None) -> np.ndarray:
    """Sums (D,) of the vectors of records whose columns lie in these cells; each counts as often as its weight says."""
    found = np.zeros(moments.size, np.int64)
    for first in range(0, len(codes[0]), ROWS):
        part = [column[first : first + ROWS] for column in codes]
        found += _sums(moments, part, None if weights is None else weights[first : first + ROWS])
    return found


def _sums(moments: Moments, codes: Sequence[np.ndarray], weights: np.ndarray | None) -> np.ndarray:
    features = moments.features(codes)
    cut = squares(moments, features) > float(moments.length) ** 2
    whole = features[:, ~cut]
    counted = whole if weights is None else whole * weights[~cut]
    sums = (counted @ whole.T)[moments.left, moments.right].astype(np.int64) * moments.scale
    rows, step = np.flatnonzero(cut), max(NUMBERS // moments.size, 1)
    for first in range(0, len(rows), step):
        some = rows[first : first + step]
        vectors = moments.vectors([column[some] for column in codes])
        sums += vectors.sum(axis=0) if weights is None else weights[some].astype(np.int64) @ vectors
    return sums


def squares(moments: Moments, features: np.ndarray) -> np.ndarray:
    """Squared lengths (rows,) of the vectors of records with these features (features, rows), before they are cut."""
    size = len(features)
    weight = np.zeros((size, size))
    weight[moments.left, moments.right] = moments.scale.astype(np.float64) ** 2
    square = features**2
    return np.einsum("ij,ij->j", weight @ square, square)
