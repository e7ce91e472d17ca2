"""graphreg info: the figures, the guess and the preview."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.commands import CommandLine
from tests.support.png_images import decoded

import graphreg
from graphreg.datasets import synthetic


def test_counts_box_and_attributes(run: CommandLine) -> None:
    points = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 2], [1, 0, 0], [-0.0, 0, 0], [np.nan, 0, 0]])
    np.savez("a.npz", points=points, shade=np.arange(7, dtype=np.uint8), colour=np.zeros((7, 3), np.float32))
    done = run("info", "a.npz", "--json")
    assert done.status == 0, done.err
    output = json.loads(done.out)
    assert (output["points"], output["not_finite"], output["duplicates"]) == (6, 1, 2)
    assert (output["low"], output["high"], output["size"]) == ([0, 0, 0], [1, 1, 2], [1, 1, 2])
    assert output["attributes"]["shade"] == {"type": "uint8", "components": 1, "low": 0, "high": 5}
    assert output["attributes"]["colour"]["components"] == 3
    printed = run("info", "a.npz").out
    assert "\n  duplicates  2\n" in printed
    assert "\n  attribute   colour: 3 x float32 from 0 to 0\n" in printed


def test_spacing_is_that_of_a_grid(run: CommandLine) -> None:
    grid = np.stack(np.meshgrid(*[np.arange(12.0)] * 3), axis=-1).reshape(-1, 3) * 0.25
    np.save("a.npy", np.vstack([grid, grid[:100]]))
    output = json.loads(run("info", "a.npy", "--json").out)
    assert output["spacing"] == 0.25
    assert output["duplicates"] == 100


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "scale", "kind", "unit"),
    [
        ("hare", 1.0, "object", "metres"),
        ("casting", 1000.0, "object", "millimetres"),
        ("facade", 1.0, "terrestrial", "metres"),
        ("room", 1.0, "room", "metres"),
        ("street", 1.0, "vehicle lidar", "metres"),
    ],
)
def test_the_guess(run: CommandLine, name: str, scale: float, kind: str, unit: str) -> None:
    np.save("a.npy", scale * synthetic.scan(name, points=6000, variant=3).points)
    assert f"  guess       {kind}, in {unit}: " in run("info", "a.npy").out


@pytest.mark.slow
@pytest.mark.usefixtures("small_pictures")
def test_the_preview(run: CommandLine) -> None:
    assert run("info", "source.ply", "--png", "preview.png").status == 0
    image = decoded(Path("preview.png").read_bytes())
    assert image.shape == (750, 1000, 3)
    assert np.ptp(image.astype(int), axis=2).max() > 100


@pytest.mark.parametrize("points", [[[1.0, 2, 3]], [[1.0, 2, 3]] * 40, np.eye(3) * 1e140, np.eye(3) * 1e-140])
def test_degenerate_clouds(run: CommandLine, points: Any) -> None:
    np.save("a.npy", np.asarray(points))
    output = json.loads(run("info", "a.npy", "--json").out)
    assert output["points"] == len(points)
    assert output["spacing"] >= 0


def test_a_mesh_is_named(run: CommandLine) -> None:
    graphreg.write("part.stl", graphreg.Mesh([[0, 0, 0], [3, 0, 0], [0, 4, 0]], [[0, 1, 2]]))
    done = run("info", "part.stl")
    assert "mesh        3 vertices, 1 faces, area 6" in done.out
    assert json.loads(run("info", "part.stl", "--json").out)["mesh"] == {"vertices": 3, "faces": 1, "area": 6.0}


@pytest.mark.slow
def test_a_dental_arch_is_an_object_in_millimetres_and_a_room_in_millimetres_is_one(run: CommandLine) -> None:
    """An arch 70 mm wide, flat and around the origin, but with surfaces in all directions."""
    angle, around = np.random.default_rng(0).uniform([0, 0], [np.pi, 2 * np.pi], (8000, 2)).T
    height = 6 + 3 * np.cos(14 * angle)  # teeth
    radius = 30 + 5 * np.cos(around)
    arch = np.stack([radius * np.cos(angle), radius * np.sin(angle) - 15, height * np.sin(around)], axis=1)
    np.save("arch.npy", arch)
    assert "  guess       object, in millimetres: " in run("info", "arch.npy").out
    np.save("room.npy", 1000 * synthetic.scan("room", points=6000).points)
    assert "  guess       room, in millimetres: " in run("info", "room.npy").out


@pytest.mark.slow
def test_coordinates_of_a_map_have_their_digits(run: CommandLine) -> None:
    np.save("utm.npy", synthetic.scan("facade", points=2000).points + np.array([512345.678, 5412345.678, 400.0]))
    printed = run("info", "utm.npy").out
    assert "  guess       terrestrial, in metres: " in printed
    assert "as in the coordinates of a map" in printed
    (line,) = [line for line in printed.splitlines() if line.startswith("  minimum")]
    assert all(len(word.partition(".")[2]) >= 4 for word in line.split()[1:3])
