"""What the paper says of its figures in section 3 and in section 4."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from alphasynth_studies.statements import By, Measure, Statement
from alphasynth_studies.synthesizers import STATISTICS, Synthesis

LEVEL = 0.1  # spread of bounds that look level in a plot, as a share of the largest
FALLING = (
    "Re-weighted weights are min(1, k Delta / F). With k < 1, records whose bound was near the largest lose up to a "
    "twentieth of their weight."
)


def _of(words: str, read: Callable[[Synthesis], float]) -> Measure:
    return Measure(words, lambda one, label, setting: read(one.at(setting)[label]))


def _error(name: str) -> Measure:
    return Measure(f"absolute error of the {name}", lambda one, label, setting: abs(one.error(label, name, setting)))


DELTA = _of("largest bound", lambda made: made.delta)
TYPICAL = _of("median bound over the largest", lambda made: made.typical)
WEIGHT = _of("mean weight", lambda made: made.mean_alpha)
NEAR = _of("share of records with a bound nearer the largest than 0", lambda made: 1 - made.low)
LOW = _of("share of records with a bound below half of the largest", lambda made: made.low)
SPREAD = _of("middle 90 % of bounds over the largest, where weights are below 1", lambda made: made.spread)
FALLS = _of("share of records whose weight falls", lambda made: made.falling)
MU = Measure(
    "distance of mu from the data's mean",
    lambda one, label, setting: abs(one.at(setting)[label].mu - one.values["mean"]),
)
TAIL = Measure(
    "absolute error of the 99th percentile", lambda one, label, setting: abs(one.at(setting)[label].tail - one.tail)
)
LOSS = Measure("mean scaled error of the four statistics", lambda one, label, setting: one.loss(label, setting))
FOUR = ("LW", "LW_final", "CW", "CW_final")


FINAL = {"LW": ("LW", "LW_final"), "CW": ("CW", "CW_final")}


def _below(after: str, before: str) -> Callable[[By], bool]:
    return lambda by: by[after] < by[before]


def _not_above(after: str, before: str) -> Callable[[By], bool]:
    return lambda by: by[after] <= by[before]


def _cw_gains_more(by: By) -> bool:
    return by["CW"] - by["CW_final"] > by["LW"] - by["LW_final"]


@dataclass(frozen=True)
class Places:
    """Where the paper makes its statements: bounds and weights before re-weighting, after, their figure, utility."""

    bounds: str
    before: str
    after: str
    weights: str
    utility: str
    whole: str


def _shared(at: Places) -> tuple[Statement, ...]:
    """What the paper says of both applications."""
    return (
        Statement(
            "lw_more_efficient",
            at.before,
            "LW's weights are higher than CW's (mean)",
            WEIGHT,
            ("LW", "CW"),
            _below("CW", "LW"),
        ),
        Statement(
            "cw_low_bounds",
            at.before,
            "CW leaves more records than LW with a bound below half of the largest",
            LOW,
            ("LW", "CW"),
            _below("LW", "CW"),
        ),
        Statement(
            "lw_final_level",
            at.after,
            "LW_final's bounds are nearly level where weights are below 1 (middle 90 % within a tenth of Delta)",
            SPREAD,
            FINAL["LW"],
            lambda by: by["LW_final"] <= LEVEL,
        ),
        Statement(
            "cw_final_leveller",
            at.after,
            "CW_final's bounds spread less than CW's where weights are below 1",
            SPREAD,
            FINAL["CW"],
            _below("CW_final", "CW"),
        ),
        Statement(
            "lw_final_most_level",
            at.after,
            "LW_final's bounds spread less than CW_final's where weights are below 1",
            SPREAD,
            ("LW_final", "CW_final"),
            _below("LW_final", "CW_final"),
        ),
        *(
            Statement(
                f"{stem.lower()}_final_{name}",
                at.weights,
                f"{stem}_final's {words} {stem}'s",
                measure,
                FINAL[stem],
                rule(f"{stem}_final", stem),
            )
            for stem in ("LW", "CW")
            for name, words, measure, rule in (
                ("not_above", "largest bound does not exceed", DELTA, _not_above),
                ("nearer_largest", "bounds lie nearer their largest than", TYPICAL, lambda a, b: _below(b, a)),
                ("nearer_one", "weights lie nearer 1 than", WEIGHT, lambda a, b: _below(b, a)),
            )
        ),
        *(
            _nearer("CW", name, at.utility, f"CW_final's {name} is nearer the data's than CW's", _error(name))
            for name in STATISTICS
        ),
        _nearer("CW", "mu", at.utility, "mu is nearer the data's mean under CW_final than CW", MU),
        *(
            _nearer(
                stem, "tail", at.utility, f"{stem}_final's 99th percentile is nearer the data's than {stem}'s", TAIL
            )
            for stem in ("LW", "CW")
        ),
        *(
            _nearer(
                stem,
                "all",
                at.whole,
                f"{stem}_final has higher utility than {stem} (the four statistics together)",
                LOSS,
            )
            for stem in ("LW", "CW")
        ),
        Statement(
            "cw_gains_more",
            at.utility,
            "Re-weighting improves CW more than LW (the four statistics together)",
            LOSS,
            FOUR,
            _cw_gains_more,
            of_utility=True,
        ),
    )


def _nearer(stem: str, name: str, place: str, words: str, measure: Measure) -> Statement:
    """That re-weighting makes an error smaller."""
    return Statement(
        f"{stem.lower()}_final_nearer_{name}",
        place,
        words,
        measure,
        FINAL[stem],
        _below(f"{stem}_final", stem),
        of_utility=True,
    )


def section_3() -> tuple[Statement, ...]:
    """What the paper says of the mixture."""
    at = Places(
        "section 3.1, Figure 1",
        "section 3.1, Figure 2",
        "section 3.2, Figure 3",
        "section 3.2, Figure 4",
        "section 3.2, Figure 5",
        "abstract, section 1.5, section 3.2",
    )
    return (
        Statement(
            "lower_bounds",
            at.bounds,
            "LW, CW and SW have a lower largest bound than Unweighted",
            DELTA,
            ("Unweighted", "LW", "CW", "SW"),
            lambda by: max(by["LW"], by["CW"], by["SW"]) < by["Unweighted"],
        ),
        Statement(
            "lw_best_control",
            at.bounds,
            "LW has more records than CW and SW whose bound is nearer the largest than 0",
            NEAR,
            ("LW", "CW", "SW"),
            lambda by: by["LW"] > max(by["CW"], by["SW"]),
        ),
        Statement(
            "sw_not_above",
            "section 3.1",
            "SW with alpha = LW's Delta over Unweighted's has no larger bound than LW",
            DELTA,
            ("LW", "SW"),
            _not_above("SW", "LW"),
            "A smaller weight widens the posterior, whose draws then reach further. The scalar has to be searched, "
            "as `SW` does unless alpha is given.",
        ),
        *(
            Statement(
                f"{stem.lower()}_weights_rise",
                "section 3.2, Figure 4b",
                f"No record's weight falls from {stem} to {stem}_final",
                FALLS,
                (f"{stem}_final",),
                lambda by: max(by.values()) == 0,
                FALLING,
            )
            for stem in ("LW", "CW")
        ),
        *_shared(at),
        *(
            _nearer("LW", name, at.utility, f"LW_final's {name} is nearer the data's than LW's", _error(name))
            for name in ("q90", "mean", "median")
        ),
        _nearer("LW", "mu", at.utility, "mu is nearer the data's mean under LW_final than LW", MU),
        Statement(
            "mu_gains_more_cw",
            at.utility,
            "mu gains more by re-weighting under CW than under LW",
            MU,
            FOUR,
            _cw_gains_more,
            of_utility=True,
        ),
    )


def section_4() -> tuple[Statement, ...]:
    """What the paper says of salaries."""
    at = Places(
        "section 4.1, Figure 10",
        "section 4.1, Figure 6",
        "section 4.2, Figure 7",
        "section 4.2, Figure 8",
        "section 4.2, Figure 9",
        "section 4.2",
    )
    return (
        Statement(
            "lw_best",
            at.bounds,
            "LW has the highest utility of LW, CW and SW (the four statistics together)",
            LOSS,
            ("LW", "CW", "SW", "Unweighted"),
            lambda by: by["LW"] < min(by["CW"], by["SW"]),
            of_utility=True,
        ),
        *_shared(at),
    )
