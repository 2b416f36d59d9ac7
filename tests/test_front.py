"""The public names: the same for who runs and who type-checks, light to import, every parameter described."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import alphasynth

ROOT = Path(__file__).parents[1]
while not (ROOT / "pyproject.toml").exists():
    ROOT = ROOT.parent


def test_type_checkers_see_what_is_offered():
    tree = ast.parse(Path(alphasynth.__file__).read_text())
    (block,) = (node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    seen = {
        alias.asname: statement.module.removeprefix("alphasynth.")
        for statement in block.body
        for alias in statement.names
    }
    assert seen == {**dict.fromkeys(alphasynth._MODULES, "alphasynth"), **alphasynth._HOME}


CHECKED = """\
import alphasynth
made = alphasynth.Synthesizer("y ~ 1", family="poisson", mechanism="Censored", m=1, epsilon=1.0, cut=9.0)
reveal_type(made.fit)
alphasynth.Synthesizer("y", mechanism="LW", m=1, nonsense=3)
alphasynth.Synthesizer("y", mechanism="LW", m=1, scale="one")
alphasynth.nothing
"""


def test_what_is_not_a_parameter_does_not_type_check(tmp_path):
    (tmp_path / "checked.py").write_text(CHECKED)
    command = [sys.executable, "-m", "mypy", "--config-file", ROOT / "pyproject.toml", tmp_path / "checked.py"]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300).stdout
    told = [line for line in said.splitlines() if ": error: " in line or "Revealed type" in line]
    lines = {int(line.split(":")[1]): line for line in told}
    assert sorted(lines) == [3, 4, 5, 6], said
    assert "alphasynth.synthesizer.Synthesizer" in lines[3]
    assert 'Unexpected keyword argument "nonsense"' in lines[4]
    assert '"scale" to "Synthesizer" has incompatible type "str"' in lines[5]
    assert 'no attribute "nothing"' in lines[6]


HEAVY = ("jax", "numpyro", "numpy", "pandas", "pyarrow", "duckdb", "scipy", "matplotlib", "sklearn")
DRAWN = """\
import sys
from pathlib import Path
import numpy as np
from alphasynth.pages.drawing import draw
from alphasynth.pages.figures import value_violins
from alphasynth.pages.images import save
from alphasynth.evaluation.values import Values
figure = value_violins("y", Values.of(np.array([1.0, 2.0, 4.0])), {"LW": Values.of(np.array([1.0, 3.0, 3.0]))})
assert "<svg" in draw(figure, figure.panels[0])
save(figure, Path(sys.argv[1]), "simulated")
assert list(Path(sys.argv[1]).glob("*.png"))
"""


@pytest.mark.parametrize(
    ("code", "heavy"),
    [("import alphasynth", HEAVY), ("import alphasynth.cli.app", HEAVY), (DRAWN, ("jax", "numpyro"))],
    ids=["the package", "the command line", "a figure"],
)
def test_what_is_light_stays_light(code, heavy, tmp_path):
    """Nothing heavy is loaded by the package or the command line's help, nor JAX to draw a figure."""
    ask = f"\nimport sys\nprint([name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code + ask, tmp_path], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
