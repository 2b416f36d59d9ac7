"""Formulas are data: whatever is written in one, at whichever door, nothing of it runs, hangs or crashes."""

from __future__ import annotations

import ast
import builtins
import itertools
import json
import re
import sys
import time
from pathlib import Path

import formulaic
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alphasynth.errors import InputError
from alphasynth.models import expressions
from alphasynth.models.expressions import FUNCTIONS, columns_of, parts_of, written
from alphasynth.models.formula import Formula, compute_terms, design_matrix, learn_terms
from alphasynth.models.terms import ELEMENTWISE_VALUES
from command_line import read, run, synthesize

PACKAGE = Path(__file__).parents[2] / "src" / "alphasynth"
PAYLOADS = [
    "I(age + 0*__import__('os').system('touch hit'))",
    "I(age + open('hit', 'w').write('x'))",
    "{open('hit', 'w')}",
    "{age.to_csv('hit')}",
    "np.savetxt('hit', age)",
    "np.lib.format.os.system('touch hit')",
    "np.log(age, out=open('hit', 'w'))",
    "np.frompyfunc(open, 1, 1)('hit')",
    "C(age, levels=[open('hit', 'w')])",
    "C(age, levels=[*map(open, ['hit'], 'w')])",
    "C(age, contr.custom(open('hit', 'w')))",
    "scale(age, center=open('hit', 'w'))",
    "poly(age, open('hit', 'w').fileno())",
    "age[open('hit', 'w').fileno()]",
    "age.map(lambda x: open('hit', 'w'))",
    "(lambda: open('hit', 'w'))()",
    "[open('hit', 'w') ~ age]",
    "I([open('hit', 'w') for _ in age])",
    "I((hit := open('hit', 'w')) and age)",
    'I(f\'{open("hit", "w")}\')',
    "Q(open('hit', 'w').name)",
    "hashed(age, levels=2, hash_func=lambda x: open('hit', 'w'))",
    "I(age if open('hit', 'w') else age)",
    "I(`age`) + I(`x` + open('hit', 'w'))",
    "`age`(open('hit', 'w'))",
    "I(`') + open('hit', 'w')`)(open('hit', 'w'))",
    "I(age)(open('hit', 'w'))",
    "I(age).__class__.__base__.__subclasses__()",
]
pytestmark = pytest.mark.usefixtures("alone")


def one_sentence(capsys):
    """What a command that was refused said."""
    said = capsys.readouterr().err
    assert said.startswith("alphasynth: ")
    assert said.count("\n") == 1
    assert "fault of alphasynth" not in said
    return said


@pytest.mark.parametrize("payload", PAYLOADS)
def test_code_in_a_formula_is_refused_as_it_is_read(payload, tmp_path):
    for text in (f"y ~ {payload}", f"{payload} ~ age", f"y ~ age + (C(g) - {payload})"):
        with pytest.raises(InputError) as error:
            Formula.parse(text)
        assert "\n" not in str(error.value)
    assert not (tmp_path / "hit").exists()


@pytest.mark.parametrize("payload", PAYLOADS[:4])
def test_no_door_runs_what_a_formula_says(table, capsys, payload):
    formula = f"visits ~ {payload}"
    assert synthesize(table, "--formula", formula, "--public", "age") == 2
    assert "formula" in one_sentence(capsys)
    model = {"column": [{"formula": "age ~ 1", "family": "poisson"}, {"formula": formula, "family": "poisson"}]}
    entries = ["\n".join(f"{name} = {json.dumps(value)}" for name, value in e.items()) for e in model["column"]]
    Path("model.toml").write_text("".join(f"[[column]]\n{entry}\n" for entry in entries))
    options = ["--mechanism", "SW", "--m", "1", "--out", "run"]
    assert run("synthesize", table, "--model", "model.toml", *options) == 2
    assert "formula" in one_sentence(capsys)
    asked = {"table": table, "formula": formula, "family": "poisson", "mechanism": "SW", "out": "run"}
    Path("run.toml").write_text(
        "m = 1\npublic = ['age']\n" + "".join(f"{k} = {json.dumps(v)}\n" for k, v in asked.items())
    )
    assert run("synthesize", "--config", "run.toml") == 2
    assert "formula" in one_sentence(capsys)
    assert run("evaluate", table, table, "--regression", formula) == 2
    assert "a regression's formula" in one_sentence(capsys)
    assert run("audit", table, "--formula", formula, "--public", "age", "--family", "poisson", "--mechanism", "SW") == 2
    assert not Path("run").exists()
    assert not Path("hit").exists()


