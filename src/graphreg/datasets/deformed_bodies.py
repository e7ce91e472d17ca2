"""Synthetic bodies that deform: scans before and after, with the exact position of every point afterwards.

pair = deformed_bodies.deformed_pair("hand closing", outliers=0.2, viewpoint=0.0)
found = graphreg.deform(pair.source, pair.target)          # compare found.points with pair.truth
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from graphreg.argument_checks import check_choice, check_integer, check_number
from graphreg.clouds import Floats, Mask
from graphreg.datasets import bodies
from graphreg.datasets.bodies import MILLIMETRE, hand_fingers
from graphreg.datasets.contamination import add_outliers
from graphreg.datasets.implicit_surfaces import ImplicitSurface
from graphreg.datasets.mannequin import figure_bones, standing_figure
from graphreg.poses import pose, rotation_from_vector, transform

Body = Callable[[int], ImplicitSurface]
Deform = Callable[[Floats, float, int], Floats]
# Points and normals in, which of them are visible out.
Sees = Callable[[Floats, Floats], Mask]
# Rotation vectors of the bones of the walking figure, in degrees.
_STRIDE = {
    "left thigh": (28.0, 0.0, 0.0),
    "right thigh": (-22.0, 0.0, 0.0),
    "right shin": (-28.0, 0.0, 0.0),
    "left upper arm": (0.0, -45.0, 15.0),
    "right upper arm": (0.0, 45.0, 15.0),
    "right forearm": (0.0, 0.0, 35.0),
    "head": (0.0, 0.0, 25.0),
}
# Cosine of the angle between a visible surface's normal and the ray, at least.
LEAST_FACING = 0.15


@dataclass(frozen=True, eq=False)
class DeformedPair:
    """A body before and after it deforms.

    Attributes
    ----------
    source : (N, 3) ndarray
        Points of the body at rest, in metres.
    target : (M, 3) ndarray
        Other points of the deformed body in another pose, with noise and outliers.
    truth : (N, 3) ndarray
        Where the source's points are after the deformation, exactly, in the target's frame.
    seen : (N,) ndarray of bool
        Whether the source's points are visible from the target's viewpoint after the deformation.
    name : str
    """

    source: Floats
    target: Floats
    truth: Floats
    seen: Mask
    name: str


def deformations() -> tuple[str, ...]:
    """Names of the deformations, with the body that deforms.

    Examples
    --------
    >>> deformations()
    ('hand closing', 'hare turning its head', 'dragon bending', 'casting twisting', 'figure walking')
    """
    return tuple(_DEFORMATIONS)


def deformed_pair(
    name: str,
    amount: float = 1.0,
    *,
    points: int = 5000,
    viewpoint: float | None = None,
    source_viewpoint: float | None = None,
    noise: float = 0.0002,
    outliers: float = 0.0,
    turned: bool = True,
    variant: int = 0,
    seed: int = 0,
) -> DeformedPair:
    """Sample a body before and after it deforms.

    Parameters
    ----------
    name : str
        One of `deformations()`.
    amount : float, default 1
        Share of the deformation, from -2 to 2: at 1 the fingers close by 40 degrees at each joint, the head turns by
        60 degrees, the dragon bends by 70 degrees, the casting twists by 50 degrees, the figure takes a step.
    points : int, default 5000
        Number of points of each cloud, before outliers.
    viewpoint : float, optional
        Degrees around the body from which the target is seen; by default it is sampled from all sides.
    source_viewpoint : float, optional
        The same for the source.
    noise : float, default 0.0002
        Standard deviation of the target's points, in metres, along each axis.
    outliers : float, default 0
        Number of uniform outliers in the target, as a share of its points.
    turned : bool, default True
        Whether the target has a random pose; False leaves it in the source's frame.
    variant : int, default 0
        Selects another individual of the same kind.
    seed : int, default 0

    Returns
    -------
    DeformedPair

    Raises
    ------
    InputError
        If an argument is out of range.

    Examples
    --------
    >>> pair = deformed_pair("hare turning its head", points=500, outliers=0.2)
    >>> pair.source.shape, pair.target.shape, pair.truth.shape
    ((500, 3), (600, 3), (500, 3))
    """
    check_choice("name", name, _DEFORMATIONS)
    share = check_number("amount", amount, -2, 2)
    count = int(check_number("points", points, 10, 2_000_000))
    sigma, ratio = check_number("noise", noise, 0, 1), check_number("outliers", outliers, 0, 10)
    check_integer("variant", variant)
    check_integer("seed", seed)
    rng = np.random.default_rng([seed, 11])
    body, deform = _DEFORMATIONS[name]

    def deformed(x: Floats) -> Floats:
        return deform(x, share, variant)

    source, normals, _, _ = _view(body, variant, count, source_viewpoint, lambda x: x, rng)
    _, _, sampled, sees = _view(body, variant, count, viewpoint, deformed, rng)
    truth = deformed(source)
    seen = sees(truth, _moved_normals(source, normals, deformed))
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    T = pose(turn * np.linalg.det(turn), rng.uniform(-0.2, 0.2, 3)) if turned else np.eye(4)
    target, _ = add_outliers(sampled + rng.normal(size=sampled.shape) * sigma, ratio, "uniform", seed)
    return DeformedPair(source, transform(T, target), transform(T, truth), seen, name)


def deformed_frames(name: str, frames: int, *, points: int = 5000, seed: int = 0) -> Iterator[Floats]:
    """Sample a body at successive shares of a deformation, from 0 to 1; each frame samples other points.

    Parameters
    ----------
    name : str
        One of `deformations()`.
    frames : int
        At least 2.
    points : int, default 5000
    seed : int, default 0

    Returns
    -------
    iterator of (N, 3) ndarray

    Examples
    --------
    >>> [frame.shape for frame in deformed_frames("hand closing", 3, points=100)]
    [(100, 3), (100, 3), (100, 3)]
    """
    check_integer("frames", frames, 2)
    for number in range(frames):
        amount = number / (frames - 1)
        yield deformed_pair(name, amount, points=points, turned=False, seed=seed + number).target


def _view(
    body: Body,
    variant: int,
    count: int,
    viewpoint: float | None,
    deform: Callable[[Floats], Floats],
    rng: np.random.Generator,
) -> tuple[Floats, Floats, Floats, Sees]:
    """Points and normals of a body at rest, and where the points are after a deformation; those visible then."""
    surface = _surface(body, variant)
    points, normals = sample_implicit(surface, count if viewpoint is None else 4 * count, rng)
    moved = deform(points)
    if viewpoint is None:
        return points, normals, moved, lambda points, _: np.ones(len(points), bool)
    facing = _moved_normals(points, normals, deform)
    sees = _sensor(moved, facing, viewpoint)
    # A sample of what is visible; where that is less than wanted, all of it.
    rows = rng.permutation(np.flatnonzero(sees(moved, facing)))[:count]
    return points[rows], normals[rows], moved[rows], sees


@lru_cache(maxsize=8)
def _surface(body: Body, variant: int) -> ImplicitSurface:
    return body(variant)


def sample_implicit(surface: ImplicitSurface, count: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Sample an implicit surface nearly uniformly by area.

    Points uniform in space that are close to the surface are projected onto it.

    Parameters
    ----------
    surface : ImplicitSurface
    count : int
    rng : numpy.random.Generator

    Returns
    -------
    points, normals : (count, 3) ndarray
    """
    shell = 0.01 * surface.radius
    found: list[tuple[Floats, Floats]] = []
    total = 0
    while total < count:
        points = rng.uniform(-surface.radius, surface.radius, (200_000, 3))
        points = points[surface.lower_bound(points) < shell]
        points = points[np.abs(surface.field(points)) < shell]
        for _ in range(2):
            value, gradient = surface.value_and_gradient(points)
            points = points - (value / np.maximum((gradient**2).sum(axis=1), 1e-2))[:, None] * gradient
        value, gradient = surface.value_and_gradient(points)
        close = np.abs(value) < 1e-3 * surface.radius
        unit = gradient[close] / np.maximum(np.linalg.norm(gradient[close], axis=1, keepdims=True), 1e-300)
        found.append((points[close], unit))
        total += int(np.count_nonzero(close))
    points, normals = (np.concatenate(each)[:count] for each in zip(*found, strict=True))
    return points, normals


