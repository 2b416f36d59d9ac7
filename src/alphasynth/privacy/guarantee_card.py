"""Guarantees as notebooks show them: numbers first, then every clause of the promise, and what the budget went to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from alphasynth.notebook import markup, sketches
from alphasynth.privacy.accounting import as_written, written
from alphasynth.privacy.decimals import shown_small
from alphasynth.privacy.scopes import INSTANCE, NONE, STRICT, TARGET

# What the policy's number is, which is not the same thing under every scope.
BUDGET = {
    STRICT: "epsilon",
    TARGET: "target epsilon, not promised",
    INSTANCE: "policy's epsilon, aimed at",
    NONE: "policy's epsilon, not promised",
}
SEEDED = "Not for release, since the random seed was fixed."


def guarantee_card(
    title: str,
    numbers: Mapping[str, object],
    clauses: Sequence[str],
    releasable: bool,
    figure: markup.Html | None = None,
    mark: str = "",
) -> str:
    """A guarantee: its numbers by name, a figure of them, the clauses of its promise."""
    seeded = None if releasable else markup.element("div", "font-weight:bold", SEEDED)
    said = markup.sentences([f"{clause[:1].upper()}{clause[1:]}." for clause in clauses])
    return markup.card(title, seeded, markup.facts(numbers), figure, said, mark=mark)


def budget_words(epsilon: float | None, delta: float | None) -> dict[str, str]:
    """A policy's numbers as they were written, those that there are.

    >>> budget_words(4.0, 1e-9), budget_words(None, None)
    ({'epsilon': '4', 'delta': '1e-9'}, {})
    """
    said = {} if epsilon is None else {"epsilon": as_written(epsilon)}
    return said if delta is None else {**said, "delta": shown_small(written(delta))}


def spending(parts: Sequence[tuple[str, float]], of: str) -> markup.Html | None:
    """What a budget went to, where it went to several things."""
    if len(parts) < 2:
        return None
    return sketches.captioned(f"parts of {of}", sketches.parts_of(f"parts of {of}", parts))


def reached(policy: float | None, realised: float) -> markup.Html | None:
    """A policy's epsilon over the realised one, where there is a policy."""
    if policy is None:
        return None
    words = "the policy's epsilon above, the realised one below"
    return sketches.captioned(words, sketches.against(words, policy, realised))
