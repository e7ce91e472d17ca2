"""Charts as pixels: where the SVG text has a line, a mark or a letter, the picture has it."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest

from graphreg.errors import InputError
from graphreg.reports.charts import HEIGHT, STYLES, WIDTH, charts_side_by_side, line_chart
from graphreg.reports.raster import drawn

SVG = "{http://www.w3.org/2000/svg}"
X = [0.0, 1.0, 2.0, 4.0]


def chart(**more: bool) -> str:
    return line_chart({"up": (X, [1.0, 2.0, 3.0, 5.0]), "down": (X, [5.0, 3.0, 2.0, 1.0])}, "Title", "x", "y", **more)


@pytest.mark.parametrize("scale", [1.0, 2.0])
def test_lines_and_marks_are_where_the_text_has_them(scale: float) -> None:
    text = chart()
    image = drawn(text, scale)
    assert image.shape == (round(HEIGHT * scale), round(WIDTH * scale), 3)
    for (colour, _), line in zip(STYLES, ElementTree.fromstring(text).iter(f"{SVG}polyline"), strict=False):
        corners = np.array([[float(n) for n in corner.split(",")] for corner in line.get("points", "").split()])
        ink = np.round(255 * np.array(colour))
        # Marks cover the corners; between two of them only the line does.
        for place in (*corners[1:-1], (corners[2] + corners[3]) / 2):
            column, row = (place * scale).astype(int)
            near = image[row - 1 : row + 2, column - 1 : column + 2].reshape(-1, 3)
            assert np.abs(near.astype(float) - ink).max(axis=1).min() <= 2


def test_without_marks_only_the_line_is_left() -> None:
    coloured = [(np.abs(drawn(text).astype(float) - np.round(255 * np.array(STYLES[0][0]))).max(axis=2) < 3).sum()
                for text in (chart(), chart(marked=False))]  # fmt: skip
    assert coloured[0] > coloured[1] > 0


def test_text_leaves_ink_where_it_stands() -> None:
    with_title, without = drawn(chart()), drawn(chart().replace(">Title</text>", "></text>"))
    rows, columns = np.nonzero((with_title != without).any(axis=2))
    assert len(rows)
    # About the middle of the top.
    assert abs(columns.mean() / 1.5 - WIDTH / 2) < 5
    assert rows.max() / 1.5 < 32


def test_charts_stand_side_by_side() -> None:
    one = drawn(chart())
    both = drawn(charts_side_by_side([chart(), chart()]))
    assert both.shape[1] == 2 * one.shape[1]
    assert np.array_equal(both[:, : one.shape[1]], one)
    assert np.array_equal(both[:, one.shape[1] :], one)


@pytest.mark.parametrize("text", ["", "no svg", "<svg/>", '<svg width="a" height="2"/>'])
def test_what_is_no_chart_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="text: expected the SVG text of a chart"):
        drawn(text)
