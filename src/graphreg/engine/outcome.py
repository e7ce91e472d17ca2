"""What our own method returns beyond what every method does."""

from __future__ import annotations

from dataclasses import dataclass

from graphreg.clouds import Floats
from graphreg.engine.evidence import PairEvidence, PoseEvaluation
from graphreg.engine.pyramid import SurfelPyramid
from graphreg.engine.verdict import Verdict
from graphreg.method_interface import Outcome


@dataclass(frozen=True)
class PoseEstimate(Outcome):
    """A pose, and what it was estimated from.

    Attributes
    ----------
    evidence : PairEvidence
        Of the two clouds.
    hypotheses : int
        Poses proposed.
    candidates : tuple of (4, 4) ndarray
        The estimate as the search found it, then the poses that are distinct from it, best first.
    evaluation : PoseEvaluation
        The evidence for each candidate.
    """

    evidence: PairEvidence
    hypotheses: int
    candidates: tuple[Floats, ...]
    evaluation: PoseEvaluation

    @property
    def pyramids(self) -> tuple[SurfelPyramid, SurfelPyramid]:
        """Source and target."""
        return self.evidence.source, self.evidence.target


@dataclass(frozen=True)
class EngineOutcome(PoseEstimate):
    """The final estimate, with the verdict on it."""

    verdict: Verdict
