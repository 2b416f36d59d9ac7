"""The settings of LW and CW that the paper does not give, scanned: which fit its table of Supp 3, and what turns.

A verdict depends on a setting if it turns at another one at which rows such as the published were seen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from alphasynth.evaluation.intervals import Interval
from alphasynth_studies.expected import FAILS, HOLDS, UNDECIDED, Expected, of_one_table
from alphasynth_studies.repeats import TableOf
from alphasynth_studies.scans.turning import opposed, remark_turns
from alphasynth_studies.statements import Statement, support
from alphasynth_studies.study import SEED
from alphasynth_studies.synthesizers import CW, LW, STATISTICS, K, Maker, Measured, Setting, Synthesis, summarise

# Ours first.
LW_SETTINGS = (
    LW,
    *(Setting(scale, 0.0) for scale in (0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.1, 1.25)),
    *(Setting(scale, 0.1) for scale in (0.75, 0.9, 1.0)),
)
_CW = (
    CW,
    *(Setting(*dials, radius) for radius in (0.15, 0.2, 0.25, 0.3) for dials in ((1.0, 0.1), (1.5, 0.1), (2.0, 0.1))),
    *(Setting(*dials, radius) for radius in (0.2, 0.25, 0.3) for dials in ((1.5, 0.0), (2.0, 0.0))),
    *(Setting(*dials, radius, False) for radius in (20.0, 30.0) for dials in ((1.5, 0.1), (2.0, 0.0), (2.0, 0.1))),
)
CW_SETTINGS = tuple(dict.fromkeys(_CW))  # ours is among the others, too
RESAMPLES = 250  # of each synthetic table; m tables are averaged
ROUNDING = 0.1**2 / 12  # variance of a published end's rounding to one decimal
SEEN, FEWEST = 0.05, 2  # share of the scanned tables, and how many at least, that must lie as far as a published row
ON = {"LW": "c and g of LW", "CW": "radius, c and g of CW"}


@dataclass(frozen=True)
class Scanned:
    """One table: Unweighted on it, and LW, SW, LW_final and CW, CW_final at every setting of theirs."""

    base: Measured
    lw: dict[Setting, dict[str, Synthesis]]
    cw: dict[Setting, dict[str, Synthesis]]

    def at(self, lw: Setting, cw: Setting) -> Measured:
        """The paper's six at two settings."""
        return replace(self.base, paper={**self.base.paper, **self.lw[lw], **self.cw[cw]})


@dataclass(frozen=True)
class Scan:
    """What is tried on each table."""

    table_of: TableOf
    m: int
    lw: tuple[Setting, ...] = LW_SETTINGS
    cw: tuple[Setting, ...] = CW_SETTINGS

    def measure(self, number: int) -> Scanned:
        """Every setting on table `number`."""
        made = Maker(self.table_of(number), self.m, SEED + number, RESAMPLES)
        unweighted = made("Unweighted")
        lw, cw = {}, {}
        for setting in self.lw:
            first = made("LW", setting)
            after = {"LW": first, "SW": made.scalar(first, unweighted), "LW_final": made("LW_final", setting, k=K)}
            lw[setting] = {label: summarise(one) for label, one in after.items()}
        for setting in self.cw:
            after = {"CW": made("CW", setting), "CW_final": made("CW_final", setting, k=K)}
            cw[setting] = {label: summarise(one) for label, one in after.items()}
        own = {c.synthetic.statistic.name: c for c in unweighted.comparisons}
        base = Measured(
            {name: c.value for name, c in own.items()},
            {name: c.interval for name, c in own.items()},
            made.tail,
            {"Unweighted": summarise(unweighted)},
            {},
        )
        return Scanned(base, lw, cw)


Published = Mapping[str, Mapping[str, Interval]]


def row_of(intervals: Mapping[str, Interval], own: Mapping[str, Interval]) -> np.ndarray:
    """A row of Supp 3 as eight numbers: middles minus the data's, then widths."""
    ends, data = (np.array([by[name] for name in STATISTICS]) for by in (intervals, own))
    return np.concatenate([(ends - data).mean(axis=1), ends[:, 1] - ends[:, 0]])


