"""What data sets have spent and may spend: runs, sums by scope, caps; exact, and without a file in sight."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from alphasynth.errors import InputError
from alphasynth.privacy import accounting
from alphasynth.privacy.approximate import rho_of_pure, together_at
from alphasynth.privacy.decimals import shown, shown_small
from alphasynth.privacy.scopes import STRICT

# What a run's detail calls its unit of privacy, and the unit of a run that names no column.
UNIT, ROW = "unit", "one row"


class LedgerError(InputError):
    """The ledger refuses: a cap would be exceeded, or what a cap requires is missing."""


@dataclass(frozen=True)
class Entry:
    """One run as the ledger has it. No epsilon: not known before the fit.

    `state`: reserved, writing, released, lost (it had begun, and its folder is gone) or cleared.
    """

    run: str
    dataset: str
    scope: str
    epsilon: str | None
    state: str
    at: str
    detail: dict[str, Any]

    @property
    def counts(self) -> bool:
        """Whether it counts as spent."""
        return self.state != "cleared"

    @property
    def delta(self) -> Fraction:
        """Its delta, as it was written down; 0 of a pure epsilon."""
        return accounting.written(self.detail.get("delta", 0.0))

    @property
    def rho(self) -> Fraction | None:
        """Rho as it was noted, or what a pure epsilon has at most; None where neither is known."""
        if "rho" in self.detail:
            return Fraction(self.detail["rho"])
        return None if self.delta or self.epsilon is None else rho_of_pure(accounting.written(self.epsilon))


@dataclass(frozen=True)
class Cap:
    """A data set's name, as it was capped, and its cap: of the sums of epsilon, and of delta."""

    dataset: str
    epsilon: Fraction
    delta: Fraction = Fraction(0)


@dataclass(frozen=True)
class Balance:
    """What a data set has spent within one scope, exactly, and its cap. `open_ended`: a run without an epsilon yet.

    `delta` is that of all runs together, `rho` too, where it is known of every run of a strict promise. `units` are
    what runs protect: columns whose values tell units of privacy apart, or a row. Epsilons of several do not add up.
    """

    dataset: str
    scope: str
    released: Fraction
    lost: Fraction
    reserved: Fraction
    open_ended: bool
    cap: Fraction | None
    delta: Fraction = Fraction(0)
    cap_delta: Fraction | None = None
    rho: Fraction | None = None
    units: tuple[str, ...] = ()

    @property
    def concentrated(self) -> float | None:
        """The epsilon that all runs come to at their summed delta by sums of rho, where it is below the plain sum."""
        return None if self.rho is None or len(self.units) > 1 else together_at(self.rho, self.delta, self.spent)

    @property
    def spent(self) -> Fraction:
        """Released, lost and reserved together."""
        return self.released + self.lost + self.reserved


@dataclass(frozen=True)
class Reservation:
    """What a run asks for. Without a name the data set goes by the table's keyed fingerprint."""

    run: str
    dataset: str | None
    fingerprint: str
    scope: str
    epsilon: float | None
    detail: dict[str, Any]
    delta: float | None = None


def key(name: str) -> str:
    """What tells data sets apart: capitals, spaces around a name and ways to write an accent do not."""
    return unicodedata.normalize("NFC", name.strip().casefold())


def balance(
    dataset: str, scope: str, entries: Sequence[Entry], caps: dict[str, Cap], fingerprint: str | None = None
) -> Balance:
    """What a data set has spent within one scope: sums of decimals as they were written down, without rounding.

    Epsilons add up, and so do deltas (basic composition, which holds however runs were chosen after one another).
    Runs of the same tables under other names, or none, count too; `fingerprint` is of a table that is about to be run.
    """
    spent = [entry for entry in entries if entry.scope == scope and entry.counts]
    tables = {entry.detail["fingerprint"] for entry in spent if key(entry.dataset) == key(dataset)} | {fingerprint}
    own = [entry for entry in spent if key(entry.dataset) == key(dataset) or entry.detail["fingerprint"] in tables]
    released, lost, reserved = (
        accounting.spent(entry.epsilon for entry in own if entry.state in states and entry.epsilon is not None)
        for states in (("released",), ("lost",), ("reserved", "writing"))
    )
    unknown = any(entry.epsilon is None for entry in own)
    cap = caps.get(key(dataset))
    delta = sum((entry.delta for entry in own), Fraction(0))
    costs = [entry.rho for entry in own if entry.rho is not None]
    rho = sum(costs, Fraction(0)) if scope == STRICT and len(costs) == len(own) else None
    limits = (cap.epsilon, cap.delta) if cap else (None, None)
    units = tuple(sorted({entry.detail[UNIT] for entry in own if UNIT in entry.detail}))
    return Balance(dataset, scope, released, lost, reserved, unknown, limits[0], delta, limits[1], rho, units)


