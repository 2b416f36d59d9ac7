"""The parts, and how much of each there is at each size."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path

from torture import disks, files, kills, races
from torture.counts import Counts

Part = Callable[[Path, int, float], Iterator[Counts]]
FULL, SMALL = 1.0, 0.0  # parts of the full size; the small one is for a test


def _of(full: int, share: float, least: int) -> int:
    """A part of the full size."""
    return max(least, round(full * share))


def _kills(root: Path, seed: int, share: float) -> Iterator[Counts]:
    kinds = kills.KINDS if share > SMALL else ("Raked",)
    return kills.kill_at_random(root, seed, _of(1_000, share, 3), _of(100, share, 1), kinds)


def _steps(root: Path, seed: int, share: float) -> Iterator[Counts]:
    if share > SMALL:
        return kills.kill_at_steps(root, sorted(set(kills.KINDS)))
    return kills.kill_at_steps(root, ("Raked",), 7)


def _files(root: Path, seed: int, share: float) -> Iterator[Counts]:
    sizes = {"toml": _of(1_000, share, 2), "file": _of(9_900, share, 6), "fresh": _of(100, share, 0)}
    return files.spoil(root, seed, sizes)


def _ledgers(root: Path, seed: int, share: float) -> Iterator[Counts]:
    return chain(races.race_for_caps(root, _of(50, share, 4)), races.race_for_name(root, _of(10, share, 1)))


def _disks(root: Path, seed: int, share: float) -> Iterator[Counts]:
    if not disks.can_mount(root / "mounted"):
        return disks.limited(root)
    return chain(disks.fill(root, _of(24, share, 1)), disks.read_only(root))


PARTS: dict[str, Part] = {"kills": _kills, "steps": _steps, "files": _files, "ledgers": _ledgers, "disks": _disks}
