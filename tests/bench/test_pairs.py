"""The pairs that methods are judged on: their truth, where they start, what spoils them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial import cKDTree

from graphreg.bench import pairs, pot
from graphreg.errors import FileError
from graphreg.metrics import angular_error, rmsd
from graphreg.poses import pose, rotation_from_vector, transform


def pair(points: Any, truth: Any, axis: pairs.Axis | None = None) -> pairs.Pair:
    return pairs.Pair(
        name="a", kind="object", source=points, target=points, truth=truth, most_degrees=2.0, tolerance=1.0, voxel=1.0,
        axis=axis,
    )  # fmt: skip


def test_turns_about_the_axis_of_a_body_of_revolution_are_all_true() -> None:
    rng = np.random.default_rng(0)
    points, truth = rng.normal(size=(50, 3)), pose(rotation_from_vector([0.3, -0.2, 0.9]), [1.0, 2.0, 3.0])
    direction = np.array([2.0, -1.0, 2.0]) / 3
    point = np.array([0.5, 0.0, -1.0])
    scans = pair(points, truth, pairs.Axis(point, direction))
    across = np.cross(direction, [1.0, 0.0, 0.0])
    for angle in np.radians([0.0, 1.0, 90.0, -179.0]):
        turn = rotation_from_vector(angle * direction)
        found = pose(turn, point - turn @ point) @ truth
        assert rmsd(scans.truth_for(found), found, points) < 1e-12
        tilt = rotation_from_vector(np.radians(5) * across / np.linalg.norm(across))
        tilted = pose(tilt, np.zeros(3)) @ found
        assert angular_error(tilted, scans.truth_for(tilted)) == pytest.approx(5, abs=1e-9)
    assert pair(points, truth).truth_for(tilted) is truth


def test_a_turn_is_an_error_of_its_angle() -> None:
    turn = pose(rotation_from_vector([0, 0, np.radians(30)]), np.zeros(3))
    assert pair(np.eye(3), np.eye(4)).errors(turn)[0] == pytest.approx(30)


def test_the_lid_is_a_part_of_the_pot_and_a_body_of_revolution() -> None:
    lid, whole, truth = pot.lid_and_pot(4000)
    assert 0.8 * 4000 < len(whole) < 1.2 * 4000
    back = transform(truth, lid)
    assert cKDTree(whole).query(back)[0].max() < 1e-12
    # A whole number of steps about the axis lays it on itself.
    steps = len(np.unique(np.round(np.arctan2(back[:, 1], back[:, 0])[np.hypot(*back.T[:2]) > 0.5], 6)))
    turned = back @ rotation_from_vector([0, 0, 2 * np.pi / steps * 7]).T
    assert cKDTree(back).query(turned)[0].max() < 1e-9
    made = pairs.pair_of("made_lid", None, 4000)
    assert made.axis is not None
    spun = pose(rotation_from_vector(made.axis.direction), np.zeros(3)) @ made.truth
    assert made.errors(spun) == pytest.approx((0, 0), abs=1e-9)


def test_a_scan_and_its_copy_lie_on_each_other() -> None:
    made = pairs.pair_of("made_casting_itself", None, 1500)
    assert made.source is made.target
    assert np.array_equal(made.truth, np.eye(4))


def test_seeds_make_other_scans_of_the_same_body() -> None:
    one, other = (pairs.pair_of("made_casting_30", None, 1500, seed) for seed in (0, 1))
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


def test_real_pairs_come_with_what_counts_as_right(folder: Path) -> None:
    assert pairs.kinds_of(folder) == {"eth_facade_4_to_3": "tls", "eth_facade_3_to_2": "tls"}
    found = pairs.pair_of("eth_facade_4_to_3", folder)
    shift = pose(np.eye(3), [0.15, 0.0, 0.0])
    assert found.errors(shift @ found.truth) == pytest.approx((0.0, 0.5), abs=1e-6)
    assert found.is_right(*found.errors(shift @ found.truth))
    assert not found.is_right(*found.errors(shift @ shift @ shift @ found.truth))
    assert not found.is_right(2.1, 0.5)
    assert found.known_to == pairs.KNOWN_TO["pseudo"]


def test_two_pairs_in_a_chain_make_a_third(folder: Path) -> None:
    found = pairs.pair_of("eth_facade_4_to_2", folder)
    assert np.allclose(transform(found.truth, found.source), found.target, atol=1e-12)


def test_what_is_wrong_with_the_list_of_pairs_is_told(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(FileError, match="pairs.json: has no pair 'dragon_24_to_0'"):
        pairs.pair_of("dragon_24_to_0", folder)
    with pytest.raises(FileError, match="pairs.json: has no pair 'eth_facade_5_to_4'"):
        pairs.pair_of("eth_facade_5_to_3", folder)
    (tmp_path / "pairs.json").write_text("no list")
    with pytest.raises(FileError, match="pairs.json: is no JSON text"):
        pairs.kinds_of(tmp_path)


@pytest.mark.parametrize("kind", ["object", "indoor", "tls", "lidar"])
def test_starts_are_as_far_as_the_kind_allows_and_the_same_in_every_run(kind: str) -> None:
    points = np.random.default_rng(1).normal(size=(100, 3)) + 50
    found = list(pairs.starts_of("name", kind, points, 30))
    assert np.array_equal(found, list(pairs.starts_of("name", kind, points, 30)))
    assert np.array_equal(found[0], np.eye(4))
    centre, size = points.mean(axis=0), pairs.diagonal_of(points)
    shifts = [np.linalg.norm(start[:3, :3] @ centre + start[:3, 3] - centre) / size for start in found]
    tilts = [np.degrees(np.arccos(start[2, 2])) for start in found]
    outdoors = kind in pairs.OUTDOOR
    assert max(shifts) <= (0.1 if outdoors else 1.0)
    assert (max(tilts) <= 10) == outdoors
    assert max(angular_error(start, np.eye(4)) for start in found) > 90


def test_spoiling_adds_what_its_name_says() -> None:
    points = np.random.default_rng(2).random((4000, 3)) * [1, 2, 3]
    outliers, noise, _ = pairs.SPOILINGS
    assert pairs.CLEAN.of(points, 0) is points
    assert len(outliers.of(points, 0)) == 1.5 * len(points)
    moved = noise.of(points, 0) - points
    assert moved.std(axis=0) / np.ptp(points, axis=0) == pytest.approx(0.008, rel=0.05)
    assert not np.array_equal(noise.of(points, 0), noise.of(points, 1))
    assert len(pairs.Spoiling("thin", rim=0.1).of(points, 0)) < len(points)
