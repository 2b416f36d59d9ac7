"""What a study is: its place in the paper, what it simulates, runs and expects; and what comes of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from alphasynth.pages.page import Section
from alphasynth_studies.expected import Expected, Line, found_in, interval_in

SEED = 20_261_115  # of every study: the same numbers come each time
Tell = Callable[[str, int, int], None]  # what is being done, steps done, steps in all


class Asked(NamedTuple):
    """What was asked for: how large, and the user's own table where the study takes one."""

    size: str
    table: str | None = None
    tell: Tell = lambda doing, done, steps: None
    processes: int = 1


@dataclass(frozen=True, eq=False)
class Findings:
    """What came of a study: numbers by name, and the page's sections; `mark` stands on every page and figure."""

    results: Mapping[str, Any]
    sections: tuple[Section, ...]
    mark: str = ""


@dataclass(frozen=True)
class Study:
    """One of the paper's studies; `run` makes its findings."""

    name: str
    title: str
    place: str
    simulates: str
    runs: str
    figures: tuple[int, ...]  # the paper's, by number; each has its counterpart on the page
    expected: tuple[Expected, ...] = field(repr=False)
    run: Callable[[Asked], Findings] = field(repr=False)
    takes_table: bool = False

    def lines(self, results: Mapping[str, Any]) -> list[Line]:
        """A line for each expected number; `fitted` in the results names those that settings were chosen to match."""
        fitted = set(results.get("fitted", ()))
        return [
            e.beside(found_in(results, e.name), interval_in(results, e.name), e.name in fitted) for e in self.expected
        ]


def figure_name(number: int, words: str) -> str:
    """Name of the counterpart of one of the paper's figures.

    >>> figure_name(4, "weights")
    'figure_04_weights'
    """
    return f"figure_{number:02d}_{words}"
