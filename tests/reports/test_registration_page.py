"""Reports as files: every method, any input, one file that asks for nothing else, and bad input told."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.html_pages import Page
from tests.support.strategies import small_scan

import graphreg
from graphreg.errors import InputError
from graphreg.method_interface import Iteration
from graphreg.poses import inverse, pose, rotation_from_vector, transform
from graphreg.reports import html, scenes
from graphreg.reports.registration_page import MOST_STEPS

MOTION = pose(rotation_from_vector([0.1, -0.1, 0.15]), [0.02, -0.01, 0.03])
TARGET = small_scan("hare")[::3]
SOURCE = transform(inverse(MOTION), small_scan("hare")[1::3])


@pytest.fixture(autouse=True)
def small_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    """To draw the still picture takes longer than all the rest."""
    monkeypatch.setattr(html, "PICTURE", (140, 56))


@pytest.fixture(scope="module")
def result() -> graphreg.Result:
    return graphreg.register(SOURCE, TARGET, method="icp")


def written(path: Path, *arguments: Any, **more: Any) -> Page:
    graphreg.report(*arguments, path, **more)
    return Page(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("method", graphreg.methods())
def test_every_method_has_its_report(tmp_path: Path, method: str) -> None:
    found = graphreg.register(SOURCE, TARGET, method=method)
    page = written(tmp_path / "report.html", found, SOURCE, TARGET)
    said = page.said()
    assert found.reason.partition(": ")[2] in said
    assert f"{found.overlap:.0%}" in said
    assert f"{found.confidence:.2f}" in said
    for stage in found.timings:
        assert stage in page.texts["th"]
    for name in found.settings:
        assert name in page.texts["th"]
    assert np.array_equal(np.array(" ".join(page.texts["pre"]).split(), float).reshape(4, 4), found.transformation)
    titles = ["Residuals"]
    if len(found.history) > 2:
        titles.append("Energy")
    if found.history[0].temperature is not None:
        titles += ["Temperature", "Acceptance"]
    assert page.texts["title"][1:] == titles
    shown = min(len(found.history), MOST_STEPS)
    assert len(page.data()["frames"]) in (shown + 1, shown + 2)


def test_the_file_asks_for_nothing_else(tmp_path: Path, result: graphreg.Result) -> None:
    page = written(tmp_path / "report.html", result, SOURCE, TARGET)
    for tag, attributes in page.elements:
        for name in ("src", "href", "srcset", "action", "poster"):
            assert (attributes.get(name) or "data:").startswith("data:"), (tag, name)
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    addresses = set(re.findall(r"https?://[^\s\"'<>)]+", text))
    assert addresses <= {"http://www.w3.org/2000/svg"}
    assert not re.search(r"@import|url\(", text)


def test_a_failed_registration_has_its_report(tmp_path: Path) -> None:
    other = small_scan("casting")
    found = graphreg.register(SOURCE, other)
    assert not found.success
    page = written(tmp_path / "report.html", found, SOURCE, other)
    assert "Not registered" in page.texts["h2"]


def test_what_is_undetermined_is_told(tmp_path: Path) -> None:
    directions = np.random.default_rng(0).normal(size=(3000, 3))
    ball = directions / np.linalg.norm(directions, axis=1, keepdims=True)
    found = graphreg.register(ball, ball[::-1] + 1.0)
    assert "turn about any axis" in written(tmp_path / "report.html", found, ball, ball[::-1] + 1.0).said()


def test_a_result_from_json_gives_the_same_report(tmp_path: Path, result: graphreg.Result) -> None:
    pages = [
        written(tmp_path / "report.html", found, SOURCE, TARGET)
        for found in (result, graphreg.Result.from_json(result.to_json()))
    ]
    assert pages[0].data() == pages[1].data()
    assert pages[0].elements == pages[1].elements


def test_it_stays_small_whatever_comes_in(
    tmp_path: Path, result: graphreg.Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two clouds of 200,000 points, and a history of 5,000 steps."""
    rng = np.random.default_rng(0)
    steps = tuple(
        Iteration(k + 1, pose(rotation_from_vector(rng.normal(size=3)), rng.normal(size=3)), k + 0.1, 0.5, 0.5)
        for k in range(5_000)
    )
    large = rng.normal(size=(200_000, 3))
    monkeypatch.setattr(html, "PICTURE", (1200, 480))
    page = written(tmp_path / "report.html", replace(result, history=steps), large, large)
    assert (tmp_path / "report.html").stat().st_size < 10e6
    assert [cloud["points"] for cloud in page.data()["clouds"]] == [pytest.approx(scenes.MOST_POINTS, rel=0.05)] * 2
    assert len(page.data()["frames"]) == MOST_STEPS + 2
    assert "200,000" in page.said()


