"""Errors of estimated transforms against ground truth: of pairs (Sec. IV-B) and of trajectories (RPE, ATE, KITTI)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from graphreg.clouds import Floats
from graphreg.errors import InputError
from graphreg.poses import inverse, transform

# Segment lengths of the KITTI odometry benchmark, in metres.
KITTI_SEGMENT_LENGTHS = (100.0, 200.0, 300.0, 400.0, 500.0, 600.0, 700.0, 800.0)


def angular_error(estimate: ArrayLike, truth: ArrayLike) -> float:
    """The angle of the rotation between two rotations, AngErr of Sec. IV-B.

    The paper computes it as arccos((Tr(R) - 1) / 2), which resolves angles near 0 and 180 degrees only to a millionth
    of a degree. The antisymmetric part of R gives the sine; with both, the angle is exact to rounding everywhere.

    Parameters
    ----------
    estimate, truth : (3, 3) or (4, 4) array_like
        Rotations or rigid transforms.

    Returns
    -------
    float
        Degrees, from 0 to 180.

    Examples
    --------
    >>> from graphreg.poses import rotation_from_vector
    >>> round(angular_error(rotation_from_vector([0, 0, np.radians(10)]), np.eye(3)), 9)
    10.0
    """
    residual = np.asarray(estimate, np.float64)[:3, :3] @ np.asarray(truth, np.float64)[:3, :3].T
    sine = np.linalg.norm(
        [residual[2, 1] - residual[1, 2], residual[0, 2] - residual[2, 0], residual[1, 0] - residual[0, 1]]
    )
    return float(np.degrees(np.arctan2(sine, np.trace(residual) - 1)))


def translation_error(estimate: ArrayLike, truth: ArrayLike) -> float:
    """The distance between the translations of two transforms. It depends on the origin of the coordinates.

    Parameters
    ----------
    estimate, truth : (4, 4) array_like

    Returns
    -------
    float
        In the unit of the data.

    Examples
    --------
    >>> estimate = np.eye(4)
    >>> estimate[:3, 3] = [3, 4, 0]
    >>> translation_error(estimate, np.eye(4))
    5.0
    """
    return float(np.linalg.norm(np.asarray(estimate, np.float64)[:3, 3] - np.asarray(truth, np.float64)[:3, 3]))


def rmsd(estimate: ArrayLike, truth: ArrayLike, points: ArrayLike) -> float:
    """The root-mean-square distance between points under the estimated and under the true transform (Sec. IV-B).

    Parameters
    ----------
    estimate, truth : (4, 4) array_like
    points : (N, 3) array_like
        The source cloud.

    Returns
    -------
    float
        In the unit of the data.

    Examples
    --------
    >>> estimate = np.eye(4)
    >>> estimate[:3, 3] = [3, 4, 0]
    >>> rmsd(estimate, np.eye(4), [[0, 0, 0], [1, 1, 1]])
    5.0
    """
    difference = transform(estimate, points) - transform(truth, points)
    return float(np.sqrt((difference**2).sum(axis=1).mean()))


@dataclass(frozen=True)
class SequenceErrors:
    """Errors of a trajectory: rotations in degrees, translations in the unit of the data.

    Attributes
    ----------
    rpe_rotation, rpe_translation : float
        Relative pose error: the mean error of the relative transform between consecutive frames.
    ate_rotation, ate_translation : float
        Absolute trajectory error: the mean error of the poses, with the first frames aligned.
    final_rotation, final_translation : float
        The error of the last pose, with the first frames aligned.
    """

    rpe_rotation: float
    rpe_translation: float
    ate_rotation: float
    ate_translation: float
    final_rotation: float
    final_translation: float


def sequence_errors(steps: Sequence[ArrayLike], truth: Sequence[ArrayLike]) -> SequenceErrors:
    """Relative pose error (RPE) and absolute trajectory error (ATE) of a trajectory.

    Parameters
    ----------
    steps : sequence of n (4, 4) array_like
        Estimated relative transforms: step k maps frame k + 1 to frame k.
    truth : sequence of n + 1 (4, 4) array_like
        True pose T_world_frame of each frame.

    Returns
    -------
    SequenceErrors

    Raises
    ------
    InputError
        Where the numbers of steps and of poses do not fit.

    Examples
    --------
    >>> truth = [np.eye(4) for _ in range(3)]
    >>> for k, pose in enumerate(truth):
    ...     pose[0, 3] = k
    >>> step = np.eye(4)
    >>> step[0, 3] = 1.5
    >>> errors = sequence_errors([step, step], truth)
    >>> errors.rpe_translation, errors.ate_translation, errors.final_translation
    (0.5, 0.75, 1.0)
    """
    poses = [np.asarray(p, np.float64) for p in truth]
    if len(poses) != len(steps) + 1 or not steps:
        raise InputError(f"truth: expected {len(steps) + 1} poses for {len(steps)} steps, got {len(poses)}")
    true_steps = [inverse(first) @ second for first, second in pairwise(poses)]
    relative = _pair_errors(steps, true_steps)
    composed: list[Floats] = [np.eye(4)]
    for step in steps:
        composed.append(composed[-1] @ np.asarray(step, np.float64))
    absolute = _pair_errors(composed[1:], [inverse(poses[0]) @ p for p in poses[1:]])
    means = (*relative.mean(axis=0), *absolute.mean(axis=0), *absolute[-1])
    return SequenceErrors(*map(float, means))


@dataclass(frozen=True)
class SegmentErrors:
    """Segment errors of a trajectory as the KITTI odometry benchmark defines them: means over all segments.

    Attributes
    ----------
    lengths : tuple of float
        Lengths of the segments, in the unit of the data.
    count : int
        Number of segments.
    translation_percent : float
        Translation error in percent of the length.
    rotation_per_length : float
        Rotation error in degrees per unit of length.
    """

    lengths: tuple[float, ...]
    count: int
    translation_percent: float
    rotation_per_length: float


def segment_errors(poses: ArrayLike, truth: ArrayLike) -> SegmentErrors | None:
    """KITTI segment errors: over segments of 100, 200, ... 800 from every frame on.

    A trajectory shorter than 100 has segments of one to eight eighths of its length. The benchmark itself begins a
    segment at every tenth frame.

    Parameters
    ----------
    poses, truth : (n, 4, 4) array_like
        Estimated and true pose T_world_frame of each frame; the two world frames may differ.

    Returns
    -------
    SegmentErrors or None
        None where the sensor did not move.

    Raises
    ------
    InputError
        Where the shapes differ.

    Examples
    --------
    >>> truth = np.tile(np.eye(4), (201, 1, 1))
    >>> truth[:, 0, 3] = np.arange(201)
    >>> poses = truth.copy()
    >>> poses[:, 0, 3] *= 1.02
    >>> round(segment_errors(poses, truth).translation_percent, 9)
    2.0
    """
    estimated, true = np.asarray(poses, np.float64), np.asarray(truth, np.float64)
    if estimated.shape != true.shape or estimated.ndim != 3:
        raise InputError(f"truth: expected poses of shape {estimated.shape}, got {true.shape}")
    travelled = np.concatenate([[0.0], np.linalg.norm(np.diff(true[:, :3, 3], axis=0), axis=1).cumsum()])
    # Rounding may leave the last frame slightly short of the whole length.
    total = travelled[-1] * (1 - 1e-12)
    if not total > 0:
        return None
    eighths = range(1, len(KITTI_SEGMENT_LENGTHS) + 1)
    lengths = [length for length in KITTI_SEGMENT_LENGTHS if length <= total]
    lengths = lengths or [float(part * total / len(KITTI_SEGMENT_LENGTHS)) for part in eighths]
    percents, degrees = [], []
    for length in lengths:
        ends = np.searchsorted(travelled, travelled + length)
        for begin, end in enumerate(ends[ends < len(travelled)]):
            relative = [inverse(trajectory[begin]) @ trajectory[end] for trajectory in (estimated, true)]
            error = inverse(relative[0]) @ relative[1]
            percents.append(100 * float(np.linalg.norm(error[:3, 3])) / length)
            degrees.append(angular_error(error, np.eye(4)) / length)
    return SegmentErrors(tuple(lengths), len(percents), float(np.mean(percents)), float(np.mean(degrees)))


def _pair_errors(estimates: Sequence[ArrayLike], truths: Sequence[ArrayLike]) -> Floats:
    """(n, 2): rotation and translation error of each transform."""
    pairs = zip(estimates, truths, strict=True)
    return np.array([(angular_error(a, b), translation_error(a, b)) for a, b in pairs])
