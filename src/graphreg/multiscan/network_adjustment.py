"""Adjustment of a survey network: pairs of scans, control points and targets in one least squares.

The network is a pose graph. Its nodes are the scans and the points: a point is a pose that can only be translated, or
not at all where its world coordinates are known. That scan i has the point at x is an edge with Z = (I, -x): its
error P_point^-1 P_i Z^-1 has the translation P_i x - X, which has the information 1 / sigma^2, and a rotation without
information. So pairs, control points and targets have the same normal equations, and the covariance of all is their
inverse.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from graphreg.clouds import Floats, Mask
from graphreg.errors import InputError
from graphreg.multiscan.data_snooping import PointResiduals, consistent_points
from graphreg.multiscan.georeferencing import absolute_orientation
from graphreg.multiscan.pose_graph import Groups, squared_errors
from graphreg.multiscan.pose_graph_optimisation import least_squares_poses, step_covariances
from graphreg.poses import PoseGraph, cross_matrices

# Variance of what nothing determines. Chosen: more than that of any length.
UNKNOWN_VARIANCE = 1e30


@dataclass(frozen=True, eq=False)
class Sightings:
    """Points that were measured in scans.

    Attributes
    ----------
    names : tuple of str
        Of the points.
    world : (P, 3) ndarray
        World coordinates of the points; NaN for targets that only tie scans together.
    scans, points : (K,) ndarray of int
        Which scan has which point.
    positions : (K, 3) ndarray
        Coordinates in the scan's frame.
    sigma : (K,) ndarray
        Standard deviation of a coordinate.
    """

    names: tuple[str, ...]
    world: Floats
    scans: NDArray[np.intp]
    points: NDArray[np.intp]
    positions: Floats
    sigma: Floats

    @property
    def known(self) -> Mask:
        """Whether each point has world coordinates, (P,)."""
        return np.asarray(np.isfinite(self.world).all(axis=1))

    def in_world(self, poses: Floats) -> Floats:
        """The measured positions in the frame of the poses, (K, 3)."""
        chosen = poses[self.scans]
        return np.asarray(np.einsum("kij,kj->ki", chosen[:, :3, :3], self.positions) + chosen[:, :3, 3])


NO_SIGHTINGS = Sightings(
    (), np.empty((0, 3)), np.empty(0, np.intp), np.empty(0, np.intp), np.empty((0, 3)), np.empty(0)
)


@dataclass(frozen=True, eq=False)
class AdjustedNetwork:
    """Result of `adjust_network`.

    Attributes
    ----------
    poses : (N, 4, 4) ndarray
    covariances : (N, 6, 6) ndarray
        Of rotations about and translations along the axes of each scan's own frame; zero for a fixed one.
    residuals : (K, 3) ndarray
        Point less measured position, in the frame of the poses.
    probabilities : (K,) ndarray
        Of a residual as large, if the sighting is right.
    used : (K,) ndarray of bool
        Sightings that contradict no other.
    sigma0 : float
        Square root of the sum of all squared errors over the redundancy; NaN where that is zero.
    redundancy : int
        Number of observations less that of unknowns.
    """

    poses: Floats
    covariances: Floats
    residuals: Floats
    probabilities: Floats
    used: Mask
    sigma0: float
    redundancy: int


def adjust_network(
    graph: PoseGraph, free: Mask, sightings: Sightings = NO_SIGHTINGS, start: Mask | None = None
) -> AdjustedNetwork:
    """Adjust the poses of scans to their pairs, control points and targets; sightings that contradict are left out.

    Parameters
    ----------
    graph : PoseGraph
        The scans, with their pairs. Its poses are the initial estimate.
    free : (N, 6) ndarray of bool
        By what each pose may change, see `free_steps`.
    sightings : Sightings, default none
    start : (K,) ndarray of bool, optional
        Sightings that agree with each other as far as known; by default all.

    Returns
    -------
    AdjustedNetwork
    """
    count = len(graph.poses)
    used = np.ones(len(sightings.sigma), bool) if start is None else start
    found = _Fit.of(graph, free, sightings, used)
    if used.any():

        def adjust(chosen: Mask) -> PointResiduals:
            nonlocal found
            found = _Fit.of(replace(graph, poses=found.graph.poses[:count]), free, sightings, chosen)
            return found.residuals

        used, _ = consistent_points(adjust, used)
    # A target that one scan alone has ties nothing.
    alone = np.bincount(sightings.points[used], minlength=len(sightings.names)) + sightings.known < 2
    residuals = found.residuals
    return AdjustedNetwork(
        found.graph.poses[:count],
        found.covariances[:count],
        -residuals.residuals,
        residuals.probabilities(used),
        used & ~alone[sightings.points],
        float(np.sqrt(residuals.squared_sum / residuals.redundancy)) if residuals.redundancy > 0 else float("nan"),
        residuals.redundancy,
    )


@dataclass(frozen=True, eq=False)
class _Fit:
    """The network of scans and points after least squares."""

    graph: PoseGraph
    covariances: Floats
    residuals: PointResiduals

    @classmethod
    def of(cls, graph: PoseGraph, free: Mask, sightings: Sightings, used: Mask) -> _Fit:
        count, measured = len(graph.poses), sightings.in_world(graph.poses)
        weights = used / sightings.sigma**2
        total = np.bincount(sightings.points, weights, len(sightings.names))
        sums = [np.bincount(sightings.points, weights * column, len(sightings.names)) for column in measured.T]
        mean = np.stack(sums, axis=1) / np.where(total > 0, total, 1.0)[:, None]
        known = sightings.known
        points = np.tile(np.eye(4), (len(sightings.names), 1, 1))
        points[:, :3, 3] = np.where(known[:, None], sightings.world, mean)
        edges = np.tile(np.eye(4), (len(used), 1, 1))
        edges[:, :3, 3] = -sightings.positions
        information = np.zeros((len(used), 6, 6))
        information[:, [3, 4, 5], [3, 4, 5]] = weights[:, None]
        ends = np.stack([sightings.scans, count + sightings.points], axis=1).astype(np.intp)
        network = PoseGraph(
            np.concatenate([graph.poses, points]),
            np.concatenate([graph.pairs, ends]),
            np.concatenate([graph.transforms, edges]),
            np.concatenate([graph.information, information]),
        )
        estimated = np.repeat((~known & (total > 0))[:, None], 6, axis=1) & ([False] * 3 + [True] * 3)
        every = np.concatenate([free, estimated])
        network = replace(network, poses=least_squares_poses(network, free=every))
        own, between = step_covariances(network, every, list(map(tuple, ends.tolist())))
        # Derivatives of P x by the steps of its scan: R (-[x] w + v).
        rotations = network.poses[sightings.scans, :3, :3]
        identities = np.broadcast_to(np.eye(3), rotations.shape)
        by_scan = rotations @ np.concatenate([-cross_matrices(sightings.positions), identities], axis=2)
        cross = by_scan @ between[:, :, 3:]
        of_fit = by_scan @ own[sightings.scans] @ by_scan.transpose(0, 2, 1)
        of_fit += own[count + sightings.points][:, 3:, 3:] - cross - cross.transpose(0, 2, 1)
        # Nothing is known of where a target is that no sighting in use has.
        unknown = ~known[sightings.points] & ~(total[sightings.points] > 0)
        of_fit[unknown] = UNKNOWN_VARIANCE * np.eye(3)
        variances = sightings.sigma**2
        covariances = variances[:, None, None] * np.eye(3) + np.where(used, -1.0, 1.0)[:, None, None] * of_fit
        errors = sightings.in_world(network.poses[:count]) - network.poses[count + sightings.points, :3, 3]
        dimensions = int(np.count_nonzero(free.any(axis=0)))
        observations = dimensions * len(graph.pairs) + 3 * int(np.count_nonzero(used))
        redundancy = observations - int(np.count_nonzero(every))
        squared = float(squared_errors(network).sum())
        return cls(network, own, PointResiduals(errors, covariances, variances, squared, redundancy, None))


@dataclass(frozen=True, eq=False)
class Placement:
    """Groups of scans with a common frame, after control points and targets have joined them.

    Attributes
    ----------
    poses : (N, 4, 4) ndarray
    groups : tuple of tuple of int
        The group in the world frame first, then the largest.
    in_world : bool
        Whether the first group is in the frame of the world: of fixed scans or control points.
    agreeing : (K,) ndarray of bool
        Sightings that agree with each other in these poses.
    """

    poses: Floats
    groups: Groups
    in_world: bool
    agreeing: Mask


def place_groups(
    poses: Floats, groups: Groups, fixed: Mask, sightings: Sightings, dof: Sequence[str] | None = None
) -> Placement:
    """Bring groups of scans into one frame by the points that they share with each other or with the world.

    Parameters
    ----------
    poses : (N, 4, 4) ndarray
        In a frame of each group.
    groups : tuple of tuple of int
        All scans, each in one group.
    fixed : (N,) ndarray of bool
        Scans whose poses are in the world frame already; all others of their group are, too.
    sightings : Sightings
    dof : sequence of str, optional
        Degrees of freedom between the frames, as in `absolute_orientation`.

    Returns
    -------
    Placement
    """
    poses = poses.copy()
    agreeing = np.ones(len(sightings.sigma), bool)
    world = tuple(scan for group in groups if fixed[list(group)].any() for scan in group)
    parts = [world, *(group for group in groups if not fixed[list(group)].any())]
    # Pairs of parts that were tried: their common points do not determine the transform between them.
    failed: set[tuple[tuple[int, ...], tuple[int, ...]]] = set()
    while True:
        places = [_places(part, poses, sightings, number == 0) for number, part in enumerate(parts)]
        shared = {
            (first, second): sorted(places[first].keys() & places[second].keys())
            for second in range(1, len(parts))
            for first in range(second)
            if (parts[first], parts[second]) not in failed
        }
        first, second = max(shared, key=lambda pair: len(shared[pair]), default=(0, 0))
        common = shared.get((first, second), [])
        if not common:
            break
        try:
            found = absolute_orientation(
                np.array([places[second][point] for point in common]),
                np.array([places[first][point] for point in common]),
                dof=dof,
            )
        except InputError:
            failed.add((parts[first], parts[second]))
            continue
        for scan in parts[second]:
            poses[scan] = found.transformation @ poses[scan]
        contradicting = [point for point, used in zip(common, found.used, strict=True) if not used]
        agreeing &= ~(np.isin(sightings.points, contradicting) & np.isin(sightings.scans, parts[second]))
        parts[first] = tuple(sorted((*parts[first], *parts[second])))
        del parts[second]
    others = sorted((part for part in parts[1:] if len(part) > 1), key=lambda part: (-len(part), part[0]))
    in_world = bool(parts[0])
    return Placement(poses, tuple([parts[0], *others] if in_world else others), in_world, agreeing)


def _places(part: tuple[int, ...], poses: Floats, sightings: Sightings, is_world: bool) -> dict[int, Floats]:
    """Position of each point in the frame of a part; of the world, also of the points whose coordinates are known."""
    measured = sightings.in_world(poses)
    mine = np.isin(sightings.scans, part)
    places = {
        point: np.median(measured[mine & (sightings.points == point)], axis=0)
        for point in np.unique(sightings.points[mine]).tolist()
    }
    if is_world:
        places |= {point: sightings.world[point] for point in np.flatnonzero(sightings.known).tolist()}
    return places
