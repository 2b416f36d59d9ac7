"""Baselines and the league table: exact noise, projections, standings, and the command's folder."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats

import alphasynth as syn
from alphasynth.cli.entry import run_command
from alphasynth.league.baselines import Histogram, discrete_laplace, project, public_edges
from alphasynth.league.page import relative_error
from alphasynth.league.standings import Standing
from alphasynth.league.twins import simulate_twin
from alphasynth.privacy.randomness import Stream


@pytest.mark.slow
def test_noise_is_discrete_laplace():
    stream = Stream(np.random.SeedSequence(1))
    drawn = np.array([discrete_laplace(stream, Fraction(1, 2)) for _ in range(20_000)])
    values = np.arange(-12, 13)
    p = np.exp(-0.5 * np.abs(values))
    p = np.append(p * np.tanh(0.25), 0)
    p[-1] = 1 - p.sum()
    seen = np.append([(drawn == v).sum() for v in values], (np.abs(drawn) > 12).sum())
    assert stats.chisquare(seen, 20_000 * p).pvalue > 1e-4


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(-50, 200), min_size=1, max_size=8), st.integers(1, 500))
def test_projection_is_the_nearest(noisy, total):
    noisy = np.array(noisy, float)
    found = project(noisy, total)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(total)
    free = {"type": "eq", "fun": lambda x: x.sum() - total}
    start = np.full(len(noisy), total / len(noisy))
    other = optimize.minimize(
        lambda x: ((x - noisy) ** 2).sum(), start, bounds=[(0, None)] * len(noisy), constraints=free, method="SLSQP"
    ).x
    assert ((found - noisy) ** 2).sum() <= ((other - noisy) ** 2).sum() + 1e-6 * (1 + (noisy**2).sum())


@given(st.integers(1, 10**9))
def test_bins_cover_every_count_once(largest):
    edges = public_edges(largest)
    assert edges[0] == 0
    assert edges[-1] >= largest + 1
    assert (np.diff(edges) > 0).all()


@pytest.mark.parametrize("label", ["Histogram", "OpenDP"])
def test_histograms_have_the_rows_and_nearly_the_counts(label):
    """At epsilon 100 noise is almost always 0: every bin holds its own rows again."""
    values, counts = np.array([0, 3, 50, 70, 20_000]), np.array([10, 20, 30, 35, 5])
    (table,) = Histogram(label).tables(np.random.SeedSequence(3), values, counts, 100.0, 1)
    edges = public_edges()
    assert len(table) == 100
    clipped = np.repeat(np.minimum(values, 10_000), counts)
    np.testing.assert_array_equal(np.histogram(table, edges)[0], np.histogram(clipped, edges)[0])


def test_a_histograms_tables_share_their_noise():
    values, counts = np.arange(15), np.full(15, 20)
    tables = Histogram().tables(np.random.SeedSequence(3), values, counts, 0.1, 3)
    binned = [np.histogram(table, public_edges())[0] for table in tables]
    # Rows are rounded at random, so a bin may differ by one.
    assert max(np.abs(binned[0] - other).max() for other in binned) <= 1


def test_a_twin_is_made_from_what_was_declared():
    synthesizer = syn.Synthesizer("y ~ 1", family="negative_binomial", mechanism="LW", m=1)
    one, again = (simulate_twin(5, synthesizer, {"mean": 50.0, "phi": 4.0, "rows": 20_000}) for _ in range(2))
    assert one.values.counts.tolist() == again.values.counts.tolist()
    # Standard errors: sd / sqrt(n), sd^2 = 50 + 2500 / 4.
    assert abs(one.values.mean - 50) < 4 * np.sqrt(675 / 20_000)
    assert one.twin == "20,000 rows of negative_binomial with mean 50 and phi 4"


def test_relative_error_is_a_mean_over_statistics():
    line = Standing("x", "strict", 1.0, {"mean": 1.0, "sd": 3.0, "q15": 5.0}, 0, 0, 1.0, 0.5, 0.0, 0, 2)
    assert relative_error(line, {"mean": 10.0, "sd": 10.0, "q15": 0.0}) == pytest.approx(0.2)
    assert line.kept


TWIN = ["--twin", "mean=20,phi=5,rows=300", "--formula", "y ~ 1", "--family", "negative_binomial", "--m", "1"]
LIMITS = ["--limits", "mean=2:200,phi=0.5:50", "--step", "0.03"]


@pytest.mark.slow
def test_a_comparison_on_a_twin(alone, tmp_path, capsys):
    mechanisms = "Censored,BetaDivergence,BW,SW,LW_final,Histogram,Unweighted"
    command = ["compare", *TWIN, *LIMITS, "--epsilon", "2,8", "--repeats", "2", "--mechanisms", mechanisms]
    assert run_command([*command, "--out", "league"]) == 0
    printed = capsys.readouterr().out
    assert "nothing confidential was read" in " ".join(printed.split())
    results = json.loads((tmp_path / "league" / "results.json").read_text())
    assert results["confidential"] is False
    lines = results["standings"]
    assert len(lines) == 13
    assert {line["scope"] for line in lines} == {"strict", "instance", "none"}
    for line in lines:
        assert set(line["rmse"]) == {"mean", "median", "q15", "q90", "sd"}
        assert line["scope"] != "strict" or line["kept"] is (None if line["label"] == "Histogram" else True)
        assert line["failed"] == 0
    html = (tmp_path / "league" / "report.html").read_text()
    assert "Utility against epsilon" in html
    assert (tmp_path / "league" / "figures" / "utility_against_epsilon.png").exists()
    assert (tmp_path / "league" / "standings.csv").read_text().startswith("mechanism,scope")


@pytest.mark.slow
def test_a_comparison_on_a_table_says_that_it_spends_privacy(alone, mixture, tmp_path, capsys):
    mixture.to_csv("nb.csv", index=False)
    command = ["compare", "nb.csv", *TWIN[2:], "--epsilon", "8", "--repeats", "2", "--mechanisms", "CW,BW"]
    assert run_command([*command, "--radius", "0.3", "--relative", "--out", "league"]) == 0
    assert "Comparing spends privacy" in capsys.readouterr().out
    results = json.loads((tmp_path / "league" / "results.json").read_text())
    assert results["confidential"] is True
    assert "CONFIDENTIAL" in (tmp_path / "league" / "report.html").read_text()
    assert (tmp_path / "league").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([*TWIN[2:]], "needs a TABLE or --twin"),
        (["nb.csv", *TWIN], "needs a TABLE or --twin"),
        ([*TWIN, "--epsilon", "0"], "--epsilon must be positive"),
        ([*TWIN, "--epsilon", "a"], "--epsilon must be numbers"),
        ([*TWIN, "--repeats", "1"], "--repeats must be at least 2"),
        ([*TWIN, "--mechanisms", "Magic"], "--mechanisms must be among"),
        ([*TWIN, "--mechanisms", "CW"], "needs a radius"),
        (["--twin", "mean=20", *TWIN[2:]], "--twin needs mean and rows"),
        (["--twin", "mean=20,rows=300", *TWIN[2:]], "needs phi for negative_binomial"),
        (["--twin", "mean=x,rows=300", *TWIN[2:]], "NAME=NUMBER"),
        (["--twin", "mean=20,rows=1.5", *TWIN[2:]], "a whole number of rows"),
    ],
)
def test_bad_comparisons_get_one_sentence_and_leave_nothing(options, words, alone, mixture, tmp_path, capsys):
    mixture.to_csv("nb.csv", index=False)
    assert run_command(["compare", *options, "--out", "league"]) == 2
    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["nb.csv"]


def test_a_comparison_is_of_one_column(tmp_path, capsys):
    words = ["compare", "t.csv", "--formula", "x ~ 1", "--formula", "y ~ x", "--family", "poisson", "--m", "1"]
    assert run_command([*words, "--out", str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err.endswith("compared on one column: --formula must be given once, found 2\n")
    assert not (tmp_path / "out").exists()
