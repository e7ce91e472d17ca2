"""Theorems 1 and 2: rigid transforms change neither the response intensity nor V_g, to the precision of float64.

Transforming a cloud rounds its coordinates: by `rounding` below, a few units in the last place of the largest one.
Every tolerance here is a multiple of that error, propagated through the formula. Where two distances are equal up to
rounding, the k nearest neighbours themselves are not determined: such points are left out, and counted, so that a cloud
that consists of them does not pass as a proof.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from numpy.typing import NDArray
from tests.support.strategies import clouds, random_cloud, random_transform, transforms
from tests.support.twins import fit_planes, nearest

import graphreg

Floats = NDArray[np.float64]
K = 10


def moved(transformation: Floats, points: Floats) -> Floats:
    result: Floats = points @ transformation[:3, :3].T + transformation[:3, 3]
    return result


def rounding_after(transformation: Floats, points: Floats) -> float:
    """The largest error of a coordinate: three products, three sums, a rotation that is orthogonal to rounding."""
    largest = np.abs(points).max() + np.abs(transformation[:3, 3]).max()
    return float(8 * np.finfo(float).eps * largest)


def neighbourhoods(points: Floats, rounding: float) -> tuple[NDArray[np.int64], Floats, NDArray[np.bool_]]:
    """Neighbours, tau, and the mask of points of which rounding changes neither neighbours nor nonzero weights."""
    index, squared = nearest(points, points, K + 1, exclude_self=True)
    distance = np.sqrt(squared)
    safe = np.diff(distance[:, K - 2 :], axis=1).min(axis=1) > 16 * rounding
    return index[:, :K], distance[:, K - 1], safe


def assert_theorem_1(points: Floats, transformation: Floats) -> None:
    rounding = rounding_after(transformation, points)
    _, _, safe = neighbourhoods(points, rounding)
    assert safe.mean() > 0.9
    before = np.sqrt(graphreg.intensity(points))
    after = np.sqrt(graphreg.intensity(moved(transformation, points)))
    # |x_i - mean| is a length. Its error: that of an offset, 2 sqrt(3) roundings, and as much through each of the K
    # weights, which change by at most 8 / tau per unit of distance, over a degree of at least (K - 1) exp(-2).
    tolerance = 2 * np.sqrt(3) * rounding * (1 + 2 * 8 * K / ((K - 1) * np.exp(-2)))
    assert (np.abs(after - before)[safe] <= tolerance).all()


def assert_theorem_2(points: Floats, transformation: Floats) -> None:
    rounding = rounding_after(transformation, points)
    index, tau, safe = neighbourhoods(points, rounding)
    _, _, shares = fit_planes(points, index)
    gap = np.minimum(shares[:, 1] - shares[:, 0], shares[:, 2] - shares[:, 0])
    # A plane is determined where its smallest eigenvalue is distinct; V_g also needs the planes of the neighbours.
    determined = safe & (gap > 0.01)
    usable = determined & determined[index].all(axis=1)
    assert usable.mean() > 0.1
    before, after = graphreg.invariants(points), graphreg.invariants(moved(transformation, points))
    # Offsets are off by 2 sqrt(3) roundings of at most tau, the covariance relative to its trace by twice K times that,
    # and the normal by that over the gap. V_g sums K differences of two normals (at most 2 in square), each off by
    # twice as much, and weights off by 8 offsets each.
    offset = 2 * np.sqrt(3) * rounding / tau
    scatter = 1 / np.maximum(_relative_scatter(points, index, tau), 1e-12)
    plane = 2 * K * offset * scatter / np.maximum(gap, 0.01) + 64 * np.finfo(float).eps / np.maximum(gap, 0.01) ** 2
    worst_plane = np.maximum(plane, plane[index].max(axis=1))
    tolerance = K * (2 * np.sqrt(2) * 2 * worst_plane + 3 * 8 * offset)
    for feature in range(before.shape[1]):
        assert (np.abs(after - before)[usable, feature] <= tolerance[usable]).all()


def _relative_scatter(points: Floats, index: NDArray[np.int64], tau: Floats) -> Floats:
    """The trace of the covariance of a neighbourhood in units of K tau^2."""
    members = np.concatenate([points[:, None], points[index]], axis=1)
    trace: Floats = ((members - members.mean(axis=1, keepdims=True)) ** 2).sum(axis=(1, 2))
    return trace / (K * tau**2)


@given(clouds, transforms)
def test_theorem_1(points: Floats, transformation: Floats) -> None:
    assert_theorem_1(points, transformation)


@given(clouds, transforms)
def test_theorem_2(points: Floats, transformation: Floats) -> None:
    assert_theorem_2(points, transformation)


@pytest.mark.slow
def test_far_from_the_origin_where_float32_would_fail() -> None:
    points = random_cloud("surface", 800, 7)
    transformation = random_transform(11, 1e7)
    far = moved(transformation, points)
    assert_theorem_1(points, transformation)
    assert_theorem_2(points, transformation)
    before = graphreg.intensity(points)
    assert np.median(np.abs(graphreg.intensity(far) / before - 1)) < 1e-4
    in_float32 = graphreg.intensity(far.astype(np.float32))
    assert np.median(np.abs(in_float32 / before - 1)) > 0.5


def test_a_stretch_changes_both() -> None:
    """The converse: a transform that is not rigid changes intensity and V_g."""
    points = random_cloud("surface", 500, 3)
    stretched = points * [1.0, 1.0, 1.2]
    assert np.median(np.abs(graphreg.intensity(stretched) / graphreg.intensity(points) - 1)) > 1e-3
    assert np.median(np.abs(graphreg.invariants(stretched) - graphreg.invariants(points))[:, 0]) > 1e-4
