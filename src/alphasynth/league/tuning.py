"""A mechanism's number turned: Delta against utility, setting by setting, with the same random numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from alphasynth import __version__
from alphasynth.errors import CalibrationError, DiagnosticsError
from alphasynth.evaluation.distances import mean_distances
from alphasynth.evaluation.values import Values, statistics
from alphasynth.league.page import CONFIDENTIAL
from alphasynth.league.standings import Fitted, Table, Tell
from alphasynth.pages import page
from alphasynth.pages.marks import Figure, Line, Panel
from alphasynth.pages.palette import colours
from alphasynth.privacy.accounting import epsilon_of
from alphasynth.privacy.randomness import child
from alphasynth.synthesizer import Synthesizer

SPENT = (
    "Tuning on the confidential table spends privacy: a number that is chosen by these results depends on the records, "
    "and no guarantee covers that. Tune on a twin (--twin) where you can."
)
HEADS = (
    *("Delta", "sd", "epsilon per draw", "mean weight", "audited loss", "claim"),
    *("relative error", "Wasserstein", "failed"),
)
Make = Callable[[float], Synthesizer]


@dataclass(frozen=True)
class Setting:
    """What one value of the dial gives, over the repeats (confidential where the table is).

    `deltas` are the Lipschitz bounds of the repeats; `error` is the mean over statistics of their relative RMSE; `loss`
    is what the draw audit finds for one draw of the last repeat, None where it cannot tell.
    """

    value: float
    deltas: tuple[float, ...]
    mean_alpha: float
    error: float
    wasserstein: float
    loss: float | None
    failed: int

    @property
    def delta(self) -> float:
        """Mean bound over the repeats."""
        return float(np.mean(self.deltas)) if self.deltas else np.nan

    @property
    def claim(self) -> str | None:
        """Whether the audited loss keeps within the claimed epsilon; None where it cannot be told."""
        if self.loss is None or not self.deltas:
            return None
        return "broken" if self.loss > epsilon_of(self.delta) else "kept"


def sweep(
    seed: int, table: Table, make: Make, values: Sequence[float], repeats: int, m: int, tell: Tell
) -> list[Setting]:
    """Every value of the dial, `repeats` times, each repeat with the same random numbers for all values."""
    settings = []
    for place, value in enumerate(values):
        tell(f"at {value:g}", place, len(values))
        settings.append(_at(seed, table, Fitted(make(value), m), value, repeats))
    return settings


def _at(seed: int, table: Table, entrant: Fitted, value: float, repeats: int) -> Setting:
    wanted = statistics()
    own = {statistic.name: statistic.of(table.values) for statistic in wanted}
    deltas, alphas, apart, failed = [], [], [], 0
    errors: list[list[float]] = []
    for number in range(repeats):
        key = np.random.SeedSequence([seed, number])
        try:
            tables = entrant.tables(child(key, 0), table)
        except (CalibrationError, DiagnosticsError):
            failed += 1
            continue
        assert entrant.carried is not None
        made = [Values.of(column) for column in tables]
        deltas.append(entrant.carried.trail.delta)
        alphas.append(entrant.carried.trail.fits[-1].mean_alpha)
        errors.append([float(np.mean([s.of(v) for v in made])) - own[s.name] for s in wanted])
        apart.append(mean_distances(table.values, made).wasserstein)
    finding = entrant.audited(child(np.random.SeedSequence(seed), 1), table) if deltas else None
    rmse = np.sqrt(np.mean(np.square(errors), axis=0)) if errors else np.full(len(wanted), np.nan)
    shares = [error / abs(own[s.name]) for error, s in zip(rmse, wanted, strict=True) if own[s.name]]
    return Setting(
        value=value,
        deltas=tuple(deltas),
        mean_alpha=float(np.mean(alphas)) if alphas else np.nan,
        error=float(np.mean(shares)) if shares else np.nan,
        wasserstein=float(np.mean(apart)) if apart else np.nan,
        loss=None if finding is None or not finding.certain else finding.loss,
        failed=failed,
    )


def lines_of(dial: str, settings: Sequence[Setting]) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
    """Heads and lines of the table, in the order of the dial."""
    lines: list[tuple[object, ...]] = [
        (
            s.value,
            page.bound(s.delta),
            float(np.std(s.deltas, ddof=1)) if len(s.deltas) > 1 else None,
            page.bound(epsilon_of(s.delta)),
            s.mean_alpha,
            None if s.loss is None else page.bound(s.loss),
            s.claim,
            s.error,
            s.wasserstein,
            s.failed,
        )
        for s in settings
    ]
    return (dial, *HEADS), lines


def tuning_figure(dial: str, settings: Sequence[Setting]) -> Figure:
    """Utility against Delta: a point for each setting, with a key."""
    held = [s for s in sorted(settings, key=lambda s: s.delta) if s.deltas]
    names = {s.value: f"{dial} {s.value:g}" for s in held}
    panels = []
    for title, measure in (("Relative error of the statistics", "error"), ("Wasserstein distance", "wasserstein")):
        tips = {s.value: f"{names[s.value]}: Delta {s.delta:.3g}, {title} {getattr(s, measure):.3g}" for s in held}
        points = tuple(
            Line(names[s.value], np.array([s.delta]), np.array([getattr(s, measure)]), tips[s.value], np.zeros(1))
            for s in held
        )
        panels.append(Panel(title, "Delta", points, f"{'; '.join(tips.values())}.", title))
    return Figure(
        "utility_against_delta",
        f"Utility against Delta, as {dial} is turned",
        "Lower is better on both axes: a smaller Delta is a smaller claim, a smaller error a better table. A point is "
        "one setting.",
        tuple(panels),
        colours(list(names.values())),
    )


def build(
    opening: str, table: Table, label: str, dial: str, settings: Sequence[Setting], m: int, repeats: int
) -> page.Page:
    """The page."""
    heads, lines = lines_of(dial, settings)
    blocks = (
        page.text(opening),
        page.facts(("mechanism", label), ("number turned", dial), ("draws released", m), ("repeats", repeats)),
        page.table(f"{label} as {dial} is turned; bounds are for one draw, rounded up", heads, lines),
        page.note(
            "Delta is the mean over the repeats of the largest weighted log-likelihood, and epsilon twice that: an "
            "estimate for this table. Audited loss: what the draw audit finds towards its neighbours, at delta 1e-5; "
            "where it is above epsilon the claim is broken. Relative error: RMSE over the repeats of each statistic, "
            "as a share of it, averaged over the statistics."
        ),
        page.figure_block(tuning_figure(dial, settings)),
    )
    banners = () if table.twin else (CONFIDENTIAL,)
    return page.Page(
        f"{label} tuned", (page.Section("tuning", "Settings", blocks),), banners, f"alphasynth {__version__}"
    )
