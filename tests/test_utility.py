"""Distances, propensity scores, associations, regressions: by hand, against the libraries, against published values."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import alphasynth as syn
from alphasynth import associations, propensity
from alphasynth.associations import CRAMER, ETA, SPEARMAN, association, pairs, regress
from alphasynth.distances import distances, mean_distances
from alphasynth.errors import InputError
from alphasynth.propensity import propensities
from alphasynth.records import Records
from alphasynth.utility import evaluate
from alphasynth.values import Values

COLUMNS = st.lists(st.integers(0, 30), min_size=2, max_size=40)


def records(frame):
    return Records.from_table(frame, list(frame.columns))


def rng(seed=0):
    return np.random.default_rng(seed)


class TestDistances:
    def test_by_hand(self):
        # Distribution functions at 1, 2, 3, 4: 1/3 2/3 1 1 and 0 1/3 2/3 1; gaps 1/3 1/3 1/3 0.
        found = distances(Values.of([1, 2, 3]), Values.of([2, 3, 4]))
        assert found.largest == pytest.approx(1 / 3)
        assert found.mean_squared == pytest.approx((5 / 9) / 6)  # over the rows 1, 2, 2, 3, 3, 4
        assert found.wasserstein == pytest.approx(1)

    def test_published_values_of_wassersteins_distance(self):
        """The two examples in scipy's documentation."""
        assert distances(Values.of([0, 1, 3]), Values.of([5, 6, 8])).wasserstein == pytest.approx(5)
        one, other = Values.of([0, 1], [3, 1]), Values.of([0, 1], [2, 2])
        assert distances(one, other).wasserstein == pytest.approx(0.25)

    @given(one=COLUMNS, other=COLUMNS)
    def test_the_largest_is_the_two_sample_kolmogorov_statistic(self, one, other):
        found = distances(Values.of(one), Values.of(other))
        assert found.largest == pytest.approx(stats.ks_2samp(one, other, method="asymp").statistic)
        merged = np.concatenate([one, other])
        gaps = [np.mean(np.array(one) <= x) - np.mean(np.array(other) <= x) for x in merged]
        assert found.mean_squared == pytest.approx(np.mean(np.square(gaps)))
        assert found.wasserstein == pytest.approx(stats.wasserstein_distance(one, other))

    def test_averages_over_tables(self):
        found = mean_distances(Values.of([0, 0]), [Values.of([1, 1]), Values.of([3, 3])])
        assert (found.largest, found.wasserstein) == (1, 2)


