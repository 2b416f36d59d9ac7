"""docs/reproduction.md from the studies' results: `python -m alphasynth_studies.reproduction RESULTS DOCUMENT`.

RESULTS is a folder with NAME.json for each study, and contraction-large.json where that was run too.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from alphasynth.privacy.accounting import round_up
from alphasynth_studies import NAMES, named_study
from alphasynth_studies.contraction_page import BOUNDS, SCAN_HEADS, printed_words, scan_lines, scan_words
from alphasynth_studies.expected import CANNOT, DEPENDS, FAILS, FITTED, HOLDS, UNDECIDED
from alphasynth_studies.headline.document import part as headline
from alphasynth_studies.markdown import Results, listed, numbers_and_statements, picture, rows, table
from alphasynth_studies.nb_mixture import PUBLISHED, middle
from alphasynth_studies.output import KINDS, WORDS, counts, verdicts
from alphasynth_studies.salaries import HOW_IT_WAS_MADE
from alphasynth_studies.scans.page import HEADS, row_words, setting_lines
from alphasynth_studies.scans.units import sensitivity_words
from alphasynth_studies.study import SETTINGS, Study
from alphasynth_studies.synthesizers import LW, STATISTICS

LARGE = "contraction-large"


# Verdicts that this page had before the paper was read again, for comparison; of 125 lines.
EARLIER = {HOLDS: 77, FAILS: 24, UNDECIDED: 9, FITTED: 15}


def document(results: Mapping[str, Results]) -> str:
    """The document; `results` by study, as their results.json say."""
    found = {name: (named_study(name), results[name]) for name in NAMES}
    parts = [_opening(found), _not_held(found)]
    parts += [_mixture(*found["nb-mixture"]), _salary(*found["salary"])]
    parts.append(_contraction(*found["contraction"], results.get(LARGE)))
    parts.append(headline(*found["headline"]))
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _opening(found: Mapping[str, tuple[Study, Results]]) -> str:
    counted = "\n".join(
        f"- **{study.name}** ({study.place}{', ' + results['mark'] if results['mark'] else ''}): "
        f"{verdicts(study.lines(results))}"
        for study, results in found.values()
    )
    now = sum((counts(study.lines(results)) for study, results in found.values()), Counter[str]())
    kinds = [kind for kind in KINDS if now[kind] or EARLIER.get(kind)]
    lines = [(WORDS.get(kind, kind), str(EARLIER.get(kind, 0)), str(now[kind])) for kind in kinds]
    lines.append(("all", str(sum(EARLIER.values())), str(sum(now.values()))))
    return f"""# The paper, reproduced

The numbers and statements of the paper (Savitsky, Hu and Williams, *Vector-weighted Mechanisms for Utility Maximization
under Differential Privacy*) beside ours. This page is generated: `make reproduction` runs the studies at the size
`paper` and writes it from their results. One study alone, with its page and figures:

    alphasynth study nb-mixture --size paper --out nb-mixture

{counted}

| verdict | before the paper was read again | now |
| --- | ---: | ---: |
{rows(lines)}

Before, remarks about one table were asked of nine tables in ten, and settings that the paper does not give were taken
for its own.

**How a verdict is made.** A *number* holds if ours lies within its tolerance, whose reason is our reading; if its 95 %
interval reaches over the edge it is undecided. It is fitted if settings were chosen in sight of it, or a table was made
to have it. A *remark* is about the one table that the paper shows, which is not published. It holds if it is true of
nine of our tables in ten, and does not hold if it is true of fewer than one in twenty; between, a table such as the
paper's is not unusual among ours, and the count says how usual. A *claim* is about the method; it is asked of means
over our tables, and holds or does not if 97.5 % of resamples of the tables agree. A verdict *depends on* a setting if
another setting that the paper leaves open turns it: a share of tables that moves by more than a half, means that
change sides, or a number that leaves its tolerance. For section 3 those settings are tried that the table of Supp 3
does not rule out, for section 4 and Supp 5 all that were scanned. It *cannot be told* if it turns with something that
only the paper's own data would settle. Where a verdict names no setting that it depends
on, none that was tried turns it.

**Settings that are ours.** Of all settings the paper gives k = 0.95 for both applications, and n = 1,000 for section 4
and Supp 5. Verdicts name the others by these letters:

| | setting of ours |
| --- | --- |
{rows([*SETTINGS.items()])}

What else the paper leaves open, and how we read it, is in [studies/NOTES.md](../studies/NOTES.md); whether the
guarantee itself survives an audit is another matter ([guarantee.md](guarantee.md))."""


def _not_held(found: Mapping[str, tuple[Study, Results]]) -> str:
    return f"""# What does not hold

{listed(found, FAILS, ("what came out", "what would change it"))}

# What depends on a setting that the paper does not give

