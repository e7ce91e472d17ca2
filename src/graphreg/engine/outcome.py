"""What our own method returns beyond what every method does."""

from __future__ import annotations

from dataclasses import dataclass

from graphreg.clouds import Floats
from graphreg.engine.descriptors import Correspondences
from graphreg.engine.preprocessing import SurfelPyramid
from graphreg.method_interface import Outcome


@dataclass(frozen=True)
class EngineOutcome(Outcome):
    pyramids: tuple[SurfelPyramid, SurfelPyramid]
    matches: Correspondences
    hypotheses: int
    runner_up: Floats | None
    scores: tuple[float, ...]
    rivalry: float
    free: tuple[bool, ...]
