"""`Columns`: what is declared of the columns of a whole table, and nothing else; read from and written to TOML."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from alphasynth.constraints.comparisons import Constraint
from alphasynth.constraints.words import check_words, names_in, parse_constraint
from alphasynth.errors import InputError, found, gathering, require_positive
from alphasynth.notebook.declarations import columns_card, in_words
from alphasynth.raking.cells import Cells
from alphasynth.tables.declared import OF_WHOLE_TABLES, READ_OFF, Declared, marks_of, read_toml
from alphasynth.tables.limits import check_cells, check_floats
from alphasynth.tables.public_columns import MARKED

WEIGHT = "weight"
LEFT_OUT, CONSTRAINTS, RESPONSE, INTERACTIONS = "left_out", "constraints", "response", "interactions"
LISTS = (CONSTRAINTS, RESPONSE, INTERACTIONS)
LONG = 110  # characters of a line
HEAD = """\
# Columns of a whole table, and what is public about each: levels, or limits (numbers or dates); whole = true of whole
# numbers, decimals = 2 of those with so many digits after the point, skewed = true where most are near the lower limit,
# heaps = [40, 60] that many have (zero is one anyway), nominal = true where levels are codes of no order (regions), and
# missing = "model" where there may be gaps.
# Above the columns may stand what holds in every row: constraints = ["married => age >= 15", "part <= whole"]; which
# columns matter most, and products of two to keep with them: response = ["visits"], interactions = ["age:sex"].
# Everything in this file is treated as public and is listed in guarantee.json. Check it, edit it, and leave out of it
# whatever must not be told.
"""


@dataclass(frozen=True)
class SurveyWeight:
    """A column of survey weights, which says how many of the population a record stands for; cut at the largest."""

    column: str
    largest: float

    def __str__(self) -> str:
        """In words."""
        return f"{self.column}, at most {self.largest!r} each"

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> SurveyWeight:
        """What a file or a call declares; raise `InputError`."""
        if set(given) != {"column", "largest"} or not isinstance(given["column"], str):
            raise InputError("weight must be {column = NAME, largest = NUMBER}, found otherwise")
        return cls(given["column"], require_positive("the largest weight", given["largest"]))


@dataclass(frozen=True)
class Columns:
    """Columns of a whole table in order, by name, and what is declared public of each.

    `constraints` hold in every row, of the table and of what is made from it; `left_out` are columns that a suggestion
    left out because of what they hold. With a `weight` all that is measured is weighted by that column, which is no
    part of the synthetic tables: each of their rows stands for as many of the population. A `response` is a column that
    matters most, and `interactions` are products of two columns, age:sex, to be kept with it.

    >>> columns = Columns.of({"age": {"limits": [0, 110], "whole": True}, "sex": {"levels": ["f", "m"]}})
    >>> columns.names
    ('age', 'sex')
    """

    declared: Mapping[str, Declared]
    constraints: tuple[Constraint, ...] = ()
    left_out: tuple[str, ...] = ()
    weight: SurveyWeight | None = None
    response: tuple[str, ...] = ()
    interactions: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        declared: Mapping[str, Declared | Mapping[str, Any]],
        constraints: Sequence[str] = (),
        left_out: Sequence[str] = (),
        weight: Mapping[str, Any] | None = None,
    ) -> Columns:
        """Columns from what is declared of each, and constraints in words; raise `InputError`."""
        facts, weighed = dict[str, Declared](), None
        with gathering() as problems:
            for name, given in declared.items():
                with problems:
                    facts[name] = _facts(name, given)
            if "" in declared:
                problems.say("a column must have a name, found one without (is one missing in the table's header?)")
            if not declared:
                problems.say("a whole table must have at least one column declared, found none")
            with problems:
                weighed = None if weight is None else SurveyWeight.of(weight)
            if weighed is not None and weighed.column in declared:
                problems.say(f"the weight must not be among the columns, found {weighed.column!r} among them")
            problems.rest = cls(facts, (), tuple(left_out), weighed)
            parsed, broken = list[Constraint](), set(declared) - set(facts)
            for text in constraints:
                with problems:
                    if broken & names_in(text):
                        check_words(text, declared)
                    else:
                        parsed.append(parse_constraint(text, facts))
        return cls(facts, tuple(parsed), tuple(left_out), weighed)

    @classmethod
    def read(cls, path: str | Path) -> Columns:
        """Columns from a TOML file; raise `InputError`."""
        return cls.parse(read_toml(Path(path), "columns"))

    @classmethod
    def parse(cls, content: Mapping[str, Any]) -> Columns:
        """Columns from the content of a file; raise `InputError` for all that is unknown or of the wrong kind.

        The error's `rest` are columns in which nothing is wrong.
        """
        if isinstance(content.get("column"), list):
            raise InputError(
                "a columns file must hold [column.NAME] for each column, found a model's [[column]]; alphasynth "
                "inspect TABLE --suggest columns.toml writes one"
            )
        strange = [name for name in content if name not in ("column", READ_OFF, WEIGHT, *LISTS)]
        entries, weight = content.get("column", {}), content.get(WEIGHT)
        left_out, texts = tuple[str, ...](), {name: content.get(name, []) for name in LISTS}
        with gathering() as problems:
            if strange:
                beside = ", ".join((*LISTS, WEIGHT))
                problems.say(
                    f"a columns file must hold [column.NAME] for each column, and above them {beside} where wanted, "
                    f"found {', '.join(map(repr, strange))}"
                )
            with problems:
                left_out = marks_of("the columns file", content.get(READ_OFF, ()))
            for name, given in texts.items():
                if not isinstance(given, list) or not all(isinstance(text, str) for text in given):
                    problems.say(f"{name} of a columns file must be a list of texts, found {found(given)}")
                    texts[name] = []
            if weight is not None and not isinstance(weight, Mapping):
                problems.say("weight must be {column = NAME, largest = NUMBER}, found otherwise")
                weight = None
            if not isinstance(entries, Mapping) or not all(isinstance(facts, Mapping) for facts in entries.values()):
                raise InputError("a columns file must hold [column.NAME] for each column, found something else")
            if problems and not entries:
                problems.refuse()
            with problems:
                columns = problems.rest = cls.of(entries, texts[CONSTRAINTS], left_out, weight)
            with problems:
                cls.check_response(texts[RESPONSE], texts[INTERACTIONS], list(entries), " of the columns file")
        return columns.with_response(texts[RESPONSE], texts[INTERACTIONS])

    @staticmethod
    def check_response(
        response: Sequence[str], interactions: Sequence[str], names: Sequence[str], where: str = ""
    ) -> None:
        """Refuse columns that matter most, and products of two, of which one is not declared; `where` they stand."""
        with gathering() as problems:
            for name in response:
                if name not in names:
                    problems.say(f"{RESPONSE}{where} must be declared columns, found {found(name)}")
            for text in interactions:
                with problems:
                    both = two_columns(text, names, where)
                    if set(response or names) <= set(both):
                        other = "response" if response else "column"
                        rule = f"{INTERACTIONS}{where} must be measured with a {other} that is none of the two"
                        problems.say(f"{rule}, found no other beside {text!r}")

    def with_response(self, response: Sequence[str], interactions: Sequence[str]) -> Columns:
        """The same with these columns that matter most, and products of two; raise `InputError`."""
        self.check_response(response, interactions, self.names)
        return replace(self, response=tuple(dict.fromkeys(response)), interactions=tuple(interactions))

    def only(self, names: Sequence[str]) -> Columns:
        """What is declared of these columns alone."""
        constraints = tuple(each for each in self.constraints if each.names <= set(names))
        return Columns({name: facts for name, facts in self.declared.items() if name in names}, constraints)

    @property
    def crossed(self) -> tuple[tuple[str, str], ...]:
        """The two columns of each interaction."""
        return tuple(two_columns(text, self.names) for text in self.interactions)

    @property
    def read_as(self) -> dict[str, Declared]:
        """What is known of every column that is read, the weight among them."""
        weight = {} if self.weight is None else {self.weight.column: Declared(limits=(0.0, math.inf))}
        return {**self.declared, **weight}

    def toml(self) -> str:
        """As a file."""
        import tomli_w

        marked = bool(self.left_out) or any(facts.read_off for facts in self.declared.values())
        top = {RESPONSE: list(self.response), INTERACTIONS: list(self.interactions)}
        top |= {CONSTRAINTS: [each.text for each in self.constraints], READ_OFF: list(self.left_out)}
        parts = ["".join(_line(name, value) for name, value in top.items() if value)]
        if self.weight is not None:
            parts.append(tomli_w.dumps({WEIGHT: asdict(self.weight)}))
        for name, facts in self.declared.items():
            title = tomli_w.dumps({"column": {name: {}}})
            plain = facts.plain()
            labels = plain.pop("labels", {})
            parts.append(title + "".join(_line(fact, value) for fact, value in plain.items()))
            parts += [tomli_w.dumps({"column": {name: {"labels": labels}}})] if labels else []
        return HEAD + (MARKED if marked else "") + "\n" + "\n".join(part for part in parts if part)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns, in order."""
        return tuple(self.declared)

    @property
    def read_off(self) -> dict[str, tuple[str, ...]]:
        """What was read off the table, by column."""
        marks = {name: facts.read_off for name, facts in self.declared.items() if facts.read_off}
        return marks | dict.fromkeys(self.left_out, (LEFT_OUT,))

    def __repr__(self) -> str:
        facts = {name: {k: v for k, v in f.plain().items() if k != READ_OFF} for name, f in self.declared.items()}
        return f"<Columns: {'; '.join(f'{name} ({in_words(said)})' for name, said in facts.items())}>"

    def _repr_html_(self) -> str:
        """For notebooks: what is declared of each column, and what is said beside."""
        beside: dict[str, Sequence[str]] = {
            CONSTRAINTS: [each.text for each in self.constraints],
            RESPONSE: self.response,
        }
        beside |= {INTERACTIONS: self.interactions, WEIGHT: [] if self.weight is None else [str(self.weight)]}
        return columns_card({n: facts.plain() for n, facts in self.declared.items()}, beside, READ_OFF, self.read_off)

    def cells(self) -> list[Cells]:
        """How each column is cut, from what was declared; raise `InputError` where that is too little."""
        return [Cells.of(name, facts, facts.skewed) for name, facts in self.declared.items()]


