"""The ladder: fits at settings that span the sliders, made where the draws so far stand for a fit the worst."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from alphasynth.errors import DiagnosticsError
from alphasynth.explorer.dial import Setting, spread_settings, start_of
from alphasynth.explorer.explored import Explored
from alphasynth.explorer.pool import Pool, Terms, log_liks
from alphasynth.inference.contribution import bare
from alphasynth.privacy.randomness import Key, child

# Draws on the page, of all fits together: the more the fewer rows there are, since a step takes their product.
FEWEST_DRAWS, MOST_DRAWS, MOST_NUMBERS = 1_000, 4_000, 1_000_000
DRAWS_OF_FIT = 2_000
MOST_FITS = 24
TRIED = 100  # draws of each fit while the ladder is built
# No more fits are made once all draws together are worth so many wherever they are tried: almost those of a fit there.
ENOUGH = 0.8 * TRIED
SETTINGS = 64  # between the ends, that are tried
# Where all weights together come to less than so many records, or to less than this share of them, a posterior is all
# but its prior: no fits are made there, and the page says that its draws do not stand.
LEAST_RECORDS, LEAST_SHARE = 10, 0.02
Tell = Callable[[int], None]


@dataclass(frozen=True, eq=False)
class Rung:
    """A fit (confidential): its draws u (S, D) and what rows added in it."""

    u: np.ndarray = field(repr=False)
    terms: Terms = field(repr=False)


@dataclass(frozen=True, eq=False)
class Ladder:
    """The page's draws (confidential): u (S, D), in the order of the pool, and how many fits they are from."""

    pool: Pool
    u: np.ndarray = field(repr=False)
    fits: int


def climb(key: Key, explored: Explored, tell: Tell) -> Ladder:
    """Fit until the draws stand for settings all over the sliders, and share the page's draws out among the fits.

    Raises `DiagnosticsError` where the fit of the run's own setting fails; another whose fit does is left out. `tell`
    is told the number of each fit before it is made.
    """
    first, waiting = _to_fit(explored)
    rungs: list[Rung] = []
    for number in range(MOST_FITS):
        if number < len(first):
            setting = first[number]
        else:
            place, worth = _worst(explored, rungs, waiting)
            if worth >= ENOUGH:
                break
            setting = waiting.pop(place)
        tell(number + 1)
        rungs += _fit(child(key, number), explored, setting, rungs, needed=number == 0)
    total = draws_for(explored.bound.chain.records.size)
    shares = np.diff(np.linspace(0, total, len(rungs) + 1).astype(int)).tolist()
    pool, u = _pool(explored, rungs, shares)
    return Ladder(pool, u, len(rungs))


def draws_for(rows: int) -> int:
    """Draws on a page of so many distinct rows.

    >>> draws_for(1_000), draws_for(150), draws_for(400)
    (1000, 4000, 2500)
    """
    return min(max(MOST_NUMBERS // rows, FEWEST_DRAWS), MOST_DRAWS)


def _to_fit(explored: Explored) -> tuple[list[Setting], list[Setting]]:
    """Settings to fit first, and those that are fitted where draws are lacking.

    First comes the run's own, then those with the least and with the most of the likelihood: a wide fit's draws cover
    what narrow ones leave out, which draws of narrow ones alone would not even show.
    """
    start = start_of(explored.dials)
    of_first = start_of(explored.first_dials)
    spread = spread_settings(explored.first_dials, SETTINGS)
    weight = [_kept(explored, setting) for setting in spread]
    counts = explored.bound.chain.records.counts
    least = max(LEAST_RECORDS, LEAST_SHARE * counts.sum())
    kept = sorted((w, place) for place, w in enumerate(weight) if w >= least)
    ends = [spread[kept[0][1]], spread[kept[-1][1]]] if kept else []
    waiting: list[Setting] = [start, *(spread[place] for _, place in kept)]
    if len(explored.first_dials) < len(explored.dials):
        both = spread_settings(explored.dials, SETTINGS)
        waiting += [s for s in both if _kept(explored, {name: s[name] for name in of_first}) >= least]
    return [of_first, *ends], waiting


def _kept(explored: Explored, setting: Setting) -> float:
    """How many records the weights of a first round come to."""
    return explored.rounds(setting, None)[0].kept(explored.bound.chain.records.counts)


def _worst(explored: Explored, rungs: Sequence[Rung], waiting: Sequence[Setting]) -> tuple[int, float]:
    """The setting that the draws so far stand for the worst, and what they are worth there."""
    if not waiting:
        return 0, np.inf
    pool, _ = _pool(explored, rungs, [TRIED] * len(rungs))
    worth = [pool.standing(explored.rounds(setting, pool)[-1]).effective for setting in waiting]
    place = int(np.argmin(worth))
    return place, worth[place]


def _fit(key: Key, explored: Explored, setting: Setting, rungs: Sequence[Rung], needed: bool) -> list[Rung]:
    """A fit; none where its draws cannot be used and it is not needed."""
    pool = _pool(explored, rungs, [TRIED] * len(rungs))[0] if rungs else None
    terms = explored.rounds(setting, pool)[-1]
    try:
        return [Rung(explored.draw(key, terms, setting), terms)]
    except DiagnosticsError:
        if needed:
            raise
        return []


def _pool(explored: Explored, rungs: Sequence[Rung], sizes: Sequence[int]) -> tuple[Pool, np.ndarray]:
    """So many draws of every fit, at equal distances: neighbours may be one draw, where a proposal was not taken."""
    block = explored.bound.chain.one
    pairs = zip(rungs, sizes, strict=True)
    taken = [rung.u[np.linspace(0, len(rung.u) - 1, size).round().astype(int)] for rung, size in pairs]
    found = [log_liks(bare(block.model), u, block.rows) for u in taken]
    return Pool.of(found, block.records.counts, [rung.terms for rung in rungs]), np.concatenate(taken)
