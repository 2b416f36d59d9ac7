"""The figures, each a pure function of results: every one of the paper's, and those of the public page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from alphasynth.evaluation.compared import Associated, Comparison, Estimates
from alphasynth.evaluation.digits import date_words, short, told
from alphasynth.evaluation.risk import IdentificationRisk
from alphasynth.evaluation.values import Values
from alphasynth.mechanisms.weighting import Weighting
from alphasynth.pages.marks import Figure, Panel, Reference, bars, curve, points, violin
from alphasynth.pages.named_marks import Tiles
from alphasynth.pages.palette import CONFIDENTIAL, colours
from alphasynth.privacy.accounting import round_up

BINS = 25
WHOLE = (0.0, 1.0)  # what weights can be


def lipschitz_violins(weightings: Sequence[Weighting]) -> Figure:
    """By-record Lipschitz bounds, a violin for each synthesizer."""
    violins = [violin(w.label, Values.of(w.lipschitz, w.counts), bounds=True) for w in weightings]
    largest = [f"{w.label} {round_up(w.delta)}" for w in weightings]
    return Figure(
        "lipschitz",
        "Lipschitz bounds by record",
        "Each violin holds one synthesizer's bounds, one per record; the dot is the median, the bar the middle half."
        " The largest decides epsilon, twice as much per draw.",
        (Panel("", "Lipschitz bound", tuple(violins), f"Largest bounds: {', '.join(largest)}."),),
        colours([w.label for w in weightings]),
    )


def lipschitz_against_weight(weightings: Sequence[Weighting]) -> Figure:
    """Lipschitz bound against weight by record, with each synthesizer's largest bound as a dashed line."""
    groups = _before_and_after(weightings)
    panels = tuple(_scatter(title, group) for title, group in groups)
    return Figure(
        "lipschitz_against_weight",
        "Lipschitz bound against weight",
        "A point is a distinct record; the dashed line is a synthesizer's largest bound, which decides epsilon. "
        "Points far below their line have weights that could be raised; re-weighting brings the bounds near one "
        "level.",
        panels,
        colours([w.label for w in weightings]),
    )


def _before_and_after(weightings: Sequence[Weighting]) -> list[tuple[str, list[Weighting]]]:
    """Panels: a mechanism with its re-weighted successor in one, any other alone; what has no weights in none."""
    by_label = {w.label: w for w in weightings}
    panels = []
    for w in weightings:
        if w.label.removesuffix("_final") in by_label and w.label.endswith("_final"):
            continue
        after = by_label.get(f"{w.label}_final")
        if np.ptp(w.alpha) == 0 and w.alpha[0] == 1 and len(weightings) > 1:
            continue  # every weight is 1: nothing to see
        title = f"{w.label} and {after.label}: before and after" if after else w.label
        panels.append((title, [w, after] if after else [w]))
    return panels


def _scatter(title: str, group: Sequence[Weighting]) -> Panel:
    marks = [points(w.label, w.alpha, w.lipschitz, w.counts) for w in group]
    lines = [Reference(f"{w.label}: largest bound", w.delta, "y", series=w.label, bounds=True) for w in group]
    words = [f"{w.label}: largest bound {round_up(w.delta)}, mean weight {w.mean_alpha:.3f}" for w in group]
    return Panel(title, "weight alpha", (*marks, *lines), f"{'; '.join(words)}.", "Lipschitz bound", WHOLE)


def weight_violins(weightings: Sequence[Weighting]) -> Figure:
    """Weights by record, a violin for each synthesizer."""
    violins = [violin(w.label, Values.of(w.alpha, w.counts)) for w in weightings]
    means = [f"{w.label} {w.mean_alpha:.3f}" for w in weightings]
    return Figure(
        "weights",
        "Weights by record",
        "Each violin holds one synthesizer's weights, one per record: 1 keeps a record whole, 0 leaves it out.",
        (Panel("", "weight alpha", tuple(violins), f"Mean weights: {', '.join(means)}.", x_range=WHOLE),),
        colours([w.label for w in weightings]),
    )


