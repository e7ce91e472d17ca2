"""The pose test: which poses, in which order, and how they are counted."""

from __future__ import annotations

from typing import Any

import pytest

from graphreg.bench import comparison, poses
from graphreg.bench.comparison import Run


def test_every_axis_is_turned_by_a_whole_turn_in_five_degree_steps() -> None:
    jobs = poses.jobs(None, methods="icp")
    for axis in range(3):
        angles = {job.turned[axis] for job in jobs if not any(job.turned[:axis] + job.turned[axis + 1 :])}
        assert angles == set(range(-180, 181, 5))
    # Not turned at all counts once.
    assert len(jobs) == 3 * 72 + 1


def test_coarse_steps_come_first() -> None:
    turned = [sum(job.turned) for job in poses.jobs(None, methods="icp")]
    assert turned[0] == 0
    assert all(angle % 60 == 0 for angle in turned[:19])
    assert all(angle % 15 == 0 for angle in turned[: 3 * 24 + 1])


def row(turned: tuple[float, float, float], degrees: float) -> dict[str, Any]:
    missing = comparison.left_out(Run("a", "graphreg", turned=turned), "")
    return {**missing, "right": degrees < 2, "degrees": degrees, "rmsd": degrees / 100, "seconds": 1.0}


def test_poses_are_counted_by_axis_and_as_far_as_the_paper_goes() -> None:
    rows = [row((0, 0, 0), 0.1), row((0, 120, 0), 0.5), row((0, 0, -180), 9.0), row((60, 0, 0), 0.1)]
    (line,) = poses.tables(rows)["Registered from so many poses"]
    assert [line[f"about {axis}"] for axis in "xyz"] == ["2 of 2", "2 of 2", "1 of 2"]
    assert (line["within 120"], line["all"], line["worst degrees"]) == ("3 of 3", "3 of 4", 9.0)
    assert any("3 of 4 registered, at worst 9 degrees off; as far as the paper goes, 3 of 3" in said
               for said in poses.summary(rows))  # fmt: skip


@pytest.mark.parametrize("angle", [-180, 45])
def test_a_turn_is_about_one_axis(angle: float) -> None:
    assert poses._about("y", angle) == (0, angle, 0)
