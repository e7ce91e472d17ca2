"""graphreg convert: points and attributes in other formats, and notes on what is lost."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.support.commands import CommandLine
from tests.support.meshes import box

import graphreg
from graphreg.clouds import Floats, as_cloud


@pytest.mark.parametrize("suffix", [".ply", ".pcd", ".npz", ".csv", ".las", ".laz", ".e57"])
def test_attributes_are_kept(run: CommandLine, hare: Floats, suffix: str) -> None:
    intensity = np.arange(len(hare), dtype=np.uint16)
    graphreg.write("in.ply", as_cloud(hare, attributes={"intensity": intensity}))
    done = run("convert", "in.ply", f"out{suffix}", "--json")
    assert json.loads(done.out)["kept"] == ["intensity"]
    assert done.err == ""
    back = graphreg.read_cloud(f"out{suffix}")
    np.testing.assert_allclose(back.points, hare, rtol=0, atol=1e-9)
    assert np.array_equal(back.attributes["intensity"], intensity)


@pytest.mark.parametrize("suffix", [".xyz", ".npy", ".obj", ".off", ".bin"])
def test_lost_attributes_are_listed(run: CommandLine, hare: Floats, suffix: str) -> None:
    dirty = np.vstack([hare, [[np.inf, 0, 0]]])
    np.savez("in.npz", points=dirty, intensity=np.arange(len(dirty)), name=np.full(len(dirty), "a"))
    done = run("convert", "in.npz", f"out{suffix}")
    assert done.status == 0
    assert f"out{suffix}: {suffix} files do not support all attributes; left out: intensity, name\n" in done.err
    assert ("single precision" in done.err) == (suffix == ".bin")
    assert ", without 1 non-finite rows; attributes: none" in done.out
    np.testing.assert_allclose(graphreg.read(f"out{suffix}"), hare, rtol=0, atol=1e-7 if suffix == ".bin" else 0)


def test_write_returns_the_attributes_that_a_format_does_not_support(tmp_path: Path) -> None:
    attributes = {"far": np.array([2**60, 1]), "word": np.array(["a", "b"]), "near": np.array([1, 2]), "two": np.eye(2)}
    cloud = as_cloud(np.eye(3)[:2], attributes=attributes)
    assert graphreg.write(tmp_path / "a.ply", cloud) == ("far", "word")
    assert graphreg.write(tmp_path / "a.pcd", cloud) == ("word",)
    assert graphreg.write(tmp_path / "a.npz", cloud) == ()
    assert graphreg.write(tmp_path / "a.xyz", cloud) == ("far", "word", "near", "two")
    assert graphreg.write(tmp_path / "a.ply", np.eye(3)) == ()


def test_a_mesh_keeps_its_faces(run: CommandLine) -> None:
    graphreg.write("in.ply", box())
    assert run("convert", "in.ply", "out.stl").status == 0
    assert len(graphreg.read_mesh("out.stl").faces) == 12
    graphreg.write("points.ply", box().vertices)
    done = run("convert", "points.ply", "out.stl")
    assert done.status == 2
    assert "points cannot be written to .stl files" in done.err
