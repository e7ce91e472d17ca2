"""PCD, the format of the Point Cloud Library: text, binary, or compressed with LZF."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import graphreg._core as _core
from graphreg.clouds import Cloud
from graphreg.files.input_file import MOST_COLUMNS, InputFile, quote, whole_number
from graphreg.files.output_file import OutputFile, columns

KINDS = {"I": "i", "U": "u", "F": "f"}
TYPES = {"i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"}
KEYS = ("VERSION", "FIELDS", "SIZE", "TYPE", "COUNT", "WIDTH", "HEIGHT", "VIEWPOINT", "POINTS")
PADDING = "_"

# The name, type and number of values of each field.
Fields = list[tuple[str, str, int]]


def read(file: InputFile) -> Cloud:
    """Points as they are stored: the VIEWPOINT is not applied."""
    header, data = _read_header(file)
    fields = _fields(file, header)
    count = _count(file, header)
    width = sum(int(kind[1]) * values for _, kind, values in fields)
    if data == "ascii":
        result = _read_text(file, fields, count)
    elif count * width > (file.remaining if data == "binary" else file.remaining * 88):
        file.fail(f"says it holds {count} points of {width} bytes, but only {file.remaining} bytes follow")
    elif data == "binary":
        # Field names repeat (padding), so numpy gets numbers instead.
        dtype = np.dtype([(str(i), "<" + kind, (values,)) for i, (_, kind, values) in enumerate(fields)])
        records = file.read_records(dtype, count, "points")
        result = [records[str(i)] for i in range(len(fields))]
    elif data == "binary_compressed":
        result = _read_compressed(file, fields, count, width)
    else:
        file.fail(f"DATA {quote(data)} is not known; it should be ascii, binary or binary_compressed")
    return file.split(
        {
            name: values[:, 0] if values.shape[1] == 1 else values
            for (name, _, _), values in zip(fields, result, strict=True)
            if name != PADDING
        }
    )


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
        if words[0] not in KEYS or words[0] in header:
            file.fail(f"the header line {quote(line)} makes no sense")
        header[words[0]] = words[1:]


def _fields(file: InputFile, header: dict[str, list[str]]) -> Fields:
    names, sizes, types = (header.get(key, []) for key in ("FIELDS", "SIZE", "TYPE"))
    counts = header.get("COUNT", ["1"] * len(names))
    if not names or not len(names) == len(sizes) == len(types) == len(counts):
        file.fail("FIELDS, SIZE, TYPE and COUNT must have one word for each field")
    if len(names) > MOST_COLUMNS:
        file.fail(f"has {len(names)} fields, more than {MOST_COLUMNS}")
    fields: Fields = []
    for name, size, letter, count in zip(names, sizes, types, counts, strict=True):
        kind, values = KINDS.get(letter, "?") + size, whole_number(count)
        if kind not in TYPES or values is None or not 0 < values <= file.size:
            file.fail(f"field {quote(name)} of SIZE {size}, TYPE {letter}, COUNT {count} makes no sense")
        fields.append((name, kind, values))
    named = [name for name in names if name != PADDING]
    if len(set(named)) < len(named):
        twice = next(name for name in named if named.count(name) > 1)
        file.fail(f"two fields are called {quote(twice)}")
    if sum(int(kind[1]) * values for _, kind, values in fields) > file.size:
        file.fail("one of its points would be larger than the file")
    return fields


def _count(file: InputFile, header: dict[str, list[str]]) -> int:
    sizes = {}
    for key in ("WIDTH", "HEIGHT", "POINTS"):
        value = whole_number(" ".join(header.get(key, ["-"])))
        if key in header and (value is None or value < 0):
            file.fail(f"{key} should be a count, but is {quote(' '.join(header[key]))}")
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
        piece = np.ascontiguousarray(table[:, at : at + values])
        if kind[0] == "f":
            result.append(piece.astype(np.float64 if name in ("x", "y", "z") else kind))
        else:
            result.append(file.integers(piece, np.dtype(kind), name))
        at += values
    return result


def _read_compressed(file: InputFile, fields: Fields, count: int, width: int) -> list[NDArray[Any]]:
    packed, unpacked = np.frombuffer(file.read_bytes(8, "bytes of sizes"), "<u4").tolist()
    if unpacked != count * width:
        file.fail(f"says it unfolds to {unpacked} bytes, but its points take {count * width}")
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
    """Binary; x y z are double (F 8). An attribute of several numbers a point is one field with a COUNT."""
    fields = columns(cloud)
    output.held.update(fields)
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
    for part in output.parts(cloud):
        records = np.empty(part.stop - part.start, [(name, dtype, (values,)) for name, dtype, values in layout])
        for i, axis in enumerate("xyz"):
            records[axis][:, 0] = cloud.points[part, i]
        for name, values in fields.items():
            records[name] = values[part]
        output.file.write(records.data)
