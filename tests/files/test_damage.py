"""Files truncated or changed anywhere: a FileError, or points that the file does contain; nothing else."""

from __future__ import annotations

import contextlib
import struct
import subprocess
import sys
import time
import zipfile
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from graphreg import FileError
from graphreg.clouds import Cloud
from graphreg.files import read_cloud, read_scan, write
from graphreg.meshes.triangle_mesh import Mesh

POINTS = np.array([[1.25, -2.5, 3.75], [40.125, 5.0625, -6.5], [0.1, 1e-3, 123456.789], [7, 8, 9]])
TEXT = "".join("{!r} {!r} {!r}\n".format(*row) for row in POINTS.tolist())
FACES = "element face 2\nproperty list uchar int vertex_indices\n"


def ply(form: str, more: str = "", kind: str = "double") -> bytes:
    properties = "".join(f"property {kind} {axis}\n" for axis in "xyz")
    return f"ply\nformat {form} 1.0\ncomment x\nelement vertex 4\n{properties}{more}end_header\n".encode()


def pcd(kind: str) -> bytes:
    header = "VERSION .7\nFIELDS x y z\nSIZE 8 8 8\nTYPE F F F\nCOUNT 1 1 1\nWIDTH 4\nHEIGHT 1\n"
    return f"{header}VIEWPOINT 0 0 0 1 0 0 0\nPOINTS 4\nDATA {kind}\n".encode()


def npz() -> bytes:
    stream = BytesIO()
    np.savez_compressed(stream, points=POINTS, t=np.arange(4))
    return stream.getvalue()


def npy() -> bytes:
    stream = BytesIO()
    np.save(stream, POINTS)
    return stream.getvalue()


def lzf() -> bytes:
    data = POINTS.T.tobytes()
    return b"".join(bytes([31]) + data[i : i + 32] for i in range(0, len(data), 32))


def solid() -> str:
    corners = POINTS[[0, 1, 2, 1, 2, 3]].tolist()
    facets = ["".join("vertex {!r} {!r} {!r}\n".format(*c) for c in corners[i : i + 3]) for i in (0, 3)]
    body = "".join(f"facet normal 0 0 1\nouter loop\n{facet}endloop\nendfacet\n" for facet in facets)
    return f"solid s\n{body}endsolid s\n"


SINGLE = POINTS.astype("<f4")
VERTICES = b"".join(b"v " + line + b"\n" for line in TEXT.encode().splitlines())
TRIANGLES = b"".join(struct.pack("<12fH", 0, 0, 1, *SINGLE[list(t)].ravel(), 0) for t in ((0, 1, 2), (1, 2, 3)))
LISTS = b"".join(row.astype("<f8").tobytes() + b"\x02" + b"ab" for row in POINTS)

# Name and contents of files with the same four points.
SAMPLES: dict[str, tuple[str, bytes]] = {
    "ply text": ("a.ply", ply("ascii") + TEXT.encode()),
    "ply text with faces": ("a.ply", ply("ascii", FACES) + TEXT.encode() + b"3 0 1 2\n3 1 2 3\n"),
    "ply little": ("a.ply", ply("binary_little_endian") + POINTS.astype("<f8").tobytes()),
    "ply big": ("a.ply", ply("binary_big_endian") + POINTS.astype(">f8").tobytes()),
    "ply with faces": (
        "a.ply",
        ply("binary_little_endian", FACES) + POINTS.tobytes() + struct.pack("<B3iB3i", 3, 0, 1, 2, 3, 1, 2, 3),
    ),
    "ply with lists": ("a.ply", ply("binary_little_endian", "property list uchar char l\n") + LISTS),
    "pcd text": ("a.pcd", pcd("ascii") + TEXT.encode()),
    "pcd binary": ("a.pcd", pcd("binary") + POINTS.tobytes()),
    "pcd compressed": ("a.pcd", pcd("binary_compressed") + struct.pack("<II", len(lzf()), 96) + lzf()),
    "xyz": ("a.xyz", TEXT.encode()),
    "csv": ("a.csv", b"x,y,z\r\n" + TEXT.replace(" ", ",").replace("\n", "\r\n").encode()),
    "pts": ("a.pts", b"4\n" + TEXT.encode()),
    "npy": ("a.npy", npy()),
    "npz": ("a.npz", npz()),
    "obj": ("a.obj", b"# x\n" + VERTICES + b"f 1 2 3\n"),
    "obj of points": ("a.obj", VERTICES),
    "off of points": ("a.off", b"OFF\n4 0 0\n" + TEXT.encode()),
    "off": ("a.off", b"OFF\n4 1 0\n" + TEXT.encode() + b"3 0 1 2\n"),
    "stl text": ("a.stl", solid().encode()),
    "stl binary": ("a.stl", b"four points".ljust(80) + struct.pack("<I", 2) + TRIANGLES),
    "kitti": ("a.bin", np.c_[SINGLE, np.ones(4, "<f4")].astype("<f4").tobytes()),
}
TEXTS = [name for name, (_, content) in SAMPLES.items() if content.endswith(b"\n") and b"binary" not in content]
UNCOUNTED = ["xyz", "csv", "obj", "obj of points", "kitti"]  # nothing in these declares the number of points
EXPECTED = {name: SINGLE.astype(float) if name in ("stl binary", "kitti") else POINTS for name in SAMPLES}


