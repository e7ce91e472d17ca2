"""What a simulated scanner needs of a surface: where rays hit it. Lengths in metres, z up."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from graphreg.clouds import Floats


class Surface(Protocol):
    """A surface that rays can be cast at."""

    def cast(self, origin: Floats, directions: Floats, max_range: float) -> tuple[Floats, Floats]:
        """Cast rays from one origin.

        Parameters
        ----------
        origin : (3,) array
        directions : (N, 3) array of unit vectors
        max_range : float
            In metres.

        Returns
        -------
        ranges : (N,) array
            Distance to the first hit; infinite where there is none within `max_range`.
        normals : (N, 3) array
            Outward unit normals at the hits; undefined where there is none.
        """
        ...


def rotation_zyx(yaw: float = 0.0, pitch: float = 0.0, roll: float = 0.0) -> Floats:
    """Rotation matrix Rz(yaw) Ry(pitch) Rx(roll), angles in radians."""
    (cy, sy), (cp, sp), (cr, sr) = ((np.cos(a), np.sin(a)) for a in (yaw, pitch, roll))
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )
