"""`Subject`: what is audited, a run and how its mechanism is run on other records (confidential)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from alphasynth.audits.black_box import Sampled
from alphasynth.errors import InputError
from alphasynth.mechanisms.by_column import PerColumn
from alphasynth.mechanisms.chain import Chain
from alphasynth.mechanisms.mechanism import Mechanism, Trail
from alphasynth.mechanisms.rules import Given
from alphasynth.mechanisms.scored_fit import Path
from alphasynth.tables.records import Records


@dataclass(frozen=True, eq=False)
class Subject:
    """What is audited (confidential): a run's trail and its chain, and how its mechanism is run on other records."""

    trail: Trail
    chain: Chain
    bind: Callable[[Records], Chain]
    mechanism: Mechanism
    target: float | None
    scope: str
    sampled: Sampled | None = None
    paths: tuple[Path, ...] = ()

    def __post_init__(self) -> None:
        """Refuse weights that belong to the rows of one table."""
        if any(isinstance(rule, Given) for rule in self.mechanism.rules):
            raise InputError("an audit needs weights that can be made for a neighbour, found Given ones")
        if any(isinstance(rule, PerColumn) for rule in self.mechanism.rules):
            raise InputError("an audit needs one weight per record, found weights per column")

    @property
    def records(self) -> Records:
        """The run's own."""
        return self.chain.records
