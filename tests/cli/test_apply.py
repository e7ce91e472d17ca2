"""graphreg apply: points and normals are transformed, attributes are kept."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.commands import CommandLine
from tests.support.meshes import box

import graphreg
from graphreg.clouds import Floats, as_cloud
from graphreg.poses import transform


@pytest.mark.slow
@pytest.mark.parametrize("name", ["T.txt", "T.npy", "T.kitti", "T.tum", "T.g2o"])
def test_the_transform_and_its_inverse(run: CommandLine, hare: Floats, T_target_source: Floats, name: str) -> None:
    shade = np.arange(len(hare), dtype=np.int32)
    graphreg.write("in.ply", as_cloud(hare, attributes={"shade": shade}))
    graphreg.write_poses(name, T_target_source)
    done = run("apply", name, "in.ply", "out.pcd")
    assert done.status == 0, done.err
    assert done.out == f"out.pcd: {len(hare):,} points transformed\n"
    moved = graphreg.read_cloud("out.pcd")
    np.testing.assert_allclose(moved.points, transform(T_target_source, hare), rtol=0, atol=1e-14)
    assert np.array_equal(moved.attributes["shade"], shade)
    assert run("apply", name, "out.pcd", "back.ply", "--inverse").status == 0
    np.testing.assert_allclose(graphreg.read("back.ply"), hare, rtol=0, atol=1e-14)


@pytest.mark.parametrize("names", [("nx", "ny", "nz"), ("normal_x", "normal_y", "normal_z")])
def test_normals_are_rotated(run: CommandLine, hare: Floats, T_target_source: Floats, names: tuple[str, ...]) -> None:
    normals = graphreg.normals(hare, viewpoint=[0, 0, 5]).astype(np.float32)
    graphreg.write("in.ply", as_cloud(hare, attributes=dict(zip(names, normals.T, strict=True))))
    assert run("apply", "T.txt", "in.ply", "out.ply").status == 0
    moved = graphreg.read_cloud("out.ply")
    rotated = np.stack([moved.attributes[name] for name in names], axis=1)
    assert rotated.dtype == np.float32
    np.testing.assert_allclose(rotated, normals @ T_target_source[:3, :3].T, rtol=0, atol=1e-6)


@pytest.mark.parametrize("suffix", [".stl", ".ply", ".obj", ".off"])
def test_a_mesh_keeps_its_faces(run: CommandLine, T_target_source: Floats, suffix: str) -> None:
    part = box((1, 2, 3))
    graphreg.write("in.stl", part)
    graphreg.write_poses("T.txt", T_target_source)
    assert run("apply", "T.txt", "in.stl", f"out{suffix}").status == 0
    moved = graphreg.read_mesh(f"out{suffix}")
    expected = transform(T_target_source, part.vertices)[part.faces]
    np.testing.assert_allclose(moved.vertices[moved.faces], expected, rtol=0, atol=1e-5)
    done = run("apply", "T.txt", "in.stl", "out.pcd")
    assert "40,000 points of the surface are written" in done.err
