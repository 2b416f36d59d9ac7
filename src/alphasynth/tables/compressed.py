"""Text files that are compressed: `.csv.gz`, `.csv.zst` and their kin are read as what is inside."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pyarrow as pa

from alphasynth.errors import InputError

COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}


def inner_suffix(path: Path) -> str:
    """The suffix of what a file holds, in small letters.

    >>> inner_suffix(Path("visits.CSV.gz")), inner_suffix(Path("visits.parquet"))
    ('.csv', '.parquet')
    """
    outer = path.suffix.lower()
    return Path(path.stem).suffix.lower() if outer in COMPRESSIONS else outer


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """A file's bytes, as they are once decompressed; raise `InputError` for what cannot be."""
    kind = COMPRESSIONS.get(path.suffix.lower())
    if kind is None:
        with path.open("rb") as file:
            yield file
        return
    try:
        with pa.input_stream(str(path), compression=kind) as stream:
            yield io.BufferedReader(stream)
    except (pa.ArrowException, OSError):
        raise InputError(f"{path.name} must be compressed by {kind}, found what cannot be read as such") from None