def fit_of(rows: np.ndarray, published: np.ndarray) -> dict[str, float]:
    """How far a published row lies from the mean of ours (tables, 8), and how many of ours lie as far or farther.

    The distance is the root mean square of the eight numbers in standard deviations of one table.
    """
    size, half = len(rows), rows.shape[1] // 2
    sd = np.sqrt(rows.var(axis=0, ddof=1) + np.repeat([ROUNDING, 2 * ROUNDING], half))
    theirs = np.sqrt(np.mean(((published - rows.mean(axis=0)) / sd) ** 2) / (1 + 1 / size))
    # A table's own part in the mean draws it nearer, by this factor.
    ours = np.sqrt(np.mean(((rows - rows.mean(axis=0)) / sd) ** 2, axis=1) / (1 - 1 / size))
    return {"distance": float(theirs), "as_far": int(np.sum(ours >= theirs)), "tables": size}


def scan_results(
    found: Sequence[Scanned], statements: Sequence[Statement], published: Published | None = None
) -> dict[str, Any]:
    """Each setting with its Delta, Delta after re-weighting over that before, its fit to the published rows.

    And on which share of tables statements hold, at those settings at which rows such as the published were seen.
    """
    kinds: dict[str, Any] = {}
    for kind in ("LW", "CW"):
        found_by = _by(found, kind)
        kinds[kind] = [
            {
                **setting._asdict(),
                "words": setting.words,
                "delta": float(np.mean([by[setting][kind].delta for by in found_by])),
                "ratio": float(np.mean([_after_over_before(by[setting], kind) for by in found_by])),
                "rows": {} if published is None else _rows(found, kind, setting, published),
            }
            for setting in found_by[0]
        ]
    chosen = {kind: _chosen(kinds[kind]) for kind in kinds}
    held = {
        statement.name: {kind: [_held(found, statement, kind, s) for s in chosen[kind]] for kind in chosen}
        for statement in statements
    }
    listed = {kind: [s.words for s in settings] for kind, settings in chosen.items()}
    return {"tables": len(found), **kinds, "considered": listed, "statements": held}


def _after_over_before(made: Mapping[str, Synthesis], kind: str) -> float:
    return made[f"{kind}_final"].delta / made[kind].delta


def _by(found: Sequence[Scanned], kind: str) -> list[dict[Setting, dict[str, Synthesis]]]:
    return [one.lw if kind == "LW" else one.cw for one in found]


def _rows(found: Sequence[Scanned], kind: str, setting: Setting, published: Published) -> dict[str, dict[str, float]]:
    return {
        label: fit_of(
            np.array(
                [row_of(one.at(*_pair(kind, setting)).paper[label].intervals, one.base.intervals) for one in found]
            ),
            row_of(published[label], published["data"]),
        )
        for label in (kind, f"{kind}_final")
    }


def _pair(kind: str, setting: Setting) -> tuple[Setting, Setting]:
    """A setting of one kind beside ours of the other."""
    return (setting, CW) if kind == "LW" else (LW, setting)


def fits(line: Mapping[str, Any]) -> bool:
    """Whether rows such as the published were seen: one table in twenty, and two at least, lie as far from the mean."""
    return all(row["as_far"] >= max(SEEN * row["tables"], FEWEST) for row in line["rows"].values())


def _chosen(lines: Sequence[Mapping[str, Any]]) -> list[Setting]:
    """Ours, and those at which rows such as the published were seen."""
    return [Setting(*(line[name] for name in Setting._fields)) for i, line in enumerate(lines) if i == 0 or fits(line)]


def _held(found: Sequence[Scanned], statement: Statement, kind: str, setting: Setting) -> float:
    """The share of tables on which a remark holds; of a claim, the share of resamples whose means keep it."""
    tables = [one.at(*_pair(kind, setting)) for one in found]
    if statement.of_method:
        return support(statement, [statement.values(one) for one in tables])
    return float(np.mean([statement.holds(one) for one in tables]))


