"""The shape of the package and of its tests: who imports whom, what is public, how long and where things are."""

from __future__ import annotations

import ast
import graphlib
import re
from pathlib import Path

import pytest

import alphasynth

ROOT = Path(__file__).parents[1]
PACKAGE, TESTS = ROOT / "src" / "alphasynth", ROOT / "tests"
# Folders and modules of the root, each importing only from those before it and from itself.
LAYERS = (
    *("errors", "catalogue", "notebook", "datasets"),
    *("privacy", "tables", "stan", "models", "inference", "exact", "mechanisms", "likelihoods"),
    *("constraints", "raking", "suggestions", "synthesis"),
    *("audits", "synthesizer", "evaluation", "pages", "explorer", "league", "planning", "runs", "cli"),
)
MOST_MODULES, MOST_LINES, MOST_PARAMETERS = 20, 300, 10
STUDIES = ROOT / "studies" / "alphasynth_studies"
STUDY_ORDER = [
    *("expected", "study", "tables", "salaries", "synthesizers", "statements", "paper_statements", "repeats", "scans"),
    *("before_after", "before_after_page", "before_after_tables", "local_bounds", "many_databases", "contraction_page"),
    *("nb_mixture", "salary", "contraction", "output", "markdown", "headline", "own", "reproduction"),
]
STUDY_MODULES = sorted(path for path in STUDIES.rglob("*.py") if path.name != "__init__.py")
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


def test_the_design_names_every_folder():
    """In its table and in its picture, in the order of the layers."""
    page = (ROOT / "docs" / "design.md").read_text()
    folders = [name for name in LAYERS if (PACKAGE / name).is_dir()]
    assert re.findall(r"^\| `(\w+)/` \|", page, re.M)[: len(folders)] == folders
    drawn = re.findall(r'font-weight="600"[^>]*>([^<]*)<', (ROOT / "docs" / "figures" / "layers.svg").read_text())
    assert drawn[1:] == list(LAYERS[4:])
    assert drawn[0] == "root modules, notebook"


@pytest.mark.parametrize("path", [*MODULES, *STUDY_MODULES], ids=lambda path: path.stem)
def test_no_module_is_long(path):
    assert len(path.read_text().splitlines()) <= MOST_LINES


def parameters(function):
    """How many parameters a function has, `self` among them."""
    own = function.args
    several = [own.vararg, own.kwarg]
    return len(own.posonlyargs + own.args + own.kwonlyargs) + sum(one is not None for one in several)


@pytest.mark.parametrize("path", [*MODULES, *STUDY_MODULES], ids=lambda path: path.stem)
def test_no_function_takes_many_parameters(path):
    """But for the commands, whose parameters are their options, and the front, which takes what a run asks for."""
    if path.parent.name == "cli" or path == PACKAGE / "synthesis" / "request.py":
        return
    functions = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, FUNCTIONS)]
    assert [made for made in functions if parameters(made) > MOST_PARAMETERS] == []


FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def test_every_kind_of_parameter_is_seen():
    (function,) = ast.parse("def f(a, /, b, *c, d=1, **e): ...").body
    assert parameters(function) == 5


def test_the_studies_have_an_order():
    """Folders among the modules; within a folder no module leads back to itself."""
    own = {path: path.relative_to(STUDIES).with_suffix("").parts for path in STUDY_MODULES}
    assert sorted(STUDY_ORDER) == sorted({parts[0] for parts in own.values()})
    inside = {}
    for path, parts in own.items():
        names = imported(path, "alphasynth_studies")
        near = {name for name in names if len(parts) > 1 and name.split(".")[1] == parts[0]}
        inside[".".join(("alphasynth_studies", *parts))] = near
        for name in names - near:
            assert STUDY_ORDER.index(name.split(".")[1]) < STUDY_ORDER.index(parts[0]), path
    assert len(list(graphlib.TopologicalSorter(inside).static_order())) >= len(inside)
    for folder in {path.parent for path in STUDY_MODULES}:
        assert len(list(folder.glob("*.py"))) - 1 <= MOST_MODULES, folder


def test_only_its_command_knows_the_studies():
    """And what the studies take of the package is public."""
    for path in MODULES:
        assert ("alphasynth_studies" in path.read_text()) == (module_name(path) == "alphasynth.cli.study"), path
    for path in STUDY_MODULES:
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
            assert not MULTIPLIED.search(path.read_text()), path


MULTIPLIED = re.compile(r"[*@] *(largest_)?log_lik\b|\b(largest_)?log_lik(\.T)? *[*@](?!\*)")


@pytest.mark.parametrize("sign", ["*", "@"])
@pytest.mark.parametrize("name", ["log_lik", "largest_log_lik"])
def test_a_product_with_a_log_likelihood_is_seen(name, sign):
    assert MULTIPLIED.search(f"alpha {sign} {name}")
    assert MULTIPLIED.search(f"{name} {sign} alpha")
    assert not MULTIPLIED.search(f"weighted(alpha, {name}) {sign} other")


def checks(function, helpers):
    """Whether a function asserts: itself, by pytest or NumPy, by running a document, or by a helper that does."""
    for node in ast.walk(function):
        called = getattr(node.func, "attr", getattr(node.func, "id", "")) if isinstance(node, ast.Call) else ""
        if isinstance(node, ast.Assert) or called.startswith("assert_") or called in CHECKS or called in helpers:
            return True
    return False


CHECKS = {"raises", "warns", "fail", "exec"}


@pytest.mark.parametrize("path", sorted(TESTS.rglob("test_*.py")), ids=lambda path: path.stem)
def test_every_test_asserts(path):
    functions = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)]
    helpers = {made.name for made in functions if not made.name.startswith("test_") and checks(made, set())}
    assert [made.name for made in functions if made.name.startswith("test_") and not checks(made, helpers)] == []


def test_files_of_tests_have_names_of_their_own():
    names = [path.name for path in TESTS.rglob("*.py")]
    assert len(names) == len(set(names))


def test_folders_of_tests_are_the_packages():
    folders = {path.name for path in TESTS.iterdir() if path.is_dir() and path.name != "__pycache__"}
    packages = {path.name for path in PACKAGE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders == packages | {"neighbours", "r", "reference", "studies"}
