"""What a run is doing: on a terminal a display, in a pipe now and then a line; and what makes it slow."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TextIO

from alphasynth.runs.interruption import Interruption

if TYPE_CHECKING:
    from alphasynth.runs.clock import Stage


# Seconds until the first line in a pipe, and between lines; in one column until what makes it slow is said.
FIRST, BETWEEN, SLOW = 10.0, 10.0, 20.0


def words(stage: Stage) -> str:
    """What is under way, by public facts alone: the stage, the column and how many coefficients it has."""
    from alphasynth.mechanisms.chain import under_way

    columns = under_way()
    if not columns:
        return stage.doing
    first = columns[0]
    said = f"{stage.doing}; column {first.column!r}"
    if time.monotonic() - first.since < SLOW:
        return said
    return f"{said}: a program is compiled for its {first.size:,} coefficients and drawn from; fewer terms are faster"


@contextmanager
def _lines(stream: TextIO) -> Iterator[Callable[[Stage], None]]:
    """Lines of a run that lasts, each only where something else is under way than in the line before."""
    told: list[Stage] = []
    said, last = "", time.monotonic() + FIRST - BETWEEN

    def tick() -> None:
        nonlocal said, last
        now = words(told[0]) if told else ""
        if now != said and time.monotonic() - last >= BETWEEN:
            said, last = now, time.monotonic()
            with suppress(OSError, ValueError):  # no one listens any more
                stream.write(f"alphasynth: {now}\n")
                stream.flush()

    def tell(stage: Stage) -> None:
        told[:] = [stage]

    with _ticking(tick):
        yield tell


@contextmanager
def _ticking(tick: Callable[[], None], every: float = 0.5) -> Iterator[None]:
    """Call `tick` every so often, in a thread of its own."""
    done = threading.Event()

    def run() -> None:
        while not done.wait(every):
            tick()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


@contextmanager
def shown_on(stream: TextIO, quiet: bool, interruption: Interruption) -> Iterator[Callable[[Stage], None]]:
    """Show stages as they are told, if not quiet. A signal gives the terminal back first."""
    if quiet:
        yield lambda stage: None
        return
    if not stream.isatty():
        with _lines(stream) as line:
            yield line
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TimeElapsedColumn(),
        TextColumn("gone,"),
        TimeRemainingColumn(),
        TextColumn("left"),
    )
    with Progress(*columns, console=Console(file=stream), transient=True) as progress:
        interruption.before_leaving(progress.stop)
        task = progress.add_task("starting", total=None)

        told: list[Stage] = []

        def tell(stage: Stage) -> None:
            told[:] = [stage]
            progress.update(task, description=stage.doing, completed=stage.done, total=stage.steps)

        with _ticking(lambda: progress.update(task, description=words(told[0]) if told else None)):
            yield tell
    interruption.before_leaving(lambda: None)
