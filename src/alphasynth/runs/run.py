"""One run from settings to a run folder: reserve, read, fit, write, publish."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from alphasynth.audits.audit import audit_run
from alphasynth.audits.finding import BROKEN, CANNOT_TELL, UNCERTAIN, Finding
from alphasynth.catalogue import FORMATS
from alphasynth.errors import AuditWarning, InputError, ReportWarning, place
from alphasynth.inference.automatic import Automatic
from alphasynth.inference.grid import Grid
from alphasynth.inference.laplace import Laplace
from alphasynth.inference.nuts import Nuts
from alphasynth.inference.sampler import Sampler
from alphasynth.interruption import Interruption
from alphasynth.mechanisms.mechanism import Step
from alphasynth.mechanisms.rules import Given
from alphasynth.models.priors import CoefficientPrior, LkjPrior, NormalPrior, ScaleMixturePrior
from alphasynth.models.table_model import TableModel
from alphasynth.privacy.accounting import of_unit
from alphasynth.privacy.guarantee import PublicGuarantee
from alphasynth.privacy.scopes import INSTANCE
from alphasynth.runs.budget import Request
from alphasynth.runs.files import state, write_confidential, write_json
from alphasynth.runs.folder import Staging, plan, staged
from alphasynth.runs.ledger import NAME as LEDGER
from alphasynth.runs.ledger import Ledger
from alphasynth.runs.report import NAME, write_pages
from alphasynth.runs.settings import Settings
from alphasynth.synthesis.writing import OF_SUFFIX, TEXT, Style, nothing, write_table
from alphasynth.synthesizer import Synthesizer
from alphasynth.tables.csv_files import Csv
from alphasynth.tables.databases import DatabaseTable, canonical
from alphasynth.tables.engine import FileTable
from alphasynth.tables.files import Statistical
from alphasynth.tables.opening import is_database, open_table, split_address
from alphasynth.tables.statistical_files import Labels, check_names

SAMPLERS: dict[str, Callable[[], Sampler]] = {"automatic": Automatic, "laplace": Laplace, "nuts": Nuts, "grid": Grid}


@dataclass(frozen=True)
class Stage:
    """Where a run stands: what it is doing, and how many of its steps are done."""

    doing: str
    done: int
    steps: int


@dataclass(frozen=True)
class Report:
    """What a run may say of itself: where its folder is, what is in `release/`, and the public guarantee."""

    out: Path
    files: tuple[str, ...]
    guarantee: PublicGuarantee
    statement: dict[str, Any]
    ledger: Path


def run(settings: Settings, tell: Callable[[Stage], None], interruption: Interruption) -> Report:
    """Make a run folder; raise `InputError` and its kin, with no file left behind, where that cannot be done."""
    synthesizer = synthesizer_of(settings)
    table = open_settings(settings)
    synthesizer.check_columns(table.column_names, table.names_are_public)
    suffix, style = _format(settings, table, _labels(table, synthesizer))
    check_names(suffix, [*synthesizer.responses, *settings.public])
    out = Path(settings.out).absolute()
    ledger = Ledger.open(find_ledger(settings.ledger, out).absolute())
    staging = plan(ledger, out)
    with staged(ledger, staging, _request(settings, synthesizer.scope, ledger, staging), interruption) as begin:
        if isinstance(table, FileTable):
            table.spill_to(staging.spill)
        clock = _Clock(settings, synthesizer, tell)
        before = _state(settings.table)
        synthesizer.fit(table, clock.watch)
        if _state(settings.table) != before:
            raise InputError("the table must not change while it is read, found that it did")
        # From the first byte on the run counts, so what can fail without one comes before it.
        audited = _audited(synthesizer)
        public, simulations = synthesizer.guarantee_.public(), synthesizer.simulations()
        files = [f"synthetic_{i + 1:0{max(2, len(str(len(simulations))))}}{suffix}" for i in range(len(simulations))]
        statement = state(public, files, suffix in TEXT and style.safe)
        first = partial(begin, synthesizer.guarantee_.epsilon_unit)
        for number, (simulation, name) in enumerate(zip(simulations, files, strict=True), start=1):
            clock.writing(number, len(simulations))
            write_table(simulation, staging.release / name, style, first if number == 1 else nothing)
        write_json(staging.release / "guarantee.json", statement)
        clock.last()
        used = replace(settings, ledger=str(ledger.path), out=str(out))
        write_confidential(staging, used, synthesizer, statement, clock.seconds, audited)
        clock.rendering()
        pages = (NAME,) if settings.report and _rendered(staging.path) else ()
    return Report(out, (*files, "guarantee.json", *pages), public, statement, ledger.path)


def _labels(table: FileTable | DatabaseTable, synthesizer: Synthesizer) -> Labels | None:
    """What a file says of its columns beside their values, and may say of synthetic ones."""
    if not isinstance(table, FileTable) or not isinstance(table.source, Statistical):
        return None
    declared = {} if synthesizer.model is None else synthesizer.model.declared
    levels = {name: declared[name].levels if name in declared else () for name in synthesizer.responses}
    return table.source.labels.of_declared(levels if synthesizer.strict else {})


def _audited(synthesizer: Synthesizer) -> Finding | None:
    """The draw audit of an estimated claim, with a warning where it is broken; None of other kinds of promise."""
    if synthesizer.scope != INSTANCE or any(isinstance(rule, Given) for rule in synthesizer.mechanism.rules):
        return None
    if synthesizer.weights == "column":  # audits make the neighbour's weights by record
        return None
    finding = audit_run(synthesizer.subject_)
    if finding.verdict == CANNOT_TELL:
        warnings.warn(
            f"the draw audit cannot tell whether the claim of {synthesizer.mechanism.label} is kept: {UNCERTAIN}",
            AuditWarning,
            stacklevel=2,
        )
    if finding.verdict == BROKEN:
        warnings.warn(
            f"the draw audit finds the claim of {synthesizer.mechanism.label} broken for a neighbouring database; the "
            "numbers are in confidential/summary.json; a strict mechanism (Censored) keeps its claim for all of them",
            AuditWarning,
            stacklevel=2,
        )
    return finding


def _rendered(run: Path) -> bool:
    """Render the pages; whether that went well. What goes wrong in a page must not cost the run that it shows."""
    try:
        write_pages(run)
    except Exception as error:  # noqa: BLE001
        reason = str(error) if isinstance(error, InputError) else place(error)
        warnings.warn(f"the run stands without its pages, which could not be rendered: {reason}", ReportWarning, 2)
        return False
    return True


def find_ledger(given: str | None, out: Path) -> Path:
    """The ledger given, else the one next to the run or in the current folder, else a new one next to the run."""
    if given is not None:
        return Path(given)
    beside, here = out.parent / LEDGER, Path.cwd() / LEDGER
    if beside.exists() and here.exists() and not beside.samefile(here):
        raise InputError(f"there must be one {LEDGER}, found one next to the run and one here; name one with --ledger")
    return here if here.exists() else beside


def synthesizer_of(settings: Settings) -> Synthesizer:
    """The friendly front with these settings; it refuses what cannot go together."""
    declared = declarations(settings)
    return Synthesizer(
        TableModel.read(Path(settings.model)) if settings.model is not None else settings.formula or "",
        family=settings.family,
        declared=declared,
        confirm_public=settings.confirm_public,
        weights=settings.weights,  # type: ignore[arg-type]
        survey_weights=settings.survey_weights,
        mechanism=settings.mechanism,
        m=settings.m,
        epsilon=settings.epsilon,
        public=settings.public,
        radius=_radius(settings.radius),
        distance=settings.distance,
        relative=settings.relative,
        within=settings.within or None,
        scale=settings.scale,
        shift=settings.shift,
        k=settings.k,  # type: ignore[arg-type]
        alpha=settings.alpha,
        cap=settings.cap,  # type: ignore[arg-type]
        cut=settings.cut,
        share=settings.share,
        reach=settings.reach,
        beta=settings.beta,
        bound=settings.bound,
        rounds=settings.rounds,
        clip=settings.clip,
        limits=_limits(settings.limits),
        step=_step(settings.step),
        prior=_prior(settings.prior),
        sampler=None if settings.sampler == "automatic" else SAMPLERS[settings.sampler](),
        num_draws=settings.draws,
        thresh=settings.thresh,
        rows=settings.rows,
        tables_per_draw=settings.tables_per_draw,
        seed=settings.seed,
    )


def declarations(settings: Settings) -> dict[str, dict[str, Any]]:
    """What --levels, --range, --whole and --missing declare, by column."""
    found: dict[str, dict[str, Any]] = {}
    for word in settings.levels:
        name, _, levels = word.partition("=")
        found.setdefault(name.strip(), {})["levels"] = [_level(level) for level in levels.split("|")]
    for word in settings.range:
        name, pair = word.partition("=")[::2]
        low, _, high = pair.partition(":")
        try:
            found.setdefault(name.strip(), {})["limits"] = [float(low), float(high)]
        except ValueError:
            raise InputError(f"--range must be NAME=LOW:HIGH, such as age=0:110, found {word!r}") from None
    for name in settings.whole:
        found.setdefault(name, {})["whole"] = True
    for word in settings.missing:
        name, _, what = word.partition("=")
        found.setdefault(name.strip(), {})["missing"] = what.strip()
    return found


def _level(text: str) -> Any:
    """A level as a number where it reads like one."""
    try:
        number = float(text)
    except ValueError:
        return text
    return int(number) if number == int(number) and "." not in text else number


def _radius(given: float | tuple[str, ...] | str | None) -> float | dict[str, float] | None:
    """One radius, or radii by column from words such as age=5."""
    if given is None or isinstance(given, float | int):
        return given
    words = (given,) if isinstance(given, str) else given
    try:
        if len(words) == 1 and "=" not in words[0]:
            return float(words[0])
        return {name.strip(): float(radius) for name, _, radius in (word.partition("=") for word in words)}
    except ValueError:
        raise InputError("--radius must be a number, or NAME=RADIUS for every column, found something else") from None


def _limits(given: Sequence[str]) -> dict[str, tuple[float, float]] | None:
    """Limits by parameter from words such as mean=1:1000."""
    limits = {}
    for word in given:
        name, _, pair = word.partition("=")
        low, _, high = pair.partition(":")
        try:
            limits[name.strip()] = (float(low), float(high))
        except ValueError:
            raise InputError(f"--limits must be NAME=LOW:HIGH, such as mean=1:1000, found {word!r}") from None
    return limits or None


def _step(given: Sequence[str]) -> float | dict[str, float] | None:
    """One step for all parameters, 0.01, or steps by parameter from words such as mean=0.005."""
    try:
        if len(given) == 1 and "=" not in given[0]:
            return float(given[0])
        return {name.strip(): float(step) for name, _, step in (word.partition("=") for word in given)} or None
    except ValueError:
        raise InputError("--step must be a number or NAME=STEP, such as mean=0.005, found something else") from None


def _prior(text: str | None) -> CoefficientPrior | None:
    name, _, scale = (text or "").partition(":")
    if name == "normal":
        try:
            return NormalPrior(float(scale)) if scale else NormalPrior()
        except ValueError:
            raise InputError(f"--prior normal:SCALE must have a number for its scale, found {scale!r}") from None
    return {"": None, "lkj": LkjPrior(), "scale_mixture": ScaleMixturePrior()}[name]


def open_settings(settings: Settings) -> FileTable | DatabaseTable:
    """The table that settings name, opened as they say."""
    if settings.unit is not None and settings.unit in synthesizer_of(settings).responses:
        raise InputError("--unit must be another column than a synthesized one, found the same")
    if settings.by_row and is_database(settings.table):
        raise InputError("--by-row needs a file, whose rows have numbers, found a table of a database")
    return open_table(
        settings.table,
        unit=settings.unit,
        max_rows=settings.max_rows,
        in_order=settings.by_row,
        sort_rows=settings.sort_rows,
        delimiter=settings.delimiter,
        encoding=settings.encoding,
        verbatim=settings.format in (None, "csv", "tsv"),
        seed=settings.seed,
    )


def _format(settings: Settings, table: FileTable | DatabaseTable, labels: Labels | None) -> tuple[str, Style]:
    """Suffix and style of the synthetic files: the input's, unless told."""
    source = table.source if isinstance(table, FileTable) else None
    style = Style(safe=settings.csv_safe, labels=labels)
    if settings.format is None and isinstance(source, Csv):
        return (".tsv" if source.delimiter == "\t" else ".csv"), replace(style, delimiter=source.delimiter)
    suffix = "" if is_database(settings.table) else Path(settings.table).suffix.lower()
    name = settings.format or OF_SUFFIX.get(suffix, "parquet")
    return FORMATS[name], replace(style, delimiter="\t" if name == "tsv" else ",")


