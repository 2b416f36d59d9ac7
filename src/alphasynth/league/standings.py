"""The league table: every mechanism at equal total epsilon, by scope, on utility, audited loss and time.

A study: it fits every mechanism many times and looks at what comes out. On a confidential table that alone spends
privacy, so it can run on a twin that is simulated from parameters declared public.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from alphasynth.audits.audit import FEWER_ROWS, audit
from alphasynth.audits.finding import Finding
from alphasynth.audits.subject import Subject
from alphasynth.errors import CalibrationError, DiagnosticsError, InputError
from alphasynth.evaluation.distances import mean_distances
from alphasynth.evaluation.propensity import propensities
from alphasynth.evaluation.values import Values, statistics
from alphasynth.exact.public_grid import PublicGrid
from alphasynth.league.baselines import NOISES, Histogram
from alphasynth.mechanisms.fit import in_64_bit
from alphasynth.privacy.divergence import AUDIT_DELTA
from alphasynth.privacy.randomness import Key, child
from alphasynth.privacy.scopes import NONE, STRICT
from alphasynth.synthesis.outcome import Carried, carry_out, new_rows
from alphasynth.synthesis.simulation import pick
from alphasynth.synthesizer import Synthesizer
from alphasynth.tables.records import Records

# Repeats of which the propensity score is taken: it takes longer than a synthesis.
SCORED = 5
LONG = 60.0  # seconds to come that are told
Make = Callable[[str, float | None], Synthesizer]  # a mechanism's name and the total epsilon
Tell = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Standing:
    """One mechanism at one epsilon (confidential where the table is).

    `rmse` by statistic over the repeats; `wasserstein` in the column's unit and `s_pmse` (logistic), means; `claim` and
    `loss` for one draw, which where it is not `certain` tells nothing; `failed` repeats ended without a table.
    """

    label: str
    scope: str
    epsilon: float | None
    rmse: dict[str, float]
    wasserstein: float
    s_pmse: float
    claim: float | None
    loss: float | None
    delta: float
    seconds: float
    repeats: int
    failed: int = 0
    certain: bool = True

    @property
    def kept(self) -> bool | None:
        """Whether the audit found the claim kept; None where there is no claim, or the audit cannot tell."""
        if self.loss is None or self.claim is None or self.scope == NONE or not self.certain:
            return None
        return self.loss <= self.claim * (1 + 1e-9)


@dataclass(frozen=True, eq=False)
class Table:
    """The records to compare on, and their response's values (confidential, unless a twin's)."""

    records: Records = field(repr=False)
    values: Values = field(repr=False)
    twin: str = ""

    @classmethod
    def of(cls, records: Records, twin: str = "") -> Table:
        """Table of records with a numeric response."""
        response = np.asarray(records.columns[records.response])
        if response.dtype.kind not in "iuf":
            raise InputError(f"mechanisms are compared on a numeric response, found that {records.response!r} is not")
        return cls(records, Values.of(response, records.counts), twin)


def compare(
    seed: int,
    table: Table,
    make: Make,
    names: Sequence[str],
    epsilons: Sequence[float],
    repeats: int,
    m: int,
    largest: int,
    tell: Tell = lambda doing, done, steps: None,
) -> list[Standing]:
    """Standings of the mechanisms named, at each epsilon; Unweighted has none and stands once."""
    standings = []
    pairs = [(name, epsilon) for name in names for epsilon in (epsilons if name != "Unweighted" else [None])]
    begin = time.monotonic()
    for place, (name, epsilon) in enumerate(pairs):
        words = name if epsilon is None else f"{name} at epsilon {epsilon:g}"
        words += to_come(place, len(pairs), time.monotonic() - begin)
        key = np.random.SeedSequence([seed, place])
        entrant = _Baseline(name, largest, epsilon, m) if name in NOISES else Fitted(make(name, epsilon), m)
        standings.append(_stand(key, table, entrant, epsilon, repeats, partial(_tell, tell, words, place, len(pairs))))
    return standings


def to_come(done: int, of: int, seconds: float) -> str:
    """How long a comparison that took so many seconds so far will take yet, and what to change; empty where not long.

    >>> to_come(3, 12, 60.0)
    ' (about 3 minutes to come; fewer --mechanisms or --repeats are faster)'
    """
    left = seconds / done * (of - done) if done else 0.0
    minutes = math.ceil(left / 60)
    return f" (about {minutes} minutes to come; fewer --mechanisms or --repeats are faster)" if left > LONG else ""


def _tell(tell: Tell, words: str, place: int, of: int, repeat: int) -> None:
    tell(f"{words}, repeat {repeat}", place, of)


@dataclass(frozen=True)
class _Baseline:
    """A perturbed histogram."""

    label: str
    largest: int
    epsilon: float | None
    m: int
    scope: str = STRICT

    def tables(self, key: Key, table: Table) -> list[np.ndarray]:
        assert self.epsilon is not None
        return Histogram(self.label, self.largest).tables(
            key, table.values.values, table.values.counts, self.epsilon, self.m
        )

    def audited(self, key: Key, table: Table) -> Finding | None:
        return None  # by proof: a record moves one bin by one


@dataclass(eq=False)
class Fitted:
    """A mechanism of ours; it keeps its last outcome for the audit."""

    synthesizer: Synthesizer
    m: int
    carried: Carried | None = None

    @property
    def label(self) -> str:
        """What it is called."""
        return self.synthesizer.mechanism.label

    @property
    def scope(self) -> str:
        """Which kind of promise it makes."""
        return self.synthesizer.scope

    @in_64_bit
    def tables(self, key: Key, table: Table) -> list[np.ndarray]:
        """The response's synthetic values, from each of m draws of one run."""
        s = self.synthesizer
        carried = self.carried = carry_out(child(key, 0), s, s.model, table.records)
        fewest = min((column.draws for column in carried.trail.fits[-1].columns), key=lambda draws: draws.num_draws)
        rng = np.random.default_rng(child(key, 2))
        picked = pick(child(key, 1), fewest, self.m).tolist()
        return [new_rows(child(key, 3, number), carried, number, rng)[s.responses[0]] for number in picked]

    def audited(self, key: Key, table: Table) -> Finding | None:
        """What an audit finds of the last run."""
        if self.carried is None:
            return None
        s, (bound, trail, paths) = self.synthesizer, self.carried
        subject = Subject(trail, bound.chain, s.bind, s.mechanism, s.target, s.scope, s.sampled, paths)
        exact = bool(paths) or all(isinstance(block.sampler, PublicGrid) for block in bound.chain.blocks)
        return audit(key, subject, ["density" if exact else "draw"], most=FEWER_ROWS)[0]


