"""Pairs that methods are measured on: ground truth, tolerances, symmetry."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphreg.bench import pairs
from graphreg.errors import FileError, InputError
from graphreg.metrics import angular_error, rmsd
from graphreg.poses import pose, rotation_from_vector, transform


def pair(points: Any, truth: Any, axis: pairs.Axis | None = None) -> pairs.Pair:
    return pairs.Pair(
        name="a", kind="object", source=points, target=points, truth=truth, max_degrees=2.0, tolerance=1.0, voxel=1.0,
        axis=axis,
    )  # fmt: skip


def test_rotations_about_the_axis_of_a_body_of_revolution_are_all_true() -> None:
    rng = np.random.default_rng(0)
    points, truth = rng.normal(size=(50, 3)), pose(rotation_from_vector([0.3, -0.2, 0.9]), [1.0, 2.0, 3.0])
    direction = np.array([2.0, -1.0, 2.0]) / 3
    point = np.array([0.5, 0.0, -1.0])
    scans = pair(points, truth, pairs.Axis(point, direction))
    across = np.cross(direction, [1.0, 0.0, 0.0])
    for angle in np.radians([0.0, 1.0, 90.0, -179.0]):
        rotation = rotation_from_vector(angle * direction)
        found = pose(rotation, point - rotation @ point) @ truth
        assert rmsd(scans.nearest_truth(found), found, points) < 1e-12
        tilt = rotation_from_vector(np.radians(5) * across / np.linalg.norm(across))
        tilted = pose(tilt, np.zeros(3)) @ found
        assert angular_error(tilted, scans.nearest_truth(tilted)) == pytest.approx(5, abs=1e-9)
    assert pair(points, truth).nearest_truth(tilted) is truth


def test_a_rotation_is_an_error_of_its_angle() -> None:
    rotation = pose(rotation_from_vector([0, 0, np.radians(30)]), np.zeros(3))
    assert pair(np.eye(3), np.eye(4)).errors(rotation)[0] == pytest.approx(30)


def test_the_synthetic_lid_may_rotate_about_its_axis() -> None:
    lids = pairs.pair_of("synthetic_lid", None, 4000)
    assert lids.axis is not None
    rotated_truth = pose(rotation_from_vector(lids.axis.direction), np.zeros(3)) @ lids.truth
    assert lids.errors(rotated_truth) == pytest.approx((0, 0), abs=1e-9)


def test_a_scan_and_its_copy_are_aligned() -> None:
    copies = pairs.pair_of("synthetic_casting_copy", None, 1500)
    assert copies.source is copies.target
    assert np.array_equal(copies.truth, np.eye(4))


@pytest.mark.slow
def test_other_seeds_are_other_scans_of_the_same_body() -> None:
    one, other = (pairs.pair_of("synthetic_casting_30", None, 1500, seed) for seed in (0, 1))
    assert len(one.source) != len(other.source) or not np.allclose(one.source, other.source)
    assert one.truth.tolist() != other.truth.tolist()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two pairs in a chain, 0 -> 1 -> 2, of the names that the terrestrial scans have."""
    points = np.random.default_rng(1).normal(size=(40, 3))
    steps = [pose(rotation_from_vector([0.1 * k, 0.2, -0.1]), [k, 1.0, 2.0]) for k in (1, 2)]
    entries = []
    for name, source, target, step in (
        ("eth_facade_4_to_3", "s4", "s3", steps[0]),
        ("eth_facade_3_to_2", "s3", "s2", steps[1]),
    ):
        entries.append(
            {"name": name, "kind": "tls", "source": f"{source}.xyz", "target": f"{target}.xyz", "peer_voxel": 0.1,
             "max_rmsd": 0.3, "max_rotation_error_deg": 2.0, "T_target_source": step.tolist(),
             "ground_truth": "pseudo: found by registration"}
        )  # fmt: skip
    np.savetxt(tmp_path / "s4.xyz", points)
    np.savetxt(tmp_path / "s3.xyz", transform(steps[0], points))
    np.savetxt(tmp_path / "s2.xyz", transform(steps[1] @ steps[0], points))
    (tmp_path / "pairs.json").write_text(json.dumps(entries))
    return tmp_path


def test_real_pairs_have_tolerances_and_the_accuracy_of_their_truth(folder: Path) -> None:
    assert pairs.kinds_of(folder) == {"eth_facade_4_to_3": "tls", "eth_facade_3_to_2": "tls"}
    found = pairs.pair_of("eth_facade_4_to_3", folder)
    translation = pose(np.eye(3), [0.15, 0.0, 0.0])
    assert found.errors(translation @ found.truth) == pytest.approx((0.0, 0.5), abs=1e-6)
    assert found.is_correct(*found.errors(translation @ found.truth))
    assert not found.is_correct(*found.errors(translation @ translation @ translation @ found.truth))
    assert not found.is_correct(2.1, 0.5)
    assert found.truth_accuracy == pairs.TRUTH_ACCURACY["pseudo"]


def test_two_pairs_in_a_chain_make_a_third(folder: Path) -> None:
    found = pairs.pair_of("eth_facade_4_to_2", folder)
    assert np.allclose(transform(found.truth, found.source), found.target, atol=1e-12)


def test_a_missing_pair_and_a_broken_list_are_named(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(FileError, match="pairs.json: has no pair 'dragon_24_to_0'"):
        pairs.pair_of("dragon_24_to_0", folder)
    with pytest.raises(FileError, match="pairs.json: has no pair 'eth_facade_5_to_4'"):
        pairs.pair_of("eth_facade_5_to_3", folder)
    (tmp_path / "pairs.json").write_text("no list")
    with pytest.raises(FileError, match="pairs.json: is no JSON text"):
        pairs.kinds_of(tmp_path)


def test_pairs_are_selected_by_patterns() -> None:
    kinds = {"bunny_1": "object", "room_2": "indoor", "bunny_2": "object"}
    assert list(pairs.select(kinds, "bunny_*")) == ["bunny_1", "bunny_2"]
    assert list(pairs.select(kinds, "*_2,bunny_1")) == list(kinds)
    with pytest.raises(InputError, match="pairs: 'street' matches none of bunny_1, room_2, bunny_2"):
        pairs.select(kinds, "street")


def test_every_synthetic_pair_has_a_kind_with_tolerances() -> None:
    for name, kind in pairs.kinds_of(None).items():
        assert kind in pairs.MAX_DEGREES
        assert pairs.points_of(name, quick=True) == pairs.QUICK_POINTS[kind]
        assert pairs.points_of(name, quick=False) is None
