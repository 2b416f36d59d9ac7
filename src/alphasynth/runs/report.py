"""The pages of a run, rendered from what it left and nothing else."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from alphasynth.evaluation.associations import NEGATIVE_BINOMIAL, is_regressed
from alphasynth.evaluation.pairs import differences
from alphasynth.evaluation.propensity import MOST_LEVELS
from alphasynth.evaluation.released import kind_of
from alphasynth.evaluation.values import as_text, is_numeric
from alphasynth.models.formula import Formula
from alphasynth.pages import columns_and_pairs, confidential_page, page, public_page, whole_table
from alphasynth.pages.confidential_page import Measuring, Outcome, measured, rates_of
from alphasynth.pages.images import save
from alphasynth.pages.marks import Figure
from alphasynth.pages.public_page import modelled_by
from alphasynth.privacy.guarantee import PublicGuarantee
from alphasynth.privacy.scopes import STRICT, TARGET
from alphasynth.runs.claims import claims
from alphasynth.runs.folder import CONFIDENTIAL, RELEASE
from alphasynth.runs.interruption import Interruption, Left
from alphasynth.runs.results import MOST_ROWS, RunResults
from alphasynth.synthesis.one_thread import one_thread
from alphasynth.synthesis.release import Release
from alphasynth.synthesis.statements import declared_facts
from alphasynth.tables.declared import written
from alphasynth.tables.gaps import indicator_of
from alphasynth.tables.records import Records

NAME, FIGURES = "report.html", "figures"
MOST_TERMS = 40  # columns on the right-hand side of a report's regression
INERT = Interruption()
LEFT_OUT = (
    f"There are more than {MOST_ROWS:,} distinct rows: only the synthesized column is compared, without the others."
)
SAMPLED = (
    "The table is large: {:,} of its rows are compared with as many of each synthetic table, at random. Differences "
    "below have the sampling error of so many rows on top."
)


@dataclass(frozen=True, eq=False)
class Rendered:
    """Pages as HTML, and the figures of the confidential one (all but `public` is confidential)."""

    public: str
    confidential: str
    figures: tuple[Figure, ...]
    releasable: bool


@one_thread()
def render_run(results: RunResults) -> Rendered:
    """Both pages of a run."""
    guarantee, records = results.release.guarantee, results.records
    built = confidential_page.build(
        f"Run report: {_title(guarantee, records.response)}, {guarantee.mechanism}",
        records,
        _outcomes(results),
        [
            *claims(guarantee, results.summary, results.settings),
            *([page.warning(LEFT_OUT)] if results.left_out else []),
            *([page.note(SAMPLED.format(results.records.n))] if results.sampled else []),
        ],
        () if guarantee.releasable else ("NOT FOR RELEASE: the random seed was fixed.",),
        f"alphasynth {guarantee.version}, run {results.summary['run']}",
        more=_columns_and_pairs(results),
        explained=whole_table.WORDS if whole_table.is_whole(guarantee) else confidential_page.WORDS,
    )
    public = page.render(public_page.build(results.release))
    return Rendered(public, page.render(built), built.figures, guarantee.releasable)


def _columns_and_pairs(results: RunResults) -> list[page.Section]:
    """The section on all columns and pairs of a table with several columns."""
    guarantee, records, tables = results.release.guarantee, results.records, results.tables
    if not whole_table.is_whole(guarantee):
        return columns_and_pairs.sections_of_rows(records, tables, guarantee.mechanism, guarantee.public_columns)
    found = differences(declared_facts(guarantee), records, tables)
    return [columns_and_pairs.section(found, guarantee.mechanism)] if found.columns else []


def _outcomes(results: RunResults) -> list[Outcome]:
    """The rounds as the page's synthesizers; the last one has tables."""
    guarantee, records, tables, summary = results.release.guarantee, results.records, results.tables, results.summary
    formula = _formula(guarantee, records)
    radii = sorted({*_own_radius(summary), *confidential_page.RADII})
    covariates = [name for name in formula.covariates if name in records.columns]
    before, final = results.rounds[:-1], results.rounds[-1] if results.rounds else None
    last = measured(
        None if guarantee.scope in (STRICT, TARGET) else final,  # where no record has a weight there is none to show
        guarantee.mechanism if final is None else final.label,
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
            left_out=_left_out(guarantee, records),
        ),
        rates_of(records, tables, covariates, radii),
    )
    words = {name: facts.labels for name, facts in declared_facts(guarantee).items()}
    return [*(Outcome(w, w.label) for w in before), with_labels(last, words)]


