"""Components of synthetic scenes: walls, windows, cars, trees, furniture. Lengths in metres, z up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike

from graphreg.datasets.convex_scenes import ConvexPart, box, cylinder, ellipsoid
from graphreg.datasets.surfaces import rotation_zyx
from graphreg.poses import pose


def wall(
    left: float,
    right: float,
    low: float,
    high: float,
    openings: Sequence[tuple[float, float, float, float]],
    depth: float,
    y: float = 0.0,
) -> list[ConvexPart]:
    """A wall along x with its face at `y`, with openings (x0, x1, z0, z1) that do not overlap in x."""
    parts = []
    at = left
    for x0, x1, z0, z1 in sorted(openings):
        parts.append(box([at, y, low], [x0, y + depth, high]))
        if z0 > low:
            parts.append(box([x0, y, low], [x1, y + depth, z0]))
        parts += [
            box([x0, y, z1], [x1, y + depth, high]),
            box([x0, y + depth - 0.08, z0], [x1, y + depth, z1]),
        ]
        at = x1
    parts.append(box([at, y, low], [right, y + depth, high]))
    return parts


def window(rng: np.random.Generator, left: float, right: float, sill: float, top: float) -> Iterator[ConvexPart]:
    """The frame and sill of a window, sometimes with a shutter or a blind."""
    middle = (left + right) / 2
    yield box([middle - 0.04, 0.12, sill], [middle + 0.04, 0.3, top])
    yield box([left, 0.12, top - 0.75], [right, 0.3, top - 0.68])
    yield box([left - 0.15, -0.2, sill - 0.1], [right + 0.15, 0.1, sill])
    yield box([left - 0.12, -0.08, top], [right + 0.12, 0.05, top + 0.16])
    if rng.random() < 0.3:
        yield box([left - 0.6, -0.06, sill], [left - 0.03, 0, top])
    if rng.random() < 0.25:
        yield box([left, 0.1, top - rng.uniform(0.4, 1.2)], [right, 0.2, top])


def balcony(left: float, right: float, floor: float, deep: float) -> list[ConvexPart]:
    """A balcony with a railing, in front of a wall at y = 0."""
    parts = [
        box([left, -deep, floor - 0.15], [right, 0, floor]),
        box([left, -deep, floor + 0.9], [right, -deep + 0.06, floor + 0.97]),
    ]
    parts += [box([x, -deep, floor + 0.9], [x + 0.05, 0, floor + 0.97]) for x in (left, right - 0.05)]
    bars = np.arange(left + 0.04, right, 0.16)
    parts += [cylinder([x, -deep + 0.03, floor], [x, -deep + 0.03, floor + 0.9], 0.018) for x in bars]
    return parts


def car(rng: np.random.Generator, kind: str) -> list[ConvexPart]:
    """A parked car or van at the origin, facing +x."""
    length, wide = (rng.uniform(4.6, 5.4), 0.98) if kind == "van" else (rng.uniform(3.7, 4.7), rng.uniform(0.82, 0.92))
    high = rng.uniform(1.9, 2.3) if kind == "van" else rng.uniform(1.4, 1.6)
    nose, tail = length / 2, -length / 2
    parts = [box([tail, -wide, 0.3], [nose, wide, 0.85])]
    if kind == "van":
        parts += [
            box([tail, -wide, 0.8], [nose - 1.1, wide, high]),
            ellipsoid([nose - 1.1, 0, 0.85], [0.95, wide, high - 1]),
        ]
    else:
        parts += [ellipsoid([-0.25, 0, 0.75], [0.42 * length, wide - 0.05, high - 0.75])]
        parts += [box([tail + 0.9, -wide + 0.12, 0.8], [0.5, wide - 0.12, high - 0.05])]
    parts += [
        ellipsoid([nose - 0.1, 0, 0.6], [0.28, wide, 0.28]),
        ellipsoid([tail + 0.05, 0, 0.6], [0.2, wide, 0.3]),
    ]
    for x in (nose - 0.8, tail + 0.75):
        parts += [cylinder([x, y - 0.1, 0.31], [x, y + 0.1, 0.31], 0.31) for y in (-wide + 0.05, wide - 0.05)]
    parts += [ellipsoid([0.6, y, 0.98], [0.08, 0.12, 0.08]) for y in (-wide - 0.08, wide + 0.08)]
    return parts


def tree(rng: np.random.Generator, foot: ArrayLike, height: float) -> Iterator[ConvexPart]:
    """A tree: trunk, branches, clusters of leaves."""
    base = np.asarray(foot, float)
    fork = base + np.array([*(rng.normal(size=2) * 0.15), 0.4 * height])
    yield cylinder(base, fork, 0.028 * height)
    for _ in range(rng.integers(5, 8)):
        tip = fork + np.array([*(rng.normal(size=2) * 0.17), rng.uniform(0.2, 0.5)]) * height
        yield cylinder(fork, tip, 0.01 * height)
        for _ in range(5):
            leaf = tip + rng.normal(size=3) * 0.075 * height
            sizes = rng.uniform(0.05, 0.12, 3) * height
            yield ellipsoid(leaf, sizes, rotation_zyx(*rng.uniform(0, 3, 3)))


def street_furniture(rng: np.random.Generator, x: float, y: float, towards_road: int) -> Iterator[ConvexPart]:
    """A lamp, sign, bin, bollards, box or bench, chosen at random."""
    kind = rng.choice(["lamp", "sign", "bin", "bollard", "box", "bench"])
    if kind == "lamp":
        top = rng.uniform(5, 7)
        yield cylinder([x, y, 0], [x, y, top], 0.07)
        yield cylinder([x, y, top], [x, y + 1.4 * towards_road, top + 0.3], 0.05)
        yield ellipsoid([x, y + 1.5 * towards_road, top + 0.25], [0.15, 0.4, 0.1])
    elif kind == "sign":
        yield cylinder([x, y, 0], [x, y, 2.7], 0.03)
        yield cylinder([x - 0.04, y, 2.4], [x - 0.02, y, 2.4], rng.uniform(0.25, 0.38))
    elif kind == "bin":
        yield cylinder([x, y, 0.1], [x, y, 1.0], 0.27)
    elif kind == "bollard":
        for k in range(3):
            yield cylinder([x + 1.4 * k, y, 0], [x + 1.4 * k, y, 0.95], 0.08)
    elif kind == "box":
        yield box([x, y, 0], [x + 0.8, y + 0.35, rng.uniform(0.9, 1.5)])
    else:
        yield box([x, y, 0.42], [x + 1.6, y + 0.4, 0.48])
        yield box([x, y, 0.55], [x + 1.6, y + 0.06, 0.95])
        for leg in (0.1, 1.4):
            yield box([x + leg, y, 0], [x + leg + 0.1, y + 0.4, 0.42])


def table(position: ArrayLike, long: float, wide: float, high: float, heading: float) -> list[ConvexPart]:
    """A table with four legs."""
    parts = [box([-long / 2, -wide / 2, high - 0.04], [long / 2, wide / 2, high])]
    for x in (-long / 2 + 0.07, long / 2 - 0.07):
        parts += [box([x - 0.03, y - 0.03, 0], [x + 0.03, y + 0.03, high]) for y in (-wide / 2 + 0.07, wide / 2 - 0.07)]
    return placed(parts, position, heading)


def chair(position: ArrayLike, heading: float) -> list[ConvexPart]:
    """A chair with a slatted back."""
    parts = table([0, 0, 0], 0.44, 0.42, 0.46, 0)
    parts += [box([x - 0.02, -0.21, 0.46], [x + 0.02, -0.17, 0.92]) for x in (-0.19, 0.19)]
    parts += [box([-0.2, -0.2, z], [0.2, -0.175, z + 0.09]) for z in (0.58, 0.8)]
    return placed(parts, position, heading)


def placed(parts: Iterable[ConvexPart], position: ArrayLike, heading: float) -> list[ConvexPart]:
    """Parts rotated about z by `heading` (radians), then translated to `position`."""
    T_scene_parts = pose(rotation_zyx(heading), position)
    return [part.transformed(T_scene_parts) for part in parts]
