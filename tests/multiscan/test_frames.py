"""The frames of a sequence: which ones are used, their names, and bad input."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import graphreg
from graphreg.errors import InputError
from graphreg.multiscan.frames import chosen_frames, frame_cloud, frame_name, with_clouds


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


def test_of_a_folder_the_next_frame_is_read_ahead(tmp_path: Path) -> None:
    clouds = [np.random.default_rng(k).normal(size=(20, 3)) for k in range(4)]
    for k, points in enumerate(clouds):
        graphreg.write(tmp_path / f"{k}.ply", points)
    (tmp_path / "2.ply").write_bytes(b"damaged")
    chosen, _ = chosen_frames(tmp_path, 1, None, None)
    found = list(with_clouds(chosen, tmp_path))
    assert [(number, frame.name) for number, frame, _ in found] == [(k, f"{k}.ply") for k in range(4)]
    for (_, frame, cloud), points in zip(found, clouds, strict=True):
        # Who uses an unreadable frame says why.
        assert cloud == frame if frame.name == "2.ply" else np.allclose(cloud.points, points)


def test_an_iterable_is_never_ahead_of_its_user() -> None:
    taken: list[int] = []
    frames = (taken.append(k) or k for k in range(5))  # type: ignore[func-returns-value]
    chosen, _ = chosen_frames(frames, 1, None, None)
    for number, _, _ in with_clouds(chosen, frames):
        assert taken == list(range(number + 1))


def test_the_frames_of_a_folder_can_be_left_half_way(tmp_path: Path) -> None:
    for k in range(9):
        graphreg.write(tmp_path / f"{k}.ply", np.random.default_rng(k).normal(size=(20, 3)))
    chosen, _ = chosen_frames(tmp_path, 2, None, None)
    frames = with_clouds(chosen, tmp_path)
    assert [next(frames)[0], next(frames)[0]] == [0, 2]
    frames.close()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("graphreg reader")]
