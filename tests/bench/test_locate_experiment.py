"""The experiment on locating parts: queries are the same for all methods, and what is not there must not be found."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from graphreg.bench import locate
from graphreg.poses import pose, rotation_from_vector


def test_methods_are_interleaved_on_the_same_queries() -> None:
    jobs = locate.jobs(None, quick=True, peers=False)
    groups = list(dict.fromkeys(job.group for job in jobs))
    assert groups == ["crop 0.3", "crop 0.2", "crop 0.1", "object", "instances", "absent"]
    assert [job.method for job in jobs[:2]] == ["graphreg locate", "graphreg register"]
    assert {job.method for job in jobs if job.group == "absent"} == {"graphreg locate"}


@pytest.mark.parametrize("group", ["object", "absent"])
@pytest.mark.slow
def test_a_query_is_measured(group: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locate.clutter, "table", partial(locate.clutter.table, objects=5, spacing=0.04))
    (row,) = locate.measure(locate.Job(group, "bracket", 0, locate.OURS), None)
    assert row["correct"]
    assert row["false success"] == 0
    assert row["reported as located"] == (group == "object")
    (line,) = locate.tables([row])[""]
    assert (line["correct"], line["of"]) == (1, 1)
    assert locate.summary([row])[-1].startswith(f"{group}, graphreg locate: 1 of 1 correct")


@pytest.mark.slow
def test_a_crop_is_also_looked_for_where_it_is_not() -> None:
    jobs = locate.jobs(None, quick=True, pairs="synthetic_casting_30,synthetic_hare_30", peers=False)
    foreign = [job for job in jobs if job.group == "foreign crop"]
    assert {tuple(job.name.split(locate.IN)) for job in foreign} == {
        ("synthetic_casting_30", "synthetic_hare_30"),
        ("synthetic_hare_30", "synthetic_casting_30"),
    }
    query = locate._query(foreign[0].group, foreign[0].name, 0, foreign[0].points, None)
    assert query is not None
    assert len(query.poses) == 0
    assert locate.diagonal(query.part) == pytest.approx(locate.SHARES[0] * locate.diagonal(query.scene))


def test_constants_are_fitted_to_queries_of_both_kinds() -> None:
    rng = np.random.default_rng(0)
    rows = []
    for number in range(200):
        inliers = rng.uniform(0, 6)
        right = bool(rng.random() < 1 / (1 + np.exp(6 - 2 * inliers)))
        features = {"log(1 + inliers)": inliers, "ratio": 0.5, "overlap": 0.5, "floating^1/2": 0.1}
        row = {"group": "crop 0.3", "name": str(number % 7), "query": 0, "method": locate.OURS, "correct": right}
        more = {"reported as located": right, "false success": 0, "seconds": 1.0}
        rows.append({**row, **more, "first is right": right, "features": features})
    table = {line["term"]: line for line in locate.tables(rows)["Fitted constants"]}
    assert table["log(1 + inliers)"]["fitted"] == pytest.approx(2, rel=0.3)
    assert abs(table["overlap"]["fitted"]) < 5
    assert "Fitted constants" not in locate.tables(rows[:3])


def test_runs_that_are_left_out_do_not_count() -> None:
    row = locate.left_out(locate.Job("object", "cube", 0, "kiss+gicp"), "not run")
    assert locate.tables([row])[""] == []


def test_poses_are_right_up_to_the_symmetry() -> None:
    part = np.random.default_rng(0).random((50, 3))
    turned = pose(rotation_from_vector([0, 0, 1.0]), [0, 0, 0])
    assert locate._is_right(np.array([turned, np.eye(4)]), np.eye(4), part, "2 equivalent poses")
    assert not locate._is_right(turned[None], np.eye(4), part, "")
    centre = part.mean(axis=0)
    about = pose(turned[:3, :3], centre - turned[:3, :3] @ centre)
    assert locate._is_right(about[None], np.eye(4), part, "equivalent under any rotation about (0.00, 0.00, 1.00)")
