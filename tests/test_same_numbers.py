"""The same seed gives the same numbers, whatever is moved or renamed: each mechanism, chains, audits, a study.

The reference is what runs gave before; a difference is a change of what is computed, and is named in the changelog.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import alphasynth as syn
from command_line import run

REFERENCE = Path(__file__).parent / "reference" / "same_numbers.json"
MECHANISMS: dict[str, dict[str, Any]] = {
    "Unweighted": {},
    "LW": {},
    "CW": {"radius": 0.3, "relative": True},
    "SW": {"epsilon": 8.0},
    "LW_final": {},
    "CW_final": {"radius": 0.3, "relative": True},
    "BW": {"epsilon": 10.0},
    "Censored": {"epsilon": 2.0},
    "Recentred": {"epsilon": 4.0},
    "BetaDivergence": {"epsilon": 2.0},
    "Scored": {"epsilon": 2.0},
}
CHAINS: dict[str, dict[str, Any]] = {"LW": {}, "Scored": {"epsilon": 6.0}}


def people() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    sex = rng.choice(["f", "m"], 200)
    age = rng.integers(20, 80, 200)
    return pd.DataFrame({"sex": sex, "age": age, "visits": rng.poisson(np.exp(0.02 * age + 0.4 * (sex == "m")))})


def counts() -> pd.DataFrame:
    return pd.DataFrame({"y": np.random.default_rng(6).negative_binomial(5, 0.05, 200)})


def of_run(made: syn.Synthesizer) -> dict[str, Any]:
    """Numbers of a fitted synthesizer: weights, bounds, guarantee, draws released and rows."""
    guarantee, tables = made.guarantee_, made.sample()
    weights = {} if made.strict else {"alpha": made.alpha_[:8].tolist(), "lipschitz": made.lipschitz_.overall}
    return {
        **weights,
        "delta": guarantee.delta,
        "epsilon_total": guarantee.epsilon_total,
        "picked": made.picked_.tolist(),
        "rows": [table.iloc[:10].to_numpy().ravel().tolist() for table in tables],
    }


def one_column(mechanism: str) -> syn.Synthesizer:
    family = "poisson" if mechanism == "BetaDivergence" else "negative_binomial"
    made = syn.Synthesizer("y ~ 1", family=family, mechanism=mechanism, m=2, seed=3, **MECHANISMS[mechanism])
    return made.fit(counts())


def chain(mechanism: str) -> syn.Synthesizer:
    return syn.Synthesizer(
        ["sex ~ 1", "age ~ sex", "visits ~ sex + age"],
        family=["bernoulli", "normal", "poisson"],
        declared={"sex": {"levels": ["f", "m"]}, "age": {"limits": [0, 110], "whole": True}},
        mechanism=mechanism,
        m=2,
        seed=3,
        **CHAINS[mechanism],
    ).fit(people())


def of_audit(made: syn.Synthesizer, audits: list[str]) -> list[list[Any]]:
    return [[one.audit, one.claim, one.loss, one.worst, one.verdict] for one in made.audit_(audits, most=6)]


def of_study(folder: Path) -> Any:
    assert run("study", "contraction", "--size", "toy", "--out", folder / "study", "--quiet") == 0
    results = json.loads((folder / "study" / "results.json").read_text())
    return {line["name"]: [line["ours"], line["verdict"]] for line in results["expected"]}


def computed(name: str, folder: Path) -> Any:
    kind, _, mechanism = name.partition(" ")
    if kind == "audit":
        return of_audit(one_column(mechanism), ["density"] if mechanism == "Censored" else ["density", "draw"])
    if kind == "study":
        return of_study(folder)
    return of_run((one_column if kind == "column" else chain)(mechanism))


NAMES = [
    *(f"column {name}" for name in MECHANISMS),
    *(f"chain {name}" for name in CHAINS),
    *(f"audit {name}" for name in ("LW", "Censored")),
    pytest.param("study contraction", marks=pytest.mark.slow),
]


@pytest.mark.filterwarnings("ignore::alphasynth.errors.StrictWarning")
@pytest.mark.parametrize("name", NAMES)
def test_the_same_seed_gives_the_same_numbers(name, tmp_path):
    assert _near(json.loads(json.dumps(computed(name, tmp_path))), json.loads(REFERENCE.read_text())[name])


def _near(one: Any, other: Any) -> bool:
    """Equal but for the last digits of numbers, which another processor may round otherwise."""
    if isinstance(other, dict):
        return isinstance(one, dict) and list(one) == list(other) and all(_near(one[key], other[key]) for key in other)
    if isinstance(other, list):
        return isinstance(one, list) and len(one) == len(other) and all(map(_near, one, other))
    if isinstance(other, float):
        return isinstance(one, float | int) and bool(np.isclose(one, other, rtol=1e-6, atol=1e-12, equal_nan=True))
    return bool(one == other)
