"""register(): two clouds in, the rigid transform between them and a verdict out."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, fields, replace
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from graphreg.argument_checks import check_callable, check_choice, check_integer, closest
from graphreg.baselines import BASELINES
from graphreg.clouds import CloudRows, Floats, as_cloud, as_floats, as_rows, sample_rows
from graphreg.engine.coincident_points import without_coincident
from graphreg.engine.outcome import EngineOutcome
from graphreg.engine.part_pipeline import index_for_part
from graphreg.engine.preprocessing import PreprocessedCloud, preprocess
from graphreg.engine.settings import EngineSettings
from graphreg.engine.similarity import register_any_scale
from graphreg.engine.verdict import Verdict, judge_outcome
from graphreg.errors import InputError
from graphreg.method_interface import Callback, Method, MethodSettings, Outcome, Scale
from graphreg.method_options import (
    CpdOptions,
    EcmOptions,
    FgrOptions,
    FricpOptions,
    GmmOptions,
    IcpKnOptions,
    IcpKpOptions,
    IcpOptions,
    PaperOptions,
    Super4pcsOptions,
    TeaserOptions,
    TricpOptions,
)
from graphreg.paper.published import PIPL, PaperSettings, register_published
from graphreg.poses import as_pose, as_similarity, inverse, scale_of, transform
from graphreg.result import PREVIEW_POINTS, Alternative, Result
from graphreg.robust.influence_functions import LossName
from graphreg.robust.losses import Loss
from graphreg.threads import thread_count

# Arguments of `register` that are no settings of a method.
ARGUMENTS = {"method", "init", "seed", "threads", "callback"}
METHODS: dict[str, Method[MethodSettings]] = {
    "graphreg": Method[EngineSettings](
        EngineSettings(),
        register_any_scale,
        "our own: graph descriptors, pose hypotheses from compatible correspondences, robust refinement; global",
    ),
    "graphreg-paper": Method[PaperSettings](
        PaperSettings(),
        register_published,
        "as published: graph features, rigid-body dynamics, adaptive annealing (Zhao et al. 2022); local",
    ),
    "pipl": Method[PaperSettings](
        PIPL,
        register_published,
        "gravity between unit masses, rigid-body dynamics, simulated annealing (Jauer et al. 2018); local",
    ),
    **BASELINES,
}

if TYPE_CHECKING:
    from typing_extensions import Unpack

_log = logging.getLogger(__name__)
# Larger ratios of weights would leave nothing of the lighter points' share.
LARGEST_WEIGHT_RATIO = 1e12


def methods() -> dict[str, str]:
    """Return the names that `register` takes as `method`, with one line on each.

    Examples
    --------
    >>> import graphreg
    >>> "icp" in graphreg.methods()
    True
    """
    return {name: method.summary for name, method in METHODS.items()}


@overload
def register(
    source: Any,
    target: Any,
    *,
    method: Literal["graphreg"] = "graphreg",
    init: Any = None,
    voxel: float | None = None,
    points: int | None = None,
    dof: str | Sequence[str] | None = None,
    weights: Any = None,
    k: int | None = None,
    alpha: float | None = None,
    scale: Scale | None = None,
    loss: Loss | LossName | None = None,
    seed: int = 0,
    threads: int | None = None,
    callback: Callback | None = None,
) -> Result: ...
@overload
def register(
    source: Any, target: Any, *, method: Literal["graphreg-paper", "pipl"], **settings: Unpack[PaperOptions]
) -> Result: ...
@overload
def register(source: Any, target: Any, *, method: Literal["icp"], **settings: Unpack[IcpOptions]) -> Result: ...
@overload
def register(source: Any, target: Any, *, method: Literal["icp-kp"], **settings: Unpack[IcpKpOptions]) -> Result: ...
@overload
def register(source: Any, target: Any, *, method: Literal["icp-kn"], **settings: Unpack[IcpKnOptions]) -> Result: ...
@overload
def register(source: Any, target: Any, *, method: Literal["tricp"], **settings: Unpack[TricpOptions]) -> Result: ...
@overload
def register(source: Any, target: Any, *, method: Literal["fricp"], **settings: Unpack[FricpOptions]) -> Result: ...
@overload
def register(source: Any, target: Any, *, method: Literal["gmm"], **settings: Unpack[GmmOptions]) -> Result: ...
@overload
def register(source: Any, target: Any, *, method: Literal["cpd"], **settings: Unpack[CpdOptions]) -> Result: ...
@overload
def register(source: Any, target: Any, *, method: Literal["ecm"], **settings: Unpack[EcmOptions]) -> Result: ...
@overload
def register(source: Any, target: Any, *, method: Literal["fgr"], **settings: Unpack[FgrOptions]) -> Result: ...
@overload
def register(source: Any, target: Any, *, method: Literal["teaser"], **settings: Unpack[TeaserOptions]) -> Result: ...
@overload
def register(
    source: Any, target: Any, *, method: Literal["super4pcs"], **settings: Unpack[Super4pcsOptions]
) -> Result: ...
def register(
    source: Any,
    target: Any,
    *,
    method: str = "graphreg",
    init: Any = None,
    voxel: float | None = None,
    points: int | None = None,
    dof: Any = None,
    weights: Any = None,
    k: int | None = None,
    alpha: float | None = None,
    scale: Scale | None = None,
    loss: Loss | LossName | None = None,
    seed: int = 0,
    threads: int | None = None,
    callback: Callback | None = None,
    **settings: Any,
) -> Result:
    """Estimate the rigid transform from the source to the target, or with `scale` the similarity.

    Parameters
    ----------
    source, target : (N, 3) and (M, 3) array_like, path, or PreprocessedCloud
        Points, or anything that holds points: names of files, Open3D and trimesh objects, torch tensors, what `prepare`
        returned. Rows with NaN or infinity are left out.
    method : str, default "graphreg"
        One of `methods()`, in upper or lower case. Global methods need no initial pose, local ones a good one.
    init : (4, 4) array_like, optional
        Initial pose. "graphreg" then only refines it, without a search.
    voxel : float, optional
        Voxel size in the unit of the data; by default it follows from the clouds.
    points : int, default 40_000
        Points sampled from each larger cloud ("graphreg").
    dof : sequence of str, optional
        Degrees of freedom, some of "rx", "ry", "rz", "x", "y", "z": rotations about and translations along the
        target's axes ("graphreg"). By default all six; ("rz", "x", "y", "z") suits levelled scans.
    weights : (N,) array_like or pair of these, optional
        Positive weights of the source's points, or of both clouds' ("graphreg").
    k : int, default 10
        Neighbours in the nearest-neighbour graph ("graphreg", "graphreg-paper", "pipl").
    alpha : float, default 5.2
        Limit of the X84 outlier rule (the same three).
    scale : bool or pair of float, default False
        Whether the source has an unknown scale, or the smallest and the largest that it can have: the transform is
        then a similarity ("graphreg", "icp", "cpd", "teaser").
    loss : str or Loss, optional
        A robust loss in place of squares, "l1", "lp", "huber", "tukey", "cauchy", "geman-mcclure", "welsch" or "barron"
        ("icp", "icp-kp", "icp-kn", "tricp", "fricp"; the refinement of "graphreg").
    seed : int, default 0
        Seed of all random sampling: the same seed gives the same bits.
    threads : int, optional
        Number of threads, by default all; the result does not depend on it.
    callback : callable, optional
        Called with each `Iteration`; returning True stops the registration there.
    **settings
        features=True has points with alike invariants attract each other more (all methods but the first three).
        Further settings of the method, see the page on methods; for instance max_iterations=50 for "icp".

    Returns
    -------
    Result
        A failed registration is a result with `success` False, and not an exception.

    Raises
    ------
    InputError
        If an argument cannot be used; it says which one, what it contained and what was expected.

    See Also
    --------
    prepare : preprocess a cloud once for several registrations.
    multiway : register many scans.

    Examples
    --------
    >>> import numpy as np
    >>> import graphreg
    >>> from graphreg.datasets import synthetic
    >>> pair = synthetic.pair("casting", 20.0, points=6000)
    >>> result = graphreg.register(pair.source, pair.target)
    >>> result.success
    True
    >>> bool(np.allclose(result.transformation, pair.T_target_source, atol=0.01))
    True
    """
    given = {
        "voxel": voxel, "points": points, "dof": dof, "weights": weights, "k": k, "alpha": alpha, "scale": scale,
        "loss": loss,
    }  # fmt: skip
    chosen = {name: value for name, value in given.items() if value is not None}
    return run_method(
        source, target, method, {**chosen, **settings}, init=init, seed=seed, threads=threads, callback=callback
    )


def run_method(
    source: Any,
    target: Any,
    method: str,
    options: Mapping[str, Any],
    *,
    init: Any = None,
    seed: int = 0,
    threads: int | None = None,
    callback: Callback | None = None,
) -> Result:
    """Do what `register` does, with a method and settings whose names are known at run time only."""
    began = time.perf_counter()
    method = check_choice("method", method, METHODS)
    check_callable("callback", callback)
    given = _accepted(source, "source", method), _accepted(target, "target", method)
    clouds = _without_coincident(given[0]), _without_coincident(given[1])
    settings = _settings(method, options, clouds)
    for name, cloud in zip(("source", "target"), clouds, strict=True):
        if isinstance(cloud, CloudRows) and len(cloud) < settings.required_points:
            raise InputError(
                f"{name}: has {len(cloud)} finite points, but at least {settings.required_points} are needed"
            )
    require_seed(seed)
    initial = None if init is None else as_similarity(init) if has_scale(settings) else as_pose(init)
    workers = thread_count(threads)
    x, y = (_method_input(clouds[i], i, settings, seed) for i in (0, 1))
    _log.debug("%s: source of %d points, target of %d, settings %s", method, len(x), len(y), settings)
    # Our own method also takes preprocessed clouds.
    run: Callable[..., Outcome] = METHODS[method].run
    outcome = run(x, y, settings, initial, seed, workers, callback)
    timings = dict(outcome.timings)
    estimate = outcome if isinstance(outcome, EngineOutcome) else None
    if estimate is not None:
        verdict = estimate.verdict
    else:
        estimated = time.perf_counter()
        verdict = judge_outcome(outcome, workers, has_scale(settings))
        timings["judge"] = time.perf_counter() - estimated
    _log.debug("%s: %s (confidence %.2f)", method, verdict.reason, verdict.confidence)
    alternatives = _alternatives(estimate) if estimate else ()
    return Result(
        **result_fields(outcome, verdict, settings),
        hypotheses=estimate.hypotheses if estimate else 1,
        alternatives=alternatives,
        runner_up=alternatives[0].transformation if alternatives else None,
        scores=tuple(float(score) for score in estimate.evaluation.overlaps[:2]) if estimate else (),
        timings={**timings, "total": time.perf_counter() - began},
        method=method,
        seed=seed,
        dropped=(given[0].dropped, given[1].dropped),
        coincident=(_coincident(given[0], clouds[0]), _coincident(given[1], clouds[1])),
        preview=(preview_sample(clouds[0]), preview_sample(clouds[1])),
    )


def preview_sample(cloud: CloudRows | PreprocessedCloud) -> Floats:
    """Return the points of a cloud that its result keeps for pictures."""
    if isinstance(cloud, PreprocessedCloud):
        rows = sample_rows(len(cloud), PREVIEW_POINTS)
        return transform(inverse(cloud.T_local_cloud), cloud.local_points[rows])
    return cloud.take(sample_rows(len(cloud), PREVIEW_POINTS))


def result_fields(outcome: Outcome, verdict: Verdict, settings: MethodSettings) -> dict[str, Any]:
    """Return the fields of a `Result` that follow from an outcome, the verdict on it and the settings."""
    observability = verdict.observability
    chosen = {name: value for name, value in asdict(settings).items() if name != "weights"}
    return {
        "transformation": outcome.transformation,
        "success": verdict.success,
        "confidence": verdict.confidence,
        "reason": verdict.reason,
        "overlap": verdict.evidence.overlap,
        "inlier_rmse": verdict.evidence.inlier_rmse,
        "overlap_distance": verdict.overlap_distance,
        "residual_quantiles": verdict.residual_quantiles,
        "covariance": observability.covariance if observability else None,
        "centre": observability.centre if observability else None,
        "degenerate_directions": observability.degenerate_directions if observability else (),
        "settings": {**chosen, "voxel": outcome.voxel},
        "history": outcome.history,
        "scale": scale_of(outcome.transformation) if has_scale(settings) else 1.0,
    }


def has_scale(settings: MethodSettings) -> bool:
    """Return whether a scale is estimated with these settings."""
    return bool(getattr(settings, "scale", False))


def prepare(
    cloud: Any, *, points: int = EngineSettings.points, weights: Any = None, part: Any = None, seed: int = 0
) -> PreprocessedCloud:
    """Preprocess a cloud once for several registrations; `register` and `locate` take the result in place of it.

    Parameters
    ----------
    cloud : (N, 3) array_like or path
        Points, anything that holds points, or the name of a file.
    points : int, default 40_000
        Points to sample at most for registration; `locate` uses all.
    weights : (N,) array_like, optional
        Positive weights of the points.
    part : (K, 3) array_like, optional
        An example of the parts that `locate` will look for in this cloud: the index for parts of its size is built now,
        and not by the first call.
    seed : int, default 0
        Seed of the sample.

    Returns
    -------
    PreprocessedCloud
        The sampled points, the cloud, and what is computed from them; it can be pickled.

    Notes
    -----
    Between two preprocessed clouds voxel sizes are rounded to a ladder of sizes that other pairs share, so that the
    pose differs slightly from that between the clouds themselves. To all methods but "graphreg" it is a cloud of the
    sampled points.

    Examples
    --------
    >>> import graphreg
    >>> from graphreg.datasets import synthetic
    >>> pair = synthetic.pair("casting", 20.0, points=6000)
    >>> target = graphreg.prepare(pair.target)
    >>> graphreg.register(pair.source, target).success
    True
    """
    sampled, whole = _sampled(as_rows(cloud), points, weights, seed)
    prepared = sampled if len(whole) <= points else replace(sampled, whole=whole.rows)
    if part is not None:
        example = prepare_sample(as_cloud(part, "part"), seed=seed)
        index_for_part(example, prepared.whole_cloud(), thread_count(None))
    return prepared


def prepare_sample(
    cloud: Any, *, points: int = EngineSettings.points, weights: Any = None, seed: int = 0
) -> PreprocessedCloud:
    """Do what `prepare` does for `register`, without keeping the cloud."""
    return _sampled(as_rows(cloud), points, weights, seed)[0]


def _sampled(given: CloudRows, points: int, weights: Any, seed: int) -> tuple[PreprocessedCloud, CloudRows]:
    """The sampled cloud, and the cloud that it is a sample of: the one given without coincident clusters."""
    settings = EngineSettings(points=points)
    require_seed(seed)
    whole = without_coincident(given)
    of_points = _checked_weights(weights, whole, "points")
    sampled = preprocess(_engine_input(whole, of_points), "points", of_points, settings.points, seed)
    return replace(sampled, dropped=given.dropped, coincident=len(given) - len(whole), mesh=whole.mesh), whole


def _alternatives(estimate: EngineOutcome) -> tuple[Alternative, ...]:
    others = zip(estimate.candidates[1:], estimate.evaluation.similarities()[1:], strict=True)
    return tuple(Alternative(T, float(similarity)) for T, similarity in others)


def _accepted(value: Any, name: str, method: str) -> CloudRows | PreprocessedCloud:
    """A validated cloud; a preprocessed one stays so for the method that can use it."""
    if isinstance(value, PreprocessedCloud) and isinstance(METHODS[method].settings, EngineSettings):
        return value
    return as_rows(value, name)


def _method_input(
    cloud: CloudRows | PreprocessedCloud, number: int, settings: MethodSettings, seed: int
) -> Floats | PreprocessedCloud:
    """The points of a cloud; for our own method, one that was sampled from a mesh keeps it."""
    if isinstance(cloud, PreprocessedCloud):
        return cloud
    if not isinstance(settings, EngineSettings):
        return cloud.points
    weights = (settings.weights or (None, None))[number]
    if cloud.mesh is None:
        return _engine_input(cloud, weights)
    name = ("source", "target")[number]
    return replace(preprocess(cloud.points, name, weights, settings.points, seed), mesh=cloud.mesh)


def _engine_input(cloud: CloudRows, weights: Floats | None) -> Floats:
    """What our own method samples, which skips rows that are not finite; but weights are those of the points."""
    return cloud.rows if weights is None else cloud.points


def _without_coincident(cloud: CloudRows | PreprocessedCloud) -> CloudRows | PreprocessedCloud:
    return cloud if isinstance(cloud, PreprocessedCloud) else without_coincident(cloud)


def _coincident(given: CloudRows | PreprocessedCloud, used: CloudRows | PreprocessedCloud) -> int:
    return given.coincident if isinstance(given, PreprocessedCloud) else len(given) - len(used)


def _settings(
    method: str, options: Mapping[str, Any], clouds: tuple[CloudRows | PreprocessedCloud, CloudRows | PreprocessedCloud]
) -> MethodSettings:
    """The settings of a method with the caller's options."""
    defaults: MethodSettings = METHODS[method].settings
    known = {field.name for field in fields(defaults)}
    if unknown := options.keys() - known:
        wrong = min(unknown)
        raise InputError(
            f"{wrong}: no setting of {method}, which has {', '.join(sorted(known))}{closest(wrong, known | ARGUMENTS)}"
        )
    if options.get("weights") is not None:
        options = {**options, "weights": _weights(options["weights"], clouds)}
    return replace(defaults, **options)


