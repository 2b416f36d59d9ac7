"""`Mechanism`: a label and a tuple of rules. `run` folds the rules over fits into a `Trail`."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from typing import Any, NamedTuple, Protocol

import numpy as np

from alphasynth.errors import CalibrationError, InputError, found
from alphasynth.inference.contribution import STRICT, Strict
from alphasynth.mechanisms.calibrate import Found, Search, search
from alphasynth.mechanisms.chain import AnyFit, AnyProblem, blocks_of, fit_any
from alphasynth.mechanisms.guide import Guide, draw_guide, levels
from alphasynth.mechanisms.rules import BW, CW, LW, SW, Reweight, Rule, kind, settle
from alphasynth.mechanisms.scored import Scored
from alphasynth.models.model import Model
from alphasynth.models.priors import LinearPrior
from alphasynth.privacy.accounting import epsilon_of
from alphasynth.privacy.randomness import Key, child

BELOW_ONE = 1 - 1e-6  # re-weighting that keeps the bound asks for k < 1


@dataclass(frozen=True)
class Mechanism:
    """A pseudo posterior mechanism: what it is called and the rules that make its weights (confidential with `Given`).

    A strict `contribution` takes the place of the paper's alpha f and has no weights, so no rules.

    >>> Mechanism("LW_final", rules=(LW(), Reweight(k=0.95))).label
    'LW_final'
    """

    label: str
    rules: tuple[Rule, ...] = ()
    contribution: Strict | Scored | None = None

    def __post_init__(self) -> None:
        """Refuse what is no label and what are no rules."""
        if not isinstance(self.label, str):
            raise InputError(f"label must be text, found {found(self.label)}")
        rules = tuple(self.rules) if isinstance(self.rules, tuple | list) else (self.rules,)
        for rule in rules:
            if isinstance(rule, type) or not (callable(rule) and hasattr(rule, "turned")):
                raise InputError(f"rules must be rules such as LW() or Reweight(), found {found(rule)}")
        if self.contribution is not None and not isinstance(self.contribution, Strict | Scored):
            raise InputError(
                "contribution must be Censored(), Recentred(), BetaDivergence() or Scored(), found "
                f"{found(self.contribution)}"
            )
        if self.contribution is not None and rules:
            raise InputError("a strict contribution must have no rules, which would make weights from other records")
        if any(isinstance(rule, BW) for rule in rules[:-1]):
            raise InputError("BW must be the last of the rules, since epsilon decides its weights, found one after it")
        object.__setattr__(self, "rules", rules)


@dataclass(frozen=True, eq=False)
class Trail:
    """What a run left (confidential): the first fit, then one per rule; the rules as settled; the searches made.

    `seconds` is the time that each round took, its search included; `guide` is what budget weights were made from.
    """

    label: str
    fits: tuple[AnyFit, ...]
    rules: tuple[Rule, ...] = field(default=(), repr=False)
    searches: tuple[Search, ...] = field(default=(), repr=False)
    seconds: tuple[float, ...] = field(default=(), repr=False)
    guide: Guide | None = field(default=None, repr=False)

    @property
    def delta(self) -> float:
        """The bound that is claimed: Delta on the last draws, or of budget weights the policy's own."""
        last = kind(self.rules[-1]) if self.rules else None
        if isinstance(last, BW):
            assert last.bound is not None, "settled"
            return last.bound
        return self.fits[-1].lipschitz.overall

    def then(self, rule: Rule, fitted: AnyFit, *searches: Search) -> Trail:
        """The trail one rule further."""
        return replace(
            self,
            fits=(*self.fits, fitted),
            rules=(*self.rules, rule),
            searches=(*self.searches, *searches),
        )


class Step(NamedTuple):
    """Where a run stands: fit number `trial` of round `round` of `rounds` begins."""

    round: int
    rounds: int
    trial: int


Watch = Callable[[Step], None]


def ignore(step: Step) -> None:
    """Watch nothing."""


