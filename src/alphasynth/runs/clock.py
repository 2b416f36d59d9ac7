"""Where a run stands, and the time that its stages took."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from alphasynth.mechanisms.mechanism import Step


@dataclass(frozen=True)
class Stage:
    """Where a run stands: what it is doing, and how many of its steps are done."""

    doing: str
    done: int
    steps: int


class Clock:
    """Tells how far the run is, and keeps the time of its stages."""

    def __init__(self, draws: int | None, tables: int, rules: int, tell: Callable[[Stage], None]) -> None:
        self.tell, self.draws, self.rounds = tell, draws, rules + 1
        self.steps = 1 + self.rounds + tables + 2
        self.began = [("read", time.perf_counter())]
        tell(Stage("reading and grouping the table", 0, self.steps))

    def watch(self, step: Step) -> None:
        """A fit begins."""
        self._enter("fit")
        self.tell(Stage(step.words(self.draws), step.round, self.steps))

    def writing(self, number: int, of: int) -> None:
        """A synthetic table begins."""
        self._enter("write")
        self.tell(Stage(f"writing table {number} of {of}", self.rounds + number, self.steps))

    def last(self) -> None:
        """The confidential files begin."""
        self.tell(Stage("writing the confidential files", self.steps - 2, self.steps))

    def rendering(self) -> None:
        """The report begins."""
        self.tell(Stage("rendering the report", self.steps - 1, self.steps))

    def _enter(self, stage: str) -> None:
        if self.began[-1][0] != stage:
            self.began.append((stage, time.perf_counter()))

    @property
    def seconds(self) -> dict[str, float]:
        """Seconds by stage."""
        ends = [begin for _, begin in self.began[1:]] + [time.perf_counter()]
        return {stage: round(end - begin, 3) for (stage, begin), end in zip(self.began, ends, strict=True)}
