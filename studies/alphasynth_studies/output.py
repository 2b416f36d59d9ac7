"""A study's folder: results.json, expected.csv, report.html and figures/; it appears whole or not at all."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from alphasynth import __version__
from alphasynth.pages import page
from alphasynth.pages.images import save
from alphasynth.runs.interruption import Interruption
from alphasynth.runs.new_folder import new_folder
from alphasynth_studies.expected import (
    CANNOT,
    DEPENDS,
    FAILS,
    FITTED,
    HOLDS,
    NOT_UNUSUAL,
    UNDECIDED,
    UNTOLD,
    Line,
    plain,
)
from alphasynth_studies.scans.turning import RULE
from alphasynth_studies.study import SEED, SETTINGS, Asked, Findings, Study

RESULTS, EXPECTED, PAGE, FIGURES = "results.json", "expected.csv", "report.html", "figures"
TOY = "Size 'toy' shows that the study runs. Its numbers are too few to judge the paper by."
HEADS = ("what", "paper", "ours", "tolerance", "verdict", "place", "said", "reading", "settings of ours", "change")
WORDS = {DEPENDS: "depend on what is not given"}
KINDS = (HOLDS, FAILS, NOT_UNUSUAL, DEPENDS, CANNOT, UNDECIDED, FITTED, UNTOLD)


def carry_out(study: Study, asked: Asked, out: Path, signals: Interruption) -> list[Line]:
    """Run a study and write its folder; return the line of each expected number."""
    with new_folder(out, signals) as staging:
        findings = study.run(asked)
        lines = study.lines(findings.results)
        _write(study, asked, findings, lines, staging)
    return lines


def _write(study: Study, asked: Asked, findings: Findings, lines: Sequence[Line], folder: Path) -> None:
    whole = {**summary(study, asked, lines, findings.mark), **findings.results}
    (folder / RESULTS).write_text(json.dumps(whole, indent=2, allow_nan=False) + "\n", encoding="utf-8")
    with (folder / EXPECTED).open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow((*HEADS, "size", "mark"))
        for line in lines:
            e = line.expected
            numbers = (e.paper, "" if line.ours is None else line.ours, e.tolerance)
            writer.writerow((e.what, *numbers, *_cells(line)[4:], asked.size, findings.mark))
    built = build(study, asked, findings, lines)
    (folder / PAGE).write_text(page.render(built), encoding="utf-8")
    for figure in built.figures:
        save(figure, folder / FIGURES, findings.mark)


def summary(study: Study, asked: Asked, lines: Sequence[Line], mark: str = "") -> dict[str, Any]:
    """What the results file says of the study itself."""
    return {
        "study": study.name,
        "place": study.place,
        "size": asked.size,
        "seed": SEED,
        "version": __version__,
        "mark": mark,
        "expected": [line.flat() for line in lines],
    }


def _cells(line: Line) -> tuple[str, ...]:
    e = line.expected
    numbers = (plain(e.paper), shown(line.ours), plain(e.tolerance))
    if e.is_yes_or_no:
        numbers = (e.spoken(e.paper), shown(line.ours) if line.ours is None else e.spoken(line.ours), "")
    return (e.what, *numbers, line.shown, e.place, e.said, reading(line), ", ".join(e.settings), line.to_change)


def reading(line: Line) -> str:
    """The reason without the numbers it starts with, which stand in columns of their own."""
    words = line.expected.reason.partition(": ")[2]
    return words[:1].upper() + words[1:]


def shown(ours: float | None) -> str:
    """Our number, with as many digits as tell it from the paper's.

    >>> shown(107609.25), shown(0.4912), shown(-0.004), shown(None)
    ('107,609', '0.491', '-0.004', '')
    """
    if ours is None:
        return ""
    return f"{ours:,.0f}" if abs(ours) >= 1_000 else f"{ours:.3f}".rstrip("0").rstrip(".")


def verdicts(lines: Sequence[Line]) -> str:
    """How many numbers hold, in words."""
    counted = counts(lines)
    words = f"{counted[HOLDS]} of the paper's {len(lines)} numbers and statements hold, {counted[FAILS]} do not"
    listed = [f", {counted[kind]} {WORDS.get(kind, kind)}" for kind in KINDS[2:] if counted[kind]]
    return f"{words}{''.join(listed)}."


def counts(lines: Sequence[Line]) -> Counter[str]:
    """How many lines have each verdict."""
    return Counter(line.verdict for line in lines)


def source(line: Line) -> tuple[str, ...]:
    """The sentence of the paper's that a line is about, and its place; of a published number, the place alone."""
    e = line.expected
    return (e.place, e.said) if e.said and not e.said.startswith("[") else (e.place,)


def sources(lines: Sequence[Line]) -> int:
    """How many sentences and published tables lines are about."""
    return len({source(line) for line in lines})


def is_statement(line: Line) -> bool:
    """Whether a line is about how often a statement holds."""
    return line.expected.name.startswith("statements.")


def _table(caption: str, lines: Sequence[Line]) -> list[page.Block]:
    numbers = {1: lambda line: line.expected.paper, 2: lambda line: line.ours, 3: lambda line: line.expected.tolerance}
    cells = [
        [page.Cell(text, numbers[i](line) if i in numbers else None) for i, text in enumerate(_cells(line))]
        for line in lines
    ]
    return [page.table(caption, HEADS, cells)] if cells else []


def build(study: Study, asked: Asked, findings: Findings, lines: Sequence[Line]) -> page.Page:
    """The page: what was done, what the paper says and what we find, then the study's own sections."""
    facts = page.facts(
        ("place in the paper", study.place),
        ("simulated, at size paper", study.simulates),
        ("run, at size paper", study.runs),
        ("size", asked.size),
        ("seed", SEED),
    )
    toy = [page.warning(TOY)]
    if not lines:  # of databases that the paper does not know
        return _page(study, findings, (facts, *(toy if asked.size == "toy" else [])))
    opening = (
        facts,
        *(toy if asked.size == "toy" else []),
        page.text(verdicts(lines)),
        *_table("The paper's numbers and ours", [line for line in lines if not is_statement(line)]),
        *_table("The paper's statements: share of tables on which each holds", list(filter(is_statement, lines))),
        page.note(
            "'Does not hold' means further from the paper's number than the tolerance; 'undecided' that its 95 % "
            "interval reaches over the edge; 'fitted' that settings were chosen, or a table made, so that it comes out;"
            " 'not unusual' that a remark about one table is true of one of ours in twenty and not of nine in ten; "
            "'depends on' that another setting or measure which the paper leaves open turns it; 'cannot be told' that "
            f"the paper's data would be needed. {RULE}. Settings of ours: "
            f"{'; '.join(f'{code}: {words}' for code, words in SETTINGS.items())}."
        ),
    )
    return _page(study, findings, opening)


def _page(study: Study, findings: Findings, opening: tuple[page.Block, ...]) -> page.Page:
    title = "The paper and ours" if study.expected else "What was done"
    sections = (page.Section("verdicts", title, opening), *findings.sections)
    banners = (f"{findings.mark[:1].upper()}{findings.mark[1:]}.",) if findings.mark else ()
    return page.Page(
        f"{study.title} ({study.place})", sections, banners, f"alphasynth {__version__}", like="LW", exact=True
    )
