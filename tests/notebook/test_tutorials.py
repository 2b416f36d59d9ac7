"""The tutorials run: no error, no warning, nothing stored in them, and what they show says what it is."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from engines import has_module, need

FOLDER = Path(__file__).parents[2] / "docs" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
# In a process of its own, as from the shell; 300 seconds for a cell, on a busy machine.
RUN = """\
import sys
import nbformat
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
book = nbformat.read(sys.argv[1], 4)
kernel = AsyncKernelManager(kernel_name="python3", transport="ipc", connection_file="kernel.json")
NotebookClient(book, km=kernel, timeout=300).execute()
nbformat.write(book, sys.argv[2])
"""


def read(path):
    import nbformat

    return nbformat.read(path, 4)


def test_there_are_three():
    assert [path.stem for path in NOTEBOOKS] == ["health-survey", "panel", "salaries"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_nothing_is_stored(path):
    """Outputs would go stale, and a number of a run would be in the repository."""
    for cell in read(path).cells:
        assert cell.cell_type == "markdown" or (cell.outputs == [] and cell.execution_count is None)
        assert cell.metadata == {}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_links_lead_somewhere(path):
    for cell in read(path).cells:
        for target in re.findall(r"\]\(([^)#]+)\)", cell.source):
            assert (path.parent / target).exists(), target


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_tutorial_runs(path, tmp_path):
    need(has_module("nbclient") and has_module("ipykernel"), "no nbclient or ipykernel (pip install 'alphasynth[dev]')")
    done = subprocess.run([sys.executable, "-c", RUN, path, "run.ipynb"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    book = read(tmp_path / "run.ipynb")
    outputs = [output for cell in book.cells if cell.cell_type == "code" for output in cell.outputs]
    assert not [output for output in outputs if output.output_type == "error"]
    assert not [output.text for output in outputs if output.get("name") == "stderr"]
    shown = [output.data.get("text/html", "") for output in outputs if "data" in output]
    for title, confidential in (("Utility", True), ("Release", False)):
        (card,) = (html for html in shown if f">{title}</b>" in html)
        assert ("confidential" in card[:600]) == confidential
        assert "Not for release" not in card
    assert any(output.get("data", {}).get("text/plain", "").startswith("done, ") for output in outputs)
    assert list(tmp_path.glob("*.parquet")) == []
