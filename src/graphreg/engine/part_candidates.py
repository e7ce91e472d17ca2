"""Instances of a part among the candidate poses: one a place, beside the best pose that is not one of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphreg.clouds import Floats
from graphreg.engine.hypotheses import SEARCH
from graphreg.engine.part_search import Part, PartCandidates
from graphreg.engine.pose_sets import box_corners
from graphreg.engine.symmetry import Symmetry
from graphreg.poses import inverse, transform


@dataclass(frozen=True)
class InstanceParameters:
    """Constants of the choice of instances; all chosen.

    Attributes
    ----------
    separation : float
        Instances have their centres this share of the part's radius apart, or more.
    axis_cosine : float
        Poses of a body of revolution are equivalent if their axes agree this well.
    chance : float
        Share of the best score that chance is taken to reach where too few places are found to tell.
    """

    separation: float = 0.5
    axis_cosine: float = 0.95
    chance: float = 0.5


INSTANCES = InstanceParameters()


@dataclass(frozen=True, eq=False)
class Instance:
    """A pose that may be right.

    Attributes
    ----------
    T : (4, 4) ndarray
        Between the local frames; translation in coarse voxels.
    score : float
        Its overlap score.
    runner_up : (4, 4) ndarray or None
        The best pose that contradicts it.
    runner_up_score : float
        Its overlap score; 0 without one.
    """

    T: Floats
    score: float
    runner_up: Floats | None
    runner_up_score: float

    @property
    def score_ratio(self) -> float:
        """Score of the runner-up over that of the pose."""
        return self.runner_up_score / max(self.score, 1e-9)


def find_instances(part: Part, candidates: PartCandidates, symmetry: Symmetry, most: int) -> list[Instance]:
    """Return up to `most` candidates that may be instances of the part, best first, one a place.

    The scores of instances are separated from those of chance by the largest drop between them; one instance does not
    contradict another.
    """
    poses, scores = candidates.poses, candidates.scores
    best = distinct_instances(part, candidates)
    ranked = scores[best]
    count = _before_drop(ranked, most)
    instances = []
    for place in best[:most]:
        others = [
            other
            for other in range(len(poses))
            if not (other in best[:count] and place in best[:count] and other != place)
            and not are_equivalent(poses[other], poses[place], part, symmetry)
        ]
        against = min(others, default=None)
        instances.append(
            Instance(
                poses[place],
                float(scores[place]),
                None if against is None else poses[against],
                0.0 if against is None else float(scores[against]),
            )
        )
    return instances


def distinct_instances(part: Part, candidates: PartCandidates) -> list[int]:
    """Return the best candidate of each place, best first."""
    centres = candidates.poses[:, :3, :3] @ part.centre + candidates.poses[:, :3, 3]
    best: list[int] = []
    for number, centre in enumerate(centres):
        if np.all(np.linalg.norm(centre - centres[best], axis=1) > INSTANCES.separation * part.radius):
            best.append(number)
    return best


def _before_drop(scores: Floats, most: int) -> int:
    """Number of scores, at most `most`, before the largest drop in relation to the score before it."""
    if not len(scores):
        return 0
    first = np.append(scores[: most + 1], INSTANCES.chance * scores[0] if len(scores) <= most else [])
    return 1 + int(np.argmin(first[1:] / np.maximum(first[:-1], 1e-9)))


def are_equivalent(a: Floats, b: Floats, part: Part, symmetry: Symmetry) -> bool:
    """Return whether two poses differ by a symmetry of the part, and little else."""
    if len(symmetry.axes):
        between = inverse(b) @ a
        moved = transform(between, part.centre[None])[0] - part.centre
        if np.linalg.norm(moved) > SEARCH.distinct_pose:
            return False
        if len(symmetry.axes) == 3:
            return True
        cosine = float(symmetry.axes[0] @ between[:3, :3] @ symmetry.axes[0])
        return (abs(cosine) if len(symmetry.poses) > 1 else cosine) >= INSTANCES.axis_cosine
    corners = box_corners(part.described.surfels.points)
    here = transform(a, corners)
    offsets = [np.linalg.norm(transform(b @ T, corners) - here, axis=1).max() for T in symmetry.poses]
    return bool(min(offsets) <= SEARCH.distinct_pose)
