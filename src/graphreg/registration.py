"""register(): two clouds in, the motion between them and a verdict out."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import numpy as np

from graphreg.clouds import Floats, as_cloud
from graphreg.errors import InputError
from graphreg.methods import RIVALS
from graphreg.outcomes import Callback, Iteration, Outcome
from graphreg.poses import as_pose
from graphreg.published import PIPL, Settings, register_published
from graphreg.threads import thread_count
from graphreg.verdict import judge


@dataclass(frozen=True)
class Method:
    """A way to register: its settings with their defaults, how it runs, and a line for people.

    run  (source, target, settings, init, seed, threads, callback) -> Outcome; source and target are finite (N, 3)
         arrays with more than settings.k points, init is a pose or None
    """

    settings: Any
    run: Callable[..., Outcome]
    line: str


METHODS = {
    "graphreg-paper": Method(
        Settings(), register_published, "as published: graph features, rigid-body dynamics, adaptive annealing; local"
    ),
    "pipl": Method(
        PIPL, register_published, "the physics baseline: gravity between unit masses, plain annealing; local"
    ),
    **{name: Method(*rival) for name, rival in RIVALS.items()},
}


@dataclass(frozen=True, eq=False)
class Result:
    """What `register` found.

    transformation  (4, 4) float64: x_target = T x_source, det(R) = +1
    success, confidence, reason  the verdict: bool, 0 to 1, a sentence
    overlap         share of the source that lies on the target
    inlier_rmse     of that part, the distance to the target, in the unit of the data; NaN where there is none
    timings         {stage: seconds}, and the total
    method, settings, seed  what was used; the voxel size is the one that was chosen
    dropped         rows of source and target that were not finite
    history         every iteration
    """

    transformation: Floats
    success: bool
    confidence: float
    reason: str
    overlap: float
    inlier_rmse: float
    timings: dict[str, float]
    method: str
    settings: dict[str, Any]
    seed: int
    dropped: tuple[int, int]
    history: tuple[Iteration, ...]

    def to_json(self) -> str:
        """As text; `from_json` gives the same result back."""

        def plain(value: Any) -> Any:
            return value.tolist() if isinstance(value, np.ndarray) else asdict(value)

        held = {field.name: getattr(self, field.name) for field in fields(self)}
        if np.isnan(self.inlier_rmse):
            held["inlier_rmse"] = None  # JSON has no NaN
        return json.dumps(held, default=plain)

    @classmethod
    def from_json(cls, text: str) -> Result:
        held = json.loads(text)
        held["transformation"] = np.array(held["transformation"])
        held["dropped"] = tuple(held["dropped"])
        if held["inlier_rmse"] is None:
            held["inlier_rmse"] = float("nan")
        held["history"] = tuple(
            Iteration(**{**step, "transformation": np.array(step["transformation"])}) for step in held["history"]
        )
        return cls(**held)


def methods() -> dict[str, str]:
    """The names that `register` takes, and a line on each."""
    return {name: method.line for name, method in METHODS.items()}


def register(
    source: Any,
    target: Any,
    *,
    method: str = "graphreg-paper",
    init: Any = None,
    seed: int = 0,
    threads: int | None = None,
    callback: Callback | None = None,
    **settings: Any,
) -> Result:
    """Find the rigid motion that lays the source on the target.

    source, target  (N, 3) and (M, 3), or anything else that holds points
    method          one of `methods()`. Both move the source from where it is: they need a start within some 45 degrees
    init            4x4, where to start; by default the scans as they are, with their centroids aligned
    seed            of the particles drawn and of annealing: the same seed gives the same bits
    threads         how many, by default all; the result is the same for any number
    callback        called with each `Iteration`; returning True stops there
    settings        of the method, for instance max_iterations=200 or voxel=0.001

    A registration that fails is a result with `success` False; input that cannot be used is an InputError.
    """
    began = time.perf_counter()
    if method not in METHODS:
        raise InputError(f"method: expected one of {', '.join(METHODS)}, got {method!r}")
    clouds = as_cloud(source, "source"), as_cloud(target, "target")
    chosen = METHODS[method].settings
    known = {field.name for field in fields(chosen)}
    if unknown := settings.keys() - known:
        raise InputError(f"{min(unknown)}: no setting of {method}, which has {', '.join(sorted(known))}")
    chosen = replace(chosen, **settings)
    for name, cloud in zip(("source", "target"), clouds, strict=True):
        if len(cloud) <= chosen.k:
            raise InputError(f"{name}: holds {len(cloud)} finite points, but at least {chosen.k + 1} are needed")
    start = None if init is None else as_pose(init)
    workers = thread_count(threads)
    found = METHODS[method].run(clouds[0].points, clouds[1].points, chosen, start, seed, workers, callback)
    judged = time.perf_counter()
    verdict = judge(found.source, found.target, found.transformation, found.voxel, workers)
    ended = time.perf_counter()
    return Result(
        transformation=found.transformation,
        success=verdict.success,
        confidence=verdict.confidence,
        reason=verdict.reason,
        overlap=verdict.overlap,
        inlier_rmse=verdict.inlier_rmse,
        timings={**found.timings, "judge": ended - judged, "total": ended - began},
        method=method,
        settings={**asdict(chosen), "voxel": found.voxel},
        seed=seed,
        dropped=(clouds[0].dropped, clouds[1].dropped),
        history=found.history,
    )
