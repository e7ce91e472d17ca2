"""Registration with an unknown scale: our method and TEASER++ with `scale=True`, and Open3D's RANSAC with scaling.

The source of each pair is moved to a random pose and scaled at random by a factor between e^-2 and e^2. Beside them our
method registers the same source with its true scale known, from the same pose: as a rigid transform. Cross-modal pairs
are a synthetic photogrammetric cloud and a laser scan. All methods run on the same points, one after the other. Times
are those of the processor.

The standard deviation of log scale has one fitted constant, the factor of the part that follows from correlated
residuals. It is fitted here, on synthetic pairs of all kinds, clean, noisy and cross-modal, and tried on real scans,
all refined from near the ground truth.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from graphreg.bench.initial_poses import diagonal, initial_poses
from graphreg.bench.measured_parts import ALL_METHODS, SYNTHETIC_SCANS, UNKNOWN_SCALE
from graphreg.bench.pairs import (
    MAX_DEGREES,
    MAX_METRES,
    MAX_SHARE,
    SYNTHETIC,
    entries_of,
    kinds_of,
    listed_pair,
    pair_of,
    points_of,
    select,
    synthetic_kind,
)
from graphreg.bench.peers import can_be_imported, versions_of_modules
from graphreg.clouds import Floats, as_cloud
from graphreg.datasets.photogrammetry import photogrammetric_pair
from graphreg.engine.scale_observability import SCALE_OBSERVABILITY
from graphreg.engine.settings import EngineSettings
from graphreg.engine.similarity import register_any_scale
from graphreg.metrics import angular_error, rmsd
from graphreg.poses import inverse, pose, rotation_from_vector, scale_of, split_similarity, transform
from graphreg.registration import register

TITLE = "Registration with an unknown scale"
PARTS = (*ALL_METHODS, *UNKNOWN_SCALE, *SYNTHETIC_SCANS)
KINDS = ("object", "tls", "indoor")
CROSS_MODAL = "cross-modal"
CROSS_MODAL_SUBJECTS = ("dragon", "hare", "hand", "casting", "room", "facade")
LARGEST_LOG_SCALE = 2.0
STARTS, QUICK_STARTS = 2, 1
QUICK_PAIRS = "synthetic_hare_30"
QUICK_POINTS = 4_000
# Largest error of a correct scale.
MAX_SCALE_ERROR = 0.005
KNOWN, OURS, TEASER, RANSAC = "graphreg, scale known", "graphreg", "teaser", "open3d ransac + icp"
SEED = 11
# Pairs for the standard deviation: synthetic ones that its constant is fitted to, with noise in target diagonals (in
# scenes the smallest only), and real ones that it is tried on, of lists of the form of pairs.json, so many at most.
SIGMA = "standard deviation"
NOISE, SIGMA_SEEDS, SIGMA_POINTS = (0.0, 0.0005, 0.002, 0.006), 2, 20_000
CROSS_MODAL_SEEDS = 4
LISTS = {"pairs.json": 100, "low_overlap.json": 100, "3dmatch.json": 50}
LEAST_OVERLAP = 0.3  # of pairs of the lists that state one for the target
# Standard deviations of the initial similarity: degrees, log scale, target diagonals.
NEAR = (0.5, 0.005, 0.002)


@dataclass(frozen=True)
class ScaleJob:
    """One pair from one initial pose at one scale, by all methods.

    Attributes
    ----------
    pair : str
        Name of a pair, or of the subject of a cross-modal one.
    kind : str
    start : int
        Number of the initial pose, and of the random scale.
    points : int or None
        Approximate number of points of synthetic scans.
    """

    pair: str
    kind: str
    start: int
    points: int | None = None


@dataclass(frozen=True)
class SigmaJob:
    """One pair whose error of the scale is compared with the standard deviation.

    Attributes
    ----------
    group : str
        "synthetic", with the noise; "cross-modal"; or the name of a list.
    pair : str
    seed : int
    noise : float
    """

    group: str
    pair: str
    seed: int = 0
    noise: float = 0.0


@dataclass(frozen=True, eq=False)
class ScaledPair:
    """Clouds, the similarity between them, and what counts as correct."""

    source: Floats
    target: Floats
    truth: Callable[[Floats], Floats]
    scale: float
    max_degrees: float
    tolerance: float
    voxel: float


def jobs(
    data: Path | None, quick: bool = False, starts: int | None = None, pairs: str | None = None
) -> list[ScaleJob | SigmaJob]:
    """Return the jobs: pairs of objects, facades and rooms, cross-modal ones, and those for the standard deviation."""
    kinds = {name: kind for name, kind in kinds_of(data).items() if kind in KINDS}
    chosen = select(kinds, pairs or (QUICK_PAIRS if quick else "*"))
    count = starts or (QUICK_STARTS if quick else STARTS)
    cross_modal = () if pairs else CROSS_MODAL_SUBJECTS[1:2] if quick else CROSS_MODAL_SUBJECTS
    few = QUICK_POINTS if quick else None
    return [
        *(
            ScaleJob(name, kind, start, points_of(name, quick))
            for start in range(count)
            for name, kind in chosen.items()
        ),
        *(ScaleJob(name, CROSS_MODAL, start, few) for start in range(count) for name in cross_modal),
        *([] if quick or pairs else _sigma_jobs(data)),
    ]


def _sigma_jobs(data: Path | None) -> Iterator[SigmaJob]:
    for seed in range(SIGMA_SEEDS):
        for name in SYNTHETIC:
            kind = synthetic_kind(name)
            for noise in NOISE:
                if kind in KINDS and (kind == "object" or noise <= NOISE[1]):
                    yield SigmaJob(f"synthetic, noise {100 * noise:g} %", name, seed, noise)
    for seed in range(CROSS_MODAL_SEEDS):
        for name in CROSS_MODAL_SUBJECTS:
            yield SigmaJob(CROSS_MODAL, name, seed)
    for listed, most in LISTS.items():
        if data is None or not (data / listed).exists():
            continue
        entries = [
            entry["name"]
            for entry in entries_of(data, listed)
            if entry["kind"] in KINDS and (entry.get("overlap_target") or 1) > LEAST_OVERLAP
        ]
        chosen = np.random.default_rng(SEED).permutation(len(entries))[:most]
        yield from (SigmaJob(listed, entries[number]) for number in chosen)


def peer_versions(_: Sequence[ScaleJob | SigmaJob]) -> dict[str, str]:
    """Return the versions of other libraries."""
    return versions_of_modules("open3d") if can_be_imported("open3d") else {}


def measure(job: ScaleJob | SigmaJob, data: Path | None) -> Iterator[dict[str, Any]]:
    """Yield a row for each method."""
    if isinstance(job, SigmaJob):
        yield from _compare_with_sigma(job, data)
        return
    pair = _cross_modal_pair(job) if job.kind == CROSS_MODAL else _scaled_pair(job, data)
    methods: dict[str, Callable[[], Floats]] = {
        KNOWN: lambda: _known_scale(pair),
        OURS: lambda: register(pair.source, pair.target, scale=True).transformation,
    }
    if job.start == 0:  # the others take long
        methods[TEASER] = lambda: register(pair.source, pair.target, method="teaser", scale=True).transformation
        if can_be_imported("open3d"):
            methods[RANSAC] = lambda: ransac_with_scaling(pair.source, pair.target, pair.voxel)
    for name, run in methods.items():
        began = time.process_time()
        found = run()
        seconds = time.process_time() - began
        truth = pair.truth(found)
        degrees = angular_error(split_similarity(found)[1], split_similarity(truth)[1])
        distance = rmsd(found, truth, pair.source) / pair.tolerance
        yield {
            "pair": job.pair,
            "kind": job.kind,
            "start": job.start,
            "method": name,
            "true scale": pair.scale,
            "correct": bool(degrees <= pair.max_degrees and distance <= 1),
            "rotation error (deg)": _finite(degrees),
            "rmsd / tolerance": _finite(distance),
            "scale error": _finite(abs(scale_of(found) / pair.scale - 1)),
            "seconds": seconds,
        }


def _compare_with_sigma(job: SigmaJob, data: Path | None) -> Iterator[dict[str, Any]]:
    """Yield the row of a pair that is refined from near the ground truth, unless its scale is not determined."""
    source, target, truth = _sigma_pair(job, data)
    rng = np.random.default_rng([SEED, job.seed, *job.pair.encode()])
    degrees, log_scale, diagonals = NEAR
    centre, size = transform(truth, source).mean(axis=0), diagonal(target)
    linear = np.exp(log_scale * rng.normal()) * rotation_from_vector(np.deg2rad(degrees) * rng.normal(size=3))
    near = pose(linear, centre - linear @ centre + diagonals * size * rng.normal(size=3))
    clouds = as_cloud(source, "source").points, as_cloud(target, "target").points
    outcome = register_any_scale(*clouds, EngineSettings(scale=True), near @ truth)
    observability = outcome.verdict.observability
    if observability is None or observability.correlated is None or observability.degenerate_directions:
        return
    yield {
        "pair": job.pair,
        "kind": SIGMA,
        "group": job.group,
        "seed": job.seed,
        "log scale error": float(np.log(scale_of(outcome.transformation) / scale_of(truth))),
        "variance": float(observability.covariance[6, 6]),
        "correlated": float(observability.correlated[6, 6]),
    }


def _sigma_pair(job: SigmaJob, data: Path | None) -> tuple[Floats, Floats, Floats]:
    """Source, target and the similarity between them."""
    if job.group == CROSS_MODAL:
        # Other individuals, from other viewpoints, than those that methods are compared on.
        cross_modal = photogrammetric_pair(job.pair, points=SIGMA_POINTS, variant=job.seed % 3, seed=200 + job.seed)
        return cross_modal.source, cross_modal.target, cross_modal.T_target_source
    if job.group in LISTS:
        assert data is not None
        listed = listed_pair(next(each for each in entries_of(data, job.group) if each["name"] == job.pair), data)
        return listed.source, listed.target, listed.truth
    pair = pair_of(job.pair, None, SIGMA_POINTS, 10 + job.seed)
    rng = np.random.default_rng([SEED, job.seed])
    sigma = job.noise * diagonal(pair.target)
    source, target = (points + sigma * rng.normal(size=points.shape) for points in (pair.source, pair.target))
    return source, target, pair.truth


def fit_correlated(rows: Sequence[dict[str, Any]]) -> float:
    """Fit the factor of the covariance of correlated residuals to rows, by maximum likelihood of normal errors."""
    squared = np.array([row["log scale error"] ** 2 for row in rows])
    correlated = np.array([row["correlated"] for row in rows])
    independent = np.array([row["variance"] for row in rows]) - SCALE_OBSERVABILITY.correlated * correlated

    def negative_log_likelihood(log_factor: float) -> float:
        variance = independent + np.exp(log_factor) * correlated
        return float((np.log(variance) + squared / variance).mean())

    return float(np.exp(minimize_scalar(negative_log_likelihood, bounds=(-5, 5), method="bounded").x))


def _sigma_tables(rows: Sequence[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    if not rows:
        return {}
    lines = []
    for group in dict.fromkeys(row["group"] for row in rows):
        mine = [row for row in rows if row["group"] == group]
        errors = np.array([abs(row["log scale error"]) for row in mine])
        sigma = np.sqrt([row["variance"] for row in mine])
        lines.append(
            {
                "pairs": group,
                "used for the fit": group not in LISTS,
                "runs": len(mine),
                "median error (%)": float(100 * np.median(errors)),
                "median standard deviation (%)": float(100 * np.median(sigma)),
                "mean NEES": float(((errors / sigma) ** 2).mean()),
                "median NEES": float(np.median((errors / sigma) ** 2)),
                "within 1 (%)": float(100 * (errors <= sigma).mean()),
                "within 2 (%)": float(100 * (errors <= 2 * sigma).mean()),
                "within 3 (%)": float(100 * (errors <= 3 * sigma).mean()),
            }
        )
    fitted = fit_correlated([row for row in rows if row["group"] not in LISTS])
    constant = {"factor of correlated residuals": "", "in use": SCALE_OBSERVABILITY.correlated, "fitted": fitted}
    return {"Standard deviation of log scale": lines, "Its constant": [constant]}


def tables(rows: Sequence[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Return a table with a line for each kind of pair and method, and those on the standard deviation."""
    of_sigma = [row for row in rows if row["kind"] == SIGMA]
    rows = [row for row in rows if row["kind"] != SIGMA]
    lines = []
    kinds = list(dict.fromkeys(row["kind"] for row in rows))
    for kind in (*kinds, "all"):
        for method in dict.fromkeys(row["method"] for row in rows):
            mine = [row for row in rows if row["method"] == method and kind in (row["kind"], "all")]
            correct = [row for row in mine if row["correct"]]
            errors = [100 * row["scale error"] for row in correct]
            lines.append(
                {
                    "kind": kind,
                    "method": method,
                    "correct": f"{len(correct)} of {len(mine)}",
                    f"scale within {100 * MAX_SCALE_ERROR:g} %": sum(
                        row["scale error"] is not None and row["scale error"] <= MAX_SCALE_ERROR for row in mine
                    ),
                    "median scale error (%)": _median(errors),
                    "largest (%)": max(errors, default=None),
                    "median rotation error (deg)": _median([row["rotation error (deg)"] for row in correct]),
                    "median CPU (s)": _median([row["seconds"] for row in mine]),
                    "median time ratio": _median(list(_time_ratios(rows, method, kind))),
                    "largest": max(_time_ratios(rows, method, kind)),
                }
            )
    return {"": lines, **_sigma_tables(of_sigma)}


