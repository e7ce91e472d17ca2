"""Surfaces of synthetic bodies: zero level sets of signed distance fields, hit by sphere tracing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial import cKDTree

import graphreg._core as _core
from graphreg.clouds import Floats

# Points of a distance field that are evaluated together: few enough that most parts are too far away to matter.
FIELD_BLOCK = 256
# In blend lengths behind the nearest part: a part this far away adds less than 1e-4 of a blend length.
NEGLIGIBLE_DISTANCE = 10.0
# A range no ray has.
NO_DISTANCE = 1e300


@dataclass(frozen=True)
class SphereTracingParameters:
    """Constants of sphere tracing (Hart 1996), all chosen."""

    # Voxels along each axis of the grid of lower bounds, by which rays cross empty space.
    grid_size: int = 32
    # Distance to the surface at which a ray has arrived, as a share of the body's radius.
    tolerance: float = 2e-4
    max_steps: int = 80
    # Step as a share of the distance: the field grows a little faster than the distance near tapered capsules.
    step: float = 0.9
    # How much longer a step may be where the field falls more slowly than the ray advances.
    max_relaxation: float = 2.0
    # How much faster than distance the field changes, for the lower bounds of the grid. Not a strict bound: blends and
    # relief exceed it at 0.3 % of the points around the dragon, by up to 1.4.
    lipschitz: float = 1.2


TRACING = SphereTracingParameters()


@dataclass(frozen=True)
class ImplicitSurface:
    """The zero level set of a signed distance field.

    Parameters
    ----------
    field : callable
        (N, 3) points -> (N,) signed distances to the surface or less, negative inside.
    radius : float
        Of a sphere about the origin that contains the surface, in metres.
    """

    field: Callable[[Floats], Floats]
    radius: float

    def cast(self, origin: Floats, directions: Floats, max_range: float) -> tuple[Floats, Floats]:
        """Cast rays by sphere tracing; see `Surface`."""
        along = directions @ origin
        inside = along**2 - (origin @ origin - self.radius**2)
        half = np.sqrt(np.maximum(inside, 0.0))
        travelled, far = np.maximum(-along - half, 0.0), np.minimum(-along + half, max_range)
        ranges = np.full(len(directions), np.inf)
        active = np.flatnonzero((inside > 0) & (travelled < far))
        last_distance, last_step = np.full(len(directions), NO_DISTANCE), np.ones(len(directions))
        for _ in range(TRACING.max_steps):
            if not len(active):
                break
            here = origin + travelled[active, None] * directions[active]
            distance = self.lower_bound(here)
            close = distance < self._voxel / 4
            distance[close] = self.field(here[close])
            arrived = np.abs(distance) < TRACING.tolerance * self.radius
            ranges[active[arrived]] = travelled[active[arrived]]
            active, distance, close = active[~arrived], distance[~arrived], close[~arrived]
            # Where the field falls more slowly than the ray advances, as at oblique incidence, steps can be longer.
            # A lower bound of the grid says nothing about slopes.
            fall = (last_distance[active] - distance) / last_step[active]
            step = TRACING.step * distance / np.clip(fall, 1 / TRACING.max_relaxation, 1)
            last_distance[active], last_step[active] = np.where(close, distance, NO_DISTANCE), step
            travelled[active] += step
            active = active[travelled[active] < far[active]]
        hit = np.flatnonzero(np.isfinite(ranges))
        distance, gradient = self.value_and_gradient(origin + ranges[hit, None] * directions[hit])
        # One Newton step replaces the many that sphere tracing would need to come closer.
        fall = np.einsum("ij,ij->i", gradient, directions[hit])
        ranges[hit] -= np.where(fall < -0.05, distance / np.minimum(fall, -0.05), 0.0)
        normals = np.zeros_like(directions)
        normals[hit] = gradient / np.maximum(np.linalg.norm(gradient, axis=1, keepdims=True), 1e-300)
        return ranges, normals

    def value_and_gradient(self, points: Floats) -> tuple[Floats, Floats]:
        """The field and its gradient, by differences over the corners of small tetrahedra."""
        corners = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]], float)
        width = 2e-4 * self.radius
        value, gradient = np.zeros(len(points)), np.zeros_like(points)
        for corner in corners:
            there = self.field(points + width * corner)
            value += there / 4
            gradient += corner * there[:, None] / (4 * width)
        return value, gradient

    @property
    def _voxel(self) -> float:
        return 2 * self.radius / TRACING.grid_size

    @cached_property
    def _grid(self) -> Floats:
        """A lower bound of the field in each voxel: its value at the centre, less what it can change by."""
        centres = (np.arange(TRACING.grid_size) + 0.5) * self._voxel - self.radius
        grid = np.stack(np.meshgrid(centres, centres, centres, indexing="ij"), axis=-1).reshape(-1, 3)
        return np.asarray(self.field(grid) - TRACING.lipschitz * np.sqrt(0.75) * self._voxel)

    def lower_bound(self, points: Floats) -> Floats:
        size = TRACING.grid_size
        x, y, z = np.clip((points + self.radius) / self._voxel, 0, size - 1).astype(np.intp).T
        return np.asarray(self._grid[(x * size + y) * size + z])


class SmoothUnion:
    """A signed distance field that is the smooth union of tapered capsules and ellipsoids.

    The distances d_i to the parts are blended over a length `blend`: d = -blend log sum exp(-d_i / blend). Space is
    only ever contracted, never stretched, to make an ellipsoid a sphere, so that no distance is overestimated.

    Parameters
    ----------
    blend : float
        Length over which parts blend.
    relief : callable, optional
        (N, 3) points -> (N,) heights that are added to the surface.
    """

    def __init__(self, blend: float, relief: Callable[[Floats], Floats] | None = None) -> None:
        self.blend = blend
        self.relief = relief
        self._parts: list[tuple[Floats, Floats, Floats, float, float]] = []

    def add_capsules(self, line: ArrayLike, radii: ArrayLike) -> None:
        """Add a chain of tapered capsules through the points of `line` (K, 3), with a radius at each."""
        points, sizes = np.asarray(line, float), np.asarray(radii, float)
        for k in range(len(points) - 1):
            self._parts.append((points[k], points[k + 1], np.eye(3), sizes[k], sizes[k + 1]))

    def add_ellipsoid(self, centre: ArrayLike, half_axes: ArrayLike, frame: ArrayLike | None = None) -> None:
        """Add an ellipsoid; the columns of `frame` are the directions of its half axes."""
        middle, half = np.asarray(centre, float), np.asarray(half_axes, float)
        directions = np.eye(3) if frame is None else np.asarray(frame, float)
        smallest = float(half.min())
        self._parts.append((middle, middle, (directions * (smallest / half)).T, smallest, smallest))

    def field(self) -> Callable[[Floats], Floats]:
        """The signed distance field of the parts added so far, (N, 3) points -> (N,) distances."""
        start, end, warp, first, last = (np.array(column) for column in zip(*self._parts, strict=True))
        metric = np.einsum("pki,pkj->pij", warp, warp)
        run = end - start
        pulled = np.einsum("pij,pj->pi", metric, start)
        # |p - start|^2 and (p - start).run in each part's metric, as one matrix product with monomials of p.
        rows, columns = np.triu_indices(3)
        quadratic = metric[:, rows, columns] * np.where(rows == columns, 1, 2)
        square = np.vstack([quadratic.T, -2 * pulled.T, np.einsum("pi,pi->p", pulled, start)])
        push = np.einsum("pij,pj->pi", metric, run)
        project = np.vstack([push.T, -np.einsum("pi,pi->p", push, start)])
        length2 = np.einsum("pi,pi->p", push, run)
        scale = 1 / np.maximum(length2, 1e-30)
        parts = np.column_stack([project.T, scale, length2, first, last - first, square.T])
        blend, relief = self.blend, self.relief

        def distance(points: Floats) -> Floats:
            order = cKDTree(points, leafsize=FIELD_BLOCK // 2, balanced_tree=False, compact_nodes=False).indices
            found = _core.smooth_union(
                np.ascontiguousarray(points), order, parts, blend, NEGLIGIBLE_DISTANCE * blend, FIELD_BLOCK
            )
            return found if relief is None else found - relief(points)

        return distance
