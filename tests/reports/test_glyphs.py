"""The stroke font: every glyph is distinct, text is centred, fits its image, and has the height asked for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from graphreg.reports.glyphs import GLYPH_GAP, SPACE_WIDTH, STROKES, draw_text, stroke_dots

BLACK = (0.0, 0.0, 0.0)
texts = st.text(st.sampled_from([*STROKES, " ", "é"]), max_size=12)


def written(text: str, width: int = 60, height: int = 40, capital: int = 18) -> NDArray[np.uint8]:
    image = np.full((height, width, 3), 255, np.uint8)
    draw_text(image, text, capital, BLACK)
    return image


def test_glyphs_are_distinct() -> None:
    images = {character: written(character) for character in STROKES}
    assert all((image < 128).any() for image in images.values())
    # "l" and "I" are one vertical stroke each.
    assert len({image.tobytes() for image in images.values()}) == len(STROKES) - 1
    assert np.array_equal(images["l"], images["I"])


@given(texts)
def test_dots_are_inside_the_width_and_the_line(text: str) -> None:
    dots, width = stroke_dots(text)
    assert len(dots) == 0 or (dots[:, 0].min() >= -0.5 and dots[:, 0].max() <= width + 0.5)
    assert len(dots) == 0 or (dots[:, 1].min() >= -0.5 and dots[:, 1].max() <= 9.5)


@given(texts, texts)
def test_widths_add_up(left: str, right: str) -> None:
    widths = [stroke_dots(f"A{text}A")[1] for text in (left, right, f"{left}A{right}")]
    _, single = stroke_dots("A")
    assert widths[2] == pytest.approx(widths[0] + widths[1] - single)


def test_a_character_that_the_font_lacks_leaves_a_gap() -> None:
    dots, width = stroke_dots("é")
    assert len(dots) == 0
    assert stroke_dots("AéA")[1] == stroke_dots("AA")[1] + SPACE_WIDTH
    assert width == SPACE_WIDTH - GLYPH_GAP
    assert (written("é") == 255).all()


def test_text_is_centred_and_as_high_as_asked_for() -> None:
    rows, columns = np.nonzero(written("HHH", 200, 60, 30)[..., 0] < 128)
    assert np.ptp(rows) == pytest.approx(30, abs=5)
    assert rows.mean() == pytest.approx(29.5, abs=1)
    assert columns.mean() == pytest.approx(99.5, abs=1)


def test_text_too_wide_for_the_image_is_smaller() -> None:
    image = written("a long caption of many words", 120, 40, 30)
    rows, columns = np.nonzero(image[..., 0] < 200)
    assert columns.min() >= 0
    assert columns.max() < 120
    assert np.ptp(rows) < 15


def test_ink_is_blended_over_the_image() -> None:
    image = np.zeros((40, 60, 3), np.uint8)
    draw_text(image, "I", 18, (1.0, 0.5, 0.0))
    assert tuple(image.reshape(-1, 3).max(axis=0)) == (255, 128, 0)
