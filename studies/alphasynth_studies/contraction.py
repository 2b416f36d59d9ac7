"""Supp 5: local Lipschitz bounds over many databases. Do they gather at one value, and does n help?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from alphasynth import page
from alphasynth.families import NegativeBinomial, Poisson
from alphasynth.guarantee import round_up
from alphasynth.marks import Figure, Line, Panel, Reference, short, violin
from alphasynth.palette import CONFIDENTIAL, colours
from alphasynth.priors import ScaleMixturePrior
from alphasynth.values import Values

from alphasynth_studies.expected import Expected
from alphasynth_studies.local_bounds import (
    ROUNDS,
    Clock,
    device,
    local_bounds,
    simulate,
    statistics_of,
    synthetic_statistics,
)
from alphasynth_studies.local_bounds import VALUES as SUPPORT
from alphasynth_studies.study import SEED, Asked, Findings, Study, figure_name
from alphasynth_studies.tables import mixture_log_pmf, poisson_log_pmf

N = 1_000
M = 20
NAMES, QUANTILES = ("mean", "median", "q15", "q90"), (0.5, 0.15, 0.9)


@dataclass(frozen=True)
class Size:
    """How many databases at n = 1,000, and how many at each of several n."""

    num_databases: int
    over_n: int
    ns: tuple[int, ...]


SIZES = {
    "toy": Size(10, 10, (100, 300)),
    "paper": Size(100, 100, (100, 300, 1_000, 3_000, 10_000)),
    "large": Size(10_000, 1_000, (100, 300, 1_000, 3_000, 10_000)),
}


@dataclass(frozen=True, eq=False)
class Generator:
    """What databases are drawn from, the model fitted to them, and the bound at which the paper sees LW gather."""

    name: str
    words: str
    log_pmf: np.ndarray
    model: Any
    global_value: float
    bounds_figure: int = 0
    utility_figure: int = 0


def generators() -> tuple[Generator, ...]:
    """The paper's two, and its mixture as printed in Supp 5, with one dispersion twice."""
    poisson = Poisson.with_coefficients(ScaleMixturePrior(), 1)
    negative_binomial = NegativeBinomial.with_coefficients(ScaleMixturePrior(), 1)
    mixture = "0.2 NB(100, 5) + 0.8 NB(100, 20)"
    return (
        Generator("poisson", "Poisson(100)", poisson_log_pmf(SUPPORT), poisson, 3.5, 11, 12),
        Generator("mixture", mixture, mixture_log_pmf(SUPPORT), negative_binomial, 6.0, 13, 14),
        Generator("as_printed", "NB(100, 5)", mixture_log_pmf(SUPPORT, (5.0, 5.0)), negative_binomial, 6.0),
    )


def run(asked: Asked) -> Findings:
    """Bounds and statistics of all databases, at n = 1,000 and over n."""
    size = SIZES[asked.size]
    main, over = Clock(), Clock()
    results: dict[str, Any] = {}
    sections = []
    for number, generator in enumerate(generators()):
        asked.tell(f"{generator.words}: {size.num_databases:,} databases")
        found = _many(main, generator, size.num_databases, N, [SEED, number])
        results[generator.name] = found.results
        if generator.bounds_figure:
            sections.append(_section(generator, found))
    for number, generator in enumerate(generators()[:2]):
        by_n = {}
        for n in size.ns:
            asked.tell(f"{generator.words}: {size.over_n:,} databases of {n:,} records")
            by_n[n] = _many(over, generator, size.over_n, n, [SEED, number, n], tables=False)
        results[generator.name] |= _over_n(by_n)
        sections.append(_over_n_section(generator, by_n, results[generator.name]["contraction"]))
    results["device"] = device()
    results["seconds"] = {"bounds and tables, n = 1,000": vars(main), "bounds over n": vars(over)}
    sections.append(_printed(results))
    return Findings(results, tuple(sections))


@dataclass(frozen=True, eq=False)
class Many:
    """What came of many databases of one generator: Delta (R, 3), statistics of the tables (R, 4) and (R, 3, 4)."""

    results: dict[str, Any]
    delta: np.ndarray
    own: np.ndarray
    synthetic: np.ndarray | None


