"""Of which fit a bound is: what is said, what is refused; and the quantile that Supplement 1 reports."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import alphasynth as syn
from alphasynth.errors import InputError
from command_line import run

UNCOMPARED = "Not compared: the weights came without the log-likelihoods"
REFUSED = "found the matrix that the weights were made from"


@pytest.fixture(scope="module")
def counts():
    return np.concatenate([np.random.default_rng(3).poisson(20, 57), [0, 45, 45]])


@pytest.fixture(scope="module")
def matrices(counts):
    """Two fits of one table: no draw of the one is a draw of the other."""
    from scipy.stats import poisson

    rng = np.random.default_rng(4)
    return [poisson.logpmf(counts, 20 * np.exp(0.03 * rng.standard_normal((200, 1)))) for _ in range(2)]


@pytest.fixture
def files(matrices, counts, alone):
    for name, matrix in zip(("first.npy", "second.npy"), matrices, strict=True):
        np.save(name, matrix)
    pd.DataFrame({"y": counts}).to_csv("table.csv", index=False)


BY_TABLE = ("--rule", "CW", "--radius", "3", "--table", "table.csv", "--response", "y")


def test_a_bound_names_its_condition(matrices):
    unweighted = syn.bounds_from(matrices[0])
    said = repr(unweighted)
    assert said.startswith("If these log-likelihoods are of the fit without weights (confidential; 200 draws, 60 rec")
    assert UNCOMPARED not in said
    made = syn.weights_from(matrices[0])
    after = syn.bounds_from(matrices[1], alpha=made)
    assert repr(after).startswith("If these log-likelihoods are of a fit with these weights (")
    assert after.weighted_fit
    assert after.compared
    assert UNCOMPARED not in repr(after)
    assert repr(made).startswith("Weights of 60 records, made from log-likelihoods. If these")


def test_weights_without_a_matrix_are_said_to_be_not_compared(matrices, counts):
    """Count weights of the table: the unweighted matrix looks as that of the weighted fit does."""
    made = syn.weights_from(None, syn.CW(radius=3.0), records=counts)
    assert repr(made) == "Weights of 60 records, made from the table alone."
    for alpha in (made, made.alpha):
        found = syn.bounds_from(matrices[0], alpha=alpha)
        assert found.weighted_fit
        assert not found.compared
        assert UNCOMPARED in repr(found)


@pytest.mark.parametrize("rule", [syn.CW(radius=3.0), syn.SW(alpha=0.4), syn.LW(), syn.LW(scale=3.0, shift=-1.0)])
def test_the_matrix_that_weights_were_made_from_is_refused_whatever_the_rule(matrices, counts, rule):
    made = syn.weights_from(matrices[0], rule, records=counts)
    with pytest.raises(InputError, match=REFUSED):
        syn.bounds_from(matrices[0], alpha=made)
    with pytest.raises(InputError, match=REFUSED):
        syn.bounds_from(matrices[0] * made.alpha, alpha=made, weighted=True)
    assert syn.bounds_from(matrices[1], alpha=made).compared


def test_weights_that_the_fit_had_already_go_with_its_matrix(matrices, files):
    """All 1, of the unweighted fit: no other fit has to be made."""
    made = syn.weights_from(matrices[0], syn.SW(alpha=1.0))
    assert syn.bounds_from(matrices[0], alpha=made).lipschitz.overall == made.lipschitz.overall
    assert run("weights", "first.npy", "--rule", "SW", "--alpha", "1", "--out", "ones.csv") == 0
    assert run("bound", "first.npy", "--weights", "ones.csv") == 0


def test_the_command_says_of_which_fit_and_what_was_not_compared(files, capsys):
    assert run("weights", *BY_TABLE, "--out", "cw.csv") == 0
    capsys.readouterr()
    assert run("bound", "first.npy", "--weights", "cw.csv") == 0
    said = capsys.readouterr().out
    assert "If these log-likelihoods are of a fit with these weights" in said
    assert UNCOMPARED in said
    assert run("bound", "first.npy", "--weights", "cw.csv", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["if_the_fit_had"], told["weights_compared"]) == ("these weights", False)
    assert run("bound", "first.npy") == 0
    assert "If these log-likelihoods are of the fit without weights" in capsys.readouterr().out


@pytest.mark.parametrize("file", ["w.csv", "w.parquet"])
def test_a_file_of_weights_remembers_what_they_were_made_from(files, capsys, file):
    assert run("weights", "first.npy", *BY_TABLE, "--out", file) == 0
    assert run("bound", "first.npy", "--weights", file) == 2
    assert REFUSED in capsys.readouterr().err
    assert run("bound", "second.npy", "--weights", file, "--out", "bounds.csv") == 0
    assert UNCOMPARED not in capsys.readouterr().out


def test_what_bound_wrote_has_the_largest_of_the_fit_itself(files, capsys):
    """Its weights are those that the fit had, so that the same matrix goes with them."""
    assert run("weights", *BY_TABLE, "--out", "cw.csv") == 0
    assert run("bound", "second.npy", "--weights", "cw.csv", "--out", "bounds.csv") == 0
    again = ("weights", "second.npy", "--rule", "Reweight", "--k", "0.9", "--weights", "bounds.csv", "--out", "f.csv")
    assert run(*again) == 0


def test_the_quantile_of_supplement_1_is_told_beside_the_largest_kept(matrices, files, capsys):
    by_draw = np.abs(matrices[0]).max(axis=1)
    found = syn.bounds_from(matrices[0], thresh=0.9)
    assert found.thresh_quantile == np.quantile(by_draw, 0.9)
    assert found.lipschitz.overall == by_draw[by_draw <= found.thresh_quantile].max() < found.thresh_quantile
    assert syn.bounds_from(matrices[0]).thresh_quantile == by_draw.max()
    impossible = matrices[0].copy()
    impossible[:, 3] = -np.inf
    assert syn.bounds_from(impossible).thresh_quantile == np.delete(np.abs(impossible), 3, axis=1).max()
    assert run("bound", "first.npy", "--thresh", "0.9") == 0
    said = capsys.readouterr().out
    assert "Not counted: 20 draws above the quantile thresh, which must not be released." in said
    assert f"the L that Supplement 1 reports, is {np.ceil(100 * found.thresh_quantile) / 100:g}" in said
    assert run("bound", "first.npy", "--json", "--thresh", "0.9") == 0
    assert json.loads(capsys.readouterr().out)["thresh_quantile"] == found.thresh_quantile
    assert run("bound", "first.npy") == 0
    assert "Supplement 1" not in capsys.readouterr().out


@pytest.mark.parametrize(("match", "delta"), [("5", 5.0), ("epsilon=6", 3.0)])
def test_the_command_has_scalar_weights_by_the_papers_formula(matrices, files, match, delta):
    assert run("weights", "first.npy", "--rule", "SW", "--match", match, "--by", "formula", "--out", "w.csv") == 0
    made = syn.weights_from(matrices[0], syn.SW(match=delta, by="formula"))
    np.testing.assert_array_equal(pd.read_csv("w.csv")["alpha"], made.alpha)


@pytest.mark.parametrize(
    ("options", "found"),
    [(["--match", "5"], "by 'search'"), (["--match", "LW", "--by", "formula"], "LW to match"), ([], "none")],
)
def test_a_scalar_weight_that_needs_a_search_is_refused(files, capsys, options, found):
    assert run("weights", "first.npy", "--rule", "SW", *options, "--out", "w.csv") == 2
    said = capsys.readouterr().err
    assert "SW must have its alpha, or a Delta to match and by 'formula'" in said
    assert said.endswith(f"found {found}\n")


REFUSALS = {
    "another rule": (
        ["weights", "first.npy", "--rule", "BW"],
        "--rule must be one of LW, CW, SW, Reweight, found 'BW'",
    ),
    "no matrix": (
        ["weights"],
        "log_lik must be given, a matrix with a row per draw and a column per record, found none",
    ),
    "k above 1": (
        ["weights", "first.npy", "--rule", "Reweight", "--k", "1.5"],
        "Reweight must have a k of at most 1, below 1 in Algorithm 3, found 1.5",
    ),
    "weights of others": (
        ["bound", "first.npy", "--weights", "few.csv"],
        "--weights must have one entry per column of log_lik, 60, found 2",
    ),
    "weights above 1": (
        ["bound", "first.npy", "--weights", "large.csv"],
        "--weights must be one weight in [0, 1] per record, found weights outside",
    ),
    "no matrix of bounds": (["bound"], "log_lik must be given"),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_the_commands_refuse_in_their_own_words(files, capsys, case):
    pd.DataFrame({"alpha": [0.5, 1.0]}).to_csv("few.csv", index=False)
    pd.DataFrame({"alpha": np.full(60, 1.5)}).to_csv("large.csv", index=False)
    command, sentence = REFUSALS[case]
    out = ["--out", "w.csv"] if command[0] == "weights" else []
    assert run(*command, *out) == 2
    assert f"alphasynth: {sentence}" in capsys.readouterr().err


def test_the_help_describes_what_these_rules_take(capsys):
    assert run("weights", "--help") == 0
    said = " ".join(capsys.readouterr().out.replace("│", " ").split())
    for other in ("LW_final", "CW_final", "auto", "unless told)", "(search)"):
        assert other not in said
    assert "Reweight: the factor, at most 1" in said
