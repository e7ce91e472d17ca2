"""Runs of the experiment on confidence: pairs that match, pairs that are ambiguous, and clouds that do not match.

Pairs are registered from several initial poses, clean and corrupted, up to ten outliers for each point; beside ours,
samples of lists of public data sets. A pose of an ambiguous pair is right only if the pair determines it. For clouds
that do not match every pose is wrong: different bodies and scenes, scaled to the same size, the two halves of a scan,
fragments of rooms that do not overlap, noise. A row has everything that the verdict is based on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import lru_cache
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from graphreg.bench.calibration import ALTERNATIVES, normalised_error
from graphreg.bench.comparison_runs import ROTATION_ERROR
from graphreg.bench.confidence_fragments import fragments_apart
from graphreg.bench.corruption import CLEAN, CORRUPTIONS, UNIFORM_OUTLIERS, Corruption
from graphreg.bench.initial_poses import diagonal, initial_poses
from graphreg.bench.pairs import (
    MAX_DEGREES,
    MAX_SHARE,
    PREFIX,
    Pair,
    entries_of,
    kinds_of,
    listed_pair,
    pair_of,
    points_of,
    select,
)
from graphreg.bench.ranking import FEATURES, RIGHT
from graphreg.clouds import Floats, as_cloud
from graphreg.datasets import ambiguous_scenes, synthetic
from graphreg.engine.engine_run import EngineRun
from graphreg.engine.observability import Observability, median_roughness
from graphreg.engine.outcome import EngineOutcome
from graphreg.engine.pyramid import to_pyramid_frames
from graphreg.engine.unequal_sizes import register_or_locate
from graphreg.engine.verdict import verdict_features
from graphreg.errors import InputError
from graphreg.files import read
from graphreg.metrics import angular_error, rmsd, translation_error
from graphreg.poses import fit_rigid_transform, inverse, principal_frame, transform
from graphreg.threads import thread_count

STARTS, QUICK_STARTS = 8, 1
# Noise for synthetic pairs, to compare the covariance with the errors; in scenes 0.8 % would be half a metre.
LITTLE_NOISE = Corruption("noise 0.2 %", noise=0.002)
LITTLE_NOISE_IN_SCENES = Corruption("noise 0.05 %", noise=0.0005)
# Pairs of different clouds, sampled from all there are; individuals of each synthetic body and scene.
DIFFERENT = 200
VARIANTS = 2
QUICK_DIFFERENT, QUICK_FAMILIES = 4, ("hare", "casting", "room")
# The halves of these can be aligned to each other.
SYMMETRIC = ("teapot",)
# Initial poses of pairs with uniform outliers.
OUTLIER_STARTS = 2
# Lists of the form of pairs.json, how many of their pairs are sampled, and from how many initial poses.
LISTS = {"3dmatch.json": (400, 1), "low_overlap.json": (400, 4), "lidar_far.json": (400, 4)}
# What the benchmark of 3DMatch counts as right, in degrees and metres: beside the published pose, or beside the one
# that ICP with points this close, in metres, makes of it. Some of the published ones are off by more than 0.3 m.
BENCHMARK_LIST, BENCHMARK_TOLERANCE = "3dmatch.json", (15.0, 0.3)
REFINED_TRUTH_DISTANCE, REFINED_TRUTH_STEPS = 0.1, 60
REFINED_TRUTH = "correct beside the refined ground truth only"
# Of a body of revolution every rotation about its axis is right, and none is determined.
OF_REVOLUTION = "body of revolution"
# Pairs of fragments that do not overlap.
FRAGMENTS = 600
# Samples of each ambiguous scene.
AMBIGUOUS_SEEDS = 12
QUICK_AMBIGUOUS, QUICK_AMBIGUOUS_POINTS = ("cube", "stairs", "plate with a boss", "uniform noise"), 2000
GROUPS = ("pairs", "outliers", "lists", "ambiguous", "different", "halves", "fragments")


@dataclass(frozen=True)
class Match:
    """A pair with one corruption, from all its initial poses."""

    pair: str
    corruption: Corruption
    starts: int
    points: int | None


@dataclass(frozen=True)
class Different:
    """Clouds of different subjects."""

    source: str
    target: str
    quick: bool


@dataclass(frozen=True)
class Halves:
    """The halves of a cloud, on either side of its median along a principal axis."""

    cloud: str
    axis: int
    quick: bool


@dataclass(frozen=True)
class Listed:
    """A pair of a list, from all its initial poses."""

    list: str
    pair: str
    starts: int


@dataclass(frozen=True)
class Ambiguous:
    """A pair of an ambiguous scene, or of noise."""

    scene: str
    seed: int
    points: int | None


@dataclass(frozen=True)
class Apart:
    """Fragments of rooms that do not overlap."""

    group: str
    source: str
    target: str


Job = Match | Different | Halves | Listed | Ambiguous | Apart


def jobs(
    data: Path | None,
    quick: bool = False,
    starts: int | None = None,
    pairs: str | None = None,
    groups: str | None = None,
) -> list[Job]:
    """Return the jobs of the groups, which are separated by commas; by default of all `GROUPS`."""
    made: dict[str, Callable[[], Iterable[Job]]] = {
        "pairs": lambda: _matches(data, quick, starts, pairs),
        "outliers": lambda: _outliers(data, quick, starts, pairs),
        "lists": lambda: [] if data is None else _listed(data, starts),
        "ambiguous": lambda: _ambiguous(quick),
        "different": lambda: _different(data, quick),
        "halves": lambda: _halves(data, quick),
        "fragments": lambda: [] if data is None else [Apart(*each) for each in fragments_apart(data, FRAGMENTS)],
    }
    asked = GROUPS if groups is None else tuple(groups.split(","))
    if unknown := set(asked) - set(GROUPS):
        raise InputError(f"groups: {min(unknown)!r} is none of {', '.join(GROUPS)}")
    return [job for name in GROUPS if name in asked for job in made[name]()]


def _selected(data: Path | None, quick: bool, pairs: str | None) -> dict[str, str]:
    known = {**kinds_of(None), **(kinds_of(data) if data is not None else {})}
    quick_pairs = ",".join(f"{PREFIX}{family}_?0" for family in QUICK_FAMILIES)
    return select(known, pairs or (quick_pairs if quick else "*"))


def _matches(data: Path | None, quick: bool, starts: int | None, pairs: str | None) -> Iterator[Match]:
    for name, kind in _selected(data, quick, pairs).items():
        for corruption in (
            CLEAN,
            *(CORRUPTIONS if kind == "object" else ()),
            *((LITTLE_NOISE if kind == "object" else LITTLE_NOISE_IN_SCENES,) if name.startswith(PREFIX) else ()),
        ):
            yield Match(name, corruption, starts or (QUICK_STARTS if quick else STARTS), points_of(name, quick))


def _outliers(data: Path | None, quick: bool, starts: int | None, pairs: str | None) -> Iterator[Match]:
    for name, kind in _selected(data, quick, pairs).items():
        for corruption in UNIFORM_OUTLIERS[:: 4 if quick else 1]:
            if kind == "object":
                yield Match(name, corruption, starts or (1 if quick else OUTLIER_STARTS), points_of(name, quick))


def _listed(data: Path, starts: int | None) -> Iterator[Listed]:
    for name, (count, usual) in LISTS.items():
        entries = entries_of(data, name) if (data / name).is_file() else []
        for number in sorted(np.random.default_rng(0).permutation(len(entries))[:count]):
            yield Listed(name, entries[number]["name"], starts or usual)


def _ambiguous(quick: bool) -> list[Ambiguous]:
    if quick:
        return [Ambiguous(name, 0, QUICK_AMBIGUOUS_POINTS) for name in QUICK_AMBIGUOUS]
    return [Ambiguous(name, seed, None) for seed in range(AMBIGUOUS_SEEDS) for name in ambiguous_scenes.names()]


def _families(data: Path | None, quick: bool) -> dict[str, str]:
    return {name: family for name, family in families_of(data).items() if not quick or family in QUICK_FAMILIES}


def _different(data: Path | None, quick: bool) -> list[Different]:
    families = _families(data, quick)
    candidates = [(x, y) for x, y in permutations(families, 2) if families[x] != families[y]]
    sampled = np.random.default_rng(0).permutation(len(candidates))[: QUICK_DIFFERENT if quick else DIFFERENT]
    return [Different(source, target, quick) for source, target in (candidates[number] for number in sampled)]


def _halves(data: Path | None, quick: bool) -> list[Halves]:
    return [
        Halves(name, axis, quick)
        for name, family in _families(data, quick).items()
        if family not in SYMMETRIC
        for axis in range(3)
    ]


def families_of(data: Path | None) -> dict[str, str]:
    """Return {name of a cloud: its subject}. Clouds of different subjects never match."""
    subjects = (*synthetic.bodies(), *synthetic.scenes())
    families = {f"{PREFIX}{subject}_{variant}": subject for subject in subjects for variant in range(VARIANTS)}
    for entry in entries_of(data) if data is not None else ():
        # Names of pairs begin with the subject.
        families |= {entry[end]: entry["name"].split("_")[0] for end in ("source", "target")}
    return families


def measure(job: Job, data: Path | None) -> Iterator[dict[str, Any]]:
    """Yield a row for each registration."""
    if isinstance(job, Match):
        yield from _measure_match(job, data)
    elif isinstance(job, Listed):
        assert data is not None
        yield from _measure_listed(job, data)
    elif isinstance(job, Ambiguous):
        yield _measure_ambiguous(job)
    elif isinstance(job, Different):
        name = f"{job.source} to {job.target}"
        source, target = _cloud(job.source, data, job.quick), _cloud(job.target, data, job.quick)
        yield _measure_negative("different", name, source * diagonal(target) / diagonal(source), target, "different")
    elif isinstance(job, Halves):
        halves = halves_of(_cloud(job.cloud, data, job.quick), job.axis)
        yield _measure_negative("halves", f"{job.cloud}, axis {job.axis}", *halves, "halves")
    else:
        clouds = _cloud(job.source, data, False), _cloud(job.target, data, False)
        yield _measure_negative("apart", f"{job.source} to {job.target}", *clouds, job.group)


def _measure_negative(task: str, name: str, source: Floats, target: Floats, group: str) -> dict[str, Any]:
    _, start = initial_poses(name, "object", source, 2)
    verdict, _, _ = _judged(transform(start, source), target)
    return {**_about(task, name, task, group, 1), "correct": False, **verdict, **_errors(None, None, None)}


def _measure_match(job: Match, data: Path | None) -> Iterator[dict[str, Any]]:
    pair = pair_of(job.pair, data, job.points)
    group = job.corruption.name if job.corruption in UNIFORM_OUTLIERS else "pairs"
    for number, start in enumerate(initial_poses(pair.name, pair.kind, pair.source, job.starts)):
        # Corrupted anew for each initial pose, so that the errors are independent.
        source = job.corruption.apply(pair.source, 2 * number)
        target = job.corruption.apply(pair.target, 2 * number + 1)

        def is_right(T: Floats, start: Floats = start) -> bool:
            return pair.is_correct(*pair.errors(T @ start))

        verdict, found, observability = _judged(transform(start, source), target, is_right)
        degrees, distance = pair.errors(found @ start)
        correct = pair.is_correct(degrees, distance)
        truth = pair.nearest_truth(found @ start) @ inverse(start)
        nees = normalised_error(found, truth, observability) if correct and observability is not None else None
        about = _about("match", job.pair, pair.kind, group, number, job.corruption)
        symmetric = {OF_REVOLUTION: pair.axis is not None}
        yield {**about, "correct": correct, **symmetric, **verdict, **_errors(degrees, distance, nees)}


def _measure_listed(job: Listed, data: Path) -> Iterator[dict[str, Any]]:
    entry = next(entry for entry in entries_of(data, job.list) if entry["name"] == job.pair)
    pair, benchmark = listed_pair(entry, data), job.list == BENCHMARK_LIST
    # Every initial pose is random: as scanned, fragments may be aligned already.
    for number, start in enumerate(initial_poses(pair.name, pair.kind, pair.source, job.starts + 1)):
        if number:

            def is_right(T: Floats, start: Floats = start) -> bool:
                return _near(T @ start, pair.truth) if benchmark else pair.is_correct(*pair.errors(T @ start))

            verdict, found, _ = _judged(transform(start, pair.source), pair.target, is_right)
            errors, published = pair.errors(found @ start), is_right(found)
            refined = benchmark and not published and _near(found @ start, refined_truth(pair))
            # Names of the benchmark's pairs begin with that of its list of pairs.
            group = job.pair.split("_")[0] if benchmark else job.list.removesuffix(".json")
            about = _about("listed", job.pair, pair.kind, group, number)
            correct = {"correct": published or refined, REFINED_TRUTH: refined}
            yield {**about, "scene": scene_of(entry["source"]), **correct, **verdict, **_errors(*errors, None)}


def _near(found: Floats, truth: Floats) -> bool:
    """Whether the benchmark of 3DMatch counts a pose as right."""
    degrees, metres = BENCHMARK_TOLERANCE
    return angular_error(found, truth) < degrees and translation_error(found, truth) < metres


def refined_truth(pair: Pair) -> Floats:
    """Return the ground truth of a pair after point-to-point ICP with all points that it brings close."""
    tree, T = cKDTree(pair.target), pair.truth
    for _ in range(REFINED_TRUTH_STEPS):
        moved = transform(T, pair.source)
        distances, nearest = tree.query(moved, distance_upper_bound=REFINED_TRUTH_DISTANCE)
        close = np.isfinite(distances)
        if np.count_nonzero(close) < 3:
            break
        T = fit_rigid_transform(moved[close], pair.target[np.asarray(nearest)[close]]) @ T
    return np.asarray(T)


def _measure_ambiguous(job: Ambiguous) -> dict[str, Any]:
    points = {} if job.points is None else {"points": job.points}
    pair = ambiguous_scenes.pair(job.scene, seed=job.seed, **points)
    verdict, found, _ = _judged(pair.source, pair.target)
    tolerance = MAX_SHARE * diagonal(pair.target)

    def matches(truth: Floats) -> bool:
        return angular_error(found, truth) <= MAX_DEGREES["object"] and rmsd(found, truth, pair.source) <= tolerance

    degrees, distance = angular_error(found, pair.equivalent[0]), rmsd(found, pair.equivalent[0], pair.source)
    group = "noise" if job.scene.endswith("noise") else "determined by a feature" if pair.determined else "ambiguous"
    return {
        **_about("ambiguous", job.scene, group, group, job.seed),
        "correct": pair.determined and matches(pair.T_target_source),
        "equivalent": any(map(matches, pair.equivalent)),
        **verdict,
        **_errors(degrees, distance / tolerance, None),
    }


def _about(task: str, pair: str, kind: str, group: str, number: int, corruption: Corruption = CLEAN) -> dict[str, Any]:
    """What a row is about: `group` for the summaries, `scene` for the cross-validation."""
    return {
        "task": task, "pair": pair, "kind": kind, "group": group, "scene": scene_of(pair),
        "corruption": corruption.name, "initial pose": number,
    }  # fmt: skip


def _errors(degrees: float | None, distance: float | None, nees: float | None) -> dict[str, Any]:
    return {ROTATION_ERROR: degrees, "rmsd / tolerance": distance, "NEES / 6": nees}


def scene_of(name: str) -> str:
    """Return the object or scene of a pair or a path; of clouds that do not match, that of the source."""
    short = name.removeprefix(PREFIX)
    for prefix in ("stanford_", "3dmatch_", "3DMatch_", "3DLoMatch_"):
        short = short.removeprefix(prefix)
    return short.replace("/", "_").split("_")[0].split()[0]


def _judged(
    source: Floats, target: Floats, is_right: Callable[[Floats], bool] | None = None
) -> tuple[dict[str, Any], Floats, Observability | None]:
    """The verdict with everything it is based on, the transform, and its observability: `register` step by step.

    Where `is_right` says which poses are, with the features of all candidates as well.
    """
    clouds = as_cloud(source, "source").points, as_cloud(target, "target").points
    outcome = register_or_locate(EngineRun(*clouds, threads=thread_count(None)))
    verdict, scores = outcome.verdict, (*(float(score) for score in outcome.evaluation.overlaps), None)
    ranked = {} if is_right is None else _ranked(outcome, is_right)
    observability = verdict.observability
    return (
        {
            "success": verdict.success,
            "confidence": verdict.confidence,
            **{name: _plain(value) for name, value in asdict(verdict.evidence).items()},
            "voxel": outcome.voxel,
            "score": scores[0],
            "runner-up score": scores[1],
            "hypotheses": outcome.hypotheses,
            "degenerate": bool(observability and observability.degenerate_directions),
            "roughness": median_roughness(*outcome.pyramids),
            ALTERNATIVES: [list(verdict_features(each).values()) for each in verdict.alternatives],
            "reason": verdict.reason,
            **ranked,
        },
        outcome.transformation,
        observability,
    )


def _ranked(outcome: EngineOutcome, is_right: Callable[[Floats], bool]) -> dict[str, Any]:
    poses = np.array([to_pyramid_frames(each, *outcome.pyramids) for each in outcome.candidates])
    features = outcome.evidence.ranking_features(poses, thread_count(None))
    return {FEATURES: features.round(5).tolist(), RIGHT: [is_right(each) for each in outcome.candidates]}


def _plain(value: Any) -> Any:
    """A figure of the evidence as JSON can store it: None for what is not a number."""
    if isinstance(value, np.ndarray | tuple | list):
        return [_plain(one) for one in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not np.isfinite(value) else value


def halves_of(points: Floats, axis: int) -> tuple[Floats, Floats]:
    """Split a cloud at the median along a principal axis."""
    along = transform(principal_frame(points), points)[:, axis]
    below = along < np.median(along)
    return points[below], points[~below]


@lru_cache(maxsize=64)
def _cloud(name: str, data: Path | None, quick: bool) -> Floats:
    if name.startswith(PREFIX):
        _, subject, variant = name.split("_")
        return synthetic.scan(subject, points=points_of(name, quick), variant=int(variant)).points
    assert data is not None
    return np.asarray(read(data / name), np.float64)
