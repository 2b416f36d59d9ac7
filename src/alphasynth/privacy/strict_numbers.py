"""Numbers of a strict promise: for a row and for a unit, added or removed, replaced, and in other currencies."""

from __future__ import annotations

from typing import Any

from alphasynth.privacy.accounting import DELTA, concentrated, epsilon_at, epsilon_beside, of_unit, replacing, within
from alphasynth.privacy.approximate import replaced_at, rho_of_unit
from alphasynth.privacy.strict_terms import StrictTerms


def epsilon_realised(rho: float, delta: float, rows: int) -> float:
    """The epsilon at a delta that a row's rho comes to for so many rows; never rounded down.

    >>> 1.3 < epsilon_realised(0.1, 1e-3, 1) < epsilon_realised(0.1, 1e-3, 2) < 4
    True
    """
    return epsilon_at(rho_of_unit(rho, rows), within(delta))


def strict_numbers(
    terms: StrictTerms, policy_epsilon: float, delta: float | None, m: int, max_rows: int
) -> dict[str, Any]:
    """The public numbers of a strict promise for one unit of privacy, by the names that a public guarantee has.

    With a delta that is spent, `delta` is that one, and epsilon when a unit is replaced is at it. Concentrated privacy
    does not survive a chain that is slightly off, so that there rho is not stated.
    """
    stated = {
        "exact": terms.exact,
        "at_limit": terms.at_limit,
        "contribution": terms.contribution,
        "grid": terms.grid,
        "scalar": terms.scalar,
        "measured": terms.measured,
        "constraints": terms.constraints,
        "weighted_by": terms.weighted_by,
        "response": terms.response,
        "interactions": terms.interactions,
        "epsilon_replace": replacing(policy_epsilon, max_rows),
    }
    if terms.rho is not None and delta is not None:
        rho = rho_of_unit(terms.rho, max_rows)
        stated["epsilon_replace"] = replaced_at(rho, delta)
        return stated | {"delta": delta} | ({"rho": rho} if terms.exact else {})
    if not terms.exact or terms.pure_only:
        return stated
    rho, pure = concentrated(terms.epsilon_per_draw, m, max_rows), of_unit(policy_epsilon, max_rows)
    return {**stated, "rho": rho, "delta": DELTA, "epsilon_at_delta": epsilon_beside(rho, pure)}
