"""The progress display: what a run is doing, how far it is and how long it has to go; on a terminal only."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from alphasynth.runs.interruption import Interruption

if TYPE_CHECKING:
    from alphasynth.runs.clock import Stage


@contextmanager
def shown_on(stream: TextIO, quiet: bool, interruption: Interruption) -> Iterator[Callable[[Stage], None]]:
    """Show stages as they are told; in a pipe, or if quiet, show nothing. A signal gives the terminal back first."""
    if quiet or not stream.isatty():
        yield lambda stage: None
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

        def tell(stage: Stage) -> None:
            progress.update(task, description=stage.doing, completed=stage.done, total=stage.steps)

        yield tell
    interruption.before_leaving(lambda: None)
