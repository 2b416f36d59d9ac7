"""Verdicts as Markdown: tables, the lines of one verdict, and every number and statement of a study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from alphasynth_studies.expected import CLAIM, FAILS, Line, plain
from alphasynth_studies.output import is_statement, shown
from alphasynth_studies.statements import means_in_words
from alphasynth_studies.study import Study

Results = Mapping[str, Any]
LAST = ("settings of ours", "what would change it")


def picture(name: str, words: str) -> str:
    """A figure of docs/figures."""
    return f"![{words}](figures/{name}.png)"


def table(heads: Sequence[str], lines: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    """A table; columns in `right` are flush right."""
    rule = ["---:" if i in right else "---" for i in range(len(heads))]
    return rows((heads, rule, *lines))


def rows(lines: Sequence[Sequence[str]]) -> str:
    """Lines of a table."""
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def listed(found: Mapping[str, tuple[Study, Results]], verdict: str, heads: tuple[str, str]) -> str:
    """Every line of a verdict, of all studies: what the paper says, where, our reading, what came out, what changes it.

    `heads` are the names of the last two columns.
    """
    lines = []
    for study, results in found.values():
        for line in study.lines(results):
            if line.verdict == verdict:
                e = line.expected
                out = f"{_came_out(line, results)} {e.remark if verdict == FAILS else ''}".strip()
                change = f"{line.on}: {change_of(line)}" if line.on else change_of(line)
                lines.append((_quoted(e.said), e.place, e.what, out, change))
    return table(("the paper says", "place", "our reading", *heads), lines) if lines else "Nothing."


def _came_out(line: Line, results: Results) -> str:
    """What our numbers say."""
    if not is_statement(line):
        return f"{shown(line.ours)}; asked for: {plain(line.expected.paper)} ± {plain(line.expected.tolerance)}."
    outcome = results["statements"][line.expected.name.split(".")[1]]
    return f"{_tables(line, outcome)}. {means_in_words(outcome)}"


def _tables(line: Line, outcome: Results) -> str:
    """On how many tables a statement holds, and of a claim, how surely it holds of their means."""
    words = f"{outcome['holds']:,} of {outcome['of']:,}"
    return f"{words}; of means: {outcome['support']:.0%}" if line.expected.kind == CLAIM else words


def change_of(line: Line) -> str:
    """What would change a verdict: what was seen to, or else what might."""
    return line.change or line.expected.change


def _quoted(said: str) -> str:
    return f"\u201c{said}\u201d" if said else ""


def numbers_and_statements(study: Study, results: Results) -> str:
    """Every number with its reading, and on how many tables each statement holds."""
    lines = study.lines(results)
    numbers = [line for line in lines if not is_statement(line)]
    cells = []
    for line in numbers:
        e = line.expected
        told = (e.what, _quoted(e.said), e.place, plain(e.paper), shown(line.ours), plain(e.tolerance), line.shown)
        cells.append((*told, e.reason.partition(": ")[2], ", ".join(e.settings), change_of(line)))
    heads = ("number", "the paper says", "place", "paper, or asked for", "ours", "tolerance", "verdict", "our reading")
    blocks = [table((*heads, *LAST), cells, (3, 4, 5))]
    said = []
    for line in filter(is_statement, lines):
        e, name = line.expected, line.expected.name.split(".")[1]
        equal = results["statements_at_equal_epsilon"].get(name)
        at_equal = f"{equal['holds']:,} of {equal['of']:,}" if equal else ""
        true_of = (_tables(line, results["statements"][name]), at_equal)
        kind = (_quoted(e.said), e.place, e.kind, e.what)
        said.append((*kind, *true_of, line.shown, ", ".join(e.settings), change_of(line)))
    if said:
        epsilon = f"at epsilon {results['equal_epsilon']['epsilon_per_draw']:g}"
        blocks.append(
            "On how many tables the paper's remarks are true, and how surely its claims are true of means over tables; "
            "the verdict is on our settings:"
        )
        first = ("the paper says", "place", "kind", "our reading", "true of tables", epsilon, "verdict")
        blocks.append(table((*first, *LAST), said, (4, 5)))
    return "\n\n".join(blocks)
