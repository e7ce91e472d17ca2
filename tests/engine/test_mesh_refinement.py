"""Refinement on the triangles of a mesh."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from tests.support.meshes import parts

from graphreg.clouds import Floats
from graphreg.engine.mesh_refinement import MESH_REFINEMENT, MeshSurface
from graphreg.meshes.triangle_mesh import Mesh
from graphreg.poses import inverse, pose, transform

PARTS = parts()
VOXEL = 0.7


def one_side(mesh: Mesh, noise: float, outliers: int = 0) -> Floats:
    """What a direction sees of the mesh, with noise and outliers within three voxels of it."""
    rng = np.random.default_rng(1)
    points, normals = mesh.sample(4_000, seed=3)
    seen = points[normals @ np.array([0.5, 0.3, 0.8]) > 0.3]
    strays = seen[:outliers] + rng.uniform(-3 * VOXEL, 3 * VOXEL, (outliers, 3))
    return np.concatenate([seen + rng.normal(0, noise, seen.shape), strays])


def displaced(angle: float, offset: Floats) -> Floats:
    """A pose that is off by an angle about the part's centre, and by an offset."""
    centre = np.array([20.0, 15, 5])
    R = Rotation.from_rotvec(angle * np.array([0.6, 0, 0.8])).as_matrix()
    return pose(R, centre - R @ centre + offset)


@pytest.mark.parametrize("name", ["prismatic", "turned", "fillet", "sheet"])
def test_points_on_the_mesh_return_to_it(name: str) -> None:
    points = one_side(PARTS[name], 0.0)
    start = displaced(0.01, np.array([0.2, -0.3, 0.3]))
    surface = MeshSurface(PARTS[name], np.eye(4), 1.0)
    refined = surface.refine(start, points, VOXEL)
    assert np.linalg.norm(transform(refined, points) - points, axis=1).max() < 0.01 * VOXEL


@pytest.mark.parametrize("offset", [-0.9, -0.5, 0.0, 0.4])
def test_a_sheet_is_aligned_to_the_face_that_was_seen(offset: float) -> None:
    # Its thickness is 1, so that from some of these the other face is closer.
    points = one_side(PARTS["sheet"], 0.03)
    surface = MeshSurface(PARTS["sheet"], np.eye(4), 1.0)
    refined = surface.refine(displaced(0.005, np.array([0, 0, offset])), points, VOXEL)
    assert np.linalg.norm(transform(refined, points) - points, axis=1).max() < 0.03


@pytest.mark.slow
@pytest.mark.parametrize("name", ["prismatic", "turned", "fillet", "sheet"])
def test_outliers_near_the_mesh_move_points_by_less_than_the_noise(name: str) -> None:
    points = one_side(PARTS[name], 0.03, outliers=400)
    surface = MeshSurface(PARTS[name], np.eye(4), 1.0)
    refined = surface.refine(displaced(0.01, np.array([0.2, -0.3, 0.3])), points, VOXEL)
    assert np.sqrt(((transform(refined, points) - points) ** 2).sum(axis=1).mean()) < 0.03


@pytest.mark.slow
def test_frame_and_unit_of_the_mesh_do_not_matter() -> None:
    mesh, points = PARTS["fillet"], one_side(PARTS["fillet"], 0.03)
    start = displaced(0.01, np.array([0.2, -0.3, 0.3]))
    expected = MeshSurface(mesh, np.eye(4), 1.0).refine(start, points, VOXEL)
    T, unit = pose(Rotation.from_rotvec([1.0, 2, 0.5]).as_matrix(), [100.0, 20, -5]), 2.5
    moved = MeshSurface(Mesh(transform(inverse(T), mesh.vertices), mesh.faces), T, unit)
    scaled = pose(start[:3, :3], start[:3, 3] / unit)
    refined = moved.refine(scaled, points / unit, VOXEL / unit)
    # The same within the convergence of the steps.
    between = transform(pose(refined[:3, :3], refined[:3, 3] * unit), points) - transform(expected, points)
    assert np.abs(between).max() < MESH_REFINEMENT.convergence * VOXEL


@pytest.mark.slow
def test_bits_do_not_depend_on_the_threads() -> None:
    points = one_side(PARTS["turned"], 0.03)
    surface = MeshSurface(PARTS["turned"], np.eye(4), 1.0)
    one, two = (surface.refine(displaced(0.01, np.zeros(3)), points, VOXEL, threads) for threads in (1, 2))
    assert one.tobytes() == two.tobytes()


@pytest.mark.slow
def test_faces_without_area_are_left_out() -> None:
    mesh = PARTS["prismatic"]
    with_slivers = Mesh(mesh.vertices, np.concatenate([[[0, 0, 1]], mesh.faces]))
    points = one_side(mesh, 0.03)
    start = displaced(0.01, np.zeros(3))
    expected = MeshSurface(mesh, np.eye(4), 1.0).refine(start, points, VOXEL)
    assert np.array_equal(MeshSurface(with_slivers, np.eye(4), 1.0).refine(start, points, VOXEL), expected)