def _line(name: str, value: Any) -> str:
    """A line of a file, or the lines of a long list."""
    import tomli_w

    if not isinstance(value, list):
        return tomli_w.dumps({name: value})
    lines = [f"{name} = ["]
    for number, each in enumerate(value):
        word = tomli_w.dumps({"x": each}).removeprefix("x = ").strip() + (", " if number + 1 < len(value) else "]")
        if len(lines[-1]) + len(word) > LONG:
            lines.append("    ")
        lines[-1] += word
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _facts(name: str, given: Declared | Mapping[str, Any]) -> Declared:
    facts = given if isinstance(given, Declared) else Declared.of(name, given, OF_WHOLE_TABLES)
    with gathering() as problems:
        if facts.missing not in (None, "model"):
            rule = f'missing of {name!r} must be "model" in a whole table (gaps come out as gaps)'
            problems.say(f"{rule}, found {facts.missing!r}")
        if facts.levels and (facts.limits is not None or facts.whole or facts.skewed):
            problems.say(f"column {name!r} must have levels or limits, found levels with facts of numbers beside")
        elif facts.whole and facts.limits is not None and math.ceil(facts.limits[0]) > math.floor(facts.limits[1]):
            problems.say(f"limits of {name!r}, which is whole, must have a whole number between them, found none")
        else:
            with problems:
                check_floats(name, facts.levels, facts.limits, facts.whole)
                cells = Cells.of(name, facts, facts.skewed)
                check_cells(name, cells.lower, cells.upper)
    return facts


def two_columns(text: str, names: Sequence[str], where: str = "") -> tuple[str, str]:
    """The two columns of an interaction, of which a name may hold a colon itself; raise `InputError`.

    >>> two_columns("age:sex", ["sex", "age"])
    ('age', 'sex')
    """
    places = [place for place, letter in enumerate(text) if letter == ":"]
    both = [(text[:place].strip(), text[place + 1 :].strip()) for place in places]
    known = [each for each in both if set(each) <= set(names) and each[0] != each[1]]
    if len(known) != 1:
        raise InputError(f"{INTERACTIONS}{where} must be two declared columns with a colon, age:sex, found {text!r}")
    return known[0]
