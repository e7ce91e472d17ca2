"""Rendering: the nearest point is visible, the same input gives the same pixels, and a PNG can be read back."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.png_images import decoded

from graphreg.clouds import Floats
from graphreg.errors import InputError
from graphreg.reports.picture_text import can_write
from graphreg.reports.pictures import (
    BLUE,
    GREY,
    INK,
    PAPER,
    RED,
    Camera,
    Image,
    ScaleBar,
    colour_map,
    panels,
    render,
    write_png,
)

FRONT = Camera(azimuth=0, elevation=0)
BACKGROUND = np.round(255 * np.array(PAPER)).astype(np.uint8)


def ball(count: int = 3000, seed: int = 0) -> Floats:
    points = np.random.default_rng(seed).normal(size=(count, 3))
    return np.asarray(points / np.linalg.norm(points, axis=1, keepdims=True))


def is_reddish(pixels: Image) -> Any:
    return pixels[..., 0].astype(int) > pixels[..., 2].astype(int) + 40


def is_bluish(pixels: Image) -> Any:
    return pixels[..., 2].astype(int) > pixels[..., 0].astype(int) + 40


@pytest.mark.parametrize("azimuth", [0.0, 180.0])
@pytest.mark.parametrize("swapped", [False, True])
def test_the_nearest_point_is_visible(azimuth: float, swapped: bool) -> None:
    across = np.stack(np.meshgrid(np.linspace(-1, 1, 60), np.linspace(-1, 1, 60)), axis=-1).reshape(-1, 2)
    front, back = (np.insert(across, 1, y, axis=1) for y in (-0.3, 0.3))
    clouds = [(front, RED), (back, BLUE)]
    image = render(clouds[::-1] if swapped else clouds, Camera(azimuth, 0), (120, 120))
    middle = image[40:80, 40:80]
    # At azimuth 0 the camera is at negative y.
    assert (is_reddish(middle) if azimuth == 0 else is_bluish(middle)).all()


@pytest.mark.parametrize(("up", "right"), [("x", "y"), ("y", "x"), ("z", "x")])
def test_up_is_up_and_right_is_right(up: str, right: str) -> None:
    points = np.zeros((3, 3))
    points[1, "xyz".index(up)] = 1
    points[2, "xyz".index(right)] = 1
    colours = np.array([[0.5, 0.5, 0.5], RED, BLUE])
    image = render([(points, colours)], Camera(0, 0, up), (90, 90), point_size=12)
    red, blue = (np.argwhere(found(image)).mean(axis=0) for found in (is_reddish, is_bluish))
    assert red[0] < 20
    assert red[1] < 20
    assert blue[0] > 70
    assert blue[1] > 70


def test_the_same_input_gives_the_same_pixels() -> None:
    points = ball()
    before = points.copy()
    first, again = (render([(points, colour_map(points[:, 2]))], size=(160, 120)) for _ in range(2))
    assert first.shape == (120, 160, 3)
    assert first.dtype == np.uint8
    assert np.array_equal(first, again)
    assert np.array_equal(points, before)


@pytest.mark.slow
@settings(max_examples=15)
@given(st.floats(1e-6, 1e6), st.floats(-1e6, 1e6))
def test_the_picture_does_not_depend_on_unit_and_origin(scale: float, offset: float) -> None:
    points = np.round(ball(200) * 64) / 64
    image = render([(points, GREY)], FRONT, (64, 64), point_size=3)
    other = render([(points * scale + offset * scale, GREY)], FRONT, (64, 64), point_size=3)
    # A point on the edge of a pixel may be rounded either way.
    assert (np.abs(image.astype(int) - other.astype(int)).max(axis=2) > 8).mean() < 0.1


def test_all_points_are_inside_the_picture() -> None:
    image = render([(ball() * [5, 1, 1], GREY)], FRONT, (200, 100))
    used = (image != BACKGROUND).any(axis=2)
    assert used.any()
    assert not used[[0, -1]].any()
    assert not used[:, [0, -1]].any()
    assert np.ptp(np.flatnonzero(used.any(axis=0))) > 170


def test_one_point_and_coincident_points_are_visible() -> None:
    for points in (np.zeros((1, 3)), np.full((50, 3), 1e9)):
        assert (render([(points, INK)], size=(20, 20)) != BACKGROUND).any()


def test_points_that_are_not_finite_are_left_out_with_their_colour() -> None:
    points = np.array([[0.0, 0, 0], [np.nan, 0, 0], [1, 0, 1]])
    colours = np.array([RED, BLUE, RED])
    assert np.array_equal(
        render([(points, colours)], size=(50, 50)), render([(points[[0, 2]], colours[[0, 2]])], size=(50, 50))
    )


@given(st.lists(st.floats(-1e9, 1e9), min_size=2, max_size=50))
def test_a_larger_value_is_never_darker(values: list[float]) -> None:
    colours = colour_map(np.array(values))
    assert ((colours >= 0) & (colours <= 1)).all()
    lightness = colours @ [0.2126, 0.7152, 0.0722]
    assert (np.diff(lightness[np.argsort(values)]) >= -1e-9).all()


def test_extreme_values_do_not_flatten_the_rest_and_missing_ones_are_grey() -> None:
    values = np.r_[np.linspace(0, 1, 1000), 1e12, np.nan, np.inf]
    colours = colour_map(values)
    assert np.abs(colours[100] - colours[900]).max() > 0.3
    assert (colours[-2:] == GREY).all()


@settings(max_examples=20)
@given(st.integers(1, 40), st.integers(1, 40), st.integers(0, 2**32))
def test_a_png_decodes_to_the_same_pixels(width: int, height: int, seed: int) -> None:
    image = np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "picture.png"
        write_png(path, image)
        assert np.array_equal(decoded(path.read_bytes()), image)
        write_png(path, image[::-1])
        assert np.array_equal(decoded(path.read_bytes()), image[::-1])
        assert [file.name for file in Path(folder).iterdir()] == ["picture.png"]


def test_panels_are_side_by_side_with_captions_below() -> None:
    scene = [(ball(), BLUE)]
    plain, labelled = (
        panels([scene, scene], size=(300, 120)),
        panels([scene, scene], ["one", "two"], size=(300, 120)),
    )
    assert plain.shape == labelled.shape == (120, 300, 3)
    assert np.array_equal(plain[:, :150], render(scene, size=(150, 120)))
    assert np.array_equal(labelled[:80, :150], labelled[:80, 150:])
    if can_write():
        assert not np.array_equal(labelled[90:, :150], labelled[90:, 150:])


@pytest.mark.slow
def test_a_scale_bar_has_the_length_it_says() -> None:
    pytest.importorskip("PIL")
    ends = np.array([[0.0, 0, 0], [4.0, 0, 0], [2.0, 0, 1]])
    plain, barred = (render([(ends, RED)], FRONT, (500, 250), scale_bar=bar) for bar in (None, ScaleBar(10.0, "mm")))
    changed = np.flatnonzero((plain != barred).any(axis=(0, 2)))
    # The points are 4 of their units apart, which is 40 mm; a fifth of the width of the picture allows 5 mm.
    columns = np.flatnonzero((plain[:, :, 0].astype(int) - plain[:, :, 2] > 60).any(axis=0))
    apart = np.ptp(columns) / 40
    assert (np.ptp(changed) + 1) / apart == pytest.approx(5, abs=0.3)


@pytest.mark.parametrize(
    ("argument", "changes"),
    [
        ("clouds", {"clouds": []}), (r"clouds\[0\]", {"clouds": [(np.empty((0, 3)), RED)]}),
        (r"clouds\[0\]", {"clouds": [(np.zeros((4, 2)), RED)]}), (r"clouds\[1\]", {"clouds": [(np.eye(3),
        RED), (np.eye(3), (2, 0, 0))]}),
        (r"clouds\[0\]", {"clouds": [(np.eye(3), np.zeros((5, 3)))]}), ("size", {"size": (0, 10)}),
        ("size", {"size": (10, 10**6)}), ("size", {"size": "large"}), ("camera", {"camera": Camera(up="w")}),
        ("camera", {"camera": Camera(zoom=0)}), ("point_size", {"point_size": -1.0}),
    ],
)  # fmt: skip
def test_a_bad_argument_is_named(argument: str, changes: dict[str, Any]) -> None:
    arguments: dict[str, Any] = {"clouds": [(np.eye(3), RED)]} | changes
    with pytest.raises(InputError, match=f"^{argument}: "):
        render(**arguments)


def test_bad_panels_values_and_images_are_named(tmp_path: Path) -> None:
    scene = [(np.eye(3), RED)]
    for argument, arguments in (
        ("scenes", {"scenes": []}),
        ("captions", {"scenes": [scene], "captions": ["a", "b"]}),
        ("camera", {"scenes": [scene], "camera": [FRONT, FRONT]}),
        ("size", {"scenes": [scene], "captions": ["a"], "size": (50, 20)}),
    ):
        with pytest.raises(InputError, match=f"^{argument}: "):
            panels(**arguments)
    with pytest.raises(InputError, match=r"^values: "):
        colour_map(np.eye(2))
    with pytest.raises(InputError, match=r"^image: "):
        write_png(tmp_path / "a.png", np.zeros((3, 3, 3)))
    assert not list(tmp_path.iterdir())
