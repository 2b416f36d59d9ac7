"""What the paper says of its figures, each statement as something that a table's measurements keep or do not.

The paper says it of one table. A statement that describes the method is read as true of at least nine tables in ten
from the same source.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np

from alphasynth_studies.expected import Expected
from alphasynth_studies.synthesizers import STATISTICS, Measured

FALLING = (
    "Re-weighted weights are min(1, k Delta / F). With k < 1 the records whose bound was near the largest, and those"
    " at weight 1 whose F exceeds k Delta, lose up to a twentieth."
)
SMALL_GAIN = "The error shrinks on average, but by less than 20 synthetic tables scatter."
SAME = 0.1  # two bounds that a violin plot shows as one, as a share


@dataclass(frozen=True)
class Statement:
    """A statement: its name, the figure or text it stands in, its words, and whether a table keeps it."""

    name: str
    place: str
    words: str
    holds: Callable[[Measured], bool]
    remark: str = ""

    @property
    def expected(self) -> Expected:
        """That it holds of at least nine tables in ten."""
        return Expected(
            f"statements.{self.name}.share",
            self.place,
            self.words,
            1.0,
            0.1,
            "1 ± 0.1: said of one table; what describes the method should hold of nine tables in ten",
            self.remark,
        )


def nearer(after: str, before: str, statistic: str) -> Callable[[Measured], bool]:
    """Whether one synthesizer's statistic is nearer the table's own than another's."""
    return lambda one: abs(one.error(after, statistic)) < abs(one.error(before, statistic))


def _same_delta(after: str, before: str) -> Callable[[Measured], bool]:
    return lambda one: abs(one.paper[after].delta / one.paper[before].delta - 1) <= SAME


def _all_rise(label: str) -> Callable[[Measured], bool]:
    return lambda one: one.paper[label].falling == 0


def _mu_gain(one: Measured, stem: str) -> float:
    mean = one.values["mean"]
    return abs(one.paper[stem].mu - mean) - abs(one.paper[f"{stem}_final"].mu - mean)


def _tail_nearer(stem: str) -> Callable[[Measured], bool]:
    return lambda one: abs(one.paper[f"{stem}_final"].tail - one.tail) < abs(one.paper[stem].tail - one.tail)


def _gain(one: Measured, stem: str) -> float:
    return one.loss(stem) - one.loss(f"{stem}_final")


