"""Distance from meshes: that of the closest of all triangles; signed by what is inside; the same in every frame."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.meshes import box, extruded, soup, together, turned

from graphreg import InputError, Mesh
from graphreg.clouds import Floats
from graphreg.meshes.mesh_distance import mesh_distances, orientation_of
from graphreg.poses import pose, rotation_from_vector, transform, transform_mesh

T = pose(rotation_from_vector([0.3, -1.1, 2]), [5e3, -2e3, 9e3])
STAR = [[np.cos(a) * r, np.sin(a) * r] for a, r in zip(np.arange(10) * np.pi / 5, [2, 0.7] * 5, strict=True)]
SOLIDS = {
    "box": box((1, 2, 3)),
    "star": extruded(STAR, 0.5),
    "vase": turned([[0, 0], [1, 0], [0.4, 1], [1.2, 2], [0.9, 2], [0.2, 1], [0, 0.9]]),
    "two": together(box(), box((2, 1, 1), (3, 0, 0))),
    "hollow": together(box((4, 4, 4)), Mesh(box((2, 2, 2), (1, 1, 1)).vertices, box().faces[:, ::-1])),
}


def queries(mesh: Mesh, count: int, seed: int = 0) -> Floats:
    """Points about a mesh: anywhere, close to it, and exactly on its vertices."""
    rng = np.random.default_rng(seed)
    low, high = mesh.vertices.min(axis=0), mesh.vertices.max(axis=0)
    around = rng.uniform(low - (high - low), high + (high - low), (count, 3))
    close = mesh.sample(count, seed)[0] + rng.normal(0, 1e-3, (count, 3))
    return np.vstack([around, close, mesh.vertices])


def brute_force(mesh: Mesh, points: Floats) -> Floats:
    """The least over all triangles of the distance to the three sides and, above the inside, to the plane."""
    best = np.full(len(points), np.inf)
    for a, b, c in mesh.vertices[mesh.faces]:
        normal = np.cross(b - a, c - a)
        normal /= np.linalg.norm(normal)
        above = np.ones(len(points), bool)
        for p, q in ((a, b), (b, c), (c, a)):
            share = np.clip((points - p) @ (q - p) / ((q - p) @ (q - p)), 0, 1)
            best = np.minimum(best, np.linalg.norm(points - p - share[:, None] * (q - p), axis=1))
            above &= np.cross(q - p, points - p) @ normal >= 0
        best = np.where(above, np.minimum(best, np.abs((points - a) @ normal)), best)
    return best


def inside(mesh: Mesh, points: Floats) -> Floats:
    """The winding number of each point: solid angles of all triangles over 4 pi (van Oosterom, Strackee 1983)."""
    total = np.zeros(len(points))
    for triangle in mesh.vertices[mesh.faces]:
        a, b, c = (corner - points for corner in triangle)
        la, lb, lc = (np.linalg.norm(vectors, axis=1) for vectors in (a, b, c))
        volume = np.einsum("ij,ij->i", a, np.cross(b, c))
        dots = [np.einsum("ij,ij->i", u, v) for u, v in ((a, b), (b, c), (c, a))]
        total += 2 * np.arctan2(volume, la * lb * lc + dots[0] * lc + dots[1] * la + dots[2] * lb)
    return np.asarray(np.round(total / (4 * np.pi)) > 0)


@pytest.mark.parametrize("seed", range(4))
def test_distances_are_those_of_the_closest_of_all_triangles(seed: int) -> None:
    mesh = soup(seed)
    points = queries(mesh, 200, seed)
    found, _ = mesh_distances(mesh, points, 1)
    # The slender triangles of the soup cost a few digits of their normals.
    assert np.abs(np.abs(found) - brute_force(mesh, points)).max() < 1e-12 * np.abs(points).max()


@pytest.mark.parametrize("name", SOLIDS)
def test_negative_is_inside(name: str) -> None:
    mesh = SOLIDS[name]
    points = queries(mesh, 400)[:800]
    found, signed = mesh_distances(mesh, points, 1)
    assert signed
    assert np.abs(np.abs(found) - brute_force(mesh, points)).max() < 1e-12 * np.abs(points).max()
    far = np.abs(found) > 1e-9
    assert np.array_equal(found[far] < 0, inside(mesh, points[far]))


def test_a_closed_mesh_is_negative_inside_whichever_way_it_is_oriented() -> None:
    mesh = SOLIDS["star"]
    points = queries(mesh, 100)[:200]
    reverse = Mesh(mesh.vertices, mesh.faces[:, ::-1])
    np.testing.assert_allclose(mesh_distances(reverse, points, 1)[0], mesh_distances(mesh, points, 1)[0], atol=1e-12)


def test_vertices_at_the_same_place_are_one() -> None:
    """Files that repeat the vertices of each face give the same sign at edges and corners."""
    mesh = SOLIDS["vase"]
    apart = Mesh(mesh.vertices[mesh.faces].reshape(-1, 3), np.arange(mesh.faces.size).reshape(-1, 3))
    points = queries(mesh, 300)[:600]
    np.testing.assert_allclose(mesh_distances(apart, points, 1)[0], mesh_distances(mesh, points, 1)[0], atol=1e-12)


def test_a_mesh_whose_faces_disagree_has_no_sign() -> None:
    mesh = box()
    faces = mesh.faces.copy()
    faces[0] = faces[0, ::-1]
    mixed = Mesh(mesh.vertices, faces)
    assert not orientation_of(mixed).consistent
    found, signed = mesh_distances(mixed, queries(mesh, 50), 1)
    assert not signed
    assert (found >= 0).all()


def test_an_open_mesh_is_signed_by_its_normals() -> None:
    sheet = Mesh([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]])
    orientation = orientation_of(sheet)
    assert orientation.consistent
    assert not orientation.closed
    found, signed = mesh_distances(sheet, np.array([[0.5, 0.5, 2], [0.5, 0.5, -2], [2, 0.5, 1e-3]]), 1)
    assert signed
    np.testing.assert_allclose(found, [2, -2, np.hypot(1, 1e-3)])


@pytest.mark.parametrize("name", SOLIDS)
def test_a_rigid_motion_of_both_changes_nothing(name: str) -> None:
    mesh = SOLIDS[name]
    points = queries(mesh, 200)[:400]
    moved, _ = mesh_distances(transform_mesh(T, mesh), transform(T, points), 1)
    # Rounding of coordinates of 1e4.
    np.testing.assert_allclose(moved, mesh_distances(mesh, points, 1)[0], rtol=0, atol=1e-10)


@pytest.mark.parametrize("scale", [1e-120, 1e-6, 1e6, 1e140])
def test_the_unit_does_not_matter(scale: float) -> None:
    mesh = SOLIDS["box"]
    points = queries(mesh, 50)
    scaled, _ = mesh_distances(Mesh(mesh.vertices * scale, mesh.faces), points * scale, 1)
    np.testing.assert_allclose(scaled / scale, mesh_distances(mesh, points, 1)[0], rtol=1e-9, atol=1e-12)


def test_threads_do_not_change_a_bit() -> None:
    mesh = SOLIDS["vase"]
    points = queries(mesh, 2000)
    assert np.array_equal(mesh_distances(mesh, points, 1)[0], mesh_distances(mesh, points, 3)[0])


def test_faces_without_area_do_not_count() -> None:
    mesh = box()
    degenerate = Mesh(mesh.vertices, np.vstack([mesh.faces, [[0, 0, 1], [2, 2, 2]]]))
    points = queries(mesh, 50)
    assert np.array_equal(mesh_distances(degenerate, points, 1)[0], mesh_distances(mesh, points, 1)[0])
    with pytest.raises(InputError, match="none of whose faces has an area"):
        mesh_distances(Mesh(mesh.vertices, [[0, 0, 1]]), points, 1)
