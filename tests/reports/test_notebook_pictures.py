"""Notebooks show the text of a result and a picture of its clouds."""

from __future__ import annotations

import base64
import re
from dataclasses import replace
from html import escape

import numpy as np
import pytest
from tests.support.strategies import small_result

import graphreg
from graphreg.datasets import synthetic


def picture_of(html: str) -> bytes:
    found = re.search(r'<img src="data:image/png;base64,([^"]+)"', html)
    assert found
    return base64.b64decode(found[1])


@pytest.mark.slow
@pytest.mark.usefixtures("small_pictures")
def test_results_have_a_picture() -> None:
    frames = [scan.points for scan in synthetic.sequence("hare", 2, 20, points=1500)]
    results = (
        small_result("hare"),
        graphreg.multiway(frames),
        graphreg.sequence(frames, keep_map=True),
    )
    for result in results:
        html = result._repr_html_()
        assert escape(str(result)) in html
        assert picture_of(html).startswith(b"\x89PNG")


@pytest.mark.slow
def test_a_trajectory_without_a_map_is_text() -> None:
    cloud = synthetic.scan("hare", points=1500).points
    assert "<img" not in graphreg.sequence([cloud])._repr_html_()


def test_clouds_too_small_for_a_picture_are_text() -> None:
    result = replace(small_result("hare"), preview=(np.zeros((1, 3)), np.zeros((1, 3))))
    assert result._repr_html_().startswith("<pre>")
    assert "<img" not in result._repr_html_()
