"""ROS bags: the PointCloud2 messages of a topic as frames, read one by one.

ROS 1 has .bag files, ROS 2 .mcap and .db3 files, and folders of these with a metadata.yaml. The library `rosbags` finds
the messages; their layout is that of the standard message, never one that the bag defines.
"""

from __future__ import annotations

import bz2
import os
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from graphreg.clouds import Cloud, as_cloud
from graphreg.errors import FileError
from graphreg.files.input_file import as_path, require_file
from graphreg.files.optional_libraries import import_library, reporting_damage

BAG_SUFFIXES = (".bag", ".mcap", ".db3")
MESSAGE = "sensor_msgs/msg/PointCloud2"
# Numbers of the message's data types.
TYPES = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 8: "f8"}
# Chosen: a compressed chunk or message may be this many bytes; recorders write less than a thousandth.
LARGEST_CHUNK = 1 << 30
# Chosen: a compressed file may be this many times as large as it is on disk; those of sensors are less than ten.
LARGEST_EXPANSION = 200


@dataclass(frozen=True, eq=False)
class BagFrame:
    """A frame of a bag, not yet decoded.

    Attributes
    ----------
    path : Path
        The bag.
    stamp : float
        When it was recorded, in seconds since 1970.
    name : str
        The same as text, with nanoseconds.
    """

    path: Path
    stamp: float
    name: str
    _decoded: Callable[[], Any] = field(repr=False)

    def read(self) -> Cloud:
        """Return the points, with the other fields as attributes; rows that are not finite are left out.

        Raises
        ------
        FileError
            Where the message is damaged, or has no coordinates.
        """
        with reporting_damage(self.path), np.errstate(all="ignore"):
            return _cloud(self.path, self._decoded())


def is_bag(path: Path) -> bool:
    """Whether a path is that of a bag: a file of such a suffix, or a folder with a metadata.yaml.

    Examples
    --------
    >>> is_bag(Path("street.bag")), is_bag(Path("street.ply"))
    (True, False)
    """
    return path.suffix.lower() in BAG_SUFFIXES if not path.is_dir() else (path / "metadata.yaml").is_file()


def split_topic(path: str | os.PathLike[str]) -> tuple[Path, str | None]:
    """Split the name of a topic in a bag, as in street.bag#/points, into the bag and the topic.

    Examples
    --------
    >>> split_topic("street.bag#/points")[1], split_topic("frames#2")[1]
    ('/points', None)
    """
    whole = as_path(path, "frames")
    name, mark, topic = str(whole).partition("#/")
    bag = bool(mark) and not whole.exists() and is_bag(Path(name))
    return (Path(name), f"/{topic}") if bag else (whole, None)


def bag_topics(path: Path) -> dict[str, int]:
    """The topics of a bag that have point clouds, and how many messages each has.

    Raises
    ------
    FileError, MissingExtraError
        Where the bag is damaged, or its library not installed.
    """
    with _opened(path) as reader:
        return _topics(reader)


def bag_frames(path: Path, topic: str | None = None) -> Iterator[BagFrame]:
    """The frames of a topic, in the order of recording; one at a time is in memory.

    Parameters
    ----------
    path : Path
    topic : str, optional
        Needed where several topics have point clouds.

    Raises
    ------
    FileError
        Where the bag is damaged, or has no such topic; it names those that it has.
    MissingExtraError
        Where the library is not installed.
    """
    topics = bag_topics(path)
    listed = ", ".join(f"{name} ({count})" for name, count in topics.items())
    if not topics:
        raise FileError(path, "has no topic of point clouds (sensor_msgs/PointCloud2)")
    if topic is None and len(topics) > 1:
        raise FileError(path, f"has several topics of point clouds, of which one must be chosen: {listed}")
    if topic is not None and topic not in topics:
        raise FileError(path, f"has no point clouds on the topic {topic}; it has {listed}")
    chosen = topic or next(iter(topics))
    return _messages(path, chosen)


def _messages(path: Path, topic: str) -> Iterator[BagFrame]:
    from rosbags.typesys import Stores, get_typestore

    is_first = path.suffix.lower() == ".bag"
    store = get_typestore(Stores.ROS1_NOETIC if is_first else Stores.ROS2_HUMBLE)
    decode = store.deserialize_ros1 if is_first else store.deserialize_cdr
    with _opened(path) as reader:
        connections = [each for each in reader.connections if each.topic == topic and each.msgtype == MESSAGE]
        with closing(reader.messages(connections)) as messages:
            while True:
                with reporting_damage(path):
                    found = next(messages, None)
                if found is None:
                    return
                _, nanoseconds, data = found
                name = f"{nanoseconds // 10**9}.{nanoseconds % 10**9:09d}"
                yield BagFrame(path, nanoseconds / 1e9, name, partial(decode, data, MESSAGE))


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    library = import_library("rosbags", "reading ROS bags", "bags")
    assert library is not None
    if not path.is_dir():
        require_file(path)
        if not path.exists():
            raise FileError(path, "does not exist")
    with reporting_damage(path):
        if path.suffix.lower() == ".bag":
            from rosbags.rosbag1 import Reader as FirstReader

            reader: Any = FirstReader(path)
        else:
            from rosbags.rosbag2 import Reader as SecondReader

            _limit_second_version()
            reader = SecondReader(path)
        reader.open()
    with closing(reader):
        if path.suffix.lower() == ".bag":
            _limit_chunks(reader)
        yield reader