def turns(statement: Statement, shares: Sequence[float], tables: int, whole: float) -> bool:
    """Whether a statement turns between our setting, the first, and the others; `whole` is ours on all tables."""
    if statement.of_method:
        return opposed(statement.expected.beside(share).verdict for share in (whole, *shares))
    return any(remark_turns(of_one_table(whole), shares[0], share, tables) for share in shares[1:])


def depending(
    results: Mapping[str, Any], statements: Sequence[Statement], held: Mapping[str, Any]
) -> dict[str, dict[str, str]]:
    """By name of what is expected: what the verdict depends on, and what was seen to change it.

    `results` are the scan's, `held` says how statements fare at our setting on all tables.
    """
    turned = {}
    for statement in statements:
        by_kind = results["statements"][statement.name]
        whole = held[statement.name]["support" if statement.of_method else "share"]
        moved = [kind for kind, shares in by_kind.items() if turns(statement, shares, results["tables"], whole)]
        if moved:
            words = [_seen(statement, kind, results) for kind in moved]
            turned[statement.on] = {"on": " and ".join(ON[kind] for kind in moved), "change": "; ".join(words)}
    return turned


def _seen(statement: Statement, kind: str, results: Mapping[str, Any]) -> str:
    """How a statement fares at the settings considered: LW's by g and c, CW's at ours and the two ends."""
    shares = dict(zip(results["considered"][kind], results["statements"][statement.name][kind], strict=True))
    if kind == "LW":
        held = sorted(
            (line["shift"], line["scale"], line["words"]) for line in results[kind] if line["words"] in shares
        )
        shares = {f"c = {c:g}{f' with g = {g:g}' if g else ''}": shares[words] for g, c, words in held}
    if statement.of_method:
        verdicts = {words: statement.expected.beside(share).verdict for words, share in shares.items()}
        heads = {HOLDS: "keep it at", FAILS: "break it at", UNDECIDED: "leave it open at"}
        places = {verdict: [words for words, on in verdicts.items() if on == verdict] for verdict in heads}
        said = [f"{heads[verdict]} {'; '.join(words)}" for verdict, words in places.items() if words]
        return f"means of our tables {', '.join(said)}"
    if kind == "CW":
        ends = (next(iter(shares)), max(shares, key=shares.__getitem__), min(shares, key=shares.__getitem__))
        shares = {words: shares[words] for words in ends}
    told = ", ".join(f"{share:.0%} at {words}" for words, share in shares.items())
    return f"true of {told}, of our first {results['tables']:,} tables"


def numbers_that_turn(
    found: Sequence[Scanned],
    considered: Mapping[str, Sequence[str]],
    expected: Sequence[Expected],
    number_of: Callable[[Measured, str], float | None],
) -> dict[str, dict[str, str]]:
    """Numbers that hold at a considered setting and do not at another; `number_of` reads one off a table, or None."""
    turned = {}
    for one in expected:
        for kind, words in considered.items():
            settings = [s for s in _by(found, kind)[0] if s.words in words]
            verdicts = {s: _verdict(found, one, kind, s, number_of) for s in settings}
            out = [s.words for s, verdict in verdicts.items() if verdict == FAILS]
            inside = [s.words for s, verdict in verdicts.items() if verdict == HOLDS]
            if opposed(verdict for verdict in verdicts.values() if verdict is not None):
                change = f"within the tolerance at {inside[0]}, outside it at {out[0]}"
                turned[one.name] = {"on": ON[kind], "change": f"{change} ({len(out)} of {len(verdicts)} settings)"}
    return turned


def _verdict(
    found: Sequence[Scanned],
    expected: Expected,
    kind: str,
    setting: Setting,
    number_of: Callable[[Measured, str], float | None],
) -> str | None:
    values = [number_of(one.at(*_pair(kind, setting)), expected.name) for one in found]
    held = [value for value in values if value is not None]
    if not held:
        return None
    mean, reach = float(np.mean(held)), 2 * float(np.std(held, ddof=1)) / len(held) ** 0.5
    return expected.beside(mean, (mean - reach, mean + reach)).verdict
