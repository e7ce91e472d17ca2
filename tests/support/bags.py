"""ROS bags of point clouds, written by rosbags."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from graphreg.files.bags import MESSAGE, TYPES

STAMP = 1_700_000_000_123_456_789


def message_of(
    store: Any, points: Any, extra: dict[str, Any] | None = None, *, order: Any = "<", number: str = "f4",
    padding: int = 0, rows: int = 1, row_padding: int = 0,
) -> Any:  # fmt: skip
    """A PointCloud2 message of points and further fields."""
    columns = {axis: np.asarray(points)[:, k].astype(number) for k, axis in enumerate("xyz")}
    columns |= {name: np.asarray(values) for name, values in (extra or {}).items()}
    types = store.types
    codes = {np.dtype(code): each for each, code in TYPES.items()}
    offsets, at = {}, padding
    for name, values in columns.items():
        offsets[name] = at
        at += values.dtype.itemsize + padding
    dtype: Any = np.dtype(
        {
            "names": list(columns),
            "formats": [values.dtype.newbyteorder(order) for values in columns.values()],
            "offsets": list(offsets.values()),
            "itemsize": at,
        }
    )
    table = np.zeros(len(points), dtype)
    for name, values in columns.items():
        table[name] = values
    width = len(points) // rows
    data = b"".join(row.tobytes() + bytes(row_padding) for row in table.reshape(rows, width))
    fields = [
        types["sensor_msgs/msg/PointField"](name, offsets[name], codes[values.dtype], 1)
        for name, values in columns.items()
    ]
    stamp = types["builtin_interfaces/msg/Time"](STAMP // 10**9, STAMP % 10**9)
    header = types["std_msgs/msg/Header"]
    made = header(0, stamp, "lidar") if "seq" in header.__dataclass_fields__ else header(stamp, "lidar")
    return types[MESSAGE](
        made, rows, width, fields, order == ">", at, at * width + row_padding, np.frombuffer(data, np.uint8), True
    )


def write_bag(folder: Path, kind: str, topics: dict[str, list[Any]], **layout: Any) -> Path:
    """Write clouds, each (points, further fields), to topics of a bag."""
    from rosbags.rosbag1 import Writer as FirstWriter
    from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin
    from rosbags.rosbag2 import Writer as SecondWriter
    from rosbags.typesys import Stores

    path = folder / kind
    if kind.endswith(".bag"):
        store = _types_of(Stores.ROS1_NOETIC)
        writer: Any = FirstWriter(path)
        if kind[:3] in ("bz2", "lz4"):
            writer.set_compression(FirstWriter.CompressionFormat[kind[:3].upper()])
        serialise: Any = store.serialize_ros1
    else:
        store = _types_of(Stores.ROS2_HUMBLE)
        plugin = StoragePlugin.MCAP if kind in ("mcap", "storage") else StoragePlugin.SQLITE3
        writer = SecondWriter(path, version=9, storage_plugin=plugin)
        if kind in ("message", "file", "storage"):  # what is compressed
            writer.set_compression(CompressionMode[kind.upper()], CompressionFormat.ZSTD)
        serialise = store.serialize_cdr
    with writer:
        text = writer.add_connection("/notes", "std_msgs/msg/String", typestore=store)
        writer.write(text, STAMP, serialise(store.types["std_msgs/msg/String"]("hello"), "std_msgs/msg/String"))
        for topic, clouds in topics.items():
            connection = writer.add_connection(topic, MESSAGE, typestore=store)
            for number, (points, extra) in enumerate(clouds):
                message = message_of(store, points, extra, **layout)
                writer.write(connection, STAMP + number * 10**8, serialise(message, MESSAGE))
    return path


@cache
def _types_of(distribution: Any) -> Any:
    from rosbags.typesys import get_typestore

    return get_typestore(distribution)
