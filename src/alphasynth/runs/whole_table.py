"""The confidential files of a run of a whole table: its records for the pages, its columns, a summary."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from alphasynth import __version__
from alphasynth.evaluation.values import read_records
from alphasynth.raking.columns import SurveyWeight
from alphasynth.raking.pool import spaced
from alphasynth.runs.files import Kept, plain, repeatable, write_json
from alphasynth.runs.folder import CONFIDENTIAL, SUMMARY, Staging
from alphasynth.runs.settings import Settings
from alphasynth.synthesis.raked import RakedSynthesizer
from alphasynth.synthesis.statements import declared_gaps
from alphasynth.tables.databases import DatabaseTable
from alphasynth.tables.engine import FileTable
from alphasynth.tables.limits import as_floats
from alphasynth.tables.opening import as_declared
from alphasynth.tables.records import Records

COLUMNS = "columns.toml"
# Values of a table that pages compare whole; of a larger one this many rows, or fewer of very many columns.
MOST_VALUES, SAMPLED_ROWS = 5_000_000, 50_000


def write_whole_table(
    staging: Staging,
    settings: Settings,
    synthesizer: RakedSynthesizer,
    table: FileTable | DatabaseTable,
    statement: dict[str, Any],
    seconds: dict[str, float],
) -> Kept:
    """Write records, columns, summary and settings; `statement` is what the run releases as its guarantee."""
    folder, guarantee = staging.confidential, synthesizer.guarantee_
    records = _records(synthesizer, table)
    columns = {name: pa.array(column) for name, column in records.columns.items()}
    pq.write_table(pa.table({**columns, "count": records.counts}), folder / "records.parquet")
    (folder / COLUMNS).write_text(synthesizer.columns.toml(), encoding="utf-8")
    repeat = replace(
        settings, table=repeatable(settings.table), columns=str(Path(settings.out) / CONFIDENTIAL / COLUMNS)
    )
    (folder / "run.toml").write_text(repeat.toml(), encoding="utf-8")
    summary = {
        "run": staging.run,
        "version": __version__,
        "releasable": guarantee.releasable,
        "guarantee": str(guarantee),
        "scope": guarantee.scope,
        "released": statement,  # what release/ must still say when the pages are made again
        "n": guarantee.n,
        "distinct_rows": records.size,
        "epsilon_total": guarantee.epsilon_total,
        "epsilon_unit": guarantee.epsilon_unit,
        "policy_epsilon": guarantee.policy_epsilon,
        "policy_delta": guarantee.policy_delta,
        "delta_spent": guarantee.delta_spent,
        "rounds": [],
        "searches": [],
        "seconds": seconds,
    }
    write_json(folder / SUMMARY, summary)
    return Kept(plain(summary), repeat.given, records, ())


def _records(synthesizer: RakedSynthesizer, table: FileTable | DatabaseTable) -> Records:
    """The confidential records that pages compare with, dates as days' numbers: of a large table a sample.

    What is shown alone is said where results are read. With survey weights records are there as often as these say,
    since synthetic rows stand for the population.
    """
    gaps = declared_gaps(synthesizer.guarantee_.public())
    names = list(synthesizer.columns.declared)
    few = min(SAMPLED_ROWS, MOST_VALUES // len(names))
    n = synthesizer.guarantee_.n
    whole = n * len(names) <= MOST_VALUES
    table, weight = as_declared(table, synthesizer.columns.read_as), synthesizer.columns.weight
    rows: Any = table
    if weight is not None:
        rows = _weighted(table.sample([*names, weight.column], n if whole else few), weight)
    elif not whole:
        rows = table.sample(names, few)
    found = read_records(rows, names, gaps)
    return replace(found, index=None, columns={n: np.asarray(c) for n, c in found.columns.items()})


def _weighted(rows: pa.Table, weight: SurveyWeight) -> pa.Table:
    """As many rows, each as often as its weight, the last column, says but for less than 1."""
    weights = np.minimum(np.asarray(as_floats(rows.column(rows.num_columns - 1))), weight.largest)
    rows = rows.drop_columns([weight.column])
    if not weights.sum() > 0:
        return rows
    order = np.argsort(weights, kind="stable")  # rows of one weight beside each other, for the least scatter
    return rows.take(order[spaced(np.random.default_rng(), weights[order], rows.num_rows)])