def points_of(path: Path) -> NDArray[np.float64]:
    """The points of a file; of a mesh, its vertices."""
    scan = read_scan(path)
    return scan.vertices if isinstance(scan, Mesh) else scan.points


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("damage")


@pytest.mark.parametrize("name", SAMPLES)
def test_the_samples_are_complete(folder: Path, name: str) -> None:
    path = folder / SAMPLES[name][0]
    path.write_bytes(SAMPLES[name][1])
    np.testing.assert_array_equal(points_of(path), EXPECTED[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", SAMPLES)
def test_truncated_at_every_byte(folder: Path, name: str) -> None:
    path, content = folder / SAMPLES[name][0], SAMPLES[name][1]
    whole = 0
    for length in range(len(content)):
        path.write_bytes(content[:length])
        try:
            points = points_of(path)
        except FileError:
            continue
        expected = EXPECTED[name][: len(points)].copy()
        if name in TEXTS and truncated_number_may_pass(content, length, expected[:-1, 2], name in UNCOUNTED):
            expected[-1, 2] = points[-1, 2]
        np.testing.assert_array_equal(points, expected)
        if name not in UNCOUNTED:
            # All points are there; only the last number or what follows it is truncated.
            assert len(points) == 4
            whole += 1
    assert whole < 20


def truncated_number_may_pass(content: bytes, length: int, before: NDArray[np.float64], uncounted: bool) -> bool:
    """Whether a truncated number has as many decimals as one before it in its column, so that nothing shows it."""
    if not (content[length - 1 : length + 1].strip(b"0123456789.-e") == b"" and content[length:].strip()):
        return False
    if not uncounted:
        return len(before) == 3
    number = content[:length].decode().replace(",", " ").split()[-1]
    return len(before) == 0 or ("." in number and decimals(number) >= min(decimals(repr(z)) for z in before.tolist()))


def decimals(number: str) -> int:
    return len(number.partition(".")[2])


@pytest.mark.slow
@pytest.mark.parametrize("form", ["{:.3f}", "{:.4e}", "{:.18e}"])
@pytest.mark.parametrize("end", ["\n", "\r\n", " \n"])
@pytest.mark.parametrize(
    ("suffix", "line"),
    [("xyz", "{} {} {}"), ("csv", "{},{},{}"), ("pts", "{}\t{}\t{}"), ("asc", "{}; {}; {}"), ("obj", "v {} {} {}")],
)
def test_truncation_within_a_number_of_fixed_decimals_is_detected(
    folder: Path, suffix: str, line: str, end: str, form: str
) -> None:
    rows = POINTS[:3].tolist()
    lines = [line.format(*map(form.format, row)) + end for row in rows]
    expected = [[float(form.format(value)) for value in row] for row in rows]
    content = "".join(lines).encode()
    path = folder / f"fixed.{suffix}"
    read = set()
    for length in range(len(lines[0]), len(content) + 1):  # a single line has nothing to be compared with
        path.write_bytes(content[:length])
        with contextlib.suppress(FileError):
            points = points_of(path)
            assert points.tolist() == expected[: len(points)]
            read.add(length)
    whole = [sum(map(len, lines[: i + 1])) for i in range(len(rows))]
    # A line is accepted from its last digit on, with any part of its line break.
    assert read == {at - back for at in whole for back in range(len(end) + 1) if at - back >= len(lines[0])}


@pytest.mark.parametrize("name", TEXTS)
def test_a_file_without_its_last_line_break_is_complete(folder: Path, name: str) -> None:
    path = folder / SAMPLES[name][0]
    text = SAMPLES[name][1].decode().replace("\r\n", "\n").removesuffix("\n")
    for end in ("\n", "\r\n"):
        for tail in ("", " ", "\t", "\r", " \r"):
            path.write_bytes((text.replace("\n", end) + tail).encode())
            np.testing.assert_array_equal(points_of(path), EXPECTED[name], repr(end + tail))


def damaged(content: bytes) -> st.SearchStrategy[bytes]:
    """A few bytes overwritten, removed or inserted; more often in the header."""
    offset = st.one_of(st.integers(0, len(content)), st.integers(0, min(len(content), 120)))
    inserted = st.one_of(
        st.binary(max_size=4),
        st.sampled_from(
            [b"\xff" * 4, b"\xff" * 8, b"\0" * 8, b"-1", b"99999999999999", b"1e9", b"nan", b"\n", b" ", b","]
        ),
    )
    edit = st.tuples(offset, st.integers(0, 8), inserted)

    def apply(edits: list[tuple[int, int, bytes]]) -> bytes:
        result = content
        for at, removed, new in edits:
            result = result[:at] + new + result[at + removed :]
        return result

    return st.lists(edit, min_size=1, max_size=3).map(apply)


@pytest.mark.slow
@pytest.mark.parametrize("name", SAMPLES)
@settings(max_examples=20, deadline=5000, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_files_changed_anywhere_are_read_or_refused(folder: Path, name: str, data: st.DataObject) -> None:
    path = folder / SAMPLES[name][0]
    path.write_bytes(data.draw(damaged(SAMPLES[name][1])))
    try:
        cloud = read_cloud(path)
    except FileError:
        return
    assert len(cloud) > 0
    assert np.isfinite(cloud.points).all()
    assert all(len(values) == len(cloud) for values in cloud.attributes.values())


@pytest.mark.slow
@pytest.mark.parametrize("suffix", sorted({Path(file).suffix for file, _ in SAMPLES.values()}))
@settings(max_examples=20, deadline=5000, suppress_health_check=list(HealthCheck))
@given(content=st.binary(max_size=300))
@example(content=b"\n" * 300)
def test_any_bytes_are_read_or_refused(folder: Path, suffix: str, content: bytes) -> None:
    path = folder / f"any{suffix}"
    path.write_bytes(content)
    with contextlib.suppress(FileError):
        read_scan(path)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("a.xyz", b"1 " * 300_000 + b"\n"),
        ("a.csv", b"1," * 300_000 + b"\n"),
        ("a.xyz", b"\n" * 300_000),
        ("a.obj", b"#\n" * 200_000),
        (
            "a.pcd",
            b"FIELDS "
            + b"_ " * 300_000
            + b"\nSIZE "
            + b"1 " * 300_000
            + b"\nTYPE "
            + b"U " * 300_000
            + b"\nDATA ascii\n",
        ),
        ("a.ply", b"ply\n" + b"\n" * 300_000),
        ("a.ply", ply("ascii", "property list uchar int l\n") + b"1 2 3 " + b"9" * 300_000 + b"\n"),
        ("a.off", b"OFF\n" + b"# \n" * 200_000),
    ],
)
def test_malicious_files_are_refused_quickly(tmp_path: Path, file: str, content: bytes) -> None:
    path = tmp_path / file
    path.write_bytes(content)
    start = time.process_time()  # CPU time, which other processes do not affect
    with pytest.raises(FileError):
        read_scan(path)
    assert time.process_time() - start < 2


# Runs in a separate process, so that a crash is detected and memory is limited.
CHILD = """
import random, resource, sys
from pathlib import Path
import numpy as np
from graphreg import FileError
from graphreg.files import read_cloud

resource.setrlimit(resource.RLIMIT_AS, (1 << 31, 1 << 31))
path, rounds = Path(sys.argv[1]), int(sys.argv[2])
good = path.read_bytes()
target = path.with_stem("damaged")
generator = random.Random(0)
outcomes = {"read": 0, "refused": 0}
for round in range(rounds):
    data = bytearray(good)
    for _ in range(generator.choice([1, 1, 2, 4])):
        at = generator.randrange(generator.choice([len(data), min(len(data), 500), min(len(data), 1000)]))
        change = generator.random()
        if change < 0.5:
            data[at] = generator.randrange(256)
        elif change < 0.8:
            width = generator.choice([2, 4, 8])
            data[at : at + width] = generator.choice([b"\\xff", b"\\0", b"\\x7f"]) * width
        elif change < 0.9:
            del data[at : at + generator.randrange(1, 40)]
        else:
            del data[at + 1 :]
    target.write_bytes(data)
    print(round, file=sys.stderr, flush=True)
    try:
        assert np.isfinite(read_cloud(target).points).all()
        outcomes["read"] += 1
    except FileError:
        outcomes["refused"] += 1
print(outcomes["read"], outcomes["refused"])
"""


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["las", "laz", "e57"])
def test_damage_does_not_crash_the_libraries_of_other_formats(tmp_path: Path, suffix: str) -> None:
    pytest.importorskip("resource")
    pytest.importorskip("pye57" if suffix == "e57" else "laspy")
    path = tmp_path / f"good.{suffix}"
    points = np.random.default_rng(0).normal(size=(100, 3))
    write(path, Cloud(points, np.ones(100, bool), {"intensity": np.arange(100), "t": np.arange(100.0)}))
    child = subprocess.run(
        [sys.executable, "-W", "error", "-c", CHILD, str(path), "150"],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert child.returncode == 0, child.stderr[-2000:]
    read, refused = map(int, child.stdout.split())
    assert refused > 25
    assert read + refused == 150


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["las", "laz", "e57"])
def test_other_formats_truncated_at_every_byte(tmp_path: Path, suffix: str) -> None:
    pytest.importorskip("pye57" if suffix == "e57" else "laspy")
    path = tmp_path / f"a.{suffix}"
    write(path, POINTS)
    whole, content = points_of(path), path.read_bytes()
    for length in range(0, len(content), 3 if suffix == "laz" else 7):
        path.write_bytes(content[:length])
        try:
            points = points_of(path)
        except FileError:
            continue
        # In LAZ the chunk table follows the points; a part of it may be missing without harm.
        np.testing.assert_array_equal(points, whole)
        assert suffix == "laz"