def edited(**fields):
    path = Path("run/release/guarantee.json")
    path.write_text(json.dumps({**read(path), **fields}))


FAMILY = {"family": "negative_binomial", "share_of_budget": 1.0}
STRICT = ["--mechanism", "Censored", "--epsilon", "4", "--limits", "mean=1:1000"]
INSTANCE = ["--mechanism", "SW", "--formula", "visits ~ age", "--public", "age"]


@pytest.mark.slow
@pytest.mark.parametrize("options", [STRICT, INSTANCE], ids=["strict", "instance"])
def test_a_report_takes_nothing_from_an_edited_release(table, capsys, options):
    assert synthesize(table, "--no-report", *options) == 0
    path = Path("run/release/guarantee.json")
    as_it_was = path.read_text()
    capsys.readouterr()
    for payload in PAYLOADS[:3]:
        for fields in (
            {"formulas": [f"visits ~ {payload}"]},
            {"formula": f"visits ~ {payload}"},  # no such name: what is not known is not passed over
            {"columns": [{"column": "visits", "formula": f"visits ~ {payload}", **FAMILY}]},
            {"formulas": ["visits ~ age + I(age ** 2)"]},
            {"contribution": [{}]},
            {"contribution": [{"column": "visits", "name": "Censored", "parts": []}]},
            {"grid": [{"column": "visits", "axes": [], "quanta": 0.5}]},
            {"columns": [{"column": "visits", "formula": "visits ~ sex", **FAMILY}]},
            {"columns": [{}]},
            {"declared_public": {"visits": 1}},
            {"rules": ["LW"]},
            {"promise": "all is well"},
            {"statement": "all is well"},
            {"unit": "nothing"},
            {"delta": 0.5, "rho": 1e-300},
            {"tables": [{"file": "../../visits.csv"}]},
            {"tables": [{"file": "synthetic_01.csv"}] * 2},
        ):
            path.write_text(as_it_was)
            edited(**fields)
            assert run("report", "run") == 2, fields
            one_sentence(capsys)
    path.write_text('{"formula": ' + "[" * 100_000)
    assert run("report", "run") == 2
    assert "must be as alphasynth wrote it" in one_sentence(capsys)
    assert not Path("hit").exists()
    assert not list(Path().rglob("report.html"))
    path.write_text(as_it_was)
    assert run("report", "run") == 0


@pytest.mark.slow
def test_a_run_folder_that_does_not_hold_what_was_released_is_refused(table, capsys):
    assert synthesize(table, "--no-report") == 0
    path = Path("run/confidential/summary.json")
    summary = read(path)
    del summary["released"]
    path.write_text(json.dumps(summary))
    capsys.readouterr()
    assert run("report", "run") == 2
    assert "must hold what was released, found nothing" in one_sentence(capsys)


def test_files_that_nest_without_end_are_refused(table, capsys):
    Path("deep.toml").write_text("m = " + "[" * 100_000)
    assert run("synthesize", "--config", "deep.toml") == 2
    assert "must be TOML" in one_sentence(capsys)
    assert run("synthesize", table, "--model", "deep.toml", "--mechanism", "SW", "--m", "1", "--out", "run") == 2
    assert "must be TOML" in one_sentence(capsys)
    Path("guarantee.json").write_text("[" * 100_000)  # beside a table that is compared
    assert run("evaluate", table, table, "--columns", "visits,age") == 0


