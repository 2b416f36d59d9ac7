"""Whole tables: `Raked` beside its peers at equal epsilon and delta, with verdicts; a benchmark, not a test.

    python benchmarks/tables.py --cache benchmarks/results/tables --out benchmarks/results/tables.md \
        --peer mst=mbi/bin/python --peer aim=opendp/bin/python --peer dpmm=dpmm/bin/python

Tables, cells and measures are those of `raked.py`; peers, and how to make an interpreter for each, those of
`alphasynth/league/peers.py`.
A peer that makes no table within the limit (CPU seconds: cores may be shared), or fails, is said to, and its other
seeds are not tried.

Peers see the blocks of our cells. Ours has finer cells within them; in their place, values that many rows have are bins
of their own for peers: RAND itself, its zeros spread evenly over their blocks, has an S2 of 54.

Synthetic tables and their measures are kept in the cache, so that a run that broke off goes on where it was. Ours are
made again when `alphasynth.raking` has changed, measures taken when they have; delete a peer's files to repeat it.

Verdicts: the best peer is chosen for every measure anew. A goal is a share of its number that ours may not exceed;
"?" marks differences within two standard errors.
"""

from __future__ import annotations

import argparse
import hashlib
import inspect
import itertools
import json
import math
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import raked
from threadpoolctl import threadpool_limits

from alphasynth import raking
from alphasynth.evaluation import propensity
from alphasynth.league import measures, regressions
from alphasynth.league.peers import PEERS
from alphasynth.league.run_peer import Order, PeerError, parse_peers, run_peer

OURS = {"raked": "raked", "response": "raked, response"}
MEASURES = tuple(measures.MEASURES)
SECONDS = {"cpu": "CPU s", "wall": "wall s"}
GOALS = dict.fromkeys(MEASURES, 1.0) | {"S2": 1 / 5, "coef": 1 / 2}
GOALS_WITH_RESPONSE = GOALS | {"coef": 1 / 3}


class Asked(NamedTuple):
    """What does not change from cell to cell."""

    cache: Path
    interpreters: dict[str, str]
    limit: int
    singles: float


class Cell(NamedTuple):
    """One synthetic table: of which table, at which epsilon, by which method and seed."""

    table: str
    epsilon: float
    method: str
    seed: int

    def file(self, cache: Path, mark: str, suffix: str) -> Path:
        """A file of this cell's; the mark says what it depends on beside."""
        parts = (self.table, f"{self.epsilon:g}", self.method, str(self.seed), mark)
        return cache / ("-".join(part for part in parts if part) + suffix)


class Line(NamedTuple):
    """One method on one table at one epsilon: means and standard errors, or why there are none."""

    table: str
    epsilon: float
    method: str
    means: pd.Series
    errors: pd.Series
    seeds: int
    version: str
    failed: str


def mark_of(*sources: str) -> str:
    """Few letters that change when the sources do."""
    return hashlib.sha256("".join(sources).encode()).hexdigest()[:8]


def mark_of_raking() -> str:
    """Of our own code and its settings."""
    folder = Path(inspect.getfile(raking)).parent
    return mark_of(*(path.read_text() for path in sorted(folder.glob("*.py"))), inspect.getsource(raked.raked))


def mark_of_measures() -> str:
    """Of the code that measures."""
    return mark_of(*(inspect.getsource(part) for part in (measures, regressions, propensity)))


def bins_of(asked: Asked, subject: raked.Subject) -> str:
    """What peers are told of a table's columns."""

    def singles(name: str) -> list[float]:
        shares = subject.table[name].astype(float).value_counts(normalize=True)
        return sorted(shares.index[shares >= asked.singles].tolist())

    return json.dumps(raked.bins_of(raked.declare(subject), singles))


def make(asked: Asked, cell: Cell, subject: raked.Subject, out: Path) -> dict[str, object]:
    """Write a synthetic table; what it took, or why there is none."""
    if cell.method in asked.interpreters:
        return _run_peer(asked, cell, subject, out)
    cells = raked.declare(subject)
    begin = time.perf_counter(), time.process_time()
    made = raked.METHODS[cell.method](subject, cells, cell.epsilon, cell.seed)
    took = {"wall": time.perf_counter() - begin[0], "cpu": time.process_time() - begin[1]}
    made.to_parquet(out)
    return took


