"""One run from settings to a run folder: reserve, read, fit, write, publish."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from alphasynth.audits.audit import audit_run
from alphasynth.audits.finding import BROKEN, CANNOT_TELL, UNCERTAIN, Finding
from alphasynth.catalogue import FORMATS
from alphasynth.errors import AuditWarning, InputError, ReportWarning, place
from alphasynth.mechanisms.mechanism import Step, Watch
from alphasynth.mechanisms.rules import Given
from alphasynth.privacy.accounting import of_unit
from alphasynth.privacy.approximate import rho_of_row, rho_of_unit
from alphasynth.privacy.guarantee import PublicGuarantee
from alphasynth.privacy.scopes import INSTANCE, STRICT
from alphasynth.runs.budget import ROW, UNIT, Reservation
from alphasynth.runs.clock import Clock, Stage
from alphasynth.runs.files import PARAMETERS, Kept, state, write_confidential, write_json, write_parameters
from alphasynth.runs.folder import Begin, Staging, plan, staged
from alphasynth.runs.from_settings import Front, front_and_table
from alphasynth.runs.interruption import Interruption
from alphasynth.runs.ledger import NAME as LEDGER
from alphasynth.runs.ledger import Ledger
from alphasynth.runs.report import NAME, write_pages, write_public_page
from alphasynth.runs.results import read_for_public, release_in, results_of
from alphasynth.runs.settings import Settings
from alphasynth.runs.whole_table import write_whole_table
from alphasynth.synthesis.preparation import delta_spent
from alphasynth.synthesis.raked import RakedSynthesizer
from alphasynth.synthesis.release import Release
from alphasynth.synthesis.writing import OF_SUFFIX, TEXT, Style, nothing, write_table
from alphasynth.synthesizer import Synthesizer
from alphasynth.tables.compressed import opened
from alphasynth.tables.csv_files import Csv
from alphasynth.tables.databases import DatabaseTable, canonical
from alphasynth.tables.engine import FileTable
from alphasynth.tables.files import Statistical, parts_of
from alphasynth.tables.opening import file_of, is_database, split_address
from alphasynth.tables.statistical_files import Labels, check_names

Begun = Callable[[Settings, Front, FileTable | DatabaseTable], None]


@dataclass(frozen=True)
class Report:
    """What a run may say of itself: where its folder is, what is in `release/`, and the public guarantee."""

    out: Path
    files: tuple[str, ...]
    guarantee: PublicGuarantee
    statement: dict[str, Any]
    ledger: Path


def run(
    settings: Settings, tell: Callable[[Stage], None], interruption: Interruption, begun: Begun | None = None
) -> Report:
    """Make a run folder; raise `InputError` and its kin, with no file left behind, where that cannot be done.

    `begun` is called with what is to be fitted, before it is.
    """
    synthesizer, table = front_and_table(settings)
    if begun is not None:
        begun(settings, synthesizer, table)
    if settings.parameters and isinstance(synthesizer, RakedSynthesizer):
        raise InputError("--parameters must have a mechanism that draws parameters, found Raked, which has none")
    suffix, style = _format(settings, table, _labels(table, synthesizer))
    check_names(suffix, [*synthesizer.responses, *settings.public])
    out = Path(settings.out).absolute()
    ledger = Ledger.open(find_ledger(settings.ledger, out).absolute())
    staging = plan(ledger, out)
    reservation = _reservation(settings, synthesizer, ledger, staging)
    with staged(ledger, staging, reservation, interruption) as begin:
        if isinstance(table, FileTable):
            table.spill_to(staging.spill)
        clock = _clock(settings, synthesizer, tell)
        before = _state(settings.table)
        synthesizer.fit(table, _charging(clock.watch, settings, reservation, begin))
        if _state(settings.table) != before:
            raise InputError("the table must not change while it is read, found that it did")
        # A run counts from its first byte on at the latest, so what can fail without one comes before it.
        audited = _audited(synthesizer)
        public, simulations = synthesizer.guarantee_.public(), synthesizer.simulations()
        files = [f"synthetic_{i + 1:0{max(2, len(str(len(simulations))))}}{suffix}" for i in range(len(simulations))]
        guarded = suffix in TEXT and style.safe
        assert public.policy_delta == reservation.delta, "the ledger has what is spent"
        statement = state(public, files, guarded, style.decimal)
        first = partial(begin, synthesizer.guarantee_.epsilon_unit, public.rho)
        for number, (simulation, name) in enumerate(zip(simulations, files, strict=True), start=1):
            clock.writing(number, len(simulations))
            write_table(simulation, staging.release / name, style, first if number == 1 else nothing)
        if settings.parameters:
            assert isinstance(synthesizer, Synthesizer), "checked at the door"
            statement["parameters"] = write_parameters(staging.release / PARAMETERS, synthesizer)
        write_json(staging.release / "guarantee.json", statement)
        clock.last()
        used = replace(settings, ledger=str(ledger.path), out=str(out))
        if isinstance(synthesizer, RakedSynthesizer):
            kept = write_whole_table(staging, used, synthesizer, table, statement, clock.seconds)
        else:
            kept = write_confidential(staging, used, synthesizer, statement, clock.seconds, audited)
        clock.rendering()
        del synthesizer, simulations, simulation  # what a fit holds is large, and pages need room of their own
        drawn = statement.get("parameters")
        released = partial(release_in, staging.release, public, files, guarded, style.decimal, drawn)
        pages = (NAME,) if settings.report and _rendered(staging.path, released, kept) else ()
    beside = (PARAMETERS,) if settings.parameters else ()
    return Report(out, (*files, *beside, "guarantee.json", *pages), public, statement, ledger.path)


def _charging(watch: Watch, settings: Settings, reservation: Reservation, begin: Begin) -> Watch:
    """The watch; of a strict promise one that charges the run before noise is drawn, once the table was checked.

    How the fit ends depends on that noise: were a failure free, whoever repeats it would pick among noisy sums.
    """
    if reservation.scope != STRICT:
        return watch
    assert settings.epsilon is not None, "a strict promise has one"
    assert reservation.epsilon is not None
    rows, epsilon, rho = settings.max_rows or 1, reservation.epsilon, None
    if reservation.delta is not None:  # what was realised, which is no more, is noted with the folder
        rho = rho_of_unit(rho_of_row(settings.epsilon, reservation.delta, rows), rows)

    def charged(step: Step) -> None:
        begin(epsilon, rho)
        watch(step)

    return charged


def _clock(settings: Settings, synthesizer: Front, tell: Callable[[Stage], None]) -> Clock:
    tables = settings.m * settings.tables_per_draw
    if isinstance(synthesizer, RakedSynthesizer):
        return Clock(None, tables, 0, tell)
    return Clock(settings.draws, tables, len(synthesizer.mechanism.rules), tell)


def _labels(table: FileTable | DatabaseTable, synthesizer: Front) -> Labels | None:
    """What a file says of its columns beside their values, and may say of synthetic ones."""
    if not isinstance(table, FileTable) or not isinstance(table.source, Statistical):
        return None
    declared = (synthesizer.columns if isinstance(synthesizer, RakedSynthesizer) else synthesizer.model).declared
    levels = {name: declared[name].levels if name in declared else () for name in synthesizer.responses}
    return table.source.labels.of_declared(levels if synthesizer.strict else {})


def _audited(synthesizer: Front) -> Finding | None:
    """The draw audit of an estimated claim, with a warning where it is broken; None of other kinds of promise."""
    if isinstance(synthesizer, RakedSynthesizer) or synthesizer.scope != INSTANCE:
        return None
    if any(isinstance(rule, Given) for rule in synthesizer.mechanism.rules):
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


def _rendered(run: Path, released: Callable[[], Release], kept: Kept) -> bool:
    """Render the pages; whether the public one stands, which must not tell how the other one went."""
    return _stands("confidential page", lambda: write_pages(run, results_of(released(), kept))) or _stands(
        "public page", lambda: write_public_page(run, read_for_public(released()))
    )


def _stands(what: str, write: Callable[[], object]) -> bool:
    """Write pages; whether that went well. What goes wrong in a page must not cost the run that it shows."""
    try:
        write()
    except Exception as error:  # noqa: BLE001
        words = f"the run stands without its {what}, which could not be rendered: {_reason(error)}"
        warnings.warn(words, ReportWarning, 2)
        return False
    return True


def _reason(error: Exception) -> str:
    """Why pages could not be rendered, in words that quote no values."""
    if isinstance(error, InputError):
        return str(error)
    return (error.strerror if isinstance(error, OSError) else None) or place(error)


def find_ledger(given: str | None, out: Path) -> Path:
    """The ledger given, else the one next to the run or in the current folder, else a new one next to the run."""
    if given is not None:
        return Path(given)
    beside, here = out.parent / LEDGER, Path.cwd() / LEDGER
    if beside.exists() and here.exists() and not beside.samefile(here):
        raise InputError(f"there must be one {LEDGER}, found one next to the run and one here; name one with --ledger")
    return here if here.exists() else beside


def _format(settings: Settings, table: FileTable | DatabaseTable, labels: Labels | None) -> tuple[str, Style]:
    """Suffix and style of the synthetic files: the input's, unless told."""
    source = table.source if isinstance(table, FileTable) else None
    style = Style(safe=settings.csv_safe, labels=labels)
    if settings.format is None and isinstance(source, Csv):
        like = replace(style, delimiter=source.delimiter, decimal=source.marks.decimal)
        return (".tsv" if source.delimiter == "\t" else ".csv"), like
    suffix = "" if is_database(settings.table) else file_of(settings.table)[0].suffix.lower()
    name = settings.format or OF_SUFFIX.get(suffix, "parquet")
    return FORMATS[name], replace(style, delimiter="\t" if name == "tsv" else ",")


