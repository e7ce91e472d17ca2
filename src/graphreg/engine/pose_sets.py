"""Sets of poses: which of them are different, by where they move the corners of a cloud."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphreg.clouds import Floats


def distinct_poses(poses: Floats, corners: Floats, distance: float, most: int) -> NDArray[np.intp]:
    """Return which of the poses, in their order, move some corner (C, 3) far from where all before them move it."""
    moved = corners @ poses[:, :3, :3].transpose(0, 2, 1) + poses[:, None, :3, 3]
    kept: list[int] = []
    for number, here in enumerate(moved):
        offsets = here - moved[kept]
        if np.all(np.einsum("nij,nij->ni", offsets, offsets).max(axis=1) > distance**2):
            kept.append(number)
        if len(kept) == most:
            break
    return np.array(kept, np.intp)


def box_corners(points: Floats) -> Floats:
    """Return (8, 3): the corners of a box around most of the points."""
    low, high = np.quantile(points, (0.05, 0.95), axis=0)
    return np.array([[(low, high)[bit >> axis & 1][axis] for axis in range(3)] for bit in range(8)])
