"""Results as Markdown: tables, counts and lines of verdicts, and what the studies of sections 3 and 4 share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from alphasynth.privacy.accounting import round_up
from alphasynth_studies.before_after import RATIOS
from alphasynth_studies.expected import CLAIM, FAILS, Line, interval_in, plain
from alphasynth_studies.output import KINDS, WORDS, is_statement, shown, sources
from alphasynth_studies.scans.units import held_lines
from alphasynth_studies.statements import means_in_words
from alphasynth_studies.study import Study
from alphasynth_studies.synthesizers import STATISTICS

Results = Mapping[str, Any]
LAST = ("settings of ours", "what would change it")


def picture(name: str, words: str) -> str:
    """A figure of docs/figures, and its words under it."""
    return f"![{words}](figures/{name}.png)\n\n*{words}.*"


def table(heads: Sequence[str], lines: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    """A table; columns in `right` are flush right."""
    rule = ["---:" if i in right else "---" for i in range(len(heads))]
    return rows((heads, rule, *lines))


def rows(lines: Sequence[Sequence[str]]) -> str:
    """Lines of a table."""
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


Earlier = Mapping[tuple[str, str], str]


def before_and_now(found: Mapping[str, tuple[Study, Results]], earlier: Earlier) -> str:
    """Counts of verdicts: of all lines before and now, of sentences, and of the lines that are in both lists.

    `earlier` has the verdicts before, by study and name of the line.
    """
    lines = [
        ((name, line.expected.name), line) for name, (study, results) in found.items() for line in study.lines(results)
    ]
    both = [(place, line) for place, line in lines if place in earlier]
    cells = []
    for kind in KINDS:
        now = [line for _, line in lines if line.verdict == kind]
        numbers = (
            sum(verdict == kind for verdict in earlier.values()),
            len(now),
            sources(now),
            sum(earlier[place] == kind for place, _ in both),
            sum(line.verdict == kind for _, line in both),
        )
        if any(numbers):
            cells.append((WORDS.get(kind, kind), *map(str, numbers)))
    every = (len(earlier), len(lines), sources([line for _, line in lines]), len(both), len(both))
    cells.append(("all", *map(str, every)))
    heads = (
        "verdict",
        "all lines, before",
        "all lines, now",
        "sentences, now",
        "lines in both, before",
        "in both, now",
    )
    new, gone = len(lines) - len(both), len(earlier) - len(both)
    words = (
        "A line is one reading of one number or sentence; several lines may be about one sentence, which then counts "
        "once in the column of sentences (and once under each of its verdicts), as a published table does. Before is "
        "before the paper was read again: remarks about one table were then asked of nine tables in ten, and settings "
        f"that the paper does not give were taken for its own. The lists are not the same: {new} lines are new, {gone} "
        "of the earlier ones are gone; the last two columns compare like with like."
    )
    return f"{table(heads, cells, range(1, len(heads)))}\n\n{words}"


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
                change = f"{line.on}: {line.to_change}" if line.on else line.to_change
                lines.append((_quoted(e.said), e.place, e.what, out, change))
    return table(("the paper says", "place", "our reading", *heads), lines) if lines else "Nothing."


def _came_out(line: Line, results: Results) -> str:
    """What our numbers say."""
    if not is_statement(line):
        e = line.expected
        asked = e.spoken(e.paper) if e.is_yes_or_no else f"{plain(e.paper)} ± {plain(e.tolerance)}"
        return f"{_ours(line, results)}; asked for: {asked}."
    outcome = results["statements"][line.expected.name.split(".")[1]]
    return f"{_tables(line, outcome)}. {means_in_words(outcome)}"


# Names of numbers whose interval says at how many places something can be told, and is none of a mean.
COUNTED = ("share_better",)


def _ours(line: Line, results: Results) -> str:
    """Our number, and its 95 % interval where it has one."""
    if line.expected.is_yes_or_no and line.ours is not None:
        return line.expected.spoken(line.ours)
    interval = interval_in(results, line.expected.name)
    if interval is None or line.expected.name.endswith(COUNTED):
        return shown(line.ours)
    return f"{shown(line.ours)} ({shown(interval[0])} to {shown(interval[1])})"


def _tables(line: Line, outcome: Results) -> str:
    """On how many tables a statement holds, and of a claim, how surely it holds of their means."""
    words = f"true of {outcome['holds']:,} of {outcome['of']:,} tables"
    if line.expected.kind != CLAIM:
        return words
    return f"{words}; means agree in {outcome['support']:.0%} of resamples"


def _quoted(said: str) -> str:
    return said if not said or said.startswith("[") else f"\u201c{said}\u201d"


def numbers_and_statements(study: Study, results: Results) -> str:
    """Every number with its reading, and on how many tables each statement holds."""
    lines = study.lines(results)
    numbers = [line for line in lines if not is_statement(line)]
    cells = []
    for line in numbers:
        e = line.expected
        tolerance = "" if e.is_yes_or_no else plain(e.tolerance)
        told = (e.what, _quoted(e.said), e.place, e.spoken(e.paper), _ours(line, results), tolerance, line.shown)
        cells.append((*told, e.reason.partition(": ")[2], ", ".join(e.settings), line.to_change))
    asked = ("paper, or asked for", "ours (95 % interval)", "tolerance")
    heads = ("number", "the paper says", "place", *asked, "verdict", "our reading")
    blocks = [table((*heads, *LAST), cells, (3, 4, 5))]
    said = []
    for line in filter(is_statement, lines):
        e, name = line.expected, line.expected.name.split(".")[1]
        equal = results["statements_at_equal_epsilon"].get(name)
        at_equal = f"{equal['holds']:,} of {equal['of']:,}" if equal else ""
        true_of = (_tables(line, results["statements"][name]), at_equal)
        kind = (_quoted(e.said), e.place, e.kind, e.what)
        said.append((*kind, *true_of, line.shown, ", ".join(e.settings), line.to_change))
    if said:
        epsilon = f"at epsilon {results['equal_epsilon']['epsilon_per_draw']:g}"
        blocks.append(
            "On how many tables the paper's remarks are true, and how surely its claims are true of means over tables; "
            "the verdict is on our settings:"
        )
        first = ("the paper says", "place", "kind", "our reading", "at our settings", epsilon, "verdict")
        blocks.append(table((*first, *LAST), said, (4, 5)))
    return "\n\n".join(blocks)


def one_table(results: Results) -> str:
    """What the table in a figure is among the others."""
    first, mean = results["first_table"]["LW"], results["our_settings"]["LW"]["delta"]["mean"]
    return (
        f"The first of {results['tables']:,} tables, on which LW's Delta is {round_up(first)}; over all of them it is "
        f"{round_up(mean)} on average. Dashed: a synthesizer's largest bound"
    )


def errors_caption(results: Results) -> str:
    """The words under the figure of errors at one epsilon."""
    return (
        f"Errors of four statistics over {results['tables']:,} tables, five synthesizers at epsilon = "
        f"{results['equal_epsilon']['epsilon_per_draw']:g} per draw: synthetic minus data, in counts. Dashed: no error"
    )


def observed(results: Results) -> str:
    """What is seen of bounds that the paper calls equivalent; no verdict."""
    words = []
    for after, before in RATIOS.items():
        ratio = results["delta_ratio"][after]
        side = "above" if ratio["mean"] > 1 else "below"
        words.append(
            f"{after}'s is {abs(ratio['mean'] - 1):.0%} {side} {before}'s on average, and above it on "
            f"{ratio['share_above']:.0%} of the tables"
        )
    return (
        f"Bounds called equivalent are judged within a tenth, below. Not judged, but seen: {'; '.join(words)}. SW's is "
        "that of the printed alpha: a smaller weight widens the posterior, whose draws then reach further; a search "
        "for the scalar removes the excess, as `SW` does unless alpha is given."
    )


def errors(results: Results) -> str:
    """Root mean squared errors and bounds, at both settings."""
    names = (*STATISTICS, "sd")
    lines = []
    epsilon = results["equal_epsilon"]["epsilon_per_draw"]
    settings = (("ours", results["our_settings"]), (f"epsilon {epsilon:g}", results["equal_epsilon"]))
    for setting, made in settings:
        for label, r in made.items():
            if isinstance(r, Mapping):
                errors = [_short(r["rmse"][name]) for name in names]
                bound, weight = round_up(r["delta"]["mean"]), f"{r['mean_alpha']['mean']:.3f}"
                lines.append((setting, label, bound, weight, *errors, f"{r['loss']['mean']:.2f}"))
    heads = ("settings", "synthesizer", "Delta (mean)", "mean weight", *names, "all four, scaled")
    words = (
        f"Root mean squared errors of the statistics over {results['tables']:,} tables. Delta is the mean of what the "
        "tables come to, 1,000 draws each; epsilon per draw is twice as much. The last column is the mean absolute "
        "error of the paper's four statistics in half widths of the data's intervals."
    )
    return f"{words}\n\n{table(heads, lines, range(2, len(heads)))}"


def _short(value: float) -> str:
    return f"{value:,.2f}" if value < 100 else f"{value:,.0f}"


def orders(results: Results) -> str:
    """How often LW, CW and SW come in which order."""
    words = []
    for setting, name in (("ours", "at our settings"), ("equal", "at one epsilon")):
        listed = "; ".join(f"{order} on {times:,}" for order, times in results["orders"][setting].items() if times)
        words.append(f"{name} {listed}")
    return f"Order of LW, CW and SW by that measure, least error first: {', and '.join(words)} of the tables."


def held(results: Results) -> str:
    """On which share of tables the readings of remarks on salaries hold, by variant."""
    heads, lines = held_lines(results["sensitivity"])
    return table(heads, [(words, *(f"{share:.0%}" for share in shares)) for words, *shares in lines], (1, 2, 3))
