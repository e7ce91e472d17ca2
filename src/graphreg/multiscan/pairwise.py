"""Pairwise registration of many scans: pairs in parallel, one edge of the pose graph for each."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from graphreg.clouds import Floats
from graphreg.engine.preprocessing import PreprocessedCloud
from graphreg.errors import InputError
from graphreg.feedback.progress_bars import progress_bar
from graphreg.multiscan.multiway_result import Edge
from graphreg.multiscan.pose_graph import Groups, connected_groups
from graphreg.multiscan.retrieval import Pair
from graphreg.poses import PoseGraph, adjoint, inverse, pose
from graphreg.registration import register
from graphreg.result import Result

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class PairwiseParameters:
    """Constants of pairwise registration and of the weights of its edges."""

    # Errors between real scans are up to this factor larger than the standard deviations that `register` reports.
    # Chosen.
    covariance_inflation: float = 8.0
    # Standard deviation that is added to every edge, as a share of the fine voxel size. Chosen.
    covariance_floor: float = 0.02
    # Of more scans than these, what is computed for a scan is released after its last pair. Chosen.
    cached_scans: int = 32


PAIRWISE = PairwiseParameters()


@dataclass
class PairwiseRegistration:
    """Pairs of scans that were registered so far, and what it takes to register more.

    Attributes
    ----------
    scans : sequence of PreprocessedCloud
    names : sequence of str
        Of the scans, for messages.
    voxel : float or None
        As in `register`.
    seed, threads : int
    progress : bool, callable, bar of tqdm, or None
        As in `multiway`.
    dof : tuple of str, or None
        Degrees of freedom of each pair, as in `register`.
    edges : dict of (int, int) to Edge
        Of each pair the last attempt that succeeded, else the first.
    """

    scans: Sequence[PreprocessedCloud]
    names: Sequence[str]
    voxel: float | None = None
    seed: int = 0
    threads: int = 1
    progress: Any = None
    dof: tuple[str, ...] | None = None
    edges: dict[Pair, Edge] = field(default_factory=dict)
    _done: int = 0

    @property
    def groups(self) -> Groups:
        """Scans that successful pairs connect, the largest group first."""
        return connected_groups([pair for pair, edge in self.edges.items() if edge.success], len(self.scans))

    def register(self, pairs: Sequence[Pair], poses: Floats | None = None) -> None:
        """Register pairs and add their edges.

        Parameters
        ----------
        pairs : sequence of (int, int)
            Numbers of source and target.
        poses : (N, 4, 4) ndarray, optional
            Refine each pair from these poses; by default it is registered from any pose.
        """
        for pair, edge in zip(pairs, self.attempt(pairs, poses), strict=True):
            if edge.success or pair not in self.edges:
                self.edges[pair] = edge

    def attempt(self, pairs: Sequence[Pair], poses: Floats | None = None) -> list[Edge]:
        """Register pairs, and return their edges without adding them.

        Parameters
        ----------
        pairs : sequence of (int, int)
        poses : (N, 4, 4) ndarray, optional
            As in `register`.

        Returns
        -------
        list of Edge
            In the order of the pairs.
        """
        found: dict[Pair, Edge] = {}
        total = self._done + len(pairs)
        # Of many scans, in an order in which the pairs of a scan are close together.
        is_many = len(self.scans) > PAIRWISE.cached_scans
        ordered = _by_locality(pairs, len(self.scans)) if is_many else pairs
        left = Counter(scan for pair in ordered for scan in pair)
        with progress_bar(self.progress, "registering pairs") as show, ThreadPoolExecutor(self.threads) as pool:
            futures = [pool.submit(self._edge, pair, poses) for pair in ordered]
            try:
                for pair, future in zip(ordered, futures, strict=True):
                    edge = found[pair] = future.result()
                    self._done += 1
                    left.subtract(pair)
                    for scan in pair if is_many else ():
                        if not left[scan]:
                            self.scans[scan].release()
                    _log.debug("pair %s to %s: %s", self.names[pair[0]], self.names[pair[1]], edge.reason)
                    if show is not None:
                        show(self._done, total)
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
        return [found[pair] for pair in pairs]

    def _edge(self, pair: Pair, poses: Floats | None) -> Edge:
        source, target = pair
        init = None if poses is None else inverse(poses[target]) @ poses[source]
        try:
            # Pairs run in parallel, so each has one thread.
            x, y = self.scans[source], self.scans[target]
            result = register(x, y, voxel=self.voxel, dof=self.dof, init=init, seed=self.seed, threads=1)
        except InputError as problem:
            reason = str(problem)
            for role, name in (("source:", self.names[source]), ("target:", self.names[target])):
                reason = reason.replace(role, f"{name}:")
            nowhere, centre = np.full((4, 4), np.nan), centroid(self.scans[target])
            return Edge(source, target, nowhere, False, 0.0, 0.0, None, centre, False, reason)
        return edge_from_result(pair, result, self.scans[target])


def _by_locality(pairs: Sequence[Pair], count: int) -> list[Pair]:
    """The pairs in an order in which those of each scan are close together: by the bandwidth of the graph."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    ends = np.array(pairs, np.int32).reshape(-1, 2)
    both = np.concatenate([ends, ends[:, ::-1]])
    graph = coo_array((np.ones(len(both)), (both[:, 0], both[:, 1])), shape=(count, count)).tocsr()
    rank = np.empty(count, np.intp)
    rank[reverse_cuthill_mckee(graph, symmetric_mode=True)] = np.arange(count)
    return sorted(pairs, key=lambda pair: (max(rank[list(pair)]), min(rank[list(pair)])))


