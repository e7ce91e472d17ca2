"""Meshes: what they refuse, and samples that are uniform by area."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.support.meshes import box, soup, together

from graphreg import InputError, Mesh, register
from graphreg.clouds import as_cloud
from graphreg.meshes.triangle_mesh import vertices_are_dense
from graphreg.poses import pose, rotation_from_vector, transform, transform_mesh

T = pose(rotation_from_vector([0.3, -1.1, 2]), [5, -2, 9])


def grid(count: int) -> Mesh:
    """A square of (count - 1)^2 cells with a bump, two triangles each."""
    x, y = np.meshgrid(np.linspace(0, 1, count), np.linspace(0, 1, count), indexing="ij")
    i = np.arange(count * count).reshape(count, count)
    a, b, c, d = i[:-1, :-1].ravel(), i[1:, :-1].ravel(), i[1:, 1:].ravel(), i[:-1, 1:].ravel()
    vertices = np.stack([x, y, 0.2 * np.exp(-10 * ((x - 0.4) ** 2 + (y - 0.6) ** 2))], -1).reshape(-1, 3)
    return Mesh(vertices, np.vstack([np.stack([a, b, c], 1), np.stack([a, c, d], 1)]))


@pytest.mark.parametrize(
    ("vertices", "faces", "message"),
    [
        (np.eye(3), [[0, 1, 3]], "refer to vertex 3, but vertices are 0 to 2"),
        (np.eye(3), [[0, 1, -1]], "refer to vertex -1"),
        (np.eye(3), np.zeros((0, 3), int), "at least one"),
        (np.eye(3), [[0.0, 1, 2]], "faces: expected numbers"),
        (np.eye(3), [[0, 1, 2, 2]], "faces: expected numbers of shape"),
        (np.eye(4), [[0, 1, 2]], "vertices: expected numbers of shape"),
        (np.full((3, 3), np.nan), [[0, 1, 2]], "finite"),
        ("abc", [[0, 1, 2]], "vertices: expected numbers"),
        ([[1, 2], [1]], [[0, 1, 2]], "vertices: expected numbers"),
    ],
)
def test_what_is_no_mesh_is_refused(vertices: Any, faces: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Mesh(vertices, faces)


def test_attributes_have_a_row_for_each_vertex() -> None:
    with pytest.raises(InputError, match="'red' has 2 rows for 3 vertices"):
        Mesh(np.eye(3), np.array([[0, 1, 2]], np.int32), {"red": np.zeros(2)})


@pytest.mark.parametrize("seed", range(3))
def test_every_face_has_its_share_of_the_points(seed: int) -> None:
    """The strata are equal areas, so that no count is off by two."""
    mesh = together(box((1, 2, 3)), box((4, 0.1, 2), (9, 9, 9)))
    corners = mesh.vertices[mesh.faces]
    areas = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1) / 2
    points, normals = mesh.sample(5000, seed)
    # Points of a face are in its plane, and in its box.
    counts = np.array([_on(points, normals, triangle).sum() for triangle in corners])
    assert counts.sum() == 5000
    assert np.abs(counts - 5000 * areas / areas.sum()).max() < 2


def _on(points: np.ndarray[Any, Any], normals: np.ndarray[Any, Any], triangle: np.ndarray[Any, Any]) -> Any:
    """Which points have positive barycentric coordinates, and lie in the plane of the triangle."""
    a, b, c = triangle
    normal = np.cross(b - a, c - a)
    normal /= np.linalg.norm(normal)
    sides = [np.cross(q - p, points - p) @ normal > 0 for p, q in ((a, b), (b, c), (c, a))]
    return np.all(sides, axis=0) & (np.abs((points - a) @ normal) < 1e-9) & (normals @ normal > 0.999)


def test_points_are_uniform_within_a_face() -> None:
    """The mean of a triangle is its centroid, its covariance S / 12 with S the sum over corners about it."""
    triangle = np.array([[0.0, 0, 0], [5, 1, 0], [1, 3, 2]])
    points, _ = Mesh(triangle, [[0, 1, 2]]).sample(20_000)
    offsets = triangle - triangle.mean(axis=0)
    expected = offsets.T @ offsets / 12
    assert np.abs(points.mean(axis=0) - triangle.mean(axis=0)).max() < 4 * np.sqrt(expected.max() / 20_000)
    assert np.abs(np.cov(points.T) - expected).max() < 0.03 * np.abs(expected).max()


def test_samples_are_deterministic_and_move_with_the_mesh() -> None:
    mesh = soup(1)
    first, normals = mesh.sample(300)
    assert np.array_equal(first, mesh.sample(300)[0])
    assert not np.array_equal(first, mesh.sample(300, seed=1)[0])
    moved, turned = transform_mesh(T, mesh).sample(300)
    assert np.allclose(moved, transform(T, first), rtol=0, atol=1e-9)
    assert np.allclose(turned, normals @ T[:3, :3].T, rtol=0, atol=1e-9)


def test_a_mesh_without_area_is_not_sampled_but_has_vertices() -> None:
    flat = Mesh([[0, 0, 0], [1, 0, 0], [2, 0, 0]], [[0, 1, 2]])
    with pytest.raises(InputError, match="no area"):
        flat.sample()
    assert as_cloud(flat).points.tolist() == flat.vertices.tolist()


def test_vertices_stand_for_the_surface_where_they_are_dense() -> None:
    dense, coarse = grid(120), grid(20)
    assert vertices_are_dense(dense)
    assert as_cloud(dense).points is dense.vertices
    assert not vertices_are_dense(coarse)
    cloud = as_cloud(coarse)
    assert len(cloud) == 40_000
    assert set(cloud.attributes) == {"nx", "ny", "nz"}
    # A dense patch on a coarse body is no dense mesh.
    assert not vertices_are_dense(together(dense, box((3, 3, 3), (5, 5, 5))))


def test_attributes_of_vertices_are_kept_and_normals_rotated() -> None:
    mesh = box()
    normals = {axis: np.full(8, value) for axis, value in zip(("nx", "ny", "nz"), (0.0, 0.0, 1.0), strict=True)}
    moved = transform_mesh(T, Mesh(mesh.vertices, mesh.faces, {"red": np.arange(8), **normals}))
    assert moved.attributes["red"].tolist() == list(range(8))
    assert np.allclose([moved.attributes[axis][0] for axis in ("nx", "ny", "nz")], T[:3, 2])


@pytest.mark.slow
def test_a_box_registers_with_a_scan_of_it_up_to_its_symmetry() -> None:
    """A box of three lengths has four poses that are equal; the eight vertices alone say nothing."""
    part = box((30, 20, 12))
    scan = transform(T, part.sample(8000, seed=7)[0]) + np.random.default_rng(0).normal(0, 0.02, (8000, 3))
    result = register(part, scan)
    distances = np.abs(transform(np.linalg.inv(result.transformation), scan) - [15, 10, 6]) - [15, 10, 6]
    # All points are on the surface of the box, at whichever of the four poses.
    assert np.abs(distances.max(axis=1)).max() < 0.3
