"""Verdicts as Markdown: tables, what does not hold, and every number and statement of a study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from alphasynth_studies.expected import FAILS, Line, plain
from alphasynth_studies.output import is_statement, shown
from alphasynth_studies.statements import means_in_words
from alphasynth_studies.study import Study

Results = Mapping[str, Any]


def picture(name: str, words: str) -> str:
    """A figure of docs/figures."""
    return f"![{words}](figures/{name}.png)"


def table(heads: Sequence[str], lines: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    """A table; columns in `right` are flush right."""
    rule = ["---:" if i in right else "---" for i in range(len(heads))]
    return "\n".join(f"| {' | '.join(line)} |" for line in (heads, rule, *lines))


def failures(study: Study, results: Results) -> str:
    """What does not hold of a study, and what we found instead."""
    failed = [line for line in study.lines(results) if line.verdict == FAILS]
    words = [_found_out(line, results) for line in failed]
    lines = [
        _line(line, "as above" if i and said and said == words[i - 1] else said)
        for i, (line, said) in enumerate(zip(failed, words, strict=True))
    ]
    marked = f" ({results['mark']})" if results["mark"] else ""
    listed = table(("what", "place", "paper", "ours", "tolerance", "what we found"), lines, (2, 3, 4))
    return f"## {study.name}{marked}\n\n{listed if lines else 'Everything holds.'}"


def _found_out(line: Line, results: Results) -> str:
    """What our numbers say where the paper's do not hold."""
    remark = line.expected.remark
    if not is_statement(line):
        return remark
    return f"{means_in_words(results['statements'][line.expected.name.split('.')[1]])} {remark}".strip()


def _line(line: Line, words: str) -> tuple[str, ...]:
    e = line.expected
    return e.what, e.place, plain(e.paper), shown(line.ours), plain(e.tolerance), words


def _reasons(lines: Sequence[Line]) -> str:
    """Numbers with their tolerances, verdicts and reasons."""
    cells = [
        (
            *_line(line, line.expected.reason.partition(": ")[2])[:5],
            line.verdict,
            line.expected.reason.partition(": ")[2],
        )
        for line in lines
    ]
    return table(("what", "place", "paper", "ours", "tolerance", "verdict", "why that tolerance"), cells, (2, 3, 4))


def numbers_and_statements(study: Study, results: Results) -> str:
    """Every number with its reason, and on how many tables each statement holds."""
    lines = study.lines(results)
    numbers, statements = [line for line in lines if not is_statement(line)], [*filter(is_statement, lines)]
    said = []
    for line in statements:
        share = results["statements"][line.expected.name.split(".")[1]]
        equal = results["statements_at_equal_epsilon"].get(line.expected.name.split(".")[1])
        tables = [f"{found['holds']:,} of {found['of']:,}" if found else "" for found in (share, equal)]
        said.append((line.expected.what, line.expected.place, *tables, line.verdict))
    blocks = [_reasons(numbers)]
    if said:
        blocks.append("On how many tables the paper's statements hold; the verdict is on the paper's own settings:")
        epsilon = f"at epsilon {results['equal_epsilon']['epsilon_per_draw']:g}"
        heads = ("statement", "place", "at the paper's settings", epsilon, "verdict")
        blocks.append(table(heads, said, (2, 3)))
    return "\n\n".join(blocks)
