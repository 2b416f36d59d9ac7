"""Every family for the tests, bound to a column with what it wants declared."""

from __future__ import annotations

from alphasynth.models.coefficient_priors import NormalPrior
from alphasynth.models.families import FAMILIES
from alphasynth.tables.declared import Declared

LEVELS = Declared(levels=("a", "b", "c", "d"))
TWO = Declared(levels=("f", "m"))
LIMITS = Declared(limits=(1.0, 50.0))
DECLARED = {
    "bernoulli": TWO,
    "categorical": LEVELS,
    "ordinal": LEVELS,
    **dict.fromkeys(["normal", "log_normal", "gamma"], LIMITS),
    **dict.fromkeys(["two_part_normal", "two_part_log_normal", "two_part_gamma"], LIMITS),
}


def bound(name, K=1):
    """Model of the column y with K columns in its design, and what is declared of it."""
    declared = DECLARED.get(name, Declared())
    return FAMILIES[name].model("y", declared, NormalPrior(1.0), K), declared