def _many(clock: Clock, generator: Generator, R: int, n: int, key: list[int], tables: bool = True) -> Many:
    seeds = np.random.SeedSequence(key).generate_state(3).tolist()
    counts = simulate(clock, seeds[0], generator.log_pmf, R, n)
    bounds = local_bounds(clock, seeds[1], generator.model, counts, M)
    results: dict[str, Any] = {
        label: _summary(delta, generator.global_value) for label, delta in zip(ROUNDS, bounds.delta.T, strict=True)
    }
    results["smallest_acceptance"] = float(bounds.acceptance.min())
    own = statistics_of(counts, QUANTILES)
    if not tables:
        return Many(results, bounds.delta, own, None)
    synthetic = synthetic_statistics(clock, seeds[2], generator.model, bounds.draws, n, QUANTILES)
    for number, label in enumerate(ROUNDS):
        results[label]["error"] = _errors(synthetic[:, number] - own)
    return Many(results, bounds.delta, own, synthetic)


def _summary(delta: np.ndarray, global_value: float) -> dict[str, Any]:
    """Median, mean, sd and range of the databases' bounds, and the share above the paper's global value."""
    from scipy.stats import binomtest

    above = int((delta > global_value).sum())
    interval = binomtest(above, len(delta)).proportion_ci(method="exact")
    return {
        "num_databases": len(delta),
        "median_delta": float(np.median(delta)),
        "mean_delta": float(delta.mean()),
        "sd_delta": float(delta.std(ddof=1)),
        "smallest_delta": float(delta.min()),
        "largest_delta": float(delta.max()),
        "share_above_global": above / len(delta),
        "share_above_global_interval": [float(interval.low), float(interval.high)],
    }


def _errors(error: np.ndarray) -> dict[str, dict[str, float]]:
    """Mean signed error of each statistic over databases, its standard error, and the root mean squared error."""
    return {
        name: {
            "mean": float(line.mean()),
            "standard_error": float(line.std(ddof=1) / np.sqrt(len(line))),
            "rmse": float(np.sqrt((line**2).mean())),
        }
        for name, line in zip(NAMES, error.T, strict=True)
    }


def _over_n(by_n: dict[int, Many]) -> dict[str, Any]:
    first, last = min(by_n), max(by_n)
    lw = {n: many.results["LW"] for n, many in by_n.items()}
    return {
        "over_n": {str(n): many.results for n, many in by_n.items()},
        "contraction": {
            "first_n": first,
            "last_n": last,
            "spread_ratio": lw[last]["sd_delta"] / lw[first]["sd_delta"],
            "range_ratio": _range(lw[last]) / _range(lw[first]),
            "drift": lw[last]["median_delta"] / lw[first]["median_delta"],
        },
    }


def _range(summary: dict[str, Any]) -> float:
    return float(summary["largest_delta"] - summary["smallest_delta"])


def _section(generator: Generator, found: Many) -> page.Section:
    heads = ("synthesizer", "databases", "median Delta", "mean", "sd", "smallest", "largest", "share above", "95 % interval")
    lines = []
    for label in ROUNDS:
        s = found.results[label]
        low, high = s["share_above_global_interval"]
        lines.append(
            (
                label,
                s["num_databases"],
                s["median_delta"],
                s["mean_delta"],
                s["sd_delta"],
                s["smallest_delta"],
                page.bound(s["largest_delta"]),
                s["share_above_global"],
                f"{low:.3f} to {high:.3f}",
            )
        )
    errors = [
        (label, name, error["mean"], error["standard_error"], error["rmse"])
        for label in ROUNDS
        for name, error in found.results[label]["error"].items()
    ]
    blocks = (
        page.table(
            f"Local bounds, {generator.words}, n = {N:,}; above the paper's global value {generator.global_value:g}",
            heads,
            lines,
            series=True,
        ),
        page.figure_block(_bounds_figure(generator, found)),
        page.figure_block(_tail_figure(generator, found)),
        page.figure_block(_utility_figure(generator, found)),
        page.table(
            f"Statistics of {M} synthetic tables (mean) minus the database's own, over databases",
            ("synthesizer", "statistic", "mean error", "its standard error", "root mean squared error"),
            errors,
            series=True,
        ),
    )
    return page.Section(generator.name, f"Databases from {generator.words}", blocks)


