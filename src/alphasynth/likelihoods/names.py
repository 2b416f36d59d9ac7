"""Which columns of a file of draws are log-likelihoods, by their names."""

from __future__ import annotations

import re
from collections.abc import Sequence

from alphasynth.errors import InputError

ROW_NAMES = ("", "Unnamed: 0", "__index_level_0__")  # what R and pandas put before the columns
NUMBERED = re.compile(r"(.*?)[\[._]?(\d+)\]?$")
SAMPLER = re.compile(r"__$")  # Stan's own columns: lp__, stepsize__


def chosen(names: Sequence[str], name: str) -> list[int]:
    """Places of `name`.1, `name`[1], ... in their order; of all columns where none is called so, but for row names.

    >>> chosen(["lp__", "mu", "log_lik.1", "log_lik.2"], "log_lik"), chosen(["", "V1", "V2"], "log_lik")
    ([2, 3], [1, 2])
    """
    own = re.compile(rf"{re.escape(name)}[\[._]?(\d+)\]?$")
    numbered = [(int(match[1]), i) for i, match in enumerate(map(own.match, names)) if match]
    if numbered:
        if sorted(number for number, _ in numbered) not in (_count(0, numbered), _count(1, numbered)):
            raise InputError(
                f"columns {name}.1, {name}.2, ... must be there without a gap, found some missing or twice"
            )
        return [i for _, i in sorted(numbered)]
    named = [i for i, other in enumerate(names) if other not in ROW_NAMES]
    if any(SAMPLER.search(names[i]) for i in named):
        raise InputError(f"a file of draws must hold columns {name}.1, {name}.2, ..., found none of that name")
    matches = [(match, i) for i in named if (match := NUMBERED.match(names[i]))]
    numbers = {int(match[2]) for match, _ in matches}
    if len({match[1] for match, _ in matches}) == 1 and len(matches) == len(named) == len(numbers):
        return [i for _, i in sorted((int(match[2]), i) for match, i in matches)]  # V1, V2, ..., wherever they stand
    return named


def _count(start: int, numbered: Sequence[object]) -> list[int]:
    return list(range(start, start + len(numbered)))
