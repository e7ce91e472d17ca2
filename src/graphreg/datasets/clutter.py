"""Synthetic objects in clutter: a part, and a table with some instances of it among other objects.

    example = clutter.table("bracket", instances=3)
    example.part, example.scene        # (N, 3) and (M, 3)
    example.poses                      # (3, 4, 4): x_scene = pose x_part

The same arguments give the same bits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphreg.argument_checks import check_choice, check_integer, check_number
from graphreg.clouds import Floats
from graphreg.datasets.convex_scenes import ConvexPart, box, cylinder, ellipsoid, gable
from graphreg.datasets.surface_sampling import sample_surface
from graphreg.datasets.surfaces import rotation_zyx
from graphreg.errors import InputError
from graphreg.poses import pose

__all__ = ["PARTS", "Clutter", "table"]

PARTS: dict[str, tuple[ConvexPart, ...]] = {
    "bracket": (
        box([0, 0, 0], [1, 0.6, 0.12]),
        box([0, 0, 0], [0.12, 0.6, 0.7]),
        box([0.12, 0.1, 0.12], [0.5, 0.2, 0.4]),
        cylinder([0.75, 0.35, 0.12], [0.75, 0.35, 0.45], 0.15),
    ),
    "cube": (box([0, 0, 0], [0.6, 0.6, 0.6]),),
    "lid": (
        cylinder([0, 0, 0], [0, 0, 0.12], 0.45),
        cylinder([0, 0, 0.1], [0, 0, 0.3], 0.1),
        ellipsoid([0, 0, 0.4], [0.17, 0.17, 0.15]),
    ),
}
"""Objects by their names, standing on z = 0: without symmetry, with 24 rotations, and of revolution."""
PITCH = 1.5
"""Distance of the objects on the table."""


@dataclass(frozen=True, eq=False)
class Clutter:
    """A part and a scene that contains it.

    Attributes
    ----------
    part : (N, 3) ndarray
        Its whole surface.
    scene : (M, 3) ndarray
        The table with all objects.
    poses : (K, 4, 4) ndarray
        x_scene = pose x_part, of each instance.
    """

    part: Floats
    scene: Floats
    poses: Floats


def table(
    name: str = "bracket",
    *,
    instances: int = 1,
    objects: int = 16,
    spacing: float = 0.02,
    noise: float = 0.0,
    seed: int = 0,
) -> Clutter:
    """Put instances of a part on a table, among other objects.

    Parameters
    ----------
    name : str, default "bracket"
        One of `PARTS`.
    instances : int, default 1
        Instances of the part; none is possible.
    objects : int, default 16
        Objects on the table, the instances among them.
    spacing : float, default 0.02
        Mean distance between points; the parts are about 1 wide.
    noise : float, default 0
        Standard deviation of the coordinates of both clouds.
    seed : int, default 0
        Of the objects, their places and the samples.

    Returns
    -------
    Clutter

    Raises
    ------
    InputError
        If an argument is out of range.

    Examples
    --------
    >>> example = table("cube", instances=2, objects=4, spacing=0.1)
    >>> example.poses.shape, len(example.part) > 100
    ((2, 4, 4), True)
    """
    check_choice("name", name, PARTS)
    for label, count in (("instances", instances), ("objects", objects), ("seed", seed)):
        check_integer(label, count)
    if instances > objects:
        raise InputError(f"instances: expected at most as many as objects, {objects}, got {instances}")
    density = check_number("spacing", spacing, 1e-3, 1) ** -2
    sigma = check_number("noise", noise, 0, 1)
    rng = np.random.default_rng([seed, 14])
    columns = int(np.ceil(np.sqrt(max(objects, 1))))
    cells = rng.permutation(columns**2)[:objects]
    parts = [box([-PITCH, -PITCH, -0.1], [columns * PITCH, columns * PITCH, 0])]
    poses = []
    for number, cell in enumerate(cells):
        centre = PITCH * np.array([cell // columns, cell % columns, 0]) + [*rng.uniform(-0.2, 0.2, 2), 0]
        T = pose(rotation_zyx(rng.uniform(-np.pi, np.pi)), centre)
        if number < instances:
            poses.append(T)
        chosen = PARTS[name] if number < instances else _object(rng)
        parts += [piece.transformed(T) for piece in chosen]
    part = sample_surface(PARTS[name], density, rng)[0]
    scene = sample_surface(parts, density, rng)[0]
    part, scene = (points + sigma * rng.normal(size=points.shape) for points in (part, scene))
    return Clutter(part, scene, np.array(poses).reshape(-1, 4, 4))


def _object(rng: np.random.Generator) -> list[ConvexPart]:
    """An object that is none of `PARTS`: a few boxes, cylinders, ellipsoids and wedges on each other."""
    pieces: list[ConvexPart] = []
    for _ in range(rng.integers(2, 5)):
        x, y = rng.uniform(-0.25, 0.25, 2)
        wide, deep, high = rng.uniform(0.1, 0.35, 3)
        kind = rng.choice(["box", "cylinder", "ellipsoid", "wedge"])
        if kind == "box":
            pieces.append(box([x - wide, y - deep, 0], [x + wide, y + deep, 2 * high]))
        elif kind == "cylinder":
            pieces.append(cylinder([x, y, 0], [x, y, 2 * high], wide))
        elif kind == "ellipsoid":
            pieces.append(ellipsoid([x, y, high], [wide, deep, high]))
        else:
            pieces.append(gable([x - wide, y - deep, 0], [x + wide, y + deep, 2 * high]))
    return pieces
