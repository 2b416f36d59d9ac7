"""Scopes: which kind of promise is made. Sums of epsilon mean something within one kind only."""

from __future__ import annotations

from collections.abc import Sequence

STRICT, TARGET, INSTANCE, NONE = "strict", "target", "instance", "none"


def scope_of(rules: Sequence[str], bounded: bool, exact: bool) -> str:
    """Which kind of promise a mechanism makes: strict where what a record adds is bounded and nothing is inexact.

    >>> scope_of((), bounded=True, exact=True), scope_of(("LW",), bounded=False, exact=False)
    ('strict', 'instance')
    """
    if bounded:
        return STRICT if exact else TARGET
    return INSTANCE if rules else NONE
