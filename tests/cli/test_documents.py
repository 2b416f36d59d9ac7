"""Documents that run: their Python, their commands, and their links."""

from __future__ import annotations

import re
import runpy
import shlex
import shutil
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from scipy.stats import poisson

from alphasynth.cli.entry import run_command
from engines import has_module, need

ROOT = Path(__file__).parents[2]
RUN = (
    # The last and the fourth last set a cap in the ledger, from when on a run must name its data set.
    *("choosing", "tables", "chains", "quick-start", "league", "plan", "explorer"),
    *("command-line", "evaluation", "other-programs", "epsilon"),
)
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.slow
@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_python_in_the_documents_runs(path, tmp_path, monkeypatch, capsys):
    """All blocks of a document run one after the other, in a folder that holds the reference table."""
    blocks = re.findall(r"```python\n(.*?)```", path.read_text(), re.DOTALL)
    if any("from_stan" in block for block in blocks):
        need(has_module("httpstan") and shutil.which("g++"), "no Stan (pip install 'alphasynth[stan]')")
    (tmp_path / "nb_mixture.csv").write_text((ROOT / "tests" / "reference" / "nb_mixture.csv").read_text())
    monkeypatch.chdir(tmp_path)
    namespace: dict = {"__name__": "document"}
    for block in blocks:
        exec(compile(block, str(path), "exec"), namespace)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_links_in_the_documents_lead_somewhere(path):
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", path.read_text()):
        if not target.startswith("http"):
            assert (path.parent / target).exists(), target


@pytest.mark.slow
def test_commands_in_the_documents_run(tmp_path, monkeypatch, capsys):
    """Those of README.md and of the documents with commands, one after the other in one folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("alphasynth.cli.synthesize._use_cache", lambda: None)
    rng = np.random.default_rng(0)
    pd.DataFrame({"salary": rng.negative_binomial(3, 0.03, 500)}).to_csv("salaries.csv", index=False)
    people = {"person": np.arange(900) // 4, "age": rng.integers(18, 80, 900), "sex": rng.choice(["f", "m"], 900)}
    pd.DataFrame({"visits": rng.poisson(5, 200), "weight": rng.choice([1.0, 8.0], 200)}).to_csv(
        "panel.csv", index=False
    )
    y = rng.poisson(6, 100)
    for name in ("log_lik", "log_lik_weighted", "log_lik_final"):
        f = poisson.logpmf(y, 6 * np.exp(0.05 * rng.standard_normal((120, 1))))
        pd.DataFrame(f, columns=[f"log_lik.{i + 1}" for i in range(100)]).to_parquet(f"{name}.parquet")
    pd.DataFrame({**people, "visits": rng.negative_binomial(2, 0.2, 900)}).to_parquet("visits.parquet")
    commands = []
    for path in (
        ROOT / "README.md",
        *(ROOT / "docs" / f"{name}.md" for name in RUN),
    ):
        for block in re.findall(r"```console\n(.*?)```", path.read_text(), re.DOTALL):
            commands += [line for line in block.splitlines() if line.startswith("alphasynth")]
    assert len(commands) > 6
    for command in dict.fromkeys(commands):
        assert run_command(shlex.split(command)[1:]) == 0, (command, capsys.readouterr().err)


@pytest.mark.slow
def test_the_picture_of_the_readme_is_made(tmp_path, monkeypatch):
    """Its program runs, and draws what the README shows."""
    out = tmp_path / "picture.png"
    monkeypatch.setattr("sys.argv", ["picture.py", str(out)])
    runpy.run_path(str(ROOT / "examples" / "picture.py"), run_name="__main__")
    drawn, shown = (plt.imread(path) for path in (out, ROOT / "docs" / "figures" / "what_comes_out.png"))
    assert drawn.shape == shown.shape
    assert np.abs(drawn - shown).mean() < 0.01  # the same seed, the same lines
