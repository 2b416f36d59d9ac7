"""A word before a run that will take long."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from alphasynth.runs.settings import Settings

if TYPE_CHECKING:
    from alphasynth.runs.from_settings import Front
    from alphasynth.tables.databases import DatabaseTable
    from alphasynth.tables.engine import FileTable

# Rows that any table may have.
ANY_NUMBER = 10**12


def say_wait(settings: Settings, front: Front, table: FileTable | DatabaseTable) -> None:
    """Say before it starts that a run will take long, and what makes it slow."""
    from alphasynth.planning import table_waits, waits
    from alphasynth.synthesizer import Synthesizer

    if isinstance(front, Synthesizer):
        said = waits.expected(front.model, front.mechanism.label).words
    else:
        said, tables = "", settings.m * settings.tables_per_draw
        if table_waits.words_of(front.columns.declared, _most_rows(settings.table, len(table.column_names)), tables):
            rows = table.count(front.columns.names[0])
            said = table_waits.words_of(front.columns.declared, rows, tables)
    if said:
        typer.echo(f"alphasynth: {said}", err=True)


def _most_rows(address: str, columns: int) -> int:
    """How many rows a text file may have at the most, by its size: to count them is to read it."""
    path = Path(address)
    text = path.suffix.lower() in (".csv", ".tsv", ".txt") and path.is_file()
    return path.stat().st_size // max(columns, 1) if text else ANY_NUMBER
