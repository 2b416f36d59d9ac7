"""Workbooks made by hand, cell by cell: what a spreadsheet program stores, and nothing else."""

from __future__ import annotations

import datetime as dt
import zipfile
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
DAYS_BEFORE_1970 = 25_569  # from the day that Excel calls 0
STYLES = {dt.date: 1, dt.datetime: 2, dt.timedelta: 3}


class Error(NamedTuple):
    """A cell that shows an error."""

    word: str


class Formula(NamedTuple):
    """A cell that is computed, and the value that was saved with it, if one was."""

    text: str
    value: float | None


def write_workbook(
    path: str | Path, sheets: Mapping[str, Sequence[Sequence[Any]]], hidden_rows: Sequence[int] = ()
) -> None:
    """Write sheets of rows of cells; None is a cell that is not there."""
    names = list(sheets)
    entries = "".join(f'<sheet name="{escape(n)}" sheetId="{i}" r:id="r{i}"/>' for i, n in enumerate(names, 1))
    linked = "".join(
        f'<Relationship Id="r{i}" Type="{OFFICE}/worksheet" Target="worksheets/sheet{i}.xml"/>'
        for i in range(1, len(names) + 1)
    )
    formats = "".join(f'<xf numFmtId="{number}"/>' for number in (0, 14, 22, 46))
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{PACKAGE}/content-types"/>',
        "_rels/.rels": f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="r1" '
        f'Type="{OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}"><sheets>{entries}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{PACKAGE}/relationships">{linked}<Relationship Id="s" '
        f'Type="{OFFICE}/styles" Target="styles.xml"/></Relationships>',
        "xl/styles.xml": f'<styleSheet xmlns="{MAIN}"><cellXfs count="4">{formats}</cellXfs></styleSheet>',
    }
    for number, rows in enumerate(sheets.values(), 1):
        lines = "".join(_row(i, row, i in hidden_rows) for i, row in enumerate(rows, 1))
        parts[f"xl/worksheets/sheet{number}.xml"] = (
            f'<worksheet xmlns="{MAIN}"><sheetData>{lines}</sheetData></worksheet>'
        )
    with zipfile.ZipFile(path, "w") as file:
        for name, content in parts.items():
            file.writestr(name, f'<?xml version="1.0"?>{content}')


def _row(number: int, row: Sequence[Any], hidden: bool) -> str:
    cells = "".join(_cell(f"{chr(65 + i)}{number}", cell) for i, cell in enumerate(row) if cell is not None)
    return f'<row r="{number}"{" hidden=" + chr(34) + "1" + chr(34) if hidden else ""}>{cells}</row>'


def _cell(place: str, cell: Any) -> str:
    if isinstance(cell, Error):
        return f'<c r="{place}" t="e"><v>{cell.word}</v></c>'
    if isinstance(cell, Formula):
        value = "" if cell.value is None else f"<v>{cell.value}</v>"
        return f'<c r="{place}"><f>{cell.text}</f>{value}</c>'
    if isinstance(cell, bool):
        return f'<c r="{place}" t="b"><v>{int(cell)}</v></c>'
    if isinstance(cell, str):
        return f'<c r="{place}" t="inlineStr"><is><t>{escape(cell)}</t></is></c>'
    return f'<c r="{place}" s="{STYLES.get(type(cell), 0)}"><v>{_number(cell)!r}</v></c>'


def _number(cell: Any) -> float:
    if isinstance(cell, dt.timedelta):
        return cell / dt.timedelta(days=1)
    if isinstance(cell, dt.date):
        moment = cell if isinstance(cell, dt.datetime) else dt.datetime(cell.year, cell.month, cell.day)
        return DAYS_BEFORE_1970 + (moment - dt.datetime(1970, 1, 1)) / dt.timedelta(days=1)
    return cell
