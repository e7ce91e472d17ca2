"""What a LAS file says about its points as a whole: version, scale and offset, coordinate reference system, records."""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from graphreg.files.input_file import InputFile

Triple = tuple[float, float, float]

PROJECTION = "LASF_Projection"
WKT, GEO_KEYS, GEO_DOUBLES, GEO_ASCII = 2112, 34735, 34736, 34737
# Records about the order or the encoding of the points in one file, which are wrong in any other.
ENCODING_RECORDS = {("laszip encoded", 22204), ("LASF_Spec", 4)}
INDEX_RECORDS = {("copc", 1): "COPC index", ("copc", 1000): "COPC index", ("LAStools", 30): "LAX index"}
WAVEFORMS = ("LASF_Spec", 65535)
# Bits of the global encoding: waveforms in this file, waveforms in another one, and a CRS as WKT.
WAVEFORMS_INTERNAL, WKT_BIT = 2, 16
# Keys of the GeoTIFF directory: the citations, and the EPSG codes of a projected and of a geographic system.
CITATIONS, CODES, USER_DEFINED = (3073, 1026, 2049), (3072, 2048), 32767
WKT_NAME = re.compile(r'\s*\w+\s*[\[(]\s*"([^"]{1,200})"')


@dataclass(frozen=True)
class LasRecord:
    """A variable-length record (VLR), or an extended one (EVLR), which stands after the points."""

    user: str
    number: int
    description: str
    data: bytes
    extended: bool = False


@dataclass(frozen=True)
class ExtraDimension:
    """An extra dimension of the points: type, and scales and offsets where it is stored as scaled integers."""

    name: str
    type: str
    elements: int
    description: str
    scales: tuple[float, ...] | None
    offsets: tuple[float, ...] | None
    no_data: tuple[float, ...] | None


@dataclass(frozen=True)
class LasHeader:
    """The header of a LAS file, without what follows from its points.

    Attributes
    ----------
    version : str
    point_format : int
    scale, offset : tuple of 3 float
        Coordinates are stored as integers, x = scale * X + offset.
    file_source_id, global_encoding : int
    project_id : bytes
    system_identifier, generating_software : str
    created : tuple of 2 int
        Day of the year, and year.
    records : tuple of LasRecord
        All but those about the encoding of the points, which is another one in every file.
    extra_dimensions : tuple of ExtraDimension
    left_out : tuple of str
        What the file has besides and no file that is written of it will have, such as waveforms.
    """

    version: str
    point_format: int
    scale: Triple
    offset: Triple
    file_source_id: int = 0
    global_encoding: int = 0
    project_id: bytes = bytes(16)
    system_identifier: str = ""
    generating_software: str = ""
    created: tuple[int, int] = (0, 0)
    records: tuple[LasRecord, ...] = ()
    extra_dimensions: tuple[ExtraDimension, ...] = ()
    left_out: tuple[str, ...] = ()

    @property
    def crs(self) -> str | None:
        """The name of the coordinate reference system, None where the file has none."""
        of_crs = {record.number: record.data for record in self.records if record.user == PROJECTION}
        if WKT in of_crs and (found := WKT_NAME.match(_text(of_crs[WKT]))):
            return found[1]
        if GEO_KEYS in of_crs:
            return _geotiff_name(of_crs[GEO_KEYS], _text(of_crs.get(GEO_ASCII, b"")))
        return "unnamed" if WKT in of_crs and _text(of_crs[WKT]).strip() else None

    @property
    def crs_records(self) -> tuple[LasRecord, ...]:
        """The records that define the coordinate reference system."""
        return tuple(record for record in self.records if record.user == PROJECTION)

    def with_crs_of(self, other: LasHeader | None) -> LasHeader:
        """The same header with the coordinate reference system of another one, or with none."""
        crs = () if other is None else other.crs_records
        bit = 0 if other is None else other.global_encoding & WKT_BIT
        # Extended records exist since version 1.4 only.
        crs = tuple(replace(record, extended=record.extended and self.version == "1.4") for record in crs)
        rest = tuple(record for record in self.records if record.user != PROJECTION)
        return replace(self, records=crs + rest, global_encoding=self.global_encoding & ~WKT_BIT | bit)


