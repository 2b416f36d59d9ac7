"""From a run's settings, records and start to the page."""

from __future__ import annotations

from alphasynth.explorer.ladder import Tell, climb
from alphasynth.explorer.opening import Start, open_explored
from alphasynth.explorer.page import Contents, render
from alphasynth.explorer.simulated import simulate
from alphasynth.privacy.randomness import Key, child
from alphasynth.synthesis.one_thread import one_thread
from alphasynth.synthesizer import Synthesizer
from alphasynth.tables.records import Records

GUIDE, LADDER, TABLES = 0, 1, 2  # places of the keys


@one_thread()
def explore(
    key: Key, synthesizer: Synthesizer, records: Records, start: Start, twin: str = "", tell: Tell = lambda number: None
) -> str:
    """The page as HTML, confidential unless `twin` says what was simulated; `tell` is told of every fit.

    Raises `InputError` for what cannot be explored and `DiagnosticsError` where the run's own setting cannot be fitted.
    """
    explored = open_explored(child(key, GUIDE), synthesizer, records, start)
    ladder = climb(child(key, LADDER), explored, tell)
    simulated = simulate(child(key, TABLES), explored, ladder.u)
    return render(Contents(synthesizer, explored, ladder, simulated, start.epsilon, twin))
