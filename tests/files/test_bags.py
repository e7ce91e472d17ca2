"""ROS bags: point clouds of any layout, chosen by topic, one by one; damaged bags are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.bags import STAMP, message_of, write_bag

from graphreg.errors import FileError
from graphreg.files.bags import TYPES, BagFrame, bag_frames, bag_topics, is_bag, split_topic
from graphreg.multiscan.frames import chosen_frames, frame_cloud, frame_name, frame_stamp

pytest.importorskip("rosbags")

COMPRESSED = ("bz2.bag", "lz4.bag", "message", "file", "storage")
KINDS = ("first.bag", "folder", "mcap", *COMPRESSED)


def clouds(count: int, seed: int = 0) -> list[Any]:
    rng = np.random.default_rng(seed)
    return [
        (rng.normal(size=(24, 3)).astype(np.float32), {"t": np.arange(24, dtype=np.uint32), "ring": np.ones(24, "u1")})
        for _ in range(count)
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_frames_are_those_that_were_written(kind: str, tmp_path: Path) -> None:
    written = clouds(3)
    path = write_bag(tmp_path, kind, {"/points": written})
    assert is_bag(path)
    assert bag_topics(path) == {"/points": 3}
    frames = list(bag_frames(path))
    for number, (frame, (points, extra)) in enumerate(zip(frames, written, strict=True)):
        cloud = frame.read()
        assert np.array_equal(cloud.points, points)
        assert np.array_equal(cloud.attributes["t"], extra["t"])
        assert frame.name == f"{(STAMP + number * 10**8) // 10**9}.{(STAMP + number * 10**8) % 10**9:09d}"
        assert frame.stamp == pytest.approx((STAMP + number * 10**8) / 1e9, abs=1e-6)


@given(
    st.sampled_from("<>"), st.sampled_from(["f4", "f8"]), st.integers(0, 7), st.sampled_from([1, 2, 4]),
    st.integers(0, 5), st.sampled_from(sorted(TYPES.values())),
)  # fmt: skip
@pytest.mark.slow
def test_any_layout_is_read(order: str, kind: str, padding: int, rows: int, row_padding: int, time_kind: str) -> None:
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.ROS2_HUMBLE)
    points = np.random.default_rng(1).normal(size=(8, 3))
    points[2] = np.nan
    times = np.arange(8).astype(time_kind)
    message = message_of(
        store, points, {"offset_time": times}, order=order, number=kind, padding=padding, rows=rows,
        row_padding=row_padding,
    )  # fmt: skip
    cloud = BagFrame(Path("x.mcap"), 0.0, "0", lambda: message).read()
    kept = np.arange(8) != 2
    assert np.array_equal(cloud.points, points[kept].astype(kind))
    assert np.array_equal(cloud.attributes["offset_time"], times[kept])
    assert cloud.dropped == 1


def test_a_topic_is_chosen_where_there_are_several(tmp_path: Path) -> None:
    path = write_bag(tmp_path, "first.bag", {"/left": clouds(2), "/right": clouds(1, seed=1)})
    with pytest.raises(FileError, match=r"/left \(2\), /right \(1\)"):
        bag_frames(path)
    with pytest.raises(FileError, match="no point clouds on the topic /notes"):
        bag_frames(path, "/notes")
    chosen, _ = chosen_frames(f"{path}#/left", 1, None, None)
    frames = [frame for _, frame in chosen]
    assert [len(frame_cloud(frame)) for frame in frames] == [24, 24]
    assert frame_name(frames[0], 0) == f"{STAMP // 10**9}.{STAMP % 10**9:09d}"
    assert frame_stamp(frames[0]) == frames[0].stamp
    assert split_topic(f"{path}#/left") == (path, "/left")
    only_text = write_bag(tmp_path, "mcap", {})
    with pytest.raises(FileError, match="no topic of point clouds"):
        bag_frames(only_text)
    with pytest.raises(FileError, match="does not exist"):
        bag_frames(tmp_path / "missing.bag")


@pytest.mark.parametrize("change", ["no x", "beyond", "short", "rows"])
def test_a_damaged_message_is_refused(change: str) -> None:
    from dataclasses import replace

    from rosbags.typesys import Stores, get_typestore

    message = message_of(get_typestore(Stores.ROS2_HUMBLE), np.zeros((6, 3)))
    changes = {
        "no x": {"fields": message.fields[1:]},
        "beyond": {"point_step": 10, "row_step": 60},
        "short": {"width": 2**31},
        "rows": {"height": 2**31, "row_step": 2**31},
    }
    frame = BagFrame(Path("x.mcap"), 0.0, "0", lambda: replace(message, **changes[change]))
    with pytest.raises(FileError, match="a point cloud has"):
        frame.read()


@pytest.mark.parametrize("kind", COMPRESSED)
def test_what_expands_without_bound_is_refused(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand equal points take next to no bytes; with limits as small as theirs, they are too much."""
    path = write_bag(tmp_path, kind, {"/points": [(np.zeros((1000, 3)), {})]})
    assert [len(frame.read()) for frame in bag_frames(path)] == [1000]
    monkeypatch.setattr("graphreg.files.bags.LARGEST_CHUNK", 10_000)
    monkeypatch.setattr("graphreg.files.bags.LARGEST_EXPANSION", 2)
    with pytest.raises(FileError, match="larger than 1 GB|expands to more than 2 times"):
        list(bag_frames(path))


def test_an_index_beyond_any_file_is_damage(tmp_path: Path) -> None:
    path = write_bag(tmp_path, "first.bag", {"/points": clouds(1)})
    whole = path.read_bytes()
    at = whole.index(b"index_pos=") + len(b"index_pos=")
    path.write_bytes(whole[:at] + (2**63 + 1).to_bytes(8, "little") + whole[at + 8 :])
    with pytest.raises(FileError, match="damaged"):
        bag_frames(path)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["first.bag", "lz4.bag", "mcap", "folder", "message", "file", "storage"])
def test_damaged_bags_are_refused_or_read(kind: str, tmp_path: Path) -> None:
    """Whatever bytes are lost or changed: frames, or a FileError, and nothing else."""
    path = write_bag(tmp_path, kind, {"/points": clouds(2)})
    file = path if path.is_file() else next(each for each in path.iterdir() if each.suffix != ".yaml")
    whole = file.read_bytes()
    rng = np.random.default_rng(0)

    def survives() -> bool:
        try:
            for frame in bag_frames(path):
                frame.read()
        except FileError:
            return False
        return True

    assert survives()
    for share in (0.0, 0.3, 0.9):
        file.write_bytes(whole[: int(share * len(whole))])
        assert not survives()
    for _ in range(15):
        damaged = bytearray(whole)
        for at in rng.integers(0, len(whole), 3):
            damaged[at] ^= int(rng.integers(1, 256))
        file.write_bytes(bytes(damaged))
        survives()
