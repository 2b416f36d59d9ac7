"""Numbers of Supp 5 over databases and over n, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from alphasynth_studies.many_databases import Many, _errors, bounds_over_n, summary


def testsummary_by_hand():
    delta = np.array([3.0, 4.0, 5.0, 6.0, 10.0])
    found = summary(delta, 5.5)
    assert (found["median_delta"], found["mean_delta"]) == (5.0, 5.6)
    assert (found["smallest_delta"], found["largest_delta"]) == (3.0, 10.0)
    assert found["sd_delta"] == pytest.approx(delta.std(ddof=1))
    assert found["relative_sd"] == pytest.approx(delta.std(ddof=1) / 5)
    assert found["share_above_global"] == 0.4
    assert found["share_above_global_interval"] == pytest.approx([0.0527, 0.8534], abs=1e-4)  # exact, 2 of 5
    assert found["median_delta_interval"][0] <= 5 <= found["median_delta_interval"][1]


def test_errors_are_synthetic_minus_own():
    error = np.array([[1.0, -2.0, 0.0, 4.0], [3.0, -4.0, 0.0, 4.0]])
    found = _errors(error)
    assert [found[name]["mean"] for name in ("mean", "median", "q15", "q90")] == [2, -3, 0, 4]
    assert found["mean"]["rmse"] == pytest.approx(5**0.5)
    assert found["mean"]["standard_error"] == pytest.approx(1)


def test_over_n_compares_lw_at_the_largest_with_the_smallest():
    """Columns are Unweighted, LW, LW_final; from n = 100 to 10,000 LW's bounds double their spread and gain 3."""
    small = np.array([1.0, 2.0, 3.0])
    by_n = {
        10_000: Many({}, np.stack([small * 50, 2 * small + 1, small * 70], axis=1), small, None),
        100: Many({}, np.stack([small * 9, small, small * 11], axis=1), small, None),
    }
    found = bounds_over_n(by_n, np.random.default_rng(0))["contraction"]
    assert (found["first_n"], found["last_n"]) == (100, 10_000)
    assert found["spread_ratio"]["value"] == pytest.approx(2)
    assert found["range_ratio"]["value"] == pytest.approx(2)
    assert found["drift"]["value"] == pytest.approx(2.5)
