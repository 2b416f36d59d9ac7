"""The pages of a run, rendered from what it left and nothing else."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from alphasynth.audits.finding import UNCERTAIN
from alphasynth.evaluation.associations import NEGATIVE_BINOMIAL
from alphasynth.evaluation.propensity import MOST_LEVELS
from alphasynth.evaluation.values import as_text, is_numeric
from alphasynth.models.formula import Formula
from alphasynth.pages import confidential_page, page, public_page
from alphasynth.pages.confidential_page import Measuring, Outcome, measured, rates_of
from alphasynth.pages.images import save
from alphasynth.pages.marks import Figure
from alphasynth.pages.public_inputs import contribution_facts, contribution_tables, model_words
from alphasynth.pages.public_page import modelled_by
from alphasynth.privacy.accounting import as_written, counted, round_up, written
from alphasynth.privacy.decimals import shown_small
from alphasynth.privacy.guarantee import SPREAD, PublicGuarantee
from alphasynth.privacy.scopes import STRICT, TARGET
from alphasynth.runs.folder import CONFIDENTIAL, RELEASE
from alphasynth.runs.interruption import Interruption, Left
from alphasynth.runs.results import MOST_ROWS, RunResults
from alphasynth.tables.records import Records

NAME, FIGURES = "report.html", "figures"
MOST_TERMS = 40  # columns on the right-hand side of a report's regression
INERT = Interruption()
LEFT_OUT = (
    f"There are more than {MOST_ROWS:,} distinct rows: only the synthesized column is compared, without the others."
)


@dataclass(frozen=True, eq=False)
class Rendered:
    """Pages as HTML, and the figures of the confidential one (all but `public` is confidential)."""

    public: str
    confidential: str
    figures: tuple[Figure, ...]
    releasable: bool


def render_run(results: RunResults) -> Rendered:
    """Both pages of a run."""
    guarantee, records = results.release.guarantee, results.records
    built = confidential_page.build(
        f"Run report: {_title(guarantee, records.response)}, {guarantee.mechanism}",
        records,
        _outcomes(results),
        [
            *_claims(guarantee, results.summary, results.settings),
            *([page.warning(LEFT_OUT)] if results.left_out else []),
        ],
        () if guarantee.releasable else ("NOT FOR RELEASE: the random seed was fixed.",),
        f"alphasynth {guarantee.version}, run {results.summary['run']}",
    )
    public = page.render(public_page.build(results.release))
    return Rendered(public, page.render(built), built.figures, guarantee.releasable)


def _outcomes(results: RunResults) -> list[Outcome]:
    """The rounds as the page's synthesizers; the last one has tables."""
    guarantee, records, tables, summary = results.release.guarantee, results.records, results.tables, results.summary
    formulas = [Formula.parse(text) for text in modelled_by(guarantee)]
    formula = next((f for f in formulas if f.response == records.response), formulas[-1])
    radii = sorted({*_own_radius(summary), *confidential_page.RADII})
    covariates = [name for name in formula.covariates if name in records.columns]
    *before, final = results.rounds
    last = measured(
        None if guarantee.scope in (STRICT, TARGET) else final,  # where no record has a weight there is none to show
        final.label,
        guarantee.rules,
        records,
        tables,
        Measuring(
            draws=results.release.draws,
            regressions=_regressions(guarantee, formula, records) if covariates else [],
            public=guarantee.public_columns,
            scalar=guarantee.spread,
            survey_weights=results.settings.get("survey_weights"),
            radii=radii,
            known=_within(summary),
        ),
        rates_of(records, tables, covariates, radii),
    )
    return [*(Outcome(w, w.label) for w in before), last]


def _title(guarantee: PublicGuarantee, response: str) -> str:
    return f"{len(guarantee.columns)} columns" if len(guarantee.columns) > 1 else response


def _regressions(guarantee: PublicGuarantee, formula: Formula, records: Records) -> list[str]:
    """The run's own formula; of a chain also that column on all others, as its family says."""
    if len(guarantee.columns) < 2:
        return [formula.text]
    families = {entry["column"]: entry["family"] for entry in guarantee.columns}
    kind = f"{NEGATIVE_BINOMIAL}: " if "negative_binomial" in families.get(formula.response, "") else ""
    spoken = [name for name in records.columns if name != formula.response and "`" not in name]
    few = [
        n
        for n in spoken
        if is_numeric(records.columns[n]) or len(np.unique(as_text(records.columns[n]))) <= MOST_LEVELS
    ]
    rest = " + ".join(f"`{name}`" for name in few[:MOST_TERMS])
    return [f"{kind}`{formula.response}` ~ {rest}"]


