"""Checks of the XML section of an E57 file, before the library parses it.

The library's parser obeys the file: it opens the documents, entities and schemas that a DTD or a schemaLocation names,
on the disk or over the network. So a section that could name one is refused here, by a parser that opens nothing.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from typing import Any
from xml.parsers import expat

from graphreg.files.input_file import InputFile, parse_integer, quote

# Bytes of a page, and how many of them are contents; a checksum follows.
PAGE_BYTES = 1024
CONTENT_BYTES = 1020
DECLARATION = re.compile(
    r"""<\?xml\s+version\s*=\s*["']1\.0["'](\s+encoding\s*=\s*["']utf-8["'])?(\s+standalone\s*=\s*["'](yes|no)["'])?\s*\?>""",
    re.ASCII | re.IGNORECASE,
)
SCHEMA_ATTRIBUTES = ("schemaLocation", "noNamespaceSchemaLocation")


@dataclass(frozen=True)
class XmlLimits:
    """The largest XML section that is accepted. All chosen: a scan has some 50 elements in 5 kB, six levels deep.

    Attributes
    ----------
    size : int
        Bytes of the section.
    elements : int
        Number of elements.
    depth : int
        Levels of nesting.
    children : int
        Elements within a structure, or within a vector of equal types; the library compares each with all others.
    attributes : int
        Attributes of an element; again the time is quadratic.
    """

    size: int = 1 << 25
    elements: int = 250_000
    depth: int = 32
    children: int = 256
    attributes: int = 64


XML_LIMITS = XmlLimits()


def check_xml(file: InputFile) -> None:
    """Refuse a file whose header or XML section is damaged, refers to other documents, or is beyond `XML_LIMITS`.

    Parameters
    ----------
    file : InputFile

    Raises
    ------
    FileError
    """
    try:
        text = _read_section(file).decode("utf-8")
    except UnicodeDecodeError:
        file.fail("its XML section is not UTF-8")
    text = text.removeprefix("\ufeff")
    if "\0" in text or (text.startswith("<?xml") and not DECLARATION.match(text)):
        file.fail("its XML section is not declared as XML 1.0 in UTF-8")
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        file.fail("its XML section has a document type, which could refer to other files")
    _check_elements(file, text)


def _read_section(file: InputFile) -> bytes:
    """The contents of the pages with the XML section. The library verifies their checksums."""
    start = file.read_at(0, min(48, file.size))
    if start[:8] != b"ASTM-E57" or len(start) < 48:
        file.fail("does not begin with an E57 header")
    size, offset, length, page = struct.unpack_from("<4Q", start, 16)
    if page != PAGE_BYTES or size % PAGE_BYTES:
        file.fail("has a damaged E57 header")
    if size != file.size:
        file.fail(f"declares {size} bytes, but has {file.size}")
    first, skipped = divmod(offset, PAGE_BYTES)
    skipped = min(skipped, CONTENT_BYTES)
    if offset > size or length > (size // PAGE_BYTES - first) * CONTENT_BYTES - skipped:
        file.fail("declares an XML section beyond its end")
    if length > XML_LIMITS.size:
        file.fail(f"declares an XML section of {length} bytes, more than {XML_LIMITS.size}")
    pages = -(-(skipped + length) // CONTENT_BYTES)
    data = file.read_at(first * PAGE_BYTES, pages * PAGE_BYTES)
    contents = b"".join(data[i : i + CONTENT_BYTES] for i in range(0, len(data), PAGE_BYTES))
    return contents[skipped : skipped + length]


def _check_elements(file: InputFile, text: str) -> None:
    # How many more elements each of the open ones may have.
    open_elements = [1]
    count = 0

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal count
        count += 1
        open_elements[-1] -= 1
        if count > XML_LIMITS.elements or open_elements[-1] < 0 or len(attributes) > XML_LIMITS.attributes:
            file.fail(f"its XML section has too many elements or attributes, at {quote(name)}")
        if len(open_elements) > XML_LIMITS.depth:
            file.fail(f"its XML section is nested more than {XML_LIMITS.depth} levels deep")
        any_types = attributes.get("type") == "Vector" and attributes.get("allowHeterogeneousChildren") == "1"
        open_elements.append(XML_LIMITS.elements if any_types else XML_LIMITS.children)
        if any(key.rpartition(":")[2] in SCHEMA_ATTRIBUTES for key in attributes):
            file.fail("its XML section refers to a schema in another file")
        records = parse_integer(attributes.get("recordCount", "0"))
        if records is None or records < 0:
            file.fail(f"declares {quote(attributes['recordCount'])} points")

    def end(name: str) -> None:
        open_elements.pop()

    def refuse(*_: Any) -> None:
        file.fail("its XML section has a document type, which could refer to other files")

    parser = expat.ParserCreate("utf-8")
    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(text.encode(), True)
    except expat.ExpatError as problem:
        file.fail(f"its XML section is damaged ({problem})")