def run(
    key: Key, problem: AnyProblem, mechanism: Mechanism, target: float | None = None, watch: Watch = ignore
) -> Trail:
    """Fold the mechanism's rules over fits: each rule turns the last fit into the next alpha, which is fitted.

    With a `target` the last rule's dial is searched, so that the last fit's Lipschitz bound is at most the target.
    `watch` is told of every fit before it is made.
    Raises `DiagnosticsError` for draws that cannot be used and `CalibrationError` for a search without an answer.
    """
    if target is None and any(isinstance(rule, BW) for rule in mechanism.rules):
        raise InputError(f"mechanism {mechanism.label!r} takes its weights from epsilon, found none")
    if target is not None and not mechanism.rules:
        raise InputError(f"mechanism {mechanism.label!r} has no weights to aim at a target epsilon")
    rounds = len(mechanism.rules) + 1
    begin = time.perf_counter()
    watch(Step(1, rounds, 1))
    trail = Trail(mechanism.label, fits=(fit_any(child(key, 0), problem, np.ones(problem.records.size)),))
    times = [time.perf_counter()]
    for number, rule in enumerate(mechanism.rules, start=1):
        aim = target if number == len(mechanism.rules) else None
        tell = partial(_tell, watch, number + 1, rounds)
        trail = take_step(child(key, number), problem, trail, rule, aim, tell)
        times.append(time.perf_counter())
    return replace(trail, seconds=tuple(np.diff([begin, *times]).tolist()))


def _tell(watch: Watch, round_number: int, rounds: int, trial: int) -> None:
    watch(Step(round_number, rounds, trial))


def take_step(
    key: Key, problem: AnyProblem, trail: Trail, rule: Rule, target: float | None, tell: Callable[[int], None]
) -> Trail:
    """One rule: settle its dial where it is to be searched, then fit its alpha.

    All trials of a search use this step's key (common random numbers), which is not the key of any other step: the
    bound is never measured on the draws that the weights were made from.
    """
    before = trail.fits[-1]
    trials = count(1)

    def refit(alpha: np.ndarray, least: tuple[int, ...] = ()) -> AnyFit:
        tell(next(trials))
        return fit_any(key, problem, alpha, least)

    if isinstance(kind(rule), BW):
        assert target is not None, "checked at the door"
        return _guided_step(key, problem, trail, settle(rule, lambda bw: settled(bw, target, problem)), tell)
    goal = _goal(rule, target, problem, before, refit)
    if goal is None:
        return trail.then(rule, refit(rule(problem.records, before)))
    result = _search_dial(rule, goal, problem, before, refit)
    nearest = result.best or min(result.trials, key=lambda trial: trial.bound, default=None)
    if nearest is not None:
        tried = tuple((trial.value, trial.bound) for trial in result.trials)
        outcome = Search(rule.dial, goal.target, nearest.value, nearest.bound, tried)
        trail = trail.then(rule.turned(nearest.value), nearest.fit, outcome)
    if result.best is None:
        why = "draws failed their diagnostics on the way" if result.stopped_by else "no value of it goes so low"
        raise CalibrationError(
            f"{trail.label}: the search of {rule.dial} must bring the bound down to the target, but {why}", trail
        ) from result.stopped_by
    return trail


def _guided_step(key: Key, problem: AnyProblem, trail: Trail, rule: Rule, tell: Callable[[int], None]) -> Trail:
    """Budget weights: one draw, what it allows each record, and a fit in which that is all that a record adds."""
    tell(1)
    guide = draw_guide(child(key, 0), problem)
    allowed, alpha = budget_weights(problem, rule, guide.u)
    tell(2)
    return replace(trail.then(rule, fit_any(child(key, 1), allowed, alpha)), guide=guide)


def budget_weights(problem: AnyProblem, rule: Rule, guide: Sequence[np.ndarray]) -> tuple[AnyProblem, np.ndarray]:
    """The problem with clipped records and their weights by distinct row, given the guide's u by block."""
    budget = kind(rule)
    assert isinstance(budget, BW) and budget.bound is not None and not isinstance(budget.cap, str), "settled"  # noqa: PT018
    allowed = levels(problem, guide, budget.bound / budget.cap)
    return allowed.problem, rule(problem.records, allowed.fit)


def settled(rule: BW, target: float, problem: AnyProblem) -> BW:
    """Budget weights with their bound, and a cap that is `auto_cap` where it was left to that."""
    models = [block.model for block in blocks_of(problem)]
    cap = auto_cap(epsilon_of(target), models, problem.records.n) if rule.cap == "auto" else rule.cap
    return replace(rule, bound=target, cap=cap)


def auto_cap(epsilon_per_draw: float, models: Model | Sequence[Model], n: int) -> float:
    """The cap that suits an epsilon per draw, families and a number of rows; public, since all of them are.

    12 / n + epsilon / (9 + 2.4 log10 n), or / (2 + 1.5 log10 n) for families without a dispersion, whose
    log-likelihoods are shorter; at most 1. Fitted to simulated tables of counts (docs/trust.md): a larger n asks for a
    smaller cap, since what a cap spares in bias stays while what it costs in scatter falls. A chain's columns share
    epsilon, so their denominators add up.
    """
    digits = math.log10(n)
    priors = [model.prior for model in (models if isinstance(models, Sequence) else [models])]
    short = [isinstance(prior, LinearPrior) and prior.dispersion is None for prior in priors]
    return min(1.0, 12 / n + epsilon_per_draw / sum(2 + 1.5 * digits if s else 9 + 2.4 * digits for s in short))


