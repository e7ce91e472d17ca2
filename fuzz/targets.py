"""What is fuzzed: each target writes small valid files, and reads a file that was made of them."""

from __future__ import annotations

import json
import shutil
import struct
import tempfile
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from random import Random

import laspy
import numpy as np
import pye57
from tests.support.bags import write_bag

from fuzz.calls import call
from fuzz.mutations import mutate
from graphreg import Result, register, write_poses
from graphreg.batches.jobs import check_settings, read_jobs
from graphreg.batches.store import Record, ResultStore
from graphreg.clouds import as_cloud
from graphreg.files import formats, read_cloud, write
from graphreg.files.bags import bag_frames
from graphreg.files.control_points import read_control_points
from graphreg.files.g2o import read_graph, write_graph
from graphreg.files.pose_files import POSE_SUFFIXES, read_poses
from graphreg.poses import PoseGraph, pose, rotation_from_vector

POINTS = np.random.default_rng(0).normal(size=(12, 3)).round(3)
POSES = np.stack([pose(rotation_from_vector([0.1 * i, 0.2, 0]), [i, 0, 1]) for i in range(4)])


@dataclass(frozen=True)
class Target:
    """A target.

    Attributes
    ----------
    write_seeds : callable
        Writes valid files to a folder.
    run : callable
        Reads a file; raises nothing but InputError, whatever the file contains.
    change : callable, default `mutate`
        Makes another file of one.
    """

    write_seeds: Callable[[Path], object]
    run: Callable[[Path], object]
    change: Callable[[bytes, Sequence[bytes], Random], bytes] = mutate


def _write_clouds(folder: Path) -> None:
    attributes = {"intensity": np.arange(12, dtype=np.uint16), "t": np.arange(12.0)}
    for suffix, entry in formats().items():
        if entry.writes:
            write(folder / f"cloud{suffix}", as_cloud(POINTS, attributes=attributes))
    rows = "".join("{!r} {!r} {!r}\n".format(*row) for row in POINTS.tolist())
    header = "element vertex 12\nproperty double x\nproperty double y\nproperty double z\n"
    faces = "element face 1\nproperty list uchar int vertex_indices\n"
    fields = "FIELDS x y z\nSIZE 8 8 8\nTYPE F F F\nCOUNT 1 1 1\nWIDTH 12\nHEIGHT 1\nPOINTS 12\n"
    columns = POINTS.T.tobytes()
    packed = b"".join(bytes([31]) + columns[i : i + 32] for i in range(0, len(columns), 32))
    triangles = b"".join(struct.pack("<12fH", *range(i, i + 12), 0) for i in range(4))
    loop = "facet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\nendfacet\n"
    for name, content in {
        "text.ply": f"ply\nformat ascii 1.0\n{header}{faces}end_header\n{rows}3 0 1 2\n".encode(),
        "big.ply": f"ply\nformat binary_big_endian 1.0\n{header}{faces}end_header\n".encode()
        + POINTS.astype(">f8").tobytes()
        + struct.pack(">B3i", 3, 0, 1, 2),
        "text.pcd": f"{fields}DATA ascii\n{rows}".encode(),
        "packed.pcd": f"{fields}DATA binary_compressed\n".encode() + struct.pack("<II", len(packed), 288) + packed,
        "text.stl": f"solid a\n{loop}endsolid a\n".encode(),
        "binary.stl": bytes(80) + struct.pack("<I", 4) + triangles,
        "faces.off": f"COFF\n12 1 0\n{rows}3 0 1 2\n".encode(),
        "colours.obj": b"# a\nv 1 2 3 0 0 0\nv 1 2 4 0 0 1\nv 1 3 4 0 1 0\nf 1 2 3\n",
        "named.xyz": f"# x y z\n{rows}".encode(),
    }.items():
        (folder / name).write_bytes(content)
    _write_clouds_of_libraries(folder)


def _write_clouds_of_libraries(folder: Path) -> None:
    """What is read but not written: points compressed one by one; scans with poses, colours and invalid points."""
    las = laspy.LasData(laspy.LasHeader(point_format=3, version="1.2"))
    las.x, las.y, las.z = POINTS.T
    las.write(str(folder / "pointwise.laz"))
    columns = {f"cartesian{axis}": POINTS[:, i].copy() for i, axis in enumerate("XYZ")}
    columns |= {name: np.arange(12) for name in ("colorRed", "colorGreen", "colorBlue", "rowIndex", "columnIndex")}
    with pye57.E57(str(folder / "scans.e57"), "w") as file:
        for turn in (np.array([1.0, 0, 0, 0]), np.array([0, 1.0, 0, 0])):
            states = {"cartesianInvalidState": np.arange(12) % 3, "intensity": np.arange(12.0)}
            file.write_scan_raw(columns | states, rotation=turn, translation=np.arange(3.0))


