"""The files of a run beside its synthetic tables: the guarantee for all, weights, draws and the rest for the few."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pcsv
import pyarrow.parquet as pq

from alphasynth import __version__
from alphasynth.audits.finding import Finding, as_lines
from alphasynth.mechanisms.by_column import applied
from alphasynth.mechanisms.chain import JointFit
from alphasynth.mechanisms.rounds import round_labels
from alphasynth.mechanisms.rules import Given
from alphasynth.mechanisms.weighting import Weighting
from alphasynth.privacy.accounting import epsilon_of
from alphasynth.privacy.guarantee import Guarantee, PublicGuarantee
from alphasynth.runs.folder import CONFIDENTIAL, SUMMARY, Staging
from alphasynth.runs.settings import Settings
from alphasynth.synthesizer import Synthesizer
from alphasynth.tables.databases import without_password
from alphasynth.tables.opening import is_database, split_address
from alphasynth.tables.records import Records
from alphasynth.tables.text_cells import CSV_CELLS, CSV_DECIMAL, WORDS, guarded

ROWS_AT_A_TIME = 1_000_000
MODEL = "model.toml"
PARAMETERS = "parameters.csv"
# What a guarantee says, beside what it was made from.
STATEMENTS = ("epsilon", "scope", "releasable", "epsilon_replace", "rho", "epsilon_at_delta")


@dataclass(frozen=True, eq=False)
class Kept:
    """What stays with the holder of a run and its pages are made from, as its files have it (confidential)."""

    summary: Mapping[str, Any] = field(repr=False)
    settings: Mapping[str, Any] = field(repr=False)
    records: Records = field(repr=False)
    rounds: tuple[Weighting, ...] = field(repr=False)


def state(public: PublicGuarantee, files: Sequence[str], guarded: bool = False, decimal: str = ".") -> dict[str, Any]:
    """The public guarantee for `guarantee.json`, with the draw that each file came from and how text is written."""
    budget = "no policy budget was set" if public.epsilon is None else "the epsilon stated is the policy's"
    if public.policy_delta is not None:
        budget = "the epsilon and delta stated are the policy's"
    return {
        "statement": str(public),
        "budget": budget,
        "promise": public.promise,
        "neighbours": public.neighbours,
        "unit": public.unit,
        **asdict(public),
        "n_is_public": True,
        "public_inputs": [name for name in vars(public) if name not in STATEMENTS],
        "policy_epsilon_is_for": "one row of the table" if public.unit_column is None else "one row that took part",
        "tables": [{"file": name, "draw": i // public.tables_per_draw + 1} for i, name in enumerate(files)],
        **({CSV_CELLS: WORDS} if guarded else {}),
        **({CSV_DECIMAL: decimal} if decimal != "." else {}),
    }


def write_confidential(
    staging: Staging,
    settings: Settings,
    synthesizer: Synthesizer,
    statement: dict[str, Any],
    seconds: dict[str, float],
    audited: Finding | None = None,
) -> Kept:
    """Write records, draws, summary and settings; all that was computed from single records stays here.

    `statement` is what the run releases as its guarantee.
    """
    folder, trail, guarantee = staging.confidential, synthesizer.trail_, synthesizer.guarantee_
    last = trail.fits[-1]
    first = trail.first if guarantee.strict is None else guarantee.mechanism
    rounds = synthesizer.weightings_
    _write_records(folder / "records.parquet", last, rounds[-1].alpha)
    if last.alpha_distinct.ndim == 2:
        _write_weights(folder / "weights_by_column.parquet", last)
    if settings.by_row:
        _write_rows(folder / "rows.parquet", last, rounds[-1].alpha, synthesizer.row_numbers_)
    _write_rounds(folder / "rounds.parquet", rounds)
    _write_draws(folder / "draws.parquet", rounds, trail.fits, synthesizer.picked_)
    repeat = replace(settings, table=repeatable(settings.table))
    if settings.model is not None:  # the model as it was, where it stays with the run
        repeat = replace(repeat, model=str(Path(settings.out) / CONFIDENTIAL / MODEL))
    if not synthesizer.undeclared:
        (folder / MODEL).write_text(synthesizer.model.toml(), encoding="utf-8")
    (folder / "run.toml").write_text(repeat.toml(), encoding="utf-8")
    summary = {
        "run": staging.run,
        "version": __version__,
        "releasable": guarantee.releasable,
        "guarantee": str(guarantee),
        "scope": guarantee.scope,
        "released": statement,  # what release/ must still say when the pages are made again
        "n": guarantee.n,
        "distinct_rows": last.records.size,
        "delta": guarantee.delta,
        "epsilon_per_draw": guarantee.epsilon_per_draw,
        "epsilon_total": guarantee.epsilon_total,
        "epsilon_unit": guarantee.epsilon_unit,
        "policy_epsilon": guarantee.policy_epsilon,
        "policy_delta": guarantee.policy_delta,
        "delta_spent": guarantee.delta_spent,
        "rounds": [
            {"label": label, **_round(fit, trail.rules[i - 1] if i else None, trail.seconds[i], guarantee, first)}
            for i, (label, fit) in enumerate(zip(round_labels(trail), trail.fits, strict=True))
        ],
        "audit": None if audited is None else as_lines(audited),
        "searches": [asdict(search) for search in trail.searches],
        "seconds": seconds,
    }
    write_json(folder / SUMMARY, summary)
    columns = {name: np.asarray(column) for name, column in last.records.columns.items()}
    return Kept(plain(summary), repeat.given, replace(last.records, columns=columns, index=None), rounds)


def repeatable(address: str) -> str:
    """A table's address for `run.toml`: absolute, and without a password."""
    if not is_database(address):
        return str(Path(address).absolute())
    url, table = split_address(address)
    if url.startswith("duckdb://"):
        return f"duckdb://{Path(url.removeprefix('duckdb://')).absolute()}::{table}"
    return f"{without_password(url)}::{table}"


