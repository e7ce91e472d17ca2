"""Synthetic scenes for a laser scanner: a facade, a room, a street. Lengths in metres, z up, no symmetry."""

from __future__ import annotations

import numpy as np

from graphreg.clouds import Floats
from graphreg.datasets.convex_scenes import ConvexPart, ConvexScene, box, cylinder, ellipsoid, gable
from graphreg.datasets.props import balcony, car, chair, placed, street_furniture, table, tree, wall, window
from graphreg.datasets.surfaces import rotation_zyx
from graphreg.poses import pose

# Length of a block of the street, in metres.
STREET_BLOCK = 16.0
# Blocks before the first scan and after the last, so that the scanner sees street all around.
STREET_MARGIN = 6


def facade(variant: int) -> ConvexScene:
    """The front of an old town house, 30 m wide along x, facing -y, with a wing that steps forward."""
    rng = np.random.default_rng([variant, 5])
    parts = [box([-40, -40, -0.4], [40, 6, 0]), box([-40, -4.5, 0], [40, 0.5, 0.14])]
    floors = [(0.0, 4.4), (4.4, 8.2), (8.2, 11.8), (11.8, 14.6)]
    axes = np.cumsum(rng.uniform(2.7, 3.5, 8)) - 15.2
    for level, (low, high) in enumerate(floors):
        openings = []
        for k, x in enumerate(axes):
            wide, sill = rng.uniform(0.55, 0.7), low + (0.95 if level else 1.1)
            if level == 0 and k == 2:
                openings.append((x - 1.3, x + 1.3, 0.0, 3.6))
            elif level == 0 and k in (5, 6):
                openings.append((x - 1.2, x + 1.2, 0.6, 3.4))
            elif not (level == 3 and k == 4):
                openings.append((x - wide, x + wide, sill, high - rng.uniform(0.6, 0.8)))
        parts += wall(-15, 11.5, low, high, openings, depth=0.35)
        for k, (left, right, sill, top) in enumerate(openings):
            parts += window(rng, left, right, sill, top)
            if level in (1, 2) and rng.random() < 0.4:
                parts += balcony(left - 0.4, right + 0.4, sill - 0.15, rng.uniform(0.8, 1.2))
            elif level == 1 and k % 2:
                parts.append(gable([left - 0.2, -0.3, top + 0.1], [right + 0.2, 0.1, top + 0.7]))
        parts.append(box([-15.1, -0.16, high - 0.22], [11.6, 0, high]))
    parts += [box([-15.3, -0.75, 14.6], [11.8, 0.4, 14.95]), box([-15.15, -0.45, 14.3], [11.65, 0.1, 14.6])]
    parts += [box([x, -0.5, 14.05], [x + 0.22, 0, 14.3]) for x in np.arange(-14.8, 11.4, 0.85)]
    ridge = gable([-4.5, -15.2, 14.9], [4.5, 11.7, 19.5])
    parts.append(ridge.transformed(pose(rotation_zyx(-np.pi / 2), [0, 4.2, 0])))
    for x in axes[[1, 3, 6]]:
        parts += [box([x - 0.8, 0.3, 15.4], [x + 0.8, 4, 17.2]), gable([x - 1, 0.1, 17.2], [x + 1, 4, 18.1])]
    parts += [box([x, 3, 17], [x + w, 4, 20.5 + w]) for x, w in ((-11.4, 1.3), (5.2, 0.8))]
    # The wing on the right, and a bay of three storeys on round columns.
    parts += wall(11.5, 17, 0, 12.5, [(12.6, 13.8, 1, 3), (14.7, 15.9, 5, 7.4), (12.6, 13.6, 9, 11)], 0.3, -2.8)
    parts += [box([11.5, -2.8, 0], [11.8, 0.3, 12.5]), box([11.2, -3.2, 12.5], [17.2, 5, 12.8])]
    parts += [box([-9.4, -1.5, 4.3], [-6.4, 0.1, 12.2]), box([-9.6, -1.7, 12.2], [-6.2, 0.1, 12.5])]
    for low in (5.2, 9.0):
        parts += [
            box([-9.1, -1.62, low], [-6.7, -1.5, low + 0.12]),
            box([-8.2, -1.6, low], [-7.6, -1.5, low + 2.2]),
        ]
    parts += [cylinder([x, -1.2, 0.1], [x, -1.2, 4.3], 0.17) for x in (-9.1, -6.7)]
    parts += [cylinder([x, -0.12, 0.2], [x, -0.12, 14.3], 0.07) for x in (-14.6, 3.1 + rng.random(), 11.2)]
    parts += [box([axes[2] - 1.7, -1.3, 3.75], [axes[2] + 1.7, 0, 3.95])]
    parts += [box([axes[2] - 1.5, -1.0 + 0.3 * k, 0], [axes[2] + 1.5, 0.2, 0.32 + 0.16 * k]) for k in range(3)]
    parts += [cylinder([7.5, -3.6, 0], [7.5, -3.6, 5.2], 0.08), ellipsoid([7.5, -3.6, 5.4], [0.3, 0.3, 0.35])]
    parts += tree(rng, [-12.5, -5.5, 0], 6.5)
    parts += placed(car(rng, "van"), [2.5, -7.5, 0], 0.06)
    for _ in range(7):
        x, y = rng.uniform(-14, 10), rng.uniform(-3.5, -1.5)
        parts.append(cylinder([x, y, 0.1], [x, y, rng.uniform(0.5, 1.1)], rng.uniform(0.1, 0.35)))
    return ConvexScene(parts)


