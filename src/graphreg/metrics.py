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

# Lengths of the KITTI benchmark, in metres.
SEGMENTS = (100.0, 200.0, 300.0, 400.0, 500.0, 600.0, 700.0, 800.0)


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

    rpe_rotation: float
    rpe_translation: float
    ate_rotation: float
    ate_translation: float
    final_rotation: float
    final_translation: float


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


@dataclass(frozen=True)
class SegmentErrors:
    """Errors over stretches of a way, as the KITTI benchmark tells them: means over all of them.

    lengths      of the stretches, in the unit of the data
    count        how many stretches there are
    translation_percent  mean translation error, in percent of the length
    rotation_per_length  mean rotation error, in degrees for each unit of length
    """

    lengths: tuple[float, ...]
    count: int
    translation_percent: float
    rotation_per_length: float


def segment_errors(poses: ArrayLike, truth: ArrayLike) -> SegmentErrors | None:
    """Compare stretches of 100, 200, ... 800, from every frame on; on a shorter way, of one to eight eighths of it.

    poses, truth  (n, 4, 4): of each frame, x_world = P x_frame; the two worlds may differ

    None where the sensor did not move. The benchmark begins a stretch at every tenth frame.
    """
    found, true = np.asarray(poses, np.float64), np.asarray(truth, np.float64)
    if found.shape != true.shape or found.ndim != 3:
        raise InputError(f"truth: expected poses of shape {found.shape}, got {true.shape}")
    way = np.concatenate([[0.0], np.linalg.norm(np.diff(true[:, :3, 3], axis=0), axis=1).cumsum()])
    # Rounding may leave the last frame a hair before the end of the way.
    wholly = way[-1] * (1 - 1e-12)
    if not wholly > 0:
        return None
    fitting = [length for length in SEGMENTS if length <= wholly]
    lengths = fitting or [float(share * wholly / len(SEGMENTS)) for share in range(1, len(SEGMENTS) + 1)]
    percents, degrees = [], []
    for length in lengths:
        ends = np.searchsorted(way, way + length)
        for begin, end in enumerate(ends[ends < len(way)]):
            steps = [inverse(some[begin]) @ some[end] for some in (found, true)]
            off = inverse(steps[0]) @ steps[1]
            percents.append(100 * float(np.linalg.norm(off[:3, 3])) / length)
            degrees.append(angular_error(off, np.eye(4)) / length)
    return SegmentErrors(tuple(lengths), len(percents), float(np.mean(percents)), float(np.mean(degrees)))


def _errors(found: Sequence[ArrayLike], truth: Sequence[ArrayLike]) -> Floats:
    pairs = zip(found, truth, strict=True)
    return np.array([(angular_error(a, b), translation_error(a, b)) for a, b in pairs])
