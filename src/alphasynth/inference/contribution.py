"""What a record adds to the log density: alpha f (the paper's), or a bounded function of the own record (strict).

`weighted` is the one place where alpha meets the log-likelihood. `Censored` and `BetaDivergence` take no weights: they
put a model whose log-likelihood is bounded in place of the model, so that any sampler can draw from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import jax.numpy as jnp
import numpy as np

from alphasynth.errors import InputError, require_positive
from alphasynth.inference.wrapping import HIGH, LOW, Clipped, PartlyHeld
from alphasynth.models.model import (
    PEAK,
    TAKES_PART,
    Array,
    Columns,
    Densities,
    Model,
    PowerSums,
    Theta,
    prior_inside,
    simulate_inside,
)
from alphasynth.privacy.accounting import in_two_parts
from alphasynth.privacy.approximate import in_two_squares


def weighted(alpha: Array, log_lik: Array, xp: Any = np) -> Array:
    """alpha * f, the paper's log-pseudo-likelihood; 0 where alpha is 0, whatever f is there (0 * inf is not a number).

    `xp` is the array library, numpy or jax.numpy.

    >>> weighted(np.array([0.5, 0.0]), np.array([-4.0, -np.inf])).tolist()
    [-2.0, 0.0]
    """
    takes_part = alpha > 0
    return xp.where(takes_part, alpha * xp.where(takes_part, log_lik, 0.0), 0.0)


class Contribution(Protocol):
    """A strict contribution: a function of the own record and of public numbers, in [-epsilon, 0] for every theta."""

    @property
    def scalar(self) -> float | None:
        """What `scaled` multiplies the log-likelihood by, near its peak; None where that is no one number."""
        ...

    def scaled(self, model: Model, theta: Theta, columns: Columns) -> Array:
        """The contribution by row before it is clipped to [-epsilon, 0]."""
        ...


@runtime_checkable
class Shared(Contribution, Protocol):
    """A contribution with a part that all rows share where there are no covariates."""

    def prepare(self, model: Model, theta: Theta) -> Theta:
        """That part, by name, so that it is not computed again for every row."""
        ...


@dataclass(frozen=True)
class Bounded:
    """A model whose log-likelihood is a strict contribution, clipped to [-epsilon, 0] record by record.

    What is not finite counts as cut: it is -epsilon. A record without a value in this column adds 0.
    """

    model: Model
    contribution: Contribution
    epsilon: float
    prior, simulate = property(prior_inside), simulate_inside

    def log_lik(self, theta: Theta, columns: Columns) -> Array:
        """The contribution g(x_i, theta) by row, in [-epsilon, 0]."""
        value = self.contribution.scaled(self.model, theta, columns)
        inside = (value > -self.epsilon) & (value < 0)
        # The inner `where` keeps derivatives finite where the value is not.
        at_top = (value >= 0) & (value < jnp.inf)
        clipped = jnp.where(inside, jnp.where(inside, value, 0.0), jnp.where(at_top, 0.0, -self.epsilon))
        return jnp.where(columns[TAKES_PART] > 0, clipped, 0.0) if TAKES_PART in columns else clipped


SURVEY = "survey"  # column of survey weights, which sum to n over the records


@dataclass(frozen=True)
class SurveyWeighted:
    """A model whose records count as their survey weights say: w f takes the place of f, in bounds as in densities."""

    model: Model
    prior, simulate = property(prior_inside), simulate_inside

    def log_lik(self, theta: Theta, columns: Columns) -> Array:
        """w f by row."""
        return weighted(columns[SURVEY], self.model.log_lik(theta, columns), jnp)


def bare(model: Model) -> Model:
    """The model itself, which simulates: without bounds or weights, and as if all records had a value."""
    while isinstance(model, Bounded | PartlyHeld | SurveyWeighted):
        model = model.model
    return model


@dataclass(frozen=True)
class CensoredAt:
    """`Censored` at an epsilon per draw: g = a (f - f*), clipped to [-epsilon, 0]; a is public."""

    a: float
    cut: float

    @property
    def scalar(self) -> float:
        """a."""
        return self.a

    def scaled(self, model: Model, theta: Theta, columns: Columns) -> Array:
        """a (f - f*) by row."""
        return self.a * (model.log_lik(theta, columns) - columns[PEAK])


def clipped_form(model: Model, columns: Columns) -> tuple[Model, Columns, float]:
    """What adds the same as a censored contribution, but for a constant by row: a clipped line, and its factor a.

    Its limits are columns, so that a program compiled for one epsilon serves all. Other models stay, with a of 1.
    """
    if not isinstance(model, Bounded) or not isinstance(model.contribution, CensoredAt):
        return model, columns, 1.0
    a, peak = model.contribution.a, np.asarray(columns[PEAK])
    others = {name: column for name, column in columns.items() if name != PEAK}
    return Clipped(model.model), {**others, LOW: peak - model.epsilon / a, HIGH: peak}, a


@dataclass(frozen=True)
class Censored:
    """Centre, then censor: a record is cut where its log-likelihood lies `cut` below the largest it can have, f*.

    g(x, theta) = clip(a (f_theta(x) - f*(x)), -epsilon, 0) with a = min(1, epsilon / cut). Larger cuts spare more of
    the tails and temper more; 8 suits n up to some thousands, 12 more.

    >>> Censored(cut=12.0)
    Censored(cut=12.0)
    """

    cut: float = 8.0

    def __post_init__(self) -> None:
        """Refuse a cut that is not positive."""
        require_positive("cut", self.cut)

    def bounded(self, model: Model, epsilon: float) -> Bounded:
        """The model with its records' contributions bounded by epsilon, which one draw costs."""
        return Bounded(model, CensoredAt(min(1.0, epsilon / self.cut), float(self.cut)), epsilon)


