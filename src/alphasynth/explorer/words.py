"""What the explorer says: that it is confidential, what looking at it costs, what its numbers are."""

from __future__ import annotations

from typing import Any

from alphasynth.explorer.outcome import HIGHEST_KHAT, LEAST_EFFECTIVE
from alphasynth.privacy import promises
from alphasynth.synthesizer import Synthesizer

CONFIDENTIAL = "CONFIDENTIAL: this page holds the records' values, weights and bounds. It must not be published."
SPENDS = (
    "Choosing a setting by what is seen here spends privacy: the choice then depends on the records, and no epsilon on "
    "this page counts that."
)
TAKES_TWIN = (
    "Where you can, choose on a table that is simulated from public numbers: alphasynth explore RUN --twin "
    "mean=...,phi=...,rows=... makes the same page of one. Then no record is looked at."
)
SIMULATED = "Simulated twin"
TWIN = (
    "Simulated twin: {}. Of the confidential table no more than the number of its rows was used, so choosing a setting "
    "here spends no privacy; what suits the twin need not suit the table."
)
RULES = {
    "bound_words": "Delta",
    "bounds_title": "Lipschitz bound against weight",
    "dashed_words": "Delta, the largest bound that a run is expected to find",
    "claim": "An estimate for this table: epsilon is twice Delta for each draw released, and in all",
}
BUDGET = {
    "bound_words": "bound",
    "bounds_title": "What a record may add, against its weight",
    "dashed_words": "half of epsilon for a draw, which no record exceeds",
    "claim": "Every record's weight is what epsilon allows it; a run would state",
}
CUT = {
    "bound_words": "range",
    "bounds_title": "What a record's contribution ranges over, against its weight",
    "dashed_words": "epsilon of a draw, at which contributions are cut",
    "claim": "What a record adds is cut to a range of epsilon for each draw; a run would state",
}
KINDS = {"rules": RULES, "budget": BUDGET, "cut": CUT}


def of_kind(kind: str, synthesizer: Synthesizer) -> dict[str, Any]:
    """Words that depend on what decides epsilon."""
    rows = " for one row of the table" if synthesizer.scope != "none" else ""
    return {**KINDS[kind], "claim_end": f"{rows}."}


def promise(synthesizer: Synthesizer) -> str:
    """What a run promises, and what is known to break it, as its guarantee says it."""
    rules = [type(rule).__name__ for rule in synthesizer.mechanism.rules] or ["SW"]
    scope = synthesizer.scope if synthesizer.mechanism.rules or synthesizer.strict else "instance"
    said = promises.sentence(promises.clauses_of(scope, rules, scored=False, several=False, capped=False))
    return f"{said[0].upper()}{said[1:]}."


def utility_note(rows: int, n: int) -> str:
    """What the utility table's lines are of."""
    part = "" if rows == n else f" The table has {n:,} rows; those behind this page have {rows:,}, and scatter more."
    return (
        "One table was simulated from each stored draw, as a run would. The sd is that between tables, sampling error "
        "of their rows included." + part
    )


def explained(kind: str, fits: int, draws: int, num_draws: int) -> tuple[str, ...]:
    """How the numbers come about, and how far they can be trusted."""
    pool = (
        f"The page holds {draws:,} draws of parameters from {fits} fits at settings that span the sliders. At any "
        "setting each draw is weighted by how much likelier it is there than under all fits together (importance "
        "sampling with the balance heuristic), so nothing is fitted while you move."
    )
    trust = (
        f"The Pareto k-hat says whether that can work: above {HIGHEST_KHAT} a few draws decide, and the numbers turn "
        "grey. The draws' worth is how many independent draws would tell as much; below "
        f"{LEAST_EFFECTIVE} the numbers turn grey as well, and where the weights are smaller than in any fit made."
    )
    largest = (
        f"A run's bounds are the largest over its {num_draws:,} draws. Here they are what so many draws are expected "
        "to show, by the weighted draws. A run finds its own, which scatters about that, and its own decide."
    )
    beside = {
        "rules": largest,
        "budget": "Budget weights start from one private draw, which is held here while you move; a run draws its own.",
        "cut": (
            f"{largest} In place of a weight stands the factor of its log-likelihood times how often it is not cut. A "
            "run draws exactly, on a public grid, where its mechanism is strict; draws here are of a quick sampler."
        ),
    }
    return (pool, trust, beside[kind])
