"""UWA's models and scenes: a matrix for each model in each scene."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.support.strategies import random_cloud, random_transform

import graphreg
from graphreg import FileError
from graphreg.datasets import uwa


def write_toys(root: Path) -> Path:
    for folder, names in (("model", ("cheff", "T-rex_high", "rhino")), ("scene", ("rs2", "rs10"))):
        (root / folder).mkdir(parents=True)
        for seed, name in enumerate(names):
            graphreg.write(root / folder / f"{name}.ply", random_cloud("surface", 30, seed))
    (root / "GroundTruth_3Dscenes").mkdir()
    for seed, name in enumerate(("T-rex-rs10", "T-rex-rs2", "chef-rs2", "rhino-rs10")):
        rows = ["".join(f"{value:.9f} " for value in row) for row in random_transform(seed, 100.0)]
        (root / "GroundTruth_3Dscenes" / f"{name}.xf").write_text("\n".join(rows))
    return root


def test_models_are_sources_and_scenes_targets(tmp_path: Path) -> None:
    pairs = uwa.pairs(write_toys(tmp_path))
    assert [(pair.name, pair.source.name, pair.target.name) for pair in pairs] == [
        ("T-rex-rs2", "T-rex_high.ply", "rs2.ply"),
        ("T-rex-rs10", "T-rex_high.ply", "rs10.ply"),
        ("chef-rs2", "cheff.ply", "rs2.ply"),
        ("rhino-rs10", "rhino.ply", "rs10.ply"),
    ]
    np.testing.assert_allclose(pairs[1].T_target_source, random_transform(0, 100.0), atol=1e-7)
    np.testing.assert_array_equal(pairs[1].read()[0], random_cloud("surface", 30, 1))


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    root = write_toys(tmp_path)
    (root / "scene" / "rs10.ply").unlink()
    with pytest.raises(FileError, match=r"T-rex-rs10\.xf: refers to rs10\.ply, which does not exist"):
        uwa.pairs(root)
    graphreg.write(root / "rs10.ply", random_cloud("surface", 30, 0))
    graphreg.write(root / "rs2.ply", random_cloud("surface", 30, 0))
    with pytest.raises(FileError, match=r"has the same name \(rs2\) as"):
        uwa.pairs(root)
    (root / "rs2.ply").unlink()
    (root / "odd.xf").write_text("")
    with pytest.raises(FileError, match=r"odd\.xf: should be named after a model and a scene"):
        uwa.pairs(root)
    (root / "odd.xf").unlink()
    (root / "GroundTruth_3Dscenes" / "chef-rs2.xf").write_text("1 0 0 0\n")
    with pytest.raises(FileError, match=r"chef-rs2\.xf: .*4 rows of a 4x4 matrix but ends after 1"):
        uwa.pairs(root)
    with pytest.raises(FileError, match=r"contains no \.xf files"):
        uwa.pairs(root / "model")
