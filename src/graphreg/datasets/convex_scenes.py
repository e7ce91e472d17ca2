"""Surfaces of synthetic scenes: unions of convex parts (boxes, cylinders, ellipsoids, gable roofs) hit by rays."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial import cKDTree

from graphreg.clouds import Floats, Mask


@dataclass(frozen=True, eq=False)
class ConvexPart:
    """A convex solid: the affine image of a unit shape.

    Parameters
    ----------
    centre : (3,) array
        Image of the unit shape's origin.
    axes : (3, 3) array
        Its columns are the images of the unit shape's x, y and z axes.
    planes : (K, 4) array
        Rows n_x, n_y, n_z, h of half spaces n.p <= h that bound the unit shape.
    quadric : (3,) array
        Weights w of a quadric |w p| <= 1 that bounds the unit shape; zero for a polyhedron.
    """

    centre: Floats
    axes: Floats
    planes: Floats
    quadric: Floats

    @property
    def radius(self) -> float:
        """Radius of a sphere about the centre that contains the part: every unit shape fits into the unit cube."""
        signs = np.array([[1, 1, 1], [1, 1, -1], [1, -1, 1], [1, -1, -1]])
        if len(self.planes) == 0:
            return float(np.linalg.norm(self.axes, axis=0).max())
        return float(np.linalg.norm(signs @ self.axes.T, axis=1).max())

    def transformed(self, transformation: Floats) -> ConvexPart:
        """The part after a rigid transform (4, 4)."""
        rotation = transformation[:3, :3]
        centre = rotation @ self.centre + transformation[:3, 3]
        return ConvexPart(centre, rotation @ self.axes, self.planes, self.quadric)

    def contains(self, points: Floats) -> Mask:
        """Which points (N, 3) lie in the interior of the part."""
        local = (points - self.centre) @ np.linalg.inv(self.axes).T
        inside = (local @ self.planes[:, :3].T < self.planes[:, 3] - 1e-9).all(axis=1)
        return np.asarray(inside & (((self.quadric * local) ** 2).sum(axis=1) < 1 - 1e-9))

    def cast(self, origin: Floats, directions: Floats) -> tuple[Floats, Floats]:
        """Range at which each ray enters the part (infinite: never), and the outward normal there."""
        to_unit = np.linalg.inv(self.axes)
        start, run = to_unit @ (origin - self.centre), directions @ to_unit.T
        enter, leave = np.full(len(run), -np.inf), np.full(len(run), np.inf)
        normal = np.zeros_like(run)
        if len(self.planes):
            n, heights = self.planes[:, :3], self.planes[:, 3]
            rate = run @ n.T
            rate[np.abs(rate) < 1e-12] = 1e-12
            cross = (heights - n @ start) / rate
            first = np.where(rate < 0, cross, -np.inf)
            last = first.argmax(axis=1)
            enter = np.take_along_axis(first, last[:, None], axis=1)[:, 0]
            normal = n[last]
            leave = np.where(rate > 0, cross, np.inf).min(axis=1)
        if self.quadric.any():
            bent, bent_run = self.quadric * start, run * self.quadric
            a = np.maximum((bent_run**2).sum(axis=1), 1e-12)
            b = bent_run @ bent
            inside = b**2 - a * (bent @ bent - 1)
            half = np.sqrt(np.maximum(inside, 0.0))
            cross = (-b - half) / a
            later = (cross > enter) & (inside > 0)
            enter[later] = cross[later]
            normal[later] = (self.quadric**2) * (start + cross[later, None] * run[later])
            leave = np.where(inside > 0, np.minimum(leave, (half - b) / a), -np.inf)
        hit = (enter > 0) & (enter < leave)
        outward = normal @ to_unit
        outward /= np.maximum(np.linalg.norm(outward, axis=1, keepdims=True), 1e-300)
        return np.where(hit, enter, np.inf), outward


_CUBE = np.array([[1, 0, 0, 1], [-1, 0, 0, 1], [0, 1, 0, 1], [0, -1, 0, 1], [0, 0, 1, 1], [0, 0, -1, 1]], float)
_GABLE = np.array([[0, 1, 0, 1], [0, -1, 0, 1], [0, 0, -1, 0], [1, 0, 1, 1], [-1, 0, 1, 1]], float)
_NO_PLANES = np.zeros((0, 4))


def box(low: ArrayLike, high: ArrayLike, frame: Floats | None = None) -> ConvexPart:
    """The box between two corners, rotated by `frame` about its centre."""
    bottom, top = np.asarray(low, float), np.asarray(high, float)
    return _part((bottom + top) / 2, (top - bottom) / 2, frame, _CUBE, (0, 0, 0))


def ellipsoid(centre: ArrayLike, half_axes: ArrayLike, frame: Floats | None = None) -> ConvexPart:
    """An ellipsoid with the columns of `frame` as the directions of its half axes."""
    return _part(centre, half_axes, frame, _NO_PLANES, (1, 1, 1))


def gable(low: ArrayLike, high: ArrayLike) -> ConvexPart:
    """A roof over the rectangle from `low` to `high`, with its ridge along y at the height of `high`."""
    bottom, top = np.asarray(low, float), np.asarray(high, float)
    middle, half = (bottom + top) / 2, (top - bottom) / 2
    return _part([*middle[:2], bottom[2]], [half[0], half[1], top[2] - bottom[2]], None, _GABLE, (0, 0, 0))


def cylinder(start: ArrayLike, end: ArrayLike, radius: float) -> ConvexPart:
    """A circular cylinder from one point to another."""
    bottom, top = np.asarray(start, float), np.asarray(end, float)
    axis = (top - bottom) / np.linalg.norm(top - bottom)
    across = _cross(axis, np.eye(3)[np.argmin(np.abs(axis))])
    across /= np.linalg.norm(across)
    frame = np.column_stack([across, _cross(axis, across), axis])
    half = [radius, radius, np.linalg.norm(top - bottom) / 2]
    return _part((bottom + top) / 2, half, frame, _CUBE[4:], (1, 1, 0))


def _cross(a: Floats, b: Floats) -> Floats:
    """As numpy's, which takes ten times as long for two vectors."""
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def _part(centre: ArrayLike, half: ArrayLike, frame: Floats | None, planes: Floats, quadric: ArrayLike) -> ConvexPart:
    directions = np.eye(3) if frame is None else frame
    axes = directions * np.asarray(half, float)
    return ConvexPart(np.asarray(centre, float), axes, planes, np.asarray(quadric, float))


