"""Odometry frame to frame: frames, steps, RPE and ATE."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphreg.bench import odometry
from graphreg.bench.odometry import Step
from graphreg.errors import FileError
from graphreg.poses import inverse, pose, rotation_from_vector

METHODS = "graphreg,icp"


def row(number: int, found: Any, truth: Any, method: str = "graphreg") -> dict[str, Any]:
    step = Step(odometry.SYNTHETIC, number, method, 8, None)
    error = found @ inverse(truth)
    return {
        **odometry.left_out(step, ""), "correct": True, "RPE (deg)": 0.0,
        "RPE (m)": float(np.linalg.norm(error[:3, 3])), "seconds": 1.0, "registration (s)": 0.5,
        "transformation": odometry._numbers_of(found), "truth": odometry._numbers_of(truth),
    }  # fmt: skip


def test_every_other_frame_is_registered_to_the_one_before() -> None:
    steps = odometry.jobs(None, quick=True, methods=METHODS)
    assert [(step.number, step.method) for step in steps] == [(k, m) for k in range(3) for m in METHODS.split(",")]
    assert len(odometry.jobs(None, methods="icp")) == 199
    sequences = {step.sequence for step in odometry.jobs(Path("somewhere"), methods="icp")}
    assert sequences == {*odometry.REAL, odometry.SYNTHETIC}


def test_real_frames_have_their_poses(tmp_path: Path) -> None:
    (tmp_path / "kitti_03").mkdir()
    rng = np.random.default_rng(0)
    poses = [pose(rotation_from_vector(0.01 * rng.normal(size=3)), rng.normal(size=3)) for _ in range(10)]
    clouds = [rng.normal(size=(30, 4)).astype("<f4") for _ in poses]
    for number, cloud in enumerate(clouds):
        cloud.tofile(tmp_path / f"kitti_03/{number:06d}.bin")
    np.savetxt(tmp_path / odometry.POSES, [matrix[:3].ravel() for matrix in poses])
    step = Step("kitti_03, odd frames", 2, "icp", 10, None)
    for number, frame in ((step.number, 5), (step.number + 1, 7)):
        points, at = odometry._frame(step, number, tmp_path)
        assert np.array_equal(points, clouds[frame][:, :3])
        assert np.allclose(at, poses[frame])
    (tmp_path / odometry.POSES).write_text("1 2 3\n")
    odometry._poses.cache_clear()
    with pytest.raises(FileError, match="expected twelve numbers a line"):
        odometry._frame(step, 0, tmp_path)


@pytest.mark.slow
def test_a_step_is_compared_with_the_true_trajectory() -> None:
    (found,) = odometry.measure(Step(odometry.SYNTHETIC, 0, "graphreg", 8, 20_000), None)
    # Two metres down the street; the sensor's noise is 2 cm, over thousands of points.
    assert np.linalg.norm(odometry._pose_of(found["truth"])[:3, 3]) == pytest.approx(2, abs=0.2)
    assert found["RPE (m)"] < 0.02
    assert found["correct"]


def test_errors_accumulate_along_the_trajectory() -> None:
    step = pose(np.eye(3), [2.0, 0.0, 0.0])
    late = pose(np.eye(3), [2.1, 0.0, 0.0])
    rows = [row(k, late, step) for k in range(3)]
    (line,) = odometry.tables(rows)["Errors"]
    assert (line["steps"], line["length (m)"]) == (3, pytest.approx(6))
    assert line["RPE (m)"] == pytest.approx(0.1)
    assert line["ATE (m)"] == pytest.approx(0.2)
    assert line["last frame (m)"] == pytest.approx(0.3)
    assert line["ATE (deg)"] == pytest.approx(0, abs=1e-9)
    assert odometry._trajectory(rows, "transformation")[:, 0] == pytest.approx([0, 2.1, 4.2, 6.3])


def test_the_summary_has_the_ranking_and_how_far_a_slow_method_came() -> None:
    step = pose(np.eye(3), [2.0, 0.0, 0.0])
    rows = [
        row(0, pose(np.eye(3), [2.2, 0, 0]), step),
        row(0, pose(np.eye(3), [2.1, 0, 0]), step, "icp"),
        row(1, pose(np.eye(3), [2.2, 0, 0]), step),
        odometry.left_out(Step(odometry.SYNTHETIC, 1, "icp", 8, None), "not run: icp has spent its 1 s"),
    ]
    lines = odometry.summary(rows)
    assert "synthetic_street, RPE (m): graphreg 0.2, NOT first; icp has 0.1" in lines
    assert any("within the time limit: icp 1 of 2" in line for line in lines)
    ours, theirs = odometry.tables(rows)["Errors"]
    assert (ours["steps"], ours["not run"], theirs["steps"], theirs["not run"]) == (2, 0, 1, 1)
    assert odometry.tables(rows)["paper: KITTI 03, 401 steps"][-1]["RPE (deg)"] == 0.1017
