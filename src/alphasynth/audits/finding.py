"""`Finding`: what an audit found of a claim, and its verdict; confidential."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from alphasynth.notebook import markup, sketches
from alphasynth.privacy.scopes import NONE

KEPT, BROKEN, CANNOT_TELL = "kept", "broken", "cannot tell"
UNCERTAIN = "its weights could not be made again from its draws, or it has too few records for an audit by draws"
# Floating-point room for a strict claim: a loss is computed from sums of whole numbers and two logarithms.
ROUNDING = 1e-9


@dataclass(frozen=True)
class Finding:
    """What an audit found (confidential): the claim and the loss for one draw, towards the worst of the neighbours.

    `worst` names it by its rank, or by what was added. `loss` is at `delta`. A black-box audit shows a lower bound, at
    most its `ceiling`. Not `certain`: the audit could not make the run's own weights again, draws may have missed
    part of what they aim at, or the records are too few for it, so it cannot tell.

    >>> Finding("draw", "instance", claim=2.0, loss=1.4, delta=1e-5, neighbours=100, worst="removed: rank 1").verdict
    'kept'
    """

    audit: str
    scope: str
    claim: float
    loss: float
    delta: float
    neighbours: int
    worst: str
    ceiling: float | None = None
    certain: bool = True

    @property
    def verdict(self) -> str:
        """KEPT, BROKEN or CANNOT_TELL: whether the loss is at most the larger of the two neighbours' claims."""
        if self.scope == NONE:  # nothing is claimed
            return KEPT
        if not self.certain:
            return CANNOT_TELL
        return KEPT if self.loss <= self.claim * (1 + ROUNDING) else BROKEN

    @property
    def kept(self) -> bool:
        """Whether the audit found the claim kept."""
        return self.verdict == KEPT

    def _repr_html_(self) -> str:
        """For notebooks: the claim, the loss and the verdict; confidential."""
        words = f"the claim, {self.claim:.4g}, above; the loss, {self.loss:.4g}, below"
        told = {
            "verdict": self.verdict,
            "audit": self.audit,
            "scope": self.scope,
            "neighbours": f"{self.neighbours:,}, the worst of them: {self.worst}",
            "at delta": f"{self.delta:g}" if self.delta else None,
            "at most shown": None if self.ceiling is None else f"{self.ceiling:.4g}",
            "why": None if self.certain else f"{UNCERTAIN}, or draws may have missed part of what they aim at",
        }
        figure = sketches.captioned(words, sketches.against(words, self.claim, self.loss))
        return markup.card("Finding", markup.facts(told), figure, mark=markup.CONFIDENTIAL)

    @property
    def margin(self) -> float:
        """Claim less loss."""
        return self.claim - self.loss


def as_lines(finding: Finding) -> dict[str, Any]:
    """A finding as it is written down."""
    more = {"margin": finding.margin, "kept": finding.kept, "verdict": finding.verdict}
    return {**asdict(finding), **more}
