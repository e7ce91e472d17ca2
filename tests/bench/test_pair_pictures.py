"""Rendered pairs."""

from __future__ import annotations

import numpy as np
import pytest

from graphreg.bench import pair_pictures
from graphreg.bench.corruption import CORRUPTIONS
from graphreg.bench.pair_pictures import before_and_after
from graphreg.bench.pairs import pair_of


@pytest.mark.slow
def test_a_picture_shows_both_scans_in_every_panel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pair_pictures, "SIZE", (400, 120))
    image = np.asarray(before_and_after(pair_of("synthetic_casting_30", None, 500), CORRUPTIONS[0])).astype(int)
    assert image.shape[:2] == (120, 400)
    for panel in np.split(image, 4, axis=1):
        blue, orange = panel[..., 2] - panel[..., 0] > 40, panel[..., 0] - panel[..., 2] > 40
        assert blue.any()
        assert orange.any()