LEAST_A = 0.2  # of the draws that follow a first one


@dataclass(frozen=True)
class Recentred:
    """Censor twice: a first draw, and then draws from contributions centred at what it makes of each record.

    The first draw is that of `Censored` at a `share` of the budget. Then g(x, theta) =
    clip(a (f_theta(x) - f_first(x)), -epsilon / 2, epsilon / 2) with a = min(1, epsilon / (2 `reach`)), epsilon being
    what is left for each draw: near the first draw few records are cut, so that the tails count and much less
    tempering is needed. The first draw is itself private, and costs add up. Where so little is left that a would be
    below 0.2, most records would be cut again: there it is `Censored`, with all of the budget.

    >>> Recentred(share=0.4)
    Recentred(cut=8.0, share=0.4, reach=1.25)
    """

    cut: float = 8.0
    share: float = 0.3
    reach: float = 1.25

    def __post_init__(self) -> None:
        """Refuse a cut or reach that is not positive and a share that leaves nothing."""
        require_positive("cut", self.cut)
        require_positive("reach", self.reach)
        if require_positive("share", self.share) >= 1:
            raise InputError(f"share must be below 1, found {self.share!r}")

    def parts(self, epsilon: float, m: int, concentrated: bool = False) -> tuple[float, float]:
        """What the first draw costs, and then each of m draws; together at most m times epsilon, exactly.

        Where rho adds up (`concentrated`), the first has its share of rho, and squares are at most m times epsilon's.
        """
        return in_two_squares(epsilon, m, self.share) if concentrated else in_two_parts(epsilon, m, self.share)

    def pays(self, epsilon: float, m: int, concentrated: bool = False) -> bool:
        """Whether the draws that follow a first one would be tempered little enough; public, as all of this is."""
        return self.parts(epsilon, m, concentrated)[1] / (2 * self.reach) >= LEAST_A

    def bounded(self, model: Model, epsilon: float) -> Bounded:
        """The model of the first draw at its own epsilon."""
        return Censored(self.cut).bounded(model, epsilon)

    def second(self, model: Model, epsilon: float) -> Bounded:
        """The model of the draws that follow, each at this epsilon; its rows' f* is `centre` of the first draw's f."""
        return Bounded(model, CensoredAt(min(1.0, epsilon / (2 * self.reach)), 2 * self.reach), epsilon)

    def centre(self, log_lik: np.ndarray, epsilon: float) -> np.ndarray:
        """What takes the place of f*, so that [-epsilon, 0] is the range of a (f - f_first) from -epsilon / 2 up."""
        a = min(1.0, epsilon / (2 * self.reach))
        return log_lik + epsilon / (2 * a)