def read_header(file: InputFile, point_format: Any) -> LasHeader:
    """Read the header of a LAS file whose size and counts `las.read` has checked.

    Parameters
    ----------
    file : InputFile
    point_format : laspy.PointFormat

    Returns
    -------
    LasHeader
    """
    start = file.read_at(0, min(375, file.size))
    minor, encoding = start[25], struct.unpack_from("<H", start, 6)[0]
    size, data, count = struct.unpack_from("<HII", start, 94)
    records = _records(file, size, count, data, extended=False)
    if minor >= 4:
        first, count = struct.unpack_from("<QI", start, 235)
        records += _records(file, first, count, file.size, extended=True) if count else []
    left_out = {INDEX_RECORDS[key] for record in records if (key := (record.user, record.number)) in INDEX_RECORDS}
    if encoding & WAVEFORMS_INTERNAL or any((record.user, record.number) == WAVEFORMS for record in records):
        left_out.add("waveforms")
    numbers = struct.unpack_from("<6d", start, 131)
    dropped = {*ENCODING_RECORDS, *INDEX_RECORDS, WAVEFORMS}
    return LasHeader(
        version=f"{start[24]}.{minor}",
        point_format=point_format.id,
        scale=(numbers[0], numbers[1], numbers[2]),
        offset=(numbers[3], numbers[4], numbers[5]),
        file_source_id=struct.unpack_from("<H", start, 4)[0],
        global_encoding=encoding & ~WAVEFORMS_INTERNAL,
        project_id=start[8:24],
        system_identifier=_text(start[26:58]),
        generating_software=_text(start[58:90]),
        created=struct.unpack_from("<2H", start, 90),
        records=tuple(record for record in records if (record.user, record.number) not in dropped),
        extra_dimensions=tuple(_extra_dimension(each) for each in point_format.extra_dimensions),
        left_out=tuple(sorted(left_out)),
    )


def _records(file: InputFile, offset: int, count: int, end: int, extended: bool) -> list[LasRecord]:
    head = 60 if extended else 54
    if offset > end or count > (end - offset) // head:
        file.fail(f"declares {count} variable-length records, more than fit")
    records = []
    for _ in range(count):
        start = file.read_at(offset, head)
        user, number = struct.unpack_from("<2x16sH", start)
        length = struct.unpack_from("<Q" if extended else "<H", start, 20)[0]
        if length > end - offset - head:
            file.fail("has a damaged variable-length record")
        name = _text(user)
        # Waveforms are larger than the points; they are left out, so they need not be read.
        data = b"" if (name, number) == WAVEFORMS else file.read_at(offset + head, length)
        records.append(LasRecord(name, number, _text(start[head - 32 :]), data, extended))
        offset += head + length
    return records


def _extra_dimension(dimension: Any) -> ExtraDimension:
    def numbers(values: Any) -> tuple[float, ...] | None:
        return None if values is None else tuple(values.tolist())

    return ExtraDimension(
        dimension.name,
        dimension.dtype.base.str,
        dimension.num_elements,
        dimension.description,
        numbers(dimension.scales),
        numbers(dimension.offsets),
        numbers(dimension.no_data),
    )


def _text(data: bytes) -> str:
    return data.split(b"\0")[0].decode("utf-8", "backslashreplace")


def _geotiff_name(directory: bytes, ascii_values: str) -> str | None:
    """EPSG code and citation of a GeoTIFF directory: a header of four numbers, then four for each key."""
    numbers = struct.unpack(f"<{len(directory) // 2}H", directory[: len(directory) // 2 * 2])
    keys = {numbers[i]: numbers[i + 1 : i + 4] for i in range(4, len(numbers) - 3, 4)}
    names = [
        ascii_values[position : position + length].strip("| ")
        for location, length, position in (keys[key] for key in CITATIONS if key in keys)
        if location == GEO_ASCII
    ]
    codes = [
        f"EPSG:{value}"
        for location, _, value in (keys[key] for key in CODES if key in keys)
        if location == 0 and value not in (0, USER_DEFINED)
    ]
    parts = [*codes[:1], *[name for name in names if name][:1]]
    return " ".join(parts) or ("unnamed" if keys else None)


def common_header(headers: Sequence[LasHeader]) -> tuple[LasHeader, tuple[str, ...]]:
    """The header of clouds that are merged in the frame of the first, and the names of what differs between them.

    Parameters
    ----------
    headers : sequence of LasHeader
        At least one.

    Returns
    -------
    LasHeader
        The first, with the finest scale, without records that another one does not have. The coordinate reference
        system is that of the first, in whose frame the points are.
    tuple of str
    """
    first = headers[0]
    names = [field.name for field in fields(LasHeader) if field.name not in ("records", "left_out", "created")]
    differing = [name for name in names if any(getattr(each, name) != getattr(first, name) for each in headers[1:])]
    if any(each.crs_records != first.crs_records for each in headers[1:]):
        differing.append("coordinate reference system")
    shared = tuple(
        record
        for record in first.records
        if record.user == PROJECTION or all(record in each.records for each in headers)
    )
    others = [[record for record in each.records if record.user != PROJECTION] for each in headers]
    if any(each != others[0] for each in others[1:]):
        differing.append("records")
    x, y, z = (min((each.scale[axis] for each in headers), key=abs) for axis in range(3))
    left_out = {name for each in headers for name in each.left_out}
    return replace(first, scale=(x, y, z), records=shared, left_out=tuple(sorted(left_out))), tuple(differing)