@pytest.mark.parametrize("name", ["frexp", "modf", "divmod", "add.reduce", "mean", "load", "save", "nothing"])
def test_functions_that_are_not_listed(table, capsys, name):
    assert synthesize(table, "--formula", f"visits ~ np.{name}(age)", "--public", "age") == 2
    assert "none of the functions that a formula may use" in one_sentence(capsys)


@pytest.mark.slow
@pytest.mark.parametrize(
    "terms",
    [
        *("x ** 10 ** 10", "I(x ** 10 ** 10)", "I(x + 9 ** 9 ** 9 ** 9)", "I(x * 1e999)", f"I(x + {'9' * 5000})"),
        *("(" * 100_000, f"{'(' * 10_000}x{')' * 10_000}", f"I({'(' * 10_000}x{')' * 10_000})", "I(" * 50_000),
        *(f"I({'-' * 100_000}y)", f"I(x{' + x' * 10_000})", f"I(x{' ** x' * 10_000})", "np.log(" * 500 + "x"),
        *("*".join(f"x{i}" for i in range(40)), f"({'+'.join(f'x{i}' for i in range(40))})**10"),
        ":".join(["(" + "*".join(f"x{i}" for i in range(12)) + ")"] * 200),
        *("poly(x, 1000000000)", "bs(x, df=1000000000)", f"bs(x, knots=[{', '.join(['1'] * 10_000)}])"),
        *(f"x + {'1' * 200_000}x + `", "x" * 2_000_000, "'" + "\\" * 100_000, "`" * 100_001, "x + " * 100_000),
        *("I(x == '\\ud800')", "I(x == '\\Uffffffff')", "I(x == '\\d')", "I(x + \u0665)", "\ud800", "I(x\x00)"),
    ],
)
def test_what_is_written_to_exhaust_comes_to_an_end(terms):
    rows = pd.DataFrame({"x": [1.0, 2.0, 3.0, 5.0]})
    begun = time.monotonic()
    with pytest.raises(InputError) as error:
        design_matrix(Formula.parse(f"y ~ {terms}"), {"x": rows["x"].to_numpy()}, np.ones(4, int))
    assert time.monotonic() - begun < 10
    assert len(str(error.value)) < 1_000


EVENTS: list[str] = []
LISTENING = [False]


def listen(event, arguments):
    """Python's own record of what runs: code, imports, files, commands."""
    if LISTENING[0] and event.split(".")[0] in ("exec", "compile", "import", "open", "os", "subprocess"):
        EVENTS.append(event)


sys.addaudithook(listen)
PIECES = [
    *(
        "x",
        "y",
        "g",
        "age",
        "`x`",
        "`my x`",
        "canary",
        "canary()",
        "canary(x)",
        "I",
        "C",
        "np.",
        "np.log",
        "poly",
        "bs",
        "scale",
    ),
    *(
        "center",
        "(",
        ")",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ",",
        "=",
        "==",
        "+",
        "-",
        "*",
        "/",
        "**",
        ":",
        "^",
        "%",
        "~",
        "|",
        ".",
    ),
    *(
        "0",
        "1",
        "2",
        "0.5",
        "1e3",
        "'f'",
        '"',
        "'",
        "`",
        "\\",
        "\n",
        "levels",
        "raw=True",
        "knots=[1]",
        "lambda",
        "if",
        "else",
    ),
    *(
        "__import__('os')",
        "__class__",
        "eval('canary()')",
        "exec",
        ":=",
        "f'{canary()}'",
        "@",
        "&",
        "import",
        "await",
        " ",
    ),
]


def allowed(expression):
    """Whether an expression is made of what the package lists, by the list written again."""
    names = {"Constant", "Column", "Operation", "Call"}
    fine = type(expression).__name__ in names and type(expression).__module__ == expressions.__name__
    if isinstance(expression, expressions.Operation):
        fine &= expression.sign in ["+", "-", "*", "/", "//", "%", "**", "==", "!=", "<", "<=", ">", ">="]
    if isinstance(expression, expressions.Call):
        fine &= expression.function in FUNCTIONS and not expression.function.startswith(("np._", "np.lib"))
        constants = itertools.chain.from_iterable(v if isinstance(v, tuple) else [v] for _, v in expression.options)
        fine &= all(type(value) in (int, float, str, bool) for value in constants)
    return fine and all(allowed(part) for part in parts_of(expression))