def edge_from_result(
    pair: Pair, result: Result, target: PreprocessedCloud, parameters: PairwiseParameters = PAIRWISE
) -> Edge:
    """The edge of a pair, with an information matrix about the centroid of the target.

    Parameters
    ----------
    pair : (int, int)
        Numbers of source and target.
    result : Result
        Of the registration of this pair.
    target : PreprocessedCloud
    parameters : PairwiseParameters, default PAIRWISE

    Returns
    -------
    Edge
    """
    information = None
    if result.success and result.covariance is not None and result.centre is not None:
        radius = float(np.sqrt((target.local_points**2).sum(axis=1).mean())) or 1.0
        floor = parameters.covariance_floor * result.settings["voxel"] * np.repeat([1 / radius, 1.0], 3)
        # From rotations about the centre of the overlap to rotations about the centroid of the target.
        change = adjoint(pose(np.eye(3), result.centre - centroid(target)))
        inflated = parameters.covariance_inflation**2 * result.covariance + np.diag(floor**2)
        information = np.linalg.inv(change @ inflated @ change.T)
        information = (information + information.T) / 2
    success = information is not None
    return Edge(
        *pair, result.transformation, success, result.confidence, result.overlap, information, centroid(target),
        success, result.reason,
    )  # fmt: skip


def centroid(scan: PreprocessedCloud) -> Floats:
    """Origin of the local frame of a scan, (3,), in the frame of its cloud."""
    return inverse(scan.T_local_cloud)[:3, 3]


def centred_graph(edges: Sequence[Edge], from_centroids: Floats, poses: Floats) -> PoseGraph:
    """The pose graph of frames translated to the centroid of each scan, so that large coordinates lose no digits."""
    transforms = [
        inverse(from_centroids[edge.target]) @ edge.transformation @ from_centroids[edge.source] for edge in edges
    ]
    return PoseGraph(
        poses,
        np.array([(edge.source, edge.target) for edge in edges], np.intp).reshape(-1, 2),
        np.array(transforms).reshape(-1, 4, 4),
        np.array([edge.information for edge in edges], np.float64).reshape(-1, 6, 6),
    )
