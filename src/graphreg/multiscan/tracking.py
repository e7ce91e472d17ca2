r"""Tracking: the pose of a frame on a map of surfels, from a prediction, without descriptors and without a search.

1. The points of the frame are grouped by voxel: number, mean and second moments of each.
2. The map is a hash table of octrees; the largest voxel whose points lie in a plane is a surfel (adaptive voxels, after
   Yuan et al., "Efficient and probabilistic adaptive voxel mapping", 2022). Each voxel of the frame corresponds to the
   surfel whose voxel contains its mean.
3. Gauss-Newton steps minimise the distances of means to planes, each weighted by its variance, which follows from the
   moments of both, and by a robust kernel that shrinks from step to step.
4. The frame is tracked if it overlaps the map, most correspondences are inliers, the surfels determine the pose, it is
   close to the prediction, and its confidence is high. Otherwise the caller registers it by other means. On a prior
   map, most of those that determine each direction of the pose must be inliers as well, or the confidence still higher.

Confidence is the probability :math:`1 / (1 + e^{-w \cdot x})` that the pose is right, with the figures :math:`x` of
`tracking_features`. `graphreg bench tracking` fits the constants :math:`w` to synthetic walks and checks them on
others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

import graphreg._core as _core
from graphreg.clouds import Floats
from graphreg.engine.voxel_sizes import sizes_for_counts
from graphreg.multiscan.deskewing import sensor_poses
from graphreg.poses import inverse, nearest_rotation, pose, transform


@dataclass(frozen=True)
class TrackingParameters:
    """Constants of tracking; all chosen. Lengths are in voxels.

    Attributes
    ----------
    voxels, least_voxels : int
        The voxel size is the one at which the surface of the first frame occupies about as many voxels; fewer in a
        frame with less than
    points_per_voxel : int
        points for each, but not less than the second number.
    levels : int
        Voxel sizes of the map, each twice the size before.
    thickness : float
        Largest standard deviation of the points of a surfel along its normal.
    kernel, least_kernel, shrinkage : float
        Width of the robust kernel at the first step and at the last ones, and ratio of consecutive widths.
    noise : float
        Standard deviation of every residual that averaging over many points does not reduce; it only weights them.
    max_steps : int
        Gauss-Newton steps.
    tolerance : float
        Size of the last step: radians, unit of the data over the voxel size.
    inertia : float
        Weight of the predicted velocity within a frame: its information, as a share of that of the frame on its pose.
    horizon : float
        Surfels farther from the frame than this times its radius are forgotten.
    least_correspondences : int
        A tracked frame has at least so many,
    least_overlap : float
        at least this share of its voxels where the map has points,
    least_matched, least_inliers : float
        at least this share of its voxels in a surfel, at least this share of these as inliers,
    least_support : float
        on a prior map, in every direction of the pose at least this share of the information from inliers, or a
    sure : float
        confidence of at least this; a map of few sparse frames does not tell,
    reach : float
        is at most this far from the prediction, or `sure` as well, and has at least
    least_information : float
        this information in every direction, of a largest possible of about 1; or, where it is farther than
    sure_reach : float
        from the prediction, at least
    far_information : float
        this.
    logit : tuple of float
        Logit of the confidence: constant, then the factors of `tracking_features`; fitted.
    success : float
        Confidence that a tracked frame has at least.
    least_share : float
        Added to shares before their logarithm is taken.
    map_points : int
        Points of a prior map in a voxel, on average: its voxels are not smaller.
    """

    voxels: int = 3_000
    least_voxels: int = 1_000
    points_per_voxel: int = 15
    levels: int = 4
    thickness: float = 0.12
    kernel: float = 0.5
    least_kernel: float = 0.05
    shrinkage: float = 0.4
    noise: float = 0.1
    max_steps: int = 25
    tolerance: float = 5e-4
    inertia: float = 1e-3
    horizon: float = 1.5
    least_correspondences: int = 100
    least_overlap: float = 0.4
    least_matched: float = 0.15
    least_inliers: float = 0.8
    least_support: float = 0.6
    sure: float = 0.9
    reach: float = 2.0
    least_information: float = 0.003
    sure_reach: float = 0.5
    far_information: float = 0.012
    logit: tuple[float, ...] = (1.9, 4.7, -4.7, 1.2, 2.2)
    success: float = 0.8
    least_share: float = 0.02
    map_points: int = 4


TRACKING = TrackingParameters()


@dataclass(frozen=True, eq=False)
class FrameVoxels:
    """The points of a frame by voxel.

    Attributes
    ----------
    counts, means, moments : (V,), (V, 3) and (V, 6) ndarray
        Of each voxel: number of points, their mean, and their second moments about it (xx yy zz xy xz yz).
    times : (V,) ndarray
        Mean of the times of its points; 0 where they are unknown.
    """

    counts: Floats
    means: Floats
    moments: Floats
    times: Floats


@dataclass(frozen=True, eq=False)
class TrackedFrame:
    """The pose of a frame on the map, with the verdict.

    Attributes
    ----------
    pose : (4, 4) ndarray
        x_map = P x_frame.
    success : bool
    reason : str
        The verdict in words.
    overlap : float
        Share of the frame's voxels where the map has points.
    inliers, correspondences : int
        Voxels with a surfel, and how many of these are inliers.
    support : float
        Share of the information that is from inliers, in the direction of the pose where it is smallest.
    information : float
        Of the inliers, in the least constrained direction, see `least_information`.
    confidence : float
        Probability that the pose is right.
    """

    pose: Floats
    success: bool
    reason: str
    overlap: float
    inliers: int
    correspondences: int
    support: float
    information: float
    confidence: float

    @property
    def degenerate(self) -> bool:
        """Whether the surfels leave a direction of the pose unconstrained, as in a corridor."""
        return self.information < TRACKING.least_information

    @property
    def explained(self) -> float:
        """Share of the frame that the map explains: its overlap, times the share of inliers."""
        return self.overlap * self.inliers / max(self.correspondences, 1)


class SurfelTracker:
    """An incremental map of surfels, and the poses of frames on it.

    Parameters
    ----------
    points : (N, 3) ndarray
        The first frame, from which the voxel size follows.
    threads : int, default 1
        The result does not depend on it.
    prior_map : (M, 3) ndarray, optional
        Points that the map begins with; the voxel size then follows from both. Without `insert` they are never
        forgotten.

    Attributes
    ----------
    voxel : float
        Size of the smallest voxels.

    Examples
    --------
    >>> from graphreg.datasets import synthetic
    >>> first, second = synthetic.sequence("street", 2, 1.0, points=8000)
    >>> tracker = SurfelTracker(first.points)
    >>> tracker.insert(tracker.voxels_of(first.points), np.eye(4))
    >>> T_first_second = np.linalg.inv(first.pose) @ second.pose
    >>> tracked = tracker.track(tracker.voxels_of(second.points), T_first_second)
    >>> tracked.success
    True
    """

    def __init__(self, points: Floats, threads: int = 1, prior_map: Floats | None = None) -> None:
        self.voxel = frame_voxel(points)
        if prior_map is not None:
            self.voxel = max(self.voxel, *sizes_for_counts(prior_map, len(prior_map) // TRACKING.map_points))
        self._threads = threads
        self._map = _core.SurfelMap(self.voxel, TRACKING.levels, TRACKING.thickness * self.voxel)
        self._forgotten_at: Floats | None = None
        self._least_support = 0.0 if prior_map is None else TRACKING.least_support
        if prior_map is not None:
            whole = self.voxels_of(prior_map)
            self._map.insert(whole.counts, whole.means, whole.moments, np.eye(4), threads)

    def voxels_of(self, points: Floats, times: Floats | None = None) -> FrameVoxels:
        """Group the points of a frame, (N, 3), by voxel; `times`: when each was measured, from -1/2 to 1/2."""
        return FrameVoxels(*_core.frame_voxels(points, times, self.voxel))

    def track_sweep(self, frame: FrameVoxels, predicted: Floats, velocity: Floats) -> tuple[Floats, Floats]:
        """Estimate the pose of a frame and the velocity of the sensor within it, without a verdict.

        Parameters
        ----------
        frame : FrameVoxels
            With times, of points that are deskewed by `velocity`.
        predicted, velocity : (4, 4) ndarray
            Pose at the middle of the frame, and transform from the previous frame to this one; both are where the
            steps begin.

        Returns
        -------
        pose, velocity : (4, 4) ndarray
        """
        size = self.voxel
        found, first, last = self._map.track_sweep(
            frame.counts, frame.means, frame.moments, frame.times, predicted,
            size * TRACKING.kernel, size * TRACKING.least_kernel, TRACKING.shrinkage, size * TRACKING.noise,
            TRACKING.max_steps, size * TRACKING.tolerance, TRACKING.inertia, self._threads,
        )  # fmt: skip
        # Poses of the sensor at both ends of the frame.
        first, last = np.array([first, last]) @ found @ sensor_poses(velocity, np.array([-0.5, 0.5]))
        return _orthogonal(found), _orthogonal(inverse(first) @ last)

    def track(self, frame: FrameVoxels, predicted: Floats, start: Floats | None = None) -> TrackedFrame:
        """Estimate the pose of a frame, with a verdict.

        Parameters
        ----------
        frame : FrameVoxels
        predicted : (4, 4) ndarray
            Pose that the verdict compares the estimate with.
        start : (4, 4) ndarray, optional
            Pose that the steps begin from, by default the predicted one.

        Returns
        -------
        TrackedFrame
        """
        size = self.voxel
        found, information, outlier_information, overlapping, matched, inliers, converged = self._map.track(
            frame.counts, frame.means, frame.moments, predicted if start is None else start,
            size * TRACKING.kernel, size * TRACKING.least_kernel, TRACKING.shrinkage, size * TRACKING.noise,
            TRACKING.max_steps, size * TRACKING.tolerance, self._threads,
        )  # fmt: skip
        found = _orthogonal(found)
        overlap = overlapping / len(frame.counts)
        figures = overlap, inliers, matched, least_support(information, outlier_information)
        least = least_information(information)
        tracked = TrackedFrame(found, True, "", *figures, least, confidence_of(tracking_features(*figures, least)))
        problem = self._problem(frame, tracked, predicted, converged)
        share = f"overlap {overlap:.0%}, {inliers} of {matched} correspondences are inliers"
        reason = f"not tracked: {problem}; {share}" if problem else f"tracked: {share}"
        return replace(tracked, success=not problem, reason=reason)

    def insert(self, frame: FrameVoxels, T_map_frame: Floats) -> None:
        """Add a frame to the map, and forget what is far from it."""
        self._map.insert(frame.counts, frame.means, frame.moments, T_map_frame, self._threads)
        sample = frame.means[:: 1 + len(frame.means) // 500]
        centre = sample.mean(axis=0)
        radius = TRACKING.horizon * float(np.linalg.norm(sample - centre, axis=1).max())
        here = transform(T_map_frame, centre[None])[0]
        if self._forgotten_at is None:
            self._forgotten_at = here
        # What is farther is never looked up, so that it need not be forgotten at once.
        if np.linalg.norm(here - self._forgotten_at) > radius / 10:
            self._map.forget(here, radius)
            self._forgotten_at = here

    def _problem(self, frame: FrameVoxels, found: TrackedFrame, predicted: Floats, converged: bool) -> str:
        """What speaks against the pose, in words; empty if nothing does."""
        matched = found.correspondences
        if found.overlap < TRACKING.least_overlap:
            return "the overlap is too small"
        if matched < max(TRACKING.least_correspondences, TRACKING.least_matched * len(frame.counts)):
            return "there are too few surfels"
        if found.inliers < TRACKING.least_inliers * matched:
            return "too few correspondences are inliers"
        if found.support < self._least_support and found.confidence < TRACKING.sure:
            return "too few correspondences that determine a direction are inliers"
        distance = displacement(frame.means, inverse(predicted) @ found.pose) / self.voxel
        if found.degenerate or (distance > TRACKING.sure_reach and found.information < TRACKING.far_information):
            return "the surfels do not determine the pose"
        if distance > TRACKING.reach and found.confidence < TRACKING.sure:
            return "it is far from the prediction"
        if found.confidence < TRACKING.success:
            return f"the confidence is only {found.confidence:.2f}"
        return "" if converged else "the steps do not converge"


def tracking_features(
    overlap: float, inliers: int, correspondences: int, support: float, information: float
) -> dict[str, float]:
    """Return what the confidence of a tracked frame depends on beside a constant, by name, in the order of its weights.

    Parameters
    ----------
    overlap, inliers, correspondences, support, information
        Of a `TrackedFrame`.
    """
    outliers = 1 - inliers / max(correspondences, 1)
    shares = {"overlap": overlap, "share of outliers": outliers, "support": support}
    return {
        **{f"log {name}": float(np.log(max(share, 0.0) + TRACKING.least_share)) for name, share in shares.items()},
        "log information": float(np.log(max(information, 1e-5))),
    }


def confidence_of(features: Mapping[str, float]) -> float:
    """Return the probability that a tracked pose is right."""
    logit = float(np.dot(TRACKING.logit, (1.0, *features.values())))
    return float(1 / (1 + np.exp(-min(max(logit, -500.0), 500.0))))


def frame_voxel(points: Floats) -> float:
    """Return the voxel size that suits a frame, (N, 3)."""
    count = max(len(points) // TRACKING.points_per_voxel, TRACKING.least_voxels)
    return sizes_for_counts(points, min(count, TRACKING.voxels))[0]


def displacement(points: Floats, T: Floats) -> float:
    """Return the mean distance by which a transform moves the points of a frame."""
    sample = points[:: 1 + len(points) // 500]
    return float(np.linalg.norm(transform(T, sample) - sample, axis=1).mean())


def least_information(information: Floats) -> float:
    """Return the information in the least constrained direction, as a share.

    Parameters
    ----------
    information : (6, 6) ndarray
        Normal equations of rotations and translations, with unit weights.

    Returns
    -------
    float
        Rotations count as translations at the root mean square lever arm, so that the mean over all directions is 1/3.
    """
    scale = _scale(information)
    if scale is None:
        return 0.0
    return float(np.linalg.eigvalsh(information * np.outer(scale, scale))[0])


def least_support(information: Floats, outlier_information: Floats) -> float:
    """Return the share of the information that is from inliers, in the direction of the pose where it is smallest.

    A frame that is displaced along a street still fits its walls and its ground: most correspondences are inliers, but
    not those of the few surfels that determine the position along it.

    Parameters
    ----------
    information, outlier_information : (6, 6) ndarray
        Normal equations of the inliers, and of the other correspondences.

    Returns
    -------
    float
        Smallest quotient of v I v and v (I + O) v over all directions v; 0 where they do not determine the pose.

    Examples
    --------
    >>> least_support(np.eye(6), np.diag([0.0, 0, 0, 0, 0, 3]))
    0.25
    """
    whole = information + outlier_information
    scale = _scale(whole)
    if scale is None:
        return 0.0
    try:
        root = np.linalg.inv(np.linalg.cholesky(whole * np.outer(scale, scale)))
    except np.linalg.LinAlgError:
        return 0.0
    return float(np.linalg.eigvalsh(root @ (information * np.outer(scale, scale)) @ root.T)[0])


def _orthogonal(T: Floats) -> Floats:
    """The pose with its rotation made orthogonal: rounding must not accumulate where many poses are composed."""
    return pose(nearest_rotation(T[:3, :3]), T[:3, 3])


def _scale(information: Floats) -> Floats | None:
    """Factors that make rotations and translations comparable; None without information."""
    rotation, translation = np.trace(information[:3, :3]), np.trace(information[3:, 3:])
    if not (rotation > 0 and translation > 0):
        return None
    return np.repeat(1 / np.sqrt([rotation, translation]), 3)