@dataclass(frozen=True)
class BetaDivergenceAt:
    """`BetaDivergence` at an epsilon per draw, which decides w; less its largest value, so that it is at most 0."""

    w: float
    beta: float
    bound: float

    @property
    def scalar(self) -> None:
        """No one number: a record's log-likelihood is weighted by its own p^beta."""
        return

    def scaled(self, model: Model, theta: Theta, columns: Columns) -> Array:
        """The divergence's loss by row, less its largest value over pmfs within the bound."""
        power = 1 + self.beta
        total = theta["power_sum"] if "power_sum" in theta else power_sums(model).power_sum(theta, columns, power)
        log_p = model.log_scaled(theta, columns) if isinstance(model, Densities) else model.log_lik(theta, columns)
        value = jnp.exp(self.beta * log_p) / self.beta - total / power
        return self.w * (value - largest_gain(self.beta, self.bound))

    def prepare(self, model: Model, theta: Theta) -> Theta:
        """The sum that all rows share where there are no covariates, so that it is not summed again for every row."""
        return {"power_sum": power_sums(model).power_sum(theta, {}, 1 + self.beta)}


@dataclass(frozen=True)
class BetaDivergence:
    """One draw from a beta-divergence posterior (Jewson, Ghalebikesabi and Holmes 2023).

    Each record adds w (p(x)^beta / beta - sum over y of p(y)^(1 + beta) / (1 + beta)), whose range over theta is at
    most w M^beta (1 / beta + (1 - M) / (1 + beta)) where no value has a probability above M; w makes that epsilon.
    `bound` is M over the public parameter region: None takes it from the public grid, or 1 without one. Continuous
    values have a density on the scale of their limits and an integral in place of the sum; M is the largest that their
    family allows, and the range w M^beta (1 / beta + 1 / (1 + beta)).

    >>> BetaDivergence(beta=0.2)
    BetaDivergence(beta=0.2, bound=None)
    """

    beta: float = 0.5
    bound: float | None = None

    def __post_init__(self) -> None:
        """Refuse a beta that is not positive and a bound that is no probability."""
        require_positive("beta", self.beta)
        if self.bound is not None:
            require_positive("bound", self.bound)
            if self.bound > 1:
                raise InputError(f"bound must be at most 1, found {self.bound!r}")

    def bounded(self, model: Model, epsilon: float) -> Bounded:
        """The model with its records' contributions bounded by epsilon, which one draw costs."""
        power_sums(model)
        bound = model.largest_density if isinstance(model, Densities) else 1.0
        if self.bound is not None and bound <= 1:
            bound = self.bound
        reach = largest_gain(self.beta, bound) + bound**self.beta / (1 + self.beta)
        return Bounded(model, BetaDivergenceAt(epsilon / reach, self.beta, bound), epsilon)


def largest_gain(beta: float, bound: float) -> float:
    """Largest p^beta / beta - sum of p^(1 + beta) / (1 + beta): a pmf at its bound M in one place, which the sum holds.

    Of a density, whose bound is above 1, the integral may hold as little as one likes of a single place.

    >>> largest_gain(0.5, 1.0), largest_gain(0.5, 4.0)
    (1.3333333333333335, 4.0)
    """
    if bound > 1:
        return bound**beta / beta
    return bound**beta / beta - bound ** (1 + beta) / (1 + beta)


def power_sums(model: Model) -> PowerSums:
    """The model, if it sums powers of its probabilities; raise `InputError`."""
    if not isinstance(model, PowerSums):
        raise InputError("BetaDivergence must have a built-in family, found a model of another kind")
    return model


STRICT = {"Censored": Censored, "Recentred": Recentred, "BetaDivergence": BetaDivergence}
# The contribution that a mechanism takes: strict, or the paper's alpha f, which is None here.
Strict = Censored | Recentred | BetaDivergence
