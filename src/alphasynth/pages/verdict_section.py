"""The first section of pages that compare with the confidential table: the verdict, and the largest differences."""

from __future__ import annotations

from collections.abc import Mapping

from alphasynth.evaluation.verdict import Verdict
from alphasynth.evaluation.verdict_words import limits_words, parts_of
from alphasynth.pages import page
from alphasynth.pages.measures import largest_lines

TITLE, LIMITS = "Is it good enough?", "Limits by which this was said"


def section(verdicts: Mapping[str, Verdict]) -> page.Section:
    """Verdicts on synthesizers by their labels, of a single one without it; then what differs most."""
    blocks: list[page.Block] = []
    for label, verdict in verdicts.items():
        blocks += [page.heading(label)] if len(verdicts) > 1 else []
        blocks += [verdict_block(verdict.lines), page.details(LIMITS, *limits_of(verdict))]
    found = largest_lines(verdicts)
    if found.lines:
        several = len(verdicts) > 1
        heads, lines = found.heads, found.lines
        if not several:
            heads, lines = heads[1:], [line[1:] for line in lines]
        blocks.append(page.table(found.caption, heads, lines, series=several))
    return page.Section("verdict", TITLE, tuple(blocks))


def limits_of(verdict: Verdict) -> tuple[str, ...]:
    """The limits of a verdict, in words."""
    return limits_words(len(verdict.compared), verdict.beyond)


def verdict_block(lines: tuple[str, str, str]) -> page.Block:
    """Three lines, the words that they begin with apart."""
    return page.verdict(*parts_of(lines))