class TestPropensity:
    def test_one_category_by_hand(self):
        """A saturated model: a row's propensity is the share of synthetic rows with its value."""
        # a: 30 confidential, 10 synthetic, p = 1/4; b: 10 and 30, p = 3/4; c = 1/2.
        confidential = pd.DataFrame({"x": ["a"] * 30 + ["b"] * 10})
        synthetic = pd.DataFrame({"x": ["a"] * 10 + ["b"] * 30})
        logistic, tree = propensities(rng(), records(confidential), [records(synthetic)])
        assert logistic.pmse == pytest.approx(1 / 16, rel=1e-3)
        assert logistic.null == pytest.approx(1 * (1 / 2) ** 2 * (1 / 2) / 80)  # k - 1 = 1
        assert logistic.standardised == pytest.approx(logistic.pmse / logistic.null)
        assert tree.pmse == pytest.approx(1 / 16)
        assert logistic.rows == 80

    def test_other_numbers_of_rows(self):
        """c = 1/4: all rows alike leave every propensity at c."""
        confidential, synthetic = pd.DataFrame({"x": ["a", "b"] * 30}), pd.DataFrame({"x": ["a", "b"] * 10})
        logistic, _ = propensities(rng(), records(confidential), [records(synthetic)])
        assert logistic.pmse == pytest.approx(0, abs=1e-9)
        assert logistic.null == pytest.approx((3 / 4) ** 2 * (1 / 4) / 80)

    def test_the_logistic_model_equals_statsmodels(self):
        import statsmodels.api as sm

        generator = rng(4)
        one = pd.DataFrame({"x": generator.normal(size=300), "g": generator.choice(["a", "b", "c"], 300)})
        other = pd.DataFrame({"x": generator.normal(0.5, 2, 200), "g": generator.choice(["a", "b", "c"], 200)})
        both = pd.concat([one, other], ignore_index=True)
        b, c, x = (both["g"] == "b").to_numpy(float), (both["g"] == "c").to_numpy(float), both["x"].to_numpy()
        X = np.column_stack([np.ones(500), x, x * x, b, c, x * b, x * c])
        label = np.repeat([0, 1], [300, 200])
        fitted = sm.Logit(label, X).fit(disp=0).predict(X)
        found = propensities(rng(), records(one), [records(other)])[0]
        assert found.pmse == pytest.approx(np.mean((fitted - 0.4) ** 2), rel=1e-3)
        assert found.null == pytest.approx(6 * 0.6**2 * 0.4 / 500)

    def test_a_bootstrap_scores_one_and_a_posterior_draw_two(self):
        """What the null means: 1 for rows drawn from the confidential table itself, 2 for a draw of its parameters.

        pMSE over its null is a chi-square of 2 degrees over 2 (x and x^2) for one table: sd 1. Over 300 databases the
        standard error is 0.06 and 0.12; three and a half of them.
        """
        generator = rng(6)
        bootstrap, posterior = [], []
        for _ in range(300):
            x = generator.normal(size=500)
            resampled = generator.choice(x, 500)
            sd = x.std() * np.sqrt(499 / generator.chisquare(499))
            drawn = generator.normal(generator.normal(x.mean(), x.std() / 500**0.5), sd, 500)
            held = records(pd.DataFrame({"x": x}))
            for scores, column in ((bootstrap, resampled), (posterior, drawn)):
                merged = propensity._Merged.of(generator, held, records(pd.DataFrame({"x": column})))
                pmse, null, _ = propensity._logistic(merged)
                scores.append(pmse / null)
        assert np.mean(bootstrap) == pytest.approx(1, abs=0.21)
        assert np.mean(posterior) == pytest.approx(2, abs=0.42)

    def test_a_bootstrap_scores_one_by_a_tree_too(self):
        """A tree of up to 100 leaves averages many chances: its score over 20 tables has an s.e. below 0.04."""
        generator = rng(16)
        x = generator.normal(size=1_000)
        tables = [records(pd.DataFrame({"x": generator.choice(x, 1_000)})) for _ in range(20)]
        tree = propensities(generator, records(pd.DataFrame({"x": x})), tables)[1]
        assert tree.standardised == pytest.approx(1, abs=0.16)

    def test_shuffling_gives_the_logistic_null(self):
        """Shuffled labels times 1 - c come to the formula; 400 shuffles of a chi-square over 2: s.e. 5 %."""
        generator = rng(7)
        x = generator.normal(size=900)
        one, other = records(pd.DataFrame({"x": x[:600]})), records(pd.DataFrame({"x": x[600:]}))
        merged = propensity._Merged.of(generator, one, other)
        features = propensity._independent(propensity._features(merged.columns)[0], merged.counts)
        from sklearn.linear_model import LogisticRegression

        model = LogisticRegression(C=1e4, solver="newton-cholesky")
        shuffles = generator.multivariate_hypergeometric(merged.counts, 300, 400, method="marginals")
        scores = [merged.pmse(merged.fit(model, features, shuffled)) for shuffled in shuffles]
        assert (1 - merged.share) * np.mean(scores) == pytest.approx(propensity._logistic(merged)[1], rel=0.18)

    def test_dependence_is_seen(self):
        """Columns permuted apart: main effects are blind to it, products are not."""
        generator = rng(1)
        x = generator.normal(size=2_000)
        table = pd.DataFrame({"x": x, "y": x + generator.normal(size=2_000)})
        permuted = table.assign(y=generator.permutation(table["y"]))
        logistic, tree = propensities(generator, records(table), [records(permuted)])
        assert logistic.standardised > 20
        assert tree.standardised > 2

    @pytest.mark.parametrize(("synthesizer", "published"), [("permuted", 331), ("bootstrap", 0.9)])
    def test_on_a_real_table_as_measured_elsewhere(self, synthesizer, published, monkeypatch):
        """RAND health insurance, all two-way products: an independent program found 331 and 0.9 (one run each).

        The score of a bootstrap has a standard deviation of about sqrt(2 / 60); the permuted one's is of the order of a
        per cent of itself; three of each, and what the choice of products makes (squares of 0/1 columns, say).
        """
        from statsmodels.datasets import randhie

        monkeypatch.setattr(propensity, "MOST_ROWS", 100_000)
        monkeypatch.setattr(propensity, "SHUFFLES", 1)
        table = randhie.load_pandas().data
        generator = rng(3)
        if synthesizer == "bootstrap":
            other = table.sample(len(table), replace=True, random_state=1)
        else:
            other = pd.DataFrame({name: generator.permutation(table[name]) for name in table.columns})
        found = propensities(generator, records(table), [records(other)])[0]
        assert found.rows == 2 * 20_190
        assert found.standardised == pytest.approx(published, rel=0.1, abs=0.55)

    def test_many_distinct_rows_are_thinned(self):
        generator = rng(2)
        one, other = (records(pd.DataFrame({"x": generator.normal(size=30_000)})) for _ in range(2))
        assert [p.rows for p in propensities(generator, one, [other])] == [2 * propensity.MOST_ROWS] * 2

    def test_a_bootstrap_of_thinned_rows_scores_one_too(self, monkeypatch):
        """The confidential rows are then a sample themselves; 200 scores of a chi-square over 2: s.e. 0.07."""
        monkeypatch.setattr(propensity, "MOST_ROWS", 300)
        generator = rng(21)
        x = generator.normal(size=1_000)
        held, scores = records(pd.DataFrame({"x": x})), []
        for _ in range(200):
            merged = propensity._Merged.of(generator, held, records(pd.DataFrame({"x": generator.choice(x, 1_000)})))
            pmse, null, _ = propensity._logistic(merged)
            scores.append(pmse / null)
        assert np.mean(scores) == pytest.approx(1, abs=0.25)

    def test_products_that_do_not_fit_are_told(self):
        generator = rng(22)
        a = generator.integers(0, 20, 1_000)
        table = pd.DataFrame({"a": a.astype(str), "b": a.astype(str)})
        logistic, tree = propensities(
            generator, records(table), [records(table.assign(b=generator.permutation(table["b"])))]
        )
        assert logistic.model == "logistic, main effects"
        assert tree.standardised > 5
        more = table.assign(x=a)
        assert "some two-way products" in propensities(generator, records(more), [records(more)])[0].model

    def test_text_with_a_value_of_its_own_in_every_row(self):
        frame = pd.DataFrame({"id": [f"person {i}" for i in range(3_000)], "y": rng(5).poisson(9, 3_000)})
        found = propensities(rng(), records(frame), [records(frame.assign(id=frame["id"] + "x"))])
        assert all(p.pmse >= 0 for p in found)

    def test_columns_called_like_ours(self):
        frame = pd.DataFrame({"side": [1, 2, 3] * 9, "count": [3, 4, 5] * 9, "": [1, 1, 2] * 9})
        assert propensities(rng(), records(frame), [records(frame)])[0].pmse == pytest.approx(0, abs=1e-9)

    def test_a_column_that_does_not_vary(self):
        frame = pd.DataFrame({"x": [5] * 20})
        logistic, tree = propensities(rng(), records(frame), [records(frame)])
        assert (logistic.pmse, tree.pmse) == (0, 0)
        assert np.isnan(logistic.standardised)


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
        held = records(table)
        found = {(p.one, p.other): association(held, p) for p in pairs(held)}
        assert found[("x", "y")] == pytest.approx(stats.spearmanr(table["x"], table["y"]).statistic)
        crossed = pd.crosstab(table["g"], table["h"]).to_numpy()
        assert found[("g", "h")] == pytest.approx(stats.contingency.association(crossed, method="cramer"))
        f = stats.f_oneway(*(group["y"] for _, group in table.groupby("h"))).statistic
        # eta^2 = F (k - 1) / (F (k - 1) + n - k)
        assert found[("y", "h")] == pytest.approx(np.sqrt(f * 2 / (f * 2 + 500 - 3)))

    def test_eta_by_hand(self):
        # Means 1 and 5 around 3: between 2 * 4 + 2 * 4 = 16 of 9 + 1 + 1 + 9 = 20.
        held = records(pd.DataFrame({"x": [0, 2, 4, 6], "g": ["a", "a", "b", "b"]}))
        assert association(held, pairs(held)[0]) == pytest.approx(np.sqrt(16 / 20))

    def test_a_column_that_does_not_vary_has_none(self):
        held = records(pd.DataFrame({"x": [1, 2], "y": [3, 3], "g": ["a", "a"], "h": ["b", "c"]}))
        assert all(np.isnan(association(held, p)) for p in pairs(held) if {"y", "g"} & {p.one, p.other})


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


class TestEvaluate:
    def test_tables_that_we_did_not_make(self):
        generator = rng(11)
        pay, sex = generator.lognormal(10, 0.5, 300).round(), generator.choice(["f", "m"], 300)
        table = pd.DataFrame({"pay": pay, "sex": sex, "own": 1})
        others = [table.sample(250, replace=True, random_state=i)[["sex", "pay"]] for i in range(3)]
        found = evaluate(table, others)
        assert (found.n, found.rows, found.tables) == (300, 250, 3)
        assert [c.synthetic.statistic.name for c in found.comparisons] == ["mean", "median", "q15", "q90", "sd"]
        mean = found.comparison("pay", "mean")
        assert mean.value == pytest.approx(table["pay"].mean())
        assert mean.synthetic.combined.estimate == pytest.approx(np.mean([other["pay"].mean() for other in others]))
        assert mean.interval.low < mean.value < mean.interval.high
        assert [a.pair.measure for a in found.associations] == [ETA]
        assert [c.term for c in found.coefficients] == ["Intercept", "sex[T.m]"]
        assert list(found.distances) == ["pay"]
        with pytest.raises(InputError, match="one that was compared"):
            found.comparison("pay", "q99")

    def test_frames_of_any_kind_and_files_agree(self, tmp_path):
        import polars as pl
        import pyarrow as pa

        generator = rng(12)
        frame = pd.DataFrame({"y": generator.poisson(9, 200), "g": generator.choice(["a", "b"], 200)})
        frame.to_parquet(tmp_path / "t.parquet")
        frame.to_csv(tmp_path / "t.csv", index=False)
        kinds = [frame, pl.from_pandas(frame), pa.Table.from_pandas(frame, preserve_index=False)]
        kinds += [syn.open_table(tmp_path / name) for name in ("t.parquet", "t.csv")]
        scores = []
        for kind in kinds:
            found = evaluate(frame, [kind], quantiles=(0.99,))
            scores.append((found.comparison("y", "q99").synthetic.combined.estimate, found.propensities[0].pmse))
        assert all(score == pytest.approx(scores[0], abs=1e-12) for score in scores)

    def test_codes_and_truth_values_in_other_words(self, tmp_path):
        """Types that a text file does not keep: text codes, booleans, whole numbers with a point."""
        frame = pd.DataFrame({"y": rng(1).poisson(9, 200), "code": rng(2).choice(["1", "2"], 200)})
        frame["old"] = rng(3).random(200) < 0.5
        frame.to_csv(tmp_path / "t.csv", index=False)
        frame.assign(old=frame["old"] * 1.0, code=frame["code"].astype(float)).to_parquet(tmp_path / "t.parquet")
        for name in ("t.csv", "t.parquet"):
            found = evaluate(frame, [syn.open_table(tmp_path / name)])
            assert found.propensities[0].pmse == pytest.approx(0, abs=1e-9)
            assert all(a.confidential == pytest.approx(a.synthetic, nan_ok=True) for a in found.associations)
            assert all(c.value == pytest.approx(c.synthetic.estimate) for c in found.coefficients)

    def test_the_same_numbers_come_again(self):
        table = pd.DataFrame({"y": rng(1).poisson(9, 100)})
        one, other = (evaluate(table, [table.sample(100, replace=True, random_state=1)]) for _ in range(2))
        assert one.comparison("y", "sd").interval == other.comparison("y", "sd").interval
        assert one.propensities == other.propensities

    def test_draws_decide_the_combined_interval(self):
        table = pd.DataFrame({"y": rng(1).poisson(9, 100)})
        tables = [table.sample(100, replace=True, random_state=i) for i in range(4)]
        apart = evaluate(table, tables).comparison("y", "mean").synthetic.combined
        together = evaluate(table, tables, draws=[1, 1, 2, 2]).comparison("y", "mean").synthetic.combined
        one = evaluate(table, tables, draws=[1, 1, 1, 1]).comparison("y", "mean").synthetic.combined
        assert apart.estimate == pytest.approx(together.estimate)
        assert apart.freedom != together.freedom
        assert one.interval is None

    def test_bad_input(self):
        table = pd.DataFrame({"y": [1, 2, 3], "g": ["a", "b", "c"]})
        with pytest.raises(InputError, match="at least one table"):
            evaluate(table, [])
        with pytest.raises(InputError, match="must share a column"):
            evaluate(table, [pd.DataFrame({"z": [1, 2]})])
        with pytest.raises(InputError, match="column 'y' must hold numbers like the confidential one"):
            evaluate(table, [pd.DataFrame({"y": ["1", "2"]})])
        with pytest.raises(InputError, match=r"column 'z' .to be compared. is not in the table"):
            evaluate(table, [table], columns=["z"])
        with pytest.raises(InputError, match="one draw per table, found 2 for 1"):
            evaluate(table, [table], draws=[1, 2])
        with pytest.raises(InputError, match="must have no missing values"):
            evaluate(pd.DataFrame({"y": [1, None, 3]}), [table])

    def test_odd_names(self):
        table = pd.DataFrame({"a b": rng(1).poisson(9, 60) + 0.5, "C(x)": rng(2).poisson(9, 60), "`": 1.5})
        found = evaluate(table, [table])
        assert {c.term for c in found.coefficients} >= {"Intercept"}

    def test_tables_of_different_sizes_and_of_one_row(self):
        """T's part of W is the mean of W_i rows_i, over n."""
        table = pd.DataFrame({"y": rng(1).poisson(50, 400)})
        sizes = [20, 40, 400]
        tables = [table.sample(size, replace=True, random_state=i) for i, size in enumerate(sizes)]
        found = evaluate(table, tables).comparison("y", "mean").synthetic.combined
        means = [t["y"].mean() for t in tables]
        expected = np.mean([t["y"].var() for t in tables]) / 400 + np.var(means, ddof=1) / 3
        assert found.variance == pytest.approx(expected, rel=0.1)  # bootstrap variances: s.e. 4.5 % each
        single = [syn.Records("y", {"y": np.array([7.0])}, np.array([1]), None)] * 2
        assert evaluate(table, single).comparison("y", "mean").synthetic.combined.interval is None

    def test_intervals_of_counts_do_not_go_below_zero(self):
        table = pd.DataFrame({"y": [0] * 97 + [1, 40, 90]})
        tables = [table.sample(100, replace=True, random_state=i) for i in range(3)]
        assert evaluate(table, tables).comparison("y", "mean").synthetic.combined.interval.low >= 0

    def test_public_columns_are_compared_only_with_others(self):
        table = pd.DataFrame({"y": rng(1).poisson(9, 90), "age": rng(2).poisson(40, 90), "x": rng(3).poisson(4, 90)})
        found = evaluate(table, [table], public=["age", "x"])
        assert {c.synthetic.column for c in found.comparisons} == {"y"}
        assert list(found.distances) == ["y"]
        assert {(a.pair.one, a.pair.other) for a in found.associations} == {("y", "age"), ("y", "x")}

    def test_a_table_where_a_column_does_not_vary(self):
        table = pd.DataFrame({"y": rng(1).poisson(9, 90), "x": rng(2).poisson(9, 90)})
        found = evaluate(table, [table, table.assign(x=1)]).associations[0]
        assert found.synthetic == pytest.approx(found.confidential)

    def test_names_that_no_formula_can_hold(self):
        table = pd.DataFrame(
            {"": rng(1).poisson(9, 60), "1": rng(2).poisson(9, 60), "Intercept": 1.5, "z": rng(3).random(60)}
        )
        assert evaluate(table, [table]).coefficients == ()
        with pytest.raises(InputError, match="names of text"):
            evaluate(table.rename(columns={"z": 3})[[3]], [table.rename(columns={"z": 3})[[3]]])

    def test_nothing_numeric(self):
        table = pd.DataFrame({"g": ["a", "b"] * 20, "h": ["c", "d", "d", "c"] * 10})
        found = evaluate(table, [table])
        assert found.comparisons == ()
        assert found.coefficients == ()
        assert len(found.associations) == 1


def test_ranks_are_mean_ranks():
    values, counts = np.array([5.0, 1.0, 5.0]), np.array([1, 2, 3])
    rows = stats.rankdata(np.repeat(values, counts))
    assert np.repeat(associations._ranks(values, counts), counts).tolist() == rows.tolist()
