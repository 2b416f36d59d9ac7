"""The progress bar: in a kernel alone, what it says, and that it says so when a fit stops."""

from __future__ import annotations

import sys
import types

import pytest

import alphasynth as syn
from alphasynth.mechanisms.mechanism import Step
from alphasynth.notebook import progress


class Shell:
    """Stands for a kernel's shell."""


@pytest.fixture
def shown(monkeypatch):
    """What a notebook would show, one after another."""
    said = []

    class Handle:
        def update(self, both, raw):
            assert raw
            said.append(both)

    def display(both, raw, display_id):
        assert raw
        assert display_id
        said.append(both)
        return Handle()

    ipython, kernels = types.ModuleType("IPython"), types.ModuleType("ipykernel.zmqshell")
    looks = types.ModuleType("IPython.display")
    ipython.get_ipython, kernels.ZMQInteractiveShell, looks.display = Shell, Shell, display
    for module in (ipython, kernels, looks):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    return said


def words(said):
    return [both["text/plain"] for both in said]


def test_a_notebook_shows_every_round(shown, mixture):
    syn.Synthesizer("y ~ 1", family="poisson", mechanism="LW_final", m=1, seed=1, k=0.9).fit(mixture)
    told = words(shown)
    assert told[0] == "reading the table"
    assert [f"round {i} of 3: 1,000 draws" for i in (1, 2, 3)] == [line for line in told if line.startswith("round")]
    assert told[-1].startswith("done, ")
    assert "width:25%" in shown[1]["text/html"]


def test_whole_tables_are_shown_too(shown):
    table = syn.datasets.visits(n=200)
    syn.Synthesizer(syn.datasets.VISITS, mechanism="Raked", epsilon=4, m=1).fit(table)
    assert words(shown)[:2] == ["reading the table", "round 1 of 1"]


def test_a_fit_that_stops_says_where(shown, mixture):
    with pytest.raises(syn.InputError):
        syn.Synthesizer("other ~ 1", family="poisson", mechanism="LW", m=1).fit(mixture)
    assert words(shown)[-1].startswith("stopped: reading the table, ")


def test_who_watches_sees_it_and_the_notebook_does_not(shown, mixture):
    seen = []
    syn.Synthesizer("y ~ 1", family="poisson", mechanism="LW", m=1, seed=1).fit(mixture, seen.append)
    assert seen == [Step(1, 2, 1), Step(2, 2, 1)]
    assert shown == []


def test_elsewhere_nothing_is_shown(monkeypatch, capsys, mixture):
    monkeypatch.delitem(sys.modules, "ipykernel.zmqshell", raising=False)
    assert not progress.in_notebook()
    syn.Synthesizer("y ~ 1", family="poisson", mechanism="Unweighted", m=1, seed=1).fit(mixture)
    assert capsys.readouterr() == ("", "")


def test_a_terminal_of_ipython_is_no_notebook(shown, monkeypatch):
    assert progress.in_notebook()
    monkeypatch.setattr(sys.modules["IPython"], "get_ipython", lambda: None)
    assert not progress.in_notebook()