def _stand(
    key: Key,
    table: Table,
    entrant: _Baseline | Fitted,
    epsilon: float | None,
    repeats: int,
    tell: Callable[[int], None],
) -> Standing:
    wanted = statistics()
    own = {statistic.name: statistic.of(table.values) for statistic in wanted}
    errors: list[dict[str, float]] = []
    apart: list[float] = []
    scores: list[float] = []
    seconds: list[float] = []
    failed = 0
    for number in range(repeats):
        tell(number + 1)
        begin = time.perf_counter()
        try:
            tables = entrant.tables(child(key, 0, number), table)
        except (CalibrationError, DiagnosticsError):
            failed += 1
            continue
        seconds.append(time.perf_counter() - begin)
        made = [Values.of(values) for values in tables]
        errors.append({s.name: float(np.mean([s.of(v) for v in made])) - own[s.name] for s in wanted})
        apart.append(mean_distances(table.values, made).wasserstein)
        if len(scores) < SCORED:
            scores.append(_score(child(key, 1, number), table, made))
    finding = entrant.audited(child(key, 2), table) if errors else None
    return Standing(
        label=entrant.label,
        scope=entrant.scope,
        epsilon=epsilon,
        rmse={s.name: float(np.sqrt(_mean([e[s.name] ** 2 for e in errors]))) for s in wanted},
        wasserstein=_mean(apart),
        s_pmse=_mean(scores),
        claim=None if finding is None else finding.claim,
        loss=None if finding is None else finding.loss,
        delta=AUDIT_DELTA if finding is None else finding.delta,
        seconds=float(np.median(seconds)) if seconds else np.nan,
        repeats=repeats,
        failed=failed,
        certain=finding is None or finding.certain,
    )


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else np.nan


def _score(key: Key, table: Table, made: Sequence[Values]) -> float:
    """S_pMSE of the response alone, by the logistic model."""
    name = table.records.response
    own, *others = (Records(name, {name: v.values}, v.counts, None) for v in (table.values, *made))
    return propensities(np.random.default_rng(key), own, others)[0].standardised
