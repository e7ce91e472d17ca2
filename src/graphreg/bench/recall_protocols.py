"""Published protocols of registration recall: which pairs, what counts as registered, and figures of others."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path

import numpy as np
from scipy.spatial import cKDTree

from graphreg.bench.pairs import PREFIX, entries_of, pair_of, points_of
from graphreg.clouds import Floats
from graphreg.datasets import benchmark_pairs
from graphreg.datasets.benchmark_pairs import BenchmarkPair
from graphreg.datasets.threedmatch import correspondence_rmse
from graphreg.errors import FileError
from graphreg.files import read
from graphreg.poses import inverse, transform

# A list of pairs in the form of pairs.json, for folders without logs; names begin with those of the protocol and scene.
LIST = "3dmatch.json"
# Largest distance of ground-truth correspondences where there is no gt.info, in metres, and how many are used.
CORRESPONDENCE_DISTANCE, MOST_CORRESPONDENCES = 0.0375, 5000


@dataclass(frozen=True)
class Protocol:
    """How a benchmark counts.

    Attributes
    ----------
    name : str
        Name in tables.
    reference : str
        Who published it.
    kind : str
        Kind of the scans; see `bench.pairs.Pair`.
    voxel : float
        Voxel size for libraries that need one, in metres.
    tolerances : tuple of (float, float)
        Largest errors of rotation (degrees) and translation (metres); the first is the usual one.
    rmse : float or None
        Largest RMSE of the ground-truth correspondences, in metres, where the protocol counts so as well.
    version : int
        Of the way we count; raised when figures cannot be compared with earlier ones.
    """

    name: str
    reference: str
    kind: str
    voxel: float
    tolerances: tuple[tuple[float, float], ...]
    rmse: float | None = None
    version: int = 1


@dataclass(frozen=True, eq=False)
class RecallPair:
    """A pair of a protocol.

    Attributes
    ----------
    name, scene : str
        Its name, and the scene or sequence that recall is averaged over.
    read : callable
        () -> points of source and target, and T_target_source.
    information : (6, 6) array or None
        Of gt.info.
    consecutive : bool
        Whether the scans follow each other; the original benchmark of 3DMatch leaves such pairs out.
    """

    name: str
    scene: str
    read: Callable[[], tuple[Floats, Floats, Floats]]
    information: Floats | None = None
    consecutive: bool = False


_ROOMS = ("indoor", 0.025, ((15.0, 0.3),), 0.2)
PROTOCOLS = {
    protocol.name: protocol
    for protocol in (
        Protocol("3DMatch", "Zeng et al., CVPR 2017; pairs of Huang et al., CVPR 2021", *_ROOMS),
        Protocol("3DLoMatch", "Huang et al. (Predator), CVPR 2021", *_ROOMS),
        Protocol(
            "KITTI 10 m",
            "Choy et al. (FCGF), ICCV 2019: 2 m; Choy et al. (DGR), CVPR 2020: 0.6 m",
            "lidar",
            0.3,
            ((5.0, 2.0), (5.0, 0.6)),
        ),
        Protocol("ETH", "scans of Pomerleau et al., 2012; Ao et al. (BUFFER), CVPR 2023", "tls", 0.1, ((2.0, 0.3),)),
        Protocol("synthetic rooms", "ours, counted as 3DMatch", *_ROOMS),
        Protocol("synthetic street 10 m", "ours, counted as KITTI", "lidar", 0.3, ((5.0, 2.0), (5.0, 0.6))),
    )
}
SYNTHETIC = {
    "synthetic rooms": tuple(f"{PREFIX}room_{apart}" for apart in (40, 80, 120, 160)),
    "synthetic street 10 m": (f"{PREFIX}street_10",),
}

# Registration recall in per cent as others published it, by protocol: method, how it is counted, recall, source.
PUBLISHED = {
    "3DMatch": (
        ("FPFH + SC2-PCR", "15 deg, 0.3 m", 84.0, "Chen et al., CVPR 2022"),
        ("FPFH + MAC", "15 deg, 0.3 m", 84.1, "Zhang et al., CVPR 2023"),
        ("FPFH + TurboReg", "15 deg, 0.3 m", 84.1, "TurboReg, ICCV 2025"),
        ("FCGF (learned) + MAC", "15 deg, 0.3 m", 93.7, "Zhang et al., CVPR 2023"),
        ("FCGF (learned) + TurboReg", "15 deg, 0.3 m", 93.6, "TurboReg, ICCV 2025"),
        ("GeoTransformer (learned)", "RMSE 0.2 m, mean of scenes", 91.5, "README of its repository"),
    ),
    "3DLoMatch": (
        ("FPFH + MAC", "15 deg, 0.3 m", 40.9, "Zhang et al., CVPR 2023"),
        ("FPFH + TurboReg", "15 deg, 0.3 m", 41.0, "TurboReg, ICCV 2025"),
        ("FCGF (learned) + MAC", "15 deg, 0.3 m", 59.9, "Zhang et al., CVPR 2023"),
        ("FCGF (learned) + TurboReg", "15 deg, 0.3 m", 59.7, "TurboReg, ICCV 2025"),
        ("GeoTransformer (learned)", "RMSE 0.2 m, mean of scenes", 74.0, "README of its repository"),
    ),
}


@lru_cache(maxsize=4)
def pairs_of(data: Path | None, quick: bool = False) -> dict[str, dict[str, RecallPair]]:
    """Return {protocol: {name: pair}} of the data sets in a folder, or without any, of synthetic scans.

    Parameters
    ----------
    data : Path or None
        Folder with data sets in the layouts of `benchmark_pairs`, or with the list 3dmatch.json.
    quick : bool, default False
        Whether synthetic scans are small.

    Raises
    ------
    FileError
        If a file is missing or damaged.
    """
    found: dict[str, list[RecallPair]] = {}
    if data is not None:
        rooms = {
            "3DMatch": benchmark_pairs.threedmatch_pairs(data),
            "3DLoMatch": benchmark_pairs.threedmatch_pairs(data, low_overlap=True),
        }
        others = {"KITTI 10 m": benchmark_pairs.kitti_pairs(data), "ETH": benchmark_pairs.eth_pairs(data)}
        found = {name: [_of_files(pair) for pair in pairs] for name, pairs in {**rooms, **others}.items()}
        if not any(rooms.values()) and (data / LIST).is_file():
            found |= _of_list(data)
    if not any(found.values()):
        found = {name: [_synthetic(one, points_of(one, quick)) for one in names] for name, names in SYNTHETIC.items()}
    return {name: {pair.name: pair for pair in pairs} for name, pairs in found.items() if pairs}


def rmse_of(
    found: Floats, truth: Floats, source: Floats, target: Floats, information: Floats | None
) -> tuple[float | None, str | None]:
    """Return the RMSE of the ground-truth correspondences of a pair, and where they come from.

    Parameters
    ----------
    found, truth : (4, 4) array
        T_target_source as scanned.
    source, target : (N, 3) array
        For the correspondences where there is no gt.info: points nearest to each other in the true pose.
    information : (6, 6) array or None
        Of gt.info.
    """
    if information is not None:
        return correspondence_rmse(inverse(truth) @ found, information), "gt.info"
    sample = source[:: 1 + len(source) // MOST_CORRESPONDENCES]
    distances, nearest = cKDTree(target).query(transform(truth, sample), distance_upper_bound=CORRESPONDENCE_DISTANCE)
    paired = np.isfinite(distances)
    if not paired.any():
        return None, None
    offsets = transform(found, sample[paired]) - target[np.asarray(nearest)[paired]]
    return float(np.sqrt((offsets**2).sum(axis=1).mean())), f"points within {100 * CORRESPONDENCE_DISTANCE:g} cm"


def _of_files(pair: BenchmarkPair) -> RecallPair:
    return RecallPair(
        pair.name,
        pair.scene,
        partial(_read, pair.source, pair.target, pair.T_target_source),
        pair.information,
        pair.consecutive,
    )


def _of_list(data: Path) -> dict[str, list[RecallPair]]:
    """Pairs of a list: names such as 3DMatch_kitchen_1_to_0, of the source and of the target fragment."""
    found: dict[str, list[RecallPair]] = {"3DMatch": [], "3DLoMatch": []}
    for entry in entries_of(data, LIST):
        named = re.fullmatch(r"(3DMatch|3DLoMatch)_(\w+)_([0-9]+)_to_([0-9]+)", entry["name"])
        if named is None:
            raise FileError(data / LIST, f"has a pair {entry['name']!r}; expected such as 3DMatch_kitchen_1_to_0")
        protocol, scene, source, target = named.groups()
        found[protocol].append(
            RecallPair(
                entry["name"],
                scene,
                partial(_read, data / entry["source"], data / entry["target"], np.array(entry["T_target_source"])),
                consecutive=abs(int(source) - int(target)) == 1,
            )
        )
    return found


def _read(source: Path, target: Path, T_target_source: Floats) -> tuple[Floats, Floats, Floats]:
    return read(source), read(target), T_target_source


def _synthetic(name: str, points: int | None) -> RecallPair:
    def scans() -> tuple[Floats, Floats, Floats]:
        pair = pair_of(name, None, points)
        return pair.source, pair.target, pair.truth

    return RecallPair(name, name.split("_")[1], scans)
