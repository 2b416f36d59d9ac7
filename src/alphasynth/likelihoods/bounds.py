"""`Bounds` and `Weights`: what a matrix of log-likelihoods tells, and for which fit that holds."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isfinite

import numpy as np

from alphasynth.errors import InputError
from alphasynth.mechanisms.lipschitz import Lipschitz
from alphasynth.privacy.accounting import counted, epsilon_of, round_up

NO_BOUND = "some draws make some records impossible (-inf): no bound, and new weights of those records are 0."
NOT_COMPARED = (
    "Not compared: the weights came without the log-likelihoods that they were made from, so that nothing here would "
    "show if these are of another fit, the unweighted one say, and the number not of this one."
)


@dataclass(frozen=True, eq=False, repr=False)
class Bounds:
    """What a matrix tells of the fit that it is of (confidential); the fit had weights `alpha`.

    That it had them is the caller's word: a matrix cannot show it, and of another fit the numbers are not this one's.
    `weighted_fit` says that weights were given, and `compared` that they came with the F that they were made from,
    which is not this matrix's.

    `largest` is F, the maximum over the draws kept of |f|, unweighted; infinite where f is -inf in some draw, and where
    a matrix that is weighted already cannot tell it, its weight being 0. `kept` says which draws stay under `thresh`:
    only those may be released. `thresh_quantile` is the L of Supplement 1: that quantile of the draws' largest alpha
    |f|, interpolated between draws, which the largest of those kept does not exceed.
    """

    alpha: np.ndarray
    largest: np.ndarray
    lipschitz: Lipschitz
    kept: np.ndarray
    thresh_quantile: float
    weighted_fit: bool = False
    compared: bool = False

    def __repr__(self) -> str:
        """Bound and epsilon, for which fit they hold, and what was not compared."""
        return " ".join(in_words(self))

    @property
    def n(self) -> int:
        """Number of records."""
        return len(self.largest)

    @property
    def num_draws(self) -> int:
        """Draws kept; the bound grows slowly with their number."""
        return int(self.kept.sum())

    @property
    def epsilon_per_draw(self) -> float:
        """2 Delta, the paper's claim for one draw of this fit: an estimate for this database, asymptotic."""
        return epsilon_of(self.lipschitz.overall)


@dataclass(frozen=True, eq=False, repr=False)
class Weights:
    """The next weights alpha (n,), and the bounds of the fit that they come from (confidential).

    What a draw costs under the new weights shows in the fit that has them: `bounds_from` its matrix.
    """

    alpha: np.ndarray
    before: Bounds | None

    def __repr__(self) -> str:
        """How many there are, and what is known of the fit before."""
        told = "made from the table alone." if self.before is None else f"made from log-likelihoods. {self.before!r}"
        return f"Weights of {counted(self.n, 'record')}, {told}"

    @property
    def made_from(self) -> np.ndarray | None:
        """F of the fit that they come from, where there is one; weights that it had already need no other fit."""
        if self.before is None or np.array_equal(self.alpha, self.before.alpha):
            return None
        return self.before.largest

    @property
    def n(self) -> int:
        """Number of records."""
        return len(self.alpha)

    @property
    def bounds(self) -> Bounds:
        """Of the fit before; raise `InputError` of weights that were made without one."""
        if self.before is None:
            raise InputError("bounds must come from log-likelihoods, found weights made from the table alone")
        return self.before

    @property
    def num_draws(self) -> int:
        """Draws of the fit before."""
        return self.bounds.num_draws

    @property
    def largest(self) -> np.ndarray:
        """F of the fit before (n,)."""
        return self.bounds.largest

    @property
    def lipschitz(self) -> Lipschitz:
        """Bounds of the fit before."""
        return self.bounds.lipschitz

    @property
    def epsilon_per_draw(self) -> float:
        """2 Delta of the fit before."""
        return self.bounds.epsilon_per_draw


@dataclass(frozen=True, eq=False)
class Kept:
    """Weights as a file keeps them, with the F that they were made from where it is there (confidential).

    `called` is what messages call them.
    """

    alpha: np.ndarray = field(repr=False)
    made_from: np.ndarray | None = field(repr=False)
    called: str = "alpha"


def in_words(bounds: Bounds) -> list[str]:
    """Sentences: the bound, epsilon and the fit for which they hold; what was dropped; what could not be compared."""
    fit = "a fit with these weights" if bounds.weighted_fit else "the fit without weights"
    size = f"confidential; {counted(bounds.num_draws, 'draw')}, {counted(bounds.n, 'record')}"
    delta = bounds.lipschitz.overall
    told = f"Delta {round_up(delta)}, epsilon {round_up(bounds.epsilon_per_draw)} for each draw released."
    said = [f"If these log-likelihoods are of {fit} ({size}): {told if isfinite(delta) else NO_BOUND}"]
    if not bounds.kept.all():
        dropped = counted(int((~bounds.kept).sum()), "draw")
        said.append(
            f"Not counted: {dropped} above the quantile thresh, which must not be released. The quantile itself, the L "
            f"that Supplement 1 reports, is {round_up(bounds.thresh_quantile)}."
        )
    return said + [NOT_COMPARED] * (bounds.weighted_fit and not bounds.compared)


def finite_largest(lipschitz: Lipschitz) -> float:
    """Largest bound of the records that take part: of all draws that is their largest alpha |f|."""
    by_record = lipschitz.by_distinct
    return float(by_record[np.isfinite(by_record)].max(initial=0.0))
