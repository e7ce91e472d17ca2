"""Animations begin with both clouds as they are and end with the source at its pose; the scale does not change."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from tests.support.strategies import small_pair, small_result

from graphreg.errors import MissingExtraError
from graphreg.poses import transform
from graphreg.reports import animations
from graphreg.reports.animations import write_animation


@pytest.mark.slow
def test_the_source_moves_from_the_identity_to_its_pose() -> None:
    T, points = small_result("hare").transformation, small_pair("hare").source
    centre = points.mean(axis=0)
    ends = [animations._pose_between(T, centre, share) for share in (0.0, 1.0)]
    np.testing.assert_allclose(ends[0], np.eye(4), atol=1e-12)
    np.testing.assert_allclose(ends[1], T, atol=1e-12)
    halfway = animations._pose_between(T, centre, 0.5)
    middle = (centre + transform(T, centre[None])[0]) / 2
    np.testing.assert_allclose(transform(halfway, centre[None])[0], middle, atol=1e-12)
    # Twice half of the rotation is the rotation.
    np.testing.assert_allclose(halfway[:3, :3] @ halfway[:3, :3], T[:3, :3], atol=1e-12)


@pytest.mark.slow
def test_a_gif_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pillow = pytest.importorskip("PIL.Image")
    monkeypatch.setattr(animations, "MOVING", 4)
    pair, path = small_pair("hare"), tmp_path / "registration.gif"
    write_animation(path, small_result("hare"), pair.source, pair.target, size=(160, 90))
    with pillow.open(path) as picture:
        assert (picture.size, picture.is_animated) == ((160, 90), True)
        first = np.asarray(picture.convert("RGB"))
        picture.seek(picture.n_frames - 1)
        assert (first != np.asarray(picture.convert("RGB"))).any()


def test_without_pillow_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    pair = small_pair("hare")
    with pytest.raises(MissingExtraError, match=r"graphreg\[plots\]"):
        write_animation(tmp_path / "a.gif", small_result("hare"), pair.source, pair.target)
