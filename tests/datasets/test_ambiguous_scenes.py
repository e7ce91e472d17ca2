"""Ambiguous scenes: every equivalent pose aligns the scans, another one does not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.spatial import cKDTree

from graphreg.clouds import Floats
from graphreg.datasets.ambiguous_scenes import AmbiguousPair, names, pair
from graphreg.errors import InputError
from graphreg.metrics import rmsd
from graphreg.poses import pose, rotation_from_vector, transform

NOISE = ("uniform noise", "gaussian noise")
SCENES = [name for name in names() if name not in NOISE]
# Whose scans see the same: all of the object.
WHOLE = [name for name in SCENES if name.startswith(("box 1", "box 6", "cube", "plate", "cylinder"))]
REPEATED = ("stairs", "box grid", "parked cars", "tower", "roof tiles", "poles")


def share_aligned(scans: AmbiguousPair, T: Floats) -> float:
    """Share of the source within a few sample distances of the target."""
    tree = cKDTree(scans.target)
    near = 4 * float(np.median(tree.query(scans.target, 2)[0][:, 1]))
    return float((tree.query(transform(T, scans.source[::5]))[0] < near).mean())


@pytest.mark.parametrize("name", WHOLE)
def test_every_equivalent_pose_aligns_all_of_an_object(name: str) -> None:
    scans = pair(name, points=3000, seed=1)
    some = scans.equivalent[:: 1 + len(scans.equivalent) // 24]
    assert min(share_aligned(scans, T) for T in some) > 0.98


@pytest.mark.slow
@pytest.mark.parametrize("name", REPEATED)
def test_every_equivalent_pose_aligns_part_of_a_repeated_scene(name: str) -> None:
    scans = pair(name, points=4000, seed=2)
    assert len(scans.equivalent) > 4
    shares = [share_aligned(scans, T) for T in scans.equivalent[:: 1 + len(scans.equivalent) // 20]]
    assert min(shares) > 0.15
    assert 0.3 < shares[0] < 0.95


@pytest.mark.slow
@pytest.mark.parametrize("name", SCENES)
def test_the_pose_is_determined_only_if_no_other_is_equivalent(name: str) -> None:
    scans = pair(name, points=500)
    assert np.array_equal(scans.equivalent[0], scans.T_target_source)
    assert scans.determined <= (len(scans.equivalent) == 1)
    for other in scans.equivalent[1:]:
        assert rmsd(other, scans.T_target_source, scans.source) > 0.005


def test_a_box_of_unequal_sides_has_four_poses_and_no_quarter_turns() -> None:
    scans = pair("box 6 %", points=20_000, noise=0.0)
    assert len(scans.equivalent) == 4
    tree = cKDTree(scans.target)

    def mean_distance(T: Floats) -> float:
        return float(tree.query(transform(T, scans.source[::10]))[0].mean())

    centre = scans.source.mean(axis=0)
    # Half turns take one equivalent pose to another; half of such a rotation exchanges two sides.
    for other in scans.equivalent[1:]:
        half_turn = scans.T_target_source[:3, :3].T @ other[:3, :3]
        quarter = rotation_from_vector(np.pi / 2 * np.linalg.eigh(half_turn)[1][:, 2])
        wrong = scans.T_target_source @ pose(quarter, centre - quarter @ centre)
        assert mean_distance(wrong) > 1.3 * mean_distance(other)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cube", "cylinder with a mark", "stairs", "poles", "identical objects", *NOISE])
def test_arguments_determine_every_bit(name: str, forget_rays: Callable[[], None]) -> None:
    first = pair(name, points=300, seed=3)
    forget_rays()
    again, other = (pair(name, points=300, seed=seed) for seed in (3, 4))
    assert np.array_equal(first.source, again.source)
    assert np.array_equal(first.equivalent, again.equivalent)
    assert not np.array_equal(first.T_target_source, other.T_target_source)
    for scans in (first, other):
        assert 200 < len(scans.source) < 450
        assert 200 < len(scans.target) < 450


@pytest.mark.parametrize(
    "arguments", [{"name": "sphere"}, {"points": 3}, {"points": np.nan}, {"noise": -1.0}, {"seed": -1}]
)
def test_bad_arguments_are_named(arguments: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=next(iter(arguments))):
        pair(**{"name": "cube", **arguments})