def _own_radius(summary: Mapping[str, Any]) -> list[tuple[float, bool]]:
    """The radius that the run's own weights used, if they used one."""
    settled = [entry["settled"] for entry in summary["rounds"] if isinstance(entry["settled"].get("radius"), float)]
    return [(float(rule["radius"]), bool(rule["relative"])) for rule in settled]


def _within(summary: Mapping[str, Any]) -> list[str]:
    """The columns within which the run's own weights compared records."""
    return [name for entry in summary["rounds"] for name in entry["settled"].get("within", ())]


def _claims(guarantee: PublicGuarantee, summary: Mapping[str, Any], settings: Mapping[str, Any]) -> list[page.Block]:
    """What was run, the realised claim beside the policy's number, and how each round went."""
    realised, unit = float(summary["epsilon_total"]), float(summary["epsilon_unit"])
    blocks = [
        page.facts(
            ("realised epsilon", _verdict(realised, guarantee)),
            ("for one unit of privacy", f"{round_up(unit)}: {guarantee.unit}"),
            ("model", _model(guarantee)),
            ("mechanism", guarantee.mechanism),
            ("columns declared public", ", ".join(guarantee.public_columns) or "none"),
            ("data set in the ledger", settings.get("dataset", "not named")),
            ("draws released", f"{guarantee.m:,}, {counted(guarantee.tables_per_draw, 'table')} each"),
            ("records", f"{summary['n']:,}, {summary['distinct_rows']:,} of them distinct"),
            *_audited(summary),
        ),
        page.text("The claim and its limits:"),
        page.items(*guarantee.clauses),
        _rounds(guarantee, summary),
    ]
    if _audit_verdict(summary) == "broken":
        blocks.insert(0, page.warning("The draw audit finds the claim broken for a neighbouring database: see below."))
    if _audit_verdict(summary) == "cannot tell":
        blocks.insert(0, page.warning("The draw audit cannot tell whether the claim is kept: see below."))
    if guarantee.policy_epsilon is None:
        blocks.insert(0, page.warning("No policy budget was set: decide whether the realised epsilon can be afforded."))
    searches = [
        (s["dial"], page.bound(s["target"]), s["value"], page.bound(s["reached"]), len(s["trials"]))
        for s in summary["searches"]
    ]
    if searches:
        heads = ("number searched", "bound not to exceed", "found", "bound reached", "fits")
        blocks.append(page.table("Searches", heads, searches))
    names: tuple[str, ...] = ("synthesizer", "sampler", "acceptance", "effective draws", "R-hat", "k-hat")
    if len(guarantee.columns) > 1:
        blocks += _columns_table(guarantee)
        names = ("synthesizer", "column", *names[1:])
    lines = [line for entry in summary["rounds"] for line in _diagnostics(entry)]
    return [*blocks, page.table("Samplers", names, lines, series=True), page.note(str(summary["guarantee"]))]


def _rounds(guarantee: PublicGuarantee, summary: Mapping[str, Any]) -> page.Block:
    """How each round went; a strict mechanism has one, without weights."""
    lines = [_round(entry) for entry in summary["rounds"]]
    if guarantee.scope in (STRICT, TARGET):
        heads: tuple[str, ...] = ("synthesizer", "what a record adds", _cost(guarantee), "seconds")
        (_, words), *_ = contribution_facts(guarantee)
        return page.table("The fit", heads, [(line[0], words, line[4], line[6]) for line in lines], series=True)
    heads = ("synthesizer", "rule", "with", "Delta", "epsilon per draw", "mean weight", "seconds")
    return page.table("Rounds; Delta and epsilon are rounded up", heads, lines, series=True)


def _cost(guarantee: PublicGuarantee) -> str:
    """What the epsilon of a fit is of: noise that is added once costs the same for any number of draws."""
    return "epsilon in all, for any number of draws" if guarantee.combining == SPREAD else "epsilon per draw"


