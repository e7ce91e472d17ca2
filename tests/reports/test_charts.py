"""Charts: well-formed SVG, every point inside the frame, larger values higher, ticks at round numbers."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphreg.clouds import Floats
from graphreg.errors import InputError
from graphreg.reports.charts import histogram_outline, line_chart

SVG = "{http://www.w3.org/2000/svg}"
X = [0.5, 0.7, 0.9, 0.98]


def chart(y: Any, x: Any = None, **more: Any) -> ElementTree.Element:
    x = range(len(y)) if x is None else x
    return ElementTree.fromstring(line_chart({"line": (x, y)}, "title", "x", "y", **more))


def plotted(root: ElementTree.Element, line: int = 0) -> Floats:
    points = list(root.iter(f"{SVG}polyline"))[line].get("points", "")
    return np.array([[float(number) for number in pair.split(",")] for pair in points.split()])


def frame(root: ElementTree.Element) -> Floats:
    rect = next(rect for rect in root.iter(f"{SVG}rect") if rect.get("class") == "frame")
    x, y, width, height = (float(rect.get(name, "nan")) for name in ("x", "y", "width", "height"))
    return np.array([[x, y], [x + width, y + height]])


def texts(root: ElementTree.Element) -> list[str]:
    return [element.text or "" for element in root.iter(f"{SVG}text")]


@given(
    st.lists(st.floats(-1e99, 1e99), min_size=1, max_size=20),
    st.lists(st.floats(-1e99, 1e99), min_size=20, max_size=20),
)
def test_every_point_is_inside_the_frame(x: list[float], y: list[float]) -> None:
    root = chart(y[: len(x)], x)
    points, bounds = plotted(root), frame(root)
    assert len(points) == len(x)
    assert (points >= bounds[0] - 0.01).all()
    assert (points <= bounds[1] + 0.01).all()


@given(st.lists(st.floats(1e-99, 1e99), min_size=1, max_size=20))
def test_every_point_is_inside_the_frame_of_a_log_axis(y: list[float]) -> None:
    root = chart(y, log_y=True)
    points, bounds = plotted(root), frame(root)
    assert (points >= bounds[0] - 0.01).all()
    assert (points <= bounds[1] + 0.01).all()
    order = np.argsort(y, kind="stable")
    assert (np.diff(points[order, 1]) <= 0).all()


def test_larger_values_are_higher_and_further_right() -> None:
    points = plotted(chart([1, 2, 4], [10, 20, 40]))
    steps = np.diff(points, axis=0)
    assert steps[0, 0] > 0
    assert steps[0, 1] < 0
    assert steps[1] == pytest.approx(2 * steps[0], abs=0.02)


coordinates = st.floats(-1e6, 1e6)


@given(st.lists(st.tuples(coordinates, coordinates), min_size=2, max_size=20))
def test_equal_axes_have_the_same_scale(track: list[tuple[float, float]]) -> None:
    x, y = np.transpose(track)
    root = chart(y, x, equal=True)
    points, bounds = plotted(root), frame(root)
    assert (points >= bounds[0] - 0.01).all()
    assert (points <= bounds[1] + 0.01).all()
    across, down = (points - points[0]).T
    # Pixels are rounded to a hundredth; the ratio of pixels to units is the same for x and y.
    assert np.abs(across * (y - y[0]) + down * (x - x[0])).max() <= 0.02 * (np.ptp(x) + np.ptp(y))
    for anchor in ("middle", "end"):
        ticks = [e for e in root.iter(f"{SVG}text") if e.get("text-anchor") == anchor and is_number(e.text)]
        assert 2 <= len(ticks) <= 12


@given(st.lists(st.tuples(coordinates, coordinates), min_size=2, max_size=9), st.integers(-9, 0))
def test_numbers_at_the_axes_are_inside_the_picture(track: list[tuple[float, float]], power: int) -> None:
    x, y = np.transpose(track) * 10.0**power
    root = chart(y, x)
    width, size = float(root.get("width", "nan")), float(root.get("font-size", "nan"))
    for text in root.iter(f"{SVG}text"):
        if is_number(text.text):
            share = {"middle": 0.5, "end": 1.0}[text.get("text-anchor", "")]
            length = 0.6 * size * len(text.text or "")
            left = float(text.get("x", "nan")) - share * length
            assert -0.2 * length <= left
            assert left + length <= width + 0.2 * length


def is_number(text: str | None) -> bool:
    return re.fullmatch(r"-?[0-9.]+(e[-+][0-9]+)?", text or "") is not None


def test_equal_ratios_are_equal_steps_on_a_log_axis() -> None:
    steps = np.diff(plotted(chart([0.01, 0.1, 1, 10], log_y=True))[:, 1])
    assert steps == pytest.approx([steps[0]] * 3, abs=0.02)
    assert steps[0] < 0


@pytest.mark.parametrize(
    ("y", "log_y", "ticks"),
    [
        ([0, 10], False, ["0", "2", "4", "6", "8", "10"]),
        ([0.5, 0.98], False, ["0.5", "0.6", "0.7", "0.8", "0.9", "1"]),
        ([-0.3, 0.1], False, ["-0.3", "-0.2", "-0.1", "0", "0.1"]),
        ([0, 0], False, ["0", "0.2"]),
        ([0, 0.00024], False, ["0", "0.5e-4", "1e-4", "1.5e-4", "2e-4", "2.5e-4"]),
        ([-0.000375, -0.00036], False, ["-3.75e-4", "-3.7e-4", "-3.65e-4", "-3.6e-4"]),
        ([0.3, 4], True, ["0.2", "0.5", "1", "2", "5"]),
        ([1, 1], True, ["1", "2"]),
        ([0.002, 300], True, ["0.001", "0.01", "0.1", "1", "10", "100", "1000"]),
    ],
)
def test_ticks_are_round_and_enclose_the_data(y: list[float], log_y: bool, ticks: list[str]) -> None:
    root = chart(y, log_y=log_y)
    left = frame(root)[0, 0]
    named = [e.text for e in root.iter(f"{SVG}text") if e.get("text-anchor") == "end"]
    assert named == ticks
    assert all(float(e.get("x", "nan")) < left for e in root.iter(f"{SVG}text") if e.get("text-anchor") == "end")


def test_lines_differ_in_colour_and_are_named() -> None:
    names = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh"]
    text = line_chart({name: (X, np.arange(4) + k) for k, name in enumerate(names)}, "title", "rate", "seconds")
    root = ElementTree.fromstring(text)
    assert len({line.get("stroke") for line in root.iter(f"{SVG}polyline")}) == 7
    assert {*names, "title", "rate", "seconds"} <= set(texts(root))


def test_a_single_line_has_no_legend_and_many_points_no_markers() -> None:
    root = chart(range(200))
    assert "line" not in texts(root)
    assert len(plotted(root)) == 200
    assert not [path for path in root.iter(f"{SVG}path") if path.get("transform")]
    assert len([path for path in chart(range(5)).iter(f"{SVG}path") if path.get("transform")]) == 5


def test_long_names_take_more_rows_of_the_legend() -> None:
    names = [f"a long name, the {rank} of three" for rank in ("first", "second", "third")]
    root = ElementTree.fromstring(line_chart(dict.fromkeys(names, (X, X)), "t", "x", "y"))
    positions = [(e.get("x"), e.get("y")) for e in root.iter(f"{SVG}text") if e.text in names]
    assert len(set(positions)) == 3
    assert all(float(y or "nan") < frame(root)[0, 1] for _, y in positions)


def test_text_is_escaped() -> None:
    name = "<b> & \"q\" 'a' \x00\x1f"
    root = ElementTree.fromstring(line_chart({name: (X, X), "other": (X, X)}, name, name, name))
    shown = name.replace("\x00", " ").replace("\x1f", " ")
    assert texts(root).count(shown) == 4


def test_the_same_input_gives_the_same_text() -> None:
    assert line_chart({"a": (X, X)}, "t", "x", "y") == line_chart({"a": (tuple(X), np.array(X))}, "t", "x", "y")


@pytest.mark.parametrize(
    ("x", "y"),
    [([], []), ([1, 2], [1]), ([1], [np.nan]), ([np.inf], [1]), ([[1]], [[1]]), (["a"], [1]), ([1], [1e200])],
)
def test_bad_data_raises(x: Any, y: Any) -> None:
    with pytest.raises(InputError, match="series 'mine'"):
        line_chart({"mine": (x, y)}, "t", "x", "y")


def test_zero_on_a_log_axis_raises() -> None:
    with pytest.raises(InputError, match="positive"):
        chart([1, 0], log_y=True)


@pytest.mark.parametrize("count", [0, 8])
def test_the_number_of_lines_is_limited(count: int) -> None:
    with pytest.raises(InputError, match="series: expected 1 to 7 lines"):
        line_chart({str(k): (X, X) for k in range(count)}, "t", "x", "y")


@given(st.lists(st.floats(-1, 11), max_size=50))
def test_the_outline_of_a_histogram_encloses_its_bars(values: list[float]) -> None:
    edges = np.linspace(0, 10, 6)
    x, y = histogram_outline(values, edges)
    assert y[0] == y[-1] == 0
    assert set(x) == set(edges)
    area = (np.diff(x) * (y[1:] + y[:-1]) / 2).sum()
    # Bins are two wide.
    assert area == pytest.approx(2 * sum(0 <= value <= 10 for value in values))
