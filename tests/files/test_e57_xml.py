"""XML sections of E57 files that refer to other documents, or are absurd: refused, and nothing is asked for."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.support.e57_files import split_xml, with_xml
from tests.support.fake_server import FakeServer, serving

from graphreg import FileError
from graphreg.files import read_cloud, write

pytest.importorskip("pye57")

DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>'
INSTANCE = 'xmlns:i="http://www.w3.org/2001/XMLSchema-instance"'
E57 = "http://www.astm.org/COMMIT/E57/2010-e57-v1.0"
ENCODINGS = {
    "utf-8": "UTF-8",
    "utf-8-sig": "UTF-8",
    "utf-16": "UTF-16",
    "utf-16-le": "UTF-16",
    "utf-16-be": "UTF-16BE",
    "utf-32": "UCS-4",
    "cp037": "ebcdic-cp-us",
    "latin-1": "ISO-8859-1",
}


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("e57") / "a.e57"
    write(path, np.eye(3))
    return path.read_bytes()


def references(xml: str, address: str) -> dict[str, bytes]:
    """Sections that ask a parser to open an address."""
    after = xml.partition("?>")[2]
    doctypes = {
        "external": f'<!DOCTYPE e57Root SYSTEM "{address}">',
        "parameter entity": f'<!DOCTYPE e57Root [<!ENTITY % a SYSTEM "{address}"> %a;]>',
    }
    found = {f"{name} DTD": (DECLARATION + doctype + after).encode() for name, doctype in doctypes.items()}
    for codec, name in ENCODINGS.items():
        text = DECLARATION.replace("UTF-8", name) + doctypes["external"] + after
        found[f"DTD in {codec}"] = text.encode(codec)
    entity = f'<!DOCTYPE e57Root [<!ENTITY a SYSTEM "{address}">]>' + after.replace("<![CDATA[", "&a;<![CDATA[", 1)
    found["entity"] = (DECLARATION + entity).encode()
    found["entity without declaration"] = entity.encode()
    schemas = {
        "schema": f'i:schemaLocation="{E57} {address}"',
        "other schema": f'i:noNamespaceSchemaLocation="{address}"',
    }
    for name, attribute in schemas.items():
        found[name] = xml.replace("<e57Root ", f"<e57Root {INSTANCE} {attribute} ").encode()
        found[f"{name} further in"] = xml.replace("<guid ", f"<guid {INSTANCE} {attribute} ").encode()
    return found


READ_ALL = """
import sys
from graphreg import FileError
from graphreg.files import read_cloud
for path in sys.argv[1:]:
    try:
        read_cloud(path)
    except FileError:
        continue
    print("read", path)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_nothing_that_a_file_refers_to_is_opened(tmp_path: Path, good: bytes) -> None:
    """A FIFO without a writer blocks whoever opens it, so that a reader that did would not end."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    xml = split_xml(good)[1].decode()
    paths = []
    with serving(FakeServer()) as server:
        for address in (server.url, fifo.as_uri(), str(fifo)):
            for name, content in references(xml, address).items():
                paths.append(tmp_path / f"{len(paths)} {name}.e57")
                paths[-1].write_bytes(with_xml(good, content))
        child = subprocess.run(
            [sys.executable, "-c", READ_ALL, *map(str, paths)], capture_output=True, text=True, timeout=60, check=False
        )
    assert (child.returncode, child.stdout, child.stderr) == (0, "", "")
    assert server.requests == []


def changed(xml: str, kind: str) -> str:
    nested = '<a type="Structure">' * 40 + "</a>" * 40
    wide = "".join(f'<a{i} type="Integer"/>' for i in range(300))
    equal = "<b type='Integer'/>" * 300
    begin, end = xml.index("<vectorChild"), xml.index("</vectorChild>") + len("</vectorChild>")
    scans = xml[begin:end].replace('recordCount="3"', 'recordCount="500000"') * 30
    spaces = " ".join(f'xmlns:a{i}="http://a/{i}"' for i in range(100))
    return {
        "nested": xml.replace("</e57Root>", nested + "</e57Root>"),
        "equal": xml.replace("</e57Root>", f"<a type='Vector'>{equal}</a></e57Root>"),
        "wide": xml.replace("</e57Root>", wide + "</e57Root>"),
        "namespaces": xml.replace("<e57Root ", f"<e57Root {spaces} "),
        "negative": xml.replace('recordCount="3"', 'recordCount="-3"'),
        "huge": xml.replace('recordCount="3"', f'recordCount="{2**63 - 1}"'),
        "many": xml.replace('recordCount="3"', 'recordCount="999999999999"'),
        "scans": xml[:begin] + scans + xml[end:],
        "word": xml.replace('recordCount="3"', 'recordCount="three"'),
        "unclosed": xml.replace("</e57Root>", ""),
        "twice": xml + xml,
        "version": xml.replace('version="1.0"', 'version="1.1"'),
        "zero": xml.replace("<guid", "\0<guid"),
        "empty": "",
    }[kind]


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("nested", "nested more than 32 levels"),
        ("equal", "too many elements or attributes, at 'b'"),
        ("wide", "too many elements or attributes, at 'a2"),
        ("namespaces", "too many elements or attributes, at 'e57Root'"),
        ("negative", "declares '-3' points"),
        ("huge", "declares '9223372036854775807' points"),
        ("many", "too many for a file"),
        ("scans", "declares 360000000 bytes of points"),
        ("word", "declares 'three' points"),
        ("unclosed", "XML section is damaged"),
        ("twice", "XML section is damaged"),
        ("version", "not declared as XML 1.0 in UTF-8"),
        ("zero", "not declared as XML 1.0 in UTF-8"),
        ("empty", "XML section is damaged"),
    ],
)
def test_absurd_sections_are_refused(tmp_path: Path, good: bytes, kind: str, message: str) -> None:
    path = tmp_path / "a.e57"
    path.write_bytes(with_xml(good, changed(split_xml(good)[1].decode(), kind).encode()))
    with pytest.raises(FileError, match=message):
        read_cloud(path)


def test_a_large_section_is_refused_before_it_is_parsed(tmp_path: Path, good: bytes) -> None:
    path = tmp_path / "a.e57"
    size = 1024 * 40_000
    path.write_bytes(good[:16] + struct.pack("<Q", size) + good[24:32] + struct.pack("<Q", 1024 * 39_000) + good[40:])
    os.truncate(path, size)
    with pytest.raises(FileError, match="XML section of 39936000 bytes, more than 33554432"):
        read_cloud(path)


@pytest.mark.parametrize(
    "declaration", [DECLARATION, "", "\ufeff" + DECLARATION, "<?xml version='1.0' standalone='yes' ?>"]
)
def test_sections_of_utf_8_are_read(tmp_path: Path, good: bytes, declaration: str) -> None:
    path = tmp_path / "a.e57"
    xml = split_xml(good)[1].decode().partition("?>")[2].lstrip()
    many = "".join('<vectorChild type="Integer"/>' for _ in range(2000))
    xml = xml.replace("</images2D>", many + "</images2D>").replace("graphreg", "Grün & <!-- -->")
    path.write_bytes(with_xml(good, (declaration + xml).encode()))
    np.testing.assert_array_equal(read_cloud(path).points, np.eye(3))


def test_a_section_on_several_pages_is_put_together(tmp_path: Path, good: bytes) -> None:
    """A document type is found wherever it begins, also across the checksum of a page."""
    path = tmp_path / "a.e57"
    before, xml = split_xml(good)
    start = len(DECLARATION) + 1
    room = -(len(before) + start) % 1020
    for shift in range(room - 12, room + 3):
        doctype = DECLARATION + "\n" + " " * shift + "<!DOCTYPE a>" + xml.decode()[start:]
        path.write_bytes(with_xml(good, doctype.encode()))
        with pytest.raises(FileError, match="document type"):
            read_cloud(path)
