"""The pages of a run folder, rendered from its files alone; and a page that compares synthesizers."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import tomllib
import typing
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from alphasynth import confidential_page, page, public_page
from alphasynth.confidential_page import Outcome, measured, paired_rates
from alphasynth.errors import InputError
from alphasynth.formula import Formula
from alphasynth.frames import Frame
from alphasynth.grouping import Grouped, Stored
from alphasynth.guarantee import PublicGuarantee, as_written, counted, round_up
from alphasynth.images import save
from alphasynth.interruption import Interruption
from alphasynth.marks import Figure
from alphasynth.records import Records
from alphasynth.release import Release
from alphasynth.run_folder import CONFIDENTIAL, RELEASE, SUMMARY
from alphasynth.settings import fits
from alphasynth.tables import open_table
from alphasynth.values import conform, read_records, values_of
from alphasynth.weighting import Weighting

if TYPE_CHECKING:
    from alphasynth.synthesizer import Synthesizer

NAME, FIGURES, GUARANTEE = "report.html", "figures", "guarantee.json"
# With more distinct rows than this the m tables would not fit beside each other.
MOST_ROWS = 1_000_000
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


def read_release(folder: Path) -> Release:
    """The release in a folder: its guarantee, and its tables where they are stored; raise `InputError`."""
    statement = _json(folder / GUARANTEE)
    kinds = typing.get_type_hints(PublicGuarantee)
    held: dict[str, Any] = {name: statement.get(name) for name in kinds}
    entries = statement.get("tables")
    files = [entry.get("file") for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
    named = tuple(name for name in files if isinstance(name, str) and Path(name).name == name)
    if not named or len(named) < len(files) or not all(fits(held[name], kind) for name, kind in kinds.items()):
        raise InputError(f"{folder.name}/{GUARANTEE} must be one that alphasynth wrote, found another")
    if any((folder / name).is_symlink() for name in named):
        raise InputError(f"{folder.name} must hold its tables, found a link to another place")
    held |= {name: tuple(value) for name, value in held.items() if isinstance(value, list)}
    return Release(tuple(open_table(folder / name) for name in named), PublicGuarantee(**held), named)


@dataclass(frozen=True, eq=False)
class _Read:
    """A stored table whose distinct rows are at hand: both pages group them, and the file is read once."""

    column_names: tuple[str, ...]
    names_are_public: bool
    lines: Grouped

    @classmethod
    def of(cls, table: Stored, names: Sequence[str]) -> _Read:
        """Group a table on the columns that the pages compare."""
        return cls(tuple(names), table.names_are_public, table.group(names, ()))

    def group(self, names: Sequence[str], public: Sequence[str]) -> Grouped:
        """Group on some of the columns; none are to be released."""
        columns, counts = self.lines.columns.select(list(names)), self.lines.counts
        if tuple(names) != self.column_names:
            numbered = columns.rename_columns([f"c{i}" for i in range(len(names))]).append_column("n", pa.array(counts))
            grouped = numbered.group_by(numbered.column_names[:-1]).aggregate([("n", "sum")])
            columns = grouped.select(numbered.column_names[:-1]).rename_columns(list(names))
            counts = grouped.column("n_sum").to_numpy()
        return replace(self.lines, columns=columns, counts=counts, index=None)


def _json(path: Path) -> dict[str, Any]:
    with _explained(path):
        content = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(content, dict):
            raise ValueError(path.name)
        return content


def _parquet(path: Path) -> pa.Table:
    with _explained(path):
        return pq.read_table(path)


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """One sentence for a file that is missing or is not what it should be."""
    try:
        yield
    except (OSError, ValueError) as error:
        name = f"{path.parent.name}/{path.name}"
        if isinstance(error, FileNotFoundError):
            raise InputError(f"a run folder must hold {name}, found none") from None
        raise InputError(f"{name} must be as alphasynth wrote it, found what cannot be read") from None


def render_run(run: Path) -> Rendered:
    """Both pages of a run folder; raise `InputError` where a file of it is missing."""
    release = read_release(run / RELEASE)
    confidential = run / CONFIDENTIAL
    summary = _json(confidential / SUMMARY)
    held = _records(confidential / "records.parquet")
    rounds = _rounds(confidential, held.counts)
    left_out = held.size > MOST_ROWS and len(held.columns) > 1
    held = _alone(held) if left_out else _released(held, release.tables[0].column_names)
    release = replace(release, tables=tuple(_Read.of(table, list(held.columns)) for table in release.tables))
    tables = [conform(held, read_records(table, list(held.columns))) for table in release.tables]
    guarantee = release.guarantee
    settings = _settings(confidential / "run.toml")
    _check_same_run(guarantee, summary, settings)
    formula = Formula.parse(guarantee.formula)
    regressions = [] if formula.intercept_only or left_out else [formula.text]
    radii = sorted({*_own_radius(summary), *confidential_page.RADII})
    covariates = [name for name in formula.covariates if name in held.columns]
    last = measured(
        rounds[-1],
        rounds[-1].label,
        guarantee.rules,
        held,
        tables,
        release.draws,
        regressions,
        radii=radii,
        known=_within(summary),
        rates=paired_rates(held, tables, covariates, radii),
        public=guarantee.public_columns,
    )
    outcomes = [*(Outcome(w, w.label) for w in rounds[:-1]), last]
    built = confidential_page.build(
        f"Run report: {formula.response}, {guarantee.mechanism}",
        held,
        outcomes,
        [*_claims(guarantee, summary, settings), *([page.warning(LEFT_OUT)] if left_out else [])],
        () if guarantee.releasable else ("NOT FOR RELEASE: the random seed was fixed.",),
        f"alphasynth {guarantee.version}, run {summary['run']}",
    )
    public = page.render(public_page.build(release))
    return Rendered(public, page.render(built), built.figures, guarantee.releasable)


def _settings(path: Path) -> dict[str, Any]:
    with _explained(path):
        return tomllib.loads(path.read_text(encoding="utf-8"))


def _check_same_run(guarantee: PublicGuarantee, summary: Mapping[str, Any], settings: Mapping[str, Any]) -> None:
    """Refuse a release that is not of this run: its formula, for one, is about to be computed."""
    inside = (settings.get("formula"), settings.get("mechanism"), settings.get("m"), summary.get("n"))
    if inside != (guarantee.formula, guarantee.mechanism, guarantee.m, guarantee.n):
        raise InputError("release and confidential folder must be of one run, found two")


def _records(path: Path) -> Records:
    """The confidential records of a run, from its own file."""
    lines = _parquet(path)
    names = lines.column_names[:-3]  # then come count, alpha and Lipschitz bound
    counts = lines.column(len(names)).to_numpy()
    columns = {name: lines.column(name).to_numpy() for name in names}
    return Records(names[0], columns, counts, None)


def _alone(held: Records) -> Records:
    """The response without the other columns."""
    values = values_of(held, held.response)
    return Records(held.response, {held.response: values.values}, values.counts, None)


def _released(held: Records, names: Sequence[str]) -> Records:
    """The columns that the synthetic tables have too; a rule may read others."""
    columns = {name: column for name, column in held.columns.items() if name in names}
    return replace(held, columns=columns)


def _rounds(folder: Path, counts: np.ndarray) -> list[Weighting]:
    """Weights, bounds and draws of mu of every round."""
    lines = _parquet(folder / "rounds.parquet")
    draws = _parquet(folder / "draws.parquet")
    alpha, bounds = (lines.column(name).to_numpy().reshape(-1, len(counts)) for name in ("alpha", "lipschitz"))
    labels = list(dict.fromkeys(lines.column("round").to_pylist()[:: len(counts)]))
    of = np.asarray(draws.column("round").to_pylist())
    mu = draws.column("mu").to_numpy() if "mu" in draws.column_names else None
    return [
        Weighting(label, counts, alpha[i], bounds[i], None if mu is None else mu[of == label])
        for i, label in enumerate(labels)
    ]


def _own_radius(summary: Mapping[str, Any]) -> list[tuple[float, bool]]:
    """The radius that the run's own weights used, if they used one."""
    settled = [entry["settled"] for entry in summary["rounds"] if "radius" in entry["settled"]]
    return [(float(rule["radius"]), bool(rule["relative"])) for rule in settled]


