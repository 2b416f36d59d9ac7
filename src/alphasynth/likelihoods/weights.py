"""Weights and bounds from matrices of log-likelihoods that another program computed: Supplement 1, and Algorithm 3.

The rules are the very ones that our own fits go through; what is missing is the fit, which the other program makes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from alphasynth.errors import InputError, found
from alphasynth.likelihoods.bounds import Bounds, Kept, Weights, finite_largest
from alphasynth.likelihoods.matrix import LogLik, check, extremes, largest_by_draw, require_n
from alphasynth.likelihoods.opening import NAME, open_log_lik
from alphasynth.likelihoods.table import identity_records, records_of
from alphasynth.mechanisms.chain import JointFit
from alphasynth.mechanisms.lipschitz import larger
from alphasynth.mechanisms.rule import Rule, checked_weights
from alphasynth.mechanisms.rules import BW, CW, LW, SW
from alphasynth.tables.records import Records

LIKELIHOOD = LW()
MADE_FROM = "log_lik must be of the fit that had these weights, found the matrix that the weights were made from"
FEWEST = 5  # records with different F from which a line or a proportion is no accident
PRINTED = ", or a Delta to match and by 'formula'"
SAME = 1e-12  # F of a weighted matrix is a quotient, and a file may have rounded it
ON_A_LINE = 1e-9  # weights that lie so near a straight line in F were made from that F


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
    `densities`: entries may be above 0. `records_in` "rows": a row per record. Raises `InputError`.

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
    largest = larger(highest, lowest)
    if weighted:
        largest = np.divide(largest, used, out=np.full(len(used), np.inf), where=used > 0)
    fit = _as_fit(identity_records(len(largest)), used, largest)
    made_from = alpha.made_from if isinstance(alpha, Weights | Kept) else None
    quantile = finite_largest(fit.lipschitz) if quantile is None else quantile
    made = Bounds(used, largest, fit.lipschitz, kept, quantile, alpha is not None, made_from is not None)
    if alpha is not None and not weighted:
        _check_not_on_a_line(made)
    if made_from is not None:
        _check_other(made, made_from)
    return made


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
    used = checked_weights(alpha.alpha if isinstance(alpha, Weights | Kept) else alpha)
    require_n("alpha", len(used), matrix)
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
            "would fit again at each trial, found none"
        )


def _is_printed(rule: Rule) -> bool:
    """Whether it is SW by the paper's formula at a Delta that is a number: no trial is needed."""
    return isinstance(rule, SW) and rule.by == "formula" and isinstance(rule.match, int | float)


def _settled(rule: Rule, fit: JointFit) -> Rule:
    """The rule with its number: SW's is Delta_alpha / Delta by the formula."""
    if not (isinstance(rule, SW) and rule.unset):
        return rule
    assert isinstance(rule.match, int | float), "checked"
    return rule.turned(rule.guess(fit, float(rule.match)))


def _check_other(bounds: Bounds, made_from: np.ndarray) -> None:
    """Refuse a matrix with the very F that the weights were made from: it is not of the fit that had them."""
    known = np.isfinite(bounds.largest) & np.isfinite(made_from)
    if known.any() and np.allclose(bounds.largest[known], made_from[known], rtol=SAME, atol=0):
        raise InputError(MADE_FROM)


def _check_not_on_a_line(bounds: Bounds) -> None:
    """The same, where nothing is known of what weights were made from: by what they are.

    LW's are a straight line in F, which falls; re-weighting's are in proportion to 1 / F. No other fit's F does that.
    """
    alpha, largest = bounds.alpha, bounds.largest
    between = (alpha > 0) & (alpha < 1) & np.isfinite(largest)
    x, y = largest[between], alpha[between]
    if len(np.unique(x)) < FEWEST or np.ptp(y) <= ON_A_LINE:
        return
    low, high = np.argmin(x), np.argmax(x)
    line = y[low] + (y[high] - y[low]) * (x - x[low]) / (x[high] - x[low])
    falls = y[low] > y[high] and np.abs(line - y).max() <= ON_A_LINE
    if falls or np.ptp(x * y) <= ON_A_LINE * (x * y).max():
        raise InputError(MADE_FROM)


def _check_thresh(thresh: object, matrix: LogLik) -> None:
    if isinstance(thresh, bool) or not isinstance(thresh, int | float) or not 0 < thresh <= 1:
        raise InputError(f"thresh must be above 0 and at most 1, found {found(thresh)}")
