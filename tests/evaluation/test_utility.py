"""Distances of distributions, and all measures at once on tables of every kind."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import alphasynth as syn
from alphasynth.errors import InputError
from alphasynth.evaluation.associations import ETA
from alphasynth.evaluation.distances import distances, mean_distances
from alphasynth.evaluation.shares import level_shares
from alphasynth.evaluation.utility import evaluate
from alphasynth.evaluation.values import Values, read_records
from alphasynth.tables.declared import Declared

COLUMNS = st.lists(st.integers(0, 30), min_size=2, max_size=40)


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


class TestEvaluate:
    def test_a_single_table_is_a_list_of_one(self):
        """pandas has no truth value for a frame, and would say so."""
        table = pd.DataFrame({"y": range(50)})
        assert evaluate(table, table).tables == 1
        assert evaluate(table, read_records(table, ["y"])).comparison("y", "mean").value == 24.5
        with pytest.raises(InputError, match="synthetic must hold at least one table, found none"):
            evaluate(table, [])

    def test_dates_are_days_numbers_of_any_type(self):
        days = pd.date_range("2020-01-01", periods=60)
        one = pd.DataFrame({"day": days.tz_localize("UTC"), "x": range(60)})
        other = pd.DataFrame({"day": pd.Categorical(days.strftime("%Y-%m-%d")), "x": range(60)})
        found = evaluate(one, other)
        mean = found.comparison("day", "mean")
        assert mean.value == mean.synthetic.combined.estimate == (days.mean() - pd.Timestamp(0)).days + 0.5
        assert mean.day
        assert not found.comparison("day", "sd").day
        assert found.associations[0].confidential == pytest.approx(1)
        assert not found.left_out

    def test_levels_of_few_dates_are_dates(self):
        table = pd.DataFrame({"day": pd.to_datetime(["2020-01-01", "2020-02-01", "2020-02-01"] * 20), "x": range(60)})
        shares = {share.level: share.confidential for share in evaluate(table, table).shares}
        assert shares == pytest.approx({"2020-01-01": 1 / 3, "2020-02-01": 2 / 3})

    def test_truth_values_of_text_files_are_the_same_however_they_are_spelt(self):
        own = pd.DataFrame({"x": range(60), "owner": ["True", "False", "False"] * 20})
        made = pd.DataFrame({"x": range(60), "owner": ["true", "false", "false"] * 20})
        shares = [(s.level, s.confidential, s.synthetic) for s in evaluate(own, made).shares]
        assert shares == [("False", pytest.approx(2 / 3), pytest.approx(2 / 3)), ("True", 1 / 3, 1 / 3)]

    def test_times_of_one_day_are_one_line(self, tmp_path):
        days = pd.date_range("2020-01-01", periods=60, freq="8h")
        pd.DataFrame({"day": days}).to_parquet(tmp_path / "t.parquet")
        records = read_records(syn.open_table(tmp_path / "t.parquet"), ["day"])
        assert (records.size, records.n, records.dates) == (20, 60, {"day"})

    def test_columns_that_cannot_be_compared_are_left_out_and_said(self):
        table = pd.DataFrame({"x": range(60), "at": pd.to_timedelta(range(60), "s")})
        made = pd.DataFrame({"x": range(60), "at": range(60)})
        found = evaluate(table, made)
        assert found.left_out == ("at",)
        assert found.verdict.lines[1].endswith("; not compared: at.")

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

    def test_rows_with_gaps_take_no_part_in_their_columns_statistics(self):
        table = pd.DataFrame({"y": [1, None, 4, 4], "g": ["a", "b", None, "b"]})
        made = pd.DataFrame({"y": [2.0, 3.0], "g": ["a", None]})
        found = evaluate(table, [made], regressions=[])
        assert found.comparison("y", "mean").value == 3
        assert found.comparison("y", "mean").synthetic.combined.estimate == 2.5
        shares = {(s.column, s.level): (s.confidential, s.synthetic) for s in found.shares}
        assert shares["g", "b"] == (pytest.approx(2 / 3), 0.0)
        assert shares["y is missing", "true"] == (0.25, 0.0)

    def test_numbers_with_few_values_have_shares_too(self):
        table = pd.DataFrame({"code": [1, 2, 9, 2] * 20, "y": np.arange(80.0)})
        found = evaluate(table, [table.assign(code=[1, 1, 9, 2] * 20)], regressions=[])
        shares = {(s.column, s.level): (s.confidential, s.synthetic) for s in found.shares}
        assert shares == {("code", "1"): (0.25, 0.5), ("code", "2"): (0.5, 0.25), ("code", "9"): (0.25, 0.25)}

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


@pytest.mark.parametrize("values", [[0, 1, 1, 3], [0.5, 2.0, 2.0, -1.25], [1.0, 2.0, 2.0, 5.0]])
def test_shares_of_numbers_are_those_of_their_words(values):
    """Distinct numbers are put into words, not all rows'; gaps take no part."""
    frame = pd.DataFrame({"x": [*values, None], "z": range(5)})
    table = read_records(frame, ["x", "z"], {"x": Declared(missing="model")})
    words = [str(v) if any(w != int(w) for w in [*values, 0]) else str(int(v)) for v in map(float, values)]
    expected = pd.Series(words).value_counts(normalize=True).to_dict()
    assert level_shares(table, "x") == pytest.approx(expected)
