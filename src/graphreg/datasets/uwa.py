"""The UWA data set (Mian, Bennamoun, Owens, PAMI 2006): four models of toys, and fifty scenes that they stand in.

    pairs = uwa.pairs("uwa")

The files, in any folders, as others describe them who have the data:

    cheff.ply, chicken_high.ply, parasaurolophus_high.ply, T-rex_high.ply       the models, in millimetres
    rs1.ply, rs2.ply, ...                                                       the scenes
    T-rex-rs1.xf                                                                a 4x4 matrix T: x_scene = T x_model

That T takes the model to the scene is read off how other projects use these files. Mian's range images of single toys,
from which the models were built, come without a ground truth that we know of, and are not read.
"""

from __future__ import annotations

import os
from pathlib import Path

from graphreg.datasets.scanfiles import PairFile, unique
from graphreg.errors import FileError
from graphreg.files.folders import as_folder, natural_sort_key
from graphreg.files.pose_files import read_pose

# What the ground truth calls a model, where that is not its file's name.
MODELS = {
    "chef": "cheff",
    "chicken": "chicken_high",
    "parasaurolophus": "parasaurolophus_high",
    "T-rex": "T-rex_high",
}


def pairs(folder: str | os.PathLike[str]) -> list[PairFile]:
    """A model as the source and a scene as the target for each ground truth, sorted by model and scene."""
    root = as_folder(folder)
    truths = sorted(root.rglob("*.xf"), key=lambda path: natural_sort_key(path.stem))
    if not truths:
        raise FileError(root, "holds no .xf files, which say where the models are in the scenes (T-rex-rs1.xf)")
    clouds = unique((path.stem, path) for path in sorted(root.rglob("*.ply")))
    result = []
    for truth in truths:
        model, dash, scene = truth.stem.rpartition("-")
        if not dash:
            raise FileError(truth, "should be named after a model and a scene, such as T-rex-rs1.xf")
        ends = _cloud(clouds, truth, MODELS.get(model, model), model), _cloud(clouds, truth, scene)
        result.append(PairFile(truth.stem, *ends, read_pose(truth, format="matrix")))
    return result


def _cloud(clouds: dict[str, Path], truth: Path, *names: str) -> Path:
    for name in names:
        if name in clouds:
            return clouds[name]
    raise FileError(truth, f"speaks of {names[0]}.ply, which is not there")
