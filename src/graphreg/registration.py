"""register(): two clouds in, the motion between them and a verdict out."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, replace
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphreg.baselines import BASELINES
from graphreg.clouds import Cloud, Floats, as_array, as_cloud
from graphreg.engine.outcome import EngineOutcome
from graphreg.engine.pipeline import register_graphreg, retry_subsampled
from graphreg.engine.preprocessing import PreprocessedCloud, preprocess
from graphreg.engine.settings import EngineSettings
from graphreg.engine.verdict import judge
from graphreg.errors import InputError
from graphreg.method_interface import Callback, Iteration, Method, Outcome
from graphreg.paper.published import PIPL, PaperSettings, register_published
from graphreg.poses import as_pose
from graphreg.threads import thread_count

# Of weights, the largest to the smallest.
WIDEST_RATIO = 1e12
# Where so much of the source lies on the target, no second look finds a better place.
WHOLE = 0.9

METHODS: dict[str, Method[Any]] = {
    "graphreg": Method(
        EngineSettings(),
        register_graphreg,
        "our own: from any pose, matched descriptors and annealed refinement",
    ),
    "graphreg-paper": Method(
        PaperSettings(),
        register_published,
        "as published: graph features, rigid-body dynamics, adaptive annealing (Zhao et al. 2022); local",
    ),
    "pipl": Method(
        PIPL,
        register_published,
        "gravity between unit masses, rigid-body dynamics, simulated annealing (Jauer et al. 2018); local",
    ),
    **BASELINES,
}


@dataclass(frozen=True, eq=False)
class Result:
    """What `register` found.

    transformation  (4, 4) float64: x_target = T x_source, det(R) = +1
    success, confidence, reason  the verdict: bool, 0 to 1, a sentence
    overlap         share of the source that lies on the target
    inlier_rmse     of that part, the distance to the target's surface, in the unit of the data; NaN where there is none
    covariance      (6, 6) of the pose: turns about the x, y, z axes through `centre` (radians), then shifts along them
                    (unit of the data), both made after the motion, in the target's frame; None where they do not meet
    centre          (3,) in the target's frame, the middle of the part that overlaps
    undetermined    what the source could do without leaving the target's surface, in words
    hypotheses      how many poses were proposed
    runner_up       (4, 4), the best pose that differs from this one, or None
    scores          of this pose and of the runner-up: the higher, the better the surfaces meet
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
    covariance: Floats | None
    centre: Floats | None
    undetermined: tuple[str, ...]
    hypotheses: int
    runner_up: Floats | None
    scores: tuple[float, ...]
    timings: dict[str, float]
    method: str
    settings: dict[str, Any]
    seed: int
    dropped: tuple[int, int]
    history: tuple[Iteration, ...]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """The transformation, so that a result goes wherever numpy takes a 4x4 matrix."""
        return np.array(self.transformation, dtype, copy=copy is not False)

    def __dlpack__(self, **options: Any) -> Any:
        """The same for torch, JAX and all else that takes no array but by DLPack."""
        return self.transformation.copy().__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[Any, Any]:
        return self.transformation.__dlpack_device__()

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
        """The result that `to_json` wrote."""
        held = json.loads(text)
        for name in ("transformation", "covariance", "centre", "runner_up"):
            held[name] = None if held[name] is None else np.array(held[name])
        for name in ("dropped", "undetermined", "scores"):
            held[name] = tuple(held[name])
        if held["inlier_rmse"] is None:
            held["inlier_rmse"] = float("nan")
        held["history"] = tuple(
            Iteration(**{**step, "transformation": np.array(step["transformation"])}) for step in held["history"]
        )
        return cls(**held)


def methods() -> dict[str, str]:
    """The names that `register` takes, and a line on each."""
    return {name: method.summary for name, method in METHODS.items()}