@settings(max_examples=200, deadline=None)
@given(st.one_of(st.lists(st.sampled_from(PIECES), max_size=14).map("".join), st.text(max_size=30)))
def test_no_text_runs_anything(pieces):
    called, said = [], []
    builtins.canary = lambda *inputs: called.append(inputs)
    rows = pd.DataFrame({"x": [1.0, 2.0, 4.0, 7.0], "my x": [1, 2, 3, 5], "age": [3, 1, 4, 1], "g": list("fmfm")})
    rows["canary"] = [1.0, 3.0, 2.0, 9.0]
    learn_terms(Formula.parse("y ~ poly(x, 2) + C(g)"), rows, np.ones(4, int))  # imports what is needed
    EVENTS.clear()
    try:
        for text in (f"y ~ {pieces}", f"y ~ I({pieces})", f"{pieces} ~ x", pieces):
            LISTENING[0] = True
            try:
                formula = Formula.parse(text)
                LISTENING[0] = False
                assert all(allowed(factor) for factor in formula.factors.values())
                again = Formula.parse(f"`the y` ~ {' + '.join(map(written, formula.factors.values())) or 1}")
                assert again.factors == formula.factors  # as it is written, it is read
                if formula.covariates and set(formula.covariates) <= set(rows):
                    learnt, values = learn_terms(formula, rows, np.ones(4, int))
                    assert np.isfinite(values).all()
                    assert np.allclose(compute_terms(learnt, rows), values)
            except InputError as error:
                said.append(str(error))
            finally:
                LISTENING[0] = False
    finally:
        del builtins.canary
    assert not called
    assert not EVENTS
    assert not any("\n" in sentence for sentence in said)


def test_nothing_in_the_package_evaluates_text():
    """No eval, exec or compile by name, no formula of another library's, and of formulaic only what reads no text."""
    taken = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Name):
                assert node.id not in ("eval", "exec", "compile", "__import__"), path
            if isinstance(node, ast.Import):
                assert not {alias.name.split(".")[0] for alias in node.names} & {"ast", "patsy", "numexpr"}, path
                assert "formulaic" not in {alias.name.split(".")[0] for alias in node.names}, path
            if isinstance(node, ast.ImportFrom) and node.module:
                assert node.module.split(".")[0] not in ("ast", "patsy", "numexpr"), path
                assert node.module != "statsmodels.formula.api", path
                if node.module.split(".")[0] == "formulaic":
                    assert path.stem in ("formula", "terms")
                    taken |= {alias.name for alias in node.names}
            if isinstance(node, ast.Attribute):
                # OpenDP begins its queries so, without any text.
                allowed = {"query"} if path.name == "peers.py" else set()
                assert node.attr not in {"eval", "query", "literal_eval", "from_formula"} - allowed, path
    assert taken == {"SimpleFormula", "Factor", "Term", "errors", "C", "transforms"}


def test_every_listed_function_has_values_and_no_other():
    assert sorted(ELEMENTWISE_VALUES) == sorted(expressions.ELEMENTWISE)
    x = np.linspace(0.1, 0.9, 5)
    for name, inputs in expressions.ELEMENTWISE.items():
        with np.errstate(invalid="ignore"):
            values = ELEMENTWISE_VALUES[name](*[x] * inputs)
        assert isinstance(values, np.ndarray)
        assert values.shape == (5,)
    for name in expressions.ONE_INPUT:
        with np.errstate(invalid="ignore"):
            assert np.array_equal(ELEMENTWISE_VALUES[f"np.{name}"](x), getattr(np, name)(x), equal_nan=True)
    assert np.allclose(ELEMENTWISE_VALUES["exp10"](x), 10**x)


