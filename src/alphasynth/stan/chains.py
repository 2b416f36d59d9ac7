"""Chains of a program, as Stan makes them, with their coordinates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from alphasynth.stan.program import StanProgram

Shapes = Mapping[str, tuple[int, ...]]


class Chains(NamedTuple):
    """Coordinates u, an array (length, D) of each chain, and what the sampler says of its draws by name, of each."""

    u: list[np.ndarray]
    told: list[dict[str, np.ndarray]]


def chains(
    program: StanProgram,
    data: dict[str, Any],
    shapes: Shapes,
    seeds: list[int],
    warmup: int,
    length: int,
    accept: float,
    known: bool = False,
) -> Chains:
    """A chain for each seed. `shapes` says what to read of it, the parameters among that.

    `known`: draws of which something could not be computed are left out.
    """
    found = program.ask("sample", data, list(shapes), seeds, warmup, length, accept)
    u = [np.asarray(program.ask("unconstrain", data, _thetas(chain, shapes, known))) for chain in found]
    return Chains(u, found)


def _thetas(chain: dict[str, np.ndarray], shapes: Shapes, known: bool) -> list[dict[str, object]]:
    """A chain's draws as Stan takes initial values: by name, in their shapes."""
    parts: dict[str, np.ndarray] = {}
    keep = np.ones(len(chain["lp__"]), bool)
    for name, shape in shapes.items():
        entries = [name] if not shape else [f"{name}.{'.'.join(map(str, at))}" for at in _places(shape)]
        values = np.stack([chain[entry] for entry in entries], axis=1) if entries else np.zeros((len(keep), 0))
        parts[name] = values.reshape(len(values), *shape, order="F")
        keep &= np.isfinite(values).all(axis=1) | (not known)
    return [{name: value[i].tolist() for name, value in parts.items()} for i in np.flatnonzero(keep)]


def _places(shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Indices from 1, the first fastest."""
    return [tuple(int(i) + 1 for i in at[::-1]) for at in np.ndindex(*shape[::-1])]