class Refit(Protocol):
    """Fits weights in this round, from the sampler's attempt `least` on."""

    def __call__(self, alpha: np.ndarray, least: tuple[int, ...] = ()) -> AnyFit:
        """Fit."""
        ...


class _Goal(NamedTuple):
    """The bound to search a dial for, and the dial's highest value."""

    target: float
    highest: float


def _goal(rule: Rule, target: float | None, problem: AnyProblem, before: AnyFit, refit: Refit) -> _Goal | None:
    """The given target, or the rule's own; None where the dial stands as it is."""
    own = kind(rule)
    if target is not None:
        return _Goal(target, 1.0 if isinstance(own, SW) else np.inf)
    if isinstance(own, SW) and own.alpha is None:
        likelihood = settle(rule, lambda _: LW())
        return _Goal(refit(likelihood(problem.records, before)).lipschitz.overall, 1.0)
    if isinstance(own, Reweight) and own.k == "auto":
        return _Goal(before.lipschitz.overall, BELOW_ONE)
    return None


def _search_dial(rule: Rule, goal: _Goal, problem: AnyProblem, before: AnyFit, refit: Refit) -> Found:
    """Search the rule's dial, over again from the sampler's next attempt whenever a trial had to go on to it.

    Trials drawn in different ways would make the bound jump from one value of the dial to the next.
    """
    # A scalar weight and k move the bound almost in proportion; other dials start where they stand.
    proportional = isinstance(kind(rule), SW | Reweight) and before.lipschitz.overall > 0
    guess = goal.target / before.lipschitz.overall if proportional else getattr(kind(rule), rule.dial)
    least: tuple[int, ...] = ()
    while True:
        attempt = partial(_attempt, rule, problem, before, partial(refit, least=least))
        result = search(attempt, goal.target, guess if isinstance(guess, float) and guess > 0 else 1.0, goal.highest)
        reached = tuple(map(max, zip(*(trial.fit.attempts for trial in result.trials), strict=True)))
        if not any(reached) or reached == least:
            return result
        least = reached


def _attempt(rule: Rule, problem: AnyProblem, before: AnyFit, refit: Refit, value: float) -> AnyFit:
    return refit(rule.turned(value)(problem.records, before))


OPTIONS = {
    "Unweighted": (),
    "LW": ("scale", "shift"),
    "CW": ("radius", "relative", "within", "distance", "scale", "shift"),
    "SW": ("alpha",),
    "LW_final": ("scale", "shift", "k"),
    "CW_final": ("radius", "relative", "within", "distance", "scale", "shift", "k"),
    "BW": ("cap",),
    "Censored": ("cut",),
    "Recentred": ("cut", "share", "reach"),
    "BetaDivergence": ("beta", "bound"),
    "Scored": ("rounds", "clip"),
}
NAMES = tuple(OPTIONS)


def named_mechanism(name: str, **options: Any) -> Mechanism:
    """A mechanism by name, with its options; raise `InputError` for those it does not have.

    >>> [type(rule).__name__ for rule in named_mechanism("CW_final", radius=0.3, relative=True).rules]
    ['CW', 'Reweight']
    """
    if name not in NAMES:
        raise InputError(f"mechanism must be one of {', '.join(NAMES)}, found {found(name)}")
    surplus = [option for option in options if option not in OPTIONS[name]]
    if surplus:
        raise InputError(
            f"mechanism {name!r} takes {', '.join(OPTIONS[name]) or 'no options'}, found {', '.join(surplus)}"
        )
    if name.startswith("CW") and "radius" not in options:
        raise InputError(f"mechanism {name!r} needs a radius, found none")
    final = (Reweight(options.pop("k", "auto")),) if name.endswith("_final") else ()
    if name in STRICT or name == "Scored":
        return Mechanism(name, contribution={**STRICT, "Scored": Scored}[name](**options))
    first: dict[str, type[Rule]] = {"LW": LW, "CW": CW, "SW": SW, "BW": BW}
    stem = name.removesuffix("_final")
    return Mechanism(name, ((first[stem](**options), *final) if stem in first else ()))
