"""Matrices in ArviZ's hands: the log_likelihood group of an InferenceData or DataTree, and of a NetCDF file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from alphasynth.errors import InputError, found
from alphasynth.likelihoods.matrix import AT_ONCE, Block, Held, LogLik

GROUP, DRAWS = "log_likelihood", ("chain", "draw")


@dataclass(frozen=True, eq=False)
class Hdf5:
    """A variable (chains, draws, records...) of a NetCDF file, read some draws at a time."""

    variable: Any = field(repr=False)

    @property
    def shape(self) -> tuple[int, int]:
        """S of all chains and n."""
        chains, draws, *records = self.variable.shape
        return chains * draws, int(np.prod(records))

    def blocks(self) -> Iterator[Block]:
        """Some draws of a chain at a time."""
        chains, draws, *_ = self.variable.shape
        n = self.shape[1]
        some = max(1, AT_ONCE // max(n, 1))
        for chain in range(chains):
            for first in range(0, draws, some):
                part = np.asarray(self.variable[chain, first : first + some], np.float64)
                yield Block(chain * draws + first, 0, part.reshape(len(part), n))


def is_arviz(source: Any) -> bool:
    """Whether it has groups of posterior draws, as ArviZ's have."""
    return hasattr(source, GROUP) or (type(source).__name__ in ("DataTree", "InferenceData", "Dataset"))


def of_arviz(source: Any, name: str) -> LogLik:
    """The matrix in an InferenceData's or DataTree's log_likelihood group."""
    group = source if type(source).__name__ == "Dataset" else getattr(source, GROUP, None)
    if group is None:
        raise InputError(
            f"log_lik must have a group {GROUP!r} (in PyMC pm.compute_log_likelihood makes it), found none"
        )
    variables = dict(group.data_vars)
    variable = variables[_only(list(variables), name)]
    if tuple(variable.dims[:2]) != DRAWS:
        raise InputError(f"log_lik must have the dimensions {DRAWS} first, found {tuple(variable.dims[:2])}")
    values = np.asarray(variable.values)
    return Held(values.reshape(*values.shape[:2], -1))


def open_netcdf(path: Path, name: str) -> Hdf5:
    """The matrix of a NetCDF file that ArviZ wrote."""
    try:
        import h5py
    except ImportError:
        raise InputError("NetCDF files need h5py: pip install 'alphasynth[netcdf]', found none") from None
    try:
        file = h5py.File(path, "r")
    except OSError:
        raise InputError(f"log_lik must be a NetCDF file of version 4, found another kind in {path.name!r}") from None
    if GROUP not in file:
        raise InputError(f"log_lik must have a group {GROUP!r}, found {found(', '.join(sorted(file)))}")
    group = file[GROUP]
    names = [key for key, item in group.items() if isinstance(item, h5py.Dataset) and item.ndim >= 3]
    return Hdf5(group[_only(names, name)])


def _only(names: Sequence[str], name: str) -> str:
    """The variable of that name, or the only one there is."""
    if name in names:
        return name
    if len(names) != 1:
        listed = ", ".join(names) or "none"
        raise InputError(f"name must be that of one variable of the group {GROUP!r}, found {listed}")
    return names[0]
