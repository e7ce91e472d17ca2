"""Outliers by the volume that neighbours fill: clean scans are spared, outliers are found."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import graphreg
from graphreg.datasets import synthetic
from graphreg.datasets.contamination import add_outliers, thin_by_distance
from graphreg.features import volume_outliers
from graphreg.features.volume_outliers import height_above_planes
from graphreg.poses import pose, rotation_from_vector, transform

BODIES = ("dragon", "casting", "facade", "street")
DATA = Path(os.environ.get("GRAPHREG_DATA", "/nonexistent"))


def kept(points: np.ndarray) -> np.ndarray:
    return graphreg.inliers(points, rule="volume", threads=1)


@pytest.mark.parametrize("body", ["hare", *(pytest.param(body, marks=pytest.mark.slow) for body in BODIES)])
def test_a_clean_scan_is_left_alone(body: str) -> None:
    assert kept(synthetic.scan(body, points=6000).points).mean() >= 0.97


@pytest.mark.slow
@pytest.mark.parametrize("rim", [0.1, 0.01])
def test_density_that_falls_off_is_no_outlier(rim: float) -> None:
    assert kept(thin_by_distance(synthetic.scan("facade", points=20_000).points, rim)).mean() >= 0.97


@pytest.mark.slow
def test_a_dense_part_in_a_sparse_scene_does_not_make_the_scene_an_outlier() -> None:
    room = synthetic.scan("room", points=10_000).points
    part = room.mean(axis=0) + 0.05 * synthetic.scan("hare", points=10_000).points
    assert kept(np.vstack([room, part])).mean() >= 0.97


@pytest.mark.parametrize(
    "points",
    [
        np.stack(np.meshgrid(range(30), range(30), [0.0]), axis=-1).reshape(-1, 3),
        np.stack(np.meshgrid(range(9), range(9), range(9)), axis=-1).reshape(-1, 3).astype(float),
        np.linspace(0, 1, 50)[:, None] * [1.0, 2.0, 3.0],
        np.ones((40, 3)),
        np.random.default_rng(0).normal(size=(12, 3)),
    ],
)
def test_regular_and_degenerate_clouds_keep_nearly_all(points: np.ndarray) -> None:
    assert kept(points).mean() >= 0.9


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "ratio"), [("gaussian", 0.1), ("uniform", 0.5), ("gaussian", 1.0)])
def test_outliers_off_the_surface_are_found(kind: str, ratio: float) -> None:
    scan = synthetic.scan("dragon", points=10_000).points
    points, is_outlier = add_outliers(scan, ratio, kind, 1)
    mask = kept(points)
    graph = graphreg.neighbour_graph(scan, 2)
    spacing = np.median(np.linalg.norm(scan - scan[graph.neighbours[:, 0]], axis=1))
    gap = np.sqrt(graphreg._core.Tree(scan, 1).nearest(points[is_outlier], 1, 1)[1][:, 0])
    assert mask[is_outlier][gap > 2 * spacing].mean() <= 0.01
    assert mask[~is_outlier].mean() >= 0.95


@pytest.mark.slow
@settings(max_examples=15)
@given(seed=st.integers(0, 2**31))
def test_neither_pose_nor_order_nor_unit_matters(seed: int) -> None:
    points, _ = add_outliers(synthetic.scan("hare", points=600).points, 0.2, "uniform", 1)
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(points))
    moved = 1000 * transform(pose(rotation_from_vector(rng.normal(size=3)), rng.normal(size=3)), points[order])
    assert np.count_nonzero(kept(moved) != kept(points)[order]) <= 2  # ties of rounding


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["gaussian", "uniform"])
def test_outliers_are_found_near_the_surface_as_well_and_little_is_lost(kind: str) -> None:
    points, is_outlier = add_outliers(synthetic.scan("hare", points=20_000).points, 0.5, kind, 3)
    mask = kept(points)
    assert mask[is_outlier].mean() <= 0.01
    assert mask[~is_outlier].mean() >= 0.97


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_planes_fitted_once_more_find_most_outliers_that_are_left_where_the_groups_overlap(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    points, is_outlier = add_outliers(synthetic.scan("room", points=40_000, seed=seed).points, 0.5, "uniform", seed)
    mask = kept(points)
    monkeypatch.setattr(volume_outliers, "VOLUME", replace(volume_outliers.VOLUME, overlap=0.0))
    once = kept(points)
    assert mask[is_outlier].mean() < 0.5 * once[is_outlier].mean()
    assert mask[~is_outlier].mean() > once[~is_outlier].mean() - 0.015


@pytest.mark.slow
@pytest.mark.parametrize("body", ["hand", "casting"])
def test_sparse_outliers_cost_fewer_points_of_the_scan_than_dense_ones(body: str) -> None:
    scan = synthetic.scan(body, points=4000).points
    lost = []
    for ratio in (0.1, 1.0):
        points, is_outlier = add_outliers(scan, ratio, "gaussian", 1)
        mask = kept(points)
        assert mask[is_outlier].mean() <= 0.01
        lost.append(1 - mask[~is_outlier].mean())
    assert lost[0] < lost[1]


def noisy_plane(seed: int, noise: float) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.random((400, 2)), noise * rng.normal(size=400)])


def usual_reach(graph: graphreg.Graph) -> float:
    return float(np.median(np.linalg.norm(graph.points[graph.neighbours[:, -1]] - graph.points, axis=1)))


@settings(max_examples=20)
@given(seed=st.integers(0, 2**31), noise=st.floats(0.004, 0.02))
def test_heights_are_in_standard_deviations_where_noise_exceeds_the_least_one(seed: int, noise: float) -> None:
    points = noisy_plane(seed, noise)
    points[0] = [0.5, 0.5, 0.2]
    graph = graphreg.neighbour_graph(points, 10, threads=1)
    reach = usual_reach(graph)
    heights = height_above_planes(graph, reach)
    assert heights.argmax() == 0
    assert 0.3 < np.median(heights) < 1.2
    moved = transform(pose(rotation_from_vector([0.3, -1.0, 0.4]), np.array([7.0, -3.0, 2.0])), points)
    again = height_above_planes(graphreg.neighbour_graph(1000 * moved, 10, threads=1), 1000 * reach)
    assert np.allclose(again, heights, rtol=1e-5, atol=1e-6)


@settings(max_examples=20)
@given(seed=st.integers(0, 2**31))
def test_heights_are_the_same_asked_for_by_coordinates(seed: int) -> None:
    graph = graphreg.neighbour_graph(noisy_plane(seed, 0.01), 10, threads=1)
    order = np.random.default_rng(seed).permutation(len(graph.points))
    again = height_above_planes(graph, 0.1, graph.points[order])
    assert np.allclose(again, height_above_planes(graph, 0.1)[order], rtol=1e-9, atol=0)
    beside = graph.points + np.array([0.0, 0.0, 0.5])  # none of them in the graph: far above all planes
    assert height_above_planes(graph, 0.1, beside).min() > height_above_planes(graph, 0.1).max()


@pytest.mark.parametrize("points", [np.ones((40, 3)), np.linspace(0, 1, 50)[:, None] * [1.0, 2.0, 3.0]])
def test_where_no_plane_is_determined_no_point_is_above_it(points: np.ndarray) -> None:
    graph = graphreg.neighbour_graph(points, 10, threads=1)
    assert np.array_equal(height_above_planes(graph, 1.0), np.zeros(len(points)))


def test_rows_that_are_not_finite_are_no_inliers() -> None:
    points = np.vstack([synthetic.scan("hare", points=500).points, [[np.nan, 0, 0]]])
    assert not kept(points)[-1]


def test_the_paper_s_rule_is_the_default() -> None:
    points, _ = add_outliers(synthetic.scan("hare", points=500).points, 0.2, "uniform", 1)
    assert np.array_equal(graphreg.inliers(points), graphreg.inliers(points, rule="x84"))
    with pytest.raises(graphreg.InputError, match="rule: expected"):
        graphreg.inliers(points, rule="best")  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.skipif(not DATA.is_dir(), reason="GRAPHREG_DATA is not set")
@pytest.mark.parametrize(
    "name",
    [
        "stanford_bunny/bun000.ply",
        "nclt/830.ply",
        "eth_facade/s3.ply",
        "kitti_03/000003.bin",
        "3dmatch_kitchen/000032.ply",
    ],
)
def test_a_real_scan_is_left_alone(name: str) -> None:
    assert kept(graphreg.read(DATA / name)).mean() >= 0.97


@pytest.mark.slow
@pytest.mark.skipif(not DATA.is_dir(), reason="GRAPHREG_DATA is not set")
@pytest.mark.parametrize("name", ["teapot.ply", "lid_moved.ply"])
def test_as_many_outliers_as_points_of_a_coarse_scan_are_found(name: str) -> None:
    points, is_outlier = add_outliers(graphreg.read(DATA / "utah_teapot_lid" / name), 1.0, "uniform", 1)
    mask = kept(points)
    assert mask[is_outlier].mean() <= 0.01
    assert mask[~is_outlier].mean() >= 0.97
