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
