"""LiDAR sequences along the streets of a synthetic city, with exact poses, also where all blocks are the same.

    scans = city_routes.follow(city_routes.ROUND)       # once round a block of 250 m, and on along its first street

The same arguments give the same bits. `variant` selects another city.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np

from graphreg.argument_checks import check_flag, check_integer, check_number
from graphreg.clouds import Floats
from graphreg.datasets.city import PLAN, SPINNING, City, grid_city
from graphreg.datasets.scanner import ReturnLoss, cast_rays
from graphreg.datasets.surfaces import rotation_zyx
from graphreg.datasets.synthetic import Scan
from graphreg.errors import InputError
from graphreg.poses import pose

__all__ = ["ROUND", "follow"]

Route = Sequence[tuple[int, int]]
ROUND: Route = ((0, 0), (1, 0), (1, 1), (0, 1), (0, 0), (1, 0))
# Radius of the bends and distance of the lane from the middle of the road, in metres.
BEND, LANE = 8.0, 2.0
# The vehicle sways: amplitude and wavelength of its offset across the lane (m), of its pitch and of its roll (radians).
SWAY = ((0.3, 61.0), (0.006, 23.0), (0.008, 37.0))
# Range of the scanner, in metres, and about what share of its rays has a return.
MAX_RANGE, RETURNS = 50.0, 0.8
LARGEST_CROSSING = 20


def follow(
    route: Route = ROUND,
    *,
    length: float | None = None,
    step: float = 1.0,
    block: tuple[float, float] = (250.0, 250.0),
    alike: bool = False,
    variant: int = 0,
    points: int = 20_000,
    noise: float = 0.02,
    seed: int = 0,
) -> Iterator[Scan]:
    """Scan a city with a spinning LiDAR along a route, on the right of the road.

    Parameters
    ----------
    route : sequence of (int, int), default ROUND
        Crossings, each on a street with the one before: (i, j) is that of the i-th street across and the j-th along.
    length : float, optional
        Metres to go, at most the length of the route, which is the default.
    step : float, default 1
        From one frame to the next, in metres.
    block : (float, float), default (250, 250)
        Distance of the streets along x and along y, in metres, from 40 to 1000.
    alike : bool, default False
        Whether every block has the same houses, trees and cars.
    variant : int, default 0
        Selects another city.
    points : int, default 20000
        Approximate number of points of a frame.
    noise : float, default 0.02
        Standard deviation of the range, in metres.
    seed : int, default 0
        Of the noise and the lost returns.

    Returns
    -------
    iterator of Scan
        Each is computed when it is asked for. Poses are in a frame with the origin at crossing (0, 0), z up.

    Raises
    ------
    InputError
        If an argument is out of range, or the route leaves the streets or turns back on one.

    Examples
    --------
    >>> scans = list(follow(length=3.0, points=500))
    >>> [scan.pose[:2, 3].round().tolist() for scan in scans]
    [[0.0, -2.0], [1.0, -2.0], [2.0, -2.0], [3.0, -2.0]]
    """
    crossings = _checked_route(route)
    distances = tuple(check_number("block", each, 40, 1000) for each in block)
    count = check_number("points", points, 10, 10_000_000)
    sigma = check_number("noise", noise, 0, MAX_RANGE)
    interval = check_number("step", step, 0.01, 100)
    check_flag("alike", alike)
    check_integer("seed", seed)
    check_integer("variant", variant)
    track = _Track(crossings * distances)
    end = track.length if length is None else check_number("length", length, 0, track.length)
    loss = ReturnLoss(0.02, 0.3, MAX_RANGE)
    # The same rays for all frames, as of a real scanner.
    rays = SPINNING.rays(count / RETURNS)

    def scans() -> Iterator[Scan]:
        town = _town(variant, (distances[0], distances[1]), tuple((1 + crossings.max(axis=0)).tolist()), alike)
        for k in range(1 + int(end / interval + 1e-9)):
            T_world_sensor = track.sensor_pose(k * interval)
            rng = np.random.default_rng([seed, k, 17])
            ranges = cast_rays(town.scene, SPINNING, rays, T_world_sensor, loss, rng)
            hit = np.isfinite(ranges)
            measured = ranges[hit] + sigma * rng.normal(size=int(hit.sum()))
            yield Scan(np.ascontiguousarray(measured[:, None] * rays[hit]), T_world_sensor, "city")

    return scans()


def _checked_route(route: Route) -> Floats:
    try:
        crossings = np.array(route, np.int64).reshape(-1, 2)
    except (TypeError, ValueError, OverflowError) as problem:
        raise InputError(f"route: expected pairs of whole numbers, got {route!r}") from problem
    if len(crossings) < 2 or crossings.min() < 0 or crossings.max() > LARGEST_CROSSING:
        raise InputError(f"route: expected two crossings or more, with numbers from 0 to {LARGEST_CROSSING}")
    ways = np.diff(crossings, axis=0)
    if ((ways != 0).sum(axis=1) != 1).any():
        raise InputError("route: each crossing must differ from the one before in one of its two numbers")
    directions = np.sign(ways)
    if (directions[1:] == -directions[:-1]).all(axis=1).any():
        raise InputError("route: it turns back on a street")
    return crossings.astype(np.float64)


class _Track:
    """The middle of the road along a polyline with right angles, bends rounded."""

    def __init__(self, corners: Floats) -> None:
        ways = np.diff(corners, axis=0)
        directions = ways / np.linalg.norm(ways, axis=1, keepdims=True)
        # Pieces: length, start, heading there, and curvature.
        self._pieces: list[tuple[float, Floats, float, float]] = []
        start = corners[0]
        for k, direction in enumerate(directions):
            heading = float(np.arctan2(direction[1], direction[0]))
            turn = 0.0
            if k + 1 < len(directions):
                ahead = directions[k + 1]
                turn = float(direction[0] * ahead[1] - direction[1] * ahead[0])
            end = corners[k + 1] - BEND * abs(turn) * direction
            self._pieces.append((float(np.linalg.norm(end - start)), start, heading, 0.0))
            start = end
            if turn:
                self._pieces.append((BEND * np.pi / 2, end, heading, turn / BEND))
                start = corners[k + 1] + BEND * directions[k + 1]
        self.length = sum(piece[0] for piece in self._pieces)

    def sensor_pose(self, distance: float) -> Floats:
        """T_world_sensor after this distance along the middle of the road."""
        starts = np.cumsum([0.0, *(piece[0] for piece in self._pieces[:-1])])
        number = int(np.searchsorted(starts, distance, side="right")) - 1
        _, start, heading, curvature = self._pieces[number]
        rest = distance - starts[number]
        if curvature:
            turned = heading + curvature * rest
            centre = start + np.array([-np.sin(heading), np.cos(heading)]) / curvature
            position = centre - np.array([-np.sin(turned), np.cos(turned)]) / curvature
            heading = turned
        else:
            position = start + rest * np.array([np.cos(heading), np.sin(heading)])
        aside, pitch, roll = (size * np.sin(2 * np.pi * distance / wave) for size, wave in SWAY)
        position = position + (LANE + aside) * np.array([np.sin(heading), -np.cos(heading)])
        return pose(rotation_zyx(heading, pitch, roll), [*position, PLAN.sensor])


@lru_cache(maxsize=2)
def _town(variant: int, block: tuple[float, float], crossings: tuple[int, int], alike: bool) -> City:
    """The blocks between these crossings, and one more on every side."""
    across, along = (size * np.arange(-1.0, count + 1) for size, count in zip(block, crossings, strict=True))
    return grid_city(across, along, np.random.default_rng([variant, 19]), alike)
