"""Initial rotations: which, in which order, and how they are counted."""

from __future__ import annotations

from typing import Any

import pytest

from graphreg.bench import poses
from graphreg.bench.comparison_runs import ROTATION_ERROR, Run, left_out


def test_rotations_about_every_axis_cover_a_full_circle_in_steps_of_five_degrees() -> None:
    jobs = poses.jobs(None, methods="icp")
    for axis in range(3):
        angles = {job.initial_rotation[axis] for job in jobs if _only(job, axis)}
        assert angles == set(range(-180, 181, 5))
    # No rotation counts once.
    assert len(jobs) == 3 * 72 + 1


def test_coarse_steps_come_first() -> None:
    angles = [sum(job.initial_rotation) for job in poses.jobs(None, methods="icp")]
    assert angles[0] == 0
    assert all(angle % 60 == 0 for angle in angles[:19])
    assert all(angle % 15 == 0 for angle in angles[: 3 * 24 + 1])


def _only(job: Run, axis: int) -> bool:
    return not any(job.initial_rotation[:axis] + job.initial_rotation[axis + 1 :])


def row(rotation: tuple[float, float, float], error: float) -> dict[str, Any]:
    missing = left_out(Run("a", "graphreg", initial_rotation=rotation), "")
    return {**missing, "correct": error < 2, ROTATION_ERROR: error, "rmsd": error / 100, "seconds": 1.0}


def test_correct_runs_are_counted_by_axis_and_up_to_the_papers_angle() -> None:
    rows = [row((0, 0, 0), 0.1), row((0, 120, 0), 0.5), row((0, 0, -180), 9.0), row((60, 0, 0), 0.1)]
    (line,) = poses.tables(rows)[poses.TABLE]
    assert [line[f"about {axis}"] for axis in "xyz"] == ["2 of 2", "2 of 2", "1 of 2"]
    assert (line["within 120"], line["all"], line["max (deg)"]) == ("3 of 3", "3 of 4", 9.0)
    assert any("3 of 4 correct, largest rotation error 9 degrees; up to the paper's 120 degrees, 3 of 3" in said
               for said in poses.summary(rows))  # fmt: skip


@pytest.mark.parametrize("angle", [-180, 45])
def test_a_rotation_is_about_one_axis(angle: float) -> None:
    assert poses._rotation("y", angle) == (0, angle, 0)