class ConvexScene:
    """The surface of a union of convex parts, which may touch and overlap.

    Parameters
    ----------
    parts : iterable of ConvexPart
    """

    def __init__(self, parts: Iterable[ConvexPart]) -> None:
        self.parts = tuple(parts)
        self._centres = np.array([part.centre for part in self.parts])
        self._radii = np.array([part.radius for part in self.parts])

    def cast(self, origin: Floats, directions: Floats, max_range: float) -> tuple[Floats, Floats]:
        """Cast rays; see `Surface`. Each part is tested only with the rays that hit its bounding sphere."""
        ranges, normals = np.full(len(directions), np.inf), np.zeros_like(directions)
        away = self._centres - origin
        distances = np.linalg.norm(away, axis=1)
        near = np.flatnonzero(distances - self._radii <= max_range)
        # Where the origin is within the sphere, all rays hit it: no chord of unit vectors is longer than 2.
        share = np.minimum(self._radii[near] / np.maximum(distances[near], 1e-300), 1.0)
        chords = np.where(share < 1, 2 * np.sin(np.arcsin(share) / 2), 2.0) + 1e-9
        towards = away[near] / np.maximum(distances[near], 1e-300)[:, None]
        groups = cKDTree(directions).query_ball_point(towards, chords)
        for k, group in zip(near, groups, strict=True):
            if not group:
                continue
            rays = np.array(group, np.intp)
            found, outward = self.parts[k].cast(origin, directions[rays])
            closer = (found < ranges[rays]) & (found <= max_range)
            ranges[rays[closer]] = found[closer]
            normals[rays[closer]] = outward[closer]
        return ranges, normals