def room(variant: int) -> ConvexScene:
    """A living room of 5 x 4.2 m with a niche: sofa, table, chairs, books, lamp, plant, curtain."""
    rng = np.random.default_rng([variant, 6])
    parts = [box([-2.7, -2.3, -0.2], [2.7, 2.3, 0]), box([-2.7, -2.3, 2.6], [2.7, 2.3, 2.8])]
    parts += [box([-2.7, -2.3, 0], [-2.5, 2.3, 2.6]), box([-2.7, -2.3, 0], [2.7, -2.1, 2.6])]
    parts += [box([2.5, -2.3, 0], [2.7, 2.3, 0.8]), box([2.5, -2.3, 2.2], [2.7, 2.3, 2.6])]
    parts += [box([2.5, -2.3, 0.8], [2.7, -0.9, 2.2]), box([2.5, 0.7, 0.8], [2.7, 2.3, 2.2])]
    parts += [box([2.62, -0.9, 0.8], [2.66, 0.7, 2.2]), box([2.55, -0.13, 0.8], [2.66, -0.07, 2.2])]
    parts += [box([2.3, -1.0, 0.74], [2.6, 0.8, 0.8]), box([-2.7, 2.1, 0], [0.9, 2.3, 2.6])]
    parts += [box([0.9, 1.5, 0], [1.1, 2.3, 2.6]), box([1.1, 2.2, 0], [2.7, 2.3, 2.6])]
    parts += [box([2.4, -0.9 + 0.32 * k, 0.15], [2.47, -0.66 + 0.32 * k, 0.62]) for k in range(5)]
    parts += [cylinder([2.4, y, 0.1], [2.38, y, 2.35], 0.045) for y in np.arange(0.72, 1.25, 0.085)]
    # Shelf wall with books of all sizes.
    parts += [box([-2.5, 0.6, 0], [-2.18, 0.63, 2.1]), box([-2.5, 2.0, 0], [-2.18, 2.03, 2.1])]
    for height in (0.05, 0.45, 0.85, 1.3, 1.7, 2.08):
        parts.append(box([-2.5, 0.6, height - 0.025], [-2.18, 2.03, height]))
    for height, room_above in ((0.05, 0.35), (0.45, 0.35), (0.85, 0.4), (1.3, 0.35), (1.7, 0.33)):
        y = 0.65
        while y < 1.85:
            thick = rng.uniform(0.03, 0.09)
            if rng.random() < 0.8:
                deep, tall = rng.uniform(0.16, 0.28), room_above * rng.uniform(0.55, 0.95)
                parts.append(box([-2.49, y, height], [-2.49 + deep, y + thick - 0.006, height + tall]))
            y += thick
    # Sofa, rug, low table.
    parts += [box([-1.6, -2.08, 0.1], [0.5, -1.2, 0.42]), box([-1.6, -2.08, 0.1], [0.5, -1.82, 0.85])]
    parts += [box([-1.78, -2.08, 0.1], [-1.56, -1.18, 0.62]), box([0.48, -2.08, 0.1], [0.7, -1.18, 0.6])]
    for x, y, z, heading in ((-1.3, -1.68, 0.6, 0.2), (-0.4, -1.7, 0.56, -0.3), (0.25, -1.65, 0.6, 0.5)):
        parts.append(ellipsoid([x, y, z], [0.24, 0.1, 0.2], rotation_zyx(heading, 0, -0.35)))
    parts += [
        box([-1.5, -1.1, 0], [0.6, 0.2, 0.015], rotation_zyx(0.08)),
        cylinder([-0.5, -0.5, 0.38], [-0.5, -0.5, 0.42], 0.42),
    ]
    parts += [cylinder([-0.5 + 0.3 * c, -0.5 + 0.3 * s, 0], [-0.5 + 0.22 * c, -0.5 + 0.22 * s, 0.4], 0.02)
              for c, s in ((1, 0), (-0.5, 0.87), (-0.5, -0.87))]  # fmt: skip
    parts += [
        cylinder([-0.6, -0.4, 0.42], [-0.6, -0.4, 0.53], 0.045),
        box([-0.5, -0.7, 0.42], [-0.25, -0.52, 0.46], rotation_zyx(0.4)),
    ]
    # Dining table with crockery, chairs.
    parts += table([1.2, 0.35, 0], 1.5, 0.85, 0.74, 0.1)
    for x, y, heading in ((0.75, 0.95, 3.0), (1.55, 1.05, 3.5), (0.95, -0.3, 0.2), (2.05, -0.25, 0.9)):
        parts += chair([x + rng.uniform(-0.08, 0.08), y, 0], heading + rng.uniform(-0.2, 0.2))
    for _ in range(6):
        x, y = rng.uniform(0.7, 1.7), rng.uniform(0.1, 0.6)
        parts.append(cylinder([x, y, 0.74], [x, y, 0.74 + rng.uniform(0.02, 0.26)], rng.uniform(0.03, 0.13)))
    parts += [
        cylinder([1.2, 0.35, 1.7], [1.2, 0.35, 2.6], 0.012),
        ellipsoid([1.2, 0.35, 1.66], [0.24, 0.24, 0.14]),
    ]
    # Floor lamp, plant, cabinet with a television, pictures, door.
    parts += [
        cylinder([-2.15, -1.7, 0], [-2.15, -1.7, 0.03], 0.16),
        cylinder([-2.15, -1.7, 0], [-2.1, -1.66, 1.5], 0.015),
    ]
    parts += [
        cylinder([-2.1, -1.66, 1.42], [-2.1, -1.66, 1.72], 0.17),
        cylinder([2.0, 1.75, 0], [2.0, 1.75, 0.36], 0.17),
    ]
    for _ in range(26):
        tip = np.array([2.0, 1.75, 0.45]) + rng.normal(size=3) * [0.14, 0.14, 0.2] + [0, 0, 0.35]
        lean = rotation_zyx(rng.uniform(0, 6.3), rng.uniform(-0.9, 0.9))
        parts.append(ellipsoid(tip, [0.13, 0.05, 0.012], lean))
    parts += [
        cylinder([2.0, 1.75, 0.3], [1.98, 1.77, 1.05], 0.02),
        box([-2.48, -1.0, 0], [-2.08, 0.35, 0.48]),
    ]
    parts += [box([-2.36, -0.85, 0.55], [-2.31, 0.25, 1.18]), box([-2.4, -0.45, 0.48], [-2.25, -0.15, 0.56])]
    parts += [box([-0.95, 2.06, 1.2], [-0.35, 2.1, 1.9]), box([-0.2, 2.07, 1.45], [0.25, 2.1, 1.75])]
    parts += [box([1.35, -2.1, 0], [1.4, -2.04, 2.05]), box([2.25, -2.1, 0], [2.3, -2.04, 2.05])]
    parts += [
        box([1.4, -2.1, 0.01], [2.25, -2.07, 2.02]),
        cylinder([1.5, -2.08, 1.02], [1.5, -2.0, 1.02], 0.015),
    ]
    parts += [
        box([-2.45, 0.68, 2.1], [-2.2, 1.0, 2.32], rotation_zyx(0.2)),
        ellipsoid([-2.32, 1.5, 2.2], [0.1, 0.13, 0.12]),
    ]
    return ConvexScene(parts)


