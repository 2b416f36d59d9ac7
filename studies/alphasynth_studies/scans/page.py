"""The scan of settings in words and tables, for the page and for the document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from alphasynth.pages import page
from alphasynth.privacy.accounting import round_up
from alphasynth_studies.scans.settings import fits

HEADS = ("settings", "Delta", "row before: distance", "as far", "row after: distance", "as far", "fits")


def setting_lines(results: Mapping[str, Any], kind: str) -> list[tuple[str, ...]]:
    """A line for each setting of LW or CW: Delta, how far the published rows are, whether it fits."""
    return [
        (
            line["words"],
            round_up(line["delta"]),
            *(
                cell
                for row in line["rows"].values()
                for cell in (f"{row['distance']:.2f}", f"{row['share_as_far']:.0%}")
            ),
            "yes" if fits(line) else "no",
        )
        for line in results[kind]
    ]


def row_words(results: Mapping[str, Any]) -> str:
    """What the scan says of the settings, ours among them."""
    fitting = {kind: [line for line in results[kind] if fits(line)] for kind in ("LW", "CW")}
    ours = results["CW"][0]
    ranked = sorted(fitting["CW"], key=_both)
    place = ranked.index(ours) + 1 if ours in ranked else 0
    nearest = ranked[0]["words"] if ranked else "none"
    alone = min(results["CW"], key=lambda line: float(line["rows"]["CW"]["distance"]))
    said, kept = "ours is not among them", "it is ruled out"
    if place:
        said = f"ours is number {place} of them by both rows together"
        kept = "it is kept because no row rules it out and other pages use it"
    return (
        "The paper gives neither c and g of LW nor radius, c and g of CW. Each setting here was run on "
        f"{results['tables']:,} tables. A row's distance is the root mean square of its eight numbers (four middles "
        "minus the data's, four widths) from our mean, in standard deviations of one table; 'as far' is the share of "
        "our own tables that lie as far from that mean or farther. A setting fits if at least one table in twenty does,"
        " for the row before re-weighting and for the row after; the others are ruled out. "
        f"{len(fitting['LW'])} of {len(results['LW'])} settings of LW fit, and {len(fitting['CW'])} of "
        f"{len(results['CW'])} of CW; {said}. The nearest by both is {nearest}, the nearest by CW's row alone "
        f"{alone['words']}, which {'fits both' if fits(alone) else 'CW_final rules out'}. Ours was chosen earlier, in "
        f"sight of CW's row alone; {kept}. Verdicts that another fitting setting turns are called 'depends on'."
    )


def _both(line: Mapping[str, Any]) -> float:
    return float(np.mean([row["distance"] ** 2 for row in line["rows"].values()]))


def settings_section(results: Mapping[str, Any]) -> page.Section:
    """The scan as a section of the page."""
    blocks: list[page.Block] = [page.text(row_words(results))]
    for kind in ("LW", "CW"):
        caption = f"Settings of {kind}, and the rows {kind} and {kind}_final of Supp 3"
        blocks.append(page.table(caption, HEADS, setting_lines(results, kind)))
    return page.Section("settings", "Settings that the paper does not give", (*blocks, moved_table(results)))


def moved_table(results: Mapping[str, Any]) -> page.Block:
    """Statements that move with the settings that were considered."""
    lines = [
        (name, kind, settings[at], share)
        for name, by in results["statements"].items()
        for kind, settings in results["considered"].items()
        for at, share in enumerate(by[kind])
        if max(by[kind]) - min(by[kind]) > 0
    ]
    heads = ("statement", "whose settings", "settings", "share of tables, or 1 if means keep it")
    return page.table(f"Statements that move with a setting, {results['tables']:,} tables", heads, lines)