def require_seed(seed: Any) -> None:
    """Refuse a seed that is no whole number from 0 on."""
    check_integer("seed", seed)


def _weights(
    weights: Any, clouds: tuple[CloudRows | PreprocessedCloud, CloudRows | PreprocessedCloud]
) -> tuple[Floats | None, Floats | None]:
    """Weights of the source's points, or of both clouds', for the rows that became points."""
    both = weights if isinstance(weights, (tuple, list)) and len(weights) == 2 else (weights, None)
    return _checked_weights(both[0], clouds[0], "source"), _checked_weights(both[1], clouds[1], "target")


def _checked_weights(values: Any, cloud: CloudRows | PreprocessedCloud, name: str) -> Floats | None:
    if values is None:
        return None
    if isinstance(cloud, PreprocessedCloud):
        raise InputError(f"weights: the {name} was preprocessed without them; pass them to prepare()")
    numbers = as_floats(values, "weights", f"numbers for the {name}")
    if numbers.shape != cloud.kept.shape:
        raise InputError(f"weights: expected {len(cloud.kept)} for the {name}, got shape {numbers.shape}")
    if not (np.isfinite(numbers).all() and (numbers > 0).all()):
        raise InputError("weights: expected positive numbers")
    if not numbers.max() / LARGEST_WEIGHT_RATIO <= numbers.min():
        raise InputError(f"weights: expected numbers that differ by a factor of at most {LARGEST_WEIGHT_RATIO:g}")
    return np.ascontiguousarray(numbers[cloud.kept] / numbers.max())