def _within(summary: Mapping[str, Any]) -> list[str]:
    """The columns within which the run's own weights compared records."""
    return [name for entry in summary["rounds"] for name in entry["settled"].get("within", ())]


def _claims(guarantee: PublicGuarantee, summary: Mapping[str, Any], settings: Mapping[str, Any]) -> list[page.Block]:
    """What was run, the realised claim beside the policy's number, and how each round went."""
    realised, unit = float(summary["epsilon_total"]), float(summary["epsilon_unit"])
    blocks = [
        page.facts(
            ("realised epsilon", _verdict(realised, guarantee.policy_epsilon)),
            ("for one unit of privacy", f"{round_up(unit)}: {guarantee.unit}"),
            ("model", f"{guarantee.formula}, {guarantee.family}"),
            ("mechanism", guarantee.mechanism),
            ("columns declared public", ", ".join(guarantee.public_columns) or "none"),
            ("data set in the ledger", settings.get("dataset", "not named")),
            ("draws released", f"{guarantee.m:,}, {counted(guarantee.tables_per_draw, 'table')} each"),
            ("records", f"{summary['n']:,}, {summary['distinct_rows']:,} of them distinct"),
        ),
        page.text("The claim and its limits:"),
        page.items(*guarantee.promise.split("; ")),
        page.table(
            "Rounds; Delta and epsilon are rounded up",
            ("synthesizer", "rule", "with", "Delta", "epsilon per draw", "mean weight", "seconds"),
            [_round(entry) for entry in summary["rounds"]],
            series=True,
        ),
    ]
    if guarantee.policy_epsilon is None:
        blocks.insert(0, page.warning("No policy budget was set: decide whether the realised epsilon can be afforded."))
    searches = [
        (s["dial"], page.bound(s["target"]), s["value"], page.bound(s["reached"]), len(s["trials"]))
        for s in summary["searches"]
    ]
    if searches:
        heads = ("number searched", "bound not to exceed", "found", "bound reached", "fits")
        blocks.append(page.table("Searches", heads, searches))
    names = ("synthesizer", "sampler", "acceptance", "effective draws", "R-hat", "k-hat")
    lines = [_diagnostics(entry) for entry in summary["rounds"]]
    return [*blocks, page.table("Samplers", names, lines, series=True), page.note(str(summary["guarantee"]))]


