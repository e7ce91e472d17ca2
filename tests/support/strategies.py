"""Clouds and rigid motions that hypothesis draws, and small scans that several tests look at."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from graphreg.datasets import synthetic

Floats = NDArray[np.float64]

KINDS = ("blob", "surface", "curve", "clusters", "box")


def make_cloud(kind: str, count: int, seed: int, scale: float = 1.0) -> Floats:
    """Points about the origin, in general position."""
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


def make_motion(seed: int, distance: float) -> Floats:
    rng = np.random.default_rng(seed)
    rotation, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    rotation *= np.sign(np.linalg.det(rotation))
    motion = np.eye(4)
    motion[:3, :3] = rotation
    motion[:3, 3] = rng.uniform(-1, 1, 3) * distance
    return motion


seeds = st.integers(0, 2**32 - 1)
clouds = st.builds(
    make_cloud,
    st.sampled_from(KINDS),
    st.integers(40, 300),
    seeds,
    st.sampled_from([1e-3, 0.1, 1.0, 100.0]),
)
motions = st.builds(make_motion, seeds, st.sampled_from([0.0, 1.0, 1e3, 1e7]))


@lru_cache
def scanned(name: str) -> Floats:
    """A scan of some 6,000 points. Not to be written to."""
    return synthetic.scan(name, points=6000).points


@lru_cache
def scanned_twice(name: str) -> synthetic.Pair:
    """Two such scans, of bodies from 20 degrees apart. Not to be written to."""
    return synthetic.pair(name, 20.0 if name in synthetic.bodies() else None, points=6000)
