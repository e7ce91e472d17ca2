"""A synthetic city: a square kilometre of streets as a sampled map, and LiDAR frames in it with exact poses.

    points = city.city_map()                    # 1 km x 1 km, seen from its streets
    frame = city.frame(seed=3)                  # x_map = frame.pose x_frame

The same arguments give the same bits. `variant` selects another city.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import pairwise

import numpy as np

from graphreg.argument_checks import check_integer, check_number
from graphreg.clouds import Floats, Mask
from graphreg.datasets.convex_scenes import ConvexPart, ConvexScene, box, cylinder, ellipsoid, gable
from graphreg.datasets.props import car, placed, street_furniture
from graphreg.datasets.scanner import ReturnLoss, Sensor, simulate_scan
from graphreg.datasets.surface_sampling import sample_surface
from graphreg.datasets.surfaces import rotation_zyx
from graphreg.datasets.synthetic import Scan
from graphreg.poses import pose

__all__ = ["city_map", "frame"]


@dataclass(frozen=True)
class CityPlan:
    """Lengths of the city in metres, all chosen.

    Parameters
    ----------
    blocks : (float, float)
        Mean distance of the streets along x and along y.
    shift : float
        Largest shift of a street from a regular grid.
    road, walk, yard : float
        Half the width of a road, the width of a pavement, and that of the ground beyond it.
    depth : float
        From the middle of a street to the farthest surfaces of the map.
    passing : float
        Distance along the street from which a surface is still seen.
    margin : float
        From the ends of a street to the first and the last frame.
    sensor : float
        Height of the sensor above the road.
    max_range : float
        Of the sensor.
    """

    blocks: tuple[float, float] = (333.0, 250.0)
    shift: float = 25.0
    road: float = 5.5
    walk: float = 3.0
    yard: float = 4.0
    depth: float = 25.0
    passing: float = 20.0
    margin: float = 30.0
    sensor: float = 1.8
    max_range: float = 80.0


PLAN = CityPlan()
SPINNING = Sensor("spherical", (-np.pi, np.pi), (np.radians(-24.8), np.radians(15.0)), max_incidence=88, channels=64)


@dataclass(frozen=True, eq=False)
class City:
    """Parts of a city, and the coordinates of its streets.

    Parameters
    ----------
    scene : ConvexScene
    across, along : (K,) and (L,) arrays
        x of the streets along y, y of the streets along x.
    size : float
        Length of the streets, in metres.
    """

    scene: ConvexScene
    across: Floats
    along: Floats
    size: float


def city_map(variant: int = 0, *, size: float = 1000.0, spacing: float = 0.5, seed: int = 0) -> Floats:
    """Sample the surfaces of a city that face its streets.

    Parameters
    ----------
    variant : int, default 0
        Selects another city.
    size : float, default 1000
        Edge length of the city, in metres, from 200 to 5000.
    spacing : float, default 0.5
        Mean distance between points, in metres, from 0.05 to 10. By default about
        two million points, in 1.2 million voxels of 0.5 m.
    seed : int, default 0
        Of the samples.

    Returns
    -------
    (N, 3) array
        Points in metres; the city is the square from the origin to (size, size), z up, the road at 0.

    Raises
    ------
    InputError
        If an argument is out of range.

    Examples
    --------
    >>> points = city_map(size=200, spacing=1.0)
    >>> len(points) > 10_000, bool(points[:, 2].max() > 5)
    (True, True)
    """
    check_integer("seed", seed)
    interval = check_number("spacing", spacing, 0.05, 10)
    town = _city_of(variant, size)
    rng = np.random.default_rng([seed, 11])
    return sample_surface(town.scene.parts, interval**-2, rng, partial(_faces_street, town))[0]


def frame(variant: int = 0, *, size: float = 1000.0, points: int = 60_000, noise: float = 0.02, seed: int = 0) -> Scan:
    """Scan a city with a spinning LiDAR from somewhere on one of its streets.

    Parameters
    ----------
    variant : int, default 0
        Selects another city.
    size : float, default 1000
        Edge length of the city, in metres, from 200 to 5000.
    points : int, default 60000
        Approximate number of points.
    noise : float, default 0.02
        Standard deviation of the range, in metres.
    seed : int, default 0
        Of the position and heading, the noise and the lost returns.

    Returns
    -------
    Scan
        Its pose is that of the sensor in the frame of `city_map` for the same `variant` and `size`.

    Raises
    ------
    InputError
        If an argument is out of range.

    Examples
    --------
    >>> scan = frame(size=200, points=1000, seed=1)
    >>> scan.name, scan.pose.shape
    ('city', (4, 4))
    """
    check_integer("seed", seed)
    count = check_number("points", points, 10, 10_000_000)
    sigma = check_number("noise", noise, 0, PLAN.max_range)
    town = _city_of(variant, size)
    rng = np.random.default_rng([seed, 12])
    place = rng.uniform(PLAN.margin, town.size - PLAN.margin)
    on_x, lane = rng.random() < 0.5, rng.uniform(1.0, 2.5)
    street = rng.choice(town.along if on_x else town.across)
    heading = rng.choice([0.0, np.pi]) + (0.0 if on_x else np.pi / 2)
    ahead = np.array([np.cos(heading), np.sin(heading), 0.0])
    right = np.array([ahead[1], -ahead[0], 0.0])
    centre = np.array([place, street, PLAN.sensor] if on_x else [street, place, PLAN.sensor])
    tilt = rng.normal(size=2) * 0.01
    T_world_sensor = pose(rotation_zyx(heading + rng.normal() * 0.1, *tilt), centre + lane * right)
    loss = ReturnLoss(0.02, 0.3, PLAN.max_range)
    return Scan(
        simulate_scan(town.scene, SPINNING, T_world_sensor, int(count), sigma, loss, rng), T_world_sensor, "city"
    )


def _city_of(variant: int, size: float) -> City:
    check_integer("variant", variant)
    return _city(int(variant), check_number("size", size, 200, 5000))


@lru_cache(maxsize=2)
def _city(variant: int, size: float) -> City:
    rng = np.random.default_rng([variant, 13])
    across, along = (_streets(rng, size, mean) for mean in PLAN.blocks)
    return grid_city(across, along, rng)


def grid_city(across: Floats, along: Floats, rng: np.random.Generator, alike: bool = False) -> City:
    """A city of these streets, at x = `across` and y = `along`; `alike`: every block has the same houses."""
    clear = PLAN.road
    parts = [box([x - clear, along[0] - clear, -1.0], [x + clear, along[-1] + clear, 0]) for x in across]
    # Between the others, so that no two roads coincide.
    parts += [
        box([x0 + clear, y - clear, -1.0], [x1 - clear, y + clear, 0]) for x0, x1 in pairwise(across) for y in along
    ]
    seed = int(rng.integers(2**31)) if alike else None
    for x0, x1 in pairwise(across):
        for y0, y1 in pairwise(along):
            own = rng if seed is None else np.random.default_rng(seed)
            parts += _block(own, x0 + clear, x1 - clear, y0 + clear, y1 - clear)
    return City(ConvexScene(parts), across, along, float(across[-1] - across[0]))


def _streets(rng: np.random.Generator, size: float, mean: float) -> Floats:
    """Coordinates of the streets of one direction, those at the rims included."""
    regular = np.linspace(0, size, 1 + max(1, round(size / mean)))
    regular[1:-1] += rng.uniform(-1, 1, len(regular) - 2) * min(PLAN.shift, 0.2 * mean)
    return regular


def _block(rng: np.random.Generator, x0: float, x1: float, y0: float, y1: float) -> Iterator[ConvexPart]:
    """A block between its kerbs: on each of its four sides a pavement, houses, gardens, trees, cars."""
    for corner, length, heading in (
        ([x0, y0, 0.0], x1 - x0, 0.0),
        ([x1, y0, 0.0], y1 - y0, np.pi / 2),
        ([x1, y1, 0.0], x1 - x0, np.pi),
        ([x0, y1, 0.0], y1 - y0, -np.pi / 2),
    ):
        yield from placed(_side(rng, length), corner, heading)


def _side(rng: np.random.Generator, length: float) -> Iterator[ConvexPart]:
    """One side of a block along x from 0 to `length`, its kerb at y = 0 and its houses beyond."""
    yield box([0, 0, -0.5], [length, PLAN.walk + PLAN.yard, 0.13])
    x = PLAN.walk + rng.uniform(0.5, 6.0)
    while x < length - PLAN.walk - 14.0:
        wide, kind = rng.uniform(8.0, 24.0), rng.choice(["house", "house", "house", "garden", "hall"])
        wide = min(wide, length - PLAN.walk - x - 1.0)
        if kind == "garden":
            yield box([x, PLAN.walk, -0.3], [x + wide, PLAN.walk + 0.4, rng.uniform(0.8, 1.8)])
            yield from _crown(rng, x + wide * rng.random(), PLAN.walk + rng.uniform(3, 6), rng.uniform(6, 11))
        else:
            yield from _building(rng, x, x + wide, PLAN.walk + rng.uniform(0.0, 3.0), kind)
        x += wide + (rng.uniform(1.5, 8.0) if rng.random() < 0.3 else 0.0)
    at = rng.uniform(4, 12)
    while at < length - 6:
        kind = rng.choice(["car", "car", "tree", "furniture", "nothing"])
        if kind == "car":
            parked = car(rng, rng.choice(["car", "car", "van"]))
            yield from placed(parked, [at, -rng.uniform(1.0, 1.3), 0], rng.normal() * 0.04 + rng.choice([0, np.pi]))
        elif kind == "tree":
            yield from _crown(rng, at, rng.uniform(0.6, 1.2), rng.uniform(4, 9))
        elif kind == "furniture":
            yield from street_furniture(rng, at, rng.uniform(0.4, 2.2), -1)
        at += rng.uniform(5.5, 13)


def _building(rng: np.random.Generator, x0: float, x1: float, front: float, kind: str) -> Iterator[ConvexPart]:
    """A building from x0 to x1 that faces -y, with bays, balconies, recessed storeys and a roof."""
    height = rng.uniform(4, 6) if kind == "hall" else rng.uniform(6, 22)
    deep, middle = rng.uniform(9, 13), (x0 + x1) / 2
    yield box([x0, front, -0.3], [x1, front + deep, height])
    if kind == "hall":
        for x in np.arange(x0 + 1, x1 - 1, rng.uniform(3, 5)):
            yield box([x, front - 0.35, -0.3], [x + 0.5, front + 0.1, height + 0.3])
        return
    storey = rng.uniform(2.8, 3.6)
    for low in np.arange(storey, height - storey / 2, storey):
        for _ in range(rng.integers(1, 4)):
            x, wide = rng.uniform(x0, x1 - 1.5), rng.uniform(1.2, 3.5)
            reach = rng.uniform(0.3, 1.3)
            top = low + (rng.uniform(0.9, 1.2) if rng.random() < 0.6 else storey)
            yield box([x, front - reach, low], [min(x + wide, x1), front + 0.1, min(top, height)])
    if rng.random() < 0.6:
        yield box([x0 - 0.2, front - 0.5, height - 0.4], [x1 + 0.2, front + 0.2, height + 0.1])
    if rng.random() < 0.5:
        x = rng.uniform(x0, max(x0 + 0.1, x1 - 4))
        yield box([x, front - 1.5, 2.7], [x + rng.uniform(2, 4), front + 0.1, 2.9])
    if rng.random() < 0.6:
        roof = gable([-deep / 2, x0 - middle, 0], [deep / 2, x1 - middle, rng.uniform(2, 5)])
        yield roof.transformed(pose(rotation_zyx(-np.pi / 2), [middle, front + deep / 2, height]))
    yield box([x0 + 1, front + 2, height - 1], [x0 + 2, front + 3, height + rng.uniform(2, 6)])


def _crown(rng: np.random.Generator, x: float, y: float, height: float) -> Iterator[ConvexPart]:
    """A tree of few parts: a trunk, and ellipsoids for its crown."""
    yield cylinder([x, y, -0.1], [x + rng.normal() * 0.1, y, 0.6 * height], 0.025 * height)
    for _ in range(rng.integers(3, 6)):
        centre = np.array([x, y, 0.65 * height]) + rng.normal(size=3) * [0.12, 0.12, 0.1] * height
        yield ellipsoid(centre, rng.uniform(0.09, 0.2, 3) * height, rotation_zyx(*rng.uniform(0, 3, 3)))


def _faces_street(town: City, points: Floats, normals: Floats) -> Mask:
    """Which samples a vehicle that passes by on the nearest street sees from the front, at some place on its way."""
    seen = np.zeros(len(points), bool)
    for axis, streets in ((0, town.across), (1, town.along)):
        aside = streets[np.searchsorted((streets[1:] + streets[:-1]) / 2, points[:, axis])] - points[:, axis]
        facing = aside * normals[:, axis] + (PLAN.sensor - points[:, 2]) * normals[:, 2]
        facing += PLAN.passing * np.abs(normals[:, 1 - axis])
        seen |= (np.abs(aside) < PLAN.depth) & (facing > 0)
    return seen
