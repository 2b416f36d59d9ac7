"""Do budget weights keep their claim? Databases of many kinds and sizes, each with 20 neighbours.

    python benchmarks/budget_weights.py [--databases 1000] [--processes 1]

Every database and every neighbour is bound anew; by quadrature, the loss of the draw that weights are made from and, at
two such draws, the loss of a draw released are added up (at delta 1e-5 in all). What Markov chains miss is not in it.
Prints a table by kind and n and writes benchmarks/results/budget-weights.json.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from alphasynth.audits.quadrature import weigh_far
from alphasynth.inference.density import Target
from alphasynth.inference.grid import scores
from alphasynth.mechanisms.chain import Chain
from alphasynth.mechanisms.fit import Problem, in_64_bit
from alphasynth.mechanisms.mechanism import budget_weights, settled
from alphasynth.mechanisms.rules import BW
from alphasynth.privacy.divergence import AUDIT_DELTA, epsilon_between
from alphasynth.synthesizer import Synthesizer
from alphasynth.tables.records import Records

RESULTS = Path(__file__).parent / "results"
SIZES = (20, 30, 100, 1_000, 10_000, 100_000, 1_000_000)
EPSILONS, CAPS = (0.5, 1.0, 4.0, 10.0), (1.0, "auto")
POINTS = {1: 201, 2: 41}  # along an axis, for each mode
LARGEST_COUNT, NEIGHBOURS = 100_000_000, 20
MORE = (1, 2, 4, 6, 9, 12, 20, 35, 60, 150, 400, 1_000, 10_000, 100_000, 1_000_000)


def groups(rng: np.random.Generator, n: int) -> np.ndarray:
    return np.where(rng.random(n) < rng.uniform(0.3, 0.7), rng.poisson(5, n), rng.poisson(90, n))


def mixture(rng: np.random.Generator, n: int) -> np.ndarray:
    return np.where(rng.random(n) < 0.2, rng.negative_binomial(5, 5 / 105, n), rng.negative_binomial(20, 20 / 120, n))


# Kind: the family that is fitted, and how values are made.
KINDS = {
    "Poisson(8)": ("poisson", lambda rng, n: rng.poisson(8, n)),
    "NB(5, 2)": ("negative_binomial", lambda rng, n: rng.negative_binomial(2, 2 / 7, n)),
    "mixture": ("negative_binomial", mixture),
    "two groups": ("poisson", groups),
    "two groups, NB": ("negative_binomial", groups),
    "heaps": ("poisson", lambda rng, n: 10 * rng.poisson(1.2, n)),
    "ties": ("negative_binomial", lambda rng, n: rng.choice([3, 7], n)),
    "constant": ("poisson", lambda rng, n: np.full(n, rng.integers(1, 50))),
    "y ~ 0 + x + z": ("poisson", lambda rng, n: rng.poisson(3, n)),
}


class Table(NamedTuple):
    """Columns by name, one entry per distinct row, and counts."""

    columns: dict[str, np.ndarray]
    counts: np.ndarray

    def records(self) -> Records:
        """Those that are there."""
        keep = self.counts > 0
        return Records("y", {name: column[keep] for name, column in self.columns.items()}, self.counts[keep], None)

    def changed(self, row: int, by: int) -> Table:
        """With one record more or less of a row."""
        counts = self.counts.copy()
        counts[row] += by
        return self._replace(counts=counts)


def database(kind: str, n: int, rng: np.random.Generator) -> Table:
    y = KINDS[kind][1](rng, n)
    if kind != "y ~ 0 + x + z":
        values, counts = np.unique(y, return_counts=True)
        return Table({"y": values}, counts)
    return Table({"y": y, "x": rng.normal(size=n), "z": rng.normal(size=n)}, np.ones(n, np.int64))


def with_canaries(table: Table) -> tuple[Table, list[int]]:
    """The table and rows to add: 0, far counts, and rows far beyond the covariates."""
    y = table.columns["y"]
    largest = max(int(y.max()), 1)
    rows = [{"y": value} for value in (0, 2 * largest, 10 * largest, LARGEST_COUNT)]
    few = NEIGHBOURS - len(rows) - len(y)  # values to remove: where there are few, more to add
    rows += [{"y": value} for value in MORE[: max(few, 0)]]
    if "z" in table.columns:
        far = [(0.0, 100.0), (100.0, 0.0), (0.0, -100.0), (30.0, 30.0), (0.0, 10.0)]
        rows = [{"y": value, "x": x, "z": z} for x, z in far for value in (0, largest)]
        rows += [{"y": LARGEST_COUNT, "x": 1.0, "z": 1.0}, {"y": 0, "x": 3.0, "z": 3.0}]
    columns = {name: np.append(column, [row[name] for row in rows]) for name, column in table.columns.items()}
    size = len(y)
    return Table(columns, np.append(table.counts, np.zeros(len(rows), np.int64))), list(range(size, size + len(rows)))


def neighbours(table: Table) -> tuple[Table, list[tuple[int, int]]]:
    """Rows to add or remove, as (row, +1 or -1): all canaries, then removals from both ends inwards."""
    held, canaries = with_canaries(table)
    order = np.argsort(table.columns["y"], kind="stable")
    inwards = np.stack([order, order[::-1]], axis=1).ravel()
    removed = list(dict.fromkeys(inwards.tolist()))[: NEIGHBOURS - len(canaries)]
    return held, [*((row, 1) for row in canaries), *((row, -1) for row in removed)]


def target_after(chain: Chain, rule: BW, u: np.ndarray) -> Target:
    """The target that follows a first draw."""
    allowed, alpha = budget_weights(chain, rule, [u])
    return target_of(allowed.one, alpha)


def target_of(problem: Problem, alpha: np.ndarray) -> Target:
    alpha = np.where(problem.rows.finite[problem.rows.of], alpha, 0.0)
    return Target.of(problem.model, problem.rows, problem.rows.total(alpha * problem.records.counts))


def loss_on(u: np.ndarray, log_p: np.ndarray, mine: np.ndarray, other: Target) -> float:
    """Epsilon at half of delta, the larger of both directions, on the points of a grid."""
    raw = mine - np.asarray(scores(other.model, u, other.data))
    loss = raw + logsumexp(log_p - raw)
    log_q = log_p - loss
    return max(epsilon_between(loss, log_p, AUDIT_DELTA / 2), epsilon_between(-loss, log_q, AUDIT_DELTA / 2))


class Part(NamedTuple):
    """One part of the output on a database: points of a grid, their log probabilities, and its log density there."""

    u: np.ndarray
    log_p: np.ndarray
    mine: np.ndarray

    @classmethod
    def of(cls, target: Target) -> Part:
        """On points around its modes and far beyond."""
        at = weigh_far(target, POINTS[target.model.prior.size])
        keep = at.probability > 0
        mine = np.asarray(scores(target.model, at.u, target.data))
        return cls(at.u[keep], np.log(at.probability[keep]), mine[keep])


@in_64_bit
def losses(s: Synthesizer, table: Table, rng: np.random.Generator) -> list[float]:
    """The loss towards each neighbour, of a draw."""
    held, changes = neighbours(table)
    own = s.bind(table.records())
    rule = settled(s.mechanism.rules[-1], s.target, own)
    first = Part.of(target_of(own.one.guide, np.ones(own.records.size)))
    drawn = rng.choice(len(first.u), p=np.exp(first.log_p) / np.exp(first.log_p).sum())
    places = first.u[[int(np.argmax(first.log_p)), int(drawn)]]
    seconds = [Part.of(target_after(own, rule, u)) for u in places]
    found = []
    for row, by in changes:
        other = s.bind(held.changed(row, by).records())
        cost = loss_on(*first, target_of(other.one.guide, np.ones(other.records.size)))
        # n is public, and so is the cap that it decides: neighbours share it.
        then = [loss_on(*part, target_after(other, rule, u)) for part, u in zip(seconds, places, strict=True)]
        found.append(cost * s.target / other.one.guide.model.epsilon + max(then))
    return found


def cases(databases: int) -> list[tuple[str, int, float, object]]:
    """Kinds, sizes, epsilons and caps in turn, so that any number of databases has some of each."""
    everything = []
    for number in range(databases):
        turn, place = divmod(number, len(KINDS))
        kind = list(KINDS)[place]
        n = SIZES[turn // 4 % 4] if kind.startswith("y ~") else SIZES[turn % len(SIZES)]
        everything.append((kind, n, EPSILONS[(turn + place) % len(EPSILONS)], CAPS[(turn // 4 + place) % len(CAPS)]))
    return everything


def one_database(given: tuple[int, tuple[str, int, float, object]]) -> list[float]:
    """Losses towards the neighbours of one database, which its number decides."""
    number, (kind, n, epsilon, cap) = given
    warnings.simplefilter("ignore")
    rng = np.random.default_rng([15, number])
    formula = "y ~ 1" if not kind.startswith("y ~") else kind
    public = [] if formula == "y ~ 1" else ["x", "z"]
    options = {"family": KINDS[kind][0], "mechanism": "BW", "epsilon": epsilon, "cap": cap, "m": 1, "seed": 1}
    return losses(Synthesizer(formula, public=public, **options), database(kind, n, rng), rng)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--databases", type=int, default=1_000)
    parser.add_argument("--processes", type=int, default=1)
    asked = parser.parse_args()
    begin = time.perf_counter()
    by_cell: dict[tuple[str, int], list[tuple[float, float]]] = defaultdict(list)
    databases: dict[tuple[str, int], int] = defaultdict(int)
    everything = cases(asked.databases)
    with ProcessPoolExecutor(asked.processes, get_context("spawn")) as pool:
        results = pool.map(one_database, enumerate(everything), chunksize=1)
        for number, ((kind, n, epsilon, _), found) in enumerate(zip(everything, results, strict=True), start=1):
            by_cell[kind, n] += [(loss, epsilon) for loss in found]
            databases[kind, n] += 1
            if number % 50 == 0:
                print(f"{number:,} databases, {time.perf_counter() - begin:.0f} s", flush=True)
    lines = []
    for (kind, n), found in sorted(by_cell.items(), key=lambda item: (list(KINDS).index(item[0][0]), item[0][1])):
        loss, claim = np.array(found).T
        lines.append(
            {
                "kind": kind,
                "n": n,
                "databases": databases[kind, n],
                "neighbours": len(found),
                "largest_share_of_claim": float((loss / claim).max()),
                "median_share_of_claim": float(np.median(loss / claim)),
                "broken": int((loss > claim * (1 + 1e-9)).sum()),
            }
        )
    show(lines)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "budget-weights.json").write_text(json.dumps(lines, indent=1) + "\n", encoding="utf-8")
    print(f"{time.perf_counter() - begin:.0f} s")


def show(lines: list[dict]) -> None:
    """Kinds by sizes: the largest loss / the median loss, as shares of the claim, and how many claims were broken."""
    sizes = sorted({line["n"] for line in lines})
    print("| data | " + " | ".join(f"n = {n:,}" for n in sizes) + " |")
    print("| --- |" + " --- |" * len(sizes))
    for kind in KINDS:
        cells = {line["n"]: line for line in lines if line["kind"] == kind}
        print(f"| {kind} | " + " | ".join(_cell(cells[n]) if n in cells else "" for n in sizes) + " |")
    number, around, broken = (sum(line[name] for line in lines) for name in ("databases", "neighbours", "broken"))
    largest = max(line["largest_share_of_claim"] for line in lines)
    print(f"{number:,} databases, {around:,} neighbours: {broken} broken, largest loss {largest:.3f} of the claim")


def _cell(line: dict) -> str:
    shares = f"{line['largest_share_of_claim']:.2f} / {line['median_share_of_claim']:.2f}"
    return f"{shares}; {line['broken']} of {line['neighbours']:,}"


if __name__ == "__main__":
    main()
