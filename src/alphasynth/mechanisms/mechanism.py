"""`Mechanism`: a label and a tuple of rules. `run` folds the rules over fits into a `Trail`."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from typing import NamedTuple, Protocol

import numpy as np

from alphasynth.errors import CalibrationError, InputError, found
from alphasynth.inference.contribution import Strict
from alphasynth.mechanisms.by_column import applied, settle
from alphasynth.mechanisms.calibrate import Found, Search, search
from alphasynth.mechanisms.chain import Chain, JointFit, fit_chain
from alphasynth.mechanisms.guide import Guide, Levels, draw_guide, levels
from alphasynth.mechanisms.rule import Aim, Rule, aim_of
from alphasynth.mechanisms.rules import BW, SW
from alphasynth.mechanisms.scored import Scored
from alphasynth.models.model import Model
from alphasynth.models.priors import LinearPrior
from alphasynth.privacy.accounting import epsilon_of
from alphasynth.privacy.randomness import Key, child


@dataclass(frozen=True)
class Mechanism:
    """A pseudo posterior mechanism: what it is called and the rules that make its weights (confidential with `Given`).

    A strict `contribution` takes the place of the paper's alpha f and has no weights, so no rules.

    >>> from alphasynth.mechanisms.rules import LW, Reweight
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
            if isinstance(rule, type) or not isinstance(rule, Rule):
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

    `seconds`: of each round, its search included; `guide`: what budget weights were made from; `first`: its fit's name.

    >>> Trail("Unweighted", fits=()).rules
    ()
    """

    label: str
    fits: tuple[JointFit, ...]
    rules: tuple[Rule, ...] = field(default=(), repr=False)
    searches: tuple[Search, ...] = field(default=(), repr=False)
    seconds: tuple[float, ...] = field(default=(), repr=False)
    guide: Guide | None = field(default=None, repr=False)
    first: str = "Unweighted"

    @property
    def delta(self) -> float:
        """The bound that is claimed: Delta on the last draws, or of budget weights the policy's own."""
        last = applied(self.rules[-1]) if self.rules else None
        if isinstance(last, BW):
            assert last.bound is not None, "settled"
            return last.bound
        return self.fits[-1].lipschitz.overall

    def then(self, rule: Rule, fitted: JointFit, *searches: Search) -> Trail:
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

    def words(self, num_draws: int | None) -> str:
        """What begins, in words.

        >>> Step(2, 3, 4).words(1_000)
        'round 2 of 3: 1,000 draws, fit 4'
        """
        fit = f", fit {self.trial}" if self.trial > 1 else ""
        draws = "" if num_draws is None else f": {num_draws:,} draws{fit}"
        return f"round {self.round} of {self.rounds}{draws}"


Watch = Callable[[Step], None]


def ignore(step: Step) -> None:
    """Watch nothing."""


def run(key: Key, chain: Chain, mechanism: Mechanism, target: float | None = None, watch: Watch = ignore) -> Trail:
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
    trail = _begun(key, chain, mechanism)
    times = [time.perf_counter()]
    for number, rule in enumerate(mechanism.rules, start=1):
        aim = target if number == len(mechanism.rules) else None
        tell = partial(_tell, watch, number + 1, rounds)
        trail = take_step(child(key, number), chain, trail, rule, aim, tell)
        times.append(time.perf_counter())
    return replace(trail, seconds=tuple(np.diff([begin, *times]).tolist()))


def _begun(key: Key, chain: Chain, mechanism: Mechanism) -> Trail:
    """The trail with its first fit, without weights; of several columns that get budget weights, with their guide.

    No weight of theirs is made from a fit without weights, whose program takes as long to compile as all others.
    """
    if len(chain.blocks) > 1 and mechanism.rules and _is_budget(mechanism.rules[0]):
        return Trail(mechanism.label, fits=(), guide=draw_guide(child(child(key, 1), 0), chain), first="Guide")
    return Trail(mechanism.label, fits=(fit_chain(child(key, 0), chain, np.ones(chain.records.size)),))


def _is_budget(rule: Rule) -> bool:
    return isinstance(applied(rule), BW)


def _tell(watch: Watch, round_number: int, rounds: int, trial: int) -> None:
    watch(Step(round_number, rounds, trial))


