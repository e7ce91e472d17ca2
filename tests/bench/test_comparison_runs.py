"""Runs of the comparison: what a row says, what counts as a failure, and what methods get to know."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from graphreg.bench import comparison_runs, peers
from graphreg.bench.comparison_runs import ROTATION_ERROR, Run
from graphreg.bench.comparison_wording import remarks
from graphreg.bench.corruption import CORRUPTIONS
from graphreg.bench.initial_poses import rotation_about_centroid
from graphreg.bench.pairs import pair_of
from graphreg.errors import InputError, MissingExtraError
from graphreg.metrics import angular_error
from graphreg.poses import transform
from graphreg.registration import methods, register

PAIR, POINTS = "synthetic_hare_30", 800


def peer(run: Callable[..., Any]) -> peers.Peer:
    return peers.Peer(("numpy",), run, "a stand-in")


@pytest.fixture
def stand_ins(monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(*_: Any) -> Any:
        raise RuntimeError("no features")

    truth = pair_of(PAIR, None, POINTS).truth
    for name, run in {
        "knows": lambda *_: truth,
        "stays": lambda *_: np.eye(4),
        "breaks": breaks,
        "nowhere": lambda *_: np.full((4, 4), np.nan),
    }.items():
        monkeypatch.setitem(peers.PEERS, name, peer(run))


def row_of(run: Run) -> dict[str, Any]:
    (row,) = comparison_runs.measure(run, None)
    return row


@pytest.mark.slow
@pytest.mark.usefixtures("stand_ins")
def test_a_row_has_the_errors_of_the_run() -> None:
    right = row_of(Run(PAIR, "knows", points=POINTS))
    assert right["correct"]
    assert right[ROTATION_ERROR] == pytest.approx(0, abs=1e-9)
    assert right["rmsd"] == pytest.approx(0, abs=1e-12)
    pair = pair_of(PAIR, None, POINTS)
    stays = row_of(Run(PAIR, "stays", points=POINTS))
    assert not stays["correct"]
    assert stays[ROTATION_ERROR] == pytest.approx(angular_error(np.eye(4), pair.truth))


@pytest.mark.slow
@pytest.mark.usefixtures("stand_ins")
@pytest.mark.parametrize(
    ("name", "message"),
    [("breaks", "RuntimeError: no features"), ("nowhere", "ArithmeticError: the transform is not finite")],
)
def test_an_exception_is_a_failure_and_counts_as_the_identity(name: str, message: str) -> None:
    row = row_of(Run(PAIR, name, points=POINTS))
    assert (row["correct"], row["exception"]) == (False, message)
    assert row[ROTATION_ERROR] == row_of(Run(PAIR, "stays", points=POINTS))[ROTATION_ERROR]
    assert any(message in line for line in remarks([row]))


@pytest.mark.slow
def test_the_registration_stage_is_a_part_of_the_whole_call() -> None:
    for name in ("graphreg", "icp"):
        row = row_of(Run(PAIR, name, points=POINTS))
        assert 0 < row["registration (s)"] < row["stages"]["total"] <= row["seconds"]


@pytest.mark.slow
@pytest.mark.usefixtures("stand_ins")
def test_methods_get_the_source_in_its_initial_pose(monkeypatch: pytest.MonkeyPatch) -> None:
    pair = pair_of(PAIR, None, POINTS)
    seen = []

    def watches(source: Any, target: Any, *_: Any) -> Any:
        seen.append(source)
        return np.eye(4)

    monkeypatch.setitem(peers.PEERS, "watches", peer(watches))
    for start, rotation in ((0, (0.0, 0.0, 0.0)), (1, (0.0, 0.0, 0.0)), (0, (0.0, 90.0, 0.0))):
        row = row_of(Run(PAIR, "watches", points=POINTS, initial_pose=start, initial_rotation=rotation))
        # It returns the identity, so the transform from the pose as scanned is the initial one.
        error = row[ROTATION_ERROR]
    assert np.array_equal(seen[0], pair.source)
    assert not np.allclose(seen[1], pair.source)
    assert np.allclose(seen[2].mean(axis=0), pair.source.mean(axis=0))
    start = rotation_about_centroid(pair.source, (0.0, 90.0, 0.0))
    assert np.allclose(seen[2], transform(start, pair.source))
    assert error == pytest.approx(angular_error(start, pair.truth))


@pytest.mark.slow
def test_baselines_get_the_voxel_size_of_the_clean_scans(monkeypatch: pytest.MonkeyPatch) -> None:
    voxels = {}

    def watched(source: Any, target: Any, method: str, settings: Any, seed: int) -> Any:
        voxels[method] = settings.get("voxel")
        return register(source, target)

    monkeypatch.setattr(comparison_runs, "run_method", watched)
    pair = pair_of(PAIR, None, POINTS)
    longest = max(np.ptp(cloud, axis=0).max() for cloud in (pair.source, pair.target))
    for name in ("graphreg", "graphreg-paper", "pipl", "icp", "cpd"):
        row_of(Run(PAIR, name, corruption=CORRUPTIONS[0], points=POINTS))
    assert voxels == {
        "graphreg": None,
        "graphreg-paper": None,
        "pipl": None,
        "icp": pytest.approx(longest / 200),
        "cpd": pytest.approx(longest / 100),
    }
    row_of(Run(PAIR, "icp", points=POINTS, settings=(("voxel", 0.125),)))
    assert voxels["icp"] == 0.125


@pytest.mark.slow
def test_runs_of_the_same_seed_are_the_same_and_others_are_not() -> None:
    def error(seed: int) -> float:
        return float(row_of(Run(PAIR, "icp", seed, CORRUPTIONS[1], POINTS))[ROTATION_ERROR])

    assert error(0) == error(0) != error(1)


def test_methods_are_all_or_the_selected_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "PEERS", {})
    monkeypatch.setattr(
        comparison_runs, "PEERS", {"there": peer(lambda: 0), "gone": peers.Peer(("no_such",), print, "")}
    )
    assert comparison_runs.methods_of(None, False) == list(methods())
    assert comparison_runs.methods_of(None, True) == [*methods(), "there"]
    assert comparison_runs.methods_of("icp,there,icp", False) == ["icp", "there"]
    with pytest.raises(MissingExtraError, match=r"the method gone needs an extra .* pip install 'graphreg\[peers\]'"):
        comparison_runs.methods_of("gone", True)
    with pytest.raises(InputError, match="methods: 'icq' is none of graphreg, graphreg-paper"):
        comparison_runs.methods_of("icp,icq", False)