def _verdict(realised: float, policy: float | None) -> str:
    """The realised epsilon of all draws, for one row, beside the policy's."""
    if policy is None:
        return f"{round_up(realised)} in all, for one row; no policy budget was set"
    return f"{round_up(realised)} of the policy's {as_written(policy)} in all, for one row"


def _round(entry: Mapping[str, Any]) -> tuple[object, ...]:
    settled = {name: value for name, value in entry["settled"].items() if value not in ([], None)}
    words = ", ".join(f"{n} {v:.4g}" if isinstance(v, float) else f"{n} {_spoken(v)}" for n, v in settled.items())
    bounds = page.bound(entry["delta"]), page.bound(entry["epsilon"])
    return (entry["label"], entry["rule"], words, *bounds, entry["mean_alpha"], entry["seconds"])


def _spoken(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return " and ".join(map(str, value)) if isinstance(value, list) else str(value)


def _diagnostics(entry: Mapping[str, Any]) -> tuple[object, ...]:
    found = entry["diagnostics"]
    names = ("acceptance", "ess_bulk", "rhat", "khat")
    return (entry["label"], found.get("sampler"), *(found.get(name) for name in names))


def write_pages(run: Path, figures: bool = False, signals: Interruption = INERT) -> Rendered:
    """Render both pages of a run folder into it, and if wanted its figures as PNG, SVG and CSV files; all or none."""
    rendered = render_run(run)
    folder = run / CONFIDENTIAL / FIGURES
    beside = folder.with_name(f".{FIGURES}-{secrets.token_hex(4)}")
    written: list[Path] = []

    def clean() -> bool:
        shutil.rmtree(beside, ignore_errors=True)
        return bool(written)

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


def comparison_page(table: Frame | Stored, synthesizers: Sequence[Synthesizer], title: str | None = None) -> str:
    """A confidential page, as HTML, that compares fitted synthesizers of one table: weights, bounds, utility, risk.

    All must synthesize the same column and have the same columns on the right-hand side. Raises `InputError`.
    """
    if not synthesizers:
        raise InputError("synthesizers must hold at least one that was fitted, found none")
    formula = synthesizers[0].formula
    names = [formula.response, *formula.covariates]
    if any([s.formula.response, *s.formula.covariates] != names for s in synthesizers):
        raise InputError("synthesizers must be of the same columns to be compared, found others")
    held = read_records(table, names)
    outcomes = []
    for s in synthesizers:
        weighting = s.weightings_[-1]
        release = s.release()
        tables = [conform(held, read_records(t, names)) for t in release.tables]
        rules = [type(rule).__name__ for rule in s.trail_.rules]
        rates = paired_rates(held, tables, formula.covariates)
        outcomes.append(
            measured(weighting, weighting.label, rules, held, tables, release.draws, rates=rates, public=s.public)
        )
    labels = [o.label for o in outcomes]
    if len(set(labels)) < len(labels):
        twice = next(label for label in labels if labels.count(label) > 1)
        raise InputError(f"synthesizers must have labels of their own (Mechanism(label, ...)), found {twice!r} twice")
    heads = ("synthesizer", "Delta", "epsilon per draw", "draws", "epsilon in all")
    numbers = [(o.label, s.guarantee_) for o, s in zip(outcomes, synthesizers, strict=True)]
    lines = [
        (label, page.bound(g.delta), page.bound(g.epsilon_per_draw), g.m, page.bound(g.epsilon_total))
        for label, g in numbers
    ]
    promises = dict.fromkeys(part for _, g in numbers for part in g.promise.split("; "))
    claims = [page.table("Realised epsilon, rounded up", heads, lines, series=True), page.items(*promises)]
    built = confidential_page.build(title or f"Synthesizers of {formula.response} compared", held, outcomes, claims)
    return page.render(built)