def _round(fit: JointFit, rule: Any, seconds: float, guarantee: Guarantee, first: str) -> dict[str, Any]:
    delta = fit.lipschitz.overall
    return {
        "rule": first if rule is None else type(applied(rule)).__name__,
        "settled": {} if rule is None else _settled(applied(rule)),
        "delta": delta,
        "epsilon": epsilon_of(delta) if guarantee.strict is None else guarantee.epsilon_per_draw,
        "mean_alpha": fit.mean_alpha,
        "diagnostics": _diagnostics(fit),
        "seconds": round(seconds, 3),
    }


def _settled(rule: Any) -> dict[str, Any]:
    if isinstance(rule, Given):  # its weights stand by record elsewhere
        return {"factor": rule.factor}
    numbers = asdict(rule)
    if isinstance(numbers.get("radius"), tuple):
        numbers["radius"] = dict(numbers["radius"])
    return numbers


def _diagnostics(fit: JointFit) -> Any:
    """Of one column's draws, or of each column's."""
    if len(fit.columns) == 1:
        return asdict(fit.columns[0].draws.diagnostics)
    return {name: asdict(column.draws.diagnostics) for name, column in zip(fit.names, fit.columns, strict=True)}


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write JSON."""
    path.write_text(json.dumps(plain(content), indent=2, allow_nan=False) + "\n", encoding="utf-8")


def plain(value: Any) -> Any:
    """What JSON can hold: lists, and numbers that are not finite as words."""
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return str(value) if isinstance(value, float) and not np.isfinite(value) else value


def _write_records(path: Path, fit: JointFit, alpha: np.ndarray) -> None:
    """One line per distinct row: its values, how many records have them, alpha, Lipschitz bound."""
    columns = {name: pa.array(np.asarray(column)) for name, column in fit.records.columns.items()}
    ours = {"count": fit.records.counts, "alpha": alpha, "lipschitz": fit.lipschitz.by_distinct}
    for name, values in ours.items():
        while name in columns:
            name += "_"
        columns[name] = pa.array(values)
    pq.write_table(pa.table(columns), path)


def _write_weights(path: Path, fit: JointFit) -> None:
    """One line per line of `records.parquet`, in its order: the weight of each column."""
    pq.write_table(pa.table(list(fit.alpha_distinct.T), names=list(fit.names)), path)


def _write_rows(path: Path, fit: JointFit, alpha: np.ndarray, numbers: np.ndarray | None) -> None:
    """One line per row of the file that took part: its number, from 1, alpha and Lipschitz bound."""
    index, bounds = fit.records.rows_in_order, fit.lipschitz.by_distinct
    schema = pa.schema({"row": pa.int64(), "alpha": pa.float64(), "lipschitz": pa.float64()})
    with pq.ParquetWriter(path, schema) as writer:
        for first in range(0, len(index), ROWS_AT_A_TIME):
            lines = index[first : first + ROWS_AT_A_TIME]
            row = np.arange(first, first + len(lines)) if numbers is None else numbers[first : first + len(lines)]
            writer.write_table(pa.table([row + 1, alpha[lines], bounds[lines]], schema=schema))


def _write_rounds(path: Path, rounds: Sequence[Weighting]) -> None:
    """One line per round and line of `records.parquet`, in its order: alpha and Lipschitz bound."""
    label = pa.DictionaryArray.from_arrays(
        np.repeat(np.arange(len(rounds), dtype=np.int8), len(rounds[0].alpha)), [w.label for w in rounds]
    )
    alpha, bounds = (np.concatenate([getattr(w, name) for w in rounds]) for name in ("alpha", "lipschitz"))
    pq.write_table(pa.table({"round": label, "alpha": alpha, "lipschitz": bounds}), path)


def write_parameters(path: Path, synthesizer: Synthesizer) -> dict[str, Any]:
    """The m draws that the tables are made from, one line each; what the guarantee says of them."""
    fit, picked = synthesizer.trail_.fits[-1], synthesizer.picked_
    columns = {"draw": np.arange(1, len(picked) + 1), **_parameters(fit, picked)}
    pcsv.write_csv(pa.table({guarded(name): values for name, values in columns.items()}), path)
    return {
        "file": path.name,
        "columns": [name for name in columns if name != "draw"],
        "terms": _terms(fit, synthesizer.terms_),
        "costs": "nothing more than the tables, which are made from these draws of parameters",
    }


def _parameters(fit: JointFit, rows: np.ndarray) -> dict[str, np.ndarray]:
    """Parameters at some draws, one column per entry; of a chain, with their column's name before them."""
    columns: dict[str, np.ndarray] = {}
    stems = [f"{name}: " for name in fit.names] if len(fit.names) > 1 else [""]
    for stem, column in zip(stems, fit.columns, strict=True):
        for name, values in column.draws.theta.items():
            flat = values.reshape(len(values), -1)[rows]
            labels = [name] if values.ndim == 1 else [f"{name}[{i}]" for i in range(flat.shape[1])]
            columns |= dict(zip([stem + label for label in labels], flat.T, strict=True))
    return columns


