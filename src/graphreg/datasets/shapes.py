"""What a ray can hit: bodies given by a distance field, and scenes put together from convex parts.

Both answer one question, `cast`: how far along each ray the surface is, and which way it faces there. The
unit is the metre, z is up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial import cKDTree

from graphreg.clouds import Floats

# Neighbouring points at a time in a distance field: few enough that most parts are too far away to matter.
BLOCK = 256
# Cells along each side of the grid that tells rays how far they can go through empty space.
CELLS = 32
# Of a body's radius: where a ray has arrived.
CLOSE_ENOUGH = 2e-4
MOST_STEPS = 80
# A part this many blend lengths behind the nearest one adds less than 1e-4 of a blend length.
NEGLIGIBLE = 10.0
# Fields grow a little faster than distance near tapered parts; shorter steps do not jump through them.
STEP = 0.9
LONGEST_STEP = 2.0
FAR = 1e300


class Surface(Protocol):
    """Something that a scanner can look at."""

    def cast(self, origin: Floats, directions: Floats, reach: float) -> tuple[Floats, Floats]:
        """Ranges (N,) along unit `directions` (N, 3) from `origin`, and unit normals (N, 3).

        The range is infinite where nothing is hit within `reach`; the normal there means nothing.
        """
        ...


@dataclass(frozen=True)
class Body:
    """The zero level of a distance field.

    field   (N, 3) points -> (N,) signed distance to the surface or less than it, negative inside
    radius  of a ball around the origin that holds the whole body
    """

    field: Callable[[Floats], Floats]
    radius: float

    def cast(self, origin: Floats, directions: Floats, reach: float) -> tuple[Floats, Floats]:
        """See `Surface`. By sphere tracing: each step goes as far as the field says that nothing is there."""
        along = directions @ origin
        inside = along**2 - (origin @ origin - self.radius**2)
        half = np.sqrt(np.maximum(inside, 0.0))
        travelled, far = np.maximum(-along - half, 0.0), np.minimum(-along + half, reach)
        ranges = np.full(len(directions), np.inf)
        active = np.flatnonzero((inside > 0) & (travelled < far))
        last_gap, last_step = np.full(len(directions), FAR), np.ones(len(directions))
        for _ in range(MOST_STEPS):
            if not len(active):
                break
            here = origin + travelled[active, None] * directions[active]
            gap = self._clearance(here)
            close = gap < self._cell / 4
            gap[close] = self.field(here[close])
            arrived = np.abs(gap) < CLOSE_ENOUGH * self.radius
            ranges[active[arrived]] = travelled[active[arrived]]
            active, gap, close = active[~arrived], gap[~arrived], close[~arrived]
            # Where the field falls more slowly than the ray runs, as on a slope, steps can be longer; a rough
            # clearance says nothing about slopes.
            fall = (last_gap[active] - gap) / last_step[active]
            step = STEP * gap / np.clip(fall, 1 / LONGEST_STEP, 1)
            last_gap[active], last_step[active] = np.where(close, gap, FAR), step
            travelled[active] += step
            active = active[travelled[active] < far[active]]
        hit = np.flatnonzero(np.isfinite(ranges))
        gap, slope = self._slope(origin + ranges[hit, None] * directions[hit])
        # One step along the slope saves the many that the march would need to come closer.
        fall = np.einsum("ij,ij->i", slope, directions[hit])
        ranges[hit] -= np.where(fall < -0.05, gap / np.minimum(fall, -0.05), 0.0)
        normals = np.zeros_like(directions)
        normals[hit] = slope / np.maximum(np.linalg.norm(slope, axis=1, keepdims=True), 1e-300)
        return ranges, normals

    def _slope(self, points: Floats) -> tuple[Floats, Floats]:
        """The field and its gradient, from the corners of small tetrahedra."""
        corners = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]], float)
        width = 2e-4 * self.radius
        gap, slope = np.zeros(len(points)), np.zeros_like(points)
        for corner in corners:
            there = self.field(points + width * corner)
            gap += there / 4
            slope += corner * there[:, None] / (4 * width)
        return gap, slope

    @property
    def _cell(self) -> float:
        return 2 * self.radius / CELLS

    @cached_property
    def _room(self) -> Floats:
        """The field in the middle of each cell of a grid, less what it can change by within the cell."""
        middles = (np.arange(CELLS) + 0.5) * self._cell - self.radius
        grid = np.stack(np.meshgrid(middles, middles, middles, indexing="ij"), axis=-1).reshape(-1, 3)
        return np.asarray(self.field(grid) - 1.2 * np.sqrt(0.75) * self._cell)

    def _clearance(self, points: Floats) -> Floats:
        """How far the surface is from each point at least: quick, rough, and never too much."""
        x, y, z = np.clip((points + self.radius) / self._cell, 0, CELLS - 1).astype(np.intp).T
        return np.asarray(self._room[(x * CELLS + y) * CELLS + z])


class Flesh:
    """A distance field that grows together from limbs and lumps, like clay.

    Each part is a tapered capsule (a line with a radius at both ends) or an ellipsoid. They blend over a
    length `blend`: d = -blend log sum exp(-d_i / blend). Space is only ever contracted, never stretched, to
    make a part round, so the field does not promise more room than there is.
    """

    def __init__(self, blend: float, relief: Callable[[Floats], Floats] | None = None) -> None:
        self.blend = blend
        self.relief = relief
        self._parts: list[tuple[Floats, Floats, Floats, float, float]] = []

    def limb(self, line: ArrayLike, radii: ArrayLike) -> None:
        """A chain of tapered capsules through the points of `line` (K, 3)."""
        points, sizes = np.asarray(line, float), np.asarray(radii, float)
        for k in range(len(points) - 1):
            self._parts.append((points[k], points[k + 1], np.eye(3), sizes[k], sizes[k + 1]))

    def lump(self, centre: ArrayLike, half_axes: ArrayLike, frame: ArrayLike | None = None) -> None:
        """An ellipsoid; the columns of `frame` are the directions of its half axes."""
        middle, half = np.asarray(centre, float), np.asarray(half_axes, float)
        directions = np.eye(3) if frame is None else np.asarray(frame, float)
        smallest = float(half.min())
        self._parts.append((middle, middle, (directions * (smallest / half)).T, smallest, smallest))

    def field(self) -> Callable[[Floats], Floats]:
        """The distance field of what has been put together so far."""
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
        growth, blend, relief = last - first, self.blend, self.relief

        def distance(points: Floats) -> Floats:
            result = np.empty(len(points))
            order = cKDTree(points, leafsize=BLOCK // 2, balanced_tree=False, compact_nodes=False).indices
            for begin in range(0, len(points), BLOCK):
                here = order[begin : begin + BLOCK]
                block = points[here]
                middle = block.mean(axis=0, keepdims=True)
                spread = np.sqrt(((block - middle) ** 2).sum(axis=1).max())
                gap = gaps(middle, slice(None))[0]
                matters = np.flatnonzero(gap < gap.min() + 2.4 * spread + NEGLIGIBLE * blend)
                gap = gaps(block, matters)
                least = gap.min(axis=1)
                total = np.exp((least[:, None] - gap) / blend).sum(axis=1)
                result[here] = least - blend * np.log(total)
            return result if relief is None else result - relief(points)

        def gaps(points: Floats, parts: Any) -> Floats:
            one = np.ones((len(points), 1))
            along = np.hstack([points, one]) @ project[:, parts]
            share = np.clip(along * scale[parts], 0.0, 1.0)
            away2 = np.hstack([points[:, rows] * points[:, columns], points, one]) @ square[:, parts]
            away2 += share * (share * length2[parts] - 2 * along)
            return np.asarray(np.sqrt(np.maximum(away2, 0.0)) - first[parts] - share * growth[parts])

        return distance


@dataclass(frozen=True, eq=False)
class Part:
    """A convex piece: the image of a unit shape.

    centre   where the unit shape's origin goes
    axes     (3, 3), the columns are where its x, y and z go
    planes   (K, 4): n_x, n_y, n_z, h with n.p <= h inside the unit shape
    rounded  weights w of a quadric with |w p| <= 1 inside the unit shape; zero for a shape of planes only
    """

    centre: Floats
    axes: Floats
    planes: Floats
    rounded: Floats

    @property
    def radius(self) -> float:
        """Of a ball around the centre that holds the part: every unit shape fits into the unit cube."""
        signs = np.array([[1, 1, 1], [1, 1, -1], [1, -1, 1], [1, -1, -1]])
        if len(self.planes) == 0:
            return float(np.linalg.norm(self.axes, axis=0).max())
        return float(np.linalg.norm(signs @ self.axes.T, axis=1).max())

    def moved(self, pose: Floats) -> Part:
        """The part carried along by a rigid motion (4, 4)."""
        centre = pose[:3, :3] @ self.centre + pose[:3, 3]
        return Part(centre, pose[:3, :3] @ self.axes, self.planes, self.rounded)

    def cast(self, origin: Floats, directions: Floats) -> tuple[Floats, Floats]:
        """Range at which each ray enters the part (infinite: never), and the outward normal there."""
        to_unit = np.linalg.inv(self.axes)
        start, run = to_unit @ (origin - self.centre), directions @ to_unit.T
        enter, leave = np.full(len(run), -np.inf), np.full(len(run), np.inf)
        normal = np.zeros_like(run)
        for *n, height in self.planes:
            rate = run @ np.array(n)
            rate = np.where(np.abs(rate) < 1e-12, 1e-12, rate)
            cross = (height - start @ np.array(n)) / rate
            later = (rate < 0) & (cross > enter)
            enter[later] = cross[later]
            normal[later] = n
            leave = np.where(rate > 0, np.minimum(leave, cross), leave)
        if self.rounded.any():
            bent, bent_run = self.rounded * start, run * self.rounded
            a = np.maximum((bent_run**2).sum(axis=1), 1e-12)
            b = bent_run @ bent
            inside = b**2 - a * (bent @ bent - 1)
            half = np.sqrt(np.maximum(inside, 0.0))
            cross = (-b - half) / a
            later = (cross > enter) & (inside > 0)
            enter[later] = cross[later]
            normal[later] = (self.rounded**2) * (start + cross[later, None] * run[later])
            leave = np.where(inside > 0, np.minimum(leave, (half - b) / a), -np.inf)
        met = (enter > 0) & (enter < leave)
        facing = normal @ to_unit
        facing /= np.maximum(np.linalg.norm(facing, axis=1, keepdims=True), 1e-300)
        return np.where(met, enter, np.inf), facing


_CUBE = np.array([[1, 0, 0, 1], [-1, 0, 0, 1], [0, 1, 0, 1], [0, -1, 0, 1], [0, 0, 1, 1], [0, 0, -1, 1]], float)
_GABLE = np.array([[0, 1, 0, 1], [0, -1, 0, 1], [0, 0, -1, 0], [1, 0, 1, 1], [-1, 0, 1, 1]], float)
_NO_PLANES = np.zeros((0, 4))


def turned(yaw: float = 0.0, pitch: float = 0.0, roll: float = 0.0) -> Floats:
    """Rotation matrix Rz(yaw) Ry(pitch) Rx(roll), in radians."""
    (cy, sy), (cp, sp), (cr, sr) = ((np.cos(a), np.sin(a)) for a in (yaw, pitch, roll))
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


def rigid(place: ArrayLike, rotation: Floats) -> Floats:
    """The motion (4, 4) that turns by `rotation` and then takes the origin to `place`."""
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = rotation, place
    return pose


def box(low: ArrayLike, high: ArrayLike, frame: Floats | None = None) -> Part:
    """The box between two corners, turned by `frame` about its middle."""
    bottom, top = np.asarray(low, float), np.asarray(high, float)
    return _part((bottom + top) / 2, (top - bottom) / 2, frame, _CUBE, (0, 0, 0))


def ellipsoid(centre: ArrayLike, half_axes: ArrayLike, frame: Floats | None = None) -> Part:
    """An ellipsoid with the columns of `frame` as the directions of its half axes."""
    return _part(centre, half_axes, frame, _NO_PLANES, (1, 1, 1))


def gable(low: ArrayLike, high: ArrayLike) -> Part:
    """A roof over the rectangle from `low` to `high`, with its ridge along y at the height of `high`."""
    bottom, top = np.asarray(low, float), np.asarray(high, float)
    middle, half = (bottom + top) / 2, (top - bottom) / 2
    return _part([*middle[:2], bottom[2]], [half[0], half[1], top[2] - bottom[2]], None, _GABLE, (0, 0, 0))


def cylinder(start: ArrayLike, end: ArrayLike, radius: float) -> Part:
    """A round bar from one point to another."""
    bottom, top = np.asarray(start, float), np.asarray(end, float)
    axis = (top - bottom) / np.linalg.norm(top - bottom)
    across = np.cross(axis, np.eye(3)[np.argmin(np.abs(axis))])
    across /= np.linalg.norm(across)
    frame = np.column_stack([across, np.cross(axis, across), axis])
    half = [radius, radius, np.linalg.norm(top - bottom) / 2]
    return _part((bottom + top) / 2, half, frame, _CUBE[4:], (1, 1, 0))


def _part(centre: ArrayLike, half: ArrayLike, frame: Floats | None, planes: Floats, rounded: ArrayLike) -> Part:
    directions = np.eye(3) if frame is None else frame
    axes = directions * np.asarray(half, float)
    return Part(np.asarray(centre, float), axes, planes, np.asarray(rounded, float))


class Scene:
    """Convex parts, each in its place; they may touch and overlap."""

    def __init__(self, parts: Iterable[Part]) -> None:
        self.parts = tuple(parts)
        self._centres = np.array([part.centre for part in self.parts])
        self._radii = np.array([part.radius for part in self.parts])

    def cast(self, origin: Floats, directions: Floats, reach: float) -> tuple[Floats, Floats]:
        """See `Surface`. Each part is tried only on the rays that meet the ball around it."""
        ranges, normals = np.full(len(directions), np.inf), np.zeros_like(directions)
        bundle = cKDTree(directions)
        away = self._centres - origin
        distances = np.linalg.norm(away, axis=1)
        for k in np.flatnonzero(distances - self._radii <= reach):
            part, distance, radius = self.parts[k], distances[k], self._radii[k]
            if distance > radius:
                chord = 2 * np.sin(np.arcsin(radius / distance) / 2)
                rays = np.array(bundle.query_ball_point(away[k] / distance, chord + 1e-9), dtype=np.intp)
            else:
                rays = np.arange(len(directions))
            if not len(rays):
                continue
            found, facing = part.cast(origin, directions[rays])
            closer = (found < ranges[rays]) & (found <= reach)
            ranges[rays[closer]] = found[closer]
            normals[rays[closer]] = facing[closer]
        return ranges, normals
