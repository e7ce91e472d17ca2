"""The frames of a sequence: which ones are used, their names, and bad input."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import graphreg
from graphreg.errors import InputError
from graphreg.multiscan.frames import chosen_frames, frame_cloud, frame_name


@given(st.integers(0, 40), st.integers(1, 9), st.none() | st.integers(1, 12))
def test_every_nth_frame_up_to_a_limit(count: int, every: int, limit: int | None) -> None:
    chosen, known = chosen_frames([f"{k}.ply" for k in range(count)], every, limit, None)
    expected = [(k, f"{k}.ply") for k in range(0, count, every)][:limit]
    assert list(chosen) == expected
    assert known == len(expected)


def test_no_more_frames_are_taken_than_needed() -> None:
    taken: list[int] = []
    frames = (taken.append(k) for k in range(100))
    chosen, known = chosen_frames(frames, 3, 2, None)
    assert (len(list(chosen)), taken, known) == (2, [0, 1, 2, 3], 0)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ((np.zeros((5, 3)), 1, None, None), "frames"),
        ((7, 1, None, None), "frames"),
        (([], 0, None, None), "every"),
        (([], 1, 0, None), "limit"),
        (([], 1, None, "late"), "times"),
    ],
)
def test_bad_arguments_are_named(arguments: tuple[Any, ...], name: str) -> None:
    with pytest.raises(InputError, match=name):
        chosen_frames(*arguments)


def test_frames_are_clouds_or_files(tmp_path: Path) -> None:
    points = np.random.default_rng(0).normal(size=(20, 3))
    graphreg.write(tmp_path / "a.ply", points)
    assert np.allclose(frame_cloud(tmp_path / "a.ply").points, points)
    assert np.array_equal(frame_cloud(points).points, points)
    assert (frame_name(tmp_path / "a.ply", 3), frame_name(points, 3)) == ("a.ply", "3")
    with pytest.raises(InputError, match="frame"):
        frame_cloud(points[:5])
