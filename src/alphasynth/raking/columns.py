"""`Columns`: what is declared of the columns of a whole table, and nothing else; read from and written to TOML."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from alphasynth.errors import InputError
from alphasynth.raking.cells import Cells
from alphasynth.tables.declared import FACTS, MARKED, READ_OFF, SKEWED, Declared, marks_of

KNOWN = (*FACTS, SKEWED)
LEFT_OUT = "left_out"
HEAD = """\
# Columns of a whole table, and what is public about each: levels, or limits (numbers or dates); whole = true of whole
# numbers, skewed = true where most numbers are near the lower limit, missing = "model" where there may be gaps.
# Everything in this file is treated as public and is listed in guarantee.json. Check it, edit it, and leave out of it
# whatever must not be told.
"""


@dataclass(frozen=True)
class Columns:
    """Columns of a whole table in order, by name, and what is declared public of each.

    `left_out` are columns that a suggestion left out because of what they hold.

    >>> columns = Columns.of({"age": {"limits": [0, 110], "whole": True}, "sex": {"levels": ["f", "m"]}})
    >>> columns.names
    ('age', 'sex')
    """

    declared: Mapping[str, Declared]
    left_out: tuple[str, ...] = ()

    @classmethod
    def of(cls, declared: Mapping[str, Declared | Mapping[str, Any]]) -> Columns:
        """Columns from what is declared of each; raise `InputError`."""
        return cls._checked({name: _facts(name, facts) for name, facts in declared.items()}, ())

    @classmethod
    def read(cls, path: Path) -> Columns:
        """Columns from a TOML file; raise `InputError`."""
        try:
            content = tomllib.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise InputError(f"the columns file must be readable, found {error.strerror} at {str(path)!r}") from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
            where = "not UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)
            raise InputError(f"the columns file must be TOML, found what is not in {path.name}: {where}") from None
        return cls.parse(content)

    @classmethod
    def parse(cls, content: Mapping[str, Any]) -> Columns:
        """Columns from the content of a file; raise `InputError` for what is unknown or of the wrong kind."""
        if isinstance(content.get("column"), list):
            raise InputError(
                "a columns file must hold [column.NAME] for each column, found a model's [[column]]; alphasynth "
                "inspect TABLE --suggest columns.toml writes one"
            )
        strange = [name for name in content if name not in ("column", READ_OFF)]
        if strange:
            raise InputError(f"a columns file must hold [column.NAME] for each column, found {strange[0]!r}")
        left_out = marks_of("the columns file", content.get(READ_OFF, ()))
        entries = content.get("column", {})
        if not isinstance(entries, Mapping) or not all(isinstance(facts, Mapping) for facts in entries.values()):
            raise InputError("a columns file must hold [column.NAME] for each column, found something else")
        return cls._checked({name: _facts(name, facts) for name, facts in entries.items()}, left_out)

    @classmethod
    def _checked(cls, declared: Mapping[str, Declared], left_out: tuple[str, ...]) -> Columns:
        if not declared:
            raise InputError("a whole table must have at least one column declared, found none")
        columns = cls(dict(declared), left_out)
        columns.cells()
        return columns

    def toml(self) -> str:
        """As a file."""
        import tomli_w

        marked = bool(self.left_out) or any(facts.read_off for facts in self.declared.values())
        head: dict[str, Any] = {READ_OFF: list(self.left_out)} if self.left_out else {}
        body = {"column": {name: facts.plain() for name, facts in self.declared.items()}}
        return HEAD + (MARKED if marked else "") + "\n" + tomli_w.dumps({**head, **body})

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns, in order."""
        return tuple(self.declared)

    @property
    def read_off(self) -> dict[str, tuple[str, ...]]:
        """What was read off the table, by column."""
        marks = {name: facts.read_off for name, facts in self.declared.items() if facts.read_off}
        return marks | dict.fromkeys(self.left_out, (LEFT_OUT,))

    def cells(self) -> list[Cells]:
        """How each column is cut, from what was declared; raise `InputError` where that is too little."""
        return [Cells.of(name, facts, facts.skewed) for name, facts in self.declared.items()]


def _facts(name: str, given: Declared | Mapping[str, Any]) -> Declared:
    facts = given if isinstance(given, Declared) else Declared.of(name, given, KNOWN)
    if facts.missing not in (None, "model"):
        raise InputError(
            f'missing of {name!r} must be "model" in a whole table (gaps come out as gaps), found {facts.missing!r}'
        )
    if facts.levels and (facts.limits is not None or facts.whole or facts.skewed):
        raise InputError(f"column {name!r} must have levels or limits, found levels with facts of numbers beside")
    if facts.whole and facts.limits is not None and math.ceil(facts.limits[0]) > math.floor(facts.limits[1]):
        raise InputError(f"limits of {name!r}, which is whole, must have a whole number between them, found none")
    return facts
