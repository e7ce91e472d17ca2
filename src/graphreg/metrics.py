"""How far an answer is from the truth: the paper's measures of pairs and of sequences (Sec. IV-B)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from graphreg.clouds import Floats
from graphreg.errors import InputError
from graphreg.poses import inverse, transform


def angular_error(found: ArrayLike, truth: ArrayLike) -> float:
    """AngErr in degrees: the angle of the turn between two rotations (3x3 or 4x4).

    arccos((Tr(R) - 1) / 2), as the paper has it, knows angles near 0 and 180 degrees only to a millionth of a degree.
    The sine is in the antisymmetric part of R, and with both the angle is good to rounding everywhere.
    """
    turn = np.asarray(found, np.float64)[:3, :3] @ np.asarray(truth, np.float64)[:3, :3].T
    sine = np.linalg.norm([turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]])
    return float(np.degrees(np.arctan2(sine, np.trace(turn) - 1)))


def translation_error(found: ArrayLike, truth: ArrayLike) -> float:
    """The distance between two translations, in the unit of the data. It depends on where the origin is."""
    return float(np.linalg.norm(np.asarray(found, np.float64)[:3, 3] - np.asarray(truth, np.float64)[:3, 3]))


def rmsd(found: ArrayLike, truth: ArrayLike, points: ArrayLike) -> float:
    """Root-mean-square distance between the points moved by one motion and by the other."""
    apart = transform(found, points) - transform(truth, points)
    return float(np.sqrt((apart**2).sum(axis=1).mean()))


@dataclass(frozen=True)
class SequenceErrors:
    """Errors over a sequence: means, in degrees and in the unit of the data.

    relative    of each step between two frames
    absolute    of each frame with respect to the first, after composing the steps
    last        of the last frame with respect to the first
    """

    relative_rotation: float
    relative_translation: float
    absolute_rotation: float
    absolute_translation: float
    last_rotation: float
    last_translation: float


def sequence_errors(steps: Sequence[ArrayLike], truth: Sequence[ArrayLike]) -> SequenceErrors:
    """Compare the motions found between neighbouring frames with the true poses of all frames.

    steps  (n): step k maps frame k + 1 onto frame k
    truth  (n + 1): the pose of each frame, x_world = P x_frame
    """
    poses = [np.asarray(p, np.float64) for p in truth]
    if len(poses) != len(steps) + 1 or not steps:
        raise InputError(f"truth: expected {len(steps) + 1} poses for {len(steps)} steps, got {len(poses)}")
    true_steps = [inverse(here) @ there for here, there in pairwise(poses)]
    relative = _errors(steps, true_steps)
    composed: list[Floats] = [np.eye(4)]
    for step in steps:
        composed.append(composed[-1] @ np.asarray(step, np.float64))
    absolute = _errors(composed[1:], [inverse(poses[0]) @ p for p in poses[1:]])
    return SequenceErrors(*relative.mean(axis=0), *absolute.mean(axis=0), *absolute[-1])


def _errors(found: Sequence[ArrayLike], truth: Sequence[ArrayLike]) -> Floats:
    pairs = zip(found, truth, strict=True)
    return np.array([(angular_error(a, b), translation_error(a, b)) for a, b in pairs])
