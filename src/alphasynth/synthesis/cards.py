"""Synthesizers and releases as notebooks show them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from alphasynth.mechanisms.chain import JointFit
from alphasynth.mechanisms.mechanism import Trail
from alphasynth.mechanisms.rounds import round_labels
from alphasynth.notebook import markup, sketches
from alphasynth.notebook.declarations import listed
from alphasynth.privacy.accounting import epsilon_of, round_up
from alphasynth.privacy.guarantee import PublicGuarantee
from alphasynth.privacy.guarantee_card import SEEDED
from alphasynth.synthesis.columns_shown import MOST_COLUMNS, Counted, column_sketch, counted, table_sketches
from alphasynth.tables.frames import Frame, column_names, kind_of, take_rows, to_arrow
from alphasynth.tables.gaps import indicator_of
from alphasynth.tables.grouping import Stored
from alphasynth.tables.records import Records

HEAD, MOST_HEAD = 5, 12  # rows and columns of a table that are shown as they are
MOST_ROWS = 100_000  # of a table that synthetic rows are made of to be shown beside it
WEIGHT_STEPS = np.linspace(0.0, 1.0, 21)
CHOOSING = "Settings that are chosen by such a picture of the table tell something about it that no guarantee counts."


def release_card(tables: Sequence[Frame | Stored], guarantee: PublicGuarantee, files: Sequence[str]) -> str:
    """A release: its guarantee in numbers, the first rows and the columns of its first table."""
    first = tables[0] if tables else None
    stored = isinstance(first, Stored) or first is None
    frame = None if stored else first
    size = {} if frame is None else {"rows of the first": f"{_rows(frame):,}"}
    named = {"files": listed(files)} if files else {}
    numbers = {"tables": f"{len(tables):,}", **size, **named, **guarantee.numbers}
    seeded = None if guarantee.releasable else markup.element("div", "font-weight:bold", SEEDED)
    said = markup.sentences([f"{clause[:1].upper()}{clause[1:]}." for clause in guarantee.clauses])
    return markup.card("Release", seeded, markup.facts(numbers), said, *([] if frame is None else _looked_at(frame)))


def _looked_at(frame: Frame) -> list[markup.Html]:
    names = column_names(frame)
    few = names[:MOST_HEAD]
    rows = to_arrow(take_rows(frame, np.arange(min(HEAD, _rows(frame)))), few).to_pylist()
    lines = [[_cell(row[name]) for name in few] for row in rows]
    more = [] if len(names) <= MOST_HEAD else [markup.note(f"{len(names):,} columns, of which {MOST_HEAD} are shown")]
    return [markup.table(few, lines), *more, table_sketches(frame, names)]


def _cell(value: Any) -> str:
    if value is None or value != value:  # a gap
        return ""
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def _rows(frame: Frame) -> int:
    return int(frame.num_rows if kind_of(frame) == "pyarrow" else len(frame))


def asked_card(
    title: str,
    asked: Mapping[str, Any],
    scope: str,
    fitted: Sequence[markup.Html] | None,
    declared: markup.Html | None = None,
) -> str:
    """A synthesizer: what it was asked that is not as it is unless told, and what it found."""
    told = {name: _said(value) for name, value in asked.items() if value is not None and value != "" and value != ()}
    state = {"scope": scope, "state": "not fitted" if fitted is None else "fitted"}
    mark = "" if fitted is None else markup.CONFIDENTIAL
    return markup.card(title, markup.facts(told | state), declared, *(fitted or ()), mark=mark)


def _said(value: Any) -> str:
    if isinstance(value, tuple | list):
        return listed(value)
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def fitted_parts(trail: Trail, synthetic: Frame | None, strict: bool) -> list[markup.Html]:
    """What a fit found: its rounds, the weights of the last, and its columns beside synthetic ones."""
    last = trail.fits[-1]
    parts = [] if strict else [_rounds(trail), markup.beside(_weights(last))]
    names = [name for name in last.records.columns if synthetic is None or name in column_names(synthetic)]
    made = [
        column_sketch(name, _of_records(last.records, name), _of_frame(synthetic, name))
        for name in names[:MOST_COLUMNS]
    ]
    words = "the table" if synthetic is None else "the table (wide), a synthetic one (narrow, green)"
    more = f"; {len(names) - MOST_COLUMNS:,} more columns" if len(names) > MOST_COLUMNS else ""
    return [*parts, markup.beside(*made), markup.note(words + more), markup.note(CHOOSING)]


def _rounds(trail: Trail) -> markup.Html:
    """A line per round: its bound, what a draw costs, the mean weight, how the draws came out."""
    lines = []
    for label, fit in zip(round_labels(trail), trail.fits, strict=True):
        delta = fit.lipschitz.overall
        told = fit.columns[0].draws.diagnostics if len(fit.columns) == 1 else None
        size = "" if told is None or told.ess_bulk is None else f"{told.ess_bulk:,.0f} of {told.num_draws:,}"
        lines.append((label, round_up(delta), round_up(epsilon_of(delta)), f"{fit.mean_alpha:.3f}", size))
    return markup.table(("round", "Delta", "epsilon per draw", "mean weight", "effective draws"), lines)


def _weights(fit: JointFit) -> markup.Html:
    """How the records' weights lie between 0 and 1."""
    by_row = fit.alpha_distinct.reshape(fit.records.size, -1).mean(axis=1)
    shares = np.histogram(np.clip(by_row, 0.0, 1.0), WEIGHT_STEPS, weights=fit.records.counts)[0] / fit.records.n
    words = f"{by_row.min():.3f} to {by_row.max():.3f}"
    return sketches.captioned("weights, from 0 to 1", sketches.bars("weights of records", shares.tolist()), words)


def _of_records(records: Records, name: str) -> Counted:
    values = np.asarray(records.columns[name])
    kept = values if values.dtype.kind in "iuf" else values.astype(str)
    # Where there is a gap something public stands in for a value, and a column beside says so.
    gone = np.asarray(records.columns.get(indicator_of(name), np.zeros(len(kept), bool))).astype(bool)
    distinct, place = np.unique(kept[~gone], return_inverse=True)
    counts = np.bincount(place, records.counts[~gone], minlength=len(distinct)).astype(np.int64)
    return Counted(distinct, counts, int(records.counts[gone].sum()))


def _of_frame(frame: Frame | None, name: str) -> Counted | None:
    return None if frame is None else counted(to_arrow(frame, [name]).column(name))


def measured_part(guarantee: PublicGuarantee) -> markup.Html:
    """What was measured of a whole table: each kind of sum, its part of the budget, its noise beside sampling error."""
    total = sum(sums.cost for sums in guarantee.measured)
    lines = [
        (
            sums.what,
            f"{sums.sums:,}" if sums.sums else "",
            sketches.percent(sums.cost / total),
            "" if sums.share is None else f"{sums.share:.2g}",
        )
        for sums in guarantee.measured
    ]
    heads = ("measured with noise", "sums", "part of the budget", "noise, in standard errors")
    bar = sketches.parts_of("parts of the budget", [(sums.what, sums.cost) for sums in guarantee.measured])
    return markup.Html(markup.table(heads, lines) + bar)
