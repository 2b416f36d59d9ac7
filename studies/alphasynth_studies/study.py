"""What a study is: its place in the paper, what it simulates, runs and expects; and what comes of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from alphasynth.pages.page import Section
from alphasynth_studies.expected import Expected, Line, judged

SEED = 20_261_115  # of every study: the same numbers come each time
# Settings that are ours, by the codes with which verdicts name them: what the paper gives, and what we take.
SETTINGS = {
    "n": "1,000 records a table, as section 4 and Supp 5 have; section 3 gives no n",
    "S": "1,000 draws of each posterior; the paper writes S and gives no number",
    "m": "20 synthetic tables of each synthesizer; the paper gives no number",
    "B": "95 % intervals are the middle 95 % of 1,000 bootstrap resamples of a table, ends averaged over the m tables; "
    "the paper says '95% confidence interval' and not how it is made. Chosen in sight of the published "
    "widths (3.4 for LW's mean): the middle 95 % of all m tables' resamples together would be 5.8 wide. So the widths "
    "of synthetic tables' intervals are fitted",
    "LW": "c = 1, g = 0 for LW and LW_final, and SW at LW's Delta; the paper gives none of them",
    "CW": "radius 0.3 of the value, c = 1.5, g = 0.1 for CW and CW_final; the paper gives none of them",
    "U": "utility is the mean absolute error of the four statistics in half widths of the data's intervals, or of the "
    "statistic named; the paper shows violins, densities and intervals, and names no measure",
    "G": "Supp 5's Poisson has mu = 100 and a Poisson model, its mixture has shares 0.2 and 0.8; Supp 5 prints the "
    "dispersions (5, 5), and we take section 3's (5, 20), since two equal ones are no mixture",
    "D": "a stand-in for the survey's sample, in dollars, with ten salaries of 0",
}
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
        """A line for each expected number."""
        return [judged(expected, results) for expected in self.expected]


def figure_name(number: int, words: str) -> str:
    """Name of the counterpart of one of the paper's figures.

    >>> figure_name(4, "weights")
    'figure_04_weights'
    """
    return f"figure_{number:02d}_{words}"