SAMPLE = np.random.default_rng(3)
TABLE = pd.DataFrame(
    {
        "x": SAMPLE.normal(2, 1, 60),
        "z": SAMPLE.integers(1, 9, 60),
        "my x": SAMPLE.random(60),
        "g": SAMPLE.choice(list("abc"), 60),
        "h": SAMPLE.choice(["u", "v"], 60),
        "flag": SAMPLE.random(60) < 0.5,
    }
)
ORACLE = [
    *(
        "x",
        "x + z + g",
        "g * h",
        "x * g",
        "x / g",
        "(x + g) ** 2",
        "(x + z + g) ^ 2 - x:z",
        "0 + g",
        "g - 1",
        "-1 + x + g",
    ),
    *("C(z)", "C(g, levels=['c', 'a', 'b'])", "C(z, levels=[1, 2, 3, 4, 5, 6, 7, 8]):x", "x:C(g)", "g:h + 0"),
    *("center(x)", "scale(x)", "scale(x, center=2.0, scale=3.0)", "scale(z, ddof=0)", "standardize(x)", "poly(x, 3)"),
    *(
        "poly(z, 2, raw=True)",
        "poly(x, degree=2)",
        "bs(x, df=5)",
        "bs(x, knots=[1.5, 2.5], lower_bound=-9, upper_bound=9)",
    ),
    *("bs(x, 6, degree=2, include_intercept=True) - 1", "cr(x, df=4)", "cs(x, 4)", "cc(x, df=4, constraints='center')"),
    *(
        "np.log1p(z)",
        "log(z) + exp(x)",
        "np.sqrt(z) + np.abs(x)",
        "I(x ** 2 - 3 * x / (z + 1))",
        "I(-x ** 2)",
        "I(2 ** -x)",
    ),
    *(
        "I(z // 2 + z % 3)",
        "I(x > 2)",
        "I((x > 2) * z)",
        "I(z == 3)",
        "I(g == 'a')",
        "I('a' != g)",
        "C(x > 2)",
        "C(z // 3)",
    ),
    *("np.minimum(x, 2)", "np.maximum(x, z)", "np.where(x > 2, z, 0)", "np.clip(x, 1, 3)", "np.power(z, 2)"),
    *(
        "`my x`",
        "I(`my x` * x)",
        "C(`my x` > 0.5)",
        "np.log(center(z) + 20)",
        "center(np.log(z))",
        "flag",
        "I(flag + x)",
    ),
]


@pytest.mark.parametrize("terms", ORACLE)
def test_designs_are_those_of_formulaic(terms):
    formula = Formula.parse(f"y ~ {terms}")
    learnt, values = learn_terms(formula, TABLE[list(formula.covariates)], np.ones(60, int))
    plain = formulaic.Formula(terms).get_model_matrix(TABLE, context={})
    np.testing.assert_allclose(values, np.asarray(plain, float), rtol=1e-9, atol=1e-12)
    assert len(learnt.column_names) == plain.shape[1]


NAMES = st.sampled_from(["a", "b", "c", "d"])
ALGEBRA = st.recursive(
    NAMES,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from([" + ", " * ", ":", " / ", " - "]), inner).map("".join),
        inner.map(lambda text: f"({text})"),
        st.tuples(inner, st.integers(1, 3)).map(lambda pair: f"({pair[0]})**{pair[1]}"),
    ),
    max_leaves=7,
)


@settings(max_examples=300, deadline=None)
@given(ALGEBRA, st.sampled_from(["", "0 + ", "-1 + ", "1 + "]), st.sampled_from(["", " - 1", " + 0", " + 1"]))
def test_terms_are_those_of_formulaic(text, before, after):
    """The algebra of terms, in the same order, by another parser."""
    whole = f"{before}{text}{after}"
    expected = [tuple(f.expr for f in term.factors if f.expr != "1") for term in formulaic.Formula(whole)]
    try:
        found = list(Formula.parse(f"y ~ {whole}").terms)
    except InputError:
        assert not any(expected)
        return
    assert [frozenset(term) for term in found] == [frozenset(term) for term in expected]


