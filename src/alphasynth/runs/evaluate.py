"""One evaluation from addresses of tables to measures: what `alphasynth evaluate` runs."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from alphasynth.errors import InputError
from alphasynth.evaluation.nearest import Nearest, nearest_distances
from alphasynth.evaluation.risk import Aligned, MatchRates, match_rates, mean_rates
from alphasynth.evaluation.utility import SEED
from alphasynth.evaluation.values import QUANTILES, as_text, conform, is_numeric, plain, present, shared
from alphasynth.evaluation.verdict import Verdict
from alphasynth.pages import columns_and_pairs, confidential_page, measures, page
from alphasynth.pages.confidential_page import RADII, Measuring, Outcome, measured
from alphasynth.pages.measures import Lines, is_vector
from alphasynth.pages.palette import SYNTHETIC
from alphasynth.privacy.guarantee import SPREAD
from alphasynth.runs.report import with_labels
from alphasynth.tables.csv_files import TextFormat
from alphasynth.tables.opening import codebook_of, is_database, open_table
from alphasynth.tables.records import Records
from alphasynth.tables.text_cells import CSV_CELLS, CSV_DECIMAL, have_commas

COMPARED = "What was compared"


@dataclass(frozen=True)
class EvaluationSettings:
    """What to compare, and how."""

    confidential: str
    synthetic: tuple[str, ...]
    columns: Sequence[str] | None = None
    target: str | None = None
    quantiles: Sequence[float] | None = None
    regressions: Sequence[str] | None = None
    draws: Sequence[float] | None = None
    radii: Sequence[float] | None = None
    relative: bool = True
    known: tuple[str, ...] = ()
    aligned: bool = False
    holdout: str | None = None
    survey_weights: str | None = None
    delimiter: str | None = None
    encoding: str = "utf-8"
    decimal_comma: bool = False
    thousands: str | None = None
    hive: bool = False


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What came out (confidential)."""

    records: Records = field(repr=False)
    outcome: Outcome
    names: tuple[str, ...] = ()
    nearest: Nearest | None = None

    @property
    def verdict(self) -> Verdict:
        """What holds, what is off, what not to do with the tables."""
        assert self.outcome.utility is not None
        return self.outcome.utility.judged(is_vector(self.outcome.rules))

    @property
    def tables(self) -> dict[str, Lines]:
        """Every measure as a table."""
        label, utility = self.outcome.label, self.outcome.utility
        assert utility is not None
        of = {label: utility}
        found = {
            "largest_differences": measures.largest_lines({label: self.verdict}),
            "statistics": measures.statistic_lines(of, {label: is_vector(self.outcome.rules)}),
            **({"weighted_statistics": measures.weighted_lines(of)} if utility.weighted else {}),
            **({"shares": measures.share_lines(of)} if utility.shares else {}),
            "distances": measures.distance_lines(of),
            "propensity": measures.propensity_lines(of),
            "associations": measures.association_lines(of),
            "regression": measures.coefficient_lines(of),
            "identification_risk": measures.risk_lines({label: self.outcome.risks}),
            "match_rates": measures.match_lines({label: self.outcome.rates}),
        }
        if self.nearest is not None:
            found["nearest_records"] = measures.nearest_lines(label, self.nearest)
        return found

    def html(self) -> str:
        """A confidential page of it."""
        rows = ", ".join(
            f"{name} ({table.n:,} rows)" for name, table in zip(self.names, self.outcome.tables, strict=True)
        )
        blocks = [page.text(f"{self.records.n:,} confidential records with {rows}.")]
        if self.nearest is not None:
            lines = measures.nearest_lines(self.outcome.label, self.nearest)
            blocks += [page.table(lines.caption, lines.heads, lines.lines), page.note(lines.note)]
        built = confidential_page.build(
            f"Evaluation: {self.records.response}",
            self.records,
            [self.outcome],
            blocks,
            claim=COMPARED,
            more=columns_and_pairs.sections_of_rows(self.records, self.outcome.tables, self.outcome.label),
        )
        return page.render(built)


