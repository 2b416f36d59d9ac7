"""The page of the league of whole tables: standings, how ours stand to the best peer, all measures in one figure."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from alphasynth import __version__
from alphasynth.league.entrants import BOOTSTRAP, OURS, OURS_WITH_RESPONSE
from alphasynth.league.measures import MEASURES
from alphasynth.league.page import CONFIDENTIAL, SPENT
from alphasynth.league.whole_tables import SECONDS, TableStanding
from alphasynth.pages import page
from alphasynth.pages.marks import Figure, Panel
from alphasynth.pages.named_marks import Intervals
from alphasynth.pages.palette import colours

SPENDS = f"{SPENT} Compare on a public table of the same kind where you can."
MINE = (OURS, OURS_WITH_RESPONSE)
BEST = "*"
HEADS = ("method", "epsilon", "repeats")
NOTE = (
    "Means over repeats, standard errors in brackets; smaller is better, and the best of those that keep epsilon has a "
    f"{BEST}. The bootstrap draws the table's own rows again, without privacy: what chance alone does. All methods "
    "have the same declared cells. Peers see their blocks, zero and declared heaps being blocks of their own and gaps "
    "another, and what they draw becomes values evenly within a block. Seconds of peers are of the synthesis alone, "
    "compilation included."
)


def lines_of(
    standings: Sequence[TableStanding], errors: bool = True
) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
    """Heads and lines of the standings, by epsilon, who has no privacy last; standard errors beside, or not."""
    names = list(standings[0].means)
    broken = any(standing.failed for standing in standings)
    lines: list[tuple[object, ...]] = []
    for standing in sorted(standings, key=lambda s: s.epsilon or math.inf):
        best = {name: _best(standings, standing.epsilon, name) for name in names}
        cells = [
            _cell(standing.means[name], standing.errors[name] if errors else math.nan, best[name] == standing.label)
            for name in names
        ]
        why = [standing.failed] * broken
        lines.append((standing.label, standing.epsilon, standing.repeats, *why, *cells))
    return (*HEADS, *["failed"] * broken, *names), lines


def _best(standings: Sequence[TableStanding], epsilon: float | None, name: str) -> str:
    """Who has the smallest number of a measure at an epsilon; nobody alone is the best."""
    held = [s for s in standings if s.epsilon == epsilon and math.isfinite(s.means[name])]
    return min(held, key=lambda s: s.means[name]).label if epsilon is not None and len(held) > 1 else ""


def _cell(mean: float, error: float, best: bool) -> page.Cell:
    """A mean, its standard error and whether it is the best.

    >>> _cell(0.01234, 0.0021, True).text, _cell(5.0, float("nan"), False).text
    ('0.0123 (0.002) *', '5')
    """
    if not math.isfinite(mean):
        return page.Cell("")
    words = _brief(mean, 3) + (f" ({_brief(error, 1)})" if math.isfinite(error) else "")
    return page.Cell(words + (f" {BEST}" if best else ""), mean)


def _brief(value: float, digits: int) -> str:
    """A number to so many digits.

    >>> _brief(1234.5, 3), _brief(0.01234, 1)
    ('1,230', '0.01')
    """
    return f"{float(f'{value:.{digits}g}'):,g}"


def ratios(standings: Sequence[TableStanding]) -> list[dict[str, object]]:
    """By epsilon and measure: the best peer, its number, and the share of it that each of ours is."""
    found: list[dict[str, object]] = []
    for epsilon in dict.fromkeys(s.epsilon for s in standings if s.epsilon is not None):
        here = [s for s in standings if s.epsilon == epsilon and s.repeats]
        mine, peers = ([s for s in here if (s.label in MINE) == own] for own in (True, False))
        for name in standings[0].means:
            held = [s for s in peers if math.isfinite(s.means[name])]
            if not held:
                continue
            best = min(held, key=lambda s: s.means[name])
            theirs = best.means[name]
            shares = {s.label: s.means[name] / theirs if theirs > 0 else math.nan for s in mine}
            found.append({"epsilon": epsilon, "measure": name, "best peer": best.label, "its number": theirs, **shares})
    return found


def figure_of(standings: Sequence[TableStanding]) -> Figure:
    """All measures, a panel for each epsilon and a point for each method, as logarithms: they span decades."""
    labels = list(dict.fromkeys(s.label for s in standings))
    panels = []
    names = tuple(standings[0].means)
    for epsilon in dict.fromkeys(s.epsilon for s in standings if s.epsilon is not None):
        shown = [s for s in standings if s.epsilon in (epsilon, None) and s.repeats]
        marks = tuple(_points(standing, names) for standing in shown)
        words = "; ".join(f"{s.label}: " + ", ".join(f"{n} {s.means[n]:.3g}" for n in names) for s in shown)
        panels.append(Panel(f"epsilon {epsilon:g}", "log10 of the measure", marks, f"{words}."))
    return Figure(
        "measures_by_method",
        "Measures by method",
        "Further left is better; one unit is a factor of ten. The bootstrap has no privacy and shows what chance does.",
        tuple(panels),
        colours(labels),
    )


def _points(standing: TableStanding, names: Sequence[str]) -> Intervals:
    """A point for each measure; what is 0 or not there has none."""
    means = np.array([standing.means[name] for name in names])
    none = np.full(len(names), np.nan)
    logs = np.log10(means, out=none.copy(), where=means > 0)
    tips = [
        f"{name}, {standing.label}: {_cell(standing.means[name], standing.errors[name], False).text}" for name in names
    ]
    return Intervals(standing.label, tuple(names), logs, none, none, tuple(tips))


def build(
    standings: Sequence[TableStanding], delta: float | None, responses: Sequence[str], notes: Sequence[str]
) -> page.Page:
    """The page."""
    heads, lines = lines_of(standings)
    versions = dict.fromkeys((s.label, s.version) for s in standings if s.version)
    told = [("delta", "none: a pure epsilon" if delta is None else f"{delta:g}")]
    told += [("response", ", ".join(responses))] if responses else []
    compared = ratios(standings)
    blocks = [
        page.text(SPENDS),
        page.facts(*told, ("Raked", f"alphasynth {__version__}"), *versions),
        page.table("Standings at equal epsilon and delta", heads, lines, series=True),
        page.note(NOTE),
        *(page.note(words) for words in notes),
    ]
    if compared:
        blocks.append(
            page.table(
                "Ours as a share of the best peer, chosen for every measure: below 1 ours is better", *_shares(compared)
            )
        )
    blocks += [page.figure_block(figure_of(standings)), page.heading("What the measures are"), _explained(standings)]
    sections = (page.Section("league", "League of whole tables", tuple(blocks)),)
    return page.Page("Whole tables compared", sections, (CONFIDENTIAL,), f"alphasynth {__version__}")


def _shares(compared: Sequence[dict[str, object]]) -> tuple[list[str], list[list[object]]]:
    """Heads and lines of the table of ratios."""
    heads = list(compared[0])
    return heads, [[_ratio(head, line[head]) for head in heads] for line in compared]


def _ratio(head: str, value: object) -> object:
    return page.Cell(_brief(value, 3), value) if isinstance(value, float) and head in MINE else value


def _explained(standings: Sequence[TableStanding]) -> page.Block:
    names = [name for name in standings[0].means if name not in SECONDS]
    several = "Of several responses the mean is shown." if "coef" in names else ""
    lines = [f"{name}: {MEASURES[name]}." for name in names]
    return page.items(*lines, *([several] if several else []), f"{BOOTSTRAP}: rows of the table, drawn again.")
