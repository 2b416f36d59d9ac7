"""Which columns of a file of draws are log-likelihoods, by their names."""

from __future__ import annotations

import re
from collections.abc import Sequence

from alphasynth.errors import InputError

ROW_NAMES = ("", "Unnamed: 0", "__index_level_0__")  # what R and pandas put before the columns
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
    if any(SAMPLER.search(other) for other in names):
        raise InputError(f"a file of draws must hold columns {name}.1, {name}.2, ..., found none of that name")
    return [i for i, other in enumerate(names) if not (i == 0 and other in ROW_NAMES)]


def _count(start: int, numbered: Sequence[object]) -> list[int]:
    return list(range(start, start + len(numbered)))