def check_name(reservation: Reservation, entries: Sequence[Entry], caps: dict[str, Cap]) -> None:
    """Refuse a run that leaves out its data set's name, or gives another, where a cap is at stake."""
    if reservation.dataset is None and caps:
        listed = ", ".join(repr(cap.dataset) for cap in caps.values())
        raise LedgerError(f"the ledger caps {listed}, so a run must name its data set (--dataset)")
    known = capped_names(reservation, entries, caps)
    if known and key(reservation.dataset or "") not in caps:
        raise LedgerError(
            f"this table is in the ledger as data set {known[0]!r}, which has a cap; run it under that name"
        )


def capped_names(reservation: Reservation, entries: Sequence[Entry], caps: dict[str, Cap]) -> list[str]:
    """Names with a cap under which the table has been run."""
    same = [entry for entry in entries if entry.counts and entry.detail["fingerprint"] == reservation.fingerprint]
    return [entry.dataset for entry in same if key(entry.dataset) in caps]


def check_caps(reservation: Reservation, entries: Sequence[Entry], caps: dict[str, Cap]) -> None:
    """Refuse a run that a cap forbids: its own data set's, or another's under which the same table has been run."""
    assert reservation.dataset is not None
    for name in dict.fromkeys([reservation.dataset, *capped_names(reservation, entries, caps)]):
        if key(name) in caps:
            check_cap(reservation, balance(name, reservation.scope, entries, caps, reservation.fingerprint))


def check_cap(reservation: Reservation, so_far: Balance) -> None:
    """Refuse a run that states no budget, or one that would exceed the cap."""
    name = so_far.dataset
    if reservation.epsilon is None:
        raise LedgerError(f"data set {name!r} has a cap, so a run must state its budget (--epsilon), found none")
    if so_far.open_ended:
        raise LedgerError(f"data set {name!r} has a cap and a run without a budget under way; wait or clear it")
    assert so_far.cap is not None
    if accounting.exceeds(so_far.spent, reservation.epsilon, so_far.cap):
        cap, asked = accounting.as_written(float(so_far.cap)), shown(accounting.written(reservation.epsilon))
        raise LedgerError(
            f"data set {name!r} has a cap of {cap}, of which {shown(so_far.spent)} is spent or reserved: a run of "
            f"epsilon {asked} would exceed it"
        )
    check_delta_cap(reservation, so_far)
    check_unit(reservation, so_far)


def check_unit(reservation: Reservation, so_far: Balance) -> None:
    """Refuse a run whose unit of privacy no earlier one has: their epsilons do not add up."""
    unit = reservation.detail.get(UNIT, ROW)
    if so_far.units and unit not in so_far.units:
        raise LedgerError(
            f"data set {so_far.dataset!r} has a cap and runs whose unit of privacy is {' or '.join(so_far.units)}, to "
            f"which a run whose unit is {unit} cannot be added; give it the same (--unit, --max-rows)"
        )


def check_delta_cap(reservation: Reservation, so_far: Balance) -> None:
    """Refuse a run whose delta would exceed the cap's."""
    if reservation.delta is None:
        return
    assert so_far.cap is not None
    assert so_far.cap_delta is not None
    if accounting.exceeds(so_far.delta, reservation.delta, so_far.cap_delta):
        asked, cap = shown_small(accounting.written(reservation.delta)), accounting.as_written(float(so_far.cap))
        raise LedgerError(
            f"data set {so_far.dataset!r} has a cap of delta {shown_small(so_far.cap_delta)}, of which "
            f"{shown_small(so_far.delta)} is spent or reserved: a run of delta {asked} would exceed it; alphasynth "
            f"ledger set {so_far.dataset!r} --cap {cap} --delta DELTA sets another"
        )
