"""Still pictures: before and after registration, for any unit of the data, and bad input."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphreg
from graphreg.datasets import synthetic
from graphreg.errors import InputError
from graphreg.poses import inverse, pose, rotation_from_vector, transform
from graphreg.reports.pictures import PAPER
from graphreg.reports.previews import before_and_after, preview

BODY = synthetic.scan("hare", points=2000).points
T_TARGET_SOURCE = pose(rotation_from_vector([0.3, -0.2, 0.5]), [0.1, 0.2, -0.3])


def blue_and_orange(image: Any) -> Any:
    red, blue = image[..., 0].astype(int), image[..., 2].astype(int)
    return blue > red + 40, red > blue + 40


def test_the_clouds_are_apart_before_and_together_after() -> None:
    offset = pose(np.eye(3), [0.0, 0.0, 5.0])
    source, target = transform(inverse(offset), BODY[::2]), BODY[1::2]
    result = graphreg.register(source, target, method="icp", init=offset)
    image = before_and_after(result, source, target, size=(400, 150))
    assert image.shape == (150, 400, 3)
    gaps = []
    for panel in (image[:125, :200], image[:125, 200:]):
        blue, orange = (np.argwhere(mask) for mask in blue_and_orange(panel))
        assert min(len(blue), len(orange)) > 100
        gaps.append(np.linalg.norm(blue.mean(axis=0) - orange.mean(axis=0)))
    assert gaps[0] > 30
    assert gaps[1] < 5
    assert (image[0, 0] == np.round(255 * np.array(PAPER))).all()


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1e-6, 1e9])
def test_any_unit_gives_the_same_picture(scale: float) -> None:
    images = []
    for unit in (1.0, scale):
        init = pose(T_TARGET_SOURCE[:3, :3], unit * T_TARGET_SOURCE[:3, 3])
        source, target = unit * transform(inverse(T_TARGET_SOURCE), BODY), unit * BODY
        result = graphreg.register(source, target, method="icp", init=init)
        images.append(before_and_after(result, source, target, size=(200, 100)))
    # A point on the edge of a pixel may be rounded either way.
    assert np.mean(images[0] != images[1]) < 0.05


def test_a_preview_is_coloured_by_height() -> None:
    image = preview(BODY, size=(200, 150)).astype(int)
    inside = (image != np.round(255 * np.array(PAPER))).any(axis=2)
    rows = np.nonzero(inside)[0]
    top, bottom = (image[rows_][inside[rows_]].mean(axis=0) for rows_ in np.array_split(np.unique(rows), 2))
    # From deep blue at the bottom to yellow at the top.
    assert top[0] > bottom[0]


def test_bad_input_is_named() -> None:
    result = graphreg.register(BODY, BODY, method="icp")
    with pytest.raises(InputError, match=r"^result: expected what register"):
        before_and_after(None, BODY, BODY)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"^target: has 2 points"):
        before_and_after(result, BODY, BODY[:2])
    with pytest.raises(InputError, match=r"^source: expected shape"):
        before_and_after(result, BODY[:, :2], BODY)
    with pytest.raises(InputError, match=r"^cloud: expected shape"):
        preview(BODY[:, :2])
    with pytest.raises(InputError, match=r"^threads: "):
        before_and_after(result, BODY, BODY, threads=0)
