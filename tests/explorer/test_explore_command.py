"""`alphasynth explore`: where its page goes, what it is made from, and what it refuses."""

from __future__ import annotations

import base64
import json
import re
import stat
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from alphasynth.cli.entry import run_command
from alphasynth.errors import InputError
from alphasynth.explorer import opening
from alphasynth.explorer.opening import EXPLORED, MOST_ROWS, Start, check_explorable, open_explored
from alphasynth.synthesizer import Synthesizer
from alphasynth.tables.records import Records
from command_line import visits

COMMON = ["--family", "negative_binomial", "--seed", "3", "--quiet"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Runs of several kinds."""
    place = tmp_path_factory.mktemp("explored")
    visits().to_csv(place / "visits.csv", index=False)
    patch = pytest.MonkeyPatch()
    patch.setattr("alphasynth.cli.synthesize._use_cache", lambda: None)
    patch.chdir(place)
    kinds = {
        "lw": ["--formula", "visits ~ 1", "--mechanism", "LW_final", "--m", "2", "--epsilon", "12"],
        "cw": ["--formula", "visits ~ age", "--public", "age", "--mechanism", "CW", "--radius", "2", "--within", "sex"],
        "dropping": ["--formula", "visits ~ 1", "--mechanism", "Unweighted", "--thresh", "0.5"],
        "chain": ["--formula", "visits ~ age", "--formula", "age ~ 1", "--family", "poisson", "--mechanism", "SW"],
        "scored": ["--formula", "visits ~ 1", "--mechanism", "Scored", "--epsilon", "4"],
    }
    for name, options in kinds.items():
        m = [] if "--m" in options else ["--m", "1"]
        assert run_command(["synthesize", "visits.csv", *options, *m, *COMMON, "--out", name]) == 0
    yield place
    patch.undo()


def held(path: Path) -> dict:
    return json.loads(re.search(r'id="held">(.*?)</script>', path.read_text(), re.DOTALL)[1])


pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::alphasynth.errors.AuditWarning")]


def test_the_page_is_the_runs_own_and_confidential(folder, capsys):
    assert run_command(["explore", "lw"]) == 0
    told = capsys.readouterr().out
    path = folder / "lw" / "confidential" / "explorer.html"
    assert "explorer.html: confidential; not for release" in told
    assert "spends privacy" in told
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    page, summary = held(path), json.loads((folder / "lw/confidential/summary.json").read_text())
    starts = {dial["name"]: dial["start"] for dial in page["dials"]}
    assert starts["k"] == summary["rounds"][2]["settled"]["k"]
    records = pq.read_table(folder / "lw/confidential/records.parquet")
    assert page["counts"] == records.column("count").to_pylist()
    largest = pq.read_table(folder / "lw/confidential/rounds.parquet").to_pandas()
    assert page["facts"]["largest"] == largest[largest["round"] == "Unweighted"]["lipschitz"].tolist()
    f = np.frombuffer(base64.b64decode(page["logLik"]), "<f4")
    assert len(f) == page["draws"] * len(page["counts"])
    assert not list((folder / "lw" / "release").glob("explorer*"))


def test_the_same_seed_makes_the_same_page(folder):
    first = (folder / "lw/confidential/explorer.html").read_bytes()
    assert run_command(["explore", "lw", "--quiet", "--out", "again.html"]) == 0
    assert (folder / "again.html").read_bytes() == first


def test_covariates_and_groups_are_explored(folder):
    assert run_command(["explore", "cw", "--quiet"]) == 0
    page = held(folder / "cw/confidential/explorer.html")
    assert page["facts"]["rule"] == "CW"
    assert len(set(page["facts"]["group"])) == 2
    assert [dial["name"] for dial in page["dials"]] == ["scale", "shift", "radius"]


def test_a_twin_is_taken_as_readily(folder, capsys):
    assert run_command(["explore", "lw", "--twin", "mean=7,phi=3"]) == 0
    path = folder / "lw/confidential/explorer_twin.html"
    assert "of a simulated twin" in capsys.readouterr().out
    text = path.read_text()
    assert "CONFIDENTIAL" not in text
    assert "300 rows of negative_binomial with mean 7 and phi 3" in text
    assert sum(held(path)["counts"]) == 300
    assert run_command(["explore", "lw", "--twin", "mean=7,phi=3,rows=80", "--out", "small.html", "--quiet"]) == 0
    assert sum(held(folder / "small.html")["counts"]) == 80


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nowhere"], "a run folder must exist, found none at 'nowhere'"),
        (["lw", "--out", "lw/release/page.html"], "--out must not go into a release"),
        (["lw", "--out", "no/page.html"], "--out must go into a folder that exists"),
        (["lw", "--out", "lw"], "--out must be a file, found the folder 'lw'"),
        (["lw", "--twin", "phi=3"], "--twin needs mean"),
        (["lw", "--twin", "mean=7"], "--twin needs phi for negative_binomial"),
        (["cw", "--twin", "mean=7,phi=3"], "--twin must be of a formula without covariates"),
        (["dropping"], "without --thresh below 1, which drops draws, found one with"),
        (["chain"], "explore takes a run of one column, found 2"),
        (["scored"], "explore takes a run of one column by Unweighted, LW, CW, SW, LW_final, CW_final, BW or Censored"),
    ],
)
def test_what_cannot_be_is_refused_with_one_sentence(folder, capsys, arguments, sentence):
    before = sorted(folder.rglob("*"))
    assert run_command(["explore", *arguments]) == 2
    told = capsys.readouterr().err
    assert sentence in told
    assert len(told.strip().splitlines()) == 1
    assert sorted(folder.rglob("*")) == before


def test_a_page_appears_whole_or_not_at_all(folder, monkeypatch, capsys):
    path = folder / "lw/confidential/explorer.html"
    before = path.read_bytes()

    def fail(contents):
        raise InputError("the page must be made, found that it was not")

    monkeypatch.setattr("alphasynth.explorer.explore.render", fail)
    assert run_command(["explore", "lw"]) == 2
    assert path.read_bytes() == before
    assert [each.name for each in path.parent.glob("*explorer*")] == ["explorer.html", "explorer_twin.html"]


def synthesizer(**options):
    return Synthesizer("y ~ 1", **{"family": "poisson", "mechanism": "SW", "alpha": 0.5, "m": 1, "seed": 1, **options})


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({"mechanism": "Scored", "alpha": None, "epsilon": 1.0}, "found Scored"),
        ({"mechanism": "BetaDivergence", "alpha": None, "epsilon": 1.0}, "found BetaDivergence"),
        ({"mechanism": "Censored", "alpha": None, "epsilon": 1.0, "delta": 1e-9}, "without --delta"),
        ({"thresh": 0.9}, "without --thresh below 1"),
        (
            {"survey_weights": "w", "public": ["w"], "survey_likelihood": True},
            "without survey weights in the likelihood",
        ),
        ({"declared": {"y": {"limits": [0, 50]}}, "weights": "column"}, "without weights by column"),
    ],
)
def test_what_the_page_cannot_move_is_refused(options, found):
    with pytest.raises(InputError, match=found):
        check_explorable(synthesizer(**options))


def test_gaps_and_two_parts_are_refused():
    both = synthesizer(mechanism="Censored", alpha=None, epsilon=1.0, family="hurdle_poisson")
    records = Records.from_table(pd.DataFrame({"y": [0, 1, 2, 3] * 9}), ["y"])
    with pytest.raises(InputError, match="in one part, found one that is modelled in parts"):
        open_explored(np.random.SeedSequence(1), both, records, Start({}, 1.0, np.ones(4)))


def test_a_table_of_too_many_rows_is_refused(monkeypatch):
    monkeypatch.setattr(opening, "MOST_ROWS", 3)
    records = Records.from_table(pd.DataFrame({"y": [0, 1, 2, 3] * 9}), ["y"])
    with pytest.raises(InputError, match="at most 3 distinct rows, found more: a twin"):
        open_explored(np.random.SeedSequence(1), synthesizer(), records, Start({"alpha": 0.5}, 1.0, np.ones(4)))
    assert MOST_ROWS == 4_000
    assert "Raked" not in EXPLORED
