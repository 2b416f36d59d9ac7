"""What a guarantee says of a chain: its columns, their parts of epsilon, and what was declared public."""

from __future__ import annotations

from typing import Any

from alphasynth.binding import BoundTable
from alphasynth.declared import Declared
from alphasynth.guarantee import PublicGuarantee, StrictTerms
from alphasynth.table_model import TableModel

READ_OFF = "read_off_the_table"


def stated_columns(
    bound: BoundTable, promised: StrictTerms | None, epsilon: float | None
) -> tuple[dict[str, Any], ...]:
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


def stated_declarations(bound: BoundTable, given: TableModel | None) -> dict[str, Any]:
    """What is public of each column; what was read off the table and not declared beforehand is marked so."""
    before = {} if given is None else {column.name: column.declared.plain() for column in given.columns}
    stated: dict[str, Any] = {}
    for column in bound.model.columns:
        facts = column.declared.plain()
        if column.name in bound.model.helpers or not facts:
            continue
        found = sorted(set(facts) - set(before.get(column.name, {})))
        stated[column.name] = {**facts, **({READ_OFF: found} if found else {})}
    return stated


def declared_gaps(guarantee: PublicGuarantee) -> dict[str, Declared]:
    """What is declared of the columns that may have gaps."""
    facts = {name: {k: v for k, v in fact.items() if k != READ_OFF} for name, fact in guarantee.declared_public.items()}
    declared = {name: Declared.of(name, fact) for name, fact in facts.items()}
    return {name: facts for name, facts in declared.items() if facts.missing in ("model", "public")}
