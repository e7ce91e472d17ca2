"""Figures by matplotlib: the same bytes again, one colour for a method, ink that follows the page's theme."""

from __future__ import annotations

import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from graphreg.bench.comparison_runs import PEERS
from graphreg.bench.comparison_statistics import FAMILIES
from graphreg.bench.odometry_peers import ODOMETRY_PEERS
from graphreg.errors import InputError, MissingExtraError
from graphreg.registration import methods
from graphreg.reports.plots import INK, METHODS, PALE_INK, Panel, plot_grid, write_svg

LINE = {"icp": ([0, 1, 2], [1e-14, 1.0, 10.0])}


@pytest.mark.slow
def test_the_same_input_gives_the_same_text_whatever_the_users_style() -> None:
    matplotlib = pytest.importorskip("matplotlib")
    panel = Panel(LINE, "Title", "x", "y", log_y=True, floor=1e-4)
    first = plot_grid([panel], "one")
    with matplotlib.rc_context({"axes.facecolor": "pink", "font.size": 30}):
        assert plot_grid([panel], "one") == first
    assert "<dc:date>" not in first


@pytest.mark.slow
def test_a_figure_is_labelled_and_has_ink_for_dark_pages() -> None:
    pytest.importorskip("matplotlib")
    both = {**LINE, "graphreg": ([0, 1, 2], [1.0, 2.0, 3.0])}
    text = plot_grid([Panel(both, "Errors <of> all", "noise", "degrees", log_y=True, floor=1e-4)], "one")
    said = {"".join(element.itertext()).strip() for element in ElementTree.fromstring(text).iter()}
    assert {"Errors <of> all", "noise", "degrees", "icp", "graphreg", "below 0.0001"} <= said
    assert all(METHODS[name][0] in text for name in both)
    assert f"fill:{PALE_INK}" in text
    assert f"fill: {INK}" in text


@pytest.mark.slow
def test_only_values_below_the_floor_are_labelled_as_such() -> None:
    pytest.importorskip("matplotlib")
    text = plot_grid([Panel({"icp": ([0, 1], [1e-3, 1.0])}, "t", "x", "y", log_y=True, floor=1e-4)], "one")
    assert "below" not in text


def test_bars_have_their_values_beside_them() -> None:
    pytest.importorskip("matplotlib")
    text = plot_grid([Panel({"graphreg": ([], [0.125]), "icp": ([], [3.0])}, "t", "x", "", bars=True)], "one")
    assert ">0.125<" in text
    assert METHODS["icp"][0] in text


def test_every_method_has_a_style_and_those_in_one_chart_differ_in_colour() -> None:
    assert set(methods()) | set(PEERS) | set(ODOMETRY_PEERS) <= set(METHODS)
    assert len(set(METHODS.values())) >= len(METHODS) - len(ODOMETRY_PEERS) - 1
    for family in FAMILIES.values():
        colours = [METHODS[name][0] for name in ("graphreg", *family)]
        assert len(set(colours)) == len(colours)


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"graphreg\[plots\]"):
        plot_grid([Panel(LINE, "t", "x", "y")], "one")


def test_nothing_to_draw_is_an_error() -> None:
    pytest.importorskip("matplotlib")
    with pytest.raises(InputError, match="panels"):
        plot_grid([], "none")


def test_a_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "chart.svg"
    path.write_text("old")
    write_svg(path, "<svg>ä</svg>")
    assert path.read_text(encoding="utf-8") == "<svg>ä</svg>"
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(OSError, match="there is no folder"):
        write_svg(tmp_path / "missing" / "chart.svg", "")
