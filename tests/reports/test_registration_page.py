"""Reports of a registration as files: every method, any input, no external resource, and errors."""

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
from graphreg.reports import display_clouds, registration_page
from graphreg.reports.registration_page import MAX_ITERATIONS
from graphreg.reports.table_cells import percent

T_TARGET_SOURCE = pose(rotation_from_vector([0.1, -0.1, 0.15]), [0.02, -0.01, 0.03])
TARGET = small_scan("hare")[::3]
SOURCE = transform(inverse(T_TARGET_SOURCE), small_scan("hare")[1::3])


pytestmark = pytest.mark.usefixtures("small_pictures")


@pytest.fixture(scope="module")
def result() -> graphreg.Result:
    return graphreg.register(SOURCE, TARGET, method="icp")


def written(path: Path, *arguments: Any, **more: Any) -> Page:
    graphreg.report(*arguments, path, **more)
    return Page(path.read_text(encoding="utf-8"))


@pytest.mark.slow
@pytest.mark.parametrize("method", ["graphreg", "graphreg-paper", "fricp", "super4pcs"])
def test_results_with_and_without_an_energy_have_a_report(tmp_path: Path, method: str) -> None:
    found = graphreg.register(SOURCE[::2], TARGET[::2], method=method)
    page = written(tmp_path / "report.html", found, SOURCE[::2], TARGET[::2])
    text = page.text()
    assert found.reason.partition(": ")[2] in text
    assert percent(found.overlap) in text
    assert f"{found.confidence:.2f}" in text
    for stage in found.timings:
        assert stage in page.texts["th"]
    headings = "".join(page.texts["th"])  # long names may break after each _
    assert all(name in headings for name in found.settings)
    assert np.array_equal(np.array(" ".join(page.texts["pre"]).split(), float).reshape(4, 4), found.transformation)
    titles = ["Residuals"]
    if len(found.history) > 2:
        titles.append("Energy")
    if found.history[0].temperature is not None:
        titles += ["Temperature", "Acceptance"]
    assert page.texts["title"][1:] == titles
    shown = min(len(found.history), MAX_ITERATIONS)
    assert len(page.data()["frames"]) in (shown + 1, shown + 2)


def test_the_file_loads_no_other_resource(tmp_path: Path, result: graphreg.Result) -> None:
    page = written(tmp_path / "report.html", result, SOURCE, TARGET)
    for tag, attributes in page.elements:
        for name in ("src", "href", "srcset", "action", "poster"):
            assert (attributes.get(name) or "data:").startswith("data:"), (tag, name)
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    addresses = set(re.findall(r"https?://[^\s\"'<>)]+", text))
    assert addresses <= {"http://www.w3.org/2000/svg"}
    assert not re.search(r"@import|url\(", text)


@pytest.mark.slow
def test_a_failed_registration_has_a_report(tmp_path: Path) -> None:
    other = small_scan("casting")[::3]
    found = graphreg.register(SOURCE, other)
    assert not found.success
    page = written(tmp_path / "report.html", found, SOURCE, other)
    assert "Not registered" in page.texts["h2"]
    assert "Pose uncertainty" not in page.text()


def test_figures_and_chart_are_of_the_same_residuals(tmp_path: Path, result: graphreg.Result) -> None:
    text = written(tmp_path / "report.html", result, SOURCE, TARGET).text()
    assert f"within {result.overlap_distance:.3g} of the target" in text
    assert f"RMS {result.inlier_rmse:.3g}, 95 % below {result.residual_95:.3g}" in text
    assert f"half within {result.residual_median:.3g}, 95 % within {result.residual_95:.3g}" in text
    assert f"The other {100 * (1 - result.overlap):.0f} % of the source are farther" in text


def test_degenerate_directions_are_listed(tmp_path: Path) -> None:
    directions = np.random.default_rng(0).normal(size=(3000, 3))
    ball = directions / np.linalg.norm(directions, axis=1, keepdims=True)
    found = graphreg.register(ball, ball[::-1] + 1.0)
    assert found.degenerate_directions
    text = written(tmp_path / "report.html", found, ball, ball[::-1] + 1.0).text()
    assert all(direction in text for direction in found.degenerate_directions)


def test_a_result_from_json_gives_the_same_report(tmp_path: Path, result: graphreg.Result) -> None:
    pages = [
        written(tmp_path / "report.html", found, SOURCE, TARGET)
        for found in (result, graphreg.Result.from_json(result.to_json()))
    ]
    assert pages[0].data() == pages[1].data()
    assert pages[0].elements == pages[1].elements


