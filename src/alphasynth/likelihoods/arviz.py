"""Matrices in ArviZ's hands: the log_likelihood group of an InferenceData or DataTree, and of a NetCDF file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from alphasynth.errors import InputError, found
from alphasynth.likelihoods.matrix import AT_ONCE, Block, LogLik

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


@dataclass(frozen=True, eq=False)
class Sliced:
    """A variable (chain, draw, records...) of xarray, in memory or lazy: each part is asked for by itself, once."""

    variable: Any = field(repr=False)

    @classmethod
    def of(cls, variable: Any) -> Sliced:
        """Refuse what is no matrix of numbers."""
        if variable.dtype.kind not in "fiu":
            raise InputError(f"log_lik must hold numbers, found {variable.dtype} values")
        if len(variable.dims) < 3:
            raise InputError(f"log_lik must have a dimension of records after {DRAWS}, found none")
        return cls(variable)

    @property
    def shape(self) -> tuple[int, int]:
        """S of all chains and n."""
        chains, draws, *records = self.variable.shape
        return chains * draws, int(np.prod(records))

    def blocks(self) -> Iterator[Block]:
        """Some draws of a chain at a time, and of records all; of a variable in chunks, whole chunks of both."""
        chains, draws, *axes = self.variable.shape
        chunked = self.variable.chunks
        records = [self.shape[1]]
        if chunked is not None and len(axes) == 1:
            records = merged(chunked[2], AT_ONCE)
        some = merged([1] * draws if chunked is None else chunked[1], AT_ONCE // max(1, *records))
        for chain in range(chains):
            for draw, last in spans(some):
                for record, end in spans(records):
                    yield Block(chain * draws + draw, record, self._part(chain, slice(draw, last), slice(record, end)))

    def _part(self, chain: int, draws: slice, records: slice) -> np.ndarray:
        alone = len(self.variable.shape) == 3
        part = self.variable[(chain, draws, records) if alone else (chain, draws)]
        return np.asarray(part.values, np.float64).reshape(draws.stop - draws.start, records.stop - records.start)


def merged(sizes: Sequence[int], most: int) -> list[int]:
    """Sizes of neighbours put together, as many as stay within so much; one that is larger stays by itself.

    >>> merged([2, 2, 2, 9, 1], 5)
    [4, 2, 9, 1]
    """
    together: list[int] = []
    for size in sizes:
        if together and together[-1] + size <= most:
            together[-1] += size
        else:
            together.append(size)
    return together


def spans(sizes: Sequence[int]) -> Iterator[tuple[int, int]]:
    """First and last of each part, the last not in it.

    >>> list(spans([4, 2]))
    [(0, 4), (4, 6)]
    """
    last = 0
    for size in sizes:
        first, last = last, last + size
        yield first, last


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
    return Sliced.of(variable)


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
