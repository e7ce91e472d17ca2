"""The synthetic city: frames lie on the map that they were scanned in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.spatial import cKDTree

from graphreg.datasets.city import city_map, frame
from graphreg.errors import InputError
from graphreg.poses import transform

SIZE = 200.0


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_a_frame_lies_on_the_map(seed: int) -> None:
    scan, points = frame(size=SIZE, points=5000, noise=0.0, seed=seed), city_map(size=SIZE)
    distances, _ = cKDTree(points).query(transform(scan.pose, scan.points))
    # A nearest sample at density 4 is farther than a metre with a probability of exp(-4 pi) on a plane.
    assert (distances < 1.0).mean() > 0.97


@pytest.mark.slow
def test_arguments_determine_every_bit(forget_rays: Callable[[], None]) -> None:
    assert np.array_equal(city_map(size=SIZE, spacing=1.0), city_map(size=SIZE, spacing=1.0))
    assert not np.array_equal(city_map(size=SIZE, spacing=1.0)[:9], city_map(size=SIZE, spacing=1.0, seed=1)[:9])
    first = frame(size=SIZE, points=2000, seed=4)
    forget_rays()
    again, other = (frame(size=SIZE, points=2000, seed=seed) for seed in (4, 5))
    assert np.array_equal(first.points, again.points)
    assert np.array_equal(first.pose, again.pose)
    assert not np.array_equal(first.pose, other.pose)


@pytest.mark.slow
def test_cities_differ() -> None:
    one, other = (city_map(variant, size=SIZE, spacing=1.0) for variant in (0, 1))
    high = [points[points[:, 2] > 3.0] for points in (one, other)]
    assert (cKDTree(high[1]).query(high[0])[0] > 2.0).mean() > 0.2


@pytest.mark.slow
def test_the_map_fills_its_square() -> None:
    points = city_map(size=SIZE, spacing=1.0)
    assert points[:, :2].min() > -10
    assert points[:, :2].max() < SIZE + 10
    assert np.ptp(points[:, 0]) > SIZE
    assert np.ptp(points[:, 1]) > SIZE


@pytest.mark.parametrize(
    "arguments", [{"size": 10}, {"size": np.nan}, {"variant": -1}, {"seed": 0.5}, {"points": 0}, {"noise": -1}]
)
def test_bad_arguments_are_named(arguments: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=next(iter(arguments))):
        frame(**arguments)
    with pytest.raises(InputError, match="spacing"):
        city_map(size=SIZE, spacing=0)