def _left_out(guarantee: PublicGuarantee, records: Records) -> list[str]:
    """Synthetic columns that are not among those compared."""
    return [str(entry["column"]) for entry in guarantee.columns if entry["column"] not in records.columns]


def with_labels(outcome: Outcome, labels: Mapping[str, Sequence[tuple[Any, str]]]) -> Outcome:
    """With the words of a codebook beside the levels whose shares are shown."""
    if outcome.utility is None or not any(labels.values()):
        return outcome
    words = {(name, written(code)): word for name, pairs in labels.items() for code, word in pairs}
    named = [(share, words.get((share.column, share.level))) for share in outcome.utility.shares]
    shares = [share if word is None else replace(share, level=f"{share.level} ({word})") for share, word in named]
    return replace(outcome, utility=replace(outcome.utility, shares=tuple(shares)))


def _formula(guarantee: PublicGuarantee, records: Records) -> Formula:
    """The formula of the column that figures show; of a whole table, that column on all others."""
    if whole_table.is_whole(guarantee):
        own = (records.response, indicator_of(records.response))
        others = [f"`{name}`" for name in records.columns if name not in own and "`" not in name]
        return Formula.parse(f"`{records.response}` ~ {' + '.join(others[:MOST_TERMS]) or '1'}")
    formulas = [Formula.parse(text) for text in modelled_by(guarantee)]
    return next((f for f in formulas if f.response == records.response), formulas[-1])


def _title(guarantee: PublicGuarantee, response: str) -> str:
    return f"{len(guarantee.columns)} columns" if len(guarantee.columns) > 1 else response


def _regressions(guarantee: PublicGuarantee, formula: Formula, records: Records) -> list[str]:
    """The run's own formula; of a chain also that column on all others, as its family says.

    Of a whole table each response on all others, as the public page has it.
    """
    if whole_table.is_whole(guarantee):
        facts = declared_facts(guarantee)
        codes = [name for name, each in facts.items() if each.nominal and len(each.levels) <= MOST_LEVELS]
        can = [n for n, column in records.columns.items() if n in facts and n not in codes and is_regressed(column)]
        asked = [n for n in guarantee.response if n in can] or [n for n in [formula.response] if n in can]
        return [words for name in asked for words in _on_all_others(name, kind_of(facts[name]), records, codes)]
    if not is_numeric(records.columns[records.response]):
        return []
    if len(guarantee.columns) < 2:
        return [formula.text]
    families = {entry["column"]: entry.get("family", "") for entry in guarantee.columns}
    kind = NEGATIVE_BINOMIAL if "negative_binomial" in families.get(formula.response, "") else ""
    return _on_all_others(formula.response, kind, records)


def _on_all_others(response: str, kind: str, records: Records, codes: Collection[str] = ()) -> list[str]:
    """A column on all others, of codes their levels; none where there is none, or no formula can hold its name."""
    own = (response, indicator_of(response))
    spoken = [name for name in records.columns if name not in own and "`" not in name]
    few = [
        n
        for n in spoken
        if is_numeric(records.columns[n]) or len(np.unique(as_text(records.columns[n]))) <= MOST_LEVELS
    ]
    rest = " + ".join(f"C(`{name}`)" if name in codes else f"`{name}`" for name in few[:MOST_TERMS])
    asked = f"{kind}: " if kind else ""
    return [f"{asked}`{response}` ~ {rest}"] if rest and "`" not in response else []


def _own_radius(summary: Mapping[str, Any]) -> list[tuple[float, bool]]:
    """The radius that the run's own weights used, if they used one."""
    settled = [entry["settled"] for entry in summary["rounds"] if isinstance(entry["settled"].get("radius"), float)]
    return [(float(rule["radius"]), bool(rule["relative"])) for rule in settled]


def _within(summary: Mapping[str, Any]) -> list[str]:
    """The columns within which the run's own weights compared records."""
    return [name for entry in summary["rounds"] for name in entry["settled"].get("within", ())]


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


def write_public_page(run: Path, release: Release) -> None:
    """Render the public page alone, from the release and nothing else."""
    replace_file(run / RELEASE / NAME, page.render(public_page.build(release)), 0o666)


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