def take_step(
    key: Key, chain: Chain, trail: Trail, rule: Rule, target: float | None, tell: Callable[[int], None]
) -> Trail:
    """One rule: settle its dial where it is to be searched, then fit its alpha.

    All trials of a search use this step's key (common random numbers), which is not the key of any other step: the
    bound is never measured on the draws that the weights were made from.
    """
    trials = count(1)

    def refit(alpha: np.ndarray, least: tuple[int, ...] = ()) -> JointFit:
        tell(next(trials))
        return fit_chain(key, chain, alpha, least)

    if _is_budget(rule):
        assert target is not None, "checked at the door"
        return _guided_step(key, chain, trail, settle(rule, lambda bw: settled(bw, target, chain)), tell)
    before = trail.fits[-1]
    aim = None
    if rule.unset or target is not None:
        aim = aim_of(rule, before, target, lambda other: refit(other(chain.records, before)).lipschitz.overall)
    if aim is None:
        return trail.then(rule, refit(rule(chain.records, before)))
    if by_formula(rule):
        return _printed_step(chain, trail, rule, aim.bound, target, refit)
    result = _search_dial(rule, aim, chain, before, refit)
    nearest = result.best or min(result.trials, key=lambda trial: trial.bound, default=None)
    if nearest is not None:
        tried = tuple((trial.value, trial.bound) for trial in result.trials)
        outcome = Search(rule.dial, aim.bound, nearest.value, nearest.bound, tried)
        trail = trail.then(rule.turned(nearest.value), nearest.fit, outcome)
    if result.best is None:
        why = "draws failed their diagnostics on the way" if result.stopped_by else "no value of it goes so low"
        raise CalibrationError(
            f"{trail.label}: the search of {rule.dial} must bring the bound down to the target, but {why}", trail
        ) from result.stopped_by
    return trail


def by_formula(rule: Rule) -> bool:
    """Whether a rule's number is the printed one and not searched."""
    sw = applied(rule)
    return isinstance(sw, SW) and sw.by == "formula"


def _printed_step(chain: Chain, trail: Trail, rule: Rule, bound: float, target: float | None, refit: Refit) -> Trail:
    """SW by the paper's printed formula, alpha = Delta_alpha / Delta; refused where that misses a policy's target."""
    before = trail.fits[-1]
    alpha = min(rule.guess(before, bound), rule.highest)
    fitted = refit(rule.turned(alpha)(chain.records, before))
    reached = fitted.lipschitz.overall
    trail = trail.then(rule.turned(alpha), fitted, Search(rule.dial, bound, alpha, reached, ((alpha, reached),)))
    if target is not None and trail.delta > target:
        raise CalibrationError(
            f"{trail.label}: alpha by the printed formula must bring the bound down to the target, but it does not, "
            "since the weighted posterior is wider: use by='search', or match='epsilon=8' in place of epsilon=8, which "
            "aims at it and promises nothing",
            trail,
        )
    return trail


def _guided_step(key: Key, chain: Chain, trail: Trail, rule: Rule, tell: Callable[[int], None]) -> Trail:
    """Budget weights: one draw, what it allows each record, and a fit in which that is all that a record adds."""
    tell(1)
    guide = trail.guide or draw_guide(child(key, 0), chain)
    allowed, alpha = _allowed(chain, rule, guide.u)
    begun = replace(trail, fits=trail.fits or (allowed.fit,), guide=guide)
    tell(2)
    return begun.then(rule, fit_chain(child(key, 1), allowed.chain, alpha))


def budget_weights(chain: Chain, rule: Rule, guide: Sequence[np.ndarray]) -> tuple[Chain, np.ndarray]:
    """The chain with clipped records and their weights by distinct row, given the guide's u by block."""
    allowed, alpha = _allowed(chain, rule, guide)
    return allowed.chain, alpha


def _allowed(chain: Chain, rule: Rule, guide: Sequence[np.ndarray]) -> tuple[Levels, np.ndarray]:
    budget = applied(rule)
    assert isinstance(budget, BW) and budget.bound is not None and not isinstance(budget.cap, str), "settled"  # noqa: PT018
    allowed = levels(chain, guide, budget.bound / budget.cap)
    return allowed, rule(chain.records, allowed.fit)


def settled(rule: BW, target: float, chain: Chain) -> BW:
    """Budget weights with their bound, and a cap that is `auto_cap` where it was left to that."""
    models = [block.model for block in chain.blocks]
    cap = auto_cap(epsilon_of(target), models, chain.records.n) if rule.cap == "auto" else rule.cap
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

    def __call__(self, alpha: np.ndarray, least: tuple[int, ...] = ()) -> JointFit:
        """Fit."""
        ...


def _search_dial(rule: Rule, aim: Aim, chain: Chain, before: JointFit, refit: Refit) -> Found:
    """Search the rule's dial, over again from the sampler's next attempt whenever a trial had to go on to it.

    Trials drawn in different ways would make the bound jump from one value of the dial to the next.
    """
    guess = rule.guess(before, aim.bound)
    least: tuple[int, ...] = ()
    while True:
        attempt = partial(_attempt, rule, chain, before, partial(refit, least=least))
        result = search(attempt, aim.bound, guess, aim.highest)
        reached = tuple(map(max, zip(*(trial.fit.attempts for trial in result.trials), strict=True)))
        if not any(reached) or reached == least:
            return result
        least = reached


def _attempt(rule: Rule, chain: Chain, before: JointFit, refit: Refit, value: float) -> JointFit:
    return refit(rule.turned(value)(chain.records, before))
