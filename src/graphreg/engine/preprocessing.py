"""Preprocessed clouds: sampled, distinct points in a local frame, and a cache of what is computed from them."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar, cast

import numpy as np

import graphreg._core as _core
from graphreg.clouds import Floats, Mask, finite_points
from graphreg.engine.point_sampling import SAMPLING, sample_points
from graphreg.engine.voxel_sizes import VoxelSizes, estimate_voxel_sizes
from graphreg.features.graphs import Graph, neighbour_graph
from graphreg.features.response import rounding_error
from graphreg.meshes.triangle_mesh import Mesh
from graphreg.poses import inverse, pose, principal_frame, transform


@dataclass(frozen=True)
class PreprocessingParameters:
    """Constants of preprocessing; all chosen.

    Attributes
    ----------
    statistics_sample : int
        Rows that medians and principal axes are computed from.
    cache_size : int
        Voxel grids and pyramids kept with a cloud.
    """

    statistics_sample: int = 5_000
    cache_size: int = 6


PREPROCESSING = PreprocessingParameters()

T = TypeVar("T")
Item = TypeVar("Item")


@dataclass(frozen=True, eq=False)
class PreprocessedCloud:
    """A cloud made ready for several registrations; `prepare` makes it, `register` takes it in place of the cloud.

    It stores the sampled points and caches what is computed from them, and not the cloud itself. The cache is not
    pickled.

    Attributes
    ----------
    name : str
        For error messages.
    local_points : (N, 3) ndarray
        Distinct points in the local frame: centroid at the origin, principal axes along x, y, z.
    weights : (N,) ndarray or None
        Weight of each point; None if all are equal.
    T_local_cloud : (4, 4) ndarray
        x_local = T x_cloud.
    rounding : float
        Rounding error of the cloud's coordinates, in the unit of the data.
    shuffled : bool
        Whether the points are in random order, so that the first ones are a sample of all.
    dropped : int
        Rows of the cloud that were not finite.
    coincident : int
        Points of the cloud that were left out because they were in coincident clusters.
    whole : (M, 3) ndarray or None
        All points of the cloud, where these are a sample that `prepare` took.
    mesh : Mesh or None
        The surface that the points were sampled from, in the frame of the cloud.
    """

    name: str
    local_points: Floats
    weights: Floats | None
    T_local_cloud: Floats
    rounding: float
    shuffled: bool = False
    dropped: int = 0
    coincident: int = 0
    whole: Floats | None = field(default=None, repr=False)
    mesh: Mesh | None = field(default=None, repr=False)
    _cache: dict[tuple[Any, ...], Any] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return len(self.local_points)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_cache": {}}

    @property
    def points(self) -> Floats:
        """The sampled points (N, 3) in the frame of the cloud."""
        return transform(inverse(self.T_local_cloud), self.local_points)

    @property
    def voxel_sizes(self) -> VoxelSizes:
        """Voxel sizes that suit this cloud."""
        return self.cached(("voxel sizes",), lambda: estimate_voxel_sizes(self.local_points, self.shuffled))

    def whole_cloud(self) -> PreprocessedCloud:
        """Return the cloud of all points, not only of those sampled."""
        whole = self.whole
        return self if whole is None else self.cached(("whole",), lambda: preprocess(whole, self.name))

    def neighbour_graph(self, k: int, threads: int = 1) -> Graph:
        """Return the k-nearest-neighbour graph of the sampled points."""
        return self.cached(("neighbour graph", k), lambda: neighbour_graph(self.local_points, k, threads))

    def select(self, chosen: Mask) -> PreprocessedCloud:
        """Return the cloud of the chosen points."""
        weights = None if self.weights is None else self.weights[chosen]
        return replace(self, local_points=self.local_points[chosen], weights=weights, whole=None, _cache={})

    def subsample(self, voxel: float, threads: int = 1) -> PreprocessedCloud:
        """Return the cloud of one point a voxel, so that the density is uniform."""
        order, starts, _ = _core.group_by_voxel(self.local_points, voxel, threads)
        chosen = np.zeros(len(self), bool)
        chosen[order[starts[:-1]]] = True
        return self.select(chosen)

    def in_frame(self, T_frame_cloud: Floats) -> PreprocessedCloud:
        """Return the same points in another local frame."""
        local_points = transform(T_frame_cloud @ inverse(self.T_local_cloud), self.local_points)
        return replace(self, local_points=local_points, T_local_cloud=T_frame_cloud, whole=None, _cache={})

    def scaled(self, scale: float) -> PreprocessedCloud:
        """Return the cloud scaled about the origin of its frame."""
        frame = self.T_local_cloud
        mesh = self.mesh
        return replace(
            self,
            local_points=self.local_points * scale,
            T_local_cloud=pose(frame[:3, :3], frame[:3, 3] * scale),
            rounding=self.rounding * scale,
            whole=None if self.whole is None else self.whole * scale,
            mesh=None if mesh is None else Mesh(mesh.vertices * scale, mesh.faces, mesh.attributes),
            _cache={},
        )

    def cached(self, key: tuple[Any, ...], compute: Callable[[], T]) -> T:
        """Return what `compute` gives, computed once a key; the latest few are kept."""
        if key in self._cache:
            return cast(T, self._cache[key])
        value = self._cache[key] = compute()
        for oldest in list(self._cache)[: -PREPROCESSING.cache_size]:
            self._cache.pop(oldest, None)
        return value

    def release(self) -> None:
        """Forget what was computed from the points; it is computed again when it is asked for."""
        self._cache.clear()


def preprocess(
    points: Floats, name: str, weights: Floats | None = None, max_points: int | None = None, seed: int = 0
) -> PreprocessedCloud:
    """Sample a cloud at random, without duplicates and points far from all others, and move it to its local frame.

    Parameters
    ----------
    points : (N, 3) ndarray
        Points, none of them in coincident clusters; rows that are not finite are left out.
    name : str
        For error messages.
    weights : (N,) ndarray, optional
        Weight of each point.
    max_points : int, optional
        Points to sample at most, in random order; by default all are taken, in the order of their rows.
    seed : int, default 0
        Seed of the sample.
    """
    points = np.ascontiguousarray(points)
    shuffled = max_points is not None
    if max_points is None:
        near, rows = _core.remove_duplicates_and_outliers(finite_points(points), SAMPLING.farthest, SAMPLING.medians)
    else:
        rows = sample_points(points, max_points, seed)
        near = np.take(points, rows, axis=0)  # four times as fast as points[rows]
    if weights is not None:
        weights = weights[rows]
    some = near[: PREPROCESSING.statistics_sample] if shuffled else strided_sample(near)
    T_local_cloud = principal_frame(some)
    local_points = transform(T_local_cloud, near)
    return PreprocessedCloud(name, local_points, weights, T_local_cloud, rounding_error(near), shuffled)


def strided_sample(values: Floats) -> Floats:
    """Return evenly spaced rows, as many as statistics need."""
    return values[:: -(-len(values) // PREPROCESSING.statistics_sample)]


def map_pair(work: Callable[[Item, int], T], items: tuple[Item, Item], threads: int) -> tuple[T, T]:
    """Compute work(item, threads) for source and target in parallel, each with half of the threads."""
    first, second = items
    if threads == 1:
        return work(first, 1), work(second, 1)
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(work, second, threads // 2)
        return work(first, threads // 2), other.result()
