"""`alphasynth study contraction` on databases of one's own: the distribution of local bounds, and the share above."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from alphasynth.evaluation.digits import short
from alphasynth.evaluation.values import Values
from alphasynth.pages import page
from alphasynth.pages.marks import Figure, Line, Panel, Reference, violin
from alphasynth.pages.palette import colours
from alphasynth.privacy.accounting import round_up
from alphasynth_studies.local_bounds import ROUNDS
from alphasynth_studies.many_databases import summary
from alphasynth_studies.own.databases import FAMILY, Own, OwnPlan
from alphasynth_studies.repeats import measure_all
from alphasynth_studies.study import Asked, Findings, Study

DATABASES = {"toy": 10, "paper": 100, "large": 1_000}


def own_study(own: Own) -> Study:
    """The study of Supp 5 with the user's own databases; the paper has no numbers for them."""
    source = own.generator or "the mixture 0.2 NB(100, 5) + 0.8 NB(100, 20)"
    return Study(
        name="contraction",
        title="Local bounds of databases of one's own",
        place="the question of Supp 5",
        simulates=f"100 databases of {own.n:,} records from {source}.",
        runs=f"Unweighted, LW (c = 1, g = 0) and LW_final (k = 0.95) of the model {own.model or FAMILY} on every "
        "database, 1,000 draws each; Delta of each.",
        figures=(),
        expected=(),
        run=partial(_run, own),
    )


def _run(own: Own, asked: Asked) -> Findings:
    """Bounds of all databases."""
    own.check()
    delta = np.array(measure_all(asked, OwnPlan(own), DATABASES[asked.size]))
    above = float(delta[0, 1]) if own.above is None else own.above
    results: dict[str, Any] = {
        **own._asdict(),
        "above": above,
        **{label: summary(line, above) for label, line in zip(ROUNDS, delta.T, strict=True)},
    }
    results["words"] = words(own, results)
    section = page.Section("bounds", f"Databases of {own.n:,} records", tuple(_blocks(own, delta, results)))
    return Findings(results, (section,))


def words(own: Own, results: dict[str, Any]) -> str:
    """What came out, in a sentence or two."""
    lw = results["LW"]
    low, high = lw["share_above_global_interval"]
    value = "LW's bound of the first database" if own.above is None else "the value asked about"
    return (
        f"LW's local bounds of {lw['num_databases']:,} databases of {own.n:,} records, under the model "
        f"{own.model or f'{FAMILY} (--model was not given)'}, have median "
        f"{round_up(lw['median_delta'])}, standard deviation {lw['sd_delta']:.2f} and reach from "
        f"{round_up(lw['smallest_delta'])} to {round_up(lw['largest_delta'])}; {lw['share_above_global']:.0%} of them "
        f"(95 % interval {low:.0%} to {high:.0%}) lie above {round_up(results['above'])}, {value}."
    )


def _blocks(own: Own, delta: np.ndarray, results: dict[str, Any]) -> list[page.Block]:
    lines = []
    for label in ROUNDS:
        s = results[label]
        bounds = [page.bound(s[f"{name}_delta"]) for name in ("median", "mean", "smallest", "largest")]
        low, high = s["share_above_global_interval"]
        share = (s["share_above_global"], f"{low:.3f} to {high:.3f}")
        lines.append((label, s["num_databases"], *bounds[:2], s["sd_delta"], *bounds[2:], *share))
    heads = ("synthesizer", "databases", "median Delta", "mean", "sd", "smallest", "largest", "share above", "95 %")
    caption = f"Local bounds; above {round_up(results['above'])}"
    return [
        page.text(results["words"]),
        page.figure_block(_violins(delta, results)),
        page.figure_block(_tails(delta, results)),
        page.table(caption, heads, lines, series=True),
    ]


def _reference(results: dict[str, Any]) -> Reference:
    return Reference("the value asked about", results["above"], bounds=True)


def _violins(delta: np.ndarray, results: dict[str, Any]) -> Figure:
    marks = [violin(label, Values.of(line), bounds=True) for label, line in zip(ROUNDS, delta.T, strict=True)]
    panel = Panel("", "Delta of a database", (_reference(results), *marks), results["words"])
    title = "Local Lipschitz bounds over databases"
    return Figure("bounds", title, f"One bound per database. {results['words']}", (panel,), colours(ROUNDS))


def _tails(delta: np.ndarray, results: dict[str, Any]) -> Figure:
    marks, told = [], []
    for label, line in zip(ROUNDS[1:], delta.T[1:], strict=True):
        x = np.sort(line)
        seen = f"{label}: one in twenty above {short(float(np.quantile(line, 0.95)))}"
        marks.append(Line(label, x, 1 - np.arange(1, len(x) + 1) / len(x), seen))
        told.append(seen)
    seen = f"{'; '.join(told)}."
    panel = Panel("", "Delta", (_reference(results), *marks), seen, "share of databases above")
    return Figure("share_above", "Share of databases above a bound", seen, (panel,), colours(ROUNDS))
