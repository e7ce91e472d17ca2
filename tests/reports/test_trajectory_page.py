"""The page on a drive: what it tells, and that a real browser draws it."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.support.browser import Browser, installed

from graphreg.errors import InputError
from graphreg.multiscan.trajectory import FrameResult, Trajectory
from graphreg.poses import pose
from graphreg.reports import trajectory
from graphreg.reports.trajectory_page import FOUND, GUESSED, TRUE, trajectory_report

COUNT = 6


@pytest.fixture(scope="module")
def found() -> Trajectory:
    """A way along x over a floor with a wall; the fourth frame is a guess."""
    rng = np.random.default_rng(0)
    floor = np.column_stack([rng.uniform(-2, 8, 4000), rng.uniform(-3, 3, 4000), np.zeros(4000)])
    wall = np.column_stack([rng.uniform(-2, 8, 1500), np.full(1500, 3.0), rng.uniform(0, 2, 1500)])
    steps = [
        FrameResult(pose(np.eye(3), [k, 0, 1.0]), k != 3, 0.9, "not <b>registered</b>" if k == 3 else "registered: so",
             overlap=0.8, target="map" if k else "", number=k, name=f"f{k}.ply", seconds=0.01)
        for k in range(COUNT)
    ]  # fmt: skip
    return Trajectory(tuple(steps), np.concatenate([floor, wall]))


@pytest.fixture(scope="module")
def page(found: Trajectory, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "drive.html"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trajectory, "PICTURE", (300, 160))
        trajectory_report(found, path, truth=found.poses, name="a <drive>")
    return path


def test_every_frame_and_every_error_is_told(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert "a &lt;drive&gt;" in text
    assert "1 of 6 not registered" in text
    assert "not &lt;b&gt;registered&lt;/b&gt;" in text
    assert all(f"f{k}.ply" in text for k in range(COUNT))
    assert "Relative pose error" in text
    assert not re.search(r'(?:src|href)="(?!data:)', text)


def test_without_truth_or_map_the_page_has_less(found: Trajectory, tmp_path: Path) -> None:
    good = Trajectory(tuple(replace(step, success=True) for step in found.steps))
    trajectory_report(good, tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Every frame registered" in text
    assert "Relative pose error" not in text
    assert re.search(r'id="data">null<', text)


def test_one_frame_is_enough(found: Trajectory, tmp_path: Path) -> None:
    trajectory_report(Trajectory(found.steps[:1], found.map), tmp_path / "page.html", truth=found.poses[:1])
    assert (tmp_path / "page.html").exists()


def test_dots_along_the_way_know_guesses_and_the_truth(found: Trajectory) -> None:
    dots, kinds = trajectory._chain(found, found.poses + pose(np.zeros((3, 3)), [0, 1, 0]), 1.0)
    assert set(kinds) == {FOUND, GUESSED, TRUE}
    guessed = dots[kinds == GUESSED]
    assert guessed[:, 0].min() > 2
    assert guessed[:, 0].max() <= 3
    assert (dots[kinds == TRUE][:, 1] == 1).all()


def test_heights_are_measured_across_the_flat_side() -> None:
    for up in range(3):
        viewer = np.full(3, 0.3)
        viewer[up] = -0.9
        view = np.stack([np.zeros(3), np.zeros(3), viewer])
        assert np.array_equal(trajectory._upward(view), -np.eye(3)[up])


def test_what_cannot_be_reported_is_told(found: Trajectory, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="found: expected what sequence"):
        trajectory_report(Trajectory(()), tmp_path / "page.html")
    with pytest.raises(InputError, match="truth: expected 6 poses, one for each frame, got 2"):
        trajectory_report(found, tmp_path / "page.html", truth=found.poses[:2])
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(installed() is None, reason="no Chromium or Chrome is installed to open the page with")
def test_a_browser_draws_the_map_and_the_way(page: Path) -> None:
    browser = Browser()
    try:
        browser.open(page)
        browser.settle()
        whole = browser.pixels("#clouds")
        assert len(np.unique(whole.reshape(-1, whole.shape[-1]), axis=0)) > 50
        browser.click("[name=show][value='1']")
        browser.settle()
        way = browser.pixels("#clouds")
        browser.click("[name=show][value='0']")
        browser.settle()
        empty = browser.pixels("#clouds")
        drawn = [int((picture != empty).any(axis=-1).sum()) for picture in (whole, way)]
        assert drawn[0] > drawn[1] > 0
        browser.evaluate("document.getElementById('home').click()")
        browser.click("#theme")
        assert browser.evaluate("document.documentElement.dataset.theme") in ("dark", "light")
        assert browser.complaints == []
        assert [request for request in browser.requests if not request.startswith("data:")] == [page.as_uri()]
    finally:
        browser.close()
