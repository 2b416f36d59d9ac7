"""Values within the cells of rows, such that declared constraints hold in every row."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence

import numpy as np

from alphasynth.constraints.comparisons import Constraint, Span, alike
from alphasynth.errors import InputError, StrictWarning
from alphasynth.raking.cells import Cells
from alphasynth.tables.limits import of_steps, steps_within

# Times that values are drawn again within a row's cells before another row takes its place.
TIMES = 30
# A pool of which less than this part can keep constraints needs other rows.
HARDLY_ANY = 0.02
# Of more rows than this part that others took the place of, a user is told.
MANY_REPLACED = 0.05
REPLACED = (
    f"constraints must be such that rows keep them within their cells, found more than {MANY_REPLACED:.0%} of rows in "
    "whose place others stand; declare levels or heaps that the constraints name, or one column in place of two"
)
NONE_LEFT = "constraints must leave rows that keep them all, found none"
Drawn = tuple[np.ndarray, np.ndarray]  # values (rows,), places among levels where they are text; where gaps are


def possible(constraints: Sequence[Constraint], columns: Sequence[Cells], codes: Sequence[np.ndarray]) -> np.ndarray:
    """Rows (rows,) whose cells leave room for values that keep all constraints."""
    return _kept(constraints, _of_all_cells(columns, codes), len(codes[0]))


def kept_rows(
    rng: np.random.Generator, constraints: Sequence[Constraint], columns: Sequence[Cells], codes: list[np.ndarray]
) -> list[np.ndarray]:
    """Cells of the rows that leave room for such values; raise `InputError` where there are none.

    Columns that must be equal are given cells that can be. Where hardly any rows are left, which noise alone can bring
    about, rows with cells at random that do are added.
    """
    if not constraints:
        return codes
    codes = _with_equal_cells(rng, constraints, columns, codes)
    kept = possible(constraints, columns, codes)
    made, rows = [column[kept] for column in codes], len(codes[0])
    if kept.sum() < rows * HARDLY_ANY:
        anywhere = [rng.integers(0, cells.size, rows) for cells in columns]
        anywhere = _with_equal_cells(rng, constraints, columns, anywhere)
        kept = possible(constraints, columns, anywhere)
        made = [np.append(one, other[kept]) for one, other in zip(made, anywhere, strict=True)]
    if not len(made[0]):
        raise InputError(NONE_LEFT)
    return made


def keeping(constraints: Sequence[Constraint], columns: Sequence[Cells], drawn: Sequence[Drawn]) -> np.ndarray:
    """Rows (rows,) whose values keep all constraints."""
    return _kept(constraints, _of_values(columns, drawn), len(drawn[0][0]))


def draw_values(
    rng: np.random.Generator, constraints: Sequence[Constraint], columns: Sequence[Cells], codes: Sequence[np.ndarray]
) -> tuple[list[Drawn], np.ndarray]:
    """A value in each cell of each row, all constraints kept, and the rows' numbers; raise `InputError`.

    What must be equal is drawn once. Where values drawn again and again keep breaking a constraint, another row takes
    the row's place: one of the same cells if there is any. Warns where there often is none.
    """
    drawn = [cells.draw(rng, each) for cells, each in zip(columns, codes, strict=True)]
    rows = np.arange(len(codes[0]))
    if not constraints:
        return drawn, rows
    _equal(rng, constraints, columns, codes, drawn)
    for _ in range(TIMES):
        broken = np.flatnonzero(~keeping(constraints, columns, drawn))
        if not len(broken):
            return drawn, rows
        some = [each[broken] for each in codes]
        again = [cells.draw(rng, each) for cells, each in zip(columns, some, strict=True)]
        _equal(rng, constraints, columns, some, again)
        for (values, _), (new, _) in zip(drawn, again, strict=True):
            values[broken] = new
    kept = keeping(constraints, columns, drawn)
    if not kept.any():
        raise InputError(NONE_LEFT)
    rows = _others_in_place(rng, codes, kept)
    return [(values[rows], gone[rows]) for values, gone in drawn], rows


def _others_in_place(rng: np.random.Generator, codes: Sequence[np.ndarray], kept: np.ndarray) -> np.ndarray:
    """Numbers (rows,) of rows that are `kept` (rows,), each its own if it is, else of the same cells if there are."""
    rows, broken = np.arange(len(kept)), np.flatnonzero(~kept)
    # Cells of all columns as one number: two that are the same by chance are one row too few that is its own.
    marks = np.zeros(len(kept), np.uint64)
    for each in codes:
        marks += each.astype(np.uint64) * rng.integers(1 << 63, dtype=np.uint64)
    donors = np.flatnonzero(kept)[np.argsort(marks[kept], kind="stable")]
    first, last = (np.searchsorted(marks[donors], marks[broken], side=side) for side in ("left", "right"))
    alone = first == last
    if alone.sum() > MANY_REPLACED * len(kept):
        warnings.warn(REPLACED, StrictWarning, stacklevel=2)
    first, last = np.where(alone, 0, first), np.where(alone, len(donors), last)
    rows[broken] = donors[rng.integers(first, last)]
    return rows


def _same(
    constraints: Sequence[Constraint], columns: Sequence[Cells], spans: dict[str, Span], rows: int
) -> Iterator[tuple[np.ndarray, list[int], list[float]]]:
    """Numbers of rows in which columns, by their place, and numbers must be equal; gaps and text are none of them."""
    place = {cells.name: j for j, cells in enumerate(columns) if not cells.text}
    asked = [(each, one) for each in constraints for one in each.then if one.how == "=="]
    asked = [(each, one) for each, one in asked if all(isinstance(s, float) or s in place for s in one.sides)]
    if not asked:
        return
    there = np.ones((len(asked), rows), bool)
    for row, (each, one) in zip(there, asked, strict=True):
        row &= each.applies(spans)
        for side in one.sides:
            row &= ~spans[side].gone if isinstance(side, str) else True
    patterns, of = np.unique(there, axis=1, return_inverse=True)
    for number, pattern in enumerate(patterns.T):
        for group in alike([one.sides for (_, one), on in zip(asked, pattern, strict=True) if on]):
            own = [place[side] for side in group if isinstance(side, str)]
            yield np.flatnonzero(of.ravel() == number), own, [side for side in group if isinstance(side, float)]


def _with_equal_cells(
    rng: np.random.Generator, constraints: Sequence[Constraint], columns: Sequence[Cells], codes: Sequence[np.ndarray]
) -> list[np.ndarray]:
    """Cells of which columns that must be equal can be: where they cannot, all have that of one of them."""
    made = [np.array(each) for each in codes]
    for rows, group, numbers in _same(constraints, columns, _of_all_cells(columns, codes), len(codes[0])):
        low, high = _shared(columns, made, rows, group, [])
        inside = [made[j][rows] for j in group]
        wide = np.min([columns[j].upper[c] > columns[j].lower[c] for j, c in zip(group, inside, strict=True)], axis=0)
        rows = rows[(low > high) | ((low == high) & wide)]  # of cells side by side all would have what divides them
        if len(group) == 1 or not len(rows):
            continue
        sources, values = _coarsest(columns, group), np.zeros(len(rows))
        which = rng.choice(sources, len(rows))
        for j in sources:
            values[which == j] = columns[j].draw(rng, made[j][rows[which == j]])[0]
        values = np.full(len(rows), numbers[0]) if numbers else values
        placed = [_placed(columns[j], values) for j in group]
        fits = np.logical_and.reduce([fit for _, fit in placed])
        for j, (at, _) in zip(group, placed, strict=True):
            made[j][rows[fits]] = at[fits]
    return made


def _equal(
    rng: np.random.Generator,
    constraints: Sequence[Constraint],
    columns: Sequence[Cells],
    codes: Sequence[np.ndarray],
    drawn: Sequence[Drawn],
) -> None:
    """Give columns that must be equal one value, which lies in the cells of all of them, in place."""
    for rows, group, numbers in _same(constraints, columns, _of_values(columns, drawn), len(codes[0])):
        low, high = _shared(columns, codes, rows, group, numbers)
        source = int(rng.choice(_coarsest(columns, group)))
        values = drawn[source][0][rows]
        beyond = (values < low) | (values > high)
        values[beyond] = _anywhere(rng, columns[source], low[beyond], high[beyond], values[beyond])
        values = np.full(len(rows), numbers[0]) if numbers else values
        fits = low <= high
        for j in group:
            fits &= _placed(columns[j], values)[1]
        for j in group:
            drawn[j][0][rows[fits]] = values[fits]


def _shared(
    columns: Sequence[Cells],
    codes: Sequence[np.ndarray],
    rows: np.ndarray,
    group: Sequence[int],
    numbers: Sequence[float],
) -> tuple[np.ndarray, np.ndarray]:
    """The least and the largest number (rows,) that lies in the cells of all these columns, and is each of these."""
    spans = [_of_cells(columns[j], codes[j][rows]) for j in group]
    low, high = (np.array([span[end] for span in spans]) for end in (0, 1))
    return low.max(axis=0, initial=max(numbers, default=-np.inf)), high.min(
        axis=0, initial=min(numbers, default=np.inf)
    )


def _coarsest(columns: Sequence[Cells], group: Sequence[int]) -> list[int]:
    """Those of these columns that may hold the fewest numbers: levels, whole numbers, those of few decimals."""
    kinds = []
    for j in group:
        decimals = 0 if columns[j].whole else columns[j].decimals
        kinds.append(-1.0 if columns[j].levels else np.inf if decimals is None else float(decimals))
    return [j for j, kind in zip(group, kinds, strict=True) if kind == min(kinds)]


def _placed(cells: Cells, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The cell (rows,) of each number, and whether it lies in it."""
    at = np.clip(np.searchsorted(cells.lower, values, side="right") - 1, 0, len(cells.lower) - 1)
    return at, (values >= cells.lower[at]) & (values <= cells.upper[at])


