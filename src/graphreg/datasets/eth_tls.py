"""ETH Zurich's terrestrial laser scans (Theiler, Wegner, Schindler, ISPRS J. 2014): facade, courtyard, trees, ...

    pairs = eth_tls.pairs("eth_trees")

The layout, as described by others who have the archive of the scene "trees":

    s1.ply, s2.ply, ...             scans of some 20 million points, in metres
    pairs.txt                       the pairs that overlap, a line each: s1 s2
    groundtruth/s1-s2.tfm           a 4x4 matrix T: x_s2 = T x_s1

That the first name is the source is inferred from other projects that use these files; the data set itself does not
say. That the other scenes (courtyard, arch, office) have the same layout is not confirmed.
"""

from __future__ import annotations

import os
from pathlib import Path

from graphreg.clouds import Floats
from graphreg.datasets.scan_files import PairFile, require_file, select, unique_names
from graphreg.errors import FileError
from graphreg.files.folders import as_folder, natural_sort_key
from graphreg.files.pose_files import read_pose
from graphreg.poses import inverse


def pairs(folder: str | os.PathLike[str], scene: str | None = None) -> list[PairFile]:
    """List the pairs of pairs.txt, in its order; without that file, all pairs that have a ground truth.

    Parameters
    ----------
    folder : path
        The data set, or a folder with one scene.
    scene : str, optional
        Name of the folder of scans; not needed if there is only one.

    Returns
    -------
    list of PairFile

    Raises
    ------
    FileError
        If a file is missing or damaged.
    """
    root = as_folder(folder)
    truths = (path.parent for path in sorted(root.rglob("groundtruth")) if path.is_dir())
    found = unique_names((path.resolve().name, path) for path in truths)
    if not found:
        raise FileError(root, "contains no folder groundtruth with the transforms between the scans (s1-s2.tfm)")
    scans = select(found, scene, "scene")
    return [
        PairFile(f"{source} to {target}", _scan(scans, source), _scan(scans, target), _transform(scans, source, target))
        for source, target in _names(scans)
    ]


def _names(scans: Path) -> list[tuple[str, str]]:
    listed = scans / "pairs.txt"
    if listed.is_file():
        lines = listed.read_text(encoding="utf-8", errors="backslashreplace").splitlines()
        words = [line.replace(",", " ").split() for line in lines if line.strip()]
        where = listed
    else:
        where = scans / "groundtruth"
        words = [
            path.stem.split("-") for path in sorted(where.glob("*.tfm"), key=lambda path: natural_sort_key(path.name))
        ]
    for names in words:
        if len(names) != 2:
            raise FileError(where, f"should name pairs of scans, such as s1 and s2, but has {'-'.join(names)!r}")
    if not words:
        raise FileError(where, "contains no pairs")
    return [(source, target) for source, target in words]


def _scan(scans: Path, name: str) -> Path:
    return require_file(scans / f"{name}.ply", "it is one of a pair")


def _transform(scans: Path, source: str, target: str) -> Floats:
    there, back = (scans / "groundtruth" / f"{a}-{b}.tfm" for a, b in ((source, target), (target, source)))
    if not there.is_file() and back.is_file():
        return inverse(read_pose(back, format="matrix"))
    require_file(there, f"it has the transform from {source} to {target}")
    return read_pose(there, format="matrix")
