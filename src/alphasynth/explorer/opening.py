"""From a run to what is explored; what cannot be is refused with one sentence that says what can."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from alphasynth.errors import InputError
from alphasynth.explorer.by_epsilon import CAP, CUT, ByBudget, ByCut
from alphasynth.explorer.by_rules import ByRules, K
from alphasynth.explorer.dial import EPSILON, Dial
from alphasynth.explorer.explored import Explored
from alphasynth.explorer.ladder import DRAWS_OF_FIT
from alphasynth.inference.automatic import Automatic
from alphasynth.inference.contribution import Censored, SurveyWeighted
from alphasynth.inference.wrapping import PartlyHeld
from alphasynth.mechanisms.binding import BoundTable
from alphasynth.mechanisms.chain import JointFit
from alphasynth.mechanisms.guide import draw_guide
from alphasynth.mechanisms.mechanism import Trail
from alphasynth.mechanisms.rules import BW, CW, LW, SW, Reweight
from alphasynth.models.stan_model import StanModel
from alphasynth.privacy.accounting import epsilon_of, times
from alphasynth.privacy.randomness import Key
from alphasynth.synthesis.preparation import bind
from alphasynth.synthesizer import Synthesizer
from alphasynth.tables.records import Records

EXPLORED = ("Unweighted", "LW", "CW", "SW", "LW_final", "CW_final", "BW", "Censored")
# The page holds f of every draw and row: at 4,000 rows it has 21 MB.
MOST_ROWS = 4_000
ONE = "explore takes a run of one column"


@dataclass(frozen=True, eq=False)
class Start:
    """Where a page opens (confidential): the numbers as a run settled them, its epsilon, F of its unweighted fit."""

    numbers: Mapping[str, float]
    epsilon: float
    largest: np.ndarray = field(repr=False)

    @classmethod
    def of_trail(cls, trail: Trail, m: int, epsilon: float | None) -> Start:
        """That of a run just made."""
        numbers = settled_numbers([vars(rule) for rule in trail.rules])
        realised = times(m, epsilon_of(trail.delta))
        return cls(numbers, realised if epsilon is None else epsilon, trail.fits[0].largest_distinct)


def settled_numbers(rules: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """The rules' numbers that can be turned, by name; a radius by column is that of the one there is.

    >>> settled_numbers([{"scale": 1.0, "radius": (("age", 5.0),), "relative": True}])
    {'scale': 1.0, 'radius': 5.0}
    """
    found: dict[str, float] = {}
    for rule in rules:
        for name in ("scale", "shift", "radius", "alpha", K, CAP):
            value = rule.get(name)
            if isinstance(value, Mapping | tuple):
                (value,) = dict(value).values()
            if isinstance(value, int | float):
                found[name] = float(value)
    return found


def check_mechanism(label: str) -> None:
    """Refuse a mechanism whose numbers the page cannot move."""
    if label not in EXPLORED:
        raise InputError(f"{ONE} by {', '.join(EXPLORED[:-1])} or {EXPLORED[-1]}, found {label}")


def check_explorable(synthesizer: Synthesizer) -> None:
    """Refuse what the page cannot move, as far as that can be told without records."""
    check_mechanism(synthesizer.mechanism.label)
    if len(synthesizer.model.columns) > 1:
        raise InputError(f"{ONE}, found {len(synthesizer.model.columns)}")
    for name, asked in (
        ("--thresh below 1, which drops draws", synthesizer.thresh < 1),
        ("--delta", synthesizer.delta is not None),
        ("survey weights in the likelihood", synthesizer.survey_likelihood),
        ("weights by column", synthesizer.weights == "column"),
    ):
        if asked:
            raise InputError(f"{ONE} without {name}, found one with")


def open_explored(key: Key, synthesizer: Synthesizer, records: Records, start: Start) -> Explored:
    """What is explored, from a run's settings, its records and where it stood; raise `InputError`."""
    check_explorable(synthesizer)
    if records.size > MOST_ROWS:
        raise InputError(
            f"explore takes tables of at most {MOST_ROWS:,} distinct rows, found more: a twin (--twin) may have fewer"
        )
    if any(isinstance(column.own, StanModel) for column in synthesizer.model.columns):
        raise InputError("explore takes a built-in family or an OwnModel of NumPyro's, found a Stan program")
    bound = _with_draws(bind(synthesizer, synthesizer.model, records))
    if len(bound.chain.blocks) > 1 or isinstance(bound.chain.one.model, PartlyHeld | SurveyWeighted):
        raise InputError(f"{ONE} without gaps and in one part, found one that is modelled in parts")
    if isinstance(synthesizer.mechanism.contribution, Censored):
        return ByCut(bound, _dials(synthesizer, start), synthesizer.m, synthesizer.num_draws)
    rules = synthesizer.mechanism.rules
    if rules and isinstance(rules[0], BW):
        guide = draw_guide(key, bound.chain).u
        return ByBudget(bound, guide, _dials(synthesizer, start), synthesizer.m)
    before = JointFit(records, bound.chain.names, (), np.ones(records.size), np.array(start.largest))
    first = rules[0] if rules else SW(1.0)
    assert isinstance(first, LW | CW | SW), "of those explored"
    keep_zeros = any(rule.keep_zeros for rule in rules if isinstance(rule, Reweight))
    dials = _dials(synthesizer, start)
    return ByRules(bound, before, first, dials, synthesizer.m, synthesizer.num_draws, keep_zeros)


