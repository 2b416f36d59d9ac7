"""The league of whole tables: every entrant at equal epsilon and delta, measured on the same cells."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from alphasynth.league.entrants import Entrant
from alphasynth.league.measures import Judge
from alphasynth.league.run_peer import PeerError

SECONDS = ("CPU s", "wall s")
Tell = Callable[[str, int, int], None]


@dataclass(frozen=True)
class TableStanding:
    """One entrant at one epsilon: means over repeats by measure, standard errors, or why there are none (confidential).

    A bootstrap has no epsilon. `version` is that of the peer's package.
    """

    label: str
    epsilon: float | None
    means: dict[str, float]
    errors: dict[str, float]
    repeats: int
    version: str = ""
    failed: str = ""


def compare_tables(
    seed: int,
    judge: Judge,
    entrants: Sequence[Entrant],
    epsilons: Sequence[float],
    repeats: int,
    tell: Tell = lambda doing, done, steps: None,
) -> list[TableStanding]:
    """Standings of the entrants at each epsilon; who is not private stands once."""
    pairs = [(entrant, epsilon) for epsilon in epsilons for entrant in entrants if entrant.private]
    pairs = [*((entrant, math.inf) for entrant in entrants if not entrant.private), *pairs]
    standings = []
    for place, (entrant, epsilon) in enumerate(pairs):
        words = entrant.label + (f" at epsilon {epsilon:g}" if entrant.private else "")
        told = partial(_tell, tell, words, place, len(pairs))
        standings.append(_stand([_seed(seed, i) for i in range(repeats)], judge, entrant, epsilon, told))
    return standings


def _tell(tell: Tell, words: str, place: int, of: int, repeat: int) -> None:
    tell(f"{words}, repeat {repeat}", place, of)


def _seed(seed: int, repeat: int) -> int:
    """The seed of a repeat, which all entrants share."""
    return int(np.random.SeedSequence([seed, repeat]).generate_state(1)[0])


def _stand(
    seeds: Sequence[int], judge: Judge, entrant: Entrant, epsilon: float, tell: Callable[[int], None]
) -> TableStanding:
    """All repeats of one entrant, up to the first that fails: who is slow is slow the next time too."""
    found: list[dict[str, float]] = []
    version = failed = ""
    for number, seed in enumerate(seeds):
        tell(number + 1)
        try:
            made, took = entrant.make(epsilon, seed)
        except PeerError as error:
            failed = str(error)
            break
        version = took.version
        found.append(judge.score(made) | dict(zip(SECONDS, (took.cpu, took.wall), strict=True)))
    names = (*judge.measures, *SECONDS)
    columns = {name: np.array([each[name] for each in found]) for name in names}
    return TableStanding(
        entrant.label,
        epsilon if entrant.private else None,
        {name: float(column.mean()) if found else math.nan for name, column in columns.items()},
        {name: _error(column) for name, column in columns.items()},
        len(found),
        version,
        failed,
    )


def _error(values: np.ndarray) -> float:
    """The standard error of a mean.

    >>> _error(np.array([1.0, 3.0]))
    1.0
    """
    return float(values.std(ddof=1) / math.sqrt(len(values))) if len(values) > 1 else math.nan
