"""`StanSampler`: Stan's no-U-turn sampler, for models that are Stan programs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from alphasynth.errors import InputError, require_whole
from alphasynth.inference.density import Target
from alphasynth.inference.diagnostics import Diagnostics, compare_chains
from alphasynth.inference.sampler import Draws
from alphasynth.models.stan_model import BoundStan
from alphasynth.privacy.randomness import Key, child

ATTEMPTS = (0.9, 0.99)  # acceptance that the step size is adapted to; the second for draws that came out badly


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
        if not isinstance(model, BoundStan):
            raise InputError("StanSampler must have a Stan program to draw from, found another model")
        for number in range(least, len(ATTEMPTS)):
            draws = self._draw(child(key, number), model, target, num_draws, number)
            if not draws.diagnostics.failures():
                break
        return draws

    def _draw(self, key: Key, model: BoundStan, target: Target, num_draws: int, number: int) -> Draws:
        size = int(target.data.size)
        columns = {name: column[:size] for name, column in target.data.columns.items()}
        data = model.data(columns, np.asarray(target.data.weight)[:size])
        length = -(-num_draws // self.num_chains)
        seeds = [int(word >> 1) or 1 for word in key.generate_state(self.num_chains, np.uint32)]
        chains = model.program.ask("sample", data, seeds, self.num_warmup, length, ATTEMPTS[number])
        shapes = model.shapes()
        u = np.concatenate([model.program.ask("unconstrain", data, _thetas(chain, shapes)) for chain in chains])
        ess_bulk, rhat = compare_chains(u.reshape(self.num_chains, length, -1))
        diagnostics = Diagnostics(
            sampler="Stan",
            num_draws=num_draws,
            acceptance=float(np.mean([c["accept_stat__"].mean() for c in chains])),
            ess_bulk=ess_bulk,
            rhat=rhat,
            divergences=int(sum(c["divergent__"].sum() for c in chains)),
            attempt=number,
        )
        return Draws.of(model, u[:num_draws], diagnostics)


def _thetas(chain: dict[str, np.ndarray], shapes: dict[str, tuple[int, ...]]) -> list[dict[str, object]]:
    """A chain's draws as Stan takes initial values: by name, in their shapes."""
    parts: dict[str, np.ndarray] = {}
    for name, shape in shapes.items():
        entries = [name] if not shape else [f"{name}.{'.'.join(map(str, at))}" for at in _places(shape)]
        values = np.stack([chain[entry] for entry in entries], axis=1) if entries else np.zeros((len(chain["lp__"]), 0))
        parts[name] = values.reshape(len(values), *shape, order="F")
    return [{name: value[i].tolist() for name, value in parts.items()} for i in range(len(chain["lp__"]))]


def _places(shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Indices from 1, the first fastest."""
    return [tuple(int(i) + 1 for i in at[::-1]) for at in np.ndindex(*shape[::-1])]
