"""The demonstration keeps to its own folder."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

import alphasynth as syn

DEMO = Path(__file__).parents[1] / "examples" / "demo.py"


@pytest.mark.slow
def test_its_commands_do_not_mind_a_ledger_that_lies_there(tmp_path, monkeypatch, capsys):
    """As after the README's three commands in the same folder; audits have no ledger."""
    monkeypatch.chdir(tmp_path)
    demo = runpy.run_path(str(DEMO))
    own = demo["run_command_line"].__globals__
    show, here = own["show"], Path("alphasynth-ledger.sqlite")
    here.write_bytes(b"another's")
    own["show"] = lambda command, expected=0: None if " audit " in command else show(command, expected)
    demo["OUT"].mkdir()
    syn.datasets.nb_mixture(n=200, seed=1).to_csv("table.csv", index=False)
    demo["run_command_line"](Path("table.csv"))
    assert (demo["OUT"] / here).exists()
    assert here.read_bytes() == b"another's"
    assert "demo" in capsys.readouterr().out