def statements(before: str, after: str, weights: str, utility: str) -> tuple[Statement, ...]:
    """The statements, with the places where the paper makes them: figures before and after, of weights, of utility."""
    return (
        Statement(
            "lower_bounds",
            before,
            "LW, CW and SW have a lower largest bound than Unweighted",
            lambda one: max(one.paper[label].delta for label in ("LW", "CW", "SW")) < one.paper["Unweighted"].delta,
        ),
        Statement(
            "lw_best_control",
            before,
            "LW's bounds lie nearer their maximum than those of CW and SW (median over maximum)",
            lambda one: one.paper["LW"].typical > max(one.paper["CW"].typical, one.paper["SW"].typical),
            "CW's largest bound is smaller, so the records it leaves whole lie nearer to it. What the paper sees "
            "shows in the other tail: CW has more records with very low bounds.",
        ),
        Statement(
            "lw_more_efficient",
            before,
            "LW's weights are higher than CW's (mean)",
            lambda one: one.paper["LW"].mean_alpha > one.paper["CW"].mean_alpha,
        ),
        Statement(
            "cw_low_bounds",
            before,
            "CW leaves more records than LW with a bound below half of the largest",
            lambda one: one.paper["CW"].low > one.paper["LW"].low,
        ),
        Statement(
            "lw_final_delta",
            weights,
            "LW_final's Delta equals LW's at k = 0.95 (within a tenth)",
            _same_delta("LW_final", "LW"),
        ),
        Statement(
            "cw_final_delta",
            weights,
            "CW_final's Delta equals CW's at k = 0.95 (within a tenth)",
            _same_delta("CW_final", "CW"),
        ),
        Statement(
            "lw_final_level",
            after,
            "LW_final's bounds are nearly level where weights are below 1 (middle 90 % within a tenth of Delta)",
            lambda one: one.paper["LW_final"].spread <= 0.1,
        ),
        Statement(
            "cw_final_leveller",
            after,
            "CW_final's bounds spread less than CW's where weights are below 1",
            lambda one: one.paper["CW_final"].spread < one.paper["CW"].spread,
        ),
        Statement(
            "lw_weights_rise", weights, "No record's weight falls from LW to LW_final", _all_rise("LW_final"), FALLING
        ),
        Statement(
            "cw_weights_rise", weights, "No record's weight falls from CW to CW_final", _all_rise("CW_final"), FALLING
        ),
        *(
            Statement(
                f"cw_final_nearer_{name}",
                utility,
                f"CW_final's {name} is nearer the data's than CW's",
                nearer("CW_final", "CW", name),
            )
            for name in STATISTICS
        ),
        *(
            Statement(
                f"lw_final_nearer_{name}",
                utility,
                f"LW_final's {name} is nearer the data's than LW's",
                nearer("LW_final", "LW", name),
                SMALL_GAIN,
            )
            for name in ("q90", "mean", "median")
        ),
        Statement(
            "mu_nearer_lw",
            utility,
            "mu is nearer the data's mean under LW_final than LW",
            lambda one: _mu_gain(one, "LW") > 0,
        ),
        Statement(
            "mu_nearer_cw",
            utility,
            "mu is nearer the data's mean under CW_final than CW",
            lambda one: _mu_gain(one, "CW") > 0,
        ),
        Statement(
            "mu_gains_more_cw",
            utility,
            "mu gains more by re-weighting under CW than under LW",
            lambda one: _mu_gain(one, "CW") > _mu_gain(one, "LW"),
            "On some tables mu under CW happens to lie near the data's mean before re-weighting.",
        ),
        Statement("tail_lw", utility, "LW_final's 99th percentile is nearer the data's than LW's", _tail_nearer("LW")),
        Statement("tail_cw", utility, "CW_final's 99th percentile is nearer the data's than CW's", _tail_nearer("CW")),
        Statement(
            "cw_gains_more",
            utility,
            "Re-weighting improves CW more than LW (the four statistics together)",
            lambda one: _gain(one, "CW") > _gain(one, "LW"),
        ),
        Statement(
            "lw_best",
            before,
            "LW has the highest utility of LW, CW and SW (the four statistics together)",
            lambda one: one.loss("LW") < min(one.loss("CW"), one.loss("SW")),
            "SW comes first on the other tables. SW errs as Unweighted does, by the model's own misfit, which "
            "weights that draw tails in partly undo.",
        ),
    )


def shares(made: Sequence[Statement], found: Sequence[Measured]) -> dict[str, dict[str, Any]]:
    """How often each statement holds: on how many tables, the share and its standard error."""
    outcome = {}
    for statement in made:
        kept = [bool(statement.holds(one)) for one in found]
        share = float(np.mean(kept))
        error = float(np.sqrt(share * (1 - share) / len(kept)))
        outcome[statement.name] = {"holds": sum(kept), "of": len(kept), "share": share, "standard_error": error}
    return outcome


def orders(found: Sequence[Measured], setting: str) -> dict[str, int]:
    """How often LW, CW and SW come in each order, the one with the least error first."""
    counted = Counter(
        " < ".join(sorted(("LW", "CW", "SW"), key=lambda label, one=one: one.loss(label, setting)))  # type: ignore[misc]
        for one in found
    )
    every = [" < ".join(order) for order in permutations(("LW", "CW", "SW"))]
    return {order: counted[order] for order in sorted(every, key=lambda order: -counted[order])}
