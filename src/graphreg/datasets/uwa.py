"""The UWA data set (Mian, Bennamoun, Owens, PAMI 2006): models of four toys, and fifty scenes that contain them.

    pairs = uwa.pairs("uwa")

The files, in any folders, as described by others who have the data:

    cheff.ply, chicken_high.ply, parasaurolophus_high.ply, T-rex_high.ply       the models, in millimetres
    rs1.ply, rs2.ply, ...                                                       the scenes
    T-rex-rs1.xf                                                                a 4x4 matrix T: x_scene = T x_model

That T maps the model to the scene is inferred from other projects that use these files. Mian's range images of single
toys, from which the models were built, have no known ground truth and are not read.
"""

from __future__ import annotations

import os
from pathlib import Path

from graphreg.datasets.scan_files import PairFile, unique_names
from graphreg.errors import FileError
from graphreg.files.folders import as_folder, natural_sort_key
from graphreg.files.pose_files import read_pose

# Files of the models whose name in the ground truth is another.
MODEL_FILES = {
    "chef": "cheff",
    "chicken": "chicken_high",
    "parasaurolophus": "parasaurolophus_high",
    "T-rex": "T-rex_high",
}


def pairs(folder: str | os.PathLike[str]) -> list[PairFile]:
    """List a pair for each ground truth, a model as the source and a scene as the target, sorted by model and scene.

    Parameters
    ----------
    folder : path

    Returns
    -------
    list of PairFile

    Raises
    ------
    FileError
        If a file is missing or damaged.
    """
    root = as_folder(folder)
    truths = sorted(root.rglob("*.xf"), key=lambda path: natural_sort_key(path.stem))
    if not truths:
        raise FileError(root, "contains no .xf files with the poses of the models in the scenes (T-rex-rs1.xf)")
    clouds = unique_names((path.stem, path) for path in sorted(root.rglob("*.ply")))
    result = []
    for truth in truths:
        model, dash, scene = truth.stem.rpartition("-")
        if not dash:
            raise FileError(truth, "should be named after a model and a scene, such as T-rex-rs1.xf")
        source = _cloud(clouds, truth, MODEL_FILES.get(model, model), model)
        target = _cloud(clouds, truth, scene)
        result.append(PairFile(truth.stem, source, target, read_pose(truth, format="matrix")))
    return result


def _cloud(clouds: dict[str, Path], truth: Path, *names: str) -> Path:
    for name in names:
        if name in clouds:
            return clouds[name]
    raise FileError(truth, f"refers to {names[0]}.ply, which does not exist")
