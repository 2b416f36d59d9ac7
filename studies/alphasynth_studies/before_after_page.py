"""The page of a study before and after re-weighting: counterparts of the paper's figures, on one table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from alphasynth.evaluation.digits import short
from alphasynth.evaluation.intervals import Interval
from alphasynth.evaluation.values import together
from alphasynth.mechanisms.weighting import Weighting
from alphasynth.pages import figures, page
from alphasynth.pages.marks import Figure, Line, Mark, Panel, Reference, points
from alphasynth.pages.palette import colours
from alphasynth.privacy.accounting import round_up
from alphasynth_studies.before_after import AFTER, BEFORE, Told, interval_of, signed
from alphasynth_studies.study import figure_name
from alphasynth_studies.synthesizers import STATISTICS


def _shown(told: Told, labels: Sequence[str]) -> list[Weighting]:
    return [told.detail.paper[label].weighting for label in labels]


def _counterpart(figure: Figure | None, number: int, part: str, title: str, caption: str) -> page.Block:
    assert figure is not None, "every model here has a mean"
    called = f"The paper's Figure {number}{part.partition('_')[0] if part[1:2] == '_' else ''}"
    return page.figure_block(
        replace(figure, name=figure_name(number, part), title=title, caption=f"{called}. {caption}")
    )


def bounds_before(told: Told, number: int, part: str = "bounds") -> page.Block:
    """Violins of the bounds of Unweighted, LW, CW and SW."""
    medians = [f"{label} {told.first.paper[label].typical:.2f}" for label in BEFORE]
    near = [f"{label} {1 - told.first.paper[label].low:.1%}" for label in BEFORE]
    largest = [f"{label} {round_up(told.first.paper[label].delta)}" for label in BEFORE]
    caption = (
        f"Largest bounds: {', '.join(largest)}. Median bound over the largest: {', '.join(medians)}. Records whose "
        f"bound is nearer the largest than 0: {', '.join(near)}."
    )
    drawn = figures.lipschitz_violins(_shown(told, BEFORE))
    words = told.said("lower_bounds", "lw_best_control")
    return _counterpart(drawn, number, part, "Lipschitz bounds by record, before re-weighting", f"{caption} {words}")


def scatter_before(told: Told, number: int) -> page.Block:
    """Bounds against weights, LW and CW."""
    seen = [
        f"{label}: mean weight {told.first.paper[label].mean_alpha:.3f}, {told.first.paper[label].low:.1%} of the "
        "records have a bound below half of the largest"
        for label in ("LW", "CW")
    ]
    drawn = figures.lipschitz_against_weight(_shown(told, ("LW", "CW")))
    words = told.said("lw_mostly_high", "lw_more_efficient", "cw_low_bounds")
    title = "Lipschitz bound against weight, before re-weighting"
    return _counterpart(drawn, number, "scatter", title, f"{'; '.join(seen)}. {words}")


def scatter_after(told: Told, number: int) -> page.Block:
    """Bounds against weights, before and after, LW and CW."""
    seen = [
        f"{label} {told.first.paper[label].spread:.2f} of the largest ({1 - told.first.paper[label].whole:.0%} of "
        "records)"
        for label in AFTER
    ]
    caption = f"Middle 90 % of the bounds of records with a weight below 1: {', '.join(seen)}."
    drawn = figures.lipschitz_against_weight(_shown(told, AFTER))
    words = told.said("lw_final_level", "cw_final_leveller", "lw_final_most_level")
    title = "Lipschitz bound against weight, before and after re-weighting"
    return _counterpart(drawn, number, "scatter", title, f"{caption} {words}")


def weights_after(told: Told, number: int) -> list[page.Block]:
    """Bounds and weights before and after."""
    paper = told.first.paper
    largest = [f"{label} {round_up(paper[label].delta)}" for label in AFTER]
    histograms = figures.weight_histograms(_shown(told, AFTER))
    stems = ("lw", "cw")
    return [
        _counterpart(
            figures.lipschitz_violins(_shown(told, AFTER)),
            number,
            "a_bounds",
            "Lipschitz bounds by record, before and after re-weighting",
            f"Largest bounds: {', '.join(largest)}. " + told.said(*(f"{stem}_final_nearer_largest" for stem in stems)),
        ),
        _counterpart(
            _weights_by_record(told),
            number,
            "b_weights",
            "Weights by record, before and after re-weighting",
            "A point is a distinct record; the diagonal is no change. "
            + told.said("lw_weights_rise", "cw_weights_rise"),
        ),
        *(
            _counterpart(
                replace(histograms, panels=(panel,)),
                number,
                f"{part}_weights",
                f"Weights of {stem} and {stem}_final",
                f"{panel.alt} {told.said(f'{stem.lower()}_final_nearer_one')}",
            )
            for part, stem, panel in zip(("c", "d"), ("LW", "CW"), histograms.panels, strict=True)
        ),
    ]


def _weights_by_record(told: Told) -> Figure:
    """Weight after against weight before, by record."""
    panels = []
    for stem in ("LW", "CW"):
        made = told.detail.paper[f"{stem}_final"]
        numbers = told.first.paper[f"{stem}_final"]
        seen = f"From {stem} to {stem}_final {numbers.rising:.1%} of the weights rise and {numbers.falling:.1%} fall."
        marks = (
            Line(stem, np.array([0.0, 1.0]), np.array([0.0, 1.0]), "no change"),
            points(
                f"{stem}_final",
                made.before.alpha,
                made.weighting.alpha,
                made.weighting.counts,
                ("weight before", "weight after"),
            ),
        )
        panels.append(Panel(seen, f"weight under {stem}", marks, seen, f"weight under {stem}_final", (0.0, 1.0)))
    return Figure("weights", "", "", tuple(panels), colours(AFTER))


def by_value(told: Told) -> page.Block:
    """Weight and bound of a record against its value, before and after re-weighting."""
    y, column = told.detail.values.values, told.detail.column
    panels = []
    for stem in ("LW", "CW"):
        shown = _shown(told, (stem, f"{stem}_final"))
        for name, read in (("weight", "alpha"), ("bound", "lipschitz")):
            marks: list[Mark] = [points(w.label, y, getattr(w, read), w.counts, (column, name)) for w in shown]
            if name == "bound":
                marks += [Reference(f"{w.label}: largest bound", w.delta, "y", None, w.label, True) for w in shown]
            least = [f"{w.label} {short(float(y[np.argmin(getattr(w, read))]))}" for w in shown]
            alt = f"{stem}: the least {name} is at {column} = {', '.join(least)}."
            label = "weight alpha" if name == "weight" else "Lipschitz bound of the record"
            panels.append(Panel(f"{stem} and {stem}_final: {name} against {column}", column, tuple(marks), alt, label))
    largest = [f"{w.label} at {column} = {short(float(y[np.argmax(w.lipschitz)]))}" for w in _shown(told, AFTER)]
    caption = (
        "Not in the paper: a point is a distinct record at its value. Weights fall towards both tails; re-weighting "
        "brings the bounds of records whose weight is below 1 near one level. The largest bound (dashed) is "
        f"{', '.join(largest)}."
    )
    title = f"Weight and Lipschitz bound against {column}, before and after re-weighting"
    return page.figure_block(Figure("by_value", title, caption, tuple(panels), colours(AFTER)))


def utility_after(told: Told, number: int) -> list[page.Block]:
    """Statistics, mu and synthetic values before and after."""
    return [
        _statistics(told, number, "a_quantiles", ("q15", "q90"), AFTER),
        _statistics(told, number, "b_mean_median", ("mean", "median"), AFTER),
        _mu(told, number, "c_mu", AFTER, ("lw_final_nearer_mu", "cw_final_nearer_mu", "mu_gains_more_cw")),
        _values(told, number, "d_values", AFTER, ("lw_final_nearer_tail", "cw_final_nearer_tail")),
    ]


def all_before(told: Told, number: int) -> list[page.Block]:
    """Supp 4: LW, CW and SW before re-weighting, six panels."""
    labels = ("LW", "CW", "SW")
    means = [f"{label} {told.first.paper[label].mean_alpha:.3f}" for label in labels]
    return [
        _counterpart(
            figures.weight_violins(_shown(told, labels)),
            number,
            "a_weights",
            "Weights by record, before re-weighting",
            f"Mean weights: {', '.join(means)}.",
        ),
        bounds_before(told, number, "b_bounds"),
        _statistics(told, number, "c_quantiles", ("q15", "q90"), labels, ("lw_best",)),
        _statistics(told, number, "d_mean_median", ("mean", "median"), labels, ("lw_best",)),
        _mu(told, number, "e_mu", labels, ()),
        _values(told, number, "f_values", labels, ()),
    ]


def _statistics(
    told: Told, number: int, part: str, names: Sequence[str], labels: Sequence[str], said: Sequence[str] | None = None
) -> page.Block:
    compared = {
        label: [c for c in told.detail.paper[label].comparisons if c.synthetic.statistic.name in names]
        for label in labels
    }
    errors = [
        f"{name} {', '.join(f'{label} {signed(told.first.error(label, name))}' for label in labels)}" for name in names
    ]
    if said is None:
        said = [f"{stem}_final_nearer_{name}" for stem in ("cw", "lw") for name in names]
    words = f"Errors: {'; '.join(errors)}. {told.said(*said)}"
    caption = f"Bootstrap resamples (ours); the band is the data's 95 % interval. {words}"
    title = f"{' and '.join(names)} of data and synthetic tables"
    return _counterpart(figures.statistic_violins(compared), number, part, title, caption)


def _mu(told: Told, number: int, part: str, labels: Sequence[str], said: Sequence[str]) -> page.Block:
    mean = told.first.values["mean"]
    errors = [f"{label} {signed(told.first.paper[label].mu - mean)}" for label in labels]
    drawn = figures.mean_densities(_shown(told, labels), mean)
    caption = f"Posterior mean of mu minus the data's mean: {', '.join(errors)}. {told.said(*said)}"
    return _counterpart(drawn, number, part, "Posterior density of mu", caption)


def _values(told: Told, number: int, part: str, labels: Sequence[str], said: Sequence[str]) -> page.Block:
    synthetic = {label: together(list(told.detail.paper[label].tables)) for label in labels}
    tails = [f"{label} {short(told.first.paper[label].tail)}" for label in labels]
    drawn = figures.value_violins(told.detail.column, told.detail.values, synthetic)
    caption = f"99th percentiles: data {short(told.first.tail)}, {', '.join(tails)}. {told.said(*said)}"
    return _counterpart(drawn, number, part, "Values of data and synthetic tables", caption)


def shown_words(told: Told) -> str:
    """How the table in the figures compares with the others."""
    deltas = np.array([one.paper["Unweighted"].delta for one in told.found])
    return (
        f"The figures show one table of {len(told.found):,}, the first. Unweighted's Delta is {round_up(deltas[0])} "
        f"on it; over all tables the mean is {round_up(deltas.mean())}, and {(deltas > deltas[0]).mean():.0%} of them"
        " have a larger one."
    )


def interval_table(told: Told, published: dict[str, dict[str, Interval]]) -> page.Block:
    """The table of Supp 3: intervals of the paper and of the table shown."""
    lines = []
    for name in STATISTICS:
        for label in ("data", *AFTER):
            lines.append((label, name, published[label][name], interval_of(told.first, label, name)))
    heads = ("synthesizer", "statistic", "paper, its table", "ours, the table shown")
    return page.table("95 % intervals (the table of Supp 3)", heads, lines)
