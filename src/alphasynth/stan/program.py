"""`StanProgram`: a program's text, what it calls the parts of a table, and what it must have to be weighted."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from alphasynth.errors import InputError, found
from alphasynth.stan.process import ENGINES, ask

# What the data block is given of a table, and what is read from the generated quantities.
OF_TABLE = ("n", "K", "y", "X", "weights")
LOG_LIK, Y_REP = "log_lik", "y_rep"
SHIPPED = {"negative_binomial": Path(__file__).with_name("negative_binomial.stan")}
COMMENTS = re.compile(r"//[^\n]*|/\*.*?\*/|^\s*#[^\n]*", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class StanProgram:
    """A Stan program whose data have `weights` that multiply the records' log-likelihoods.

    `data` are constants that it declares beside those of the table, as JSON-like numbers and lists, by name. `names`
    says what it calls n, K, y, X, weights, log_lik and y_rep where it calls them otherwise. `engine`: "pystan" or
    "cmdstan"; None is the first that is installed.
    """

    code: str = field(repr=False)
    data: tuple[tuple[str, Any], ...] = field(default=(), repr=False)
    names: tuple[tuple[str, str], ...] = ()
    engine: str | None = None

    @classmethod
    def of(
        cls,
        program: Any,
        data: Mapping[str, Any] | None = None,
        names: Mapping[str, str] | None = None,
        engine: str | None = None,
    ) -> StanProgram:
        """A program from its text, a file, or the name of one of ours; raise `InputError`."""
        code = _text(program)
        if engine is not None and engine not in ENGINES:
            raise InputError(f"engine must be one of {', '.join(ENGINES)}, found {found(engine)}")
        wrong = [name for name in names or {} if name not in (*OF_TABLE, LOG_LIK, Y_REP)]
        if wrong:
            raise InputError(f"names must be of {', '.join((*OF_TABLE, LOG_LIK, Y_REP))}, found {', '.join(wrong)}")
        constants = tuple(sorted((k, _hashable(v)) for k, v in (data or {}).items()))
        made = cls(code, constants, tuple((names or {}).items()), engine)
        made._check_blocks()
        return made

    def called(self, part: str) -> str:
        """What the program calls a part."""
        return dict(self.names).get(part, part)

    def _check_blocks(self) -> None:
        """Refuse a program whose text lacks what weighting needs."""
        bare = COMMENTS.sub("", self.code)
        if re.search(r"^\s*#\s*include", self.code, re.MULTILINE):
            raise InputError("a Stan program must be in one piece, found an #include: put its text there")
        data = _block(bare, "data")
        for part in ("y", "weights"):
            if not re.search(rf"\b{re.escape(self.called(part))}\b", data):
                raise InputError(f"a Stan program must declare {self.called(part)!r} in its data block, found none")
        if len(re.findall(rf"\b{re.escape(self.called('weights'))}\b", bare)) < 2:
            raise InputError(
                f"a Stan program must multiply log-likelihoods by {self.called('weights')!r}, found that it does not"
            )
        quantities = _block(bare, "generated quantities")
        for part, why in ((LOG_LIK, "one log-likelihood per record"), (Y_REP, "one new record beside each")):
            if not re.search(rf"\b{re.escape(self.called(part))}\b", quantities):
                raise InputError(
                    f"a Stan program must have {self.called(part)!r}, {why}, in its generated quantities, found none"
                )
        given = {name for name, _ in self.data} & {self.called(part) for part in OF_TABLE}
        if given:
            raise InputError(f"data must leave to the table what comes from it, found {', '.join(sorted(given))}")
        strange = sorted({name for name, _ in self.data} - _declared(data))
        if strange:
            raise InputError(f"data must be what the Stan program's data block declares, found {', '.join(strange)}")

    def data_for(self, y: np.ndarray, X: np.ndarray, weights: np.ndarray) -> dict[str, Any]:
        """The data block's values for rows of a table; only what the program declares."""
        whole = self.counts
        if whole and (y != np.floor(y)).any():
            raise InputError(
                f"{self.called('y')!r} is of whole numbers in the Stan program, found a column with others"
            )
        rows: dict[str, Any] = {
            "n": len(y),
            "K": X.shape[1],
            "y": y.astype(np.int64).tolist() if whole else y.astype(np.float64).tolist(),
            "X": X.tolist(),
            "weights": weights.tolist(),
        }
        declared = _block(self._bare, "data")
        used = {
            self.called(part): value
            for part, value in rows.items()
            if re.search(rf"\b{re.escape(self.called(part))}\b", declared)
        }
        return used | {name: _listed(value) for name, value in self.data}

    @property
    def counts(self) -> bool:
        """Whether its response is of whole numbers, so that log-likelihoods are of probabilities."""
        return bool(re.search(rf"\bint\b[^;]*\b{re.escape(self.called('y'))}\b", _block(self._bare, "data")))

    @property
    def _bare(self) -> str:
        return COMMENTS.sub("", self.code)

    def ask(self, what: str, *arguments: Any) -> Any:
        """What Stan's process answers."""
        return ask(self.engine, self.code, what, *arguments)


def _text(program: Any) -> str:
    if isinstance(program, str) and program in SHIPPED:
        program = SHIPPED[program]
    if isinstance(program, Path) or (isinstance(program, str) and program.endswith(".stan") and "\n" not in program):
        path = Path(program)
        if not path.is_file():
            raise InputError(f"program must be a Stan file, found none at {str(path)!r}")
        return path.read_text(encoding="utf-8")
    if not isinstance(program, str) or "{" not in program:
        raise InputError(
            f"program must be Stan code, a .stan file or one of {', '.join(SHIPPED)}, found {found(program)}"
        )
    return program


def _block(code: str, name: str) -> str:
    """What stands between the braces of a block; nothing of one that is not there."""
    words = r"\s+".join(name.split())
    found_at = re.finditer(rf"(transformed\s+)?\b{words}\s*\{{", code)
    start = next((match for match in found_at if match[1] is None), None)
    if start is None:
        return ""
    depth, place = 1, start.end()
    while place < len(code) and depth:
        depth += {"{": 1, "}": -1}.get(code[place], 0)
        place += 1
    return code[start.end() : place - 1]


def _declared(block: str) -> set[str]:
    """Names that a block declares: the last word of each declaration, but for sizes after it.

    >>> sorted(_declared("int<lower=0> n; array[n, 2] int y; vector[n] x[3, 2]; real a = 1;"))
    ['a', 'n', 'x', 'y']
    """
    parts = (re.sub(r"<[^>]*>", "", part).strip() for part in block.split(";"))
    ends = (re.search(r"(\w+)\s*(?:\[[^\[\]]*\]\s*)?(?:=.*)?$", part, re.DOTALL) for part in parts)
    return {end[1] for end in ends if end}


def _hashable(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return tuple(_hashable(item) for item in value)
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise InputError(f"data must hold numbers and lists of numbers, found {found(value)}")
    return value.item() if isinstance(value, np.generic) else value


def _listed(value: Any) -> Any:
    return [_listed(item) for item in value] if isinstance(value, tuple) else value
