"""Multiview refinement: smaller errors, a fixed first scan, exact recovery of copies, and invariances."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest
from tests.support.strategies import Floats, random_transform

import graphreg
from graphreg.datasets import synthetic
from graphreg.engine.preprocessing import PreprocessedCloud
from graphreg.multiscan.multiview_refinement import MultiviewParameters, refine_multiview
from graphreg.multiscan.pose_graph_optimisation import retract
from graphreg.poses import inverse, transform

PAIRS = ((1, 0), (2, 0), (2, 1))


@lru_cache
def around_a_body() -> tuple[list[PreprocessedCloud], Floats]:
    """Three scans around a body, and their true poses."""
    scans = list(synthetic.sequence("hare", 3, 40, points=3000))
    return [graphreg.prepare(scan.points) for scan in scans], np.array([scan.pose for scan in scans])


def perturbed(poses: Floats, seed: int = 0) -> Floats:
    """Poses with errors of about a tenth of a degree and a fifth of a millimetre; the first is exact."""
    steps = np.random.default_rng(seed).normal(size=(len(poses), 6)) * np.repeat([2e-3, 2e-4], 3)
    steps[0] = 0
    return retract(poses, steps)


def displacements(scans: list[PreprocessedCloud], a: Floats, b: Floats) -> Floats:
    """Distance of the centroid of each scan between two sets of poses."""
    centroids = [scan.points.mean(axis=0)[None] for scan in scans]
    return np.array(
        [np.linalg.norm(transform(p, c) - transform(q, c)) for p, q, c in zip(a, b, centroids, strict=True)]
    )


@lru_cache
def refined() -> Floats:
    scans, truth = around_a_body()
    return refine_multiview(scans, perturbed(truth), PAIRS)


@pytest.mark.slow
def test_the_errors_of_poses_become_smaller_than_the_noise() -> None:
    scans, truth = around_a_body()
    before = displacements(scans, perturbed(truth), truth)
    after = displacements(scans, refined(), truth)
    # Noise of 0.1 mm on thousands of points leaves some hundredths of a millimetre.
    assert (after[1:] < 5e-5).all()
    assert (before[1:] > 5e-5).all()


@pytest.mark.slow
def test_the_first_scan_keeps_its_pose() -> None:
    np.testing.assert_allclose(refined()[0], around_a_body()[1][0], atol=1e-12)


@pytest.mark.slow
def test_the_same_bits_for_any_number_of_threads() -> None:
    scans, truth = around_a_body()
    assert np.array_equal(refine_multiview(scans, perturbed(truth), PAIRS, threads=3), refined())


def test_the_result_does_not_depend_on_the_initial_poses() -> None:
    """Up to the tolerance, two thousandths of a voxel of some millimetres."""
    scans, truth = around_a_body()
    assert displacements(scans, refine_multiview(scans, truth, PAIRS), refined()).max() < 1e-5


def test_the_world_frame_does_not_matter() -> None:
    scans, truth = around_a_body()
    elsewhere = random_transform(5, 1.0)
    moved = refine_multiview(scans, elsewhere @ perturbed(truth), PAIRS)
    np.testing.assert_allclose(moved, elsewhere @ refined(), atol=1e-8)


def test_copies_of_one_scan_coincide_exactly() -> None:
    cloud = synthetic.scan("hare", points=3000).points
    transforms = [random_transform(number, 1.0) for number in range(3)]
    scans = [graphreg.prepare(transform(each, cloud)) for each in transforms]
    truth = np.array([inverse(each) for each in transforms])
    result = refine_multiview(scans, perturbed(truth), PAIRS)
    # Tolerance of the last step, in voxels of some millimetres.
    assert displacements(scans, result, truth).max() < 1e-8


def test_without_pairs_or_iterations_poses_are_unchanged() -> None:
    scans, truth = around_a_body()
    assert np.array_equal(refine_multiview(scans, truth, ()), truth)
    unchanged = refine_multiview(scans, truth, PAIRS, parameters=MultiviewParameters(max_iterations=0))
    np.testing.assert_allclose(unchanged, truth, atol=1e-12)


def test_scans_that_do_not_overlap_do_not_move() -> None:
    scans, truth = around_a_body()
    apart = truth.copy()
    apart[1, :3, 3] += 10.0
    np.testing.assert_allclose(refine_multiview(scans, apart, ((1, 0),)), apart, atol=1e-12)
