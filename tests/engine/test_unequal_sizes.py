"""Clouds of very different sizes: a crop is registered to the whole scan, whichever of the two is the source."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.strategies import random_transform

import graphreg
from graphreg.clouds import Floats
from graphreg.datasets import synthetic
from graphreg.engine.engine_run import EngineRun
from graphreg.engine.pipeline import register_graphreg
from graphreg.engine.unequal_sizes import register_or_locate
from graphreg.metrics import rmsd
from graphreg.poses import inverse, transform


def crop_and_scan(seed: int = 0) -> tuple[Floats, Floats, Floats]:
    """A piece of one scan, moved; another scan; and the pose of the piece in it."""
    pair = synthetic.pair("hare", 20.0, points=20_000)
    size = float(np.linalg.norm(np.ptp(pair.source, axis=0)))
    centre = pair.source[np.argmin(pair.source[:, 1])]
    crop = pair.source[np.linalg.norm(pair.source - centre, axis=1) < 0.12 * size]
    moved = random_transform(seed, 1.0)
    return transform(moved, crop), pair.target, pair.T_target_source @ inverse(moved)


@pytest.mark.slow
@pytest.mark.parametrize("swapped", [False, True])
def test_a_crop_is_registered_to_the_scan(swapped: bool) -> None:
    crop, scan, truth = crop_and_scan()
    source, target = (scan, crop) if swapped else (crop, scan)
    found = graphreg.register(source, target)
    T = inverse(found.transformation) if swapped else found.transformation
    assert rmsd(T, truth, crop) < 0.005 * np.linalg.norm(np.ptp(scan, axis=0))
    assert found.success, found.reason
    assert found.reason.startswith("registered: ")
    np.testing.assert_array_equal(found.history[-1].transformation, found.transformation)
    assert sum(found.timings[stage] for stage in found.timings if stage != "total") <= found.timings["total"]


@pytest.mark.slow
def test_clouds_of_one_size_are_only_registered() -> None:
    pair = synthetic.pair("casting", 20.0, points=2_000)
    run = EngineRun(pair.source, pair.target)
    ours, alone = register_or_locate(run), register_graphreg(run)
    np.testing.assert_array_equal(ours.transformation, alone.transformation)


@pytest.mark.slow
def test_a_part_of_something_else_is_not_found() -> None:
    crop, _, _ = crop_and_scan()
    found = graphreg.register(crop, synthetic.scan("casting", points=12_000).points)
    assert not found.success
    assert 0 <= found.confidence < 0.75