def _run_peer(asked: Asked, cell: Cell, subject: raked.Subject, out: Path) -> dict[str, object]:
    bins = json.loads(bins_of(asked, subject))
    sizes = [each.size for each in raked.grids_of(bins).values()]
    python = asked.interpreters[cell.method]
    order = Order(cell.method, python, cell.epsilon, raked.DELTA, cell.seed, asked.limit)
    try:
        made = run_peer(order, raked.encode(subject, bins), sizes, asked.cache)
    except PeerError as error:
        return {"failed": str(error)} | ({"limit": asked.limit} if error.late else {})
    raked.decode(subject, bins, made.codes, made.rng).to_parquet(out)
    return {"wall": made.wall, "cpu": made.cpu, "MB": made.megabytes, "version": made.version}


def measure(asked: Asked, cell: Cell, subject: raked.Subject) -> dict[str, object]:
    """What one synthetic table took and how it scores, from the cache where it is there."""
    mark = mark_of_raking() if cell.method in OURS else mark_of(bins_of(asked, subject))
    table, took_file = (cell.file(asked.cache, mark, suffix) for suffix in (".parquet", ".took.json"))
    took = json.loads(took_file.read_text()) if took_file.exists() else make(asked, cell, subject, table)
    if took.get("limit", asked.limit) < asked.limit:
        took = make(asked, cell, subject, table)
    # A peer that is slow is slow the next time too; one that fails may be put right.
    if "failed" not in took or "limit" in took:
        took_file.write_text(json.dumps(took))
    if "failed" in took:
        return took
    score_file = cell.file(asked.cache, mark, f".{mark_of_measures()}.json")
    if not score_file.exists():
        score_file.write_text(json.dumps(raked.score(subject, pd.read_parquet(table))))
    return took | json.loads(score_file.read_text())


def line(asked: Asked, cells: list[Cell], subject: raked.Subject) -> Line:
    """All seeds of one method on one table at one epsilon, up to the first that fails."""
    found: list[dict[str, object]] = []
    for cell in cells:
        found.append(measure(asked, cell, subject))
        if "failed" in found[-1]:
            break
    failed = str(found[-1].get("failed", ""))
    held = pd.DataFrame([each for each in found if "failed" not in each], columns=[*MEASURES, *SECONDS]).astype(float)
    errors = held.std() / math.sqrt(max(len(held), 1))
    return Line(*cells[0][:3], held.mean(), errors, len(held), str(found[0].get("version", "")), failed)


def run(
    asked: Asked, tables: list[str], epsilons: list[float], methods: list[str], seeds: dict[str, int]
) -> Iterator[Line]:
    """Lines of all methods, table by table; a bootstrap has no epsilon and stands once."""
    for name in tables:
        subject = raked.subjects()[name]
        for epsilon, method in itertools.product(epsilons, methods):
            if method == "bootstrap" and epsilon != epsilons[0]:
                continue
            epsilon = math.inf if method == "bootstrap" else epsilon
            yield line(asked, [Cell(name, epsilon, method, seed) for seed in range(seeds[method])], subject)


def number(mean: float, error: float) -> str:
    """A mean and its standard error."""
    return f"{mean:.3g}" if math.isnan(error) else f"{mean:.3g} ({error:.1g})"


def row(*entries: object) -> str:
    """A line of a Markdown table."""
    return "| " + " | ".join(map(str, entries)) + " |"


def heads(*names: str) -> list[str]:
    return [row(*names), row(*("---" for _ in names))]


def shown(each: Line) -> str:
    """A line of the table of measures."""
    epsilon = "-" if math.isinf(each.epsilon) else f"{each.epsilon:g}"
    names = (*MEASURES, *SECONDS)
    numbers = [number(each.means[k], each.errors[k]) for k in names] if each.seeds else ["" for _ in names]
    return row(each.table, epsilon, OURS.get(each.method, each.method), each.seeds, *numbers, each.failed)


def verdict(best: Line, ours: Line, name: str, goal: float) -> tuple[str, str, str]:
    """Our number, its share of the best peer's, and whether the goal holds."""
    theirs, own = best.means[name], ours.means[name]
    noise = math.hypot(ours.errors[name], goal * best.errors[name])
    apart = own - goal * theirs
    holds = ("yes" if apart <= 0 else "no") + ("?" if abs(apart) < 2 * noise else "")
    return number(own, ours.errors[name]), f"{own / theirs:.2f}" if theirs else "-", holds