def _bounds_figure(generator: Generator, found: Many) -> Figure:
    lw = found.results["LW"]
    low, high = lw["share_above_global_interval"]
    reference = Reference(f"the paper's global value, {generator.global_value:g}", generator.global_value)
    violins = [
        violin(label, Values.of(delta), bounds=True) for label, delta in zip(ROUNDS, found.delta.T, strict=True)
    ]
    seen = (
        f"LW's local bounds have median {short(lw['median_delta'])} and reach from {short(lw['smallest_delta'])} to "
        f"{round_up(lw['largest_delta'])}. {lw['share_above_global']:.0%} of the databases (95 % interval {low:.0%} to "
        f"{high:.0%}) lie above {generator.global_value:g}, where the paper sees nearly none."
        if high > 0.05
        else f"LW's local bounds have median {short(lw['median_delta'])}; {lw['share_above_global']:.1%} of the databases "
        f"lie above {generator.global_value:g}, nearly none, as the paper says."
    )
    return Figure(
        figure_name(generator.bounds_figure, "bounds"),
        f"Local Lipschitz bounds over databases, {generator.words}",
        f"The paper's Figure {generator.bounds_figure}: one bound per database; the dashed line is the value at which "
        f"the paper sees LW's gather. {seen}",
        (Panel("", "Delta of a database", (reference, *violins), seen),),
        colours(ROUNDS),
    )


def _tail_figure(generator: Generator, found: Many) -> Figure:
    marks: list[Any] = [Reference(f"the paper's global value, {generator.global_value:g}", generator.global_value)]
    words = []
    for label, delta in zip(ROUNDS[1:], found.delta.T[1:], strict=True):
        x = np.sort(delta)
        share = 1 - np.arange(1, len(x) + 1) / len(x)
        picked = np.unique(np.linspace(0, len(x) - 1, 200).astype(int))
        ninety = float(np.quantile(delta, 0.95))
        words.append(f"one database in twenty has a bound above {short(ninety)} under {label}")
        marks.append(Line(label, x[picked], share[picked], f"{label}: one in twenty above {short(ninety)}"))
    seen = f"{'; '.join(words)}.".capitalize()
    return Figure(
        f"share_above_{generator.name}",
        f"Share of databases above a bound, {generator.words}",
        f"Not in the paper. {seen}",
        (Panel("", "Delta", tuple(marks), seen, "share of databases above"),),
        colours(ROUNDS),
    )


def _utility_figure(generator: Generator, found: Many) -> Figure:
    assert found.synthetic is not None, "statistics of the tables were asked for"
    panels = []
    words = []
    for number, name in enumerate(NAMES):
        held = {CONFIDENTIAL: found.own[:, number]}
        held |= {label: found.synthetic[:, at, number] for at, label in enumerate(ROUNDS)}
        marks = tuple(violin(label, Values.of(values)) for label, values in held.items())
        errors = [f"{label} {found.results[label]['error'][name]['mean']:+.2f}" for label in ROUNDS]
        words.append(f"{name} {', '.join(errors)}")
        panels.append(Panel(name, name, marks, f"{name}, mean error: {', '.join(errors)}."))
    return Figure(
        figure_name(generator.utility_figure, "estimands"),
        f"Statistics over databases, {generator.words}",
        f"The paper's Figure {generator.utility_figure}: statistics of each database, and of its synthetic tables (mean "
        f"of {M}). Mean signed errors: {'; '.join(words)}.",
        tuple(panels),
        colours([CONFIDENTIAL, *ROUNDS]),
    )


