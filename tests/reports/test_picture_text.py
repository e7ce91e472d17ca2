"""Text on pictures: centred, inside its image, as high as asked for; lengths of scale bars are round."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from graphreg.reports import picture_text
from graphreg.reports.picture_text import can_write, draw_scale_bar, draw_text, round_length

BLACK = (0.0, 0.0, 0.0)
needs_pillow = pytest.mark.skipif(not can_write(), reason="needs the extra plots")


def written(text: str, width: int = 160, height: int = 60, capital: int = 20) -> NDArray[np.uint8]:
    image = np.full((height, width, 3), 255, np.uint8)
    draw_text(image, text, capital, BLACK)
    return image


@needs_pillow
@given(st.text("AHMTxo 0°", min_size=1, max_size=30).filter(str.strip))
def test_text_is_centred_and_fits(text: str) -> None:
    columns = np.flatnonzero((written(text) < 128).any(axis=(0, 2)))
    assert columns.min() > 0
    assert columns.max() < 159
    if text[0] == text[-1] == "H":
        assert abs(columns.min() + columns.max() - 159) <= 4


@needs_pillow
@pytest.mark.parametrize("capital", [10, 20, 30])
def test_a_capital_is_as_high_as_asked_for(capital: int) -> None:
    rows = np.flatnonzero((written("H", capital=capital) < 128).any(axis=(1, 2)))
    assert np.ptp(rows) + 1 == pytest.approx(capital, abs=2)


@given(st.floats(1e-9, 1e9))
def test_a_bar_has_a_round_length_of_at_least_half_of_what_fits(length: float) -> None:
    found = round_length(length)
    assert 0.4 * length <= found <= length * (1 + 1e-6)
    assert f"{found:.0e}"[0] in "125"


def test_without_pillow_pictures_have_no_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(picture_text, "can_write", lambda: False)
    image = written("H")
    draw_scale_bar(image, 20.0, "m", BLACK)
    assert (image == 255).all()