def _limit_chunks(reader: Any) -> None:
    """Let no chunk expand to more than can be expected of a recording."""
    from rosbags.rosbag1.reader import decompressors

    lz4 = import_library("lz4.frame", "reading ROS bags", "bags")
    makers = {decompressors["bz2"]: bz2.BZ2Decompressor, decompressors["lz4"]: lz4.LZ4FrameDecompressor}
    for position, chunk in reader.chunks.items():
        if chunk.decompressor in makers:
            limited = partial(_expanded, makers[chunk.decompressor])
            reader.chunks[position] = chunk._replace(decompressor=limited)


@cache
def _limit_second_version() -> None:
    """Have the library expand messages, chunks and files of ROS 2 within limits; it has no option for that."""
    names = ("rosbags.rosbag2.reader", "rosbags.rosbag2.storage_mcap", "lz4.frame")
    reader, storage, lz4 = (import_library(name, "reading ROS bags", "bags") for name in names)
    zstd = reader.zstd

    class LimitedFile(zstd.ZstdFile):  # type: ignore[misc, name-defined]
        def __init__(self, file: BinaryIO, mode: str) -> None:
            self.left = LARGEST_EXPANSION * os.fstat(file.fileno()).st_size
            super().__init__(file, mode)

        def read(self, size: int = -1) -> bytes:
            data: bytes = super().read(size)
            self.left -= len(data)
            if self.left < 0:
                raise ValueError(f"it expands to more than {LARGEST_EXPANSION} times its size")
            return data

    expand = partial(_expanded, zstd.ZstdDecompressor)
    storage.DECOMPRESSORS["zstd"] = lambda data, _: expand(data)
    storage.DECOMPRESSORS["lz4"] = lambda data, _: _expanded(lz4.LZ4FrameDecompressor, data)
    reader.zstd = SimpleNamespace(open=LimitedFile, decompress=expand)


def _expanded(maker: Callable[[], Any], data: bytes) -> bytes:
    decompressor = maker()
    expanded = bytes(decompressor.decompress(data, LARGEST_CHUNK))
    if not decompressor.eof:
        raise ValueError("compressed data are truncated, or larger than 1 GB")
    return expanded


def _topics(reader: Any) -> dict[str, int]:
    found: dict[str, int] = {}
    for connection in reader.connections:
        if connection.msgtype == MESSAGE:
            found[connection.topic] = found.get(connection.topic, 0) + connection.msgcount
    return dict(sorted(found.items()))


def _cloud(path: Path, message: Any) -> Cloud:
    """The points of a PointCloud2 message."""
    names = [each.name for each in message.fields]
    wanted = [k for k, name in enumerate(names) if name and name.isidentifier() and names.index(name) == k]
    single = [message.fields[k] for k in wanted if message.fields[k].count == 1]
    kinds = {each.name: (each.offset, TYPES.get(each.datatype)) for each in single}
    missing = [axis for axis in "xyz" if kinds.get(axis, (0, None))[1] is None]
    if missing:
        raise FileError(path, f"a point cloud has no field {missing[0]}; it has {', '.join(names) or 'none'}")
    order = ">" if message.is_bigendian else "<"
    known = {name: (offset, f"{order}{kind}") for name, (offset, kind) in kinds.items() if kind is not None}
    size, width, height, stride = message.point_step, message.width, message.height, message.row_step
    for name, (offset, kind) in known.items():
        if offset + np.dtype(kind).itemsize > size:
            raise FileError(path, f"a point cloud has the field {name} beyond the {size} bytes of its points")
    data = np.ascontiguousarray(message.data, np.uint8)
    if stride < size * width or (height > 1 and len(data) < stride * (height - 1) + size * width):
        raise FileError(
            path, f"a point cloud has {len(data)} bytes, expected {height} rows of {max(stride, size * width)}"
        )
    if len(data) < size * width * height:
        raise FileError(path, f"a point cloud has {len(data)} bytes, expected {size * width * height}")
    dtype = np.dtype(
        {
            "names": list(known),
            "formats": [kind for _, kind in known.values()],
            "offsets": [offset for offset, _ in known.values()],
            "itemsize": size,
        }
    )
    rows: NDArray[Any] = np.ndarray((height, width), dtype, data.tobytes(), strides=(stride, size)).ravel()
    columns = {name: rows[name].astype(np.dtype(kind).newbyteorder("=")) for name, (_, kind) in known.items()}
    points = np.column_stack([columns.pop(axis).astype(np.float64) for axis in "xyz"])
    return as_cloud(points, "frame", attributes=columns)
