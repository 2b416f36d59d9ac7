"""`StanSampler`: Stan's no-U-turn sampler, for models that are Stan programs."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from alphasynth.errors import InputError, require_whole
from alphasynth.inference.annealed import gathered
from alphasynth.inference.contribution import SURVEY, SurveyWeighted, weighted
from alphasynth.inference.density import Target, outside
from alphasynth.inference.diagnostics import Diagnostics, compare_chains
from alphasynth.inference.laplace import Laplace, one_program
from alphasynth.inference.mode import Mode, Modes
from alphasynth.inference.sampler import Draws
from alphasynth.models.stan_model import BoundStan
from alphasynth.privacy.randomness import Key, child
from alphasynth.stan.chains import chains

ATTEMPTS = (0.9, 0.99)  # acceptance that the step size is adapted to; the second for draws that came out badly
GATHERED = 8  # key of the population
QUARTERS, LEAST = (0.25, 0.5, 0.75), 1e-6  # of the prior, where proposals look far beyond
WALKS = 2  # attempts whose proposals walk, which take minutes


@dataclass(frozen=True)
class StanSampler:
    """Chains of Stan's own sampler, each with a seed of its own."""

    num_chains: int = 4
    num_warmup: int = 1_000

    def __post_init__(self) -> None:
        """Refuse fewer than two chains, between which R-hat could compare nothing, and no warm-up."""
        require_whole("num_chains", self.num_chains, 2)
        require_whole("num_warmup", self.num_warmup, 1)

    def draw(self, key: Key, target: Target, num_draws: int, least: int = 0) -> Draws:
        """Draw `num_draws` times, divided over the chains."""
        model = target.model
        if not isinstance(outside(model), BoundStan):
            raise InputError("StanSampler must have a Stan program to draw from, found another model")
        if not isinstance(model, BoundStan | SurveyWeighted):
            return self._draw_bounded(key, target, num_draws, least)
        for number in range(least, len(ATTEMPTS)):
            draws = self._draw(child(key, number), target, num_draws, number)
            if not draws.diagnostics.failures():
                break
        return draws

    def _draw_bounded(self, key: Key, target: Target, num_draws: int, least: int) -> Draws:
        """Where what records add is clipped there is no gradient to follow: proposals where a population gathers."""
        inside = outside(target.model)
        assert isinstance(inside, BoundStan), "checked"
        points, target = inside.public_starts(), one_program(target)
        low, middle, high = np.quantile(points, QUARTERS, axis=0)
        u = gathered(np.random.default_rng(child(key, GATHERED)), target, points)
        modes = Modes.around(u, np.zeros(len(u)), Mode(middle, np.diag(np.maximum(high - low, LEAST))))
        draws = Laplace(self.num_chains).draw_at_several(key, target, num_draws, modes, least, WALKS)
        return replace(draws, diagnostics=replace(draws.diagnostics, sampler="Stan"))

    def _draw(self, key: Key, target: Target, num_draws: int, number: int) -> Draws:
        model, size = outside(target.model), int(target.data.size)
        assert isinstance(model, BoundStan), "checked"
        columns = {name: np.asarray(column)[:size] for name, column in target.data.columns.items()}
        alpha = np.asarray(target.data.weight)[:size]
        data = model.data(columns, weighted(alpha, columns[SURVEY]) if SURVEY in columns else alpha)
        length = -(-num_draws // self.num_chains)
        seeds = [int(word >> 1) or 1 for word in key.generate_state(self.num_chains, np.uint32)]
        shapes = model.shapes()
        found = chains(model.program, data, shapes, seeds, self.num_warmup, length, ATTEMPTS[number])
        u = np.concatenate(found.u)
        ess_bulk, rhat = compare_chains(u.reshape(self.num_chains, length, -1))
        diagnostics = Diagnostics(
            sampler="Stan",
            num_draws=num_draws,
            acceptance=float(np.mean([c["accept_stat__"].mean() for c in found.told])),
            ess_bulk=ess_bulk,
            rhat=rhat,
            divergences=int(sum(c["divergent__"].sum() for c in found.told)),
            attempt=number,
        )
        return Draws.of(model, u[:num_draws], diagnostics)
