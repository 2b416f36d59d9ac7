"""What drivers of databases say, in our words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from alphasynth.errors import InputError


@contextmanager
def translated(rule: str) -> Iterator[None]:
    """What a driver says, in our words: each has errors of its own, and their messages quote values and addresses."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:  # noqa: BLE001
        raise InputError(f"{rule}, found {type(error).__name__}") from None
