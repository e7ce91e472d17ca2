"""Scans around a synthetic body in any order and pose, whose true poses are known."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

import graphreg
from graphreg.clouds import Floats, extent
from graphreg.datasets import synthetic
from graphreg.metrics import angular_error
from graphreg.multiscan.multiway_result import Multiway
from graphreg.poses import inverse, transform
from tests.support.strategies import random_transform

# The order in which the scans come, of positions 40 degrees apart.
ORDER = (2, 0, 3, 1)


@lru_cache
def body_scans() -> tuple[tuple[Floats, ...], tuple[Floats, ...]]:
    """Four scans of one body, each in a frame of its own, and the true poses T_world_scan. Not to be written to."""
    scans = list(synthetic.sequence("hare", 4, 40, points=2000))
    frames = [random_transform(number, 1.0) for number in ORDER]
    clouds = tuple(transform(frame, scans[n].points) for n, frame in zip(ORDER, frames, strict=True))
    return clouds, tuple(scans[n].pose @ inverse(frame) for n, frame in zip(ORDER, frames, strict=True))


@lru_cache
def foreign_scan() -> Floats:
    """A scan of another body. Not to be written to."""
    return synthetic.scan("casting", points=600).points


@lru_cache
def registered_body() -> Multiway:
    """The four scans of one body, registered."""
    return graphreg.multiway(body_scans()[0])


def assert_registered(
    result: Multiway, group: tuple[int, ...], clouds: tuple[Floats, ...], truth: tuple[Floats, ...]
) -> None:
    """One group; every pose within half a degree, and within 0.5 % of the size of its scan."""
    assert result.groups == (group,)
    assert np.array_equal(result.poses[group[0]], np.eye(4))
    for scan in group:
        expected = inverse(truth[group[0]]) @ truth[scan]
        centroid = clouds[scan].mean(axis=0)[None]
        distance = np.linalg.norm(transform(result.poses[scan], centroid) - transform(expected, centroid))
        assert angular_error(result.poses[scan], expected) < 0.5
        assert distance < 0.005 * extent(clouds[scan])