ODD = [
    "C(x)",
    "np.log(x)",
    "1",
    "0",
    "Intercept",
    "a:b",
    "x ~ z",
    "it's",
    'a "b"',
    "back\\slash",
    "new\nline",
    "{x}",
    "x[T.a]",
]


@pytest.mark.parametrize("name", [*ODD, "I(__import__('os'))", " x ", "µ", "1e5", "True", "age.mean()", "\\"])
def test_a_quoted_name_is_a_column_whatever_it_says(name):
    table = {name: TABLE["z"].to_numpy(), "x": TABLE["my x"].to_numpy() + 1}
    formula = Formula.parse(f"y ~ C(x > 1.5) + np.log(x) + `{name}` + I(`{name}` ** 2)")
    assert formula.covariates == tuple(sorted((name, "x")))
    learnt, values = learn_terms(formula, pd.DataFrame(table), np.ones(60, int))
    assert values.shape == (60, 5)
    assert len(set(learnt.column_names)) == 5
    assert np.array_equal(values[:, 3], table[name])
    assert np.array_equal(values[:, 4], table[name] ** 2)
    with pytest.raises(InputError, match="both sides"):
        Formula.parse(f"`{name}` ~ `{name}`")


def test_levels_are_written_as_they_are():
    odd = ["it's", 'a "b"', "back\\slash", "new\nline", "`tick`", "(", "]", "\x00", "\xa0", "\u200b", "\U0001f600", ""]
    formula = Formula.parse("y ~ C( g ) + C(`C(g)`) + I('C(g)' != h) + x")
    written = formula.with_levels({"g": odd, "C(g)": odd})
    assert dict(written.factors[next(n for n in written.factors if n.startswith("C(g"))].options)["levels"] == tuple(
        odd
    )
    assert written.covariates == formula.covariates
    assert "'C(g)' != h" in written.text
    rows = pd.DataFrame({"g": odd, "C(g)": odd, "h": odd, "x": np.arange(12.0)})
    _, values = learn_terms(written, rows, np.ones(12, int))
    assert np.array_equal(values[:, 1:12], np.eye(12)[:, 1:])
    assert formula.with_levels({}) is formula


