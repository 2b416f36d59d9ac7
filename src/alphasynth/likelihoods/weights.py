"""Weights and bounds from matrices of log-likelihoods that another program computed: Supplement 1, and Algorithm 3.

The rules are the very ones that our own fits go through; what is missing is the fit, which the other program makes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from alphasynth.errors import InputError, found
from alphasynth.likelihoods.bounds import Bounds, Kept, Weights, finite_largest
from alphasynth.likelihoods.matrix import LogLik, Stacked, check, extremes, largest_by_draw, require_n
from alphasynth.likelihoods.opening import NAME, open_log_lik
from alphasynth.likelihoods.table import identity_records, records_of
from alphasynth.likelihoods.which_fit import Compared
from alphasynth.mechanisms.chain import JointFit
from alphasynth.mechanisms.lipschitz import larger
from alphasynth.mechanisms.rule import Rule, checked_weights
from alphasynth.mechanisms.rules import BW, CW, LW, SW, Reweight
from alphasynth.tables.records import Records

LIKELIHOOD = LW()
PRINTED = ", or a Delta to match and by 'formula'"


def bounds_from(
    log_lik: Any,
    alpha: Any = None,
    weighted: bool = False,
    thresh: float = 1.0,
    densities: bool = False,
    records_in: str | None = None,
    name: str = NAME,
) -> Bounds:
    """Lipschitz bounds, by record and overall, of a fit that had weights alpha (all 1 unless told).

    `log_lik` (S, n) holds log p(x_i | theta_s), a row per draw of that fit and a column per record: an array, a frame,
    a file (.npy, .csv, .parquet, .arrow, .nc), a list of files (chains) or an ArviZ object; it is read in parts.
    `weighted`: its entries are multiplied by alpha already, as those of the paper's Stan script. Draws above the
    `thresh` quantile of their largest alpha |f| are dropped, as in Supplement 1, and must not be released.
    `densities`: entries may be above 0. `records_in` "rows": a row per record. Raises `InputError`, also of what is
    seen to be of another fit, or weighted where that is not said; an `OrderWarning` where records look out of order.

    >>> bounds_from([[-1.0, -4.0, -2.0], [-1.5, -3.0, -2.5]], alpha=[1, 0.5, 1]).lipschitz.overall
    2.5
    """
    for option, value in (("weighted", weighted), ("densities", densities)):
        if not isinstance(value, bool):
            raise InputError(f"{option} must be True or False, found {found(value)}")
    matrix = open_log_lik(log_lik, records_in, name)
    checked = check(matrix, densities, looks_turned=records_in is None)
    used = _alpha_of(alpha, matrix)
    _check_thresh(thresh, matrix)
    kept, quantile = np.ones(matrix.shape[0], bool), None
    highest, lowest = checked.highest, checked.lowest
    if thresh < 1:
        # A record that some draw makes impossible takes no part: its weight will be 0.
        possible = np.isfinite(larger(highest, lowest))
        by_draw = largest_by_draw(matrix, np.where(possible, np.ones(matrix.shape[1]) if weighted else used, 0.0))
        quantile = float(np.quantile(by_draw, thresh))
        kept = by_draw <= quantile
        highest, lowest = extremes(matrix, kept)
    entries = larger(highest, lowest)
    largest = _unweighted(entries, used) if weighted else entries
    made_from = alpha.made_from if isinstance(alpha, Weights | Kept) else None
    if alpha is not None:
        varies = (highest != lowest) | (matrix.shape[0] == 1)
        parts = () if made_from is None else tuple(_of_parts(matrix, used, weighted))
        Compared(used, entries, largest, varies, int(kept.sum()), weighted, made_from, parts).check()
    fit = _as_fit(identity_records(len(largest)), used, largest)
    quantile = finite_largest(fit.lipschitz) if quantile is None else quantile
    return Bounds(used, largest, fit.lipschitz, kept, quantile, alpha is not None, made_from is not None)


def weights_from(
    log_lik: Any,
    rules: Rule | Sequence[Rule] = LIKELIHOOD,
    alpha: Any = None,
    records: Any = None,
    response: str | None = None,
    **reading: Any,
) -> Weights:
    """The next weights by a rule, from the log-likelihoods (S, n) of a fit that had weights alpha (all 1 unless told).

    `LW()` reads the matrix of the unweighted fit; `Reweight(k)` that of the weighted one, with its weights as `alpha`;
    `CW(radius)` the table's own `records`, an array of the response or a frame in which `response` names it, and needs
    no matrix (None). Several rules take as many matrices, each of the fit under the weights before. `reading`: what
    `bounds_from` takes beside.

    >>> weights_from([[-1.0, -4.0, -2.0], [-1.5, -3.0, -2.5]]).alpha.tolist()
    [1.0, 0.0, 0.6]
    """
    folded = tuple(rules) if isinstance(rules, tuple | list) else (rules,)
    matrices = (log_lik,) if len(folded) == 1 else log_lik
    if not isinstance(matrices, tuple | list) or len(matrices) != len(folded) or not folded:
        raise InputError(f"log_lik must be one matrix for each of {len(folded)} rules, found {found(log_lik)}")
    made: Weights | None = None
    for rule, matrix in zip(folded, matrices, strict=True):
        _check_rule(rule)
        if matrix is None and isinstance(rule, CW):
            table = _table_for(rule, records, response)
            made = Weights(_frozen(rule(table, _as_fit(table, np.ones(table.n), np.zeros(table.n)))), None)
            continue
        bounds = bounds_from(matrix, alpha if made is None else made, **reading)
        table = _table_for(rule, records, response, bounds.n)
        fit = _as_fit(table, bounds.alpha, bounds.largest)
        made = Weights(_frozen(_settled(rule, fit)(table, fit)), bounds)
    assert made is not None, "at least one rule"
    return made


def _unweighted(entries: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    """F of entries that are multiplied by alpha; infinite where that is 0, since they cannot tell it."""
    return np.divide(entries, alpha, out=np.full(len(alpha), np.inf), where=alpha > 0)


def _of_parts(matrix: LogLik, alpha: np.ndarray, weighted: bool) -> Iterator[np.ndarray]:
    """F of each chain that came in a file of its own."""
    for part in matrix.parts if isinstance(matrix, Stacked) else ():
        largest = larger(*extremes(part, np.ones(part.shape[0], bool)))
        yield _unweighted(largest, alpha) if weighted else largest


def _as_fit(records: Records, alpha: np.ndarray, largest: np.ndarray) -> JointFit:
    """A round as rules and bounds read it."""
    return JointFit(records, (records.response,), (), _frozen(alpha), _frozen(largest))


def _frozen(values: np.ndarray) -> np.ndarray:
    values = np.array(values, np.float64)
    values.setflags(write=False)
    return values


def _alpha_of(alpha: Any, matrix: LogLik) -> np.ndarray:
    """Weights of the fit; what `weights_from` gave may be given as it is."""
    if alpha is None:
        return np.ones(matrix.shape[1])
    name = alpha.called if isinstance(alpha, Kept) else "alpha"
    used = checked_weights(alpha.alpha if isinstance(alpha, Weights | Kept) else alpha, name)
    require_n(name, len(used), matrix)
    return used


def _table_for(rule: Rule, records: Any, response: str | None, n: int | None = None) -> Records:
    """The table that CW counts in; other rules need none, but for its n rows."""
    if not isinstance(rule, CW):
        assert n is not None, "of a matrix"
        return identity_records(n)
    if records is None:
        raise InputError("CW must have the table's records, whose values it counts, found none")
    table = records_of(records, response, rule.within)
    if n is not None and table.n != n:
        raise InputError(f"records must have one row per column of log_lik, {n:,}, found {table.n:,}")
    return table


def _check_rule(rule: Any) -> None:
    if isinstance(rule, type) or not isinstance(rule, Rule):
        raise InputError(f"rules must be rules such as LW() or Reweight(k=0.95), found {found(rule)}")
    if isinstance(rule, BW):
        raise InputError("rules must be LW, CW, SW, Reweight or Given: BW clips what records add, found BW")
    if rule.unset and not _is_printed(rule):
        raise InputError(
            f"{type(rule).__name__} must have its {rule.dial}{PRINTED if isinstance(rule, SW) else ''}, since a search "
            f"would fit again at each trial, found {_instead(rule)}"
        )
    if isinstance(rule, Reweight) and not isinstance(rule.k, str) and rule.k > 1:
        raise InputError(f"Reweight must have a k of at most 1, below 1 in Algorithm 3, found {rule.k:g}")


def _instead(rule: Rule) -> str:
    """What was given in place of a number."""
    if not isinstance(rule, SW) or rule.match is None:
        return "none"
    return f"by {rule.by!r}" if isinstance(rule.match, int | float) else f"{type(rule.match).__name__} to match"


def _is_printed(rule: Rule) -> bool:
    """Whether it is SW by the paper's formula at a Delta that is a number: no trial is needed."""
    return isinstance(rule, SW) and rule.by == "formula" and isinstance(rule.match, int | float)


def _settled(rule: Rule, fit: JointFit) -> Rule:
    """The rule with its number: SW's is Delta_alpha / Delta by the formula."""
    if not (isinstance(rule, SW) and rule.unset):
        return rule
    assert isinstance(rule.match, int | float), "checked"
    return rule.turned(rule.guess(fit, float(rule.match)))


def _check_thresh(thresh: object, matrix: LogLik) -> None:
    if isinstance(thresh, bool) or not isinstance(thresh, int | float) or not 0 < thresh <= 1:
        raise InputError(f"thresh must be above 0 and at most 1, found {found(thresh)}")
