"""Ledgers for the tests: one that fails where it should note a release."""

from __future__ import annotations

from alphasynth.errors import InputError
from alphasynth.runs.ledger import Ledger

_append = Ledger.append


def append_all_but_a_release(ledger, event, *args, **kwargs):
    """In the place of `Ledger.append`: the run stands, and the ledger cannot be written."""
    if event == "release":
        raise InputError("the ledger cannot be written")
    _append(ledger, event, *args, **kwargs)