def _terms(fit: JointFit, terms: Sequence[Sequence[str | None]]) -> dict[str, str]:
    """Which column of the parameters is the coefficient of which term, where the term's name is public."""
    found: dict[str, str] = {}
    for name, column, own in zip(fit.names, fit.columns, terms, strict=True):
        stem = f"{name}: " if len(fit.names) > 1 else ""
        if column.draws.theta.get("beta", np.zeros(1)).shape[1:] == (len(own),):
            found |= {f"{stem}beta[{i}]": term for i, term in enumerate(own) if term is not None}
    return found


def _write_draws(path: Path, rounds: Sequence[Weighting], fits: Sequence[JointFit], picked: np.ndarray) -> None:
    """One line per draw of each round: whether it was released, mu, and the parameters, one column per entry."""
    tables = []
    for number, (w, fit) in enumerate(zip(rounds, fits, strict=True), start=1):
        fewest = min(column.draws.num_draws for column in fit.columns)
        released = np.zeros(fewest, bool)
        if number == len(rounds):
            released[picked] = True
        columns: dict[str, Any] = {"round": [w.label] * len(released), "released": released}
        columns |= _parameters(fit, np.arange(fewest))
        if w.mu is not None:
            columns["mu"] = w.mu
        tables.append(pa.table(columns))
    pq.write_table(pa.concat_tables(tables), path)