def _with_draws(bound: BoundTable) -> BoundTable:
    """With fits of as many draws as the page may take of one, and no long chains where a quick sampler fails."""
    blocks = tuple(
        replace(
            block,
            num_draws=max(block.num_draws, DRAWS_OF_FIT),
            sampler=block.sampler.first if isinstance(block.sampler, Automatic) else block.sampler,
        )
        for block in bound.chain.blocks
    )
    return replace(bound, chain=replace(bound.chain, blocks=blocks))


def _dials(synthesizer: Synthesizer, start: Start) -> tuple[Dial, ...]:
    """The sliders of a mechanism."""
    numbers, label = start.numbers, synthesizer.mechanism.label
    if label == "Censored":
        contribution = synthesizer.mechanism.contribution
        assert isinstance(contribution, Censored), "checked"
        dials = [epsilon_dial(start.epsilon), _cut(contribution.cut)]
    elif label == "BW":
        dials = [epsilon_dial(start.epsilon), _cap(numbers[CAP])]
    elif label in ("SW", "Unweighted"):
        dials = [_alpha(numbers.get("alpha", 1.0))]
    else:
        dials = [_scale(numbers["scale"]), _shift(numbers["shift"])]
        dials += [_radius(numbers["radius"])] if "radius" in numbers else []
        dials += [_k(numbers[K])] if K in numbers else []
    return tuple(dials)


def epsilon_dial(start: float) -> Dial:
    """Epsilon of all draws together, from an eighth of the start to eight times as much."""
    return Dial.factors(EPSILON, "ε", "privacy budget of all draws together", (start / 8, start * 8), start)


def _scale(start: float) -> Dial:
    words = "alpha = c (1 - risk) + g"
    return Dial.linear("scale", "c", words, (min(0.05, start or 0.05), max(2.0, start), 0.01), start)


def _shift(start: float) -> Dial:
    return Dial.linear("shift", "g", "the least weight", (min(0.0, start), max(0.5, start), 0.005), start)


def _radius(start: float) -> Dial:
    return Dial.factors("radius", "r", "how near another record hides one", (start / 8, start * 8), start)


def _k(start: float) -> Dial:
    return Dial.linear(K, "k", "re-weighting factor", (min(0.5, start), max(1.1, start), 0.005), start)


def _alpha(start: float) -> Dial:
    return Dial.linear("alpha", "α", "the weight of every record", (min(0.02, start or 0.02), 1.0, 0.005), start)


def _cap(start: float) -> Dial:
    return Dial.factors(CAP, "cap", "the largest weight", (min(0.02, start), 1.0), start)


def _cut(start: float) -> Dial:
    words = "how far below its largest log-likelihood a record is cut"
    return Dial.linear(CUT, "cut", words, (min(2.0, start), max(20.0, start), 0.1), start)
