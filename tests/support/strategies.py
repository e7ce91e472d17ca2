"""Hypothesis strategies for point clouds and rigid transforms, and small synthetic scans that several tests share."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

import graphreg
from graphreg.datasets import synthetic

Floats = NDArray[np.float64]

CLOUD_KINDS = ("blob", "surface", "curve", "clusters", "box")
SMALL_SCAN = 6000


def random_cloud(kind: str, count: int, seed: int, scale: float = 1.0) -> Floats:
    """Sample (count, 3) points about the origin, in general position."""
    rng = np.random.default_rng(seed)
    if kind == "blob":
        points = rng.normal(size=(count, 3))
    elif kind == "surface":
        u, v = rng.uniform(-1, 1, (2, count))
        points = np.stack([u, v, 0.3 * np.sin(3 * u) * np.cos(2 * v) + 0.01 * rng.normal(size=count)], 1)
    elif kind == "curve":
        t = rng.uniform(0, 6, count)
        points = np.stack([np.cos(t), np.sin(2 * t), t / 3], 1) + 0.02 * rng.normal(size=(count, 3))
    elif kind == "clusters":
        points = rng.normal(size=(5, 3))[rng.integers(0, 5, count)] * 10 + rng.normal(size=(count, 3))
    else:
        points = rng.uniform(-1, 1, (count, 3))
        points[np.arange(count), rng.integers(0, 3, count)] = rng.choice([-1.0, 1.0], count)
        points += 1e-3 * rng.normal(size=points.shape)
    return np.asarray(points * scale, np.float64)


def random_transform(seed: int, distance: float) -> Floats:
    """Sample a (4, 4) rigid transform: a uniform rotation, a translation of up to `distance` along each axis."""
    rng = np.random.default_rng(seed)
    rotation, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    rotation *= np.sign(np.linalg.det(rotation))
    transform = np.eye(4)
    transform[:3, :3] = rotation
    transform[:3, 3] = rng.uniform(-1, 1, 3) * distance
    return transform


seeds = st.integers(0, 2**32 - 1)
clouds = st.builds(
    random_cloud,
    st.sampled_from(CLOUD_KINDS),
    st.integers(40, 300),
    seeds,
    st.sampled_from([1e-3, 0.1, 1.0, 100.0]),
)
transforms = st.builds(random_transform, seeds, st.sampled_from([0.0, 1.0, 1e3, 1e7]))


@lru_cache
def small_scan(name: str) -> Floats:
    """The points of a synthetic scan, about 6,000. Shared between tests: do not write to it."""
    return synthetic.scan(name, points=SMALL_SCAN).points


@lru_cache
def small_pair(name: str) -> synthetic.Pair:
    """Two such scans, of bodies 20 degrees apart. Shared between tests: do not write to them."""
    return synthetic.pair(name, 20.0 if name in synthetic.bodies() else None, points=SMALL_SCAN)


@lru_cache
def small_result(name: str) -> graphreg.Result:
    """The registration of these two, with the usual settings."""
    return graphreg.register(small_pair(name).source, small_pair(name).target)
