"""Clutter: what fills the volume is found, whatever its share; surfaces and uneven scans are left alone."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.strategies import random_transform

import graphreg
from graphreg.clouds import Floats
from graphreg.datasets import ambiguous_scenes, synthetic
from graphreg.engine.clutter_removal import find_clutter, without_clutter
from graphreg.engine.preprocessing import preprocess
from graphreg.features.graphs import neighbour_graph
from graphreg.metrics import rmsd

K = 10


def with_clutter(points: Floats, ratio: float, seed: int = 0) -> tuple[Floats, Floats]:
    corrupted, is_outlier = synthetic.add_outliers(points, ratio, "uniform", seed)
    return corrupted, is_outlier


@pytest.mark.parametrize("name", ["hare", "casting", "hand"])
@pytest.mark.parametrize(("ratio", "precision"), [(1, 0.9), (3, 0.8), (10, 0.5)])
def test_most_clutter_is_found_and_most_of_the_surface_is_kept(name: str, ratio: float, precision: float) -> None:
    points, is_outlier = with_clutter(synthetic.scan(name, points=3_000).points, ratio)
    clutter = find_clutter(neighbour_graph(points, K))
    assert np.mean(~clutter[~is_outlier]) > 0.7
    assert np.mean(~is_outlier[~clutter]) > precision  # 1 / (1 + ratio) of all points are on the surface


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hare", "casting", "hand", "room", "street", "facade"])
def test_scans_have_no_clutter(name: str) -> None:
    assert not find_clutter(neighbour_graph(synthetic.scan(name, points=4_000).points, K)).any()


@pytest.mark.parametrize("name", ["box grid", "stairs", "cube", "parked cars"])
def test_neither_have_sampled_surfaces(name: str) -> None:
    points = ambiguous_scenes.pair(name, points=4_000).source
    assert not find_clutter(neighbour_graph(points, K)).any()


def test_neither_has_a_body_of_which_one_part_is_sampled_more_densely() -> None:
    directions = np.random.default_rng(0).normal(size=(6_000, 3))
    sphere = directions / np.linalg.norm(directions, axis=1, keepdims=True)
    dense = sphere[:, 2] > 0
    points = np.concatenate([sphere[dense], sphere[~dense][::6]])
    assert not find_clutter(neighbour_graph(points, K)).any()


def test_coincident_points_and_lines_have_no_clutter() -> None:
    line = np.linspace(0, 1, 200)[:, None] * [1.0, 2.0, 0.5]
    assert not find_clutter(neighbour_graph(line, K)).any()
    many = np.repeat(np.random.default_rng(0).normal(size=(20, 3)), 20, axis=0)
    assert not find_clutter(neighbour_graph(many, K)).any()


def test_a_cloud_without_clutter_is_returned_as_it_is() -> None:
    cloud = preprocess(synthetic.scan("hare", points=3_000).points, "source")
    assert without_clutter(cloud, K) is cloud


def test_a_shift_and_a_scale_change_nothing() -> None:
    points, _ = with_clutter(synthetic.scan("hare", points=2_000).points, 3)
    here = find_clutter(neighbour_graph(points, K))
    there = find_clutter(neighbour_graph(512 * points + [64.0, 32.0, -128.0], K))
    assert np.mean(here != there) < 1e-3  # neighbours at nearly equal distances may change places


def test_clutter_is_found_in_a_cube_however_it_is_rotated() -> None:
    """In a cube all axes are principal axes, and the box around a rotated one is up to five times as large."""
    rng = np.random.default_rng(0)
    directions = rng.normal(size=(6_000, 3))
    sphere = 0.4 * directions / np.linalg.norm(directions, axis=1, keepdims=True)
    points = np.concatenate([sphere, rng.uniform(-0.5, 0.5, (18_000, 3))])
    for seed in range(4):
        rotation = random_transform(seed, 0.0)[:3, :3]
        clutter = find_clutter(neighbour_graph(points @ rotation.T, K))
        assert clutter[6_000:].mean() > 0.85
        assert clutter[:6_000].mean() < 0.2


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hare", "casting"])
@pytest.mark.parametrize("ratio", [2, 10])
def test_scans_are_registered_through_ten_times_as_many_outliers(name: str, ratio: float) -> None:
    pair = synthetic.pair(name, 30.0, points=4_000)
    source, target = (with_clutter(points, ratio, seed)[0] for seed, points in enumerate((pair.source, pair.target)))
    found = graphreg.register(source, target)
    size = np.linalg.norm(np.ptp(pair.target, axis=0))
    assert rmsd(found.transformation, pair.T_target_source, pair.source) < 0.01 * size
    assert found.success, found.reason