def weight_histograms(weightings: Sequence[Weighting]) -> Figure:
    """Histograms of the weights, a mechanism and its re-weighted successor in one panel."""
    edges = np.linspace(0, 1, BINS + 1)
    panels = []
    for title, group in _before_and_after(weightings):
        marks = [bars(w.label, Values.of(w.alpha, w.counts), edges) for w in group]
        words = [f"{w.label}: {_share(w, 0.9):.0%} of records have a weight of 0.9 or more" for w in group]
        panels.append(Panel(title, "weight alpha", tuple(marks), f"{'; '.join(words)}.", "share of records"))
    return Figure(
        "weight_histograms",
        "Histograms of weights",
        "How many records keep how much of their likelihood.",
        tuple(panels),
        colours([w.label for w in weightings]),
    )


def _share(w: Weighting, least: float) -> float:
    return float(np.average(w.alpha >= least, weights=w.counts))


def statistic_violins(compared: Mapping[str, Sequence[Comparison]]) -> Figure:
    """Utility statistics in bootstrap resamples, with the confidential interval as a band; by synthesizer.

    All synthesizers are compared on the same statistics of the same columns.
    """
    labels = list(compared)
    panels = []
    for group in zip(*compared.values(), strict=True):
        first = group[0]
        statistic, column = first.synthetic.statistic.name, first.synthetic.column
        low, high = first.interval
        band = Reference("confidential 95 % interval", low, "x", high, dates=first.day)
        own = violin(CONFIDENTIAL, Values.of(first.resampled), first.interval, dates=first.day)
        others = [
            violin(label, Values.of(c.synthetic.resampled.ravel()), c.synthetic.averaged, dates=c.day)
            for label, c in zip(labels, group, strict=True)
        ]
        words = [
            f"{label} {told(c.synthetic.combined.estimate, c.synthetic.error, c.day)}"
            for label, c in zip(labels, group, strict=True)
        ]
        alt = f"{statistic} of {column}: confidential {told(first.value, first.error, first.day)}; {', '.join(words)}."
        panels.append(Panel(f"{statistic} of {column}", statistic, (band, own, *others), alt))
    return Figure(
        "statistics",
        "Statistics of confidential and synthetic tables",
        "Violins of 1,000 bootstrap resamples of each table, all synthetic tables together. The dot is the median, the "
        "thick bar the 95 % interval (end points averaged over the tables), the band the confidential one.",
        tuple(panels),
        colours([CONFIDENTIAL, *labels]),
    )


def mean_densities(weightings: Sequence[Weighting], mean: float) -> Figure | None:
    """Posterior densities of mu, with the confidential mean as a dashed line; None where no model has a mu."""
    with_mu = [w for w in weightings if w.mu is not None]
    if not with_mu:
        return None
    draws = [Values.of(w.mu) for w in with_mu]
    words = [f"{w.label}: mean {short(v.mean)}, sd {short(v.sd)}" for w, v in zip(with_mu, draws, strict=True)]
    lines = [curve(w.label, v, text) for w, v, text in zip(with_mu, draws, words, strict=True)]
    return Figure(
        "mu",
        "Posterior density of mu",
        "mu is the model's mean, averaged over the records where it has covariates. The dashed line is the "
        "confidential mean.",
        (Panel("", "mu", (*lines, Reference("confidential mean", mean)), f"{'; '.join(words)}.", "density"),),
        colours([w.label for w in with_mu]),
    )


def value_violins(column: str, confidential: Values, synthetic: Mapping[str, Values], dates: bool = False) -> Figure:
    """The confidential and the synthetic values, all synthetic tables of a synthesizer together."""
    columns = {CONFIDENTIAL: confidential, **synthetic}
    words = [_extent(name, values, dates) for name, values in columns.items()]
    marks = tuple(violin(name, values, dates=dates) for name, values in columns.items())
    return Figure(
        f"values_{_stem(column)}",
        f"Values of {column}",
        "The confidential values, and those of all synthetic tables together. The dot is the median, the bar the "
        "middle half.",
        (Panel("", column, marks, f"{'; '.join(words)}."),),
        colours(list(columns)),
    )


def _extent(name: str, values: Values, dates: bool) -> str:
    """Median and largest value in words."""
    spoken = date_words if dates else short
    return f"{name}: median {spoken(values.quantile(0.5))}, largest {spoken(values.values[-1])}"


MOST_MAPPED = 40  # columns of a map


