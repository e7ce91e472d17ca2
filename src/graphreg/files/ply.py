"""PLY: text, or binary in either byte order."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

import graphreg._core as _core
from graphreg.clouds import Cloud, Floats
from graphreg.files.attribute_columns import cloud_from_columns, decode_integers, scalar_columns
from graphreg.files.faces import vertex_cloud, with_faces
from graphreg.files.input_file import MAX_COLUMNS, InputFile, parse_integer, quote
from graphreg.files.output_file import OutputFile
from graphreg.meshes.triangle_mesh import Mesh

PLY_TYPES = {
    name: kind
    for names, kind in {
        ("char", "int8"): "i1",
        ("uchar", "uint8"): "u1",
        ("short", "int16"): "i2",
        ("ushort", "uint16"): "u2",
        ("int", "int32"): "i4",
        ("uint", "uint32"): "u4",
        ("float", "float32"): "f4",
        ("double", "float64"): "f8",
    }.items()
    for name in names
}
PLY_TYPE_NAMES = {"i1": "char", "u1": "uchar", "i2": "short", "u2": "ushort", "i4": "int", "u4": "uint", "f4": "float"}
BYTE_ORDERS = {"ascii": "=", "binary_little_endian": "<", "binary_big_endian": ">"}
MAX_HEADER_LINES = MAX_COLUMNS
# Names of the list of corners of a face.
CORNERS = ("vertex_indices", "vertex_index")
Faces = tuple[NDArray[np.int64], NDArray[np.int64]]
NO_FACES: Faces = (np.empty(0, np.int64), np.empty(0, np.int64))
# Position and axes of the element camera.
CAMERA = tuple(f"view_p{axis}" for axis in "xyz") + tuple(f"{a}_axis{b}" for a in "xyz" for b in "xyz")
PLY_FACE = np.dtype([("count", "u1"), ("corners", "<i4", (3,))])


@dataclass
class Element:
    """An element that the header declares: its name, its number of records, and their properties."""

    name: str
    count: int
    # name -> type of the value, and type of the length where the property is a list
    properties: dict[str, tuple[str, str | None]] = field(default_factory=dict)

    @property
    def has_lists(self) -> bool:
        """Whether a property is a list, so that records have no common size."""
        return any(length for _, length in self.properties.values())

    @property
    def corners(self) -> str | None:
        """The property with the corners of faces, if this is the element that has them."""
        found = (
            name
            for name, (kind, length) in self.properties.items()
            if self.name == "face" and name in CORNERS and length and kind[0] != "f"
        )
        return next(found, None)

    @property
    def what(self) -> str:
        """The name of the records in error messages."""
        return "vertices" if self.name == "vertex" else f"lines or records of {self.name!r}"

    def dtype(self, order: str) -> np.dtype[Any]:
        """The type of a record without its lists."""
        scalars = [(name, order + kind) for name, (kind, length) in self.properties.items() if not length]
        return np.dtype(scalars)

    def parts(self) -> list[tuple[int, int, int, bool]]:
        """The layout of a record with its lists, as `_core.pack_records` expects it."""
        parts, fixed = [], 0
        for kind, length in self.properties.values():
            if length:
                parts.append((fixed, int(length[1]), int(kind[1]), length[0] == "i"))
                fixed = 0
            else:
                fixed += int(kind[1])
        return [*parts, (fixed, 0, 0, False)]

    def kinds(self) -> str:
        """The columns of a line, as `_core.parse_table` expects them."""
        return "".join("l" if length else kind[0] for kind, length in self.properties.values())


def read(file: InputFile) -> Cloud | Mesh:
    """Read the element vertex: x, y, z, and its other scalar properties as attributes; and the corners of faces."""
    order, elements = _read_header(file)
    columns, faces = _read_text(file, elements) if order == "=" else _read_binary(file, elements, order)
    return with_faces(file, cloud_from_columns(file, columns), *faces)


def camera_of(file: InputFile) -> tuple[Floats, Floats] | None:
    """Read rotation and position of the element camera, as the Point Cloud Library writes it.

    Its columns are the camera's axes in the frame of the world. None without it, or behind elements with lists.
    """
    order, elements = _read_header(file)
    for element in elements:
        is_camera = element.name == "camera" and element.properties.keys() >= set(CAMERA) and element.count == 1
        if element.has_lists:
            return None
        if order == "=":
            table = file.read_table(element.count, element.kinds() if is_camera else "", element.what, exact=is_camera)
            values = dict(zip(element.properties, table[0], strict=True)) if is_camera else {}
        else:
            records = file.read_records(element.dtype(order), element.count, element.what)
            values = {name: records[name][0] for name in CAMERA} if is_camera else {}
        if values:
            numbers = np.array([values[name] for name in CAMERA], np.float64).reshape(4, 3)
            return np.ascontiguousarray(numbers[1:].T), numbers[0]
    return None


def _read_header(file: InputFile) -> tuple[str, list[Element]]:
    if file.peek(3) != b"ply" or (file.read_line() or "").strip() != "ply":
        file.fail("does not begin with the line 'ply'")
    order = ""
    elements: list[Element] = []
    for _ in range(MAX_HEADER_LINES):
        line = file.read_line()
        if line is None:
            file.fail("ends within its header")
        match line.split():
            case ["end_header"]:
                break
            case ["format", name, *_] if name in BYTE_ORDERS:
                order = BYTE_ORDERS[name]
            case ["element", name, count] if (rows := parse_integer(count)) is not None and rows >= 0:
                elements.append(Element(name, rows))
            case ["property", "list", length, kind, name] if (
                kind in PLY_TYPES and PLY_TYPES.get(length, "f")[0] != "f" and _is_new(elements, name)
            ):
                elements[-1].properties[name] = PLY_TYPES[kind], PLY_TYPES[length]
            case ["property", kind, name] if kind in PLY_TYPES and _is_new(elements, name):
                elements[-1].properties[name] = PLY_TYPES[kind], None
            case ["format" | "element" | "property" | "end_header", *_]:
                file.fail(f"the header line {quote(line)} cannot be interpreted")
    else:
        file.fail(f"no end_header within {MAX_HEADER_LINES} lines")
    if not order:
        file.fail("the header has no format line")
    if sum(element.name == "vertex" for element in elements) != 1:
        file.fail("the header must declare one element 'vertex'")
    return order, [element for element in elements if element.properties or element.name == "vertex"]


def _is_new(elements: list[Element], name: str) -> bool:
    return bool(elements) and name not in elements[-1].properties


def _read_text(file: InputFile, elements: list[Element]) -> tuple[dict[str, NDArray[Any]], Faces]:
    result: dict[str, NDArray[Any]] = {}
    faces = NO_FACES
    for element in elements:
        if corners := element.corners:
            kinds = ["l" if length else "-" for _, length in element.properties.values()]
            kinds[list(element.properties).index(corners)] = "p"
            faces = file.read_faces(element.count, "".join(kinds), element.what)
            continue
        if element.name != "vertex":
            file.read_table(element.count, "", element.what, exact=False)
            continue
        table = file.read_table(element.count, element.kinds(), element.what)
        scalars = [(name, kind) for name, (kind, length) in element.properties.items() if not length]
        for (name, kind), column in zip(scalars, table.T, strict=True):
            if kind[0] != "f":
                result[name] = decode_integers(file, column, np.dtype(kind), name)
            elif name in ("x", "y", "z"):
                result[name] = column  # the number as it is written, also where the header declares float
            else:
                result[name] = column.astype(kind)
    file.expect_no_more_lines()
    return result, faces


def _read_binary(file: InputFile, elements: list[Element], order: str) -> tuple[dict[str, NDArray[Any]], Faces]:
    result: dict[str, NDArray[Any]] = {}
    faces = NO_FACES
    # Records of one size are read as they are. From the first list on, the rest of the file is parsed in memory.
    rest: NDArray[np.uint8] | None = None
    at = 0
    for element in elements:
        dtype = element.dtype(order)
        if rest is None and not element.has_lists:
            records = (
                file.read_records(dtype, element.count, element.what) if element.properties else np.empty(0, dtype)
            )
        else:
            rest = file.read_rest() if rest is None else rest
            if corners := element.corners:
                *faces_found, at = _core.unpack_faces(
                    rest,
                    at,
                    element.count,
                    element.parts(),
                    [name for name, (_, length) in element.properties.items() if length].index(corners),
                    signed_corners=element.properties[corners][0][0] == "i",
                    big_endian=order == ">",
                )
                faces = faces_found[0], faces_found[1]
                if len(faces[1]) < element.count:
                    file.fail(f"declares {element.count} {element.what} but ends after {len(faces[1])}")
                continue
            packed, at = _core.pack_records(rest, at, element.count, element.parts(), big_endian=order == ">")
            if len(packed) < element.count:
                file.fail(f"declares {element.count} {element.what} but ends after {len(packed)}")
            records = packed.view(dtype)[:, 0] if dtype.itemsize else np.empty(0, dtype)
        if element.name == "vertex":
            result = {name: records[name] for name in dtype.names or ()}
    left = file.read_rest() if rest is None else rest[at:]
    if left.tobytes().strip():
        file.fail(f"has {len(left)} bytes more than its header declares")
    return result, faces


def write_mesh(output: OutputFile, mesh: Mesh) -> None:
    """Write the vertices as `write` does, and faces."""
    declared = [f"element face {len(mesh.faces)}", "property list uchar int vertex_indices"]
    _write_vertices(output, vertex_cloud(mesh), declared)
    for rows in output.row_chunks(len(mesh.faces), PLY_FACE.itemsize):
        records = np.full(rows.stop - rows.start, 3, PLY_FACE)
        records["corners"] = mesh.faces[rows]
        output.file.write(records.data)


def write(output: OutputFile, cloud: Cloud) -> None:
    """Write binary data, little-endian; x y z are double."""
    _write_vertices(output, cloud, [])


def _write_vertices(output: OutputFile, cloud: Cloud, declared: list[str]) -> None:
    """Write the header, with lines on the elements that will follow, and the vertices."""
    converted = {name: _representable(values) for name, values in scalar_columns(cloud).items()}
    extra = {name: values for name, values in converted.items() if values is not None}
    output.written_attributes.update(extra)
    dtype = np.dtype(
        [(axis, "<f8") for axis in "xyz"] + [(name, "<" + values.dtype.str[1:]) for name, values in extra.items()]
    )
    header = ["ply", "format binary_little_endian 1.0", f"element vertex {len(cloud)}"]
    header += [f"property {PLY_TYPE_NAMES.get(dtype[name].str[1:], 'double')} {name}" for name in dtype.names or ()]
    output.file.write("\n".join([*header, *declared, "end_header", ""]).encode())
    for rows in output.chunks(cloud):
        records = np.empty(rows.stop - rows.start, dtype)
        for i, axis in enumerate("xyz"):
            records[axis] = cloud.points[rows, i]
        for name, values in extra.items():
            records[name] = values[rows]
        output.file.write(records.data)


def _representable(values: NDArray[Any]) -> NDArray[Any] | None:
    """PLY has no 64-bit integers: the values in a narrower type or as double where that is exact, else None."""
    if values.dtype.itemsize < 8 or values.dtype.kind == "f":
        return values
    low, high = int(values.min()), int(values.max())
    for narrower in (np.int32, np.uint32):
        if np.iinfo(narrower).min <= low and high <= np.iinfo(narrower).max:
            return values.astype(narrower)
    return values.astype(np.float64) if max(-low, high) <= 2**53 else None