def test_a_function_that_reads_other_records_would_be_found(monkeypatch):
    """None is listed; were one to be, its values would differ from row to row."""
    monkeypatch.setitem(ELEMENTWISE_VALUES, "np.sign", np.cumsum)
    with pytest.raises(InputError, match="own record only"):
        learn_terms(Formula.parse("y ~ np.sign(x)"), TABLE[["x"]], np.ones(60, int))


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        ("np.log(x, z)", "np.log must have 1 input, found 2"),
        ("np.minimum(x)", "np.minimum must have 2 inputs, found 1"),
        ("np.log()", r"expected a column before '\)'"),
        ("np.log(x=2)", r"expected '\)' before '='"),
        ("log (x)", r"unexpected '\('"),
        ("I(2 * C(g))", r"by themselves, found one inside \*"),
        ("np.log(poly(x, 2))", "by themselves, found one inside np.log"),
        ("I(x + 'a')", "text must be compared with a column"),
        ("I(x < 'a')", "text must be compared with a column"),
        ("np.log('a')", "inputs of np.log must be numbers or columns, found text"),
        ("C(g, contrasts=1)", "options of C must be of these: levels; found 'contrasts'"),
        ("C(g, ['a'])", "options of C must be named"),
        ("C(g, levels=[])", "levels of C must be a list of text or of numbers"),
        ("C(g, levels='a')", "levels of C must be a list"),
        ("scale(x, center='a')", "center of scale must be a number, True or False"),
        ("scale(x, 1, center=2)", "named, once each"),
        ("center(x, 2)", "options of center must be named"),
        ("poly(x, 0)", "degree of poly must be a whole number from 1 to 100"),
        ("poly(x, 2.5)", "degree of poly must be a whole number"),
        ("poly(x, raw=1)", "raw of poly must be True or False"),
        ("bs(x, knots=['a'])", "knots of bs must be a list of at most 100 numbers"),
        ("bs(x, df=z)", "options are constants"),
        ("bs(x, extrapolation='os')", "extrapolation of bs must be one of 'raise'"),
        ("cr(x, constraints=[[1]])", "options are constants"),
        ("I(1 < x < 2)", r"expected '\)' before '<'"),
        ("I(x & z)", "unexpected '&'"),
        ("2 * x", "numbers among the terms must be 0, 1 or a power"),
        ("x ** 2.5", "whole number from 1 to 10"),
        ("x ** 11", "whole number from 1 to 10"),
        ("x + I(3)", r"terms must read columns, found 'I\(3\)'"),
        ("x z", "unexpected 'z'"),
        ("x |", r"unexpected '\|'"),
        (".", r"unexpected '\.'"),
        ("x %in% z", "unexpected '%'"),
        ("``", "unexpected '`'"),
    ],
)
def test_what_may_not_stand_in_a_formula(terms, message):
    with pytest.raises(InputError, match=message):
        Formula.parse(f"y ~ {terms}")


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        ("np.log(g)", "column 'g' must hold numbers to be computed with"),
        ("I(g * 2)", "column 'g' must hold numbers"),
        ("bs(x, df=2)", "cannot be computed from its columns"),
        ("bs(x, knots=[1], lower_bound=1, upper_bound=2)", "cannot be computed from its columns"),
        ("I(x / 0)", "finite in every record"),
        ("I(x ** 9 ** 9)", "finite in every record"),
    ],
)
def test_terms_that_have_no_values(terms, message):
    formula = Formula.parse(f"y ~ {terms}")
    with pytest.raises(InputError, match=message):
        learn_terms(formula, TABLE[list(formula.covariates)], np.ones(60, int))


def test_the_guide_lists_what_may_stand_in_a_formula():
    guide = (PACKAGE.parents[1] / "docs" / "guide.md").read_text()
    section = guide.split("### What may stand in a formula")[1].split("There are limits")[0]
    short, rest = section.split("Functions of each value: `")[1].split("`, and with `np.` before them `")
    numpy, rest = rest.split("`; of two", 1)
    assert sorted([*short.split(), "I"]) == sorted(
        n for n, k in expressions.ELEMENTWISE.items() if "." not in n and k == 1
    )
    assert sorted(numpy.split()) == sorted(expressions.ONE_INPUT)
    for name in FUNCTIONS:
        assert name.removeprefix("np.") in re.findall(r"\w+", section), name
    for options in expressions.OPTIONS.values():
        assert set(options) <= set(re.findall(r"\w+", section))


def test_the_right_hand_side_begins_after_the_response():
    formula = Formula.parse("`a ~ b` ~ `c ~ d` + C(x, levels=['~'])")
    assert (formula.response, formula.right) == ("a ~ b", "`c ~ d` + C(x, levels=['~'])")


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("I(-x**2)", "I(-(x ** 2))"),
        ("I(x-0.5 *z)", "I(x - (0.5 * z))"),
        ("poly( x,2, True )", "poly(x, degree=2, raw=True)"),
        ("C(`my x`,levels=('it\\'s', \"b\",))", "C(`my x`, levels=[\"it's\", 'b'])"),
        ("bs(x, knots=[1e3,-2], lower_bound=-.5)", "bs(x, knots=[1000.0, -2], lower_bound=-0.5)"),
    ],
)
def test_terms_have_one_name_however_they_are_written(text, label):
    formula = Formula.parse(f"y ~ {text} + {label}")
    assert formula.terms == ((), (label,))


def test_columns_of_an_expression():
    factors = Formula.parse("y ~ np.where(x > 2, `my x`, z) + C(g)").factors
    assert [sorted(columns_of(factor)) for factor in factors.values()] == [["my x", "x", "z"], ["g"]]


def test_a_formula_is_text():
    with pytest.raises(InputError, match="formula must be text, found 3"):
        Formula.parse(3)
