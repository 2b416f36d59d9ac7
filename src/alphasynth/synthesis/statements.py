"""What a guarantee says of a chain: its columns, their parts of epsilon, and what was declared public."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from alphasynth.mechanisms.binding import BoundTable
from alphasynth.models.table_model import TableModel
from alphasynth.privacy.guarantee import PublicGuarantee
from alphasynth.privacy.strict_terms import StrictTerms
from alphasynth.tables.declared import FACTS, OF_WHOLE_TABLES, READ_OFF, Declared


def stated_columns(bound: BoundTable, promised: StrictTerms | None) -> tuple[dict[str, Any], ...]:
    """Each column's model and its part of the budget; all of it public."""
    model, stated = bound.model, []
    for number, column in enumerate(model.columns):
        entry: dict[str, Any] = {
            "column": column.name,
            "formula": column.formula.text,
            "family": column.family,
            "share_of_budget": model.shares[number],
        }
        if promised is not None:
            costs = promised.by_column or (promised.epsilon_per_draw,)
            entry["epsilon_per_draw"] = costs[number]
        stated.append(entry)
    return tuple(stated)


def stated_marks(bound: BoundTable, given: TableModel, left: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """What was read off the table, by column: what the model marks so and nobody confirmed, and what the run found."""
    stated = {name: list(marks) for name, marks in left.items()}
    for column in given.columns:
        before = column.declared.plain()
        found = [fact for fact in bound.model.column(column.name).declared.plain() if fact not in before]
        marks = stated.get(column.name, [])
        stated[column.name] = marks + [fact for fact in found if fact not in marks]
    return {name: marks for name, marks in stated.items() if marks}


def stated_declarations(bound: BoundTable, marks: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """What is public of each column; what was read off the table and declared by nobody is marked so."""
    stated: dict[str, Any] = {}
    for column in bound.model.columns:
        facts = {name: fact for name, fact in column.declared.plain().items() if name != READ_OFF}
        found = [fact for fact in marks.get(column.name, ()) if fact in FACTS]
        if column.name not in bound.model.helpers and (facts or found):
            stated[column.name] = {**facts, **({READ_OFF: found} if found else {})}
    return stated


def shown_alone(guarantee: PublicGuarantee, fitting: Sequence[str]) -> str:
    """Which of these columns is shown alone: the first that was called a response, or else the last one."""
    return next((name for name in guarantee.response if name in fitting), fitting[-1])


def declared_facts(guarantee: PublicGuarantee) -> dict[str, Declared]:
    """What is declared of each column."""
    facts = {name: {k: v for k, v in fact.items() if k != READ_OFF} for name, fact in guarantee.declared_public.items()}
    return {name: Declared.of(name, fact, OF_WHOLE_TABLES) for name, fact in facts.items()}


def declared_gaps(guarantee: PublicGuarantee) -> dict[str, Declared]:
    """What is declared of the columns that may have gaps."""
    declared = declared_facts(guarantee)
    return {name: facts for name, facts in declared.items() if facts.missing in ("model", "public")}
