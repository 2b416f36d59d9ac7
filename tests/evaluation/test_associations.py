"""Associations of pairs, and regressions: by hand, against scipy and statsmodels, against certified values."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from alphasynth.errors import InputError
from alphasynth.evaluation import associations
from alphasynth.evaluation.associations import CRAMER, ETA, SPEARMAN, all_associations, association, pairs, regress
from alphasynth.evaluation.values import read_records
from alphasynth.tables.declared import Declared
from alphasynth.tables.records import Records


def records(frame):
    return Records.from_table(frame, list(frame.columns))


def rng(seed=0):
    return np.random.default_rng(seed)


class TestAssociations:
    def table(self, n=500):
        generator = rng(5)
        x = generator.integers(0, 20, n)
        y, h = x + generator.integers(0, 20, n), ["c", "d", "e", "d"] * (n // 4)
        return pd.DataFrame({"x": x, "y": y, "g": np.where(x > 9, "a", "b"), "h": h})

    def test_the_measure_suits_the_columns(self):
        found = {(p.one, p.other): p.measure for p in pairs(records(self.table()))}
        assert found[("x", "y")] == SPEARMAN
        assert found[("x", "g")] == ETA
        assert found[("g", "h")] == CRAMER
        assert len(found) == 6

    def test_against_scipy_on_the_rows(self):
        table = self.table()
        database = records(table)
        found = {(p.one, p.other): association(database, p) for p in pairs(database)}
        assert found[("x", "y")] == pytest.approx(stats.spearmanr(table["x"], table["y"]).statistic)
        crossed = pd.crosstab(table["g"], table["h"]).to_numpy()
        assert found[("g", "h")] == pytest.approx(stats.contingency.association(crossed, method="cramer"))
        f = stats.f_oneway(*(group["y"] for _, group in table.groupby("h"))).statistic
        # eta^2 = F (k - 1) / (F (k - 1) + n - k)
        assert found[("y", "h")] == pytest.approx(np.sqrt(f * 2 / (f * 2 + 500 - 3)))

    def test_eta_by_hand(self):
        # Means 1 and 5 around 3: between 2 * 4 + 2 * 4 = 16 of 9 + 1 + 1 + 9 = 20.
        database = records(pd.DataFrame({"x": [0, 2, 4, 6], "g": ["a", "a", "b", "b"]}))
        assert association(database, pairs(database)[0]) == pytest.approx(np.sqrt(16 / 20))

    def test_a_column_that_does_not_vary_has_none(self):
        database = records(pd.DataFrame({"x": [1, 2], "y": [3, 3], "g": ["a", "a"], "h": ["b", "c"]}))
        assert all(np.isnan(association(database, p)) for p in pairs(database) if {"y", "g"} & {p.one, p.other})

    def test_those_of_all_pairs_are_those_one_by_one(self):
        """Columns with gaps, categories first, a column that does not vary: the fast path equals the slow one."""
        table = self.table().assign(y=lambda t: t["y"].where(t["x"] > 3), constant=1, last=lambda t: -t["x"])
        table = table[["h", "x", "y", "g", "constant", "last"]]
        database = read_records(table, list(table), {"y": Declared(missing="model")})
        wanted = pairs(database)
        slow = [association(database, pair) for pair in wanted]
        assert np.isnan(slow).any()
        assert np.isfinite(slow).sum() > 10
        assert all_associations(database, wanted) == pytest.approx(slow, abs=1e-12, nan_ok=True)
        one = records(pd.DataFrame({"x": [1, 1], "y": [2, 2]}))
        assert np.isnan(all_associations(one, pairs(one))).all()


class TestRegressions:
    def test_certified_coefficients_of_longley(self):
        """NIST's certified values of the Longley regression."""
        from statsmodels.datasets import longley

        table = longley.load_pandas().data
        certified = [
            -3482258.63459582,
            15.0618722713733,
            -0.358191792925910e-01,
            -2.02022980381683,
            -1.03322686717359,
            -0.511041056535807e-01,
            1829.15146461355,
        ]
        table["TOTEMP"] += 0.5  # whole numbers would be taken for counts
        fitted = regress("TOTEMP ~ GNPDEFL + GNP + UNEMP + ARMED + POP + YEAR", records(table), [])
        found = fitted.coefficients[0] - np.array([0.5, 0, 0, 0, 0, 0, 0])
        assert fitted.kind == "least squares"
        assert found == pytest.approx(certified, rel=1e-6)
        # The certified standard deviation of the first one.
        assert fitted.variances[0, 0] ** 0.5 == pytest.approx(890420.383607373, rel=1e-6)

    @pytest.mark.parametrize("kind", ["logistic", "log-linear (quasi-Poisson)", "least squares"])
    def test_distinct_rows_fit_as_all_rows_do(self, kind):
        import statsmodels.api as sm

        generator = rng(8)
        x, g = generator.integers(0, 5, 400), generator.choice(["a", "b"], 400)
        eta = 0.3 * x - 0.5 * (g == "b")
        y = {
            "logistic": generator.random(400) < 1 / (1 + np.exp(-eta)),
            "log-linear (quasi-Poisson)": generator.poisson(np.exp(eta)),
            "least squares": np.round(eta + generator.normal(size=400), 1),
        }[kind]
        table = pd.DataFrame({"y": np.asarray(y) * 1, "x": x, "g": g})
        found = regress("y ~ x + g", records(table), [])
        assert found.kind == kind
        X = np.column_stack([np.ones(400), x, g == "b"]).astype(float)
        family = {"logistic": sm.families.Binomial(), "least squares": sm.families.Gaussian()}
        model = sm.GLM(table["y"].to_numpy(float), X, family=family.get(kind, sm.families.Poisson()))
        expected = model.fit(scale=1.0 if kind == "logistic" else "X2")
        assert found.coefficients[0] == pytest.approx(expected.params, rel=1e-6)
        assert found.variances[0] == pytest.approx(expected.bse**2, rel=1e-6)

    def test_a_reference_category_that_a_table_lacks(self):
        """The level that others are measured against is one that every table has."""
        generator = rng(1)
        g = np.array(["b", "c"] * 100)
        table = pd.DataFrame({"y": np.where(g == "b", 1.0, 3.0) + generator.normal(0, 0.1, 200).round(2), "g": g})
        other = pd.concat([table, pd.DataFrame({"y": [9.5, 9.6], "g": ["a", "a"]})])
        found = regress("y ~ g", records(table), [records(other)])
        assert found.terms == ("Intercept", "g[T.c]", "g[T.a]")
        assert found.coefficients[:, 0] == pytest.approx([1, 1], abs=0.05)
        assert found.coefficients[:, 1] == pytest.approx([2, 2], abs=0.05)
        assert np.isnan(found.coefficients[0, 2])

    @pytest.mark.parametrize("codes", [(2, 3, 1), (0.5, 1.5, -1.0), (1e300, 2e300, 1e9), ("b", "c", "a")])
    def test_codes_that_only_one_table_has(self, codes):
        """Codes as levels are those of all tables, and the first is one that every table has."""
        generator, (first, second, new) = rng(1), codes
        g = np.array([first, second] * 100)
        table = pd.DataFrame({"y": np.where(g == first, 1.0, 3.0) + generator.normal(0, 0.1, 200).round(2), "g": g})
        other = pd.concat([table, pd.DataFrame({"y": [9.5, 9.6], "g": [new, new]})])
        for one, two in [(table, other), (other, table)]:
            found = regress("y ~ C(g)", records(one), [records(two)])
            assert found.terms == ("Intercept", f"C(g)[T.{second}]", f"C(g)[T.{new}]")
            assert found.coefficients[:, 1] == pytest.approx([2, 2], abs=0.05)
            assert sorted(np.isnan(found.coefficients[:, 2])) == [False, True]

    def test_terms_that_a_table_does_not_determine(self):
        generator = rng(2)
        table = pd.DataFrame({"y": generator.normal(size=50), "x": generator.normal(size=50)})
        table["twice"] = 2 * table["x"]
        found = regress("y ~ x + twice", records(table), [records(table.assign(x=5.0))])
        assert np.isnan(found.coefficients[0]).tolist() == [False, False, True]
        assert np.isnan(found.coefficients[1]).tolist() == [False, True, False]

    def test_terms_of_very_different_size(self):
        generator = rng(3)
        big, tiny = generator.normal(size=300), generator.normal(size=300)
        table = pd.DataFrame({"y": 2 * tiny - big + generator.normal(size=300), "big": 1e9 * big, "tiny": 1e-6 * tiny})
        found = regress("y ~ big + tiny", records(table), [])
        scaled = regress("y ~ big + tiny", records(table.assign(big=big, tiny=tiny)), [])
        assert found.coefficients[0] * [1, 1e9, 1e-6] == pytest.approx(scaled.coefficients[0])
        assert found.variances[0] * [1, 1e18, 1e-12] == pytest.approx(scaled.variances[0])

    def test_what_terms_learn_they_learn_from_the_confidential_records(self):
        generator = rng(4)
        x = generator.poisson(3, 400)
        table = pd.DataFrame({"y": x + generator.normal(size=400), "x": x})
        other = table.assign(x=table["x"] + 100)
        found = regress("y ~ scale(x)", records(table), [records(other)])
        plain = regress("y ~ x", records(table), [records(other)])
        assert found.coefficients[:, 1] == pytest.approx(plain.coefficients[:, 1] * x.std(ddof=1), rel=1e-6)

    @pytest.mark.parametrize("kind", ["logistic", "count"])
    def test_a_response_that_the_model_cannot_have(self, kind):
        table = pd.DataFrame({"y": [0, 1] * 10 if kind == "logistic" else [0, 5] * 10, "x": range(20)})
        found = regress("y ~ x", records(table), [records(table.assign(y=table["y"] * 2 - 1))])
        assert np.isfinite(found.coefficients[0]).all()
        assert np.isnan(found.coefficients[1]).all()

    def test_a_category_that_a_table_lacks(self):
        table = pd.DataFrame({"y": [1.5, 2.5, 3.5, 4.0] * 3, "g": ["a", "b", "c", "a"] * 3})
        lacks = table[table["g"] != "c"]
        found = regress("y ~ g", records(table), [records(lacks)])
        assert found.terms == ("Intercept", "g[T.b]", "g[T.c]")
        assert np.isnan(found.coefficients[1, 2])
        assert np.isfinite(found.coefficients[1, :2]).all()

    @pytest.mark.parametrize(
        ("formula", "sentence"),
        [("g ~ y", "must be a numeric column"), ("y ~ z", "columns that are compared"), ("~ y", "must read")],
    )
    def test_what_cannot_be_fitted(self, formula, sentence):
        table = pd.DataFrame({"y": [1.5, 2.5, 3.5], "g": ["a", "b", "c"]})
        with pytest.raises(InputError, match=sentence):
            regress(formula, records(table), [records(table)])


def test_ranks_are_mean_ranks():
    values, counts = np.array([5.0, 1.0, 5.0]), np.array([1, 2, 3])
    rows = stats.rankdata(np.repeat(values, counts))
    assert np.repeat(associations.ranks_of(values, counts), counts).tolist() == rows.tolist()


def test_what_a_library_says_of_separation_is_not_passed_on():
    """It sets filters of its own as it is imported, which a process does but once."""
    program = (
        "import numpy as np, alphasynth.evaluation.associations as a\n"
        "y = np.repeat([0.0, 1.0], 20)\n"
        "a._fit(a.LOGISTIC, y, np.stack([np.ones(40), y], axis=1), np.ones(40))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stderr == ""
