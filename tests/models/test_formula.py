"""Formulas: what is read, what is refused, and design matrices that grouping does not change."""

from __future__ import annotations

import formulaic
import numpy as np
import pandas as pd
import pytest

from alphasynth.errors import InputError
from alphasynth.models.formula import Formula, design_matrix
from alphasynth.tables.records import Records


def design(text, table):
    """Design matrix by record, made on distinct rows."""
    formula = Formula.parse(text)
    records = Records.from_table(table, [formula.response, *formula.covariates])
    return records.expand(design_matrix(formula, records.columns, records.counts))


@pytest.mark.parametrize(
    "terms",
    [
        "1",
        "age",
        "age + C(sex)",
        "age:C(sex)",
        "np.log(age) + sex",
        "0 + C(sex)",
        "center(age)",
        "scale(age) + sex",
        "poly(age, 2)",
    ],
)
def test_grouping_never_changes_the_design(terms, regression):
    plain = formulaic.Formula(terms).get_model_matrix(regression, context={})
    np.testing.assert_allclose(design(f"visits ~ {terms}", regression), np.asarray(plain, float), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["type", "id", "sum", "range", "log", "C"])
def test_columns_may_have_the_names_of_functions(name, regression):
    table = regression.rename(columns={"sex": name})
    formula = Formula.parse(f"visits ~ age * C({name})" if name != "C" else "visits ~ age * C")
    assert formula.covariates == tuple(sorted(("age", name)))
    assert design(formula.text, table).shape == (400, 6)


def test_small_integers_do_not_wrap_around(regression):
    table = regression.assign(age=regression["age"].astype("uint8"))
    plain = design("visits ~ age + I(age**2)", regression)
    assert np.array_equal(design("visits ~ age + I(age**2)", table), plain)


def test_categories_take_the_frames_own_order():
    table = pd.DataFrame({"y": [1, 2, 3, 4], "c": pd.Categorical(["b", "a", "b", "c"], categories=["c", "b", "a"])})
    plain = formulaic.Formula("c").get_model_matrix(table, context={})
    assert np.array_equal(design("y ~ c", table), np.asarray(plain, float))


@pytest.mark.parametrize(
    "text",
    [
        *("y", "~ x", "y + z ~ x", "y ~ x | z", "log(y) ~ x", "y ~ x +", "y ~ x + y", "y ~ ."),
        *("y ~ 0", "y ~ -1", "y ~ I(1)", "y ~ {x y}", "y ~ C(`class` x)", "", "~"),
    ],
)
def test_what_is_no_formula_of_one_column_is_refused(text):
    with pytest.raises(InputError):
        Formula.parse(text)


def test_a_column_with_an_odd_name_can_be_quoted():
    assert Formula.parse("`my count` ~ `the age`").response == "my count"


@pytest.mark.parametrize("terms", ["lag(age)", "{age - age.mean()}", "{age.rank()}", "I(age - age.mean())"])
def test_terms_that_read_other_records_are_refused(terms):
    with pytest.raises(InputError, match=r"functions that a formula may use|unexpected '\{'"):
        Formula.parse(f"visits ~ {terms}")


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        ("age + same", "'same' must vary"),
        ("age + twice", "collinear.*(age|twice)"),
        ("C(sex) + man + age", "collinear"),
        ("np.log(age - 18)", "finite in every record"),
        ("unknown_function(age)", "functions that a formula may use"),
        ("age + unknown", "'unknown' .* is not in the table"),
        ("np.nothing(age)", "functions that a formula may use"),
        ("C(sex, levels=['f', 'm'])", "must list every level"),
    ],
)
def test_designs_without_an_answer_are_refused(terms, message, regression):
    table = regression.assign(same=3, twice=2 * regression["age"] + 1, man=(regression["sex"] == "m") * 1)
    with np.errstate(divide="ignore"), pytest.raises(InputError, match=message):
        design(f"visits ~ {terms}", table)


def test_units_of_covariates_are_no_collinearity(regression):
    for unit in (1e9, 1e-200, 1e200):
        table = regression.assign(income=regression["age"] ** 2 * unit)
        assert design("visits ~ age + income", table).shape == (400, 3)
