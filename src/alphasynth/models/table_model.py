"""`TableModel`: column models in an order in which each needs only those before it; read from and written to TOML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from alphasynth.errors import InputError, gathering
from alphasynth.models.column_model import LEFT_OUT, ColumnModel, column_of
from alphasynth.models.formula import Formula
from alphasynth.models.formula_text import response_in
from alphasynth.tables.declared import READ_OFF, Declared, marks_of, read_toml
from alphasynth.tables.gaps import indicator_of
from alphasynth.tables.public_columns import MARKED

HEAD = """\
# A model of a whole table: one [[column]] each, and what is declared public under [declared_public].
# Everything in this file is treated as public and is listed in guarantee.json. Check it, edit it, and leave out of it
# whatever must not be told.
"""


@dataclass(frozen=True)
class TableModel:
    """Column models, each after those that it needs; raise `InputError` where there is no such order.

    `left_out` are columns that have no model because of what they hold.

    >>> model = TableModel.of([ColumnModel.of("visits ~ age", "poisson"), ColumnModel.of("age ~ 1", "poisson")])
    >>> [column.name for column in model.columns]
    ['age', 'visits']
    """

    columns: tuple[ColumnModel, ...]
    left_out: tuple[str, ...] = ()

    @classmethod
    def of(cls, columns: Sequence[ColumnModel], left_out: Sequence[str] = ()) -> TableModel:
        """A table model of columns in any order."""
        if not columns:
            raise InputError("a model must have at least one column, found none")
        names = [column.name for column in columns]
        with gathering() as problems:
            for name in dict.fromkeys(name for name in names if names.count(name) > 1):
                problems.say(f"a column must have one formula, found {names.count(name)} for {name!r}")
            for name in [name for name in left_out if name in names]:
                problems.say(f"columns that were left out must not be in the model, found {name!r}")
            with problems:
                in_order = _in_order(columns)
        return cls(in_order, tuple(left_out))

    @classmethod
    def read(cls, path: Path) -> TableModel:
        """A table model from a TOML file."""
        return cls.parse(read_toml(path, "model"))

    @classmethod
    def parse(cls, content: Mapping[str, Any]) -> TableModel:
        """A table model from the content of a file; raise `InputError` for all that is unknown or of the wrong kind.

        The error's `rest` is what is `Legible` of them.
        """
        entries, facts = content.get("column", []), content.get("declared_public", {})
        columns, left_out, seen = list[ColumnModel](), tuple[str, ...](), tuple[str, ...]()
        with gathering() as problems:
            for name in (strange := sorted(set(content) - {"column", "declared_public", READ_OFF})):
                problems.say(f"a model file must hold [[column]] and [declared_public], found {name!r}")
            if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
                raise InputError("columns of a model file must be written [[column]], found others")
            if not isinstance(facts, dict) or not all(isinstance(fact, dict) for fact in facts.values()):
                raise InputError("what is declared of a column must be written [declared_public.NAME], found otherwise")
            named = [response_in(entry.get("formula")) for entry in entries]
            for of, entry in zip(named, entries, strict=True):
                with problems:
                    columns.append(column_of(entry, facts.get(of, {})))
                seen, problems.rest = (*seen, *(problems.rest or ())), None
            hidden = None in named or any(isinstance(content[name], dict | list) for name in strange)
            for name in [] if hidden else sorted(set(facts) - set(named)):
                problems.say(f"declared_public must be of columns in the model, found {name!r}")
            with problems:
                left_out = marks_of("the model", content.get(READ_OFF, ()))
            model = cls(tuple(columns), left_out)
            problems.rest = Legible(model, tuple(dict.fromkeys((*model.names, *model.inputs, *seen))))
            if columns or not problems:
                model = cls.of(columns, left_out)
        return model

    def plain(self) -> dict[str, Any]:
        """The content of a file."""
        columns = [
            {"formula": c.formula.text, "family": c.family, "budget": c.budget}
            | ({READ_OFF: list(c.read_off)} if c.read_off else {})
            for c in self.columns
        ]
        declared = {c.name: c.declared.plain() for c in self.columns if c.declared.plain()}
        left_out = {READ_OFF: list(self.left_out)} if self.left_out else {}
        return {**left_out, "column": columns, **({"declared_public": declared} if declared else {})}

    def toml(self) -> str:
        """As a `model.toml`."""
        import tomli_w

        content = self.plain()
        columns = "\n".join("[[column]]\n" + tomli_w.dumps(entry) for entry in content.pop("column"))
        facts = content.pop("declared_public", {})
        parts = [tomli_w.dumps(content)] if content else []
        parts += [columns, *([tomli_w.dumps({"declared_public": facts})] if facts else [])]
        return HEAD + (MARKED if self.read_off else "") + "\n" + "\n".join(parts)

    def column(self, name: str) -> ColumnModel:
        """The model of one column."""
        return next(column for column in self.columns if column.name == name)

    @property
    def declared(self) -> dict[str, Declared]:
        """What is declared of each column."""
        return {column.name: column.declared for column in self.columns}

    @property
    def read_off(self) -> dict[str, tuple[str, ...]]:
        """What was read off the table and nobody has confirmed, by column; of one without a model, that it has none."""
        marks = {column.name: (*column.read_off, *column.declared.read_off) for column in self.columns}
        marks |= dict.fromkeys(self.left_out, (LEFT_OUT,))
        return {name: facts for name, facts in marks.items() if facts}

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names, in the order of generation."""
        return tuple(column.name for column in self.columns)

    @property
    def inputs(self) -> tuple[str, ...]:
        """Columns that formulas read and that no formula makes: they must be public."""
        needed = dict.fromkeys(name for column in self.columns for name in column.formula.covariates)
        return tuple(name for name in needed if name not in self.names)

    @property
    def shares(self) -> tuple[float, ...]:
        """Parts of the budget, which sum to 1."""
        total = sum(column.budget for column in self.columns)
        return tuple(column.budget / total for column in self.columns)

    def with_declared(self, declared: Mapping[str, Declared]) -> TableModel:
        """The same columns with other declarations for some."""
        return replace(self, columns=tuple(replace(c, declared=declared.get(c.name, c.declared)) for c in self.columns))

    def with_indicators(self) -> TableModel:
        """With a column for the gaps of each column that has them modelled, before it, and the budget halved for both.

        Formulas that read a column with gaps read its indicator too: where a value is missing, a public one stands in.
        """
        gappy = {c.name: indicator_of(c.name) for c in self.columns if c.declared.missing in ("model", "public")}
        columns: list[ColumnModel] = []
        for column in self.columns:
            more = [gappy[name] for name in column.formula.covariates if name in gappy]
            text = column.formula.text + "".join(f" + `{name}`" for name in more)
            whole = replace(column, formula=Formula.parse(text) if more else column.formula)
            if column.name not in gappy:
                columns.append(whole)
                continue
            half = column.budget / (2 if column.declared.missing == "model" else 1)
            if column.declared.missing == "model":
                columns.append(_indicator(whole, gappy[column.name], half))
            columns.append(replace(whole, budget=half, where=((gappy[column.name], False),)))
        return TableModel.of(columns, self.left_out)

    def with_parts(self) -> TableModel:
        """With columns in two parts as two columns: whether a value is not 0, and the value where it is not.

        Each has half of the column's budget. A zero-inflated column becomes a hurdle: its zeros are one share. The
        first part is modelled where the column itself was, the second where the first says so, too.
        """
        columns: list[ColumnModel] = []
        for column in self.columns:
            above = column.traits.above
            if above is None:
                columns.append(column)
                continue
            name, half = above_zero_of(column.name), column.budget / 2
            columns.append(replace(_indicator(column, name, half), where=column.where))
            columns.append(replace(column, family=above, budget=half, where=(*column.where, (name, True))))
        return TableModel.of(columns, self.left_out)

    @property
    def helpers(self) -> frozenset[str]:
        """Columns that stand for a part of another one, and are not released themselves."""
        return frozenset(name for column in self.columns for name, _ in column.where)


class Legible(NamedTuple):
    """Of a file in which something is wrong, the columns in which nothing is, and all that formulas name."""

    model: TableModel
    names: tuple[str, ...]


def above_zero_of(name: str) -> str:
    """The name of a column's indicator of values that are not 0."""
    return f"{name} is not 0"


def _indicator(column: ColumnModel, name: str, budget: float) -> ColumnModel:
    """A column of two levels that is modelled by the terms of another one."""
    text = f"`{name}` ~ {column.formula.right}"
    return ColumnModel(Formula.parse(text), "bernoulli", budget, Declared(levels=(False, True)))


def _in_order(columns: Sequence[ColumnModel]) -> tuple[ColumnModel, ...]:
    """Each column as early as it stands, but after those it needs."""
    waiting, made = list(columns), list[ColumnModel]()
    names = {column.name for column in columns}
    while waiting:
        done = {column.name for column in made}
        ready = next((c for c in waiting if all(n in done or n not in names for n in c.needs)), None)
        if ready is None:
            circle = ", ".join(repr(column.name) for column in waiting)
            raise InputError(f"columns must not need each other in a circle, found {circle}")
        waiting.remove(ready)
        made.append(ready)
    return tuple(made)