The scans are below, with [section 3](#settings-of-lw-and-cw) and with [Supp 5](#settings-of-lw-and-local-bounds).

{listed(found, DEPENDS, ("at our settings", "depends on"))}

# What cannot be told

{listed(found, CANNOT, ("on our tables", "what would tell"))}"""


def _intro(study: Study, results: Results) -> str:
    mark = f"**{results['mark'][:1].upper()}{results['mark'][1:]}.** " if results["mark"] else ""
    return f"# {study.title} ({study.place})\n\n{mark}{study.simulates}\n\n{study.runs}"


def _mixture(study: Study, results: Results) -> str:
    heads = ("synthesizer", "statistic", "paper", "ours, mean", "standard error", "sd of one table", "paper's sign on")
    lines = []
    for label in ("LW", "LW_final", "CW", "CW_final", "SW", "Unweighted"):
        for name in STATISTICS:
            shift = results["intervals"][label][name]["shift"]
            published = label in PUBLISHED
            paper = middle(PUBLISHED[label][name]) - middle(PUBLISHED["data"][name]) if published else None
            sign = f"{results['signs'][label][name]['share']:.0%}" if published else ""
            numbers = (
                "" if paper is None else f"{paper:+.2f}",
                f"{shift['mean']:+.2f}",
                f"{shift['standard_error']:.2f}",
            )
            lines.append((label, name, *numbers, f"{shift['sd']:.2f}", sign))
    return f"""{_intro(study, results)}

## The table of Supp 3: signed errors

Middle of the synthesizer's 95 % interval minus the middle of the data's; the paper's from its one table, ours over
{results["tables"]:,} tables. "Paper's sign on" is the share of tables whose error has the sign of the paper's.

{table(heads, lines, (2, 3, 4, 5, 6))}

{picture("figure_03_scatter", "Lipschitz bounds against weights on one table, before and after re-weighting")}

{picture("by_value", "Weights and Lipschitz bounds against the records' values, before and after re-weighting")}

## Settings of LW and CW

{row_words(results["scan"])}

{table(HEADS, setting_lines(results["scan"], "LW"), range(1, len(HEADS)))}

{table(HEADS, setting_lines(results["scan"], "CW"), range(1, len(HEADS)))}

## Errors at our settings and at one epsilon

{_errors(results)}

{picture("errors_equal", "Errors of four statistics over tables, five synthesizers at one epsilon")}

{_orders(results)}

## All numbers and statements

{numbers_and_statements(study, results)}"""


def _errors(results: Results) -> str:
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


def _orders(results: Results) -> str:
    words = []
    for setting, name in (("ours", "at our settings"), ("equal", "at one epsilon")):
        listed = "; ".join(f"{order} on {times:,}" for order, times in results["orders"][setting].items() if times)
        words.append(f"{name} {listed}")
    return f"Order of LW, CW and SW by that measure, least error first: {', and '.join(words)} of the tables."


def _salary(study: Study, results: Results) -> str:
    return f"""{_intro(study, results)}

{HOW_IT_WAS_MADE if results["stand_in"] else ""}

{sensitivity_words(results["sensitivity"])}

{_errors(results)}

{_orders(results)}

## All numbers and statements of section 4

{numbers_and_statements(study, results)}"""


def _contraction(study: Study, results: Results, large: Results | None) -> str:
    heads = ("generator", "synthesizer", *BOUNDS, "above", "share above")
    lines = []
    for run in (results, *([large] if large else [])):
        for name, value in (("poisson", 3.5), ("mixture", 6.0)):
            for label in ("Unweighted", "LW", "LW_final"):
                lines.append((name, *_bounds(run[name][label], label), f"{value:g}", _share(run[name][label])))
    over = []
    for run in (results, *([large] if large else [])):
        for name in ("poisson", "mixture"):
            for n, by_label in run[name]["over_n"].items():
                over.append((name, f"{int(n):,}", *_bounds(by_label["LW"], None), _share(by_label["LW"])))
    databases, median, *rest = BOUNDS
    over_heads = ("generator", "n", databases, f"{median} of LW", *rest, "share above")
    extremes = (large or results)["mixture"]["extremes"]
    where = "" if large is None else f" The larger run was made on one {large['device']}."
    return f"""{_intro(study, results)}

## Local bounds at n = 1,000

At {LW.words}. "Above" is the global value that the paper gives for LW.{where}

{table(heads, lines, range(2, len(heads)))}

{picture("figure_13_bounds", "Local bounds of 100 databases from the mixture; the dashed line is the paper's value")}

## Local bounds over n

{picture("over_n_mixture", "LW's local bounds of databases of 100 to 10,000 records from the mixture")}

{table(over_heads, over, range(1, len(over_heads)))}

## Settings of LW and local bounds

{scan_words(results)}

{table(SCAN_HEADS, scan_lines(results["scan"]), range(1, len(SCAN_HEADS)))}

{printed_words(large or results)}

## Why

{_gathering(study, large or results)} At c = 1 and g = 0 LW's bound of a record is F (M - F) / (M - m),
where M and m are the largest and smallest F of the database; its largest value is M^2 / (4 (M - m)) if M is at least 2
m, and Delta is about as much (F is taken again under LW's own fit). M is minus the log density of the most extreme
record: it moves out with n, and the extreme of a sample keeps its scatter however large the sample. On the mixture at n
= 1,000 the formula's correlation with LW's Delta is {extremes["correlation"]:.3f}, and Delta is
{extremes["median_ratio"]:.2f} times the formula (median).

## All numbers of Supp 5

{numbers_and_statements(study, results)}"""


def _gathering(study: Study, results: Results) -> str:
    """Whether LW's bounds gather as n grows, in a sentence."""
    verdicts = {line.verdict for line in study.lines(results) if ".contraction." in line.expected.name}
    if verdicts == {FAILS}:
        return "The bounds do not gather as n grows, and the reason can be written down."
    return "How the bounds move with n can be written down."


def _bounds(summary: Results, label: str | None) -> tuple[str, ...]:
    median, mean, least, most = (
        round_up(summary[f"{name}_delta"]) for name in ("median", "mean", "smallest", "largest")
    )
    numbers = (f"{summary['num_databases']:,}", median, mean, f"{summary['sd_delta']:.2f}", least, most)
    return numbers if label is None else (label, *numbers)


def _share(summary: Results) -> str:
    return f"{summary['share_above_global']:.1%}"


def main(folder: Path, target: Path) -> None:
    """Read the results and write the document."""
    names = [name for name in (*NAMES, LARGE) if (folder / f"{name}.json").exists()]
    results = {name: json.loads((folder / f"{name}.json").read_text(encoding="utf-8")) for name in names}
    target.write_text(document(results), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
