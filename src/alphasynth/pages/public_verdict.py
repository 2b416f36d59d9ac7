"""The public page's verdict: from the guarantee and nothing else, so that no record has a part in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from alphasynth.evaluation.findings import SMALL_GROUP
from alphasynth.evaluation.verdict_words import HEADS, listed, named, parts_of
from alphasynth.models.formula import Formula
from alphasynth.pages import page
from alphasynth.pages.measures import is_vector
from alphasynth.pages.public_use import has_interval
from alphasynth.privacy.public_guarantee import PublicGuarantee
from alphasynth.privacy.scopes import INSTANCE, NONE, TARGET
from alphasynth.privacy.strict_terms import NoisySums
from alphasynth.raking.measured import WORDS as MEASURED

# Noise is off above this part of a sampling error: then it matters more than which records are in the table.
MOST_NOISE = 1.0

SUMS, MODEL, MODELS, DRAWS = "sums", "model", "models", "draws"
NOISY, DRAWS_NOISY, TAILS, AT_LIMIT, LEFT_OUT, THREE = "noisy", "noisy draws", "tails", "at limit", "left out", "three"
SEEDED, NOT_PRIVATE, ESTIMATED, FOR_STUDY = "seeded", "not private", "estimated", "for study"
ONE_DRAW, OF_LIMITED, GROUPS, PERSONS = "one draw", "of limited", "groups", "persons"
WORDS = {
    SUMS: "{}",
    MODEL: "{}",
    MODELS: "values of {} columns and how each goes with those before it, if the models they were drawn from are right",
    DRAWS: "the model's numbers (parameters), each draw of which scatters by {} of their sampling error",
    NOISY: "{}",
    DRAWS_NOISY: "the model's numbers (parameters), each draw of which scatters by {} of their sampling error",
    TAILS: "tails, which weights by record draw in, and with them standard deviations and means of skewed columns",
    AT_LIMIT: "a draw at a limit of the public grid: if the truth is beyond, all is off",
    LEFT_OUT: "relations that the model leaves out, which the tables do not have",
    THREE: "relations of three columns or more{}, which counts of pairs do not show",
    SEEDED: "publishing (the seed was fixed)",
    NOT_PRIVATE: "publishing (nothing is promised)",
    ESTIMATED: "a claim of differential privacy (epsilon is an estimate for this database)",
    FOR_STUDY: "publishing as private (the draws are those of Markov chains)",
    ONE_DRAW: "intervals or tests (one draw)",
    OF_LIMITED: "intervals or tests (a draw is at a limit)",
    GROUPS: f"groups of fewer than {SMALL_GROUP} rows",
    PERSONS: "finding or linking persons",
}
LIMITS = (
    "No confidential record was looked at for this: it says what the way these tables were made keeps and loses, and "
    "not how well it went.",
    f"Holds: what was measured or drawn with noise of at most {MOST_NOISE:g} times the standard error that it has by "
    "sampling alone, and what the model has, if the model is right.",
    "Off: noise above that, and what the way of making tables loses for certain.",
    f"A count of {SMALL_GROUP} rows has a standard error of a tenth of it; of fewer rows it is mostly chance.",
)
NOTHING = "nothing that the way of making these tables tells of"
NOISE = "Noise beside sampling error, the largest first"
# What a user has of each kind of sums.
KEPT = {
    MEASURED["blocks"]: "how often values occur, by level or broad range",
    MEASURED["cells"]: "how often values occur within narrow ranges",
    MEASURED["tree"]: "cells of the cross-tables of those columns that go together most",
    MEASURED["moments"]: "means, spreads and correlations",
    MEASURED["more"]: "cells of some further cross-tables",
}
TERMS = (
    "Blocks: a column's levels, or at most 32 ranges of its numbers; fine cells: narrow ranges within these. A tree of "
    "pairs: every column with one other, chosen where columns go together most; further pairs: others, chosen where "
    "the tables were worst. Moments: means of products of two columns. A noise of 2 is twice the error that a sample "
    "has anyway: single numbers may be off by several times it, and sums of many cells by less."
)


class Said(NamedTuple):
    """One thing to say: which, and what of."""

    which: str
    of: str = ""

    @property
    def words(self) -> str:
        """It in words."""
        return WORDS[self.which].format(self.of)


class PublicVerdict(NamedTuple):
    """What holds, what is off, and what not to do, as far as public facts say."""

    holds: tuple[Said, ...]
    off: tuple[Said, ...]
    avoid: tuple[Said, ...]

    @property
    def lines(self) -> tuple[str, str, str]:
        """The three lines."""
        parts = ("; ".join(said.words for said in part) or NOTHING for part in self)
        holds, off, avoid = (f"{head}: {words}." for head, words in zip(HEADS, parts, strict=True))
        return holds, off, avoid


def public_verdict(guarantee: PublicGuarantee) -> PublicVerdict:
    """The verdict on a release, from its guarantee."""
    return PublicVerdict(tuple(_holds(guarantee)), tuple(_off(guarantee)), tuple(_avoid(guarantee)))


def _holds(guarantee: PublicGuarantee) -> list[Said]:
    if guarantee.measured:
        small = [one for one in _with_noise(guarantee) if _share(one) <= MOST_NOISE]
        return [Said(SUMS, _noise_words(small))] if small else []
    noise = _draw_noise(guarantee)
    drawn = [Said(DRAWS, f"{noise:.2g}")] if noise is not None and noise <= MOST_NOISE else []
    if len(guarantee.columns) > 1:
        return [Said(MODELS, f"{len(guarantee.columns):,}"), *drawn]
    return [Said(MODEL, _model_words(guarantee)), *drawn]


def _off(guarantee: PublicGuarantee) -> list[Said]:
    said = [Said(AT_LIMIT)] if guarantee.at_limit else []
    if is_vector(guarantee.rules):
        said.append(Said(TAILS))
    if guarantee.measured:
        large = [one for one in _with_noise(guarantee) if _share(one) > MOST_NOISE]
        said += [Said(NOISY, _noise_words(large))] if large else []
        declared = f" (but for {', '.join(map(named, guarantee.interactions))})" if guarantee.interactions else ""
        return [*said, *([Said(THREE, declared)] if len(guarantee.columns) > 2 else [])]
    noise = _draw_noise(guarantee)
    if noise is not None and noise > MOST_NOISE:
        said.append(Said(DRAWS_NOISY, f"{noise:.2g}"))
    several = len(guarantee.columns) > 1 or guarantee.public_columns
    return [*said, *([Said(LEFT_OUT)] if several else [])]


def _avoid(guarantee: PublicGuarantee) -> list[Said]:
    scopes = {NONE: NOT_PRIVATE, TARGET: FOR_STUDY, INSTANCE: ESTIMATED}
    said = [] if guarantee.releasable else [Said(SEEDED)]
    said += [Said(scopes[guarantee.scope])] if guarantee.scope in scopes else []
    if not has_interval(guarantee):
        said.append(Said(OF_LIMITED if guarantee.at_limit else ONE_DRAW))
    return [*said, Said(GROUPS), Said(PERSONS)]


def _with_noise(guarantee: PublicGuarantee) -> list[NoisySums]:
    """What was measured with noise, the largest beside its sampling error first."""
    return sorted((one for one in guarantee.measured if one.share is not None), key=lambda one: -_share(one))


def _share(one: NoisySums) -> float:
    return one.share or 0.0


def _noise_words(found: Sequence[NoisySums]) -> str:
    """What a user has of noisy sums, with their noise; beside what it stands is said once."""
    said = [f"{KEPT.get(one.what, one.what)} (noise {_share(one):.2g} times" for one in found]
    return "), ".join([f"{said[0]} the sampling error", *said[1:]]) + ")"


def _model_words(guarantee: PublicGuarantee) -> str:
    """What tables of one model keep."""
    formula = Formula.parse(guarantee.formulas[0])
    beside = f" and how they go with {listed(formula.covariates)}" if formula.covariates else ""
    model = f"{guarantee.families[0].replace('_', ' ')}, {named(guarantee.formulas[0])}"
    return f"values of {named(formula.response)}{beside}, if the model they were drawn from is right ({model})"


def _draw_noise(guarantee: PublicGuarantee) -> float | None:
    """The scatter of a draw of parameters in their standard errors, where one number tempers every record."""
    return None if guarantee.scalar is None else guarantee.scalar**-0.5


def _row(one: NoisySums) -> tuple[object, ...]:
    return (KEPT.get(one.what, ""), f"{one.sums:,} {one.what}", page.Cell(f"{_share(one):.2g}", _share(one)))


def section(guarantee: PublicGuarantee) -> page.Section:
    """The first section of the public page."""
    lines = public_verdict(guarantee).lines
    blocks = [
        page.verdict(*parts_of(lines)),
        page.details("Limits by which this was said", *LIMITS),
    ]
    if len(_with_noise(guarantee)) > 1:
        rows = [_row(one) for one in _with_noise(guarantee)]
        blocks.append(page.table(NOISE, ("what it is for", "what was measured", "noise / sampling error"), rows))
        blocks.append(page.note(TERMS))
    return page.Section("verdict", "Is it good enough?", tuple(blocks))
