"""Coincident clusters: found and left out whatever their share and width; clean clouds have none."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import cKDTree
from tests.support.strategies import Floats, clouds, random_cloud, seeds, small_pair, small_scan

import graphreg
from graphreg.datasets import synthetic
from graphreg.engine.coincident_points import coincident_points

SCANS = ("casting", "dragon", "room", "street")


def with_cluster(
    points: Floats, share: float, width: float, seed: int, at_surface: bool = False
) -> tuple[Floats, Floats]:
    """Points, some of which are replaced by a cluster at the origin or at one of them; and which."""
    rng = np.random.default_rng(seed)
    replaced = rng.random(len(points)) < share
    centre = points[rng.integers(len(points))] if at_surface else np.zeros(3)
    radius = np.median(np.linalg.norm(points - np.median(points, axis=0), axis=1))
    spoilt = points.copy()
    spoilt[replaced] = centre + rng.uniform(-1, 1, (np.count_nonzero(replaced), 3)) * width * radius
    return spoilt, replaced


shares = st.floats(0.02, 0.85)
widths = st.floats(-9, -3).map(lambda exponent: 10.0**exponent)


@pytest.mark.parametrize("name", SCANS)
def test_scans_have_no_coincident_clusters(name: str) -> None:
    scan = small_scan(name)
    assert coincident_points(scan) is None
    outliers = np.random.default_rng(0).uniform(-3, 3, (len(scan), 3)) * np.ptp(scan)
    assert coincident_points(np.vstack([scan, scan.mean(axis=0) + outliers])) is None
    assert coincident_points(np.repeat(scan, 3, axis=0)) is None


@given(clouds)
def test_nor_do_small_clouds(points: Floats) -> None:
    assert coincident_points(points) is None


@given(st.sampled_from(SCANS), shares, widths, seeds, st.booleans())
def test_a_cluster_is_found_wherever_it_is(name: str, share: float, width: float, seed: int, at_surface: bool) -> None:
    points, replaced = with_cluster(small_scan(name), share, width, seed, at_surface)
    found = coincident_points(points)
    assert found is not None
    assert found[replaced].all()
    assert np.count_nonzero(found[~replaced]) <= 0.1 * np.count_nonzero(~replaced)


def test_of_a_cloud_that_is_a_few_clusters_nothing_is_left_out() -> None:
    centres = 100 * random_cloud("blob", 5, 0)
    assert coincident_points(np.vstack([centre + 1e-3 * random_cloud("blob", 200, 1) for centre in centres])) is None


def test_left_out_points_are_counted_with_their_weights() -> None:
    points, replaced = with_cluster(small_scan("room"), 0.3, 1e-4, 0)
    weights = np.where(replaced, 1e-3, 1.0)
    cloud = graphreg.prepare(points, weights=weights)
    assert cloud.coincident == np.count_nonzero(replaced)
    assert cloud.weights is not None
    assert cloud.weights.min() == 1.0
    assert len(cloud) == np.count_nonzero(~replaced)
    assert cKDTree(points[~replaced]).query(cloud.points)[0].max() < 1e-12


@pytest.mark.slow
@settings(max_examples=8)
@given(shares, widths, seeds, st.booleans())
def test_clusters_do_not_change_the_pose(share: float, width: float, seed: int, at_surface: bool) -> None:
    pair = small_pair("casting")
    source, left_out = with_cluster(pair.source, min(share, 0.7), width, seed, at_surface)
    target, _ = with_cluster(pair.target, min(share, 0.7), width, seed + 1, at_surface)
    result = graphreg.register(source, target)
    assert result.success
    assert result.coincident[0] >= np.count_nonzero(left_out)
    np.testing.assert_allclose(result.transformation, pair.T_target_source, atol=0.02)


@pytest.mark.slow
@settings(max_examples=5)
@given(st.floats(0, 1), st.floats(-12, 0.5), seeds, st.booleans())
def test_no_cluster_ends_in_another_error_than_an_input_error(
    share: float, exponent: float, seed: int, at_surface: bool
) -> None:
    scan = synthetic.scan("room", points=1500).points
    points, _ = with_cluster(scan, share, 10.0**exponent, seed, at_surface)
    with contextlib.suppress(graphreg.InputError):
        graphreg.register(points, scan)


@pytest.mark.slow
@pytest.mark.parametrize("method", sorted(graphreg.methods()))
def test_every_method_leaves_them_out(method: str) -> None:
    pair = synthetic.pair("casting", 20.0, points=400)
    source, replaced = with_cluster(pair.source, 0.3, 1e-4, 0)
    result = graphreg.register(source, pair.target, method=method)
    assert result.coincident == (np.count_nonzero(replaced), 0)


@pytest.mark.slow
def test_frames_with_returns_at_the_sensor_make_a_trajectory() -> None:
    rng = np.random.default_rng(0)
    frames = [scan.points.copy() for scan in synthetic.sequence("street", 3, 1.0, points=6000)]
    for frame in frames:
        at_sensor = rng.random(len(frame)) < 0.3
        frame[at_sensor] = rng.uniform(-1e-3, 1e-3, (np.count_nonzero(at_sensor), 3))
    assert all(step.success for step in graphreg.sequence(frames).steps)