def _moved_normals(points: Floats, normals: Floats, deform: Callable[[Floats], Floats]) -> Floats:
    """Normals of the deformed surface, from the images of two short tangents."""
    helper = np.where(np.abs(normals[:, :1]) < 0.7, [[1.0, 0, 0]], [[0, 1.0, 0]])
    first = np.cross(normals, helper)
    first /= np.linalg.norm(first, axis=1, keepdims=True)
    second = np.cross(normals, first)
    step = 1e-5
    images = [deform(points + step * side) - deform(points - step * side) for side in (first, second)]
    moved = np.cross(images[0], images[1])
    return np.asarray(moved / np.maximum(np.linalg.norm(moved, axis=1, keepdims=True), 1e-300))


def _sensor(points: Floats, normals: Floats, viewpoint: float) -> Sees:
    """A distant sensor that sees a closed surface, by a depth buffer of cells that hold several of its points."""
    angle = np.radians(viewpoint)
    towards = np.array([-np.cos(angle), -np.sin(angle), 0.35])
    towards /= np.linalg.norm(towards)
    right = np.cross([0, 0, 1.0], towards)
    right /= np.linalg.norm(right)
    axes = np.column_stack([right, np.cross(towards, right)])
    plane = points @ axes
    low = plane.min(axis=0)
    cell = 2.5 * np.sqrt(np.prod(np.ptp(plane, axis=0)) / len(points))
    size = ((plane.max(axis=0) - low) / cell).astype(int) + 1
    buffer = np.full(size, -np.inf)

    def cells(points: Floats) -> tuple[Any, ...]:
        return tuple(np.clip(((points @ axes - low) / cell).astype(int), 0, size - 1).T)

    facing = normals @ towards > LEAST_FACING
    np.maximum.at(buffer, cells(points[facing]), points[facing] @ towards)

    def sees(points: Floats, normals: Floats) -> Mask:
        return np.asarray((normals @ towards > LEAST_FACING) & (points @ towards > buffer[cells(points)] - 4 * cell))

    return sees


