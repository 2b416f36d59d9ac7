"""What a run claims, beside what it realised and how its rounds went: the first section of its confidential page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from alphasynth.audits.finding import UNCERTAIN
from alphasynth.pages import page, whole_table
from alphasynth.pages.public_inputs import contribution_facts, contribution_tables, model_words
from alphasynth.privacy.accounting import as_written, counted, round_up, written
from alphasynth.privacy.decimals import shown_small
from alphasynth.privacy.guarantee import SPREAD, PublicGuarantee
from alphasynth.privacy.scopes import STRICT, TARGET


def claims(guarantee: PublicGuarantee, summary: Mapping[str, Any], settings: Mapping[str, Any]) -> list[page.Block]:
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
            _released(guarantee),
            ("records", f"{summary['n']:,}, {summary['distinct_rows']:,} of them distinct"),
            *_audited(summary),
        ),
        page.text("The claim and its limits:"),
        page.items(*guarantee.clauses),
    ]
    if whole_table.is_whole(guarantee):
        return [*blocks, whole_table.measured_table(guarantee), whole_table.measured_note()]
    blocks.append(_rounds(guarantee, summary))
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


def _released(guarantee: PublicGuarantee) -> tuple[str, str]:
    """How many draws and tables were released."""
    if whole_table.is_whole(guarantee):
        return ("tables released", whole_table.draws_words(guarantee))
    return ("draws released", f"{guarantee.m:,}, {counted(guarantee.tables_per_draw, 'table')} each")


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
    spent = as_written(policy) if realised == policy else round_up(realised)
    return f"{spent} of the policy's {as_written(policy)}{at} in all, for one row"


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
    if whole_table.is_whole(guarantee):
        return whole_table.NO_MODEL
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
