"""The files of a run beside its synthetic tables: the guarantee for all, weights, draws and the rest for the few."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from alphasynth import __version__
from alphasynth.audit import Finding
from alphasynth.databases import without_password
from alphasynth.fit import Fit
from alphasynth.guarantee import ROW, Guarantee, PublicGuarantee
from alphasynth.rounds import round_labels
from alphasynth.run_folder import SUMMARY, Staging
from alphasynth.settings import Settings
from alphasynth.synthesizer import Synthesizer
from alphasynth.tables import is_database, split_address
from alphasynth.weighting import Weighting

ROWS_AT_A_TIME = 1_000_000
# What a guarantee says, beside what it was made from.
STATEMENTS = ("epsilon", "scope", "promise", "neighbours", "releasable", "epsilon_replace", "rho", "epsilon_at_delta")


def state(public: PublicGuarantee, files: Sequence[str]) -> dict[str, Any]:
    """The public guarantee for `guarantee.json`, with the draw that each file came from."""
    budget = "no policy budget was set" if public.epsilon is None else "the epsilon stated is the policy's"
    return {
        "statement": str(public),
        "budget": budget,
        **asdict(public),
        "n_is_public": True,
        "public_inputs": [name for name in vars(public) if name not in STATEMENTS],
        "policy_epsilon_is_for": "one row of the table" if public.unit == ROW else "one row that took part",
        "tables": [{"file": name, "draw": i // public.tables_per_draw + 1} for i, name in enumerate(files)],
    }


def write_confidential(
    staging: Staging,
    settings: Settings,
    synthesizer: Synthesizer,
    seconds: dict[str, float],
    audited: Finding | None = None,
) -> None:
    """Records, draws, summary and settings; all that was computed from single records stays here."""
    folder, trail, guarantee = staging.confidential, synthesizer.trail_, synthesizer.guarantee_
    last = trail.fits[-1]
    _write_records(folder / "records.parquet", last)
    if settings.by_row:
        _write_rows(folder / "rows.parquet", last, synthesizer.row_numbers_)
    rounds = synthesizer.weightings_
    _write_rounds(folder / "rounds.parquet", rounds)
    _write_draws(folder / "draws.parquet", rounds, trail.fits, synthesizer.picked_)
    repeat = replace(settings, table=_repeatable(settings.table))
    (folder / "run.toml").write_text(repeat.toml(), encoding="utf-8")
    summary = {
        "run": staging.run,
        "version": __version__,
        "releasable": guarantee.releasable,
        "guarantee": str(guarantee),
        "scope": guarantee.scope,
        "n": guarantee.n,
        "distinct_rows": last.records.size,
        "delta": guarantee.delta,
        "epsilon_per_draw": guarantee.epsilon_per_draw,
        "epsilon_total": guarantee.epsilon_total,
        "epsilon_unit": guarantee.epsilon_unit,
        "policy_epsilon": guarantee.policy_epsilon,
        "rounds": [
            {"label": label, **_round(fit, trail.rules[i - 1] if i else None, trail.seconds[i], guarantee)}
            for i, (label, fit) in enumerate(zip(round_labels(trail), trail.fits, strict=True))
        ],
        "audit": None if audited is None else {**asdict(audited), "margin": audited.margin, "kept": audited.kept},
        "searches": [asdict(search) for search in trail.searches],
        "seconds": seconds,
    }
    write_json(folder / SUMMARY, summary)


def _repeatable(address: str) -> str:
    """A table's address for `run.toml`: absolute, and without a password."""
    if not is_database(address):
        return str(Path(address).absolute())
    url, table = split_address(address)
    if url.startswith("duckdb://"):
        return f"duckdb://{Path(url.removeprefix('duckdb://')).absolute()}::{table}"
    return f"{without_password(url)}::{table}"


def _round(fit: Fit, rule: Any, seconds: float, guarantee: Guarantee) -> dict[str, Any]:
    delta = fit.lipschitz.overall
    first = "Unweighted" if guarantee.strict is None else guarantee.mechanism
    return {
        "rule": first if rule is None else type(rule).__name__,
        "settled": {} if rule is None else asdict(rule),
        "delta": delta,
        "epsilon": 2 * delta if guarantee.strict is None else guarantee.epsilon_per_draw,
        "mean_alpha": fit.mean_alpha,
        "diagnostics": asdict(fit.draws.diagnostics),
        "seconds": round(seconds, 3),
    }


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write JSON."""
    path.write_text(json.dumps(_plain(content), indent=2, allow_nan=False) + "\n", encoding="utf-8")


def _plain(value: Any) -> Any:
    """What JSON can hold: numbers that are not finite as words."""
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, float) and not np.isfinite(value) else value


def _write_records(path: Path, fit: Fit) -> None:
    """One line per distinct row: its values, how many records have them, alpha, Lipschitz bound."""
    columns = {name: pa.array(np.asarray(column)) for name, column in fit.records.columns.items()}
    ours = {"count": fit.records.counts, "alpha": fit.alpha_distinct, "lipschitz": fit.lipschitz.by_distinct}
    for name, values in ours.items():
        while name in columns:
            name += "_"
        columns[name] = pa.array(values)
    pq.write_table(pa.table(columns), path)


def _write_rows(path: Path, fit: Fit, numbers: np.ndarray | None) -> None:
    """One line per row of the file that took part: its number, from 1, alpha and Lipschitz bound."""
    index, bounds = fit.records.rows_in_order, fit.lipschitz.by_distinct
    schema = pa.schema({"row": pa.int64(), "alpha": pa.float64(), "lipschitz": pa.float64()})
    with pq.ParquetWriter(path, schema) as writer:
        for first in range(0, len(index), ROWS_AT_A_TIME):
            lines = index[first : first + ROWS_AT_A_TIME]
            row = np.arange(first, first + len(lines)) if numbers is None else numbers[first : first + len(lines)]
            writer.write_table(pa.table([row + 1, fit.alpha_distinct[lines], bounds[lines]], schema=schema))


def _write_rounds(path: Path, rounds: Sequence[Weighting]) -> None:
    """One line per round and line of `records.parquet`, in its order: alpha and Lipschitz bound."""
    label = pa.DictionaryArray.from_arrays(
        np.repeat(np.arange(len(rounds), dtype=np.int8), len(rounds[0].alpha)), [w.label for w in rounds]
    )
    alpha, bounds = (np.concatenate([getattr(w, name) for w in rounds]) for name in ("alpha", "lipschitz"))
    pq.write_table(pa.table({"round": label, "alpha": alpha, "lipschitz": bounds}), path)


def _write_draws(path: Path, rounds: Sequence[Weighting], fits: Sequence[Fit], picked: np.ndarray) -> None:
    """One line per draw of each round: whether it was released, mu, and the parameters, one column per entry."""
    tables = []
    for number, (w, fit) in enumerate(zip(rounds, fits, strict=True), start=1):
        released = np.zeros(fit.draws.num_draws, bool)
        if number == len(rounds):
            released[picked] = True
        columns: dict[str, Any] = {"round": [w.label] * len(released), "released": released}
        for name, values in fit.draws.theta.items():
            flat = values.reshape(len(values), -1)
            labels = [name] if values.ndim == 1 else [f"{name}[{i}]" for i in range(flat.shape[1])]
            columns |= dict(zip(labels, flat.T, strict=True))
        if w.mu is not None:
            columns["mu"] = w.mu
        tables.append(pa.table(columns))
    pq.write_table(pa.concat_tables(tables), path)
