"""Faces in files: round trips keep them; damaged ones are refused; polygons become triangles of the same area."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from tests.support.meshes import SQUARES, box, soup

from graphreg import FileError, InputError, Mesh, read, read_cloud, read_mesh, write
from graphreg.files import formats, read_scan

SUFFIXES = [suffix for suffix, entry in formats().items() if entry.faces]
L_SHAPE = [[0, 0], [2, 0], [2, 1], [1, 1], [1, 3], [0, 3]]
STAR = [[np.cos(a) * r, np.sin(a) * r] for a, r in zip(np.arange(10) * np.pi / 5, [2, 0.5] * 5, strict=True)]
SPIRAL = [[0, 0], [5, 0], [5, 5], [1, 5], [1, 2], [3, 2], [3, 3], [2, 3], [2, 4], [4, 4], [4, 1], [0, 1]]


def area(outline: list[list[float]]) -> float:
    x, y = np.array(outline, float).T
    return float(np.sum(x * np.roll(y, -1) - y * np.roll(x, -1)) / 2)


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("seed", range(3))
def test_faces_survive_a_round_trip(tmp_path: Path, suffix: str, seed: int) -> None:
    mesh = soup(seed)
    path = tmp_path / f"a{suffix}"
    assert write(path, mesh) == ()
    again = read_mesh(path)
    corners = mesh.vertices[mesh.faces]
    # STL has single precision.
    assert np.array_equal(again.vertices[again.faces], corners.astype(np.float32) if suffix == ".stl" else corners)
    if suffix != ".stl":
        assert np.array_equal(again.faces, mesh.faces)


def test_a_mesh_far_from_the_origin_is_not_written_in_single_precision(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"so far from the origin that \.stl rounds them by 0\.03"):
        write(tmp_path / "a.stl", box(origin=(5e5, 0, 0)))
    assert not (tmp_path / "a.stl").exists()


def test_attributes_of_vertices_survive_in_ply(tmp_path: Path) -> None:
    mesh = Mesh(box().vertices, box().faces, {"red": np.arange(8, dtype=np.uint8)})
    assert write(tmp_path / "a.ply", mesh) == ()
    again = read_mesh(tmp_path / "a.ply")
    assert again.attributes["red"].tolist() == list(range(8))
    assert write(tmp_path / "a.off", mesh) == ("red",)


def test_formats_without_faces_have_points_of_the_surface(tmp_path: Path) -> None:
    write(tmp_path / "a.xyz", box())
    assert len(read(tmp_path / "a.xyz")) == 40_000
    with pytest.raises(FileError, match="has no faces"):
        read_mesh(tmp_path / "a.xyz")
    with pytest.raises(FileError, match=r"points cannot be written to \.stl files"):
        write(tmp_path / "a.stl", np.eye(3))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_of_a_mesh_is_read_as_points_of_its_surface(tmp_path: Path, suffix: str) -> None:
    write(tmp_path / f"a{suffix}", box((1, 2, 3)))
    cloud = read_cloud(tmp_path / f"a{suffix}")
    beyond = np.abs(cloud.points - [0.5, 1, 1.5]) - [0.5, 1, 1.5]
    assert np.abs(beyond.max(axis=1)).max() < 1e-6
    assert len(cloud) == 40_000
    normals = np.stack([cloud.attributes[axis] for axis in ("nx", "ny", "nz")], axis=1)
    assert np.allclose(np.abs(normals).sum(axis=1), 1)
    # They point outwards.
    assert (np.einsum("ij,ij->i", normals, cloud.points - [0.5, 1, 1.5]) > 0).all()


OBJ = "v 0 0 0\nv 1 0 0\nf 1 2 3\nv 0 1 0\n"
OFF = "OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n"
PLY = (
    "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\nelement face 1\n"
    "property uchar red\nproperty list uchar float uv\nproperty list uchar int vertex_index\nend_header\n"
    "0 0 0\n1 0 0\n0 1 0\n7 2 .5 .5 3 0 1 2\n"
)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.obj", OBJ),
        ("a.obj", OBJ.replace("f 1 2 3", "F 1/4 2//5 3/6/7 # c")),
        ("a.obj", OBJ.replace("f 1 2 3\n", "") + "f -3 -2 -1"),
        ("a.off", OFF),
        ("a.off", OFF.replace("3 0 1 2", "\n# c\n3  0 1 2 255 0 0")),
        ("a.ply", PLY),
    ],
)
def test_faces_are_read(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    mesh = read_mesh(tmp_path / name)
    assert mesh.faces.tolist() == [[0, 1, 2]]
    assert mesh.area == 0.5


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.obj", OBJ.replace("1 2 3", "1 2 4"), "a face refers to vertex number 4, but there are 3"),
        ("a.obj", OBJ.replace("1 2 3", "0 1 2"), "a face refers to vertex number 0, but there are 3"),
        ("a.obj", OBJ.replace("1 2 3", "-3 -2 -1"), "a face refers to vertex number 0"),
        ("a.obj", OBJ.replace("1 2 3", "1 2"), "line 3: expected a face of at least 3 vertices, got 'f 1 2'"),
        ("a.obj", OBJ.replace("1 2 3", "1 2 x"), "line 3: expected a face"),
        ("a.obj", OBJ.replace("1 2 3", f"1 2 {2**70}"), "line 3: expected a face"),
        ("a.off", OFF.replace("3 0 1 2", "3 0 1 3"), "refers to vertex number 4"),
        ("a.off", OFF.replace("3 0 1 2", "3 0 1 -1"), "refers to vertex number 0"),
        ("a.off", OFF.replace("3 0 1 2", "4 0 1 2"), "line 6: expected a face, got '4 0 1 2'"),
        ("a.off", OFF.replace("3 0 1 2", f"{2**60} 0 1 2"), "line 6: expected a face"),
        ("a.off", OFF.replace("3 0 1 2", "x"), "line 6: expected a face"),
        ("a.off", OFF.replace("3 1 0", "3 2 0"), "declares 2 faces but ends after 1"),
        ("a.ply", PLY.replace("3 0 1 2", "3 0 1 3"), "refers to vertex number 4"),
        ("a.ply", PLY.replace("3 0 1 2", "3 0 1"), "expected a face"),
        ("a.ply", PLY.replace("face 1", "face 9"), "declares 9 lines or records of 'face' but ends after 1"),
    ],
)
def test_damaged_faces_are_refused(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(FileError, match=message):
        read_cloud(tmp_path / name)


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("kind", ["uchar B", "short h", "ushort H", "int i", "uint I"])
def test_binary_faces_of_any_type(tmp_path: Path, order: str, kind: str) -> None:
    name, code = kind.split()
    form = "binary_little_endian" if order == "<" else "binary_big_endian"
    header = PLY.partition("end_header\n")[0].replace("ascii", form).replace("uchar int", f"ushort {name}")
    vertices = struct.pack(f"{order}9f", 0, 0, 0, 1, 0, 0, 0, 1, 0)

    def save(*corners: int) -> Path:
        face = struct.pack(f"{order}BB2fH{len(corners)}{code}", 7, 2, 0.5, 0.5, len(corners), *corners)
        path = tmp_path / "a.ply"
        path.write_bytes(header.encode() + b"end_header\n" + vertices + face)
        return path

    assert read_mesh(save(0, 1, 2)).faces.tolist() == [[0, 1, 2]]
    with pytest.raises(FileError, match="refers to vertex number 101"):
        read_mesh(save(0, 100, 2))
    if code in "hi":
        with pytest.raises(FileError, match="refers to vertex number -6"):
            read_mesh(save(0, 1, -7))
    # A face of two corners is none.
    assert not isinstance(read_scan(save(0, 1)), Mesh)
    path = save(0, 1, 2)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(FileError, match="ends after 0"):
        read_mesh(path)


@pytest.mark.parametrize("outline", [L_SHAPE, STAR, SPIRAL, [[0, 0], [1, 0], [2, 0], [2, 2], [0, 2]]])
@pytest.mark.parametrize("start", [0, 1, 3])
@pytest.mark.parametrize("axis", range(3))
def test_polygons_become_triangles_of_their_area_and_orientation(
    tmp_path: Path, outline: list[list[float]], start: int, axis: int
) -> None:
    ring = outline[start:] + outline[:start]
    points = np.roll(np.array([[0.3, *corner] for corner in ring]), axis, axis=1)
    lines = "".join("{!r} {!r} {!r}\n".format(*map(float, row)) for row in points)
    (tmp_path / "a.off").write_text(
        f"OFF\n{len(ring)} 1 0\n{lines}{len(ring)} {' '.join(map(str, range(len(ring))))}\n"
    )
    mesh = read_mesh(tmp_path / "a.off")
    corners = mesh.vertices[mesh.faces]
    signed = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])[:, axis] / 2
    assert signed.min() > -1e-12
    assert np.isclose(signed.sum(), area(outline))


def test_a_polygon_whose_sides_cross_is_no_reason_to_fail(tmp_path: Path) -> None:
    (tmp_path / "a.obj").write_text("v 0 0 0\nv 1 1 0\nv 1 0 0\nv 0 1 0\nv 2 2 1\nf 1 2 3 4 5\n")
    assert len(read_mesh(tmp_path / "a.obj").faces) == 3


def test_faces_with_a_vertex_that_is_not_finite_are_left_out(tmp_path: Path) -> None:
    lines = "".join(f"v {x} {y} {z}\n" for x, y, z in box().vertices) + "v nan 0 0\n"
    faces = "".join(f"f {' '.join(str(i + 1) for i in face)}\n" for face in SQUARES)
    (tmp_path / "a.obj").write_text(lines.replace("v 1", "v  1") + "f 1 2 9\n" + faces)
    mesh = read_mesh(tmp_path / "a.obj")
    assert len(mesh.vertices) == 8
    assert len(mesh.faces) == 12
    assert np.isclose(mesh.area, 6)
