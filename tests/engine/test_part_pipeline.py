"""Locating a part on one page: the scene keeps its index, and what is not there is no success."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import graphreg
from graphreg.datasets import clutter
from graphreg.engine.part_pipeline import index_for_part, locate_part
from graphreg.engine.preprocessing import PreprocessedCloud, preprocess
from graphreg.engine.settings import EngineSettings

pytestmark = pytest.mark.slow


@cache
def clouds(instances: int) -> tuple[PreprocessedCloud, PreprocessedCloud]:
    example = clutter.table("bracket", instances=instances, objects=4, spacing=0.04)
    return preprocess(example.part, "part"), preprocess(example.scene, "scene")


def test_an_index_that_was_built_before_changes_nothing_but_the_time() -> None:
    part, scene = clouds(1)
    found, _ = locate_part(part, scene, 1, EngineSettings())
    index_for_part(part, scene)
    again, timings = locate_part(part, scene, 1, EngineSettings(), threads=2)
    assert np.array_equal(found[0].outcome.transformation, again[0].outcome.transformation)
    assert found[0].verdict.success
    assert list(timings) == ["describe", "search", "refine"]


def test_of_poses_that_are_no_success_the_best_is_returned() -> None:
    found, _ = locate_part(*clouds(0), 3, EngineSettings())
    assert len(found) <= 1
    assert not any(instance.verdict.success for instance in found)
    assert all(instance.places == 1 for instance in found)


def test_far_from_the_origin_rounding_is_no_error() -> None:
    """At 10^15 coordinates are rounded to eighths, and a pose that was found may have no points around it."""
    rng = np.random.default_rng(0)
    part, scene = rng.normal(size=(300, 3)) + 1e15, 5 * rng.normal(size=(3000, 3)) + 1e15
    assert not any(found.success for found in graphreg.locate(part, scene))