def street(variant: int, length: float) -> ConvexScene:
    """A curved street with houses, cars, trees and lamps, no two blocks alike.

    Parameters
    ----------
    variant : int
        Selects another street of the same kind.
    length : float
        Of the trajectory along it, in metres. A longer street has the same blocks, and more at its end.
    """
    parts = []
    for number in range(-STREET_MARGIN, int(length / STREET_BLOCK) + STREET_MARGIN + 1):
        T_world_block = street_pose(number * STREET_BLOCK)
        parts += [
            part.transformed(T_world_block)
            for part in _street_block(np.random.default_rng([variant, 7, number + 1000]))
        ]
    return ConvexScene(parts)


def street_pose(distance: float) -> Floats:
    """Pose of the road's centre line at `distance` metres along it: x ahead, y left, z up."""
    steps = np.linspace(0, distance, 1 + int(abs(distance) / 0.05 + 1))
    middle = (steps[1:] + steps[:-1]) / 2
    ahead = np.stack([np.cos(_heading(middle)), np.sin(_heading(middle)), np.zeros(len(middle))], axis=1)
    return pose(rotation_zyx(float(_heading(np.array(distance)))), ahead.sum(axis=0) * (steps[1] - steps[0]))


def _heading(distance: Floats) -> Floats:
    return np.asarray(0.30 * np.sin(distance / 47) + 0.12 * np.sin(distance / 19 + 1))


