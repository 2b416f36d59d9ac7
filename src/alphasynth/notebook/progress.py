"""A progress bar for notebooks: what is being done, and how much of it is behind. Elsewhere nothing is shown."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from alphasynth.notebook.markup import FAINT, element

Tell = Callable[[str, float], None]
LENGTH = 12  # of the bar, in em


def in_notebook() -> bool:
    """Whether this runs in the kernel of a notebook.

    >>> in_notebook()
    False
    """
    # A kernel has imported both before anything else; elsewhere nobody need wait for them.
    ipython, kernels = sys.modules.get("IPython"), sys.modules.get("ipykernel.zmqshell")
    if ipython is None or kernels is None:
        return False
    return isinstance(ipython.get_ipython(), kernels.ZMQInteractiveShell)


@contextmanager
def bar(doing: str) -> Iterator[Tell]:
    """Show what is told: words, and the share that is done. At the end a line says how it ended, and after how long."""
    if not in_notebook():
        yield lambda words, share: None
        return
    from IPython.display import display

    begin, last = time.perf_counter(), doing
    shown: Any = display(_both(doing, drawn(doing, 0.0)), raw=True, display_id=True)  # type: ignore[no-untyped-call]

    def tell(words: str, share: float) -> None:
        nonlocal last
        last = words
        shown.update(_both(words, drawn(words, share)), raw=True)

    def end(words: str) -> None:
        said = f"{words}, {time.perf_counter() - begin:.1f} seconds"
        shown.update(_both(said, element("div", FAINT, said)), raw=True)

    try:
        yield tell
    except BaseException:
        end(f"stopped: {last}")
        raise
    end("done")


def _both(words: str, html: str) -> dict[str, str]:
    """What is shown, as markup and for who shows text alone."""
    return {"text/html": html, "text/plain": words}


def drawn(words: str, share: float) -> str:
    """The bar and the words beside it.

    >>> "width:50%" in drawn("round 2 of 2", 0.5)
    True
    """
    full = f"width:{100 * min(max(share, 0.0), 1.0):.0f}%;height:100%;background:currentColor;opacity:.5"
    frame = f"display:inline-block;width:{LENGTH}em;height:.7em;border:1px solid currentColor;margin-right:.7em"
    return element("div", "line-height:1.4", element("span", frame, element("div", full)), words)
