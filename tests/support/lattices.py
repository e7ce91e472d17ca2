"""Points on grids, rasters and lattices: samples on which many neighbours are at one distance."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def lattice(shape: tuple[int, int, int], basis: object = ((1, 0, 0), (0, 1, 0), (0, 0, 1))) -> Floats:
    """All sums of basis vectors with whole coefficients from 0 to `shape`, exclusive."""
    coefficients = np.stack(np.meshgrid(*map(np.arange, shape), indexing="ij"), axis=-1).reshape(-1, 3)
    return np.asarray(coefficients @ np.asarray(basis, float))


def regular_samples() -> dict[str, Floats]:
    """Samples with a spacing of about 1."""
    grid, cube = lattice((24, 20, 1)), lattice((12, 12, 12))
    x, y, _ = grid.T
    angles = np.repeat(np.arange(48), 12) * 2 * np.pi / 48
    cubic, face_centred = lattice((7, 7, 7)), ((0, 0.7, 0.7), (0.7, 0, 0.7), (0.7, 0.7, 0))
    return {
        "square grid": grid,
        "hexagonal grid": lattice((24, 20, 1), ((1, 0, 0), (0.5, np.sqrt(0.75), 0), (0, 0, 1))),
        "scan lines": grid * [1, 5, 1],
        "raster of a surface": np.column_stack([x, y, 3 * np.sin((x - 12) / 5) * np.cos((y - 10) / 7)]),
        "raster in steps": np.column_stack([x, y, np.round(8 * np.sin(x / 5) * np.cos(y / 7)) / 4]),
        "surface of a cube": cube[((cube == 0) | (cube == 11)).any(axis=1)],
        "raster of a cylinder": np.column_stack(
            [7.6 * np.cos(angles), 7.6 * np.sin(angles), np.tile(np.arange(12), 48)]
        ),
        "two walls": np.vstack([lattice((12, 12, 1)), lattice((12, 1, 12))[1:]]),
        "cubic lattice": cubic,
        "body-centred lattice": np.vstack([cubic, lattice((6, 6, 6)) + 0.5]),
        "face-centred lattice": lattice((8, 8, 8), face_centred),
        "tetragonal lattice": cubic * [1, 1, 1.5],
        "line": lattice((60, 1, 1)),
        "each point three times": np.repeat(lattice((5, 5, 5)), 3, axis=0),
        "each point twelve times": np.repeat(lattice((3, 3, 3)), 12, axis=0),
        "sphere and its centre": np.vstack([_octahedral(3), np.zeros((1, 3))]),
    }


def _octahedral(frequency: int) -> Floats:
    """The integer points with |x| + |y| + |z| = frequency, projected onto a sphere of that radius."""
    points = lattice((2 * frequency + 1,) * 3) - frequency
    points = points[np.abs(points).sum(axis=1) == frequency]
    return np.asarray(points * (frequency / np.linalg.norm(points, axis=1, keepdims=True)))
