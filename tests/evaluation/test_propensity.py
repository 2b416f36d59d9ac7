"""pMSE and S_pMSE: by hand, against statsmodels, against what they mean, against figures from another program."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from alphasynth.evaluation import propensity
from alphasynth.evaluation.propensity import propensities
from alphasynth.tables.records import Records


def records(frame):
    return Records.from_table(frame, list(frame.columns))


def rng(seed=0):
    return np.random.default_rng(seed)


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

    @pytest.mark.slow
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
            confidential = records(pd.DataFrame({"x": x}))
            for scores, column in ((bootstrap, resampled), (posterior, drawn)):
                merged = propensity._Merged.of(generator, confidential, records(pd.DataFrame({"x": column})))
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

    @pytest.mark.slow
    def test_a_bootstrap_of_thinned_rows_scores_one_too(self, monkeypatch):
        """The confidential rows are then a sample themselves; 200 scores of a chi-square over 2: s.e. 0.07."""
        monkeypatch.setattr(propensity, "MOST_ROWS", 300)
        generator = rng(21)
        x = generator.normal(size=1_000)
        confidential, scores = records(pd.DataFrame({"x": x})), []
        for _ in range(200):
            merged = propensity._Merged.of(
                generator, confidential, records(pd.DataFrame({"x": generator.choice(x, 1_000)}))
            )
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


def test_independent_columns_are_those_of_the_tall_matrix():
    """Found from its triangle: the same columns that pivots of the whole matrix keep."""
    from scipy.linalg import qr

    generator = rng(4)
    features = generator.normal(size=(200, 6))
    features = np.column_stack([features, features[:, 0] - 2 * features[:, 1], features[:, 2], np.ones(200)])
    counts = generator.integers(1, 5, 200)
    kept = propensity._independent(features, counts)
    centred = features - np.average(features, axis=0, weights=counts)
    spread = np.sqrt(np.average(centred**2, axis=0, weights=counts))
    scaled = centred[:, :-1] / spread[:-1]  # the last one does not vary
    _, triangle, order = qr(np.sqrt(counts)[:, None] * scaled, mode="economic", pivoting=True)
    pivots = np.abs(np.diag(triangle))
    expected = np.sort(order[: int((pivots > 1e-8 * pivots[0]).sum())])
    assert len(expected) == 6
    assert np.linalg.matrix_rank(kept) == kept.shape[1] == 6
    assert kept == pytest.approx(scaled[:, expected], abs=1e-12)


class TestApart:
    def test_two_samples_are_within_chance_and_a_shift_is_not(self):
        """Of 30 pairs of samples the farthest deviate is about 2.1; 3.5 has a chance of less than one in a hundred."""
        generator = rng(8)
        for shift, number in ((0.0, 30), (1.0, 3)):
            for _ in range(number):
                one, other = (records(pd.DataFrame({"x": generator.normal(size=400)})) for _ in range(2))
                moved = records(pd.DataFrame({"x": np.asarray(other.columns["x"]) + shift}))
                for found in propensities(generator, one, [moved]):
                    assert (found.apart > 3.5) == (shift > 0)
                    assert found.samples == pytest.approx(2 * found.null, rel=1e-9)

    def test_a_model_of_very_many_terms_is_not_judged(self):
        generator = rng(9)
        one, other = (records(pd.DataFrame(generator.normal(size=(60, 8))).rename(columns=str)) for _ in range(2))
        logistic, tree = propensities(generator, one, [other])
        assert np.isnan(logistic.apart)
        assert np.isfinite(tree.apart)

    def test_more_tables_than_shuffles(self):
        generator = rng(10)
        table = records(pd.DataFrame({"x": generator.normal(size=60)}))
        _, tree = propensities(generator, table, [table] * 51)
        assert tree.apart == 0
        assert tree.error > 0
