"""Refinement of a similarity: exact on copies, and its equations are the gradient and curvature of the distances."""

from __future__ import annotations

import numpy as np
import pytest

from graphreg.clouds import Floats
from graphreg.datasets import synthetic
from graphreg.engine.preprocessing import preprocess
from graphreg.engine.pyramid import SurfelPyramid, build_pyramids, to_cloud_frames, to_pyramid_frames
from graphreg.engine.similarity_refinement import OrientedPoints, refine_similarity, similarity_equations
from graphreg.poses import inverse, pose, rotation_from_vector, scale_of, transform


def pyramids(source: Floats, target: Floats) -> tuple[SurfelPyramid, SurfelPyramid]:
    return build_pyramids(preprocess(source, "source"), preprocess(target, "target"))


@pytest.mark.parametrize("scale", [0.98, 1.015])
def test_the_scale_of_a_copy_is_found(scale: float) -> None:
    scan = synthetic.scan("casting", points=4_000).points
    x, y = pyramids(scan, scan * scale)
    refined = refine_similarity(to_pyramid_frames(np.eye(4), x, y), x, y)
    assert abs(scale_of(refined) / scale - 1) < 1e-4


@pytest.mark.slow
def test_two_views_of_one_scale_keep_it() -> None:
    """The mean of several bodies: were there a bias, towards shrinking for instance, it would not cancel."""
    errors = []
    for name in ("hare", "dragon", "casting", "hand"):
        pair = synthetic.pair(name, 20.0, points=6_000)
        x, y = pyramids(pair.source, pair.target)
        refined = refine_similarity(to_pyramid_frames(pair.T_target_source, x, y), x, y)
        errors.append(np.log(scale_of(refined)))
    assert np.abs(errors).max() < 0.003
    assert abs(np.mean(errors)) < 0.001


@pytest.mark.slow
def test_without_scale_the_equations_are_those_of_rigid_refinement() -> None:
    pair = synthetic.pair("hare", 20.0, points=3_000)
    x, y = pyramids(pair.source, pair.target)
    T = to_pyramid_frames(pair.T_target_source, x, y)
    source, target = (OrientedPoints.of_surfels(pyramid.coarse) for pyramid in (x, y))
    similar = similarity_equations(source, target, T, 0.5, np.zeros(3))
    there = y.coarse.grid.equations(T, x.coarse.points, x.coarse.normals, None, 0.5, 1)
    back = x.coarse.grid.equations(inverse(T), y.coarse.points, y.coarse.normals, None, 0.5, 1)
    assert similar.weight == pytest.approx(there[2] + back[2], rel=1e-6)
    assert similar.squared == pytest.approx(there[3] + back[3], rel=1e-6)


@pytest.mark.slow
def test_a_step_lowers_the_distances_and_moves_the_scale() -> None:
    scan = synthetic.scan("hare", points=3_000).points
    x, y = pyramids(scan, scan * 1.01)
    source, target = (OrientedPoints.of_surfels(pyramid.coarse) for pyramid in (x, y))
    T = to_pyramid_frames(np.eye(4), x, y)
    before = similarity_equations(source, target, T, 0.7, np.zeros(3))
    T = before.step(np.zeros(3)) @ T
    after = similarity_equations(source, target, T, 0.7, np.zeros(3))
    assert after.squared / after.weight < before.squared / before.weight
    assert 1 < scale_of(T) < 1.02


@pytest.mark.slow
def test_a_plane_leaves_the_scale_as_it_is() -> None:
    rng = np.random.default_rng(0)
    plane = np.column_stack([rng.random((3_000, 2)), np.zeros(3_000)])
    x, y = pyramids(plane, plane + np.array([0, 0, 0.001]))
    refined = refine_similarity(to_pyramid_frames(np.eye(4), x, y), x, y)
    moved = transform(to_cloud_frames(pose(refined[:3, :3] / scale_of(refined), refined[:3, 3]), x, y), plane)
    assert abs(scale_of(refined) - 1) < 0.02
    assert np.abs(moved[:, 2] - 0.001).max() < 0.001


@pytest.mark.slow
def test_rotation_and_scale_of_a_step_are_about_the_centre() -> None:
    scan = synthetic.scan("hare", points=3_000).points
    turned = transform(pose(rotation_from_vector([0, 0, 0.01]), np.zeros(3)), scan)
    x, y = pyramids(scan, turned)
    source, target = (OrientedPoints.of_surfels(pyramid.coarse) for pyramid in (x, y))
    T = to_pyramid_frames(np.eye(4), x, y)
    steps = [similarity_equations(source, target, T, 0.7, centre).step(centre) for centre in (np.zeros(3), np.ones(3))]
    # To first order the step does not depend on the point that its parts are about.
    assert np.abs(steps[0] - steps[1]).max() < 0.05
