"""The paper's results as runnable studies, with its numbers beside ours."""

from __future__ import annotations

import importlib

from alphasynth_studies.study import Study

# Loaded when asked for: a study imports what it needs.
_HOME = {"nb-mixture": "nb_mixture", "salary": "salary", "contraction": "contraction", "headline": "headline.study"}
NAMES = tuple(_HOME)


def named_study(name: str) -> Study:
    """A study by its name."""
    found: Study = importlib.import_module(f"alphasynth_studies.{_HOME[name]}").STUDY
    return found
