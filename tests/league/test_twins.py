"""Twins of every family that has a mean, and beside public columns: from what is public, and from nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import alphasynth as syn
from alphasynth.cli.entry import run_command
from alphasynth.errors import InputError
from alphasynth.league import twins
from alphasynth.models.families import FAMILIES
from command_line import run

ROWS = 20_000
RANGE, LEVELS = {"y": {"limits": [1, 1_000]}}, {"y": {"levels": [0, 1]}}
QUICK = ["--repeats", "1", "--draws", "200", "--sweep", "scale=1", "--mechanism", "LW", "--out", "tuned"]


def synthesizer_of(family, formula="y ~ 1", **more):
    base = twins.base_of(family)
    declared = RANGE if base in twins.CONTINUOUS else LEVELS if base == "bernoulli" else {}
    return syn.Synthesizer(formula, family=family, mechanism="LW", m=1, declared=declared, **more)


def twin_of(family, **parameters):
    synthesizer = synthesizer_of(family)
    usual = twins.stand_ins(synthesizer.model.columns[0])
    return twins.simulate_twin(5, synthesizer, {**usual, "rows": ROWS, **parameters})


@pytest.mark.parametrize(
    ("family", "parameters", "mean", "sd"),
    [
        ("normal", {"mean": 400, "sd": 50}, 400, 50),
        ("log_normal", {"mean": 60, "sd": 30}, 60, 30),
        ("gamma", {"mean": 60, "sd": 30}, 60, 30),
        ("poisson", {"mean": 9}, 9, 3),
        ("negative_binomial", {"mean": 50, "phi": 4}, 50, 675**0.5),
        ("bernoulli", {"mean": 0.3}, 0.3, 0.21**0.5),
        ("zero_inflated_poisson", {"mean": 9, "zeros": 0.5}, 4.5, (4.5 + 0.25 * 81) ** 0.5),
        ("hurdle_poisson", {"mean": 9, "zeros": 0.5}, 4.5, (4.5 + 0.25 * 81) ** 0.5),
        ("two_part_gamma", {"mean": 60, "sd": 30, "zeros": 0.5}, 30, (450 + 900) ** 0.5),
    ],
)
def test_a_twin_has_the_moments_that_are_said_of_it(family, parameters, mean, sd):
    """Standard error of a mean: sd / sqrt(n); of an sd of tails not heavier than gamma's here, below 2 sd / sqrt(n)."""
    values = twin_of(family, **parameters).values
    assert abs(values.mean - mean) < 4 * sd / ROWS**0.5
    assert abs(values.sd - sd) < 8 * sd / ROWS**0.5


@pytest.mark.parametrize("family", [name for name in FAMILIES if name not in ("categorical", "ordinal")])
def test_every_family_with_a_mean_has_a_twin_that_it_can_be_fitted_to(family):
    table = twin_of(family)
    assert f"{ROWS:,} rows of {family} with mean" in table.twin
    synthesizer = synthesizer_of(family)
    synthesizer.bind(table.records)  # every value may be one of the family's
    limits = synthesizer.model.columns[0].declared.limits
    if limits is not None:
        above = table.values.values[table.values.values != 0]
        assert limits[0] <= above.min() <= above.max() <= limits[1]


@pytest.mark.parametrize("family", ["categorical", "ordinal"])
def test_levels_have_no_mean(family):
    with pytest.raises(InputError, match=f"counts, numbers or two levels, which have a mean, found '{family}'"):
        twins.base_of(family)


@pytest.mark.parametrize(
    ("family", "parameters", "sentence"),
    [
        ("poisson", {"phi": 3.0}, "--twin must have no phi for poisson"),
        ("gamma", {"mean": 2_000.0}, "mean within the limits of 'y', found 2000"),
        ("poisson", {"mean": -1.0}, "a positive mean for poisson, found -1"),
        ("bernoulli", {"mean": 2.0}, "shares between 0 and 1"),
        ("hurdle_poisson", {"zeros": 1.0}, "shares between 0 and 1"),
    ],
)
def test_parameters_that_a_family_cannot_have_get_one_sentence(family, parameters, sentence):
    with pytest.raises(InputError, match=sentence):
        twin_of(family, **parameters)