def verdicts(lines: list[Line]) -> list[list[str]]:
    """For every table, epsilon and measure: the best peer, and how each of ours stands to it."""
    found = []
    cells = dict.fromkeys((each.table, each.epsilon) for each in lines if each.method in OURS)
    for table, epsilon in cells:
        here = [each for each in lines if (each.table, each.epsilon) == (table, epsilon) and each.seeds]
        rivals = [each for each in here if each.method not in OURS]
        if not rivals:
            continue
        for name in MEASURES:
            best = min(rivals, key=lambda each: each.means[name])
            entries = [table, f"{epsilon:g}", name, best.method, number(best.means[name], best.errors[name])]
            for method, goals in (("raked", GOALS), ("response", GOALS_WITH_RESPONSE)):
                ours = next((each for each in here if each.method == method), None)
                entries += verdict(best, ours, name, goals[name]) if ours else ("", "", "")
            found.append(entries)
    return found


def tally(found: list[list[str]]) -> list[str]:
    """By measure, how many goals hold, without regard to noise."""
    lines = []
    for name in MEASURES:
        held = [entries for entries in found if entries[2] == name]
        counts = [f"{sum(e[at].startswith('yes') for e in held)} of {sum(bool(e[at]) for e in held)}" for at in (7, 10)]
        lines.append(row(name, f"{GOALS[name]:.2g}", counts[0], f"{GOALS_WITH_RESPONSE[name]:.2g}", counts[1]))
    return lines


def page(lines: list[Line]) -> str:
    """All of it as Markdown."""
    found = verdicts(lines)
    versions = sorted({each.version for each in lines if each.version})
    words = "; ".join([f"Delta {raked.DELTA:g}", "means over seeds, standard errors in brackets", *versions]) + "."
    ours = [f"{label}{word}" for label in OURS.values() for word in ("", ": ratio", ": goal holds")]
    parts = [
        ["# Whole tables beside peers", "", words, "", "## Measures", ""],
        heads("table", "epsilon", "method", "seeds", *MEASURES, *SECONDS.values(), "failed"),
        map(shown, lines),
        ["", "## Goals that hold", ""],
        heads("measure", *(f"{label}{word}" for label in OURS.values() for word in (": goal", ": holds"))),
        tally(found),
        ["", "## Verdicts", ""],
        heads("table", "epsilon", "measure", "best peer", "its number", *ours),
        (row(*entries) for entries in found),
    ]
    return "\n".join(itertools.chain.from_iterable(parts)) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--fewer", action="append", default=[], metavar="NAME=SEEDS", help="fewer for a slow peer")
    parser.add_argument("--tables", default="rand,fair,anes96,wages,health")
    parser.add_argument("--epsilons", default="1,4")
    parser.add_argument("--methods", help="by default bootstrap, ours, and the peers that have an interpreter")
    parser.add_argument("--peer", action="append", default=[], metavar="NAME=PYTHON", help=", ".join(PEERS))
    parser.add_argument("--limit", type=int, default=600, help="CPU seconds that a peer may take for one table")
    parser.add_argument("--singles", type=float, default=0.05, help="share of rows that makes a value a bin, for peers")
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--out", type=Path, help="a file for the page, by default tables.md in the cache")
    given = parser.parse_args()
    interpreters = parse_peers(given.peer)
    methods = given.methods.split(",") if given.methods else ["bootstrap", *OURS, *interpreters]
    if unknown := set(methods) - {"bootstrap", *OURS, *interpreters}:
        parser.error(f"methods must be ours or peers with an interpreter, found {', '.join(sorted(unknown))}")
    fewer = {name: int(number) for name, number in (each.split("=", 1) for each in given.fewer)}
    seeds = dict.fromkeys(methods, given.seeds) | fewer
    warnings.simplefilter("ignore")
    out = given.out or given.cache / "tables.md"
    for folder in (given.cache, out.parent):
        folder.mkdir(parents=True, exist_ok=True)
    asked, lines = Asked(given.cache, interpreters, given.limit, given.singles), []
    epsilons = [float(each) for each in given.epsilons.split(",")]
    with threadpool_limits(1):
        for each in run(asked, given.tables.split(","), epsilons, methods, seeds):
            lines.append(each)
            print(shown(each), flush=True)
            out.write_text(page(lines))
    print(page(lines))


if __name__ == "__main__":
    main()
