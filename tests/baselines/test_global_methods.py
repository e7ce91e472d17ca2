"""What FGR, TEASER++ and Super4PCS have in common."""

from __future__ import annotations

import pytest
from tests.support.strategies import random_transform

import graphreg
from graphreg.datasets import synthetic
from graphreg.metrics import angular_error, rmsd
from graphreg.poses import inverse, transform

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("method", ["fgr", "teaser", "super4pcs"])
@pytest.mark.parametrize("seed", [1, 2])
def test_the_initial_pose_does_not_matter(method: str, seed: int) -> None:
    pair = synthetic.pair("hare", 20.0, points=3000)
    moved = random_transform(seed, 1.0)
    result = graphreg.register(transform(moved, pair.source), pair.target, method=method)
    truth = pair.T_target_source @ inverse(moved)
    assert angular_error(result.transformation, truth) < 2
    assert rmsd(result.transformation, truth, transform(moved, pair.source)) < 2 * result.settings["voxel"]
    assert result.success


def test_another_seed_gives_another_sample() -> None:
    pair = synthetic.pair("hare", 20.0, points=3000)
    for method in ("fgr", "super4pcs"):
        one, other = (graphreg.register(pair.source, pair.target, method=method, seed=seed) for seed in (0, 1))
        assert one.transformation.tobytes() != other.transformation.tobytes()