def _close_hand(points: Floats, amount: float, variant: int) -> Floats:
    """Every finger bends by 40 degrees at each of its three joints, the thumb by 25."""
    bones, radii, transforms = [], [], []
    for number, (line, radius, spread) in enumerate(hand_fingers(variant)):
        bones.append((np.array([0.35 * line[0, 0], 0, -0.048]), line[0]))
        radii.append(0.012)
        transforms.append(np.eye(4))
        axis = np.array([np.cos(spread), 0.0, -np.sin(spread)])
        bend = np.radians(25 if number == 4 else 40) * amount
        moved = np.eye(4)
        for joint in range(3):
            moved = moved @ _rotation_at(line[joint], axis, bend)
            bones.append((line[joint], line[joint + 1]))
            radii.append(float(radius[joint]))
            transforms.append(moved)
    bones.append((np.array([1.0, 2.0, -40.0]) * MILLIMETRE, np.array([-3.0, 6.0, -96.0]) * MILLIMETRE))
    radii.append(0.019)
    transforms.append(np.eye(4))
    return _skinned(points, bones, radii, transforms)


def _walk(points: Floats, amount: float, variant: int) -> Floats:
    """The figure takes a step: arms down and to the front and back, an elbow and a knee bent, its head turned."""
    bones = figure_bones(variant)
    transforms: list[Floats] = []
    for bone in bones:
        rotation = rotation_from_vector(amount * np.radians(_STRIDE.get(bone.name, (0.0, 0.0, 0.0))))
        carrier = transforms[bone.parent] if bone.parent >= 0 else np.eye(4)
        transforms.append(carrier @ pose(rotation, bone.ends[0] - rotation @ bone.ends[0]))
    return _skinned(points, [tuple(bone.ends) for bone in bones], [bone.radii.mean() for bone in bones], transforms)