def _street_block(rng: np.random.Generator) -> list[ConvexPart]:
    """One block about the origin of its own frame, a little too long, so that bends leave no gaps."""
    half = STREET_BLOCK / 2 + 1.0
    parts = [box([-half, -45, -0.5], [half, 45, 0])]
    for side in (-1, 1):
        kerb = 4.2 * side

        def across(low: float, high: float, kerb: float = kerb, side: int = side) -> tuple[float, float]:
            first, second = sorted((kerb + side * low, kerb + side * high))
            return first, second

        near, far = across(0, 3.0)
        parts.append(box([-half, near, 0], [half, far, 0.13]))
        kind = rng.choice(["house", "house", "house", "garden", "gap"])
        back = rng.uniform(0.0, 2.5) + 3.0
        if kind == "house":
            parts += _house(rng, half - rng.uniform(1.0, 1.8), kerb + side * back, side)
        elif kind == "garden":
            near, far = across(3.1, 3.7)
            parts.append(box([-half + 1, near, 0], [half - rng.uniform(1, 4), far, rng.uniform(0.9, 1.6)]))
            parts += tree(rng, [rng.uniform(-4, 4), kerb + side * rng.uniform(5, 8), 0], rng.uniform(5, 9))
            parts.append(ellipsoid([0, kerb + 16 * side, -1], [9, 8, rng.uniform(1.5, 3)]))
            parts += _house(rng, half - 3, kerb + side * rng.uniform(11, 14), side)
        else:
            near, far = across(9, 15)
            parts.append(box([-half + 1, near, 0], [half - 3, far, rng.uniform(2.4, 3.2)]))
            parts += placed(car(rng, "van"), [rng.uniform(-3, 3), kerb + side * 6, 0], rng.uniform(1.2, 1.8))
        if rng.random() < 0.75:
            vehicle = car(rng, rng.choice(["car", "car", "van"]))
            position = [rng.uniform(-5, 5), kerb - side * rng.uniform(1.0, 1.3), 0]
            parts += placed(vehicle, position, rng.normal() * 0.04 + (np.pi if side > 0 else 0))
        if rng.random() < 0.5:
            parts += tree(rng, [rng.uniform(-6, 6), kerb + side * 0.8, 0.1], rng.uniform(4, 7))
        for _ in range(rng.integers(1, 4)):
            parts += street_furniture(rng, rng.uniform(-7, 7), kerb + side * rng.uniform(0.3, 2.4), -side)
    return parts


def _house(rng: np.random.Generator, half: float, front: float, side: int) -> list[ConvexPart]:
    """A house 2 x `half` wide with its front at y = `front`, facing the road."""
    height, deep = rng.uniform(5.5, 12), rng.uniform(7, 11)
    floors = int(height / 2.9)
    parts = []
    for level in range(floors):
        low = level * height / floors
        gaps, x = [], -half + rng.uniform(0.6, 1.5)
        while x < half - 1.6:
            wide = rng.uniform(0.9, 1.5)
            gaps.append((x, x + wide, low + (0 if level == 0 and rng.random() < 0.2 else 0.9), low + 2.2))
            x += wide + rng.uniform(0.8, 1.8)
        parts += wall(-half, half, low, low + height / floors, gaps, 0.3)
        if level and rng.random() < 0.35:
            left, right, sill, _ = gaps[rng.integers(len(gaps))]
            parts += balcony(left - 0.5, right + 0.5, sill - 0.7, 1.1)
    parts += [
        box([-half, 0.3, 0], [half, deep, height]),
        box([-half, -0.35, height], [half, deep, height + 0.25]),
    ]
    if rng.random() < 0.7:
        roof = gable([-deep / 2, -half, height + 0.2], [deep / 2, half, height + rng.uniform(2, 4.5)])
        parts.append(roof.transformed(pose(rotation_zyx(np.pi / 2), [0, deep / 2, 0])))
    x = rng.uniform(-half + 1, half - 1)
    parts += [
        box([x, deep / 2, height], [x + 0.7, deep / 2 + 0.7, height + 4.5]),
        cylinder([x, -0.1, 0], [x, -0.1, height], 0.06),
    ]
    if rng.random() < 0.5:
        parts.append(box([x - 1.2, -1.2, 2.6], [x + 1.2, 0, 2.75], rotation_zyx(0, 0, 0.15)))
    return placed(parts, [0, front, 0], 0 if side > 0 else np.pi)