@pytest.mark.slow
def test_the_file_is_small_for_any_input(
    tmp_path: Path, result: graphreg.Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two clouds of 200,000 points, and a history of 5,000 iterations."""
    rng = np.random.default_rng(0)
    steps = tuple(
        Iteration(k + 1, pose(rotation_from_vector(rng.normal(size=3)), rng.normal(size=3)), k + 0.1, 0.5, 0.5)
        for k in range(5_000)
    )
    large = rng.normal(size=(200_000, 3))
    monkeypatch.setattr(registration_page, "PICTURE", (1200, 480))
    page = written(tmp_path / "report.html", replace(result, history=steps), large, large)
    assert (tmp_path / "report.html").stat().st_size < 10e6
    displayed = [cloud["points"] for cloud in page.data()["clouds"]]
    assert displayed == [pytest.approx(display_clouds.MAX_POINTS, rel=0.05)] * 2
    assert len(page.data()["frames"]) == MAX_ITERATIONS + 2
    assert "200,000" in page.text()


@pytest.mark.parametrize("energy", [np.nan, np.inf, -1.0, 0.0, 1e300])
def test_any_energy_is_accepted(tmp_path: Path, result: graphreg.Result, energy: float) -> None:
    steps = tuple(Iteration(k + 1, T_TARGET_SOURCE, energy if k % 2 else -0.5 * k) for k in range(8))
    page = written(tmp_path / "report.html", replace(result, history=steps), SOURCE, TARGET)
    assert "Energy" in page.texts["title"]


def test_without_history_overlap_and_covariance(tmp_path: Path, result: graphreg.Result) -> None:
    bare = replace(
        result, history=(), overlap=0.0, inlier_rmse=float("nan"), overlap_distance=float("nan"), residual_quantiles=(),
        covariance=None, centre=None, scores=(), timings={},
    )  # fmt: skip
    page = written(tmp_path / "report.html", bare, SOURCE, TARGET)
    assert page.texts["title"][1:] == []
    assert "none" in page.texts["dd"]


@pytest.mark.parametrize(("scale", "offset"), [(1e-9, 0.0), (1.0, 5e6), (1e9, 0.0), (1e-100, 0.0), (1e140, 0.0)])
def test_any_unit_and_origin(tmp_path: Path, result: graphreg.Result, scale: float, offset: float) -> None:
    to_origin = pose(np.eye(3), np.full(3, offset))
    T = to_origin @ pose(T_TARGET_SOURCE[:3, :3], scale * T_TARGET_SOURCE[:3, 3]) @ inverse(to_origin)
    source, target = scale * SOURCE + offset, scale * TARGET + offset
    page = written(tmp_path / "report.html", replace(result, transformation=T), source, target)
    assert page.data()["frames"][-1]["translation"] == pytest.approx([0, 0, 0], abs=0.1)


@pytest.mark.slow
def test_any_container_of_points_is_accepted(tmp_path: Path, result: graphreg.Result) -> None:
    with_nan = np.vstack([SOURCE, [[np.nan, 0, 0]]])
    plain = written(tmp_path / "report.html", result, SOURCE, TARGET).data()
    for source, target in ((with_nan, TARGET.tolist()), (graphreg.Cloud(SOURCE, np.ones(len(SOURCE), bool)), TARGET)):
        assert written(tmp_path / "report.html", result, source, target).data() == plain


def test_names_are_escaped(tmp_path: Path, result: graphreg.Result) -> None:
    names = ("</script><script>alert(1)</script>", '"><img src=x onerror=alert(1)> $title ${data} & é\u2028')
    page = written(tmp_path / "report.html", result, SOURCE, TARGET, names=names)
    assert names[0] in page.texts["span"]
    assert names[1].strip() in page.texts["span"]
    assert not [attributes for tag, attributes in page.elements if "onerror" in attributes]
    assert len([tag for tag, _ in page.elements if tag == "script"]) == 3


@pytest.mark.slow
def test_bad_input_is_named_and_leaves_no_file(tmp_path: Path, result: graphreg.Result) -> None:
    path = tmp_path / "report.html"
    for message, arguments in (
        ("result: expected what register() returned, got ndarray", (T_TARGET_SOURCE, SOURCE, TARGET)),
        ("source: has 0 points", (result, np.empty((0, 3)), TARGET)),
        ("target: has 2 points", (result, SOURCE, TARGET[:2])),
        (f"target: expected shape (N, 3), got ({len(TARGET)},)", (result, SOURCE, TARGET[:, 0])),
    ):
        with pytest.raises(InputError, match=f"^{re.escape(message)}"):
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


def test_an_existing_file_is_replaced_as_a_whole(tmp_path: Path, result: graphreg.Result) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")
    graphreg.report(result, SOURCE, TARGET, path)
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert list(tmp_path.iterdir()) == [path]