def _audited(summary: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What the run's own draw audit found, beside the claim of a draw."""
    audit = summary.get("audit")
    if audit is None:
        return []
    words = f"loss {round_up(audit['loss'])} at delta {audit['delta']:g} beside a claim of {round_up(audit['claim'])}"
    if _audit_verdict(summary) == "cannot tell":
        return [("draw audit, an estimate", f"cannot tell: {UNCERTAIN}")]
    kept = "kept" if audit["kept"] else "BROKEN"
    return [("draw audit, an estimate", f"{kept}: {words} (per draw; {audit['worst']})")]


def _audit_verdict(summary: Mapping[str, Any]) -> str | None:
    """Kept, broken or cannot tell; None where there was no audit. Earlier runs wrote whether it was kept."""
    audit = summary.get("audit")
    if audit is None:
        return None
    return str(audit.get("verdict", "kept" if audit["kept"] else "broken"))


def _verdict(realised: float, guarantee: PublicGuarantee) -> str:
    """The realised epsilon of all draws, for one row, beside the policy's, and at its delta, where that is spent."""
    policy, delta = guarantee.policy_epsilon, guarantee.policy_delta
    if policy is None:
        return f"{round_up(realised)} in all, for one row; no policy budget was set"
    at = "" if delta is None else f" at delta {shown_small(written(delta))}"
    return f"{round_up(realised)} of the policy's {as_written(policy)}{at} in all, for one row"


def _round(entry: Mapping[str, Any]) -> tuple[object, ...]:
    settled = {name: value for name, value in entry["settled"].items() if value not in ([], None)}
    words = ", ".join(f"{n} {v:.4g}" if isinstance(v, float) else f"{n} {_spoken(v)}" for n, v in settled.items())
    bounds = page.bound(entry["delta"]), page.bound(entry["epsilon"])
    return (entry["label"], entry["rule"], words, *bounds, entry["mean_alpha"], entry["seconds"])


def _spoken(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return " and ".join(map(str, value)) if isinstance(value, list) else str(value)


def _diagnostics(entry: Mapping[str, Any]) -> list[tuple[object, ...]]:
    """A line of one column's sampler, or one for each column of a chain."""
    found = entry["diagnostics"]
    names = ("sampler", "acceptance", "ess_bulk", "rhat", "khat")
    if "sampler" in found and not isinstance(found["sampler"], dict):
        return [(entry["label"], *(found.get(name) for name in names))]
    if len(found) == 1:
        return [(entry["label"], *(next(iter(found.values())).get(name) for name in names))]
    return [(entry["label"], column, *(each.get(name) for name in names)) for column, each in found.items()]


def _model(guarantee: PublicGuarantee) -> str:
    if len(guarantee.columns) > 1:
        return f"a chain of {len(guarantee.columns)} models, see below"
    return model_words(guarantee)


def _bound(epsilon: float | None) -> page.Cell | None:
    return None if epsilon is None else page.bound(epsilon)


def _columns_table(guarantee: PublicGuarantee) -> list[page.Block]:
    """The columns' models and their parts of the budget."""
    heads = ("column", "formula", "family", "part of the budget", _cost(guarantee))
    names = ("column", "formula", "family", "share_of_budget")
    lines = [(*(entry[n] for n in names), _bound(entry.get("epsilon_per_draw"))) for entry in guarantee.columns]
    kept = heads if any(line[-1] is not None for line in lines) else heads[:-1]
    return [page.table("Columns", kept, [line[: len(kept)] for line in lines]), *contribution_tables(guarantee)]


def write_pages(run: Path, results: RunResults, figures: bool = False, signals: Interruption = INERT) -> Rendered:
    """Render both pages of a run into its folder, and if wanted its figures as PNG, SVG and CSV files; all or none."""
    rendered = render_run(results)
    folder = run / CONFIDENTIAL / FIGURES
    beside = folder.with_name(f".{FIGURES}-{secrets.token_hex(4)}")
    written: list[Path] = []

    def clean() -> Left:
        shutil.rmtree(beside, ignore_errors=True)
        return Left.WHOLE if written else Left.NOTHING

    with signals.cleaning(clean):
        try:
            if figures:
                _write_figures(rendered.figures, beside)
            with signals.whole():
                replace_file(run / CONFIDENTIAL / NAME, rendered.confidential, 0o600)
                replace_file(run / RELEASE / NAME, rendered.public, 0o666)
                if figures:
                    shutil.rmtree(folder, ignore_errors=True)
                    beside.rename(folder)
                written.append(run)
        finally:
            shutil.rmtree(beside, ignore_errors=True)
    return rendered


def _write_figures(figures: Sequence[Figure], folder: Path) -> None:
    folder.mkdir(mode=0o700)
    for figure in figures:
        for path in save(figure, folder, "confidential"):
            path.chmod(0o600)


def replace_file(path: Path, content: str, mode: int) -> None:
    """Write a file whole, in the place of an older one; never to be read by more people than `mode` lets."""
    beside = path.with_name(f".{path.name}-{secrets.token_hex(4)}")
    try:
        with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "w", encoding="utf-8") as stream:
            stream.write(content)
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)
