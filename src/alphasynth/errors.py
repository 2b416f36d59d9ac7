"""The errors a caller can act on; each says in one sentence what was asked for and what was found."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from alphasynth.mechanism import Trail
    from alphasynth.sampler import Draws


class InputError(ValueError):
    """What the caller gave breaks a rule: the name, the rule, what was found, never a confidential value."""


class DiagnosticsError(RuntimeError):
    """Draws that failed their diagnostics; `draws` carries them, for inspection and not for release."""

    def __init__(self, message: str, draws: Draws) -> None:
        super().__init__(message)
        self.draws = draws


class CalibrationError(RuntimeError):
    """A search that found no usable answer; `trail` carries the nearest attempt, whose bound is above the target."""

    def __init__(self, message: str, trail: Trail | None) -> None:
        super().__init__(message)
        self.trail = trail


class SamplerWarning(UserWarning):
    """A sampler handed over to another one; the message says which, and why."""