def beside(rows, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame({"x": rng.normal(size=rows), "g": rng.choice(["a", "b", "c"], rows)})


def test_public_columns_move_the_twin_and_stay_as_they_are():
    """The linear predictor has an sd of 0.3: with mean exp(eta) the variance of a Poisson mean is known."""
    synthesizer = synthesizer_of("poisson", "y ~ x + g", public=["x", "g"])
    frame = beside(ROWS)
    table = twins.simulate_twin(5, synthesizer, {"mean": 100.0, "rows": ROWS}, frame)
    lines = np.repeat(np.arange(table.records.size), table.records.counts)
    rows = pd.DataFrame({name: table.records.columns[name][lines] for name in ("y", "x", "g")})
    pd.testing.assert_frame_equal(
        rows[["x", "g"]].sort_values(["x", "g"], ignore_index=True),
        frame.sort_values(["x", "g"], ignore_index=True),
        check_dtype=False,
    )
    assert np.corrcoef(rows["x"], np.log(rows["y"]))[0, 1] > 0.4  # one of three terms that count alike: 0.3 / sqrt(3)
    assert 0.25 < np.log(rows["y"]).std() < 0.4
    fewer = twins.simulate_twin(5, synthesizer, {"mean": 100.0, "rows": 50}, frame)
    assert fewer.records.n == 50
    assert set(np.asarray(fewer.records.columns["x"])) <= set(frame["x"])


def tuned(*arguments):
    assert run("tune", *arguments, *QUICK, "--quiet") == 0
    return json.loads(Path("tuned/results.json").read_text())


@pytest.mark.parametrize("family", ["normal", "log_normal", "gamma"])
def test_the_default_twin_of_numbers_is_by_their_public_limits(alone, family):
    results = tuned("--formula", "s ~ 1", "--family", family, "--range", "s=1:1000")
    assert set(results["twin"]) == {"mean", "sd", "rows"}
    assert not results["confidential"]


def test_levels_of_text_are_told_by_their_places(alone):
    results = tuned("--formula", "b ~ 1", "--family", "bernoulli", "--levels", "b=no|yes")
    assert results["twin"] == {"mean": 0.25, "rows": 1000.0}


def test_a_twin_beside_public_columns_does_not_change_with_the_response(alone, capsys):
    """Two tables with the same public columns and other responses give the same."""
    arguments = ["--formula", "y ~ x + g", "--family", "poisson", "--public", "x,g"]
    found = []
    for number, mean in enumerate((3, 900)):
        y = np.random.default_rng(mean).poisson(mean, 120)
        beside(120).round(1).assign(y=y).to_csv("t.csv", index=False)
        options = [word if word != "tuned" else f"tuned-{number}" for word in QUICK]
        assert run("tune", "t.csv", *arguments, *options) == 0
        said = " ".join(capsys.readouterr().out.split())
        assert "of TABLE nothing but its public columns (g, x) was used" in said
        assert "mean 100 is a stand-in, and what suits a twin" in said
        found.append(json.loads(Path(f"tuned-{number}/results.json").read_text()))
    assert found[0] == found[1]
    assert found[0]["twin"]["rows"] == 120


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["t.csv", "--formula", "y ~ 1"], "tune must have a --family: poisson or negative_binomial for counts, normal"),
        (["--formula", "y ~ x", "--family", "poisson", "--public", "x"], r"a twin must have a TABLE .* \(x\)"),
        (
            ["t.csv", "--formula", "y ~ 1", "--family", "poisson", "--mechanism", "CW", "--within", "g"],
            "public columns alone .*, found 'g', which is not: of a confidential column nothing may be used",
        ),
        (["--formula", "g ~ 1", "--family", "categorical", "--levels", "g=a|b|c"], "which have a mean, found 'categ"),
        (["--formula", "s ~ 1", "--family", "gamma"], "--range s=LOW:HIGH"),
        (["--formula", "y ~ 1", "--formula", "z ~ 1", "--family", "poisson"], "one formula and one family, found sev"),
    ],
)
def test_what_has_no_twin_gets_one_sentence(alone, capsys, arguments, sentence):
    import re

    beside(20).assign(y=1, z=2).to_csv("t.csv", index=False)
    options = ["--sweep", "radius=3", "--out", "tuned"] if "CW" in arguments else QUICK
    assert run_command(["tune", *arguments, *options]) == 2
    said = capsys.readouterr().err
    assert re.search(sentence, said)
    assert said.count("\n") == 1
    assert not Path("tuned").exists()


def test_a_radius_by_the_twins_public_mean_is_said_to_be_so(alone, capsys):
    arguments = ["--formula", "y ~ 1", "--family", "poisson", "--mechanism", "CW", "--twin", "mean=50,rows=100"]
    assert run("tune", *arguments, "--repeats", "1", "--draws", "200", "--out", "tuned") == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "Radii are suggested by 0 to twice the mean that --twin has, 0 to 100" in said
    assert [one["value"] for one in json.loads(Path("tuned/results.json").read_text())["settings"]][2] == 5.0


def test_the_help_says_what_is_needed(capsys):
    assert run_command(["tune", "--help"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "It needs --formula and --family; CW needs radii too" in said
