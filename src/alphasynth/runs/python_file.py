"""What a user's own Python file holds, by its address `FILE.py:NAME`."""

from __future__ import annotations

import importlib.util
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

from alphasynth.errors import InputError, found


def named_in_file(option: str, address: str) -> Any:
    """The object that `FILE.py:NAME` names; the file is run once. Raises `InputError`, which names the option."""
    path, _, name = address.rpartition(":")
    if not path.endswith(".py") or not name.isidentifier():
        raise InputError(f"{option} must be FILE.py:NAME, found {found(address)}")
    if not Path(path).is_file():
        raise InputError(f"{option} must name a file that exists, found none at {found(path)}")
    try:
        module = _run_file(str(Path(path).absolute()))
    except Exception as error:  # the user's own program, which may raise anything
        raise InputError(f"{option} must name a file that runs, found {described(error)} in {path}") from error
    if not hasattr(module, name):
        raise InputError(f"{option} must name something in {path}, found no {name!r} there")
    return getattr(module, name)


def described(error: Exception) -> str:
    """An error of the user's own program on one line.

    >>> described(ValueError("no such thing"))
    'ValueError: no such thing'
    """
    said = " ".join(str(error).split())
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


@lru_cache
def _run_file(path: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"own_{Path(path).stem}", path)
    assert spec is not None and spec.loader is not None, "a file whose name ends in .py"  # noqa: PT018
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
