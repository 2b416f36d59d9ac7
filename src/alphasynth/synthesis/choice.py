"""Which mechanism a run takes where none is named: a strict one, by public facts alone, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from alphasynth.errors import InputError

MOST_EXACT_LEVELS = 4  # of a column of levels that is drawn exactly
OF_LEVELS = ("categorical", "ordinal")


class Choice(NamedTuple):
    """A mechanism, and why it was taken."""

    mechanism: str
    why: str

    @property
    def words(self) -> str:
        """One line for who asked."""
        return f"Mechanism: {self.mechanism}, since {self.why}; --mechanism names another, alphasynth choose helps."


def with_choice(given: Mapping[str, Any]) -> dict[str, Any]:
    """Settings with a mechanism where none is named, and one draw where nobody says how many.

    Raises `InputError` where there is no epsilon to promise.
    """
    made = {**given, "m": 1 if given.get("m") is None else given["m"]}
    if given.get("mechanism") is not None:
        return made
    if given.get("epsilon") is None:
        raise InputError(
            "a run needs --epsilon, the policy's budget, which a strict mechanism keeps; or --mechanism, one of those "
            "whose epsilon falls out of the weights, found neither"
        )
    return made | {"mechanism": chosen(given).mechanism}


def chosen(given: Mapping[str, Any]) -> Choice:
    """The mechanism for what is declared; nothing of the table is read.

    >>> chosen({"formula": "y ~ 1", "family": "poisson"}).mechanism, chosen({"formula": ["y ~ age"]}).mechanism
    ('Censored', 'Scored')
    """
    if given.get("columns") is not None:
        return Choice("Raked", "columns of a whole table are declared: noisy counts and moments, then raking")
    formulas = _listed(given.get("formula"))
    if given.get("model") is not None or len(formulas) != 1:
        return Choice("Scored", "there are several columns with models: noisy sums of scores, and no Markov chain")
    if formulas[0].partition("~")[2].strip() not in ("1", "(1)"):
        return Choice("Scored", "the column has covariates: noisy sums of scores, and no Markov chain")
    if _listed(given.get("family"))[:1] and _listed(given.get("family"))[0] in OF_LEVELS and not _few_levels(given):
        return Choice("Scored", f"the column may have more than {MOST_EXACT_LEVELS} levels: noisy sums of scores")
    return Choice("Censored", "there is one column without covariates: its draws are exact")


def _listed(value: Any) -> Sequence[str]:
    return () if value is None else (value,) if isinstance(value, str) else tuple(value)


def _few_levels(given: Mapping[str, Any]) -> bool:
    """Whether the one column's levels are declared and few."""
    declared = [words.partition("=")[2] for words in _listed(given.get("levels"))]
    return len(declared) == 1 and len(declared[0].split("|")) <= MOST_EXACT_LEVELS