def association_maps(label: str, found: Sequence[Associated]) -> Figure | None:
    """Associations of every two columns: confidential, synthetic, and the difference; None of fewer than three."""
    names = list(dict.fromkeys(name for a in found for name in (a.pair.one, a.pair.other)))[:MOST_MAPPED]
    if len(names) < 3:
        return None
    place = {name: i for i, name in enumerate(names)}
    squares = {"confidential": np.eye(len(names)), "synthetic": np.eye(len(names))}
    for a in found:
        if a.pair.one in place and a.pair.other in place:
            i, j = place[a.pair.one], place[a.pair.other]
            for square, value in zip(squares.values(), (a.confidential, a.synthetic), strict=True):
                square[i, j] = square[j, i] = value
    squares["difference"] = squares["synthetic"] - squares["confidential"]
    farthest = np.nanmax(np.abs(squares["difference"]))
    words = {"difference": f"The largest difference is {short(float(farthest))}."}
    panels = tuple(
        Panel(title, "", (Tiles(tuple(names), square),), words.get(title, f"Associations, {title}."))
        for title, square in squares.items()
    )
    return Figure(
        "associations",
        f"Associations of pairs of columns, {label}",
        "Spearman's rho of numbers, Cramér's V of categories, the correlation ratio of one of each: blue above 0, red "
        "below, white at 0. The third map is synthetic less confidential.",
        panels,
        {},
    )


def risk_violins(risks: Mapping[str, Sequence[IdentificationRisk]]) -> Figure:
    """Identification risk by record within each radius, on the confidential and on the synthetic tables."""
    panels = []
    for group in zip(*risks.values(), strict=True):
        first = group[0]
        reach = f"{first.radius:.10g} of the value" if first.relative else f"{first.radius:.10g}"
        marks = [violin(CONFIDENTIAL, Values.of(first.before, first.records.counts))]
        marks += [
            violin(label, Values.of(r.by_distinct, r.records.counts)) for label, r in zip(risks, group, strict=True)
        ]
        means = [f"{label} {r.mean:.3f}" for label, r in zip(risks, group, strict=True)]
        alt = f"Radius {reach}: mean risk {first.mean_before:.3f} in the confidential table; {', '.join(means)}."
        panels.append(Panel(f"radius {reach}", "share of rows outside the ball", tuple(marks), alt))
    return Figure(
        "identification_risk",
        "Identification risk by record (empirical)",
        "For each record, the share of a table's rows outside a ball around its value, 0 where none is inside: near 1 "
        "for values that stand out. A measurement on these tables, and no guarantee.",
        tuple(panels),
        colours([CONFIDENTIAL, *risks]),
    )


def table_violins(column: str, tables: Mapping[str, Values], mechanism: str, dates: bool = False) -> Figure:
    """The values of each synthetic table; for the public page."""
    words = [_extent(name, values, dates) for name, values in tables.items()]
    marks = tuple(violin(name, values, dates=dates) for name, values in tables.items())
    return Figure(
        f"values_{_stem(column)}",
        f"Values of {column}",
        "The dot is the median, the bar the middle half."
        + (" All tables together, and the first ones one by one." if len(tables) > 1 else ""),
        (Panel("", column, marks, f"{'; '.join(words)}."),),
        colours(list(tables), mechanism),
    )


def estimate_violins(
    found: Sequence[Estimates], whole: str, names: Sequence[str], mechanism: str, dates: bool = False
) -> Figure:
    """Statistics in bootstrap resamples of all synthetic tables and of the first ones; for the public page.

    `whole` is what all tables together are called, `names` the first ones.
    """
    panels = []
    for estimate in found:
        statistic, column = estimate.statistic.name, estimate.column
        interval, day = estimate.combined.interval, dates and statistic != "sd"
        ends = () if interval is None else (interval,)
        band = [Reference("combined 95 % interval", low, "x", high, dates=day) for low, high in ends]
        lines = [estimate.resampled.ravel(), *estimate.resampled[: len(names)]]
        violins = [violin(name, Values.of(line), dates=day) for name, line in zip((whole, *names), lines, strict=False)]
        alt = f"{statistic} of {column}: {told(estimate.combined.estimate, estimate.error, day)} over all tables."
        panels.append(Panel(f"{statistic} of {column}", statistic, (*band, *violins), alt))
    return Figure(
        "statistics",
        "Statistics of the synthetic tables",
        "Violins of 1,000 bootstrap resamples of each table; the dot is the median, the bar the middle half. The "
        "band, where there is one, is the 95 % interval from T.",
        tuple(panels),
        colours([whole, *names], mechanism),
    )


def _stem(name: str) -> str:
    """A column's name as part of a file's."""
    return "".join(c if c.isalnum() and c.isascii() else "_" for c in name)[:40] or "column"