def _read_cloud(path: Path) -> None:
    cloud = read_cloud(path)
    assert len(cloud)
    assert np.isfinite(cloud.points).all()
    assert all(len(values) == len(cloud) for values in cloud.attributes.values())


def _write_bags(folder: Path) -> None:
    """ROS bags of one file each: of ROS 1 and of ROS 2, plain and compressed."""
    clouds = [(POINTS.astype(np.float32), {"t": np.arange(12, dtype=np.uint32)})]
    with tempfile.TemporaryDirectory() as work:
        for kind in ("first.bag", "bz2.bag", "lz4.bag", "folder", "mcap", "storage"):
            path = write_bag(Path(work), kind, {"/points": clouds})
            file = path if path.is_file() else next(path.glob(f"{kind}.*"))
            shutil.copyfile(file, folder / f"{path.stem}{file.suffix}")


def _read_bag(path: Path) -> None:
    for frame in bag_frames(path):
        assert np.isfinite(frame.read().points).all()


def _write_poses(folder: Path) -> None:
    for suffix in POSE_SUFFIXES:
        write_poses(folder / f"poses{suffix}", POSES)
    pairs = np.array([[0, 1], [1, 2], [2, 3]])
    write_graph(folder / "graph.g2o", PoseGraph(POSES, pairs, POSES[1:], np.stack([np.eye(6)] * 3)))


def _read_poses(path: Path) -> None:
    assert np.isfinite(read_poses(path)).all()
    if path.suffix == ".g2o":
        assert np.isfinite(read_graph(path).information).all()


def _write_control_points(folder: Path) -> None:
    (folder / "named.csv").write_text("Point;Station;X;Y;Z;Rechtswert;Hochwert;Höhe\nP1;a;1,5;2;3;501,25;202;33\n")
    (folder / "plain.txt").write_text("# targets\nP1 hall 1 2 3 501 202 33 0.003\nT1 hall 4 5 6\n")


def _write_jobs(folder: Path) -> None:
    init = " ".join(map(repr, POSES[1].ravel().tolist()))
    (folder / "jobs.csv").write_text(
        f'source,target,id,method,init,seed,voxel,dof\na.ply,b.ply,first,,{init},,0.5,"rz,x"\na.ply,c.ply,,icp,,7,,\n'
    )
    rows = [
        {"source": "a.ply", "target": "b.ply", "init": POSES[1].tolist(), "settings": {"k": 12}},
        {"source": "a.ply", "target": "c.ply", "method": "icp", "seed": 3, "id": "é", "voxel": None},
    ]
    (folder / "jobs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def _read_jobs(path: Path) -> None:
    jobs = read_jobs(path)
    check_settings(jobs)
    for job in jobs:
        job.identity("hash", "hash", "")


def _write_journals(folder: Path) -> None:
    from graphreg.datasets import synthetic  # imports SciPy, which the processes of other targets do not need

    pair = synthetic.pair("dragon", 20, points=100)
    result = register(pair.source, pair.target, method="icp", init=pair.T_target_source, threads=1)
    (folder / "result.json").write_text(result.to_json())
    values = json.loads(result.to_json()) | {"history": []}
    with closing(ResultStore(folder / "results.jsonl")) as store:
        store.add(Record("a", "", "a.ply", "b.ply", values, None, 1, 0.5))
        store.add(Record("b", "x", "a.ply", "c.ply", None, "is empty", 2, 0.5))


def _read_journal(path: Path) -> None:
    if path.suffix == ".json":
        Result.from_json(path.read_bytes().decode(errors="surrogateescape"))
        return
    with closing(ResultStore(path)):
        pass


def _write_seed(folder: Path) -> None:
    (folder / "seed.txt").write_bytes(b"1")


TARGETS = {
    "readers": Target(_write_clouds, _read_cloud),
    "bags": Target(_write_bags, _read_bag),
    "poses": Target(_write_poses, _read_poses),
    "control": Target(_write_control_points, read_control_points),
    "jobs": Target(_write_jobs, _read_jobs),
    "journals": Target(_write_journals, _read_journal),
    "calls": Target(_write_seed, call, lambda content, others, generator: generator.randbytes(8)),
}
