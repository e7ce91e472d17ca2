"""The frames of a sequence: what odometry and localisation take, one by one."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from operator import length_hint
from pathlib import Path
from typing import Any

import numpy as np

from graphreg.argument_checks import check_choice, check_integer
from graphreg.clouds import Cloud, as_cloud
from graphreg.engine.settings import EngineSettings
from graphreg.errors import InputError
from graphreg.files import read_cloud
from graphreg.files.bags import BagFrame, bag_frames, is_bag, split_topic
from graphreg.files.folders import frame_files
from graphreg.multiscan.deskewing import FIELDS, GUESS


def chosen_frames(
    frames: Any, every: int, limit: int | None, times: str | None
) -> tuple[Iterable[tuple[int, Any]], int]:
    """Return the frames to use, each with its number, and how many there are; 0 where that is not known.

    Parameters
    ----------
    frames : path or iterable
        A folder, a bag, or an iterable of clouds or file names.
    every : int
        Use only every n-th frame.
    limit : int or None
        Use at most this many of them.
    times : {"fields", "guess"} or None
        Of the points; only checked.

    Raises
    ------
    InputError
        If an argument cannot be used.

    Examples
    --------
    >>> chosen, count = chosen_frames(["a.ply", "b.ply", "c.ply", "d.ply"], 2, None, None)
    >>> list(chosen), count
    ([(0, 'a.ply'), (2, 'c.ply')], 2)
    """
    check_integer("every", every, 1)
    if times is not None:
        check_choice("times", times, (FIELDS, GUESS))
    end = None if limit is None else (check_integer("limit", limit, 1) - 1) * every + 1
    every_frame = _iterator(frames)
    # Known of a list, and of the files in a folder.
    known = len(range(length_hint(every_frame))[:end:every])
    return islice(enumerate(every_frame), 0, end, every), known


def with_clouds(chosen: Iterable[tuple[int, Any]], frames: Any) -> Iterator[tuple[int, Any, Any]]:
    """Yield the number of each frame, the frame, and its cloud, for odometry or localisation.

    Of a folder or a bag, the next frame is read while the caller works on this one. An iterable is never ahead of the
    caller: its next frame may not have been measured yet.

    Parameters
    ----------
    chosen : iterable of (int, frame)
        What `chosen_frames` returned.
    frames : path or iterable
        What it was chosen from.

    Yields
    ------
    number : int
    frame : array_like, path or BagFrame
    cloud : Cloud or frame
        The frame itself where it is not read ahead or is unreadable: who uses it says why.
    """
    if not isinstance(frames, (str, os.PathLike)):
        yield from ((number, frame, frame) for number, frame in chosen)
        return
    remaining = iter(chosen)
    with ThreadPoolExecutor(1, "graphreg reader") as reader:
        following = next(remaining, None)
        reading = reader.submit(_cloud_or_frame, following)
        while following is not None:
            number, frame = following
            cloud = reading.result()
            # Only now: a bag is not read by two threads at once.
            following = next(remaining, None)
            reading = reader.submit(_cloud_or_frame, following)
            yield number, frame, cloud


def _cloud_or_frame(numbered: tuple[int, Any] | None) -> Any:
    if numbered is None:
        return None
    _, frame = numbered
    try:
        return frame_cloud(frame)
    except (InputError, OSError):
        return frame


def frame_cloud(frame: Any) -> Cloud:
    """Return the points of a frame; an `InputError` or `OSError` where it is empty or unreadable."""
    least = EngineSettings.k + 1
    if isinstance(frame, BagFrame):
        return as_cloud(frame.read(), f"{frame.path} at {frame.name}", least)
    if isinstance(frame, (str, os.PathLike)):
        return as_cloud(read_cloud(frame), str(frame), least)
    return as_cloud(frame, "frame", least)


def frame_name(frame: Any, number: int) -> str:
    """Return the name of a frame: of its file, its time in a bag, or its number."""
    if isinstance(frame, BagFrame):
        return frame.name
    return Path(frame).name if isinstance(frame, (str, os.PathLike)) else str(number)


def frame_stamp(frame: Any) -> float:
    """Return when a frame was recorded, in seconds; NaN where that is not known."""
    return frame.stamp if isinstance(frame, BagFrame) else float("nan")


def frames_at(path: str | os.PathLike[str]) -> Sequence[Path] | Iterator[BagFrame]:
    """Return the frames in a folder or in a bag; street.bag#/points is one topic of a bag."""
    bag, topic = split_topic(path)
    return bag_frames(bag, topic) if topic is not None or is_bag(bag) else frame_files(bag)


def _iterator(frames: Any) -> Iterator[Any]:
    if isinstance(frames, (str, os.PathLike)):
        return iter(frames_at(frames))
    if isinstance(frames, np.ndarray) and frames.ndim < 3:
        raise InputError(f"frames: expected a folder or several clouds, got one array of shape {frames.shape}")
    try:
        return iter(frames)
    except TypeError as problem:
        raise InputError(f"frames: expected a folder or several clouds, got {type(frames).__name__}") from problem
