"""The shape of the package: who imports whom, what is public, and docstrings and documents that run."""

from __future__ import annotations

import ast
import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import alphasynth
from alphasynth.entry import run_command

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "alphasynth"
# A file imports only from those above it.
ORDER = [
    *("errors", "accounting", "randomness", "exponential", "noise"),
    *("frames", "grouping", "records", "expressions", "tokens", "expression_text", "formula_text", "terms", "formula"),
    *("counting", "weighting", "declared"),
    *(
        "model",
        "contribution",
        "clipping",
        "priors",
        "counts",
        "categories",
        "continuous",
        "two_part",
        "families",
        "own_model",
    ),
    *("scores", "matching", "scored"),
    *("density", "mode", "diagnostics", "sampler", "laplace", "nuts", "grid"),
    *("axes", "quanta", "separable", "clipped_sums", "public_grid", "automatic"),
    *("lipschitz", "fit", "chain", "guide", "weights", "calibrate", "mechanism", "scored_start"),
    *(
        "table_model",
        "confirmation",
        "gaps",
        "binding",
        "rounds",
        "guarantee",
        "statements",
        "strict",
        "release",
        "synthesize",
        "generate",
        "scored_fit",
    ),
    *(
        "divergence",
        "neighbours",
        "finding",
        "quadrature",
        "density_audit",
        "draw_audit",
        "black_box",
        "exact_audit",
        "audit",
    ),
    *("request", "public_types", "preparation", "outcome", "synthesizer", "compilation"),
    *("values", "intervals", "distances", "propensity", "associations", "utility", "risk", "nearest"),
    *(
        "catalogue",
        "public_columns",
        "engine",
        "text_cells",
        "csv_files",
        "statistical_files",
        "files",
        "databases",
        "tables",
    ),
    *("palette", "marks", "figures", "drawing", "images", "page", "measures", "confidential_page"),
    *("public_use", "public_page"),
    *(
        "inspection",
        "suggestion",
        "interruption",
        "new_folder",
        "budget",
        "ledger_file",
        "ledger",
        "run_folder",
        "settings",
        "writing",
        "run_files",
    ),
    *(
        "run_results",
        "report",
        "comparison",
        "evaluation",
        "job",
        "baselines",
        "league",
        "league_page",
        "comparing",
        "progress",
        "ledger_cli",
        "report_cli",
        "study_cli",
        "trust_cli",
        "cli",
        "entry",
    ),
]


STUDIES = ROOT / "studies" / "alphasynth_studies"
STUDY_ORDER = [
    *("expected", "study", "tables", "salaries", "synthesizers", "statements", "paper_statements", "repeats"),
    *("before_after", "before_after_page", "before_after_tables", "local_bounds", "many_databases", "contraction_page"),
    *("nb_mixture", "salary", "contraction", "output", "markdown", "reproduction"),
]


@pytest.mark.parametrize(("folder", "order"), [(PACKAGE, ORDER), (STUDIES, STUDY_ORDER)], ids=["package", "studies"])
def test_every_file_is_in_the_list(folder, order):
    assert sorted(order) == sorted(path.stem for path in folder.glob("*.py") if path.stem != "__init__")


@pytest.mark.parametrize("name", ORDER)
def test_imports_point_up_the_list(name):
    _check_imports(PACKAGE / f"{name}.py", ORDER)


@pytest.mark.parametrize("name", STUDY_ORDER)
def test_imports_of_studies_point_up_the_list(name):
    _check_imports(STUDIES / f"{name}.py", STUDY_ORDER)


def test_only_its_command_knows_the_studies():
    """And what the studies take of the package is public."""
    for path in PACKAGE.glob("*.py"):
        assert ("alphasynth_studies" in path.read_text()) == (path.stem == "study_cli"), path
    for path in STUDIES.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom):
                assert not any(alias.name.startswith("_") for alias in node.names if alias.name != "__version__"), path


def _check_imports(path, order):
    package = path.parent.name
    tree = ast.parse(path.read_text())
    typing_only = {
        node
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and isinstance(block.test, ast.Name) and block.test.id == "TYPE_CHECKING"
        for node in ast.walk(block)
    }
    for node in ast.walk(tree):
        module = node.module or "" if isinstance(node, ast.ImportFrom) and node not in typing_only else ""
        if module.startswith(f"{package}."):
            assert order.index(module.split(".")[1]) < order.index(path.stem)


def test_everything_offered_is_there():
    for name in alphasynth.__all__:
        assert getattr(alphasynth, name) is not None
    assert dir(alphasynth) == sorted(alphasynth.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = alphasynth.nothing


def test_alpha_meets_the_likelihood_in_one_function_only():
    """No other file multiplies by a log-likelihood; they call `weighted`."""
    for path in PACKAGE.glob("*.py"):
        if path.stem != "contribution":
            assert not re.search(r"\* *(log_lik|largest_log_lik)\b|\blog_lik \*", path.read_text()), path


DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_python_in_the_documents_runs(path, tmp_path, monkeypatch, capsys):
    """All blocks of a document run one after the other, in a folder that holds the reference table."""
    blocks = re.findall(r"```python\n(.*?)```", path.read_text(), re.DOTALL)
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


def test_commands_in_the_documents_run(tmp_path, monkeypatch, capsys):
    """Those of README.md and of the documents with commands, one after the other in one folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("alphasynth.cli._use_cache", lambda: None)
    rng = np.random.default_rng(0)
    pd.DataFrame({"salary": rng.negative_binomial(3, 0.03, 500)}).to_csv("salaries.csv", index=False)
    people = {"person": np.arange(900) // 4, "age": rng.integers(18, 80, 900), "sex": rng.choice(["f", "m"], 900)}
    pd.DataFrame({**people, "visits": rng.negative_binomial(2, 0.2, 900)}).to_parquet("visits.parquet")
    commands = []
    for path in (
        ROOT / "README.md",
        *(ROOT / "docs" / f"{name}.md" for name in ("tables", "command-line", "evaluation")),
    ):
        for block in re.findall(r"```console\n(.*?)```", path.read_text(), re.DOTALL):
            commands += [line for line in block.splitlines() if line.startswith("alphasynth")]
    assert len(commands) > 6
    for command in dict.fromkeys(commands):
        assert run_command(shlex.split(command)[1:]) == 0, (command, capsys.readouterr().err)
