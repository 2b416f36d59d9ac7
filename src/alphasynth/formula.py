"""Formulas: `response ~ terms` read with formulaic, and the design matrix of distinct rows."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from alphasynth.errors import InputError
from alphasynth.records import Records

if TYPE_CHECKING:
    from formulaic import SimpleFormula

# Design columns are scaled to length 1; below this pivot a column is a combination of the others to 10 digits.
COLLINEAR = 1e-10
# The first this many rows are computed a second time, apart from the rest, to see that terms read their own row only.
ROWS_COMPARED = 1_000


@dataclass(frozen=True)
class Formula:
    """A column model's formula: one response, and terms over covariates.

    >>> formula = Formula.parse("visits ~ age + C(sex)")
    >>> formula.response, formula.covariates
    ('visits', ('age', 'sex'))
    """

    text: str
    response: str
    covariates: tuple[str, ...]
    terms: SimpleFormula

    @classmethod
    def parse(cls, text: str) -> Formula:
        """Read a formula; raise `InputError` unless it is `one column ~ terms`."""
        import formulaic

        try:
            parsed = formulaic.Formula(text)
        except (formulaic.errors.FormulaicError, SyntaxError) as error:
            reason = re.sub(r"\x1b\[[0-9;]*m|[⧛⧚]", "", str(error)).split("\n")[0]
            raise InputError(
                f"formula {text!r} cannot be read: {reason.rstrip('.')}; names that are not plain words go in backticks"
            ) from None
        terms = getattr(parsed, "rhs", None)
        response = [factor for term in getattr(parsed, "lhs", ()) for factor in term.factors]
        if not isinstance(terms, formulaic.SimpleFormula) or len(response) != 1:
            raise InputError(f"formula must read 'response ~ terms' with one response column, found {text!r}")
        if response[0].eval_method.value != "lookup":
            raise InputError(f"the response must be a column as it stands, found {response[0].expr!r}")
        name = response[0].expr
        covariates = tuple(sorted({column for term in terms for factor in term.factors for column in _columns(factor)}))
        if name in covariates:
            raise InputError(f"column {name!r} must not stand on both sides of the formula, found {text!r}")
        if not covariates and [str(term) for term in terms] != ["1"]:
            raise InputError(f"the right-hand side must be 1 or read columns, found {text!r}")
        return cls(text, name, covariates, terms)

    @property
    def intercept_only(self) -> bool:
        """Whether the right-hand side is 1."""
        return [str(term) for term in self.terms] == ["1"]

    def with_levels(self, levels: Mapping[str, Sequence[float]]) -> Formula:
        """The formula with the levels of `C(column)` written out, for columns of numbers whose levels are declared.

        >>> Formula.parse("y ~ C(size) + age").with_levels({"size": [1, 2, 4]}).text
        'y ~ C(size, levels=[1, 2, 4]) + age'
        """

        def write(found: re.Match[str]) -> str:
            named = found[1].strip("`")
            return f"C({found[1]}, levels={list(levels[named])!r})" if named in levels else found[0]

        text = re.sub(r"\bC\(\s*(`[^`]+`|\w+)\s*\)", write, self.text)
        return self if text == self.text else Formula.parse(text)


def _columns(factor: Any) -> set[str]:
    """Names of the columns that a factor reads: every name but those of functions.

    Formulaic's own `required_variables` leaves out what stands inside `center(x)` and its like.
    """
    from formulaic.transforms import TRANSFORMS

    if factor.eval_method.value != "python":
        return {factor.expr} if factor.eval_method.value == "lookup" else set()
    quoted = re.findall(r"`([^`]+)`", factor.expr)
    try:
        tree = ast.parse(re.sub(r"`[^`]+`", "_", factor.expr), mode="eval")
    except SyntaxError:
        raise InputError(f"term {factor.expr!r} of the formula cannot be read") from None
    functions = {node.func for node in ast.walk(tree) if isinstance(node, ast.Call)}
    modules = {node.value for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    names = {
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and node not in functions and not (node in modules and node.id in TRANSFORMS)
    }
    return {*quoted, *names} - {"_"}


def design_matrix(formula: Formula, columns: Mapping[str, Any], counts: np.ndarray) -> np.ndarray:
    """Design matrix X (distinct rows, K) in float64, each row computed from its own values alone.

    What a transform learns from the table (the mean in `center(x)`) it learns from all records, not from the distinct
    rows. Raises `InputError` for terms that read other rows and for constant or collinear columns.
    """
    import pandas as pd

    if formula.intercept_only:
        return np.ones((len(counts), 1))
    rows = pd.DataFrame({name: widen(columns[name]) for name in formula.covariates})
    spec, values = learn_terms(formula, rows, counts)
    _check_rank(values, list(spec.column_names))
    return values


def design_of(formula: Formula, records: Records) -> np.ndarray:
    """Design matrix by distinct row of the records, computed from the covariates' own distinct rows.

    So the response has no way into it, not even through the number of distinct rows.
    """
    group = records.group(formula.covariates)
    _, first = np.unique(group, return_index=True)
    counts = np.bincount(group, records.counts).astype(np.int64)
    columns = {name: records.columns[name][first] for name in formula.covariates}
    return design_matrix(formula, columns, counts)[group]


def learn_terms(formula: Formula, rows: Any, counts: np.ndarray) -> tuple[Any, np.ndarray]:
    """What the terms learn from the records (a frame of distinct rows, and counts), and their values there.

    Raises `InputError` for terms that read other rows or are not finite.
    """
    matrix = compute_terms(formula.terms, rows)
    spec = matrix.model_spec
    if spec.transform_state:
        spec = compute_terms(formula.terms, rows.loc[rows.index.repeat(counts)]).model_spec
        matrix = compute_terms(spec, rows)
    values = np.asarray(matrix, np.float64)
    _check_own_row(spec, rows, values)
    return spec, values


def widen(column: Any) -> Any:
    """Numbers in 64 bits: the square of a small integer type would wrap around."""
    kind = getattr(column.dtype, "kind", "O")
    if kind == "f" or column.dtype == np.uint64:
        return column.astype(np.float64)
    return column.astype(np.int64) if kind in "iu" else column


def compute_terms(terms: Any, rows: Any) -> Any:
    """Values of terms, or of a spec that learnt them, in every row."""
    import formulaic

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", formulaic.errors.DataMismatchWarning)
            matrix = terms.get_model_matrix(rows, context={}, output="pandas", na_action="ignore")
    except formulaic.errors.DataMismatchWarning:
        raise InputError("a categorical term must list every level that occurs, found levels it leaves out") from None
    except formulaic.errors.FormulaicError as error:
        reason = str(error).split("\n")[0].split(" [")[0].rstrip(".")  # what follows may quote a value
        raise InputError(f"the formula's terms cannot be computed: {reason}") from None
    if not np.isfinite(np.asarray(matrix, np.float64)).all():
        raise InputError("the formula's terms must be finite in every record, found infinite or missing values")
    return matrix


def _check_own_row(spec: Any, rows: Any, values: np.ndarray) -> None:
    """Compute the first rows again, apart and in reverse: a term that reads other rows comes out differently."""
    part = np.arange(min(ROWS_COMPARED, (len(rows) + 1) // 2))[::-1]
    again = np.asarray(compute_terms(spec, rows.iloc[part].reset_index(drop=True)), np.float64)
    if again.shape[1:] != values.shape[1:] or not np.allclose(again, values[part], rtol=1e-9, atol=1e-12):
        raise InputError("each term of the formula must read its own record only, found one that reads other records")


def _check_rank(values: np.ndarray, names: list[str]) -> None:
    from scipy.linalg import qr

    for name, column in zip(names, values.T, strict=True):
        if name != "Intercept" and np.ptp(column) == 0:
            raise InputError(f"covariate {name!r} must vary, found the same value in every record")
    scaled = values / np.abs(values).max(axis=0)  # first, so that no square over- or underflows
    scaled /= np.linalg.norm(scaled, axis=0)
    _, triangle, order = qr(scaled, mode="economic", pivoting=True)
    pivots = np.abs(np.diag(triangle))
    dependent = [names[i] for i in order[len(pivots) :]] + [names[order[i]] for i in np.flatnonzero(pivots < COLLINEAR)]
    if dependent:
        terms = dict.fromkeys(re.sub(r"\[[^]]*\]", "", name) for name in dependent)  # without the levels
        listed = ", ".join(repr(name) for name in terms)
        raise InputError(f"covariates must not be collinear, found {listed} to be combinations of the others")


ELEMENTWISE = {"log", "log10", "log2", "exp", "exp10", "exp2", "I"}
SPLINES = {"bs", "cr", "cs", "cc"}
OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow)  # a matrix product is none


def require_declared(formula: Formula, columns: Mapping[str, Any], levels: Collection[str] = ()) -> None:
    """Refuse terms that learn anything from the table: each must be a function of its own record and of constants.

    Allowed are numeric columns, arithmetic, elementwise functions, and, with their constants written out,
    `C(x, levels=[...])`, `scale(x, center=2.0, scale=3.0)`, `poly(x, 2, raw=True)` and splines with `knots`,
    `lower_bound` and `upper_bound`. Columns named in `levels` have theirs declared elsewhere.
    """
    for factor in {factor for term in formula.terms for factor in term.factors}:
        kind = factor.eval_method.value
        if kind == "lookup" and not (factor.expr in levels or _is_numeric(columns[factor.expr])):
            raise InputError(
                f"a strict mechanism must not learn category levels from the table: write C({factor.expr}, "
                f"levels=[...]), found {factor.expr!r}"
            )
        if kind == "python":
            quoted = iter(re.findall(r"`([^`]+)`", factor.expr))
            held = dict(columns)

            def name(_: re.Match[str], quoted: Iterator[str] = quoted, held: dict[str, Any] = held) -> str:
                """A plain name for a quoted one, which stands for the same column."""
                plain = f"quoted_{len(held)}_"
                held[plain] = columns.get(next(quoted))
                return plain

            tree = ast.parse(re.sub(r"`[^`]+`", name, factor.expr), mode="eval")
            if not _is_declared(tree.body, held):
                raise InputError(
                    "a strict mechanism must learn nothing from the table: terms must be elementwise or state their "
                    f"constants, found {factor.expr!r}"
                )


def _is_numeric(column: Any) -> bool:
    return getattr(getattr(column, "dtype", None), "kind", "O") in "iufb"


def _is_declared(node: ast.expr, columns: Mapping[str, Any]) -> bool:
    """Whether an expression is a function of its own record and of constants."""
    if isinstance(node, ast.Constant):
        return True
    if isinstance(node, ast.Name):
        return _is_numeric(columns.get(node.id))
    if isinstance(node, ast.BinOp) and not isinstance(node.op, OPERATORS):
        return False
    if isinstance(node, ast.BinOp | ast.UnaryOp | ast.Compare):
        parts = (child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr))
        return all(_is_declared(part, columns) for part in parts)
    return isinstance(node, ast.Call) and _is_declared_call(node, columns)


def _is_declared_call(node: ast.Call, columns: Mapping[str, Any]) -> bool:
    options = {keyword.arg: keyword.value for keyword in node.keywords}
    if isinstance(node.func, ast.Attribute):
        from_numpy = isinstance(node.func.value, ast.Name) and node.func.value.id == "np"
        ufunc = getattr(np, node.func.attr, None)
        elementwise = from_numpy and isinstance(ufunc, np.ufunc) and ufunc.signature is None
        whole = elementwise and len(node.args) == ufunc.nin and not options  # type: ignore[union-attr]
        return whole and all(_is_declared(part, columns) for part in node.args)
    if not isinstance(node.func, ast.Name) or not node.args:
        return False
    name, first, constants = node.func.id, node.args[0], [*node.args[1:], *options.values()]
    if name == "C":
        levels = options.pop("levels", None)
        listed = isinstance(levels, ast.List) and bool(levels.elts) and _is_literal(levels)
        return isinstance(first, ast.Name) and listed and len(node.args) == 1 and not options
    if not (_is_declared(first, columns) and all(_is_literal(part) for part in constants)):
        return False
    if name in ELEMENTWISE:
        return not constants
    if name == "scale":
        given = [_literal(options.get(option)) for option in ("center", "scale")]
        return all(value is False or type(value) is float for value in given)
    if name == "poly":
        return _literal(options.get("raw")) is True
    if name not in SPLINES or "constraints" in options or "df" in options or len(node.args) > 1:
        return False
    knots = options.get("knots")
    bounds = [_literal(options.get(bound)) for bound in ("lower_bound", "upper_bound")]
    listed = isinstance(knots, ast.List) and all(_is_number(_literal(knot)) for knot in knots.elts)
    return listed and all(_is_number(bound) for bound in bounds)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _literal(node: ast.expr | None) -> object:
    """The constant that an expression is, signed or not; None where it is none."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        value = _literal(node.operand)
        return (-value if isinstance(node.op, ast.USub) else value) if isinstance(value, int | float) else None
    return node.value if isinstance(node, ast.Constant) else None


def _is_literal(node: ast.expr) -> bool:
    if isinstance(node, ast.List | ast.Tuple):
        return all(_is_literal(item) for item in node.elts)
    return _literal(node) is not None
