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


def choice_for(formula: Any, family: Any, declared: Mapping[str, Any], epsilon: float | None) -> str:
    """The name of the mechanism of a synthesizer that was given none; raise `InputError` without an epsilon.

    >>> choice_for("y ~ 1", "poisson", {}, 4), choice_for(["a ~ 1", "b ~ a"], "normal", {}, 4)
    ('Censored', 'Scored')
    """
    if epsilon is None:
        raise InputError(
            "a synthesizer must have an epsilon, the policy's budget, which a strict mechanism keeps; or a mechanism "
            "whose epsilon falls out of the weights, found neither"
        )
    of_text = isinstance(formula, str) or (isinstance(formula, Sequence) and all(isinstance(f, str) for f in formula))
    made = {"formula": formula} if of_text else {"model": formula}
    named = family if isinstance(family, str | Sequence) else None
    return str(with_choice(made | {"family": named, "declared": declared, "epsilon": epsilon})["mechanism"])


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
    numbers = [len(words.partition("=")[2].split("|")) for words in _listed(given.get("levels"))]
    numbers += [len(facts["levels"]) for facts in given.get("declared", {}).values() if facts.get("levels")]
    return len(numbers) == 1 and numbers[0] <= MOST_EXACT_LEVELS
