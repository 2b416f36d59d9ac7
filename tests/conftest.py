"""Shared by the tests: the reference table and posteriors, and a short way to a problem."""

from __future__ import annotations

import json
from pathlib import Path

import jax
import numpy as np
import pandas as pd
import pytest

from alphasynth.inference.laplace import Laplace
from alphasynth.mechanisms.fit import Problem
from alphasynth.models.families import bind_design
from alphasynth.models.formula import Formula, design_of
from alphasynth.synthesis.compilation import use_compilation_cache
from alphasynth.tables.records import Records
from command_line import visits

REFERENCE = Path(__file__).parent / "reference"
# Memory maps of a process, of which Linux allows 65,530; each compiled program takes some, and one too many is fatal.
MAPS, MANY_MAPS = Path("/proc/self/maps"), 20_000


@pytest.fixture(autouse=True, scope="module")
def _few_programs():
    """Compiled programs are dropped between files where a process has come to hold very many."""
    yield
    if MAPS.exists() and MAPS.read_bytes().count(b"\n") > MANY_MAPS:
        jax.clear_caches()


@pytest.fixture(autouse=True, scope="session")
def _shared_programs(pytestconfig):
    """Programs are compiled once for all processes and runs of the tests in a checkout."""
    use_compilation_cache(pytestconfig.rootpath / ".pytest_cache" / "programs")


@pytest.fixture(autouse=True)
def _no_other_cache(monkeypatch):
    """The command line keeps its programs elsewhere, which would set options of JAX for good."""
    monkeypatch.setattr("alphasynth.cli.synthesize._use_cache", lambda: None)


@pytest.fixture(scope="session")
def mixture() -> pd.DataFrame:
    """1,000 draws from 0.2 NB(100, 5) + 0.8 NB(100, 20)."""
    return pd.read_csv(REFERENCE / "nb_mixture.csv")


@pytest.fixture(scope="session")
def mixture_alpha() -> pd.DataFrame:
    return pd.read_csv(REFERENCE / "nb_mixture_alpha.csv")


@pytest.fixture(scope="session")
def posteriors() -> dict:
    return json.loads((REFERENCE / "posteriors.json").read_text())["fits"]


@pytest.fixture(scope="session")
def make_problem():
    """Problem of a table: `make_problem(table, formula=..., family=..., alpha=..., within=..., **settings)`."""

    def make(table, formula="y ~ 1", family="negative_binomial", alpha=None, within=(), prior=None, **settings):
        parsed = Formula.parse(formula)
        records = Records.from_table(table, list(dict.fromkeys((parsed.response, *parsed.covariates, *within))))
        if alpha is not None:
            records = records.split(np.asarray(alpha, float))
        model, rows = bind_design(parsed, family, records, design_of(parsed, records), prior)
        return Problem(records, model, rows, **{"sampler": Laplace(), **settings})

    return make


@pytest.fixture(scope="session")
def key() -> np.random.SeedSequence:
    return np.random.SeedSequence(20240601)


@pytest.fixture(scope="session")
def regression() -> pd.DataFrame:
    """400 counts with a numeric and a categorical covariate."""
    rng = np.random.default_rng(7)
    age = rng.integers(18, 80, 400)
    sex = rng.choice(["f", "m", "x"], 400, p=[0.5, 0.4, 0.1])
    mean = np.exp(0.5 + 0.02 * age + 0.3 * (sex == "m") - 0.4 * (sex == "x"))
    return pd.DataFrame({"visits": rng.poisson(rng.gamma(2.0, mean / 2.0)), "age": age, "sex": sex})


@pytest.fixture
def alone(monkeypatch, tmp_path):
    """A folder of its own to run commands in."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def table(alone, tmp_path):
    """A confidential table of visits."""
    visits().to_csv(tmp_path / "visits.csv", index=False)
    return "visits.csv"
