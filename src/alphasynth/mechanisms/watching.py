"""Who watches a fit: whoever asked to, or in a notebook a progress bar."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from alphasynth.mechanisms.mechanism import Step, Watch
from alphasynth.notebook.progress import bar

READING = "reading the table"


@contextmanager
def watched(watch: Watch | None, num_draws: int | None) -> Iterator[Watch]:
    """The watch given; without one, in a notebook, a bar that says which round is under way, elsewhere nothing."""
    if watch is not None:
        yield watch
        return
    with bar(READING) as tell:

        def shown(step: Step) -> None:
            # A round that begins is not done; the table was read before the first.
            tell(step.words(num_draws), step.round / (step.rounds + 1))

        yield shown
