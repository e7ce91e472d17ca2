"""A synthetic pot with lid, handle and spout, sampled on a grid; it replaces the paper's teapot without real data."""

from __future__ import annotations

import numpy as np

from graphreg.clouds import Floats
from graphreg.poses import inverse, pose, rotation_from_vector, transform

POINTS = 40_000
# Share of the points on each part.
LID, BODY, HANDLE, SPOUT = 0.25, 0.5, 0.125, 0.125
# Corners of the profiles, radius and height, from the top down.
LID_PROFILE = [[0.0, 1.62], [0.16, 1.58], [0.2, 1.48], [0.1, 1.36], [0.3, 1.27], [0.7, 1.2], [0.85, 1.12]]
BODY_PROFILE = [[0.9, 1.12], [1.25, 0.7], [1.4, 0.2], [1.2, -0.35], [0.85, -0.6], [0.0, -0.65]]
HANDLE_LINE = [[-1.2, 0, 0.75], [-1.8, 0, 0.8], [-2.1, 0, 0.5], [-1.9, 0, 0.05], [-1.3, 0, -0.15]]
SPOUT_LINE = [[1.25, 0, 0.0], [1.8, 0, 0.15], [2.0, 0, 0.6], [2.35, 0, 0.95]]
# Initial pose of the lid: rotation vector in degrees, and translation.
ROTATION, TRANSLATION = (40.0, -25.0, 30.0), (1.5, -1.0, 0.5)


def lid_and_pot(points: int | None = None) -> tuple[Floats, Floats, Floats]:
    """Return the lid in its initial pose, the whole pot, and T_pot_lid. The axis of the pot is z.

    Parameters
    ----------
    points : int, optional
        Approximate number of points of the whole pot; 40,000 by default.
    """
    count = POINTS if points is None else points
    lid = _revolved(LID_PROFILE, count * LID)
    handle = _tube(HANDLE_LINE, [0.12, 0.12], count * HANDLE)
    spout = _tube(SPOUT_LINE, [0.35, 0.12], count * SPOUT)
    whole = np.vstack([lid, _revolved(BODY_PROFILE, count * BODY), handle, spout])
    truth = inverse(pose(rotation_from_vector(np.radians(ROTATION)), TRANSLATION))
    return transform(inverse(truth), lid), whole, truth


def _revolved(profile: list[list[float]], count: float) -> Floats:
    """About `count` points on the surface of revolution of a profile about z."""
    radius, height = _along(np.array(profile), round(np.sqrt(count / 2))).T
    angle = np.linspace(0, 2 * np.pi, round(np.sqrt(count * 2)), endpoint=False)[:, None]
    around = [radius * np.cos(angle), radius * np.sin(angle), np.broadcast_to(height, (len(angle), len(height)))]
    return np.stack(around, axis=-1).reshape(-1, 3)


def _tube(line: list[list[float]], radii: list[float], count: float) -> Floats:
    """About `count` points on a tube around a line in the x-z plane."""
    path = _along(np.array(line), round(np.sqrt(count * 2)))
    tangent = np.gradient(path, axis=0)
    tangent /= np.linalg.norm(tangent, axis=1, keepdims=True)
    normal = np.cross([0.0, 1.0, 0.0], tangent)
    angle = np.linspace(0, 2 * np.pi, round(np.sqrt(count / 2)), endpoint=False)[:, None, None]
    radius = np.linspace(radii[0], radii[1], len(path))[:, None]
    return np.asarray(path + radius * (np.cos(angle) * normal + np.sin(angle) * [0.0, 1.0, 0.0])).reshape(-1, 3)


def _along(corners: Floats, count: int) -> Floats:
    """Evenly spaced points on a polyline."""
    length = np.concatenate([[0.0], np.linalg.norm(np.diff(corners, axis=0), axis=1).cumsum()])
    return np.stack([np.interp(np.linspace(0, length[-1], count), length, column) for column in corners.T], axis=1)