def _anywhere(
    rng: np.random.Generator, cells: Cells, low: np.ndarray, high: np.ndarray, otherwise: np.ndarray
) -> np.ndarray:
    """Numbers (rows,) of a column's kind from `low` to `high`, each as likely, where there are any."""
    share = rng.random(len(low))
    if cells.levels or not (cells.whole or cells.decimals):
        return np.where(low <= high, low + share * (high - low), otherwise)
    decimals = cells.decimals or 0
    first, last = steps_within(low, high, decimals)
    steps = np.clip(np.floor(first + share * (last - first + 1)), first, last)
    return np.where(first <= last, of_steps(steps, decimals), otherwise)


def _kept(constraints: Sequence[Constraint], spans: dict[str, Span], rows: int) -> np.ndarray:
    kept = np.ones(rows, bool)
    for constraint in constraints:
        kept &= ~constraint.broken(spans)
    return kept


def _of_values(columns: Sequence[Cells], drawn: Sequence[Drawn]) -> dict[str, Span]:
    return {cells.name: Span(values, values, gone) for cells, (values, gone) in zip(columns, drawn, strict=True)}


def _of_all_cells(columns: Sequence[Cells], codes: Sequence[np.ndarray]) -> dict[str, Span]:
    return {cells.name: _of_cells(cells, each) for cells, each in zip(columns, codes, strict=True)}


def _of_cells(cells: Cells, codes: np.ndarray) -> Span:
    """The numbers that a cell may hold; of levels of text, their places."""
    gone = (codes == cells.size - 1) & cells.gap
    inside = np.where(gone, 0, codes).astype(np.int64)
    if cells.text:
        return Span(inside, inside, gone)
    return Span(cells.lower[inside], cells.upper[inside], gone)
