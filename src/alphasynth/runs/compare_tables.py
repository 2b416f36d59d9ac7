"""What `alphasynth compare --columns` runs: the league of whole tables, and the folder it is written to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from alphasynth import __version__
from alphasynth.errors import InputError
from alphasynth.league.entrants import OURS, OURS_WITH_RESPONSE, Bootstrap, Entrant, Ours, Rival
from alphasynth.league.measures import MEASURES, Judge
from alphasynth.league.peers import PEERS
from alphasynth.league.run_peer import HOW, installed
from alphasynth.league.tables_page import SPENDS, build, lines_of, ratios
from alphasynth.league.whole_tables import compare_tables
from alphasynth.pages import page
from alphasynth.raking.columns import Columns
from alphasynth.raking.reading import read_codes
from alphasynth.runs.clock import Stage
from alphasynth.runs.compare import Done, write_folder
from alphasynth.runs.interruption import Interruption
from alphasynth.runs.new_folder import new_folder
from alphasynth.synthesis.checks import check_rows
from alphasynth.synthesis.raked import MECHANISM, RakedSynthesizer
from alphasynth.tables.csv_files import TextFormat
from alphasynth.tables.opening import as_declared, open_table


@dataclass(frozen=True)
class TableComparison:
    """What was asked for; `peers` are interpreters by name, beside what this one has."""

    table: str
    columns: Path
    epsilons: tuple[float, ...]
    delta: float | None
    response: tuple[str, ...]
    confirm_public: tuple[str, ...]
    peers: Mapping[str, str]
    limit: int
    repeats: int
    seed: int
    text: TextFormat
    hive: bool = False

    def front(self, columns: Columns, response: tuple[str, ...]) -> Callable[[float, int], RakedSynthesizer]:
        """`Raked` at an epsilon, with a seed; it refuses what cannot go together."""
        return lambda epsilon, seed: RakedSynthesizer(
            columns,
            m=1,
            epsilon=epsilon,
            delta=self.delta,
            confirm_public=self.confirm_public,
            seed=seed,
            response=response,
        )


def carry_out(asked: TableComparison, out: Path, signals: Interruption, tell: Callable[[Stage], None]) -> Done:
    """Compare, and write results.json, standings.csv, report.html and the figure."""
    columns = Columns.read(asked.columns)
    if columns.weight is not None:
        raise InputError("whole tables are compared without survey weights, found a [weight] in the columns file")
    for epsilon in asked.epsilons:  # what cannot go together is refused before anything is read
        front = asked.front(columns, asked.response)(epsilon, asked.seed)
    peers, notes = _peers(asked, columns)
    with new_folder(out, signals, 0o700) as folder:  # only its holder may look into it
        table, blocks = _read(asked, columns, front)
        judge = Judge(columns, table, asked.response)
        entrants: list[Entrant] = [Bootstrap(table), Ours(OURS, asked.front(columns, ()), table)]
        if asked.response:
            entrants.append(Ours(OURS_WITH_RESPONSE, asked.front(columns, asked.response), table))
        for name, python in peers.items():
            assert asked.delta is not None
            entrants.append(Rival(name, python, columns, blocks, asked.delta, asked.limit, folder))
        standings = compare_tables(
            asked.seed, judge, entrants, asked.epsilons, asked.repeats, lambda *stage: tell(Stage(*stage))
        )
        built = build(standings, asked.delta, asked.response, notes)
        results = _results(asked) | {
            "measures": {name: MEASURES[name] for name in judge.measures},
            "standings": [asdict(standing) for standing in standings],
            "ours_to_the_best_peer": ratios(standings),
            "notes": list(notes),
        }
        write_folder(folder, results, lines_of(standings), built, "confidential")
    heads, lines = lines_of(standings, errors=False)
    cells = [tuple(page.cell(value).text for value in line) for line in lines]
    return Done(SPENDS, heads, cells, notes, "standard errors and a figure")


def _peers(asked: TableComparison, columns: Columns) -> tuple[dict[str, str], tuple[str, ...]]:
    """Interpreters by peer, those named and those at hand, and what there is to say of them."""
    if asked.peers and asked.delta is None:
        raise InputError("--delta must be given with --peer, since peers promise (epsilon, delta), found none")
    here = {**installed(), **asked.peers}
    notes = []
    if here and asked.delta is None:
        labels = [PEERS[name].label for name in here]
        notes.append(f"{' and '.join(labels)} {'takes' if len(labels) == 1 else 'take'} part when --delta is given.")
        here = {}
    elif not here:
        notes.append(f"No peer takes part: pip install 'mbi>=2.0' adds MST; or {HOW}.")
    if here and columns.constraints:
        notes.append("Peers know nothing of the constraints, and their rows may break them.")
    return here, tuple(notes)


def _read(asked: TableComparison, columns: Columns, front: RakedSynthesizer) -> tuple[pa.Table, list[Any]]:
    """The table's declared columns, and the block of each value; raise `InputError` for what was not declared."""
    stored = open_table(asked.table, text=asked.text, seed=asked.seed, hive=asked.hive)
    front.check_columns(list(stored.column_names), stored.names_are_public)
    batches = list(as_declared(stored, columns.declared).stream(columns.names))
    fine = read_codes(columns, batches).codes
    check_rows(asked.delta, len(fine[0]))
    blocks = [cells.block[each] for cells, each in zip(columns.cells(), fine, strict=True)]
    return pa.Table.from_batches(batches).rename_columns(list(columns.names)), blocks


def _results(asked: TableComparison) -> dict[str, Any]:
    return {
        "confidential": True,
        "about": SPENDS,
        "mechanism": MECHANISM,
        "epsilons": list(asked.epsilons),
        "delta": asked.delta,
        "response": list(asked.response),
        "confirm_public": list(asked.confirm_public),
        "repeats": asked.repeats,
        "limit": asked.limit,
        "seed": asked.seed,
        "version": __version__,
    }
