"""What a sampler is, and `Draws`: parameters drawn from a pseudo posterior, with their diagnostics."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol, runtime_checkable

import jax
import numpy as np

from alphasynth.errors import DiagnosticsError
from alphasynth.inference.density import Target, outside
from alphasynth.inference.diagnostics import Diagnostics
from alphasynth.models.model import Array, Model, Theta
from alphasynth.privacy.randomness import Key


@dataclass(frozen=True, eq=False)
class Draws:
    """S draws (confidential until released): coordinates u (S, D) and parameters theta by name (S, ...)."""

    u: np.ndarray = field(repr=False)
    theta: Theta = field(repr=False)
    diagnostics: Diagnostics

    @classmethod
    def of(cls, model: Model, u: np.ndarray, diagnostics: Diagnostics) -> Draws:
        """Draws at coordinates u (S, D)."""
        inside = outside(model)
        found = constrain_all(model, u) if inside is None else inside.constrain_all(u)
        theta = {name: np.asarray(value) for name, value in found.items()}
        return cls(np.asarray(u), theta, diagnostics)

    @property
    def num_draws(self) -> int:
        """S."""
        return len(self.u)

    def take(self, keep: np.ndarray) -> Draws:
        """The draws that a mask or index keeps."""
        return replace(self, u=self.u[keep], theta={name: value[keep] for name, value in self.theta.items()})

    def check(self) -> Draws:
        """These draws, if their diagnostics keep their limits; else raise `DiagnosticsError`, which carries them."""
        failures = self.diagnostics.failures()
        if failures:
            listed = "; ".join(failures)
            raise DiagnosticsError(
                f"{self.diagnostics.sampler} draws must pass their diagnostics before use, found {listed}", self
            )
        return self


@runtime_checkable
class Sampler(Protocol):
    """Draws from a target."""

    def draw(self, key: Key, target: Target, num_draws: int, least: int = 0) -> Draws:
        """Draw `num_draws` times; the diagnostics come with the draws and are checked by who uses them.

        A sampler may make several attempts, numbered from 0; `least` is the first whose draws it may return. A search
        fixes it, so that all its trials are drawn alike.
        """
        ...


@partial(jax.jit, static_argnames="model")
def constrain_all(model: Model, u: Array) -> Theta:
    """Parameters by name (S, ...) at coordinates u (S, D)."""
    theta: Theta = jax.vmap(model.prior.constrain)(u)
    return theta


def jax_keys(key: Key, number: int) -> np.ndarray:
    """JAX key data (number, 2): each key holds 64 bits, so a sampler takes one per chain."""
    return key.generate_state(2 * number, np.uint32).reshape(number, 2)