def run(settings: EvaluationSettings) -> Evaluation:
    """Open the tables, compare them, measure risk; raise `InputError` for what does not fit together."""
    in_order = settings.aligned
    if in_order and any(is_database(address) for address in (settings.confidential, *settings.synthetic)):
        raise InputError("--aligned needs files, whose rows have an order, found a table of a database")
    origins = [_origin(address) for address in settings.synthetic]
    text = _text(settings, origins)
    confidential = open_table(settings.confidential, in_order=in_order, text=text, hive=settings.hive)
    synthetic = [
        open_table(address, in_order=in_order, text=TextFormat() if origin is None else origin.text)
        for address, origin in zip(settings.synthetic, origins, strict=True)
    ]
    asked = None if settings.columns is None else [*settings.columns, *settings.known]
    on = shared([confidential, *synthetic], asked)
    if not set(settings.known) <= set(on.names):  # refused where it is read
        on = shared([confidential, *synthetic], [*on.names, *settings.known])
    names = on.names
    rules = sorted({rule for origin in origins if origin is not None for rule in origin.rules})
    records = on.read(confidential)
    numeric = sorted((n for n in names if is_numeric(records.columns[n])), key=lambda name: name in records.dates)
    target = settings.target or next(iter(numeric), names[0])
    if target not in records.columns:
        raise InputError(f"--target must be one of the columns compared, found {target!r}")
    if target in settings.known:
        raise InputError(f"--known must not hold the column that risk is measured on, found {target!r}")
    if settings.aligned and not is_numeric(records.columns[target]):
        raise InputError(f"--aligned needs a numeric column to match on, found {target!r}")
    records = replace(records, response=target)
    read = [on.read(table) for table in synthetic]
    _check_commas(records, read)
    tables = [conform(records, table) for table in read]
    radii = [(radius, settings.relative) for radius in settings.radii or ()] or list(RADII)
    outcome = measured(
        None,
        SYNTHETIC,
        rules,
        records,
        tables,
        Measuring(
            draws=_draws(settings, origins),
            regressions=settings.regressions,
            quantiles=settings.quantiles or QUANTILES,
            scalar=_spread(origins),
            survey_weights=settings.survey_weights,
            radii=radii,
            known=settings.known,
            left_out=on.left_out,
        ),
        _aligned(records, tables, settings.known, radii) if settings.aligned else (),
    )
    book = codebook_of(confidential)
    outcome = with_labels(outcome, {name: tuple(book.codes(name).items()) for name in names})
    nearest = None
    if settings.holdout is not None:
        rng = np.random.default_rng(SEED)
        holdout = conform(records, on.read(open_table(settings.holdout, text=text)))
        nearest = nearest_distances(rng, records, tables, holdout)
    shown = tuple(
        "a table of a database" if is_database(address) else Path(address).name for address in settings.synthetic
    )
    return Evaluation(records, outcome, shown, nearest)


def _text(settings: EvaluationSettings, origins: Sequence[_Origin | None]) -> TextFormat:
    """How the confidential file is read, where it is text: releases with decimal commas were made of such a file."""
    commas = settings.decimal_comma or any(origin is not None and origin.text.decimal_comma for origin in origins)
    return TextFormat(settings.delimiter, settings.encoding, decimal_comma=commas, thousands=settings.thousands)


def _check_commas(records: Records, tables: Sequence[Records]) -> None:
    """Refuse numbers with commas that were read as text."""
    for name, column in records.columns.items():
        if is_numeric(column) or not all(is_numeric(table.columns[name]) for table in tables):
            continue
        texts = as_text(column)[present(records, name)]
        if have_commas(pa.chunked_array([pa.array(texts.tolist(), pa.string())])):
            rule = f"column {name!r} must hold numbers as in the synthetic tables"
            raise InputError(f"{rule}, found numbers with commas: --decimal-comma or --thousands says what these are")


def _draws(settings: EvaluationSettings, origins: Sequence[_Origin | None]) -> list[int] | None:
    """The draw of each table: as told, or as the guarantee.json beside each table says; no two releases share one."""
    if settings.draws is not None:
        if not all(math.isfinite(draw) and draw == int(draw) for draw in settings.draws):
            raise InputError("--draws must be whole numbers, found others")
        return [int(draw) for draw in settings.draws]
    keys = [(origin.folder, origin.draw) for origin in origins if origin is not None]
    if len(keys) < len(origins):
        return None
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys), start=1)}
    return [numbers[key] for key in keys]


class _Origin(NamedTuple):
    """What a guarantee.json says of a table that lies beside it."""

    folder: Path
    draw: int
    rules: tuple[str, ...]
    text: TextFormat
    spread: float | str | None


def _spread(origins: Sequence[_Origin | None]) -> float | str | None:
    """How the tables' draws are spread, as `combine` takes it, where every guarantee.json says the same."""
    said = {None if origin is None else origin.spread for origin in origins}
    return said.pop() if len(said) == 1 else None


def _origin(address: str) -> _Origin | None:
    if is_database(address):
        return None
    path = Path(address).absolute()
    try:
        statement = json.loads((path.parent / "guarantee.json").read_text(encoding="utf-8"))
        draws = {str(entry["file"]): int(entry["draw"]) for entry in statement["tables"]}
        spread = SPREAD if statement.get("combining") == SPREAD else statement.get("scalar")
        if not (spread is None or spread == SPREAD or (isinstance(spread, float | int) and 0 < spread <= 1)):
            return None
        rules = tuple(map(str, statement["rules"]))
        text = TextFormat(guarded=CSV_CELLS in statement, decimal_comma=statement.get(CSV_DECIMAL) == ",")
        return _Origin(path.parent, draws[path.name], rules, text, spread)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _aligned(
    records: Records, tables: Sequence[Records], known: Sequence[str], radii: Sequence[tuple[float, bool]]
) -> tuple[tuple[str, MatchRates], ...]:
    """Match rates of tables whose rows stand in the confidential table's order."""
    own = np.asarray(records.columns[records.response], np.float64)[records.rows_in_order]
    group = records.group(known)[records.rows_in_order]
    for table in tables:
        if table.n != records.n:
            raise InputError(f"aligned tables must have as many rows, found {records.n:,} and {table.n:,}")
        for name in known:
            sides = [plain(one.columns[name])[one.rows_in_order] for one in (records, table)]
            if not np.array_equal(*sides):
                raise InputError(f"aligned tables must have the same values in known columns, found others in {name!r}")
    values = [np.asarray(table.columns[records.response], np.float64)[table.rows_in_order] for table in tables]
    pairs = [Aligned(own, other, group) for other in values]
    return tuple((measures.reach(*reach), mean_rates([match_rates(pair, *reach) for pair in pairs])) for reach in radii)
