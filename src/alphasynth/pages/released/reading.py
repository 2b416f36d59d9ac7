"""How a program of the public page reads the tables, from their files' names and how these are written."""

from __future__ import annotations

import pprint
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any

from alphasynth.synthesis.release import Release
from alphasynth.tables.text_cells import guarded

READERS = {
    ".csv": "read_csv(path)",
    ".tsv": "read_csv(path, sep='\\t')",
    ".parquet": "read_parquet(path)",
    ".arrow": "read_feather(path)",
    ".feather": "read_feather(path)",
    ".xpt": "read_sas(path)",
    ".sav": "read_spss(path)",
    ".dta": "read_stata(path)",
}
TEXT = (".csv", ".tsv")
WIDTH = 92


def reading(release: Release) -> str:
    """The line that reads all tables."""
    read, pattern = _reader(release)
    return f"tables = [pd.{read} for path in sorted(glob({pattern!r}))]"


def reading_as_declared(release: Release, of_text: Sequence[str]) -> list[str]:
    """Lines that read all tables; columns `of_text` are read as text, where a file does not say what they are."""
    read, pattern = _reader(release)
    kinds = []
    if pattern.endswith(TEXT):
        kinds = [f"text = {shown({as_filed(release, name): 'str' for name in of_text})}"]
        read = f"{read[:-1]}, keep_default_na=False, na_values=[''], dtype=text)"
    return [f"paths = sorted(glob({pattern!r}))", *kinds, f"tables = [pd.{read} for path in paths]"]


def shown(value: Any) -> str:
    """A literal over lines of a width that pages have."""
    return pprint.pformat(value, width=WIDTH, compact=True, sort_dicts=False)


def _reader(release: Release) -> tuple[str, str]:
    """How pandas reads a table, and the pattern of the files' names."""
    first = PurePath(release.files[0] if release.files else "synthetic_01.csv")
    read = READERS.get(first.suffix, READERS[".csv"])
    if first.suffix == ".csv" and release.delimiter != ",":
        read = f"read_csv(path, sep={release.delimiter!r})"
    if release.decimal != ".":
        read = read.replace(")", f", decimal={release.decimal!r})")
    return read, f"{first.stem.rstrip('0123456789')}*{first.suffix}"


def as_filed(release: Release, text: str) -> str:
    """A name or level of text as the files have it."""
    return guarded(text) if release.guarded else text