def register(
    source: Any,
    target: Any,
    *,
    method: str = "graphreg",
    init: Any = None,
    seed: int = 0,
    threads: int | None = None,
    callback: Callback | None = None,
    **settings: Any,
) -> Result:
    """Find the rigid motion that lays the source on the target.

    source, target  (N, 3) and (M, 3), or anything else that holds points; what `prepare` made of it
    method          one of `methods()`. "graphreg" finds the pose from any start; those called local need a good one
    init            4x4, where to start: "graphreg" then only refines it
    seed            of what is drawn at random: the same seed gives the same bits
    threads         how many, by default all; the result is the same for any number
    callback        called with each `Iteration`; returning True stops there
    settings        of the method, for instance voxel=0.001, weights=... or dof=("rz", "x", "y", "z")

    A registration that fails is a result with `success` False; input that cannot be used is an InputError.
    """
    began = time.perf_counter()
    if method not in METHODS:
        raise InputError(f"method: expected one of {', '.join(METHODS)}, got {method!r}")
    clouds = _accepted(source, "source", method), _accepted(target, "target", method)
    chosen = METHODS[method].settings
    known = {field.name for field in fields(chosen)}
    if unknown := settings.keys() - known:
        raise InputError(f"{min(unknown)}: no setting of {method}, which has {', '.join(sorted(known))}")
    if "weights" in settings:
        settings["weights"] = _weights(settings["weights"], clouds)
    chosen = replace(chosen, **settings)
    for name, cloud in zip(("source", "target"), clouds, strict=True):
        if isinstance(cloud, Cloud) and len(cloud) < chosen.required_points:
            raise InputError(
                f"{name}: has {len(cloud)} finite points, but at least {chosen.required_points} are needed"
            )
    _require_seed(seed)
    start = None if init is None else as_pose(init)
    workers = thread_count(threads)
    here, there = (cloud if isinstance(cloud, PreprocessedCloud) else cloud.points for cloud in clouds)
    run: Callable[..., Outcome] = METHODS[method].run
    found = run(here, there, chosen, start, seed, workers, callback)
    judged = time.perf_counter()
    verdict = judge(found, workers)
    if isinstance(found, EngineOutcome) and start is None and not verdict.success and verdict.evidence.overlap < WHOLE:
        again = retry_subsampled(found, here, there, chosen, seed, workers, callback)
        if again is not None and (second := judge(again, workers)).confidence > verdict.confidence:
            found, verdict = again, second
    ended = time.perf_counter()
    ours = found if isinstance(found, EngineOutcome) else None
    return Result(
        transformation=found.transformation,
        success=verdict.success,
        confidence=verdict.confidence,
        reason=verdict.reason,
        overlap=verdict.evidence.overlap,
        inlier_rmse=verdict.evidence.inlier_rmse,
        covariance=verdict.hold.covariance if verdict.hold else None,
        centre=verdict.hold.centre if verdict.hold else None,
        undetermined=verdict.hold.undetermined if verdict.hold else (),
        hypotheses=ours.hypotheses if ours else 1,
        runner_up=ours.runner_up if ours else None,
        scores=ours.scores if ours else (),
        timings={**found.timings, "judge": ended - judged, "total": ended - began},
        method=method,
        settings={name: value for name, value in asdict(chosen).items() if name != "weights"} | {"voxel": found.voxel},
        seed=seed,
        dropped=(clouds[0].dropped, clouds[1].dropped),
        history=found.history,
    )


def prepare(
    cloud: Any, *, points: int = EngineSettings.points, weights: Any = None, seed: int = 0
) -> PreprocessedCloud:
    """Look at a cloud once, for several registrations: `register` takes what this gives in place of the cloud.

    points, weights, seed  as in `register`: how many points are looked at, what each weighs, which ones are drawn

    It holds these points and what is made of them, not the cloud; it can be pickled. Between two prepared clouds cells
    have sizes that others can share, so that the pose differs a little from that between the clouds themselves. To all
    methods but "graphreg" it is a cloud of these points.
    """
    whole = as_cloud(cloud)
    settings = EngineSettings(points=points)
    _require_seed(seed)
    return replace(
        preprocess(whole.points, "points", _checked_weights(weights, whole, "points"), settings.points, seed),
        dropped=whole.dropped,
    )


def _accepted(value: Any, name: str, method: str) -> Cloud | PreprocessedCloud:
    """A cloud at the door; one that is prepared stays so for the method that can use it."""
    return value if isinstance(value, PreprocessedCloud) and method == "graphreg" else as_cloud(value, name)


def _require_seed(seed: Any) -> None:
    if not (isinstance(seed, Integral) and int(seed) >= 0):
        raise InputError(f"seed: expected a whole number from 0 on, got {seed!r}")


def _weights(
    weights: Any, clouds: tuple[Cloud | PreprocessedCloud, Cloud | PreprocessedCloud]
) -> tuple[Floats | None, Floats | None]:
    """Weights of the source's points, or of both clouds', for the rows that became points."""
    both = weights if isinstance(weights, (tuple, list)) and len(weights) == 2 else (weights, None)
    return _checked_weights(both[0], clouds[0], "source"), _checked_weights(both[1], clouds[1], "target")


def _checked_weights(values: Any, cloud: Cloud | PreprocessedCloud, name: str) -> Floats | None:
    if values is None:
        return None
    if isinstance(cloud, PreprocessedCloud):
        raise InputError(f"weights: the {name} was prepared without them; give them to prepare()")
    try:
        numbers = np.asarray(as_array(values), np.float64)
    except (TypeError, ValueError, RuntimeError, BufferError) as problem:
        raise InputError(f"weights: expected numbers for the {name}, got {type(values).__name__}") from problem
    if numbers.shape != cloud.kept.shape:
        raise InputError(f"weights: expected {len(cloud.kept)} for the {name}, got shape {numbers.shape}")
    if not (np.isfinite(numbers).all() and (numbers > 0).all()):
        raise InputError("weights: expected positive numbers")
    # Only their ratios matter. Larger ones would leave nothing of the lighter points' share.
    if not numbers.max() / WIDEST_RATIO <= numbers.min():
        raise InputError(f"weights: expected numbers that differ by a factor of at most {WIDEST_RATIO:g}")
    return np.ascontiguousarray(numbers[cloud.kept] / numbers.max())