def _reservation(settings: Settings, synthesizer: Front, ledger: Ledger, staging: Staging) -> Reservation:
    """What the run asks of the ledger: the policy's numbers for a unit of privacy, before anything is computed."""
    epsilon = None if settings.epsilon is None else of_unit(settings.epsilon, settings.max_rows or 1)
    if epsilon is not None and not math.isfinite(epsilon):
        raise InputError("--epsilon times --max-rows must be finite, found more than a number can hold")
    unit = ROW if settings.unit is None else f"column {settings.unit!r}"
    detail = {"mechanism": settings.mechanism, "m": settings.m, "releasable": settings.seed is None, UNIT: unit}
    fingerprint = ledger.fingerprint(_contents(settings.table))
    if isinstance(synthesizer, RakedSynthesizer):
        delta = synthesizer.delta
    else:
        delta = delta_spent(synthesizer, settings.max_rows or 1)
    return Reservation(staging.run, settings.dataset, fingerprint, synthesizer.scope, epsilon, detail, delta)


def _contents(address: str) -> Iterator[bytes]:
    """What tells a table from others: a file's bytes, or where a database keeps it."""
    if is_database(address):
        yield canonical(*split_address(address)).encode()
        return
    for path in parts_of(file_of(address)[0]):  # all sheets of a workbook are one table to the ledger
        with opened(path) as file:  # a table is the same, compressed or not
            while part := file.read(1 << 20):
                yield part


def _state(address: str) -> tuple[int, ...]:
    """What changes when a file does."""
    if is_database(address):
        return ()
    seen = [path.stat() for path in parts_of(file_of(address)[0])]
    return tuple(number for one in seen for number in (one.st_dev, one.st_ino, one.st_size, one.st_mtime_ns))