@pytest.mark.parametrize("energy", [np.nan, np.inf, -1.0, 0.0, 1e300])
def test_any_energy_can_be_told(tmp_path: Path, result: graphreg.Result, energy: float) -> None:
    steps = tuple(Iteration(k + 1, MOTION, energy if k % 2 else -0.5 * k) for k in range(8))
    page = written(tmp_path / "report.html", replace(result, history=steps), SOURCE, TARGET)
    assert "Energy" in page.texts["title"]


def test_without_history_overlap_and_covariance(tmp_path: Path, result: graphreg.Result) -> None:
    bare = replace(
        result, history=(), overlap=0.0, inlier_rmse=float("nan"), covariance=None, centre=None, scores=(), timings={}
    )
    page = written(tmp_path / "report.html", bare, SOURCE, TARGET)
    assert page.texts["title"][1:] == ["Residuals"]
    assert "none" in page.texts["dd"]


@pytest.mark.parametrize(("scale", "offset"), [(1e-9, 0.0), (1.0, 5e6), (1e9, 0.0), (1e-100, 0.0), (1e140, 0.0)])
def test_any_size_and_place(tmp_path: Path, result: graphreg.Result, scale: float, offset: float) -> None:
    shift = pose(np.eye(3), np.full(3, offset))
    motion = shift @ pose(MOTION[:3, :3], scale * MOTION[:3, 3]) @ inverse(shift)
    source, target = scale * SOURCE + offset, scale * TARGET + offset
    page = written(tmp_path / "report.html", replace(result, transformation=motion), source, target)
    assert page.data()["frames"][-1]["shift"] == pytest.approx([0, 0, 0], abs=0.1)


def test_anything_that_holds_points_is_taken(tmp_path: Path, result: graphreg.Result) -> None:
    holey = np.vstack([SOURCE, [[np.nan, 0, 0]]])
    plain = written(tmp_path / "report.html", result, SOURCE, TARGET).data()
    for source, target in ((holey, TARGET.tolist()), (graphreg.Cloud(SOURCE, np.ones(len(SOURCE), bool)), TARGET)):
        assert written(tmp_path / "report.html", result, source, target).data() == plain


def test_names_cannot_break_the_page(tmp_path: Path, result: graphreg.Result) -> None:
    names = ("</script><script>alert(1)</script>", '"><img src=x onerror=alert(1)> $title ${data} & é\u2028')
    page = written(tmp_path / "report.html", result, SOURCE, TARGET, names=names)
    assert names[0] in page.texts["span"]
    assert names[1].strip() in page.texts["span"]
    assert not [attributes for tag, attributes in page.elements if "onerror" in attributes]
    assert len([tag for tag, _ in page.elements if tag == "script"]) == 3


def test_bad_input_is_named_and_leaves_no_file(tmp_path: Path, result: graphreg.Result) -> None:
    path = tmp_path / "report.html"
    for told, arguments in (
        ("result: expected what register() returned, got ndarray", (MOTION, SOURCE, TARGET)),
        ("source: has 0 points", (result, np.empty((0, 3)), TARGET)),
        ("target: has 2 points", (result, SOURCE, TARGET[:2])),
        (f"target: expected shape (N, 3), got ({len(TARGET)},)", (result, SOURCE, TARGET[:, 0])),
    ):
        with pytest.raises(InputError, match=f"^{re.escape(told)}"):
            graphreg.report(*arguments, path)
    for names in ("ab", ("a",), ("a", "b", "c")):
        with pytest.raises(InputError, match=r"^names: expected two"):
            graphreg.report(result, SOURCE, TARGET, path, names=names)
    with pytest.raises(InputError, match=r"^threads: "):
        graphreg.report(result, SOURCE, TARGET, path, threads=0)
    with pytest.raises(OSError, match="there is no folder"):
        graphreg.report(result, SOURCE, TARGET, tmp_path / "missing" / "report.html")
    with pytest.raises(InputError, match="is a folder"):
        graphreg.report(result, SOURCE, TARGET, tmp_path)
    assert not list(tmp_path.iterdir())


def test_the_old_file_is_replaced_as_a_whole(tmp_path: Path, result: graphreg.Result) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")
    graphreg.report(result, SOURCE, TARGET, path)
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert list(tmp_path.iterdir()) == [path]
