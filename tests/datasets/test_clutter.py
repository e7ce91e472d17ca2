"""Objects in clutter: the instances are where their poses say, and the same arguments give the same bits."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import cKDTree

from graphreg import InputError
from graphreg.datasets import clutter
from graphreg.poses import transform


@pytest.mark.parametrize("name", clutter.PARTS)
def test_the_scene_contains_each_instance(name: str) -> None:
    example = clutter.table(name, instances=2, objects=4, spacing=0.05)
    assert example.poses.shape == (2, 4, 4)
    above = example.part[example.part[:, 2] > 0.05]
    for T in example.poses:
        distance, _ = cKDTree(example.scene).query(transform(T, above))
        assert distance.max() < 5 * 0.05


def test_the_same_arguments_give_the_same_bits_and_another_seed_others() -> None:
    first, again, other = (clutter.table(objects=4, spacing=0.1, seed=seed) for seed in (0, 0, 1))
    assert np.array_equal(first.scene, again.scene)
    assert first.scene.shape != other.scene.shape or not np.array_equal(first.scene, other.scene)


def test_a_scene_without_the_part_has_no_poses() -> None:
    assert clutter.table(instances=0, objects=4, spacing=0.1).poses.shape == (0, 4, 4)


@pytest.mark.parametrize(
    "arguments", [{"name": "cup"}, {"instances": 3, "objects": 2}, {"spacing": 0}, {"noise": -1}, {"seed": -1}]
)
def test_bad_arguments_are_refused(arguments: dict[str, object]) -> None:
    with pytest.raises(InputError, match=str(next(iter(arguments)))):
        clutter.table(**arguments)  # type: ignore[arg-type]
