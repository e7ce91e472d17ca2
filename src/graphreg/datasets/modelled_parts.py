"""Models of machine parts as meshes, closed and oriented outwards. Lengths in millimetres."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from graphreg.meshes.triangle_mesh import Mesh

# Corners of the unit cube, x slowest, and its faces counterclockwise from outside.
CORNERS = np.stack(np.meshgrid([0.0, 1], [0.0, 1], [0.0, 1], indexing="ij"), axis=-1).reshape(-1, 3)
SQUARES = np.array([[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]])


def box(size: ArrayLike = (1, 1, 1), origin: ArrayLike = (0, 0, 0)) -> Mesh:
    """A box with eight vertices."""
    faces = np.concatenate([SQUARES[:, [0, 1, 2]], SQUARES[:, [0, 2, 3]]])
    return Mesh(CORNERS * np.asarray(size, float) + np.asarray(origin, float), faces)


def extruded(outline: ArrayLike, height: float) -> Mesh:
    """A prism over a polygon that is star-shaped about its mean, counterclockwise seen from above."""
    ring = np.asarray(outline, float)
    n = len(ring)
    centre = ring.mean(axis=0)
    vertices = np.array([[*p, z] for z in (0.0, height) for p in [*ring, centre]])
    i = np.arange(n)
    j = (i + 1) % n
    bottom, top = n, 2 * n + 1
    up = n + 1
    faces = [
        np.stack([j, i, np.full(n, bottom)], 1),
        np.stack([i + up, j + up, np.full(n, top)], 1),
        np.stack([i, j, j + up], 1),
        np.stack([i, j + up, i + up], 1),
    ]
    return Mesh(vertices, np.concatenate(faces))


def turned(profile: ArrayLike, segments: int = 48) -> Mesh:
    """A solid of revolution about z; the profile (radius, z) ends on the axis at both ends, from below upwards."""
    line = np.asarray(profile, float)
    angles = np.arange(segments) * 2 * np.pi / segments
    rings = [np.c_[r * np.cos(angles), r * np.sin(angles), np.full(segments, z)] for r, z in line[1:-1]]
    vertices = np.vstack([[0, 0, line[0, 1]], *rings, [0, 0, line[-1, 1]]])
    i = np.arange(segments)
    j = (i + 1) % segments
    last = len(vertices) - 1
    faces = [np.stack([np.zeros(segments, int), 1 + j, 1 + i], 1)]
    for ring in range(len(rings) - 1):
        a, b = 1 + ring * segments, 1 + (ring + 1) * segments
        faces += [np.stack([a + i, a + j, b + j], 1), np.stack([a + i, b + j, b + i], 1)]
    a = 1 + (len(rings) - 1) * segments
    faces.append(np.stack([a + i, a + j, np.full(segments, last)], 1))
    return Mesh(vertices, np.concatenate(faces))


def together(*meshes: Mesh) -> Mesh:
    """Several meshes as one."""
    offsets = np.cumsum([0, *(len(mesh.vertices) for mesh in meshes)])
    faces = [mesh.faces + offset for mesh, offset in zip(meshes, offsets, strict=False)]
    return Mesh(np.vstack([mesh.vertices for mesh in meshes]), np.concatenate(faces))


def modelled_parts() -> dict[str, Mesh]:
    """Return parts by name: prismatic, turned with a key, with a fillet, of thin sheet; and a cube, which is symmetric.

    Examples
    --------
    >>> list(modelled_parts())
    ['prismatic', 'turned', 'fillet', 'sheet', 'cube']
    """
    arc = [[18 - 8 * np.sin(t), 18 - 8 * np.cos(t)] for t in np.linspace(0, np.pi / 2, 9)]
    profile = [[0, 0], [40, 0], [40, 10], *arc, [10, 30], [0, 30]]
    rod = turned([[0, 0], [10, 0], [10, 15], [6, 18], [6, 40], [8, 42], [0, 42]])
    return {
        "prismatic": together(box((40, 24, 8)), box((10, 16, 14), (4, 3, 8)), box((6, 6, 20), (30, 14, 8))),
        "turned": together(rod, box((14, 3, 4), (0, -1.5, 5))),
        "fillet": together(extruded(profile, 20), box((8, 5, 6), (25, 2, 20))),
        "sheet": together(box((60, 40, 1)), box((1, 40, 15)), box((60, 1, 6), (0, 39, 1))),
        "cube": box((20, 20, 20)),
    }