def _over_n_section(generator: Generator, by_n: dict[int, Many], contraction: dict[str, Any]) -> page.Section:
    lines = [
        (
            label,
            n,
            s["num_databases"],
            s["median_delta"],
            s["sd_delta"],
            _range(s),
            page.bound(s["largest_delta"]),
            s["share_above_global"],
        )
        for label in ROUNDS
        for n, many in by_n.items()
        for s in [many.results[label]]
    ]
    first, last = contraction["first_n"], contraction["last_n"]
    seen = (
        f"From n = {first:,} to n = {last:,} the standard deviation of LW's local bounds changes by the factor "
        f"{contraction['spread_ratio']:.2f}, their range by {contraction['range_ratio']:.2f} and their median by "
        f"{contraction['drift']:.2f}."
    )
    gathers = contraction["spread_ratio"] <= 0.5 and abs(contraction["drift"] - 1) <= 0.05
    seen += " They gather at one value." if gathers else " They do not gather at one value."
    violins = tuple(violin(f"n = {n:,}", Values.of(many.delta[:, 1]), bounds=True) for n, many in by_n.items())
    reference = Reference(f"the paper's global value, {generator.global_value:g}", generator.global_value)
    figure = Figure(
        f"over_n_{generator.name}",
        f"LW's local bounds over n, {generator.words}",
        f"The paper shows n = 1,000 only and says that local bounds come arbitrarily near a global one as n grows. {seen}",
        (Panel("", "Delta of a database", (reference, *violins), seen),),
        colours([f"n = {n:,}" for n in by_n], "LW"),
    )
    heads = ("synthesizer", "n", "databases", "median Delta", "sd", "range", "largest", "share above")
    table = page.table(f"Local bounds over n; above {generator.global_value:g}", heads, lines, series=True)
    return page.Section(f"{generator.name}-over-n", f"Over n, {generator.words}", (page.figure_block(figure), table))


def _printed(results: dict[str, Any]) -> page.Section:
    printed, read = results["as_printed"]["LW"], results["mixture"]["LW"]
    words = (
        "Supp 5 prints the dispersions (5, 5), which is no mixture; section 3 has (5, 20). With NB(100, 5) LW's local "
        f"bounds have median {short(printed['median_delta'])}, with (5, 20) {short(read['median_delta'])}; the paper's "
        "value is 6. So (5, 20) is what was run."
    )
    return page.Section("printed", "The dispersions as printed", (page.text(words),))


NOTHING_ABOVE = "0 ± 0.05: 'nearly 0' is read as at most one database in twenty"
STUDY = Study(
    name="contraction",
    title="From local to global bounds",
    place="Supp 5",
    simulates="Databases of 1,000 counts from Poisson(100) and from the mixture 0.2 NB(100, 5) + 0.8 NB(100, 20); and of "
    "100 to 10,000 counts.",
    runs="Unweighted, LW (c = 1, g = 0) and LW_final (k = 0.95) on every database, 1,000 draws each; Delta by database; 20 "
    "synthetic tables from each.",
    figures=(11, 12, 13, 14),
    expected=(
        Expected(
            "poisson.LW.median_delta",
            "Supp 5, text and Figure 11",
            "Delta at which LW's local bounds gather, Poisson",
            3.5,
            0.2,
            "3.5 ± 0.2: read off a violin; its value is given to one decimal, and S and the sampler move a maximum over "
            "draws by 0.1",
        ),
        Expected(
            "mixture.LW.median_delta",
            "Supp 5, text and Figure 13",
            "Delta at which LW's local bounds gather, mixture",
            6.0,
            0.4,
            "6 ± 0.4: given without decimals, and the violin is skewed: its mean lies 0.15 above its median",
        ),
        Expected(
            "poisson.LW.share_above_global",
            "Supp 5, text",
            "share of databases with Delta above 3.5, Poisson",
            0.0,
            0.05,
            NOTHING_ABOVE,
        ),
        Expected(
            "mixture.LW.share_above_global",
            "Supp 5, text",
            "share of databases with Delta above 6, mixture",
            0.0,
            0.05,
            NOTHING_ABOVE,
        ),
        *(
            Expected(
                f"{name}.contraction.spread_ratio",
                "section 1.4, Supp 5, last paragraph",
                f"sd of LW's local bounds at the largest n over that at the smallest, {name}",
                0.0,
                0.5,
                "0 ± 0.5: bounds that come arbitrarily near one value should at least halve their spread when n grows "
                "a hundredfold",
            )
            for name in ("poisson", "mixture")
        ),
        *(
            Expected(
                f"{name}.contraction.drift",
                "section 1.4, Supp 5, last paragraph",
                f"median of LW's local bounds at the largest n over that at the smallest, {name}",
                1.0,
                0.05,
                "1 ± 0.05: a global value that bounds gather at does not move with n; a twentieth is left for small n",
            )
            for name in ("poisson", "mixture")
        ),
        Expected(
            "as_printed.LW.median_delta",
            "Supp 5, list",
            "Delta at which LW's local bounds gather, dispersions (5, 5) as printed",
            6.0,
            0.4,
            "6 ± 0.4: as for the mixture; a value outside says that (5, 5) is a slip for (5, 20)",
        ),
    ),
    run=run,
)
