"""docs/reproduction.md from the studies' results: `python -m alphasynth_studies.reproduction RESULTS DOCUMENT`.

RESULTS is a folder with NAME.json for each study, contraction-large.json where that was run too, and earlier.csv: the
verdicts that the document had before the paper was read again.
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Mapping
from pathlib import Path

from alphasynth.privacy.accounting import round_up
from alphasynth_studies import NAMES, named_study
from alphasynth_studies.contraction_page import BOUNDS
from alphasynth_studies.expected import CANNOT, DEPENDS, FAILS
from alphasynth_studies.headline.document import part as headline
from alphasynth_studies.markdown import (
    Earlier,
    Results,
    before_and_now,
    errors,
    errors_caption,
    held,
    listed,
    numbers_and_statements,
    observed,
    one_table,
    orders,
    picture,
    rows,
    table,
)
from alphasynth_studies.nb_mixture import PUBLISHED, middle
from alphasynth_studies.output import sources, verdicts
from alphasynth_studies.salaries import HOW_IT_WAS_MADE
from alphasynth_studies.scans.bounds import NAMES as GENERATORS
from alphasynth_studies.scans.bounds import PAPER, SCAN_HEADS, printed_words, scan_lines, scan_words
from alphasynth_studies.scans.page import HEADS, row_words, setting_lines
from alphasynth_studies.scans.turning import RULE
from alphasynth_studies.scans.units import sensitivity_words
from alphasynth_studies.study import SETTINGS, Study
from alphasynth_studies.synthesizers import LW, STATISTICS

LARGE = "contraction-large"

EARLIER = "earlier.csv"


def document(results: Mapping[str, Results], earlier: Earlier) -> str:
    """The document; `results` by study, as their results.json say, and the verdicts it had before."""
    found = {name: (named_study(name), results[name]) for name in NAMES}
    parts = [_opening(found, earlier), _not_held(found)]
    parts += [_mixture(*found["nb-mixture"]), _salary(*found["salary"])]
    parts.append(_contraction(*found["contraction"], results.get(LARGE)))
    parts.append(headline(*found["headline"]))
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _opening(found: Mapping[str, tuple[Study, Results]], earlier: Earlier) -> str:
    counted = "\n".join(
        f"- **{study.name}** ({study.place}{', ' + results['mark'] if results['mark'] else ''}): "
        f"{verdicts(study.lines(results))} Sentences and tables that these lines are about: "
        f"{sources(study.lines(results))}."
        for study, results in found.values()
    )
    return f"""# The paper, reproduced

The numbers and statements of the paper (Savitsky, Hu and Williams, *Vector-weighted Mechanisms for Utility Maximization
under Differential Privacy*) beside ours. This page is generated: `make reproduction` runs the studies at the size
`paper` and writes it from their results. One study alone, with its page and figures:

    alphasynth study nb-mixture --size paper --out nb-mixture

{counted}

{before_and_now(found, earlier)}

**How a verdict is made.** A *number* holds if ours lies within its tolerance, whose reason is our reading; if its 95 %
interval reaches over the edge it is undecided. It is fitted if settings were chosen in sight of it, or a table was made
to have it. A *remark* is about the one table that the paper shows, which is not published. It holds if it is true of at
least nine of our tables in ten, and does not hold if it is true of fewer than one in twenty; between, a table such as
the paper's is not unusual among ours, and the count says how usual. A *claim* is about the method; it is asked of means
over our tables, and holds or does not if 97.5 % of resamples of the tables agree. A verdict *depends on* a setting, or
on the measure of utility, if another that the paper leaves open turns it, and *cannot be told* if it turns with what
only the paper's own data would settle, such as the unit of salaries. {RULE}. For section 3 those settings are tried at
which rows such as those of Supp 3 were seen, for section 4 and Supp 5 all that were scanned. Where a verdict names no
setting that it depends on, none that was tried turns it.

**Letters.** F of a record is its largest |log p(x | theta)| over the draws of the unweighted posterior, the f of
Algorithm 1; M and m are the largest and the smallest F of a table. Delta is the largest of a table's by-record bounds,
and epsilon is 2 Delta of one draw.

**Settings that are ours.** Of the mechanisms' settings the paper gives k = 0.95 only, for both applications. Beside
them it gives the mixture of section 3, n = 1,000 for section 4 and Supp 5, R = 100 databases (its list: 200), the
priors of the negative binomial, and Stan as the sampler. Verdicts name ours by these letters:

| | setting of ours |
| --- | --- |
{rows([*SETTINGS.items()])}

What else the paper leaves open, and how we read it, is in [studies/NOTES.md](../studies/NOTES.md); whether the
guarantee itself survives an audit is another matter ([guarantee.md](guarantee.md))."""


def _not_held(found: Mapping[str, tuple[Study, Results]]) -> str:
    return f"""# What does not hold

{listed(found, FAILS, ("what came out", "what would change it"))}

# What depends on a setting or measure that the paper does not give

The scans are below, with [section 3](#settings-of-lw-and-cw) and with [Supp 5](#settings-of-lw-and-local-bounds); the
measures of utility with [the abstract](#utility-against-epsilon-abstract-section-42).

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

{picture("figure_03_scatter", f"Lipschitz bounds against weights. {one_table(results)}")}

{picture("by_value", f"Weights and Lipschitz bounds against the records' values y. {one_table(results)}")}

{observed(results)}

## Settings of LW and CW

{row_words(results["scan"])}

{table(HEADS, setting_lines(results["scan"], "LW"), range(1, len(HEADS)))}

{table(HEADS, setting_lines(results["scan"], "CW"), range(1, len(HEADS)))}

## Errors at our settings and at one epsilon

{errors(results)}

{picture("errors_equal", errors_caption(results))}

{orders(results)}

## All numbers and statements

{numbers_and_statements(study, results)}"""


def _salary(study: Study, results: Results) -> str:
    return f"""{_intro(study, results)}

{HOW_IT_WAS_MADE if results["stand_in"] else ""}

{sensitivity_words(results)}

Share of {results["tables"]:,} tables on which a reading holds, by variant of the salaries:

{held(results)}

The skewness of the salaries is {results["skewness"]["salaries"]:.1f} (mean over tables), that of the tables of section
3 is {results["skewness"]["mixture"]:.1f}.

{observed(results)}

{errors(results)}

{orders(results)}

## All numbers and statements of section 4

{numbers_and_statements(study, results)}"""


def _contraction(study: Study, results: Results, large: Results | None) -> str:
    heads = ("generator", "synthesizer", *BOUNDS, "above", "share above")
    lines = []
    for run in (results, *([large] if large else [])):
        for name, (value, _) in PAPER.items():
            for label in ("Unweighted", "LW", "LW_final"):
                lines.append(
                    (GENERATORS[name], *_bounds(run[name][label], label), f"{value:g}", _share(run[name][label]))
                )
    over = []
    for run in (results, *([large] if large else [])):
        for name in PAPER:
            for n, by_label in run[name]["over_n"].items():
                over.append((GENERATORS[name], f"{int(n):,}", *_bounds(by_label["LW"], None), _share(by_label["LW"])))
    databases, median, *rest = BOUNDS
    over_heads = ("generator", "n", databases, f"{median} of LW", *rest, "share above")
    extremes = (large or results)["mixture"]["extremes"]
    size = results["mixture"]["LW"]["num_databases"]
    ours = f"LW at {LW.words}, which are ours. Dashed: the paper's value for 1,000 records, 6"
    where = "" if large is None else f" The larger run was made on one {large['device']}."
    return f"""{_intro(study, results)}

## Local bounds at n = 1,000

At {LW.words}. "Above" is the global value that the paper gives for LW.{where}

{table(heads, lines, range(2, len(heads)))}

{picture("figure_13_bounds", f"Local bounds of {size:,} databases of 1,000 records from the mixture; {ours}")}

## Local bounds over n

{picture("over_n_mixture", f"LW's local bounds of databases of 100 to 10,000 records from the mixture; {ours}")}

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


def earlier_verdicts(folder: Path) -> Earlier:
    """The verdicts that the document had before the paper was read again, by study and name."""
    with (folder / EARLIER).open(encoding="utf-8") as stream:
        return {(line["study"], line["name"]): line["verdict"] for line in csv.DictReader(stream)}


def main(folder: Path, target: Path) -> None:
    """Read the results and write the document."""
    names = [name for name in (*NAMES, LARGE) if (folder / f"{name}.json").exists()]
    results = {name: json.loads((folder / f"{name}.json").read_text(encoding="utf-8")) for name in names}
    target.write_text(document(results, earlier_verdicts(folder)), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
