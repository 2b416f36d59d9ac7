"""`ColumnModel`: one column given others; from words, and from an entry of a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from alphasynth.errors import found, gathering, require_positive
from alphasynth.models.families import FAMILIES, OWN_TRAITS, Family, Own
from alphasynth.models.formula import Formula
from alphasynth.models.formula_text import response_in
from alphasynth.tables.declared import FACTS, READ_OFF, Declared, marks_of
from alphasynth.tables.gaps import indicator_of

# What may be read off the table of a column's model; of a column that is not in the model, that it was left out.
CHOSEN, LEFT_OUT = ("family", "formula", "budget"), "left_out"


@dataclass(frozen=True)
class ColumnModel:
    """One column given others: a formula, a family, its public part of the budget, what is declared of it.

    `where` names indicators and the values that they must have: the column is modelled, and generated, where they do.
    `read_off` says which of family, formula and budget were chosen by a look at the table; `own` is a model of the
    user's own, in place of a family.

    >>> ColumnModel.of("visits ~ age", "poisson").name
    'visits'
    """

    formula: Formula
    family: str
    budget: float = 1.0
    declared: Declared = field(default_factory=Declared)
    where: tuple[tuple[str, bool], ...] = ()
    read_off: tuple[str, ...] = ()
    own: Own | None = None

    @classmethod
    def of(
        cls,
        formula: str,
        family: str,
        budget: float = 1.0,
        declared: Declared | Mapping[str, Any] | None = None,
        read_off: Sequence[str] = (),
    ) -> ColumnModel:
        """A column model from words; raise `InputError`."""
        name = response_in(formula) or ""
        with gathering() as problems:
            with problems:
                parsed = Formula.parse(formula)
            if family not in FAMILIES:
                near = get_close_matches(str(family), FAMILIES, 1)
                hint = f"; did you mean {near[0]}?" if near else ""
                problems.say(f"family of {name!r} must be one of {', '.join(FAMILIES)}, found {family!r}{hint}")
            with problems:
                facts = declared if isinstance(declared, Declared) else Declared.of(name, declared or {})
            with problems:
                marks = marks_of(f"{name!r}", read_off, CHOSEN)
            with problems:
                part = require_positive(f"budget of {name!r}", budget)
        return cls(parsed, family, part, facts, (), marks)

    @property
    def name(self) -> str:
        """The column's name."""
        return self.formula.response

    @property
    def traits(self) -> Family:
        """What is particular to its family."""
        return FAMILIES[self.family] if self.own is None else OWN_TRAITS

    @property
    def needs(self) -> tuple[str, ...]:
        """Columns that must be there before this one is generated."""
        return (*self.formula.covariates, *(name for name, _ in self.where))

    @property
    def gap(self) -> str | None:
        """The indicator of its gaps, where it has one."""
        own = indicator_of(self.name)
        return own if (own, False) in self.where else None


def column_of(entry: Mapping[str, Any], declared: Mapping[str, Any]) -> ColumnModel:
    """A column model from an entry of a file; raise `InputError`, with the columns of its formula as the rest."""
    formula, family = entry.get("formula"), entry.get("family")
    of = f" for {formula!r}" if isinstance(formula, str) else ""
    with gathering() as problems:
        for name in sorted(set(entry) - {"formula", "family", "budget", READ_OFF}):
            where = f"[declared_public.{response_in(formula) or 'NAME'}]"
            there = f" (what is declared of it stands under {where})" if name in FACTS else ""
            problems.say(f"a column of a model has a formula, a family and a budget, found {name!r}{of}{there}")
        for name, value in (("formula", formula), ("family", family)):
            if not isinstance(value, str):
                what = found(value) if name in entry else "none"
                problems.say(f"a column of a model must have a {name}, found {what}{of}")
        if isinstance(formula, str):
            known = family if isinstance(family, str) else next(iter(FAMILIES))
            with problems:
                parsed = Formula.parse(formula)
                problems.rest = (parsed.response, *parsed.covariates)
            with problems:
                made = ColumnModel.of(formula, known, entry.get("budget", 1.0), declared, entry.get(READ_OFF, ()))
    return made
