"""Initial poses of the source: random ones for each kind of scan, and rotations about the axes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from scipy.spatial.transform import Rotation

from graphreg.clouds import Floats
from graphreg.poses import pose, rotation_from_vector

# Kinds of scans that stand upright: scanners outdoors are levelled, or mounted on cars.
OUTDOOR = ("lidar", "tls")
MAX_TILT = np.radians(10)
SEED = 7


def initial_poses(name: str, kind: str, points: Floats, count: int) -> Iterator[Floats]:
    """Yield transforms to apply to the source before it is registered: the identity, then random ones.

    Objects and rooms get any rotation about the centroid, outdoor scans any heading and up to 10 degrees of tilt. The
    translation is up to a diameter of the source, outdoors a tenth of it.

    Parameters
    ----------
    name : str
        Name of the pair, which seeds the random poses: they are the same in every run.
    kind : str
        Kind of the scans; see `Pair`.
    points : (N, 3) array
        Source.
    count : int
        Number of poses.

    Yields
    ------
    (4, 4) array
        Rigid transform.
    """
    rng = np.random.default_rng([SEED, *name.encode()])
    centre, size = points.mean(axis=0), diagonal(points)
    for number in range(count):
        if number == 0:
            yield np.eye(4)
            continue
        if kind in OUTDOOR:
            tilt = rng.normal(size=2)
            tilt *= MAX_TILT * rng.random() / np.linalg.norm(tilt)
            heading = rotation_from_vector([0.0, 0.0, rng.uniform(-np.pi, np.pi)])
            rotation = rotation_from_vector([*tilt, 0.0]) @ heading
        else:
            rotation = Rotation.from_quat(rng.normal(size=4)).as_matrix()
        translation = rng.uniform(-1, 1, 3) / np.sqrt(3) * size * (0.1 if kind in OUTDOOR else 1.0)
        yield pose(rotation, centre - rotation @ centre + translation)


def rotation_about_centroid(points: Floats, degrees: Sequence[float]) -> Floats:
    """Return the transform that rotates about the x, the y and the z axis through the centroid, one after the other.

    Parameters
    ----------
    points : (N, 3) array
        Points whose centroid stays where it is.
    degrees : sequence of three floats
        Angles about the fixed x, y and z axes.
    """
    centre, rotation = points.mean(axis=0), np.eye(3)
    for axis, angle in zip(np.eye(3), degrees, strict=True):
        rotation = rotation_from_vector(np.radians(angle) * axis) @ rotation
    return pose(rotation, centre - rotation @ centre)


def thirty_about_each_axis(seed: int) -> tuple[float, float, float]:
    """Return the paper's initial rotation of 30 degrees about the three axes, with signs by the seed."""
    x, y, z = np.random.default_rng([30, seed]).choice([-30.0, 30.0], 3).tolist()
    return x, y, z


def diagonal(points: Floats) -> float:
    """Return the diagonal of the bounding box."""
    return float(np.linalg.norm(np.ptp(points, axis=0)))