def _request(settings: Settings, scope: str, ledger: Ledger, staging: Staging) -> Request:
    """What the run asks of the ledger: the policy's epsilon for a unit of privacy, before anything is computed."""
    epsilon = None if settings.epsilon is None else of_unit(settings.epsilon, settings.max_rows or 1)
    if epsilon is not None and not math.isfinite(epsilon):
        raise InputError("--epsilon times --max-rows must be finite, found more than a number can hold")
    detail = {"mechanism": settings.mechanism, "m": settings.m, "releasable": settings.seed is None}
    fingerprint = ledger.fingerprint(_contents(settings.table))
    return Request(staging.run, settings.dataset, fingerprint, scope, epsilon, detail)


def _contents(address: str) -> Iterator[bytes]:
    """What tells a table from others: a file's bytes, or where a database keeps it."""
    if is_database(address):
        yield canonical(*split_address(address)).encode()
        return
    with Path(address).open("rb") as file:
        while part := file.read(1 << 20):
            yield part


def _state(address: str) -> tuple[int, ...]:
    """What changes when a file does."""
    if is_database(address):
        return ()
    seen = Path(address).stat()
    return (seen.st_dev, seen.st_ino, seen.st_size, seen.st_mtime_ns)


class _Clock:
    """Tells how far the run is, and keeps the time of its stages."""

    def __init__(self, settings: Settings, synthesizer: Synthesizer, tell: Callable[[Stage], None]) -> None:
        self.tell, self.draws = tell, settings.draws
        self.rounds = len(synthesizer.mechanism.rules) + 1
        self.steps = 1 + self.rounds + settings.m * settings.tables_per_draw + 2
        self.began = [("read", time.perf_counter())]
        tell(Stage("reading and grouping the table", 0, self.steps))

    def watch(self, step: Step) -> None:
        """A fit begins."""
        self._enter("fit")
        fit = f", fit {step.trial}" if step.trial > 1 else ""
        doing = f"round {step.round} of {step.rounds}: {self.draws:,} draws{fit}"
        self.tell(Stage(doing, step.round, self.steps))

    def writing(self, number: int, of: int) -> None:
        """A synthetic table begins."""
        self._enter("write")
        self.tell(Stage(f"writing table {number} of {of}", self.rounds + number, self.steps))

    def last(self) -> None:
        """The confidential files begin."""
        self.tell(Stage("writing the confidential files", self.steps - 2, self.steps))

    def rendering(self) -> None:
        """The report begins."""
        self.tell(Stage("rendering the report", self.steps - 1, self.steps))

    def _enter(self, stage: str) -> None:
        if self.began[-1][0] != stage:
            self.began.append((stage, time.perf_counter()))

    @property
    def seconds(self) -> dict[str, float]:
        """Seconds by stage."""
        ends = [begin for _, begin in self.began[1:]] + [time.perf_counter()]
        return {stage: round(end - begin, 3) for (stage, begin), end in zip(self.began, ends, strict=True)}