def _finite(value: float) -> float | None:
    """The value; None where a method returned no similarity, as of a source that has shrunk to a point."""
    return float(value) if np.isfinite(value) else None


def _median(values: Sequence[float]) -> float | None:
    return float(np.median(values)) if len(values) else None


def summary(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return statements about the results, one a line."""
    found, rows = tables(rows), [row for row in rows if row["kind"] != SIGMA]
    pairs, starts = len({(row["pair"], row["kind"]) for row in rows}), 1 + max(row["start"] for row in rows)
    lines = [
        f"{pairs} pairs, {starts} initial poses and scales each: any rotation, outdoors any heading; log scale uniform "
        f"from -{LARGEST_LOG_SCALE:g} to {LARGEST_LOG_SCALE:g} (cross-modal: 0.1 to 10); {TEASER} and Open3D, which "
        "take longer, have the first only",
        "correct: rotation and RMSD within the tolerance of the pair; errors are over the correct runs; time ratio: "
        "over our rigid registration of the same points, of known scale, pair by pair",
        f"{RANSAC}: Open3D's FPFH, RANSAC and point-to-point ICP, both with scaling, of the source scaled to the "
        "target's diagonal; it gets a voxel size that suits the pair",
    ]
    for line in found[""]:
        if line["kind"] == "all" and line["largest (%)"] is not None:
            lines.append(
                f"{line['method']}: {line['correct']} correct, scale error {line['median scale error (%)']:.3f} % in "
                f"the median and {line['largest (%)']:.2f} % at most, {line['median time ratio']:.1f} times as long as "
                f"rigid in the median and {line['largest']:.1f} times at most"
            )
    missed = sorted({f"{row['pair']} ({row['kind']})" for row in rows if row["method"] == OURS and not row["correct"]})
    lines.append(f"{OURS} is not correct on: " + (", ".join(missed) or "none"))
    if "Its constant" in found:
        lines.append(
            "standard deviation: NEES is the squared error over the variance, 1 if calibrated (median 0.45; 68, 95 and "
            "99.7 % of the errors within 1, 2 and 3 standard deviations); real lists were not used for the fit; their "
            "scale is taken as 1"
        )
    return lines


def ransac_with_scaling(source: Floats, target: Floats, voxel: float) -> Floats:
    """Run Open3D's RANSAC and ICP with scaling, of the source scaled to the target's diagonal."""
    import open3d

    registration = open3d.pipelines.registration
    around = open3d.geometry.KDTreeSearchParamHybrid
    rough = diagonal(target) / diagonal(source)
    clouds, features = [], []
    for points in (source * rough, target):
        cloud = open3d.geometry.PointCloud(open3d.utility.Vector3dVector(points)).voxel_down_sample(3 * voxel)
        cloud.estimate_normals(around(6 * voxel, 30))
        clouds.append(cloud)
        features.append(registration.compute_fpfh_feature(cloud, around(15 * voxel, 100)))
    estimation = registration.TransformationEstimationPointToPoint(True)
    found = registration.registration_ransac_based_on_feature_matching(
        *clouds,
        *features,
        True,
        4.5 * voxel,
        estimation,
        3,
        [registration.CorrespondenceCheckerBasedOnDistance(4.5 * voxel)],
        registration.RANSACConvergenceCriteria(100_000, 0.999),
    )
    refined = registration.registration_icp(
        *clouds, 3 * voxel, found.transformation, estimation, registration.ICPConvergenceCriteria(1e-7, 1e-7, 60)
    )
    return np.asarray(refined.transformation @ np.diag([rough] * 3 + [1.0]))


def _known_scale(pair: ScaledPair) -> Floats:
    rigid = register(pair.source * pair.scale, pair.target).transformation
    return np.asarray(rigid @ np.diag([pair.scale] * 3 + [1.0]))


@lru_cache(maxsize=4)
def _scaled_pair(job: ScaleJob, data: Path | None) -> ScaledPair:
    pair = pair_of(job.pair, data, job.points)
    rng = np.random.default_rng([SEED, job.start, *job.pair.encode()])
    scale = float(np.exp(rng.uniform(-LARGEST_LOG_SCALE, LARGEST_LOG_SCALE)))
    # The first one would be the pose as scanned.
    *_, start = initial_poses(pair.name, pair.kind, pair.source, job.start + 2)
    back = inverse(start) @ np.diag([scale] * 3 + [1.0])

    def truth(found: Floats) -> Floats:
        rigid = found @ np.diag([1 / scale] * 3 + [1.0]) @ start
        return np.asarray(pair.nearest_truth(rigid) @ back)

    source = transform(start, pair.source) / scale
    return ScaledPair(source, pair.target, truth, scale, pair.max_degrees, pair.tolerance, pair.voxel)


@lru_cache(maxsize=4)
def _cross_modal_pair(job: ScaleJob) -> ScaledPair:
    pair = photogrammetric_pair(job.pair, points=job.points, seed=job.start)
    kind = {"room": "indoor", "facade": "tls"}.get(job.pair, "object")
    size = diagonal(pair.target)
    tolerance = MAX_METRES.get(kind, MAX_SHARE * size)
    scale = scale_of(pair.T_target_source)
    return ScaledPair(
        pair.source, pair.target, lambda _: pair.T_target_source, scale, MAX_DEGREES[kind], tolerance, size / 200
    )


def _time_ratios(rows: Sequence[dict[str, Any]], method: str, kind: str) -> Iterator[float]:
    known = {(row["pair"], row["kind"], row["start"]): row["seconds"] for row in rows if row["method"] == KNOWN}
    for row in rows:
        if row["method"] == method and kind in (row["kind"], "all"):
            yield row["seconds"] / known[row["pair"], row["kind"], row["start"]]
