"""What the paper says of its figures in section 3 and in section 4, in its words and in ours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from alphasynth_studies.statements import (
    DELTA,
    FALLS,
    FINAL,
    FOUR,
    LOSS,
    LOW,
    MU,
    NEAR,
    NEARER,
    SPREAD,
    TAIL,
    TYPICAL,
    WEIGHT,
    By,
    Measure,
    Statement,
    error_of,
)
from alphasynth_studies.synthesizers import STATISTICS

SEVERAL = 2  # of the four statistics
LEVEL = 0.1  # spread of bounds that look level in a plot, as a share of the largest
FALLING = (
    "Re-weighted weights are min(1, k Delta / F). With k = 0.95 records with a bound above 0.95 Delta lose up to a "
    "twentieth of their weight, which a plot of all records hardly shows; no other falls."
)


def _below(after: str, before: str) -> Callable[[By], bool]:
    return lambda by: by[after] < by[before]


def _cw_gains_more(by: By) -> bool:
    return by["CW"] - by["CW_final"] > by["LW"] - by["LW_final"]


@dataclass(frozen=True)
class Section:
    """Where a section makes its statements, and its words where the two sections differ.

    Places: bounds and weights before re-weighting, after, their figure, utility, utility as a whole. Words: how CW's
    statistics fare, mu, the tail, utility as a whole of LW and of CW; the last two are claims about the method, or of
    this table.
    """

    before: str
    after: str
    weights: str
    utility: str
    whole: str
    accurate: str
    mu: str
    tail: str
    improves: tuple[str, str]
    of_method: bool


def _shared(at: Section) -> tuple[Statement, ...]:
    """What the paper says of both applications."""
    return (
        Statement(
            "lw_mostly_high",
            at.before,
            "the LW creates the majority of records expressing high Lipschitz bounds due to high weight values",
            "Most of LW's records have a bound above half of the largest",
            NEAR,
            ("LW", "CW"),
            lambda by: by["LW"] > 0.5,
        ),
        Statement(
            "cw_low_bounds",
            at.before,
            "many records with low [...] bounds due to their over-downweighting",
            "CW leaves more records than LW with a bound below half of the largest",
            LOW,
            ("LW", "CW"),
            _below("LW", "CW"),
        ),
        Statement(
            "lw_final_level",
            at.after,
            "a nearly horizontal Lipschitz-weight relationship",
            "LW_final's bounds are nearly level where weights are below 1 (middle 90 % within a tenth of Delta)",
            SPREAD,
            FINAL["LW"],
            lambda by: by["LW_final"] <= LEVEL,
        ),
        Statement(
            "cw_final_leveller",
            at.after,
            "less vertical",
            "CW_final's bounds spread less than CW's where weights are below 1",
            SPREAD,
            FINAL["CW"],
            _below("CW_final", "CW"),
        ),
        Statement(
            "lw_final_most_level",
            at.after,
            "the impact is more significant for the LW",
            "LW_final's bounds spread less than CW_final's where weights are below 1",
            SPREAD,
            ("LW_final", "CW_final"),
            _below("LW_final", "CW_final"),
        ),
        *(
            Statement(
                f"{stem.lower()}_final_{name}",
                at.weights,
                said,
                f"{stem}_final's {words} {stem}'s",
                measure,
                FINAL[stem],
                _below(stem, f"{stem}_final"),
            )
            for stem in ("LW", "CW")
            for name, said, words, measure in (
                (
                    "nearer_largest",
                    "the by-record Lipschitz bounds are closer to the maximum",
                    "bounds lie nearer their largest than",
                    TYPICAL,
                ),
                ("nearer_one", "the record-level weights are closer to one", "weights lie nearer 1 than", WEIGHT),
            )
        ),
        *(_nearer("CW", name, at.utility, at.accurate, error_of(name)) for name in STATISTICS),
        _nearer("CW", "mu", at.utility, at.mu, MU),
        *(_nearer(stem, "tail", at.utility, at.tail, TAIL) for stem in ("LW", "CW")),
        *(
            replace(_nearer(stem, "all", at.whole, said, LOSS), of_method=at.of_method)
            for stem, said in zip(("LW", "CW"), at.improves, strict=True)
        ),
        *(
            Statement(
                f"{stem.lower()}_final_several_nearer",
                at.utility,
                "improves the utility of several quantities of interest for both LW and CW",
                f"At least two of {stem}_final's four statistics are nearer the data's than {stem}'s",
                NEARER,
                (f"{stem}_final",),
                lambda by: min(by.values()) >= SEVERAL,
                of_utility=True,
            )
            for stem in ("LW", "CW")
        ),
        Statement(
            "cw_gains_more",
            at.utility,
            "a more significant improvement for CW",
            "Re-weighting improves CW more than LW (the four statistics together)",
            LOSS,
            FOUR,
            _cw_gains_more,
            of_utility=True,
        ),
    )


def _nearer(stem: str, name: str, place: str, said: str, measure: Measure) -> Statement:
    """That re-weighting makes an error smaller."""
    words = {
        "mu": f"mu is nearer the data's mean under {stem}_final than {stem}",
        "tail": f"{stem}_final's 99th percentile is nearer the data's than {stem}'s",
        "all": f"{stem}_final has higher utility than {stem} (the four statistics together)",
    }
    return Statement(
        f"{stem.lower()}_final_nearer_{name}",
        place,
        said,
        words.get(name, f"{stem}_final's {name} is nearer the data's than {stem}'s"),
        measure,
        FINAL[stem],
        _below(f"{stem}_final", stem),
        of_utility=True,
    )


def section_3() -> tuple[Statement, ...]:
    """What the paper says of the mixture."""
    bounds = "section 3.1, Figure 1"
    at = Section(
        before="section 3.1, Figure 2",
        after="section 3.2, Figure 3",
        weights="section 3.2, Figure 4",
        utility="section 3.2, Figure 5",
        whole="section 1.5; likewise sections 3.1 and 5",
        accurate="all of the extreme quantiles, the mean, and the median estimates are much more accurate",
        mu="improves after re-weighting for LW and CW",
        tail="improves the preservation of the confidential data distribution tail",
        improves=("improves the utility of the vector-weighted synthesizer",) * 2,
        of_method=True,
    )
    return (
        Statement(
            "lower_bounds",
            bounds,
            "all weighted synthesizers create maximum Lipschitz bounds that are significant lower",
            "LW, CW and SW have a lower largest bound than Unweighted",
            DELTA,
            ("Unweighted", "LW", "CW", "SW"),
            lambda by: max(by["LW"], by["CW"], by["SW"]) < by["Unweighted"],
        ),
        Statement(
            "lw_best_control",
            bounds,
            "the majority of the by-record Lipschitz bounds being closer to the maximum",
            "LW has more records than CW and SW whose bound is nearer the largest than 0",
            NEAR,
            ("LW", "CW", "SW"),
            lambda by: by["LW"] > max(by["CW"], by["SW"]),
        ),
        Statement(
            "lw_more_efficient",
            "section 3.1, text on Figure 2",
            "the relative concentration of higher by-record weights and associated Lipschitz bounds for LW than for CW",
            "LW's weights are higher than CW's (mean)",
            WEIGHT,
            ("LW", "CW"),
            _below("CW", "LW"),
        ),
        *(
            Statement(
                f"{stem.lower()}_weights_rise",
                "section 3.2, Figure 4b",
                "every record has received a higher weight",
                f"No record's weight falls from {stem} to {stem}_final",
                FALLS,
                (f"{stem}_final",),
                lambda by: max(by.values()) == 0,
                FALLING,
                change="reading 'every' as nearly every. No table would: it follows from k < 1",
            )
            for stem in ("LW", "CW")
        ),
        *_shared(at),
        *(
            _nearer(
                "LW",
                name,
                at.utility,
                "we can certainly see improvement in estimating the mean, median, and 90th quantile",
                error_of(name),
            )
            for name in ("q90", "mean", "median")
        ),
        _nearer("LW", "mu", at.utility, at.mu, MU),
        Statement(
            "mu_gains_more_cw",
            at.utility,
            "with a bigger improvement for CW",
            "mu gains more by re-weighting under CW than under LW",
            MU,
            FOUR,
            _cw_gains_more,
            of_utility=True,
        ),
    )


def section_4() -> tuple[Statement, ...]:
    """What the paper says of salaries."""
    board = "CW_final has produced much higher utility than CW across the board"
    at = Section(
        before="section 4.1, Figure 6",
        after="section 4.2, Figure 7",
        weights="section 4.2, Figure 8",
        utility="section 4.2, Figure 9",
        whole="section 4.2, text on Figure 9",
        accurate=board,
        mu=board,
        tail="re-weighting reduces or mitigates the shrinking of the tail",
        improves=("overall, there is a minor utility improvement from LW to LW_final", board),
        of_method=False,
    )
    return (
        Statement(
            "lw_best",
            "section 4.1, Figure 10",
            "LW has the highest utility among the three",
            "LW has the highest utility of LW, CW and SW (the four statistics together)",
            LOSS,
            ("LW", "CW", "SW", "Unweighted"),
            lambda by: by["LW"] < min(by["CW"], by["SW"]),
            of_utility=True,
        ),
        *_shared(at),
    )
