"""A bumpy body that bends, for tests of deformable registration: cheap to sample, without symmetry."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def bumpy_body(count: int, seed: int = 0) -> Floats:
    """Points on a closed surface of extent 2 with bumps of several sizes."""
    u = np.random.default_rng(seed).normal(size=(count, 3))
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    x, y, z = u.T
    radius = 1 + 0.25 * np.sin(3 * x + 1) * np.cos(2 * y) + 0.15 * np.sin(5 * y + 2 * z) + 0.1 * np.cos(7 * z - 3 * x)
    return np.asarray(u * radius[:, None] * [1.0, 0.55, 0.4])


def bent(points: Floats, angle: float) -> Floats:
    """The points after the x axis bends by an angle, evenly between -0.5 and 0.5."""
    radius = 1 / angle
    x, y, z = points.T
    arc = np.clip(x, -0.5, 0.5)
    phi, beyond, offset = arc / radius, x - arc, radius - z
    return np.column_stack(
        [offset * np.sin(phi) + beyond * np.cos(phi), y, radius - offset * np.cos(phi) + beyond * np.sin(phi)]
    )
