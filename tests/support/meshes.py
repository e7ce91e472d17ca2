"""Meshes for tests: the models of `graphreg.datasets.modelled_parts`, and random triangles."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphreg.datasets.modelled_parts import SQUARES, box, extruded, modelled_parts, together, turned
from graphreg.meshes.triangle_mesh import Mesh

__all__ = ["SQUARES", "box", "extruded", "parts", "soup", "together", "turned"]

parts = modelled_parts


def soup(seed: int, faces: int = 60) -> Mesh:
    """Random triangles that share vertices, some of them slender."""
    rng = np.random.default_rng(seed)
    vertices = rng.normal(size=(faces, 3)) * rng.choice([1, 0.01], size=(faces, 1))
    chosen: NDArray[np.int64] = np.array([rng.choice(faces, 3, replace=False) for _ in range(faces)])
    return Mesh(vertices, chosen)
