"""Neighbouring databases: one record removed, or a canary added; named by their rank and never by their values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from alphasynth.errors import InputError, found
from alphasynth.tables.records import Records

# Canaries beside 0: this many times the largest response, whatever it is.
FAR = (2, 10)
FARTHEST = 1e8  # of counts, which models refuse beyond
MOST_PLACES = 7  # covariates that a canary is tried at


@dataclass(frozen=True, eq=False)
class Neighbour:
    """A database that differs by one record (confidential), and what may be said of the record.

    `row` is the record's place among the distinct rows of the database with canaries (`with_canaries`).
    """

    row: int
    added: bool
    name: str
    counts: np.ndarray = field(repr=False)

    def records(self, extended: Records) -> Records:
        """The neighbour's records, of a database with canaries."""
        return recounted(extended, self.counts)


def recounted(records: Records, counts: np.ndarray) -> Records:
    """Records with other counts, and without the rows of which none is left."""
    keep = counts > 0
    columns = {name: column[keep] for name, column in records.columns.items()}
    return Records(records.response, columns, counts[keep], None)


class Canary(NamedTuple):
    """A record to add: its place among the distinct rows, and what may be said of it."""

    row: int
    name: str


def with_canaries(records: Records, values: Mapping[str, float]) -> tuple[Records, list[Canary]]:
    """The records and, as distinct rows of which there are none yet, canaries with these responses, by name.

    A canary takes its other columns from the record of the largest response and, where there are numeric covariates,
    from those of their extremes, where a record has most leverage.
    """
    response = np.asarray(records.columns[records.response])
    if response.dtype.kind not in "iuf":
        raise InputError(f"an audit needs a numeric response, found that {records.response!r} is not")
    places = _extreme_places(records, response)
    group = records.group([name for name in records.columns if name != records.response])
    canaries, templates, new = [], [], []
    for word, value in values.items():
        for corner, place in enumerate(places, start=1):
            name = f"added: {word}" + (f", extreme covariates {corner}" if len(places) > 1 else "")
            there = np.flatnonzero((group == group[place]) & (response == value))
            if len(there) == 0:
                templates.append(place)
                new.append(value)
            canaries.append(Canary(int(there[0]) if len(there) else records.size + len(new) - 1, name))
    rows = np.concatenate([np.arange(records.size), np.array(templates, np.int64)])
    columns: dict[str, Any] = {name: column[rows] for name, column in records.columns.items()}
    whole = response.dtype.kind in "iu" and all(value == int(value) for value in new)
    columns[records.response] = np.concatenate([response, np.asarray(new)]).astype(np.int64 if whole else np.float64)
    counts = np.concatenate([records.counts, np.zeros(len(new), np.int64)])
    return replace(records, columns=columns, counts=counts, index=None), canaries


def with_count_canaries(
    records: Records, names: Sequence[str], place: int, more: Mapping[str, float]
) -> tuple[Records, list[Canary]]:
    """The records and canaries that are the record at a `place` but for one column of counts: 0 or far outliers."""
    extended, canaries = records, list[Canary]()
    for name in names:
        alone = replace(extended, response=name)
        column = np.asarray(extended.columns[name])
        for word, value in {**far_values(replace(records, response=name)), **more}.items():
            if value == column[place]:
                continue
            rows = np.append(np.arange(extended.size), place)
            columns: dict[str, Any] = {other: values[rows] for other, values in extended.columns.items()}
            columns[name] = np.append(np.asarray(extended.columns[name]), value).astype(column.dtype)
            extended = replace(alone, columns=columns, counts=np.append(extended.counts, 0), index=None)
            canaries.append(Canary(extended.size - 1, f"added: {word} in {name}"))
    return replace(extended, response=records.response), canaries


def with_leverage(
    extended: Records, canaries: Sequence[Canary], responses: Sequence[str], synthesized: Sequence[str]
) -> tuple[Records, list[Canary]]:
    """And canaries that lie far beyond the table's covariates: ten times the largest, with a response of 0 or the most.

    All else they take from the record of the largest response.
    """
    found = list(canaries)
    covariates = [n for n in extended.columns if n not in synthesized and _is_number(extended.columns[n])][:MOST_PLACES]
    for response in responses:
        y = np.asarray(extended.columns[response])
        present = np.where(extended.counts > 0, y, y.min())
        place = int(np.argmax(present))
        for number, name in enumerate(covariates, start=1):
            x = np.asarray(extended.columns[name])
            far = max(FAR) * max(float(np.abs(x).max()), 1.0)
            for word, value in {"0": 0, "the largest response": present[place]}.items():
                rows = np.append(np.arange(extended.size), place)
                columns: dict[str, Any] = {other: column[rows] for other, column in extended.columns.items()}
                columns[name] = np.append(x, np.asarray(far).astype(x.dtype))
                columns[response] = np.append(np.asarray(extended.columns[response]), np.asarray(value).astype(y.dtype))
                extended = replace(extended, columns=columns, counts=np.append(extended.counts, 0), index=None)
                found.append(Canary(extended.size - 1, f"added: {word}, covariate {number} far beyond the others"))
                x, y = np.asarray(extended.columns[name]), np.asarray(extended.columns[response])
    return extended, found


def _is_number(column: Any) -> bool:
    return getattr(column.dtype, "kind", "O") in "iuf"


def _extreme_places(records: Records, response: np.ndarray) -> list[int]:
    """Rows of the largest response and of each numeric covariate's extremes, one for each set of covariates."""
    places = [int(np.argmax(response))]
    others = [name for name in records.columns if name != records.response]
    for name in others:
        column = records.columns[name]
        if _is_number(column):
            places += [int(np.argmax(column)), int(np.argmin(column))]
    group = records.group(others)
    return [places[i] for i in sorted(np.unique(group[places], return_index=True)[1])][:MOST_PLACES]


def far_values(records: Records) -> dict[str, float]:
    """Responses of canaries unless told: 0, and far beyond the largest response; named without their values."""
    response = np.asarray(records.columns[records.response])
    largest = max(float(response.max()), 1.0)
    far = {f"{times} times the largest response": float(np.ceil(times * largest)) for times in FAR}
    limit = FARTHEST if response.dtype.kind in "iu" else np.inf
    return {"0": 0.0, **{name: min(value, limit) for name, value in far.items()}}


def check_canaries(values: Sequence[Any]) -> dict[str, float]:
    """The user's canaries, as numbers, named by themselves."""
    for value in values:
        if isinstance(value, bool) or not isinstance(value, int | float) or not np.isfinite(value):
            raise InputError(f"a canary must be a finite number, found {found(value)}")
    return {f"canary {value:g}": float(value) for value in values}


def neighbours(
    extended: Records, canaries: Sequence[Canary], risk: np.ndarray, most: int | None = None, by_risk: bool = False
) -> list[Neighbour]:
    """One neighbour per distinct row with one record less, and one per canary with one more.

    Equal records make equal neighbours, so these are all there are. With more than `most` rows, those of the largest
    and the smallest `risk` (by distinct row), of the extreme responses and of extreme covariates stand for the rest.
    A table without one response is ordered `by_risk`.
    """
    response = risk if by_risk else np.asarray(extended.columns[extended.response], np.float64)
    order_by = "risk" if by_risk else "response"
    present = np.flatnonzero(extended.counts > 0)
    if most is not None and len(present) > most:
        corners = [row for row in _extreme_places(extended, response) if extended.counts[row] > 0]
        present = np.unique([*_extremes(present, risk, response, most).tolist(), *corners])
    order = np.argsort(-response, kind="stable")
    ahead = np.zeros(len(response), np.int64)
    ahead[order] = np.cumsum(extended.counts[order]) - extended.counts[order]
    n = extended.n
    removed = [
        Neighbour(
            row, False, f"removed: rank {ahead[row] + 1:,} of {n:,} by {order_by}", _changed(extended.counts, row, -1)
        )
        for row in present.tolist()
        if n > 2
    ]
    added = [Neighbour(one.row, True, one.name, _changed(extended.counts, one.row, 1)) for one in canaries]
    return removed + added


def _changed(counts: np.ndarray, row: int, by: int) -> np.ndarray:
    changed = counts.copy()
    changed[row] += by
    return changed


def _extremes(present: np.ndarray, risk: np.ndarray, response: np.ndarray, most: int) -> np.ndarray:
    by_risk, by_response = present[np.argsort(-risk[present])], present[np.argsort(response[present])]
    part = max(most // 4, 1)
    spread = present[np.linspace(0, len(present) - 1, part).astype(int)]
    chosen = [*by_risk[:part], *by_risk[-part // 2 :], *by_response[: part // 2], *by_response[-part // 2 :], *spread]
    return np.unique(np.asarray(chosen))
