"""Real scans of one object from two viewpoints, of which the target is warped: deformations with exact truth.

The scans overlap in part and show one side only. Nothing was chosen or fitted on these warps.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

import graphreg._core as _core
from graphreg.bench.pairs import pair_of
from graphreg.clouds import Floats, extent
from graphreg.datasets.deformed_bodies import DeformedPair, rotate_each
from graphreg.poses import pose, rotation_from_vector, transform

PAIRS = (
    "bunny_045_to_000",
    "bunny_315_to_000",
    "dragon_24_to_0",
    "dragon_48_to_0",
    "armadillo_SIM_30_to_0",
    "armadillo_SIM_60_to_0",
)
WARPS = ("bend", "twist", "hinge", "wave")
# Angles in degrees; amplitude of the waves as a share of the extent; noise of the target, as a share of the extent.
BEND, TWIST, HINGE, WAVE, NOISE = 50.0, 50.0, 35.0, 0.015, 0.001
# A point of the source is seen if the target has one so near, in median spacings of the target.
SEEN = 3.0

Warp = Callable[[Floats], Floats]


def warped_pair(name: str, warp: str, data: Path, points: int, seed: int = 0, other: str | None = None) -> DeformedPair:
    """Sample the scans of a pair, and warp the target.

    Parameters
    ----------
    name : str
        One of `PAIRS`.
    warp : str
        One of `WARPS`.
    data : Path
        Folder with pairs.json.
    points : int
        Of each cloud.
    seed : int, default 0
    other : str, optional
        The pair that the target is taken from: by default the same. If it is another, nothing is seen.

    Returns
    -------
    DeformedPair
    """
    rng = np.random.default_rng([seed, PAIRS.index(name), WARPS.index(warp)])
    scans, shown = pair_of(name, data), pair_of(other or name, data)
    source, target = (
        cloud[np.sort(rng.choice(len(cloud), min(points, len(cloud)), replace=False))]
        for cloud in (scans.source, shown.target)
    )
    at_rest = transform(scans.truth, source)
    tree = _core.Tree(target, 1)
    spacing = np.sqrt(np.median(tree.nearest(target, 2, 1)[1][:, 1]))
    seen = np.sqrt(tree.nearest(at_rest, 1, 1)[1][:, 0]) < SEEN * spacing
    size = extent(target)
    warped = warp_of(warp, np.vstack([at_rest, target]) if other is None else target, rng)
    T = pose(rotation_from_vector(2 * rng.normal(size=3)), size * rng.normal(size=3))
    noisy = warped(target) + rng.normal(scale=NOISE * size, size=target.shape)
    return DeformedPair(source, transform(T, noisy), transform(T, warped(at_rest)), seen, other or name)


def warp_of(name: str, points: Floats, rng: np.random.Generator) -> Warp:
    """Return a map of space that warps a body along the longest side of its bounding box.

    Parameters
    ----------
    name : str
        One of `WARPS`.
    points : (N, 3) ndarray
        The body.
    rng : numpy.random.Generator
        For the waves.

    Returns
    -------
    callable
        (N, 3) in and out.
    """
    sides = np.ptp(points, axis=0)
    centre, order, length = (points.max(axis=0) + points.min(axis=0)) / 2, np.argsort(sides), float(sides.max())
    along, across = np.eye(3)[order[2]], np.eye(3)[order[0]]

    def bend(x: Floats) -> Floats:
        """To an arc of a circle."""
        radius = length / np.radians(BEND)
        a, b, c = ((x - centre) @ axis for axis in (along, across, np.cross(along, across)))
        angle, inner = a / radius, radius - b
        moved = inner * np.sin(angle), radius - inner * np.cos(angle), c
        return np.asarray(centre + np.stack(moved, axis=1) @ np.stack([along, across, np.cross(along, across)]))

    def twist(x: Floats) -> Floats:
        return rotate_each(x, centre, along, np.radians(TWIST) * ((x - centre) @ along) / length)

    def hinge(x: Floats) -> Floats:
        """One end turns about an axis across, evenly over a quarter of the length."""
        share = np.clip((x - centre) @ along / (0.25 * length), 0, 1)
        return rotate_each(x, centre, np.cross(along, across), np.radians(HINGE) * share)

    waves = rng.normal(size=(4, 3)) * 4, rng.normal(size=(4, 3)) * WAVE, rng.uniform(0, 2 * np.pi, 4)

    def wave(x: Floats) -> Floats:
        size = float(np.linalg.norm(sides))
        return np.asarray(x + size * np.sin((x - centre) / size @ waves[0].T + waves[2]) @ waves[1])

    return {"bend": bend, "twist": twist, "hinge": hinge, "wave": wave}[name]
