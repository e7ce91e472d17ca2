"""The report of a sequence: frames, errors, map and trajectory, and its interactive picture in Chromium."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.support.browser import Browser

from graphreg.errors import InputError
from graphreg.multiscan.trajectory import FrameResult, Loop, Trajectory
from graphreg.poses import pose
from graphreg.reports import trajectory_page
from graphreg.reports.trajectory_page import GROUND_TRUTH, LOOP_END, PREDICTED, REGISTERED, trajectory_report

COUNT = 6


@pytest.fixture(scope="module")
def trajectory() -> Trajectory:
    """Along x, over a floor with a wall; the pose of the fourth frame is predicted."""
    rng = np.random.default_rng(0)
    floor = np.column_stack([rng.uniform(-2, 8, 4000), rng.uniform(-3, 3, 4000), np.zeros(4000)])
    wall = np.column_stack([rng.uniform(-2, 8, 1500), np.full(1500, 3.0), rng.uniform(0, 2, 1500)])
    steps = [
        FrameResult(pose(np.eye(3), [k, 0, 1.0]), k != 3, 0.9, "not <b>registered</b>" if k == 3 else "registered: so",
             overlap=0.8, target="map" if k else "", number=k, name=f"f{k}.ply", seconds=0.01)
        for k in range(COUNT)
    ]  # fmt: skip
    return Trajectory(tuple(steps), np.concatenate([floor, wall]))


@pytest.fixture(autouse=True)
def small_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    """The still picture takes longer than the rest of the page."""
    monkeypatch.setattr(trajectory_page, "PICTURE", (150, 80))


@pytest.fixture(scope="module")
def page(trajectory: Trajectory, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "sequence.html"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trajectory_page, "PICTURE", (300, 160))
        trajectory_report(trajectory, path, truth=trajectory.poses, name="a <sequence>")
    return path


def test_every_frame_and_every_error_is_listed(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert "a &lt;sequence&gt;" in text
    assert "1 of 6 frames not registered" in text
    assert "not &lt;b&gt;registered&lt;/b&gt;" in text
    assert all(f"f{k}.ply" in text for k in range(COUNT))
    for figure in ("RPE", "ATE", "Final error", "KITTI segment error"):
        assert re.search(f"<dt>(<abbr [^>]*>)?{figure}<", text)
    assert not re.search(r'(?:src|href)="(?!data:)', text)


def test_without_ground_truth_or_map_their_parts_are_missing(trajectory: Trajectory, tmp_path: Path) -> None:
    good = Trajectory(tuple(replace(step, success=True) for step in trajectory.steps))
    trajectory_report(good, tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Every frame registered" in text
    assert "RPE" not in text
    assert re.search(r'id="data">null<', text)


def test_one_frame_is_enough(trajectory: Trajectory, tmp_path: Path) -> None:
    single = Trajectory(trajectory.steps[:1], trajectory.map)
    trajectory_report(single, tmp_path / "page.html", truth=trajectory.poses[:1])
    assert (tmp_path / "page.html").exists()


def test_dots_are_registered_predicted_or_ground_truth(trajectory: Trajectory) -> None:
    dots, kinds = trajectory_page._trajectory_dots(
        trajectory, trajectory.poses + pose(np.zeros((3, 3)), [0, 1, 0]), 1.0
    )
    assert set(kinds) == {REGISTERED, PREDICTED, GROUND_TRUTH}
    predicted = dots[kinds == PREDICTED]
    assert predicted[:, 0].min() > 2
    assert predicted[:, 0].max() <= 3
    assert (dots[kinds == GROUND_TRUTH][:, 1] == 1).all()


@pytest.mark.slow
def test_loops_are_counted_listed_and_drawn(trajectory: Trajectory, tmp_path: Path) -> None:
    for loops, title, ends in ((None, False, 0), ((), True, 0), ((Loop(5, 1, np.eye(4), 0.93, 0.7),), True, 2)):
        trajectory_report(replace(trajectory, loops=loops), tmp_path / "page.html")
        text = (tmp_path / "page.html").read_text(encoding="utf-8")
        assert ("<dt>Loops" in text) == title
        assert ("ends of loops" in text) == (ends > 0)
        assert ("f5.ply</th>" in text.partition("Every loop</caption>")[2].partition("</table>")[0]) == (ends > 0)
        dots, kinds = trajectory_page._trajectory_dots(replace(trajectory, loops=loops), None, 1.0)
        assert set(np.ceil(dots[kinds == LOOP_END][:, 0])) == ({1.0, 5.0} if ends else set())


def test_heights_are_along_the_axis_towards_the_viewer() -> None:
    for up in range(3):
        viewer = np.full(3, 0.3)
        viewer[up] = -0.9
        view = np.stack([np.zeros(3), np.zeros(3), viewer])
        assert np.array_equal(trajectory_page._vertical_axis(view), -np.eye(3)[up])


def test_bad_input_raises(trajectory: Trajectory, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="trajectory: expected what sequence"):
        trajectory_report(Trajectory(()), tmp_path / "page.html")
    with pytest.raises(InputError, match="truth: expected 6 poses, one for each frame, got 2"):
        trajectory_report(trajectory, tmp_path / "page.html", truth=trajectory.poses[:2])
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_map_and_trajectory_are_displayed_and_can_be_hidden(browser: Browser, page: Path) -> None:
    browser.open(page)
    both = browser.pixels("#clouds")
    assert len(np.unique(both @ [1, 256, 256**2])) > 50  # colours
    browser.click("[name=show][value='1']")
    track = browser.pixels("#clouds")
    browser.click("[name=show][value='0']")
    empty = browser.pixels("#clouds")
    swatches = "[...document.querySelectorAll('.swatch')].map((e) => getComputedStyle(e).backgroundColor)"
    assert len(set(browser.evaluate(swatches))) == 5
    areas = [int((picture != empty).any(axis=-1).sum()) for picture in (both, track)]
    assert areas[0] > areas[1] > 0
    browser.evaluate("document.getElementById('home').click()")
    browser.click("#theme")
    assert browser.evaluate("document.documentElement.dataset.theme") == "dark"
    assert [request for request in browser.requests if not request.startswith("data:")] == [page.as_uri()]
