"""The shape of the package: who imports whom, what is public, and docstrings and documents that run."""

from __future__ import annotations

import ast
import graphlib
import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import alphasynth
from alphasynth.cli.entry import run_command

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "alphasynth"
# Folders and modules of the root, each importing only from those before it and from itself.
LAYERS = (
    *("errors", "catalogue", "interruption", "privacy", "tables", "models", "inference", "mechanisms", "synthesis"),
    *("audits", "synthesizer", "evaluation", "pages", "league", "runs", "cli"),
)
MOST_MODULES, MOST_LINES = 20, 300
STUDIES = ROOT / "studies" / "alphasynth_studies"
STUDY_ORDER = [
    *("expected", "study", "tables", "salaries", "synthesizers", "statements", "paper_statements", "repeats"),
    *("before_after", "before_after_page", "before_after_tables", "local_bounds", "many_databases", "contraction_page"),
    *("nb_mixture", "salary", "contraction", "output", "markdown", "reproduction"),
]
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path.name != "__init__.py")


def module_name(path):
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)


def imported(path, package="alphasynth"):
    """Modules of the package that a file imports, wherever in it, and by either form of the statement."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name.startswith(f"{package}.")}
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            if node.module.split(".")[0] != package:
                continue
            assert node.level == 0, "imports are absolute"
            for alias in node.names:
                inside = f"{node.module}.{alias.name}"
                place = PACKAGE.parent.joinpath(*inside.split("."))
                found.add(inside if place.with_suffix(".py").exists() or place.is_dir() else node.module)
    return found - {package}


@pytest.mark.parametrize("path", MODULES, ids=module_name)
def test_imports_point_up_the_layers(path):
    own = module_name(path).split(".")[1]
    for name in imported(path):
        assert LAYERS.index(name.split(".")[1]) <= LAYERS.index(own), name


@pytest.mark.parametrize("form", ["from alphasynth.cli import app", "import alphasynth.cli.app"])
@pytest.mark.parametrize("before", ["", "if TYPE_CHECKING:\n    ", "def f():\n    "])
def test_every_form_of_import_is_seen(form, before, tmp_path):
    (tmp_path / "module.py").write_text(f"from alphasynth import __version__, synthesizer\n{before}{form}\n")
    assert imported(tmp_path / "module.py") == {"alphasynth.cli.app", "alphasynth.synthesizer"}


def test_no_module_leads_back_to_itself():
    """Within a folder the imports that are made on import have an order."""
    order = graphlib.TopologicalSorter({module_name(path): imported(path) - {module_name(path)} for path in MODULES})
    assert len(list(order.static_order())) >= len(MODULES)


def test_the_house_can_be_seen_at_a_glance():
    names = {path.name for path in PACKAGE.iterdir() if path.name not in ("__pycache__", "py.typed", "__init__.py")}
    assert names == {f"{name}.py" if (PACKAGE / f"{name}.py").exists() else name for name in LAYERS}
    for folder in PACKAGE.iterdir():
        if folder.is_dir() and folder.name != "__pycache__":
            assert len(list(folder.glob("*.py"))) - 1 <= MOST_MODULES, folder
            said = ast.parse((folder / "__init__.py").read_text())
            assert len(said.body) == 1, "what lives there, what it may import, and nothing else"
            assert "Imports" in (ast.get_docstring(said) or "")


@pytest.mark.parametrize("path", MODULES, ids=module_name)
def test_no_module_is_long(path):
    assert len(path.read_text().splitlines()) <= MOST_LINES


def test_the_studies_have_an_order():
    assert sorted(STUDY_ORDER) == sorted(path.stem for path in STUDIES.glob("*.py") if path.stem != "__init__")
    for path in STUDIES.glob("*.py"):
        if path.stem != "__init__":
            for name in imported(path, "alphasynth_studies"):
                assert STUDY_ORDER.index(name.split(".")[1]) < STUDY_ORDER.index(path.stem), path


def test_only_its_command_knows_the_studies():
    """And what the studies take of the package is public."""
    for path in MODULES:
        assert ("alphasynth_studies" in path.read_text()) == (module_name(path) == "alphasynth.cli.study"), path
    for path in STUDIES.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom):
                assert not any(alias.name.startswith("_") for alias in node.names if alias.name != "__version__"), path


def test_everything_offered_is_there():
    for name in alphasynth.__all__:
        assert getattr(alphasynth, name) is not None
    assert dir(alphasynth) == sorted(alphasynth.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = alphasynth.nothing


def test_alpha_meets_the_likelihood_in_one_function_only():
    """No other file multiplies by a log-likelihood; they call `weighted`."""
    for path in MODULES:
        if path.stem != "contribution":
            assert not re.search(r"[*@] *(log_lik|largest_log_lik)\b|\blog_lik [*@]", path.read_text()), path


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
    monkeypatch.setattr("alphasynth.cli.synthesize._use_cache", lambda: None)
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
