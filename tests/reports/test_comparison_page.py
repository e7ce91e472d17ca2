"""The report of a comparison: colours, figures and a page that stands alone."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from tests.support.browser import Browser
from tests.support.meshes import box

from graphreg import deviation
from graphreg.clouds import as_cloud
from graphreg.reports.comparison_page import (
    colour_limit,
    coloured_cloud,
    comparison_report,
    deviation_colours,
)


def test_colours_are_blue_inside_pale_on_the_surface_and_red_outside() -> None:
    inside, on, outside, beyond, none = deviation_colours(np.array([-1, 0, 1, 9, np.nan]), 1.0)
    assert inside[2] > inside[0]
    assert np.ptp(on) < 0.1
    assert outside[0] > outside[2]
    assert np.array_equal(beyond, outside)
    assert not np.array_equal(none, on)


def test_the_scale_ends_at_the_tolerance_or_at_the_95th_percentile() -> None:
    points = box().sample(500)[0] * 1.1
    assert colour_limit(deviation(points, box(), tolerance=0.25)) == 0.25
    found = deviation(points, box())
    assert found.within(colour_limit(found)) == pytest.approx(0.95, abs=0.005)
    assert colour_limit(deviation(box().vertices, box())) > 0


def test_attributes_are_kept_and_rows_match() -> None:
    rows = np.vstack([np.full((1, 3), np.nan), box().vertices + 0.5])
    cloud = as_cloud(rows, attributes={"t": np.arange(9)})
    found = deviation(cloud, box())
    coloured = coloured_cloud(cloud, cloud.points, found)
    assert set(coloured.attributes) == {"t", "red", "green", "blue", "deviation"}
    assert coloured.attributes["t"].tolist() == list(range(1, 9))
    assert np.array_equal(coloured.attributes["deviation"], found.distances[1:])


@pytest.mark.slow
@pytest.mark.parametrize("mesh", [True, False])
@pytest.mark.usefixtures("small_pictures")
def test_the_page_stands_alone_and_has_the_figures(tmp_path: Path, mesh: bool) -> None:
    points = box().sample(800)[0] + [0, 0, 0.01]
    found = deviation(points, box() if mesh else box().sample(900, seed=1)[0], tolerance=0.02)
    comparison_report(found, points, tmp_path / "page.html", ("<a>", "b"), "registered")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    HTMLParser().feed(text)
    assert "&lt;a&gt; compared with b" in text
    assert f"{found.rms:.4g}" in text
    assert "http://" not in text.replace("http://www.w3.org", "")
    assert ("level of detection" in text) == (not mesh)


@pytest.mark.slow
@pytest.mark.usefixtures("small_pictures")
def test_the_page_fits_a_phone(tmp_path: Path, browser: Browser) -> None:
    points = box().sample(500)[0]
    comparison_report(deviation(points, box()), points, tmp_path / "page.html", ("a", "b"))
    browser.resize(380, 700, touch=True)
    browser.open(tmp_path / "page.html")
    assert browser.evaluate("document.documentElement.scrollWidth <= innerWidth && innerWidth <= 380")
