"""Every public call refuses a wrong argument with an `InputError` that names it, whatever its type."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import graphreg
from graphreg.datasets import ambiguous_scenes, city, clutter, contamination, synthetic
from graphreg.registration import METHODS
from graphreg.reports.live import LiveRegistration
from tests.support.strategies import random_cloud

NOT_SCALARS = {"none": None, "text": "x", "list": [], "object": object(), "array": np.zeros(3), "complex": 1j}
NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
HUGE = {"huge": 10**400, "-huge": -(10**400), "digits": 10**5000}
WRONG = {
    "integer": {**NOT_SCALARS, **NOT_FINITE, "true": True, "half": 1.5, **HUGE},
    "number": {**NOT_SCALARS, **NOT_FINITE, **HUGE, "true": True},
    "flag": {**NOT_SCALARS, "one": 1, "nan": math.nan},
    "choice": {**NOT_SCALARS, "true": True, "nan": math.nan},
    "path": {name: value for name, value in NOT_SCALARS.items() if name != "text"} | {"nan": math.nan, "true": True},
    "callable": {name: value for name, value in NOT_SCALARS.items() if name != "none"} | {"true": True, "one": 1},
    "progress": {name: value for name, value in NOT_SCALARS.items() if name != "none"} | {"one": 1},
}


class Call(NamedTuple):
    """A call with valid arguments, and the kinds of the arguments to spoil; optional ones may be None."""

    function: Callable[..., Any]
    valid: dict[str, Any]
    kinds: dict[str, str]
    optional: tuple[str, ...] = ()
    infinite: tuple[str, ...] = ()


CLOUD = random_cloud("surface", 60, 0)
GRAPH = {"k": "integer", "threads": "integer"}
SCAN = {
    "points": "integer", "noise": "number", "dropout": "number", "range_dropout": "number", "variant": "integer",
    "seed": "integer", "viewpoint": "number",
}  # fmt: skip


@cache
def registered() -> graphreg.Result:
    return graphreg.register(CLOUD, CLOUD)


@cache
def two_scans() -> graphreg.Multiway:
    return graphreg.multiway([CLOUD, CLOUD])


def consumed(name: str, frames: Any, **options: Any) -> None:
    next(iter(synthetic.sequence(name, frames, **options)))


CALLS = {
    "register": Call(
        graphreg.register,
        {"source": CLOUD, "target": CLOUD},
        {"method": "choice", "voxel": "number", "points": "integer", "k": "integer", "alpha": "number",
         "seed": "integer", "threads": "integer", "callback": "callable"},
        ("voxel", "points", "k", "alpha", "threads"), ("alpha",),
    ),
    "prepare": Call(graphreg.prepare, {"cloud": CLOUD}, {"points": "integer", "seed": "integer"}),
    "locate": Call(
        graphreg.locate, {"part": CLOUD, "scene": CLOUD},
        {"most": "integer", "seed": "integer", "threads": "integer", "progress": "progress"}, ("threads",),
    ),
    "deviation": Call(
        graphreg.deviation, {"cloud": CLOUD, "reference": CLOUD}, {"tolerance": "number", "threads": "integer"},
        ("tolerance", "threads"),
    ),
    "multiway": Call(
        graphreg.multiway, {"clouds": [CLOUD, CLOUD]},
        {"voxel": "number", "seed": "integer", "threads": "integer", "progress": "progress"}, ("voxel", "threads"),
    ),
    "merged": Call(
        lambda **options: two_scans().merged(**options), {}, {"voxel": "number"}, ("voxel",)
    ),
    "Odometry": Call(
        graphreg.Odometry, {}, {"mode": "choice", "seed": "integer", "threads": "integer"}, ("threads",)
    ),
    "sequence": Call(
        graphreg.sequence, {"frames": [CLOUD, CLOUD]},
        {"every": "integer", "limit": "integer", "mode": "choice", "keep_map": "flag", "threads": "integer",
         "seed": "integer", "callback": "callable", "progress": "progress"},
        ("limit", "threads"),
    ),
    "batch": Call(
        graphreg.batch, {"jobs": [{"source": "a.ply", "target": "b.ply"}], "out": "results.jsonl", "workers": 1},
        {"out": "path", "workers": "integer", "dask": "choice", "cache": "path", "timeout": "number",
         "retries": "integer", "again": "flag", "run": "callable", "progress": "progress"},
        ("workers", "dask", "cache"),
    ),
    "neighbour_graph": Call(graphreg.neighbour_graph, {"points": CLOUD}, GRAPH, ("threads",)),
    "normals": Call(graphreg.normals, {"points": CLOUD}, GRAPH, ("threads",)),
    "intensity": Call(graphreg.intensity, {"points": CLOUD}, GRAPH, ("threads",)),
    "invariants": Call(graphreg.invariants, {"points": CLOUD}, GRAPH, ("threads",)),
    "inliers": Call(graphreg.inliers, {"points": CLOUD}, {**GRAPH, "alpha": "number"}, ("threads",), ("alpha",)),
    "resample": Call(
        graphreg.resample, {"points": CLOUD, "fraction": 0.5},
        {**GRAPH, "fraction": "number", "method": "choice", "alpha": "number", "seed": "integer"},
        ("threads", "alpha"), ("alpha",),
    ),
    "fpfh": Call(
        graphreg.fpfh, {"points": CLOUD}, {**GRAPH, "radius": "number", "max_neighbours": "integer"},
        ("threads", "radius"),
    ),
    "voxel_downsample": Call(
        graphreg.voxel_downsample, {"points": CLOUD, "size": 0.1}, {"size": "number", "threads": "integer"},
        ("threads",),
    ),
    "read": Call(graphreg.read, {"path": "a.ply"}, {"path": "path", "progress": "progress"}),
    "read_mesh": Call(graphreg.read_mesh, {"path": "a.stl"}, {"path": "path", "progress": "progress"}),
    "read_cloud": Call(graphreg.read_cloud, {"path": "a.ply"}, {"path": "path", "progress": "progress"}),
    "write": Call(graphreg.write, {"path": "c.ply", "points": CLOUD}, {"path": "path", "progress": "progress"}),
    "read_poses": Call(graphreg.read_poses, {"path": "T.txt"}, {"path": "path", "format": "choice"}, ("format",)),
    "write_poses": Call(
        graphreg.write_poses, {"path": "U.txt", "poses": np.eye(4)}, {"path": "path", "format": "choice"}, ("format",)
    ),
    "report": Call(
        lambda **options: graphreg.report(registered(), CLOUD, CLOUD, **options),
        {"path": "r.html"}, {"path": "path", "threads": "integer"}, ("threads",),
    ),
    "synthetic.scan": Call(
        synthetic.scan, {"name": "casting"}, {"name": "choice", **SCAN}, ("points", "noise")
    ),
    "synthetic.pair": Call(
        synthetic.pair, {"name": "casting", "step": 20.0}, {"name": "choice", "step": "number", **SCAN},
        ("points", "noise", "step"),
    ),
    "synthetic.sequence": Call(
        consumed, {"name": "street", "frames": 2},
        {"name": "choice", "frames": "integer", "step": "number", **SCAN}, ("points", "noise", "step"),
    ),
    "synthetic.surface": Call(synthetic.surface, {"name": "casting"}, {"name": "choice", "variant": "integer"}),
    "city_map": Call(
        city.city_map, {"size": 100.0},
        {"variant": "integer", "size": "number", "spacing": "number", "seed": "integer"},
    ),
    "city.frame": Call(
        city.frame, {"size": 100.0},
        {"variant": "integer", "size": "number", "points": "integer", "noise": "number", "seed": "integer"},
    ),
    "clutter.table": Call(
        clutter.table, {},
        {"name": "choice", "instances": "integer", "objects": "integer", "spacing": "number", "noise": "number",
         "seed": "integer"},
    ),
    "ambiguous_scenes.pair": Call(
        ambiguous_scenes.pair, {"name": ambiguous_scenes.names()[0]},
        {"name": "choice", "points": "integer", "noise": "number", "seed": "integer"}, ("noise",),
    ),
    "add_noise": Call(
        contamination.add_noise, {"points": CLOUD, "sigma_relative": 0.1},
        {"sigma_relative": "number", "seed": "integer"},
    ),
    "add_outliers": Call(
        contamination.add_outliers, {"points": CLOUD, "ratio": 0.1},
        {"ratio": "number", "kind": "choice", "seed": "integer"},
    ),
    "thin_by_distance": Call(
        contamination.thin_by_distance, {"points": CLOUD, "rim": 0.1}, {"rim": "number", "seed": "integer"}
    ),
    "set_rate": Call(lambda **options: LiveRegistration(CLOUD, CLOUD).set_rate(**options), {}, {"rate": "number"}),
    "LiveRegistration": Call(
        LiveRegistration, {"source": CLOUD, "target": CLOUD}, {"threads": "integer"}, ("threads",)
    ),
}  # fmt: skip


def _method_calls() -> Iterator[tuple[str, Call]]:
    """A call of `register` for the settings of each method, whose kinds follow from their types."""
    kinds = {"int": "integer", "float": "number", "bool": "flag", "str": "choice"}
    for method, entry in METHODS.items():
        types = {field.name: str(field.type) for field in dataclasses.fields(entry.settings)}
        spoilt = {name: kinds[form.split(" ")[0]] for name, form in types.items() if form.split(" ")[0] in kinds}
        yield (
            method,
            Call(
                graphreg.register,
                {"source": CLOUD, "target": CLOUD, "method": method},
                spoilt,
                # None stands for the default of what is a parameter of `register` itself.
                tuple(name for name, form in types.items() if "None" in form or name in ("k", "alpha", "points")),
                ("alpha",),
            ),
        )


CALLS |= dict(_method_calls())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("files")
    graphreg.write(path / "a.ply", CLOUD)
    graphreg.write_poses(path / "T.txt", np.eye(4))
    return path


@pytest.mark.parametrize("name", CALLS)
def test_a_wrong_argument_is_refused_by_its_name(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    call = CALLS[name]
    for argument, form in call.kinds.items():
        accepted = {"none" if argument in call.optional else "", "inf" if argument in call.infinite else ""}
        for kind, value in WRONG[form].items():
            if kind not in accepted:
                with pytest.raises(graphreg.InputError, match=rf"^{argument}: "):
                    call.function(**{**call.valid, argument: value})
