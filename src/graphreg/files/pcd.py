"""PCD, the format of the Point Cloud Library: text, binary, or compressed with LZF."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import graphreg._core as _core
from graphreg.clouds import Cloud, Floats
from graphreg.files.attribute_columns import attribute_columns, cloud_from_columns, decode_integers
from graphreg.files.input_file import MAX_COLUMNS, InputFile, parse_integer, quote
from graphreg.files.output_file import OutputFile

PCD_TYPES = {"I": "i", "U": "u", "F": "f"}
SCALAR_TYPES = {"i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"}
HEADER_KEYS = ("VERSION", "FIELDS", "SIZE", "TYPE", "COUNT", "WIDTH", "HEIGHT", "VIEWPOINT", "POINTS")
PADDING = "_"

# The name, type and number of values of each field.
Fields = list[tuple[str, str, int]]


def read(file: InputFile) -> Cloud:
    """Read points as they are stored: the VIEWPOINT (`viewpoint_of`) is not applied."""
    header, data = _read_header(file)
    fields = _fields(file, header)
    count = _count(file, header)
    width = sum(int(kind[1]) * values for _, kind, values in fields)
    if data == "ascii":
        result = _read_text(file, fields, count)
    elif count * width > (file.remaining if data == "binary" else file.remaining * 88):
        file.fail(f"declares {count} points of {width} bytes, but only {file.remaining} bytes follow")
    elif data == "binary":
        # Names of fields repeat (padding), so the fields of the dtype are called by their numbers.
        dtype = np.dtype([(str(i), "<" + kind, (values,)) for i, (_, kind, values) in enumerate(fields)])
        records = file.read_records(dtype, count, "points")
        result = [records[str(i)] for i in range(len(fields))]
    elif data == "binary_compressed":
        result = _read_compressed(file, fields, count, width)
    else:
        file.fail(f"DATA: expected ascii, binary or binary_compressed, got {quote(data)}")
    return cloud_from_columns(
        file,
        {
            name: values[:, 0] if values.shape[1] == 1 else values
            for (name, _, _), values in zip(fields, result, strict=True)
            if name != PADDING
        },
    )


def viewpoint_of(file: InputFile) -> tuple[Floats, Floats] | None:
    """Read rotation and position of the VIEWPOINT: tx ty tz qw qx qy qz; None where the header has none."""
    words = _read_header(file)[0].get("VIEWPOINT")
    if words is None:
        return None
    try:
        x, y, z, *quaternion = map(float, words)
        w, i, j, k = np.array(quaternion) / (np.linalg.norm(quaternion) or np.nan)
    except ValueError:
        file.fail(f"VIEWPOINT: expected seven numbers, got {quote(' '.join(words))}")
    rotation = [
        [1 - 2 * (j * j + k * k), 2 * (i * j - k * w), 2 * (i * k + j * w)],
        [2 * (i * j + k * w), 1 - 2 * (i * i + k * k), 2 * (j * k - i * w)],
        [2 * (i * k - j * w), 2 * (j * k + i * w), 1 - 2 * (i * i + j * j)],
    ]
    return np.array(rotation), np.array([x, y, z])


def _read_header(file: InputFile) -> tuple[dict[str, list[str]], str]:
    header: dict[str, list[str]] = {}
    while True:
        line = file.read_line()
        if line is None:
            file.fail("ends within its header")
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if words[0] == "DATA" and len(words) == 2:
            return header, words[1]
        if words[0] not in HEADER_KEYS or words[0] in header:
            file.fail(f"the header line {quote(line)} cannot be interpreted")
        header[words[0]] = words[1:]


def _fields(file: InputFile, header: dict[str, list[str]]) -> Fields:
    names, sizes, types = (header.get(key, []) for key in ("FIELDS", "SIZE", "TYPE"))
    counts = header.get("COUNT", ["1"] * len(names))
    if not names or not len(names) == len(sizes) == len(types) == len(counts):
        file.fail("FIELDS, SIZE, TYPE and COUNT must have one word for each field")
    if len(names) > MAX_COLUMNS:
        file.fail(f"has {len(names)} fields, more than {MAX_COLUMNS}")
    fields: Fields = []
    for name, size, letter, count in zip(names, sizes, types, counts, strict=True):
        kind, values = PCD_TYPES.get(letter, "?") + size, parse_integer(count)
        if kind not in SCALAR_TYPES or values is None or not 0 < values <= file.size:
            file.fail(f"field {quote(name)} of SIZE {size}, TYPE {letter}, COUNT {count} is not supported")
        fields.append((name, kind, values))
    named = [name for name in names if name != PADDING]
    if len(set(named)) < len(named):
        twice = next(name for name in named if named.count(name) > 1)
        file.fail(f"two fields are called {quote(twice)}")
    if sum(int(kind[1]) * values for _, kind, values in fields) > file.size:
        file.fail("declares a point larger than the file")
    return fields


def _count(file: InputFile, header: dict[str, list[str]]) -> int:
    sizes = {}
    for key in ("WIDTH", "HEIGHT", "POINTS"):
        value = parse_integer(" ".join(header.get(key, ["-"])))
        if key in header and (value is None or value < 0):
            file.fail(f"{key}: expected a count, got {quote(' '.join(header[key]))}")
        sizes[key] = value
    if sizes["WIDTH"] is None:
        file.fail("the header has no WIDTH")
    product = sizes["WIDTH"] * (1 if sizes["HEIGHT"] is None else sizes["HEIGHT"])
    if sizes["POINTS"] not in (None, product):
        file.fail(f"POINTS is {sizes['POINTS']}, but WIDTH times HEIGHT is {product}")
    return product


def _read_text(file: InputFile, fields: Fields, count: int) -> list[NDArray[Any]]:
    table = file.read_table(count, "".join(kind[0] * values for _, kind, values in fields), "points")
    file.expect_no_more_lines()
    result: list[NDArray[Any]] = []
    at = 0
    for name, kind, values in fields:
        columns = np.ascontiguousarray(table[:, at : at + values])
        if kind[0] == "f":
            result.append(columns.astype(np.float64 if name in ("x", "y", "z") else kind))
        else:
            result.append(decode_integers(file, columns, np.dtype(kind), name))
        at += values
    return result


def _read_compressed(file: InputFile, fields: Fields, count: int, width: int) -> list[NDArray[Any]]:
    packed, unpacked = np.frombuffer(file.read_bytes(8, "bytes of sizes"), "<u4").tolist()
    if unpacked != count * width:
        file.fail(f"declares {unpacked} bytes after decompression, but its points have {count * width}")
    compressed = file.read_records(np.dtype(np.uint8), packed, "compressed bytes")
    try:
        data = _core.lzf_decode(compressed, unpacked)
    except ValueError:
        file.fail("its compressed data are damaged")
    result = []
    at = 0
    for _, kind, values in fields:  # field after field, not point after point
        size = count * values * int(kind[1])
        result.append(data[at : at + size].view("<" + kind).reshape(count, values))
        at += size
    return result


def write(output: OutputFile, cloud: Cloud) -> None:
    """Write binary data; x y z are double (F 8). An attribute of several components is one field with a COUNT."""
    fields = attribute_columns(cloud)
    output.written_attributes.update(fields)
    layout = [(axis, np.dtype("<f8"), 1) for axis in "xyz"]
    layout += [(name, values.dtype, values.shape[1]) for name, values in fields.items()]
    header = {
        "VERSION": [".7"],
        "FIELDS": [name for name, _, _ in layout],
        "SIZE": [str(dtype.itemsize) for _, dtype, _ in layout],
        "TYPE": [dtype.kind.upper() for _, dtype, _ in layout],
        "COUNT": [str(values) for _, _, values in layout],
        "WIDTH": [str(len(cloud))],
        "HEIGHT": ["1"],
        "VIEWPOINT": list("0001000"),
        "POINTS": [str(len(cloud))],
        "DATA": ["binary"],
    }
    output.file.write("".join(f"{key} {' '.join(words)}\n" for key, words in header.items()).encode())
    for rows in output.chunks(cloud):
        records = np.empty(rows.stop - rows.start, [(name, dtype, (values,)) for name, dtype, values in layout])
        for i, axis in enumerate("xyz"):
            records[axis][:, 0] = cloud.points[rows, i]
        for name, values in fields.items():
            records[name] = values[rows]
        output.file.write(records.data)