FALSE_COUNTS = """
import resource, sys
from graphreg import FileError
from graphreg.files import read_cloud

for path in sys.argv[1:]:
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (64 << 20), resource.RLIM_INFINITY))
    try:
        read_cloud(path)
    except FileError:
        continue
    sys.exit(f"{path} was read")
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux to limit memory")
def test_declared_counts_allocate_no_memory(tmp_path: Path) -> None:
    """Every file declares 10^9 to 10^12 points; 64 megabytes must suffice to refuse it."""
    huge = b"100000000000"
    files = [
        ("a.ply", ply("ascii").replace(b"vertex 4", b"vertex " + huge) + TEXT.encode()),
        ("b.ply", ply("binary_big_endian").replace(b"vertex 4", b"vertex " + huge) + bytes(96)),
        ("c.ply", ply("binary_little_endian", FACES).replace(b"face 2", b"face " + huge) + bytes(99)),
        ("a.pcd", pcd("ascii").replace(b"WIDTH 4", b"WIDTH " + huge).replace(b"POINTS 4", b"POINTS " + huge)),
        (
            "b.pcd",
            pcd("binary").replace(b"WIDTH 4", b"WIDTH " + huge).replace(b"POINTS 4", b"POINTS " + huge),
        ),
        ("c.pcd", pcd("binary").replace(b"COUNT 1", b"COUNT " + huge) + bytes(96)),
        (
            "d.pcd",
            pcd("binary_compressed").replace(b"4", b"178956970") + struct.pack("<II", 5, 4294967280) + bytes(5),
        ),
        ("a.npy", npy().replace(b"(4, 3), }      ", b"(10**9, 3), } ")),
        ("b.npy", npy().replace(b"(4, 3), }           ", b"(999999999999, 3), }")),
        ("a.pts", huge + b"\n" + TEXT.encode()),
        ("a.off", b"OFF\n" + huge + b" 0 0\n" + TEXT.encode()),
        ("a.stl", bytes(80) + b"\xff\xff\xff\xff" + bytes(50)),
    ]
    stream = BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("points.npy", npy() + bytes(100_000_000))
    files.append(("a.npz", stream.getvalue()))
    for name, content in files:
        (tmp_path / name).write_bytes(content)
    paths = [str(tmp_path / name) for name, _ in files]
    child = subprocess.run(
        [sys.executable, "-c", FALSE_COUNTS, *paths], capture_output=True, text=True, timeout=600, check=False
    )
    assert child.returncode == 0, child.stderr
