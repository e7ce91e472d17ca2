"""What our own method returns beyond what every method does."""

from __future__ import annotations

from dataclasses import dataclass

from graphreg.clouds import Floats
from graphreg.engine.descriptors import Correspondences
from graphreg.engine.pyramid import SurfelPyramid
from graphreg.engine.verdict import Verdict
from graphreg.method_interface import Outcome


@dataclass(frozen=True)
class PoseEstimate(Outcome):
    """A pose, and what it was estimated from.

    Attributes
    ----------
    pyramids : pair of SurfelPyramid
        Source and target.
    correspondences : pair of index arrays
        Putative correspondences between their coarse surfels.
    hypotheses : int
        Poses proposed.
    runner_up : (4, 4) ndarray or None
        The best pose that is distinct from the estimate.
    scores : tuple of float
        Overlap scores of the estimate and of the runner-up.
    """

    pyramids: tuple[SurfelPyramid, SurfelPyramid]
    correspondences: Correspondences
    hypotheses: int
    runner_up: Floats | None
    scores: tuple[float, ...]


@dataclass(frozen=True)
class EngineOutcome(PoseEstimate):
    """The final estimate, with the verdict on it."""

    verdict: Verdict