def _skinned(
    points: Floats, bones: list[tuple[Floats, Floats]], radii: list[float], transforms: list[Floats]
) -> Floats:
    """Move points with the bones around them (linear blend skinning)."""
    distances = np.column_stack([_segment_distance(points, *ends) - r for ends, r in zip(bones, radii, strict=True)])
    weights = np.exp(-(distances - distances.min(axis=1, keepdims=True)) / (2.5 * MILLIMETRE))
    weights /= weights.sum(axis=1, keepdims=True)
    result = np.zeros_like(points)
    for weight, T in zip(weights.T, transforms, strict=True):
        result += weight[:, None] * transform(T, points)
    return result


def _segment_distance(points: Floats, start: Floats, end: Floats) -> Floats:
    run = end - start
    share = np.clip((points - start) @ run / (run @ run), 0, 1)
    return np.asarray(np.linalg.norm(points - start - share[:, None] * run, axis=1))


def _rotation_at(centre: Floats, axis: Floats, angle: float) -> Floats:
    R = rotation_from_vector(angle * axis)
    return pose(R, centre - R @ centre)


def _turn_head(points: Floats, amount: float, variant: int) -> Floats:
    """The hare's head turns by 60 degrees about its neck."""
    neck = np.array([-29.0, 3.0, 6.0]) * MILLIMETRE
    axis = np.array([-22.0, 9.0, 40.0]) / np.linalg.norm([-22.0, 9.0, 40.0])
    share = _smooth_step(((points - neck) @ axis) / (30 * MILLIMETRE) + 0.5)
    return rotate_each(points, neck, axis, -np.radians(60) * amount * share)


def _bend(points: Floats, amount: float, variant: int) -> Floats:
    """The dragon bends by 70 degrees, evenly from 70 mm before its middle to 70 mm behind it."""
    half, angle = 0.07, np.radians(70) * amount
    if abs(angle) < 1e-9:
        return np.array(points)
    radius = 2 * half / angle
    x, y, z = points.T
    arc = np.clip(x, -half, half)
    phi, beyond = arc / radius, x - arc
    offset = radius - y
    return np.column_stack(
        [offset * np.sin(phi) + beyond * np.cos(phi), radius - offset * np.cos(phi) + beyond * np.sin(phi), z]
    )


def _twist(points: Floats, amount: float, variant: int) -> Floats:
    """The casting twists by 50 degrees along its length of 160 mm."""
    share = np.clip(points[:, 0] / 0.16, -0.5, 0.5)
    return rotate_each(points, np.zeros(3), np.array([1.0, 0, 0]), np.radians(50) * amount * share)


def _smooth_step(share: Floats) -> Floats:
    s = np.clip(share, 0, 1)
    return np.asarray(s * s * (3 - 2 * s))


def rotate_each(points: Floats, centre: Floats, axis: Floats, angles: Floats) -> Floats:
    """Rotate each point about an axis by its own angle (Rodrigues).

    Parameters
    ----------
    points : (N, 3) ndarray
    centre : (3,) ndarray
        A point of the axis.
    axis : (3,) ndarray
        Its direction, a unit vector.
    angles : (N,) ndarray
        In radians.

    Returns
    -------
    (N, 3) ndarray
    """
    local = points - centre
    cos, sin = np.cos(angles)[:, None], np.sin(angles)[:, None]
    along = (local @ axis)[:, None] * axis
    return np.asarray(centre + along + cos * (local - along) + sin * np.cross(axis, local))


_DEFORMATIONS: dict[str, tuple[Body, Deform]] = {
    "hand closing": (bodies.hand, _close_hand),
    "hare turning its head": (bodies.hare, _turn_head),
    "dragon bending": (bodies.dragon, _bend),
    "casting twisting": (bodies.casting, _twist),
    "figure walking": (standing_figure, _walk),
}
