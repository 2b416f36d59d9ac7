"""Values within the cells of rows, such that declared constraints hold in every row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from alphasynth.errors import InputError
from alphasynth.raking.cells import Cells
from alphasynth.raking.constraints import Constraint, Span

# Times that values are drawn again within a row's cells before another row takes its place.
TIMES = 30
# A pool of which less than this part can keep constraints needs other rows.
HARDLY_ANY = 0.02
NONE_LEFT = "constraints must leave rows that keep them all, found none"
Drawn = tuple[np.ndarray, np.ndarray]  # values (rows,), places among levels where they are text; where gaps are


def possible(constraints: Sequence[Constraint], columns: Sequence[Cells], codes: Sequence[np.ndarray]) -> np.ndarray:
    """Rows (rows,) whose cells leave room for values that keep all constraints."""
    spans = {cells.name: _of_cells(cells, each) for cells, each in zip(columns, codes, strict=True)}
    return _kept(constraints, spans, len(codes[0]))


def kept_rows(
    rng: np.random.Generator, constraints: Sequence[Constraint], columns: Sequence[Cells], codes: list[np.ndarray]
) -> list[np.ndarray]:
    """Cells of the rows that leave room for such values; raise `InputError` where there are none.

    Where hardly any do, which noise alone can bring about, rows with cells at random that do are added.
    """
    if not constraints:
        return codes
    kept = possible(constraints, columns, codes)
    made, rows = [column[kept] for column in codes], len(codes[0])
    if kept.sum() < rows * HARDLY_ANY:
        anywhere = [rng.integers(0, cells.size, rows) for cells in columns]
        kept = possible(constraints, columns, anywhere)
        made = [np.append(one, other[kept]) for one, other in zip(made, anywhere, strict=True)]
    if not len(made[0]):
        raise InputError(NONE_LEFT)
    return made


def keeping(constraints: Sequence[Constraint], columns: Sequence[Cells], drawn: Sequence[Drawn]) -> np.ndarray:
    """Rows (rows,) whose values keep all constraints."""
    spans = {cells.name: Span(values, values, gone) for cells, (values, gone) in zip(columns, drawn, strict=True)}
    return _kept(constraints, spans, len(drawn[0][0]))


def draw_values(
    rng: np.random.Generator, constraints: Sequence[Constraint], columns: Sequence[Cells], codes: Sequence[np.ndarray]
) -> tuple[list[Drawn], np.ndarray]:
    """A value in each cell of each row, all constraints kept, and the rows' numbers; raise `InputError`.

    Where values drawn again and again keep breaking one, another row takes the row's place.
    """
    drawn = [cells.draw(rng, each) for cells, each in zip(columns, codes, strict=True)]
    rows = np.arange(len(codes[0]))
    if not constraints:
        return drawn, rows
    for _ in range(TIMES):
        broken = np.flatnonzero(~keeping(constraints, columns, drawn))
        if not len(broken):
            return drawn, rows
        for cells, each, (values, _) in zip(columns, codes, drawn, strict=True):
            values[broken] = cells.draw(rng, each[broken])[0]
    kept = keeping(constraints, columns, drawn)
    if not kept.any():
        raise InputError(NONE_LEFT)
    rows[~kept] = rng.choice(np.flatnonzero(kept), int((~kept).sum()))
    return [(values[rows], gone[rows]) for values, gone in drawn], rows


def _kept(constraints: Sequence[Constraint], spans: dict[str, Span], rows: int) -> np.ndarray:
    kept = np.ones(rows, bool)
    for constraint in constraints:
        kept &= ~constraint.broken(spans)
    return kept


def _of_cells(cells: Cells, codes: np.ndarray) -> Span:
    """The numbers that a cell may hold; of levels of text, their places."""
    gone = (codes == cells.size - 1) & cells.gap
    inside = np.where(gone, 0, codes).astype(np.int64)
    if cells.nominal:
        return Span(inside, inside, gone)
    return Span(cells.lower[inside], cells.upper[inside], gone)
