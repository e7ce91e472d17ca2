"""The state of a run: voxel size, frames, history, and the setting that all baselines share."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.strategies import random_cloud, random_transform

import graphreg
from graphreg.baselines import BASELINES
from graphreg.baselines.baseline_run import BaselineRun
from graphreg.method_interface import Iteration
from graphreg.poses import inverse, transform


@pytest.mark.slow
@pytest.mark.parametrize("method", BASELINES)
def test_a_wrong_voxel_size_is_an_error_that_names_it(body: np.ndarray, method: str) -> None:
    for voxel in (-1.0, np.nan, np.inf, "fine", True):
        with pytest.raises(graphreg.InputError, match="^voxel: expected a length from 0 on, got "):
            graphreg.register(body, body, method=method, voxel=voxel)


def test_the_default_voxel_size_is_a_two_hundredth_of_the_longest_extent() -> None:
    source, target = random_cloud("box", 500, 0), 2 * random_cloud("surface", 500, 1)
    extent = max(np.ptp(cloud, axis=0).max() for cloud in (source, target))
    assert BaselineRun(source, target, None, None, 1, None).voxel == extent / 200
    assert BaselineRun(source, target, None, None, 1, None, voxels=50).voxel == extent / 50


def test_without_downsampling_the_voxel_size_is_the_median_spacing() -> None:
    grid = np.stack(np.meshgrid(*[np.arange(6.0)] * 3), axis=-1).reshape(-1, 3)
    run = BaselineRun(grid, 3 * grid, 0, None, 1, None)
    assert run.voxel == 3
    assert len(run.source) == len(grid)
    assert BaselineRun(np.repeat(grid, 2, axis=0), np.repeat(grid, 2, axis=0), 0, None, 1, None).voxel == 5 / 200


def test_without_init_the_centroids_are_aligned() -> None:
    source, target = random_cloud("blob", 300, 0) + 5, random_cloud("blob", 200, 1) - 9
    run = BaselineRun(source, target, 0, None, 1, None)
    np.testing.assert_allclose(run.source.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(run.target.mean(axis=0), 0, atol=1e-12)
    translation = run.outcome().transformation[:3, 3]
    np.testing.assert_allclose(translation, target.mean(axis=0) - source.mean(axis=0), atol=1e-12)


def test_estimates_are_reported_in_the_callers_frames() -> None:
    source, target, init = random_cloud("blob", 300, 0), random_cloud("blob", 200, 1) + 3, random_transform(2, 1.0)
    seen: list[Iteration] = []
    run = BaselineRun(source, target, 0, init, 1, seen.append)  # type: ignore[arg-type]
    np.testing.assert_allclose(run.outcome().transformation, init, atol=1e-12)
    estimate = random_transform(3, 1.0)
    assert not run.record(estimate, 2.5)
    found = run.outcome()
    offset = target.mean(axis=0)
    expected = transform(estimate, run.source) + offset
    np.testing.assert_allclose(transform(found.transformation, source), expected, atol=1e-12)
    assert [step.energy for step in found.history] == [2.5]
    assert seen == list(found.history)
    np.testing.assert_allclose(transform(inverse(init), run.source + offset), source, atol=1e-12)


def test_the_callback_stops_a_run() -> None:
    cloud = random_cloud("blob", 50, 0)
    assert BaselineRun(cloud, cloud, 0, None, 1, lambda _: True).record(np.eye(4), 0.0)
    assert not BaselineRun(cloud, cloud, 0, None, 1, None).record(np.eye(4), 0.0)
