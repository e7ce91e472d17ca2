"""The report of multiway registration: scans, pose graph and pairs, and its interactive picture in Chromium."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.support.browser import Browser
from tests.support.html_pages import Page
from tests.support.strategies import random_transform, small_scan

import graphreg
from graphreg import InputError, Multiway
from graphreg.multiscan.multiway_result import ControlResidual
from graphreg.poses import transform
from graphreg.reports import multiway_page
from graphreg.reports.multiway_page import OUT_OF_SIGHT, multiway_report


@pytest.fixture(scope="module")
def result() -> Multiway:
    body = small_scan("hare")
    clouds = [transform(random_transform(number, 0.3), body[number::3]) for number in range(3)]
    return graphreg.multiway(clouds, names=["first <b>", "second", "third"])


@pytest.fixture(scope="module")
def page(result: Multiway, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(multiway_page, "PICTURE", (400, 160))
        multiway_report(result, path)
    return path


@pytest.fixture
def shown(browser: Browser, page: Path) -> Browser:
    browser.open(page)
    return browser


def parsed(path: Path) -> Page:
    return Page(path.read_text(encoding="utf-8"))


@pytest.mark.slow
def test_scans_pose_graph_and_pairs_are_listed(result: Multiway, page: Path) -> None:
    read = parsed(page)
    assert "3 of 3 scans registered in one frame" in read.texts["h2"]
    assert [tag for tag, _ in read.elements].count("circle") == 3
    assert [tag for tag, _ in read.elements].count("line") == len(result.edges)
    for name in result.names:
        assert name in read.texts["th"]
        assert name in read.texts["text"]
    for edge in result.edges:
        assert edge.reason in read.texts["td"]
    for stage in result.timings:
        assert stage in read.texts["th"]


@pytest.mark.slow
def test_the_file_loads_no_other_resource(page: Path) -> None:
    assert not re.search(r'(?:src|href)="(?!data:)', page.read_text(encoding="utf-8"))


@pytest.mark.slow
def test_a_scan_that_is_not_registered_is_named_and_out_of_sight(
    result: Multiway, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(multiway_page, "PICTURE", (200, 80))
    poses = result.poses.copy()
    poses[1] = np.nan
    partial = replace(result, poses=poses, groups=((0, 2),), left_out={"second": "no <pair> succeeded"})
    multiway_report(partial, tmp_path / "report.html")
    read = parsed(tmp_path / "report.html")
    assert "2 of 3 scans registered in one frame" in read.texts["h2"]
    assert "no <pair> succeeded" in read.texts["td"]
    assert "not registered: second" in read.text()
    assert read.data()["after"][1]["translation"] == [OUT_OF_SIGHT] * 3
    assert np.abs([read.data()["after"][scan]["translation"] for scan in (0, 2)]).max() <= 1


def test_groups_are_side_by_side_and_control_points_have_residuals(
    result: Multiway, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(multiway_page, "PICTURE", (200, 80))
    points = [
        ControlResidual("P1", 0, True, np.array([0.001, 0.0, -0.002]), 0.002, 0.4, True),
        ControlResidual("T <2>", 2, False, np.array([0.1, 0.0, 0.0]), 0.002, 0.0, False),
        ControlResidual("P3", 1, True, np.full(3, np.nan), 0.002, np.nan, False),
    ]
    parted = replace(result, groups=((0, 2), (1,)), control=tuple(points), in_world=True)
    multiway_report(parted, tmp_path / "report.html")
    read = parsed(tmp_path / "report.html")
    assert "separate group: second" in read.text()
    assert "control point rejected: T <2> in third" in read.text()
    assert {"0.0010", "-0.0020", "0.1000", "outlier", "not used", "target"} <= set(read.texts["td"])
    after = np.array([read.data()["after"][scan]["translation"] for scan in range(3)])
    assert np.linalg.norm(after[1] - (after[0] + after[2]) / 2) > 1
    assert np.abs(after).max() < read.data()["radii"][1]


@pytest.mark.slow
def test_scans_are_displayed_and_can_be_hidden(shown: Browser) -> None:
    assert "first <b>" in shown.evaluate("document.body.innerText")
    all_scans = coloured_pixels(shown)
    assert all_scans > 1000
    for number in range(3):
        shown.evaluate(f"document.querySelectorAll('[name=show]')[{number}].click()")
    assert coloured_pixels(shown) < all_scans / 50


def coloured_pixels(browser: Browser) -> int:
    """Number of pixels of the picture with a colour, which the background and the labels hardly have."""
    browser.wait_for_frame()
    pixels = browser.pixels("#clouds")[:, :, :3].astype(int)
    return int(np.count_nonzero(np.ptp(pixels, axis=2) > 40))


@pytest.mark.slow
def test_edges_of_the_pose_graph_are_visible(shown: Browser) -> None:
    strokes = shown.evaluate("[...document.querySelectorAll('.graph line')].map((e) => getComputedStyle(e).stroke)")
    assert strokes
    assert "none" not in strokes


@pytest.mark.slow
def test_print_has_a_still_picture_and_named_columns(shown: Browser) -> None:
    assert shown.evaluate("getComputedStyle(document.querySelector('.still')).display") == "none"
    shown.print_preview(True)
    picture = shown.pixels(".still")[:, :, :3].astype(int)
    assert np.count_nonzero(np.ptp(picture, axis=2) > 40) > 1000
    assert all(shown.evaluate("[...document.querySelectorAll('th')].map((head) => head.textContent)"))


@pytest.mark.slow
def test_the_page_fits_a_narrow_window(shown: Browser) -> None:
    shown.resize(380, 700)
    assert shown.evaluate("document.documentElement.scrollWidth <= innerWidth")
    # The last columns of these tables are sentences. The head is hidden: every cell has the name of its column.
    tables = '[aria-label="Every scan"], [aria-label^="Every pair"]'
    rows = f"[...document.querySelectorAll(':is({tables}) tr:not(thead tr)')]"
    widths = shown.evaluate(f"{rows}.map((row) => row.lastChild.clientWidth)")
    assert min(widths) > 100


def test_other_objects_than_a_result_raise(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="result: expected what multiway\\(\\) returned, got ndarray"):
        multiway_report(np.eye(4), tmp_path / "report.html")  # type: ignore[arg-type]
