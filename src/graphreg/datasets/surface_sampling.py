"""Points distributed uniformly over the surface of a union of convex parts, with their outward normals."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from graphreg.clouds import Floats, Mask
from graphreg.datasets.convex_scenes import ConvexPart

Numbers = NDArray[np.intp]
# Points, normals, and the numbers of the parts that they are on.
Sample = tuple[Floats, Floats, Numbers]
# Parts that are sampled at a time, so that what is not kept takes little memory.
CHUNK = 256


def sample_surface(
    parts: Sequence[ConvexPart],
    density: float,
    rng: np.random.Generator,
    keep: Callable[[Floats, Floats], Mask] | None = None,
) -> tuple[Floats, Floats]:
    """Sample the surface of a union of convex parts uniformly by area.

    Parameters
    ----------
    parts : sequence of ConvexPart
        They may touch and overlap; what lies within another part is no surface.
    density : float
        Expected number of points on a unit of area.
    rng : numpy.random.Generator
    keep : callable, optional
        (points, normals) -> which of them are wanted; what is not is left out before the costly test for parts that
        cover it.

    Returns
    -------
    points : (N, 3) array
    normals : (N, 3) array
        Outward unit normals.

    Examples
    --------
    >>> from graphreg.datasets.convex_scenes import box
    >>> points, normals = sample_surface([box([0, 0, 0], [1, 1, 1])], 100, np.random.default_rng(0))
    >>> 500 < len(points) < 700, bool(np.allclose(np.linalg.norm(normals, axis=1), 1))
    (True, True)
    """
    samples = []
    for first in range(0, len(parts), CHUNK):
        for points, normals, owners in _samples(parts[first : first + CHUNK], density, rng):
            kept = slice(None) if keep is None else keep(points, normals)
            samples.append((points[kept], normals[kept], first + owners[kept]))
    points, normals, owners = (np.concatenate(each) for each in zip(*samples, strict=True))
    hidden = _hidden(parts, points, owners)
    return points[~hidden], normals[~hidden]


def _samples(parts: Sequence[ConvexPart], density: float, rng: np.random.Generator) -> Iterator[Sample]:
    """Points, normals and numbers of the parts they are on, for each kind of patch."""
    # Every unit shape is recognised by its planes: six of a box, five of a gable, two of a cylinder, none.
    numbers = np.arange(len(parts))
    shape = np.array([len(part.planes) for part in parts])
    centres, axes = np.array([part.centre for part in parts]), np.array([part.axes for part in parts])
    x, y, z = axes.transpose(2, 0, 1)
    # The centre of a gable lies in its base.
    inner = centres + np.where(shape == 5, 0.3, 0.0)[:, None] * z

    def rectangles(of: Numbers, corner: Floats, u: Floats, v: Floats, triangle: bool = False) -> Sample:
        across = np.cross(u, v)
        areas = np.linalg.norm(across, axis=1)
        patch = _patches(areas / 2 if triangle else areas, density, rng)
        at = rng.random((len(patch), 2))
        if triangle:
            at = np.where(at.sum(axis=1, keepdims=True) > 1, 1 - at, at)
        points = corner[patch] + at[:, :1] * u[patch] + at[:, 1:] * v[patch]
        outward = across / areas[:, None]
        outward *= np.sign(np.einsum("ij,ij->i", outward, corner + (u + v) / 3 - inner[of]))[:, None]
        return points, outward[patch], of[patch]

    of = numbers[shape == 6]
    for a, b, c in ((x[of], y[of], z[of]), (y[of], z[of], x[of]), (z[of], x[of], y[of])):
        for sign in (-1, 1):
            yield rectangles(of, centres[of] + sign * a - b - c, 2 * b, 2 * c)
    of = numbers[shape == 5]
    a, b, c, middle = x[of], y[of], z[of], centres[of]
    yield rectangles(of, middle - a - b, 2 * a, 2 * b)
    for sign in (-1, 1):
        yield rectangles(of, middle + sign * a - b, c - sign * a, 2 * b)
        yield rectangles(of, middle - a + sign * b, 2 * a, a + c, triangle=True)
    of = numbers[shape == 2]
    radius, half = np.linalg.norm(x[of], axis=1), np.linalg.norm(z[of], axis=1)
    patch = _patches(4 * np.pi * radius * half, density, rng)
    angle = 2 * np.pi * rng.random((len(patch), 1))
    rim = np.cos(angle) * x[of][patch] + np.sin(angle) * y[of][patch]
    along = rng.uniform(-1, 1, (len(patch), 1)) * z[of][patch]
    yield centres[of][patch] + rim + along, rim / radius[patch, None], of[patch]
    for sign in (-1, 1):
        patch = _patches(np.pi * radius**2, density, rng)
        angle, share = 2 * np.pi * rng.random((len(patch), 1)), np.sqrt(rng.random((len(patch), 1)))
        rim = share * (np.cos(angle) * x[of][patch] + np.sin(angle) * y[of][patch])
        cap = sign * z[of][patch]
        yield centres[of][patch] + rim + cap, cap / half[patch, None], of[patch]
    # An ellipsoid is the image of a sphere, whose element of area grows by |cof(A) n|: sample, then reject.
    of = numbers[shape == 0]
    cofactor = np.linalg.inv(axes[of]).transpose(0, 2, 1) * np.abs(np.linalg.det(axes[of]))[:, None, None]
    most = np.linalg.norm(cofactor, axis=(1, 2), ord=2) if len(of) else np.zeros(0)
    patch = _patches(4 * np.pi * most, density, rng)
    unit = rng.normal(size=(len(patch), 3))
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    outward = np.einsum("nij,nj->ni", cofactor[patch], unit)
    growth = np.linalg.norm(outward, axis=1)
    kept = rng.random(len(patch)) * most[patch] < growth
    patch, unit, outward = patch[kept], unit[kept], outward[kept] / growth[kept, None]
    yield centres[of][patch] + np.einsum("nij,nj->ni", axes[of][patch], unit), outward, of[patch]


def _patches(areas: Floats, density: float, rng: np.random.Generator) -> Numbers:
    """The patch of each sample: as many on a patch as a Poisson process has."""
    return np.repeat(np.arange(len(areas)), rng.poisson(areas * density))


def _hidden(parts: Sequence[ConvexPart], points: Floats, owners: Numbers) -> Mask:
    """Which samples lie within a part other than their own."""
    hidden = np.zeros(len(points), bool)
    centres = np.array([part.centre for part in parts])[:, :2]
    # Half the edges of the bounding boxes: every unit shape fits into the unit cube.
    halves = np.abs([part.axes for part in parts]).sum(axis=2)[:, :2]
    # Points sorted by square cells over x and y: those of a part are in one stretch for each column of cells.
    low = (centres - halves).min(axis=0)
    size = max(float(np.median(halves)) * 4, float(halves.max()) / 100)
    column, row = ((points[:, :2] - low) // size).astype(np.int64).T
    rows = 1 + int(row.max(initial=0))
    order = np.argsort(column * rows + row, kind="stable")
    keys = (column * rows + row)[order]
    (x0, y0), (x1, y1) = (((centres + sign * halves - low) // size).astype(np.int64).T for sign in (-1, 1))
    y0, y1 = np.clip(y0, 0, rows - 1), np.clip(y1, 0, rows - 1)
    for number, part in enumerate(parts):
        columns = np.arange(x0[number], x1[number] + 1) * rows
        first, last = np.searchsorted(keys, columns + y0[number]), np.searchsorted(keys, columns + y1[number] + 1)
        near = np.concatenate([order[start:end] for start, end in zip(first, last, strict=True)])
        others = near[owners[near] != number]
        hidden[others[part.contains(points[others])]] = True
    return hidden
