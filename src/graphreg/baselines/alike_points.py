"""Invariants for the local methods: points with alike invariants attract each other more (the paper's Sec. V).

Three parts, all of them with `features=True` only:

- a sample of the points, without outliers and in proportion to their response (Sec. III-C, III-D), which reduces the
  cost;
- for the ICP family a metric of position and invariants together,

      minimise over T    sum_i min_j |T x_i - y_j|^2 + w^2 |f_i - g_j|^2

  for decreasing weights w, before the method's own iterations (compare G. C. Sharp, S. W. Lee, D. K. Wehe: ICP
  registration using invariant features. IEEE TPAMI 24(1), 2002);
- for mixtures, classes of alike points as prior probabilities of the memberships: see `mixtures`.

The invariants do not change while the source moves: they are computed once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

import graphreg._core as _core
from graphreg.baselines.baseline_run import LEAST_POINTS, BaselineRun
from graphreg.baselines.closest_points import (
    ClosestPointPairs,
    Rejection,
    closest_share,
    iterate_closest_points,
    point_to_point,
)
from graphreg.clouds import Floats, common_extent
from graphreg.errors import InputError
from graphreg.features.filtered_invariants import FILTERS, comparable_invariants
from graphreg.features.graphs import Graph, neighbour_graph
from graphreg.features.response import sample_by_response
from graphreg.poses import inverse, principal_frame, transform
from graphreg.voxels import voxel_downsample


@dataclass(frozen=True)
class AttractionParameters:
    """Constants of the attraction between alike points; all chosen on synthetic scans.

    Attributes
    ----------
    share : float
        Share of the points that is sampled by their response,
    least : int
        but at least this many, or all.
    alpha : float
        Limit of the X84 rule, in MAD (the paper's).
    first_weight, last_weight : float
        w: lengths that a difference of one spread of the invariants weighs as much as, in spreads of the target;
    decay : float
        factor between one weight and the next.
    iterations : int
        Iterations for each weight, at most.
    tolerance : float
        Converged for a weight where the root of the objective does not change by more than this share.
    voxels : int
        Voxels along the longest extent of the clouds that invariants are computed of.
    """

    share: float = 0.25
    least: int = 500
    alpha: float = 5.2
    first_weight: float = 4.0
    last_weight: float = 0.03
    decay: float = 0.5
    iterations: int = 6
    tolerance: float = 1e-3
    voxels: int = 70


ATTRACTION = AttractionParameters()


@dataclass(frozen=True)
class Invariants:
    """Comparable invariants of the points of a run.

    Attributes
    ----------
    source, target : (N, F) and (M, F) ndarray
        See `graphreg.features.filtered_invariants.comparable_invariants`.
    """

    source: Floats
    target: Floats


def graph_of(run: BaselineRun, name: Literal["source", "target"]) -> Graph:
    """Return the neighbour graph of a cloud of a run.

    Parameters
    ----------
    run : BaselineRun
    name : {"source", "target"}

    Returns
    -------
    Graph

    Raises
    ------
    InputError
        Where the cloud has no more points than a point has neighbours.
    """
    cloud: Floats = getattr(run, name)
    if len(cloud) <= FILTERS.neighbours:
        raise InputError(
            f"{name}: has {len(cloud)} points in voxels of {run.voxel:g}, but features need {FILTERS.neighbours + 1}"
        )
    return neighbour_graph(cloud, FILTERS.neighbours, run.threads)


def sample_with_invariants(run: BaselineRun, seed: int) -> Invariants:
    """Sample the source of a run by its response, and compute the invariants of the points.

    Parameters
    ----------
    run : BaselineRun
        Its source is replaced by the sample.
    seed : int

    Returns
    -------
    Invariants
        Of the points of the run.
    """
    source, target = graph_of(run, "source"), graph_of(run, "target")
    f, g = comparable_invariants(source, target)
    rows = _response_sample(source, seed)
    run.source = np.ascontiguousarray(run.source[rows])
    run.finish_features()
    return Invariants(f[rows], g)


def invariants_at(run: BaselineRun, source: Floats, target: Floats) -> Invariants:
    """Return the invariants of a run's points at other positions: those of the nearest point.

    Parameters
    ----------
    run : BaselineRun
    source, target : (K, 3) and (L, 3) ndarray
        In the frame of the run.

    Returns
    -------
    Invariants
        Of these positions.
    """
    graphs = graph_of(run, "source"), graph_of(run, "target")
    features = comparable_invariants(*graphs)
    at = [
        values[_core.Tree(graph.points, run.threads).nearest(positions, 1, run.threads)[0][:, 0]]
        for values, graph, positions in zip(features, graphs, (source, target), strict=True)
    ]
    return Invariants(at[0], at[1])


def _response_sample(graph: Graph, seed: int) -> NDArray[np.int64]:
    count = len(graph.points)
    share = min(max(ATTRACTION.share, ATTRACTION.least / count), 1.0)
    rows = sample_by_response(graph, share, "proportional", ATTRACTION.alpha, seed)
    # Where all responses are alike, as on a raster, the rule leaves next to nothing.
    if len(rows) < max(share * count / 2, LEAST_POINTS):
        return sample_by_response(graph, share, "proportional", None, seed)
    return rows


class JointClosestPoints:
    """Nearest neighbours in the space of positions and invariants, for a source that moves.

    Parameters
    ----------
    run : BaselineRun
    invariants : Invariants
    weight : float
        w, in the unit of the data.
    """

    def __init__(self, run: BaselineRun, invariants: Invariants, weight: float) -> None:
        from scipy.spatial import cKDTree

        self._run = run
        self._features = weight * invariants.source
        self._tree = cKDTree(np.hstack([run.target, weight * invariants.target]))

    def pairs(self, estimate: Floats, select: Rejection) -> ClosestPointPairs:
        """Find the target point of each source point that is nearest in position and invariants.

        Parameters
        ----------
        estimate : (4, 4) ndarray
            The current transform from source to target.
        select : Rejection
            Receives the squared distances |T x_i - y_j|^2 + w^2 |f_i - g_j|^2.

        Returns
        -------
        ClosestPointPairs
            With these distances.
        """
        points = np.ascontiguousarray(transform(estimate, self._run.source))
        distances, nearest = self._tree.query(np.hstack([points, self._features]), workers=self._run.threads)
        squared = np.asarray(distances, np.float64) ** 2
        return ClosestPointPairs(points, np.asarray(nearest, np.int32), squared, select(squared))


def attract_alike_points(run: BaselineRun, seed: int) -> bool:
    """Align the clouds of a run by position and invariants together, for decreasing weights of the invariants.

    Parameters
    ----------
    run : BaselineRun
        Its estimate is replaced by the alignment that was found, its source by a sample for what follows.
    seed : int
        Of the samples.

    Returns
    -------
    bool
        Whether the callback has stopped the run.
    """
    rows = _response_sample(graph_of(run, "source"), seed)
    fine = np.ascontiguousarray(run.source[rows]), run.target
    # How wide a neighbourhood is follows from the voxels: they are a share of the clouds, however dense these are.
    voxel = max(run.voxel, common_extent(run.source, run.target) / ATTRACTION.voxels)
    run.source, run.target = (_downsample(cloud, voxel, run.threads) for cloud in (run.source, run.target))
    invariants = sample_with_invariants(run, seed)
    spread = float(np.sqrt(run.target.var(axis=0).sum()))
    objective, select = point_to_point(run), closest_share(1.0)
    weight, stopped = ATTRACTION.first_weight, False
    while weight >= ATTRACTION.last_weight and not stopped:
        closest = JointClosestPoints(run, invariants, weight * spread)
        _, stopped = iterate_closest_points(
            run, closest, objective, select, ATTRACTION.iterations, ATTRACTION.tolerance, run.estimate
        )
        weight *= ATTRACTION.decay
    run.source, run.target = fine
    return stopped


def _downsample(cloud: Floats, voxel: float, threads: int) -> Floats:
    """Downsample in voxels along the principal axes, so that the pose of a cloud does not matter; if enough is left."""
    axes = principal_frame(cloud)
    found = voxel_downsample(transform(axes, cloud), voxel, threads)
    return transform(inverse(axes), found) if len(found) > FILTERS.neighbours else cloud
