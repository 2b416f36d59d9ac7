"""`Automatic`: the default sampler. `Laplace` first; `Nuts` where the diagnostics of `Laplace` say so."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

from alphasynth.errors import SamplerWarning
from alphasynth.inference.density import Target
from alphasynth.inference.laplace import Laplace
from alphasynth.inference.nuts import Nuts
from alphasynth.inference.sampler import Draws, Sampler
from alphasynth.privacy.randomness import Key, child

SECOND = 100  # the second sampler's attempts count from here


@dataclass(frozen=True)
class Automatic:
    """Try one sampler and go over to another when its draws fail; a `SamplerWarning` and the draws' note say so.

    >>> Automatic(second=Nuts(num_warmup=1_000)).first
    Laplace(num_chains=4)
    """

    first: Sampler = Laplace()
    second: Sampler = Nuts()

    def draw(self, key: Key, target: Target, num_draws: int, least: int = 0) -> Draws:
        """Draw with the first sampler if its diagnostics pass, else with the second."""
        failures: list[str] = []
        if least < SECOND:
            draws = self.first.draw(child(key, 0), target, num_draws, least)
            failures = draws.diagnostics.failures()
            if not failures:
                return draws
        names = f"{type(self.first).__name__} draws failed their diagnostics", f"{type(self.second).__name__} took over"
        # The same words each time, so that Python shows them once; the numbers are in the note.
        warnings.warn("; ".join(names), SamplerWarning, stacklevel=2)
        draws = self.second.draw(child(key, 1), target, num_draws, max(least - SECOND, 0))
        note = f"{names[0]} ({'; '.join(failures) or 'on an earlier trial'}); {names[1]}"
        attempt = SECOND + draws.diagnostics.attempt
        return replace(draws, diagnostics=replace(draws.diagnostics, note=note, attempt=attempt))
