"""A small part in a large scene on one page: from two clouds to the poses of the part.

describe  part and scene at the resolution of the part, with an index of the scene
search    descriptors vote for places, each place is searched for poses
choose    one pose a place; equivalent poses, by the symmetry of the part, are one
refine    each on the points of the scene around it, with the verdict on it, as `register` does
retry     at a finer resolution, where a pose is probable, but none was located
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from graphreg.clouds import Floats
from graphreg.engine.engine_run import EngineRun
from graphreg.engine.evidence import Evidence
from graphreg.engine.outcome import EngineOutcome
from graphreg.engine.part_candidates import Instance, distinct_instances, find_instances
from graphreg.engine.part_search import Part, inlier_matches, prepare_part, search_part, search_widely
from graphreg.engine.pipeline import register_graphreg
from graphreg.engine.preprocessing import PreprocessedCloud, preprocess
from graphreg.engine.scene_index import SceneIndex
from graphreg.engine.settings import EngineSettings
from graphreg.engine.surfels import fit_surfels
from graphreg.engine.symmetry import Symmetry, find_symmetry, rotation_about, symmetry_in_words
from graphreg.engine.verdict import VERDICT, OtherPoses, Verdict, judge
from graphreg.engine.voxel_sizes import VOXEL_SIZES
from graphreg.errors import InputError
from graphreg.poses import inverse, pose, transform


@dataclass(frozen=True)
class PartPipelineParameters:
    """Constants of the stages; chosen unless said otherwise.

    Attributes
    ----------
    surfels : tuple of int
        Coarse surfels of the part, to a factor of 2, in the first attempt and in the next;
    most_scene_surfels : int
        the next is made where the scene then has no more than about so many,
    least_probability : float
        and a pose found is at least so probable: what is not there is not there at a finer resolution either.
    most_floating : float
        At the pose of a symmetric part, no more than this share of surfels float then.
    surroundings : float
        A pose is refined on the points of the scene that are this much farther from its centre than the part reaches,
        as a share.
    turns : int
        Rotations about the axis of a body of revolution that correspondences are compared with.
    symmetric_overlap, symmetric_floating : float
        Least overlap of a symmetric part that is located, and largest share of floating surfels: its correspondences
        agree with many poses, and say little.
    logit : tuple of float
        Logit of the probability that the part is there: constant, then the factors of `part_features`. Fitted on the
        queries of `graphreg bench locate` for parts without symmetry, which prints the fit beside the constants in use.
    """

    surfels: tuple[int, int] = (800, 3_200)
    most_scene_surfels: int = 400_000
    least_probability: float = 0.2
    most_floating: float = 0.06
    surroundings: float = 0.15
    turns: int = 24
    symmetric_overlap: float = 0.85
    symmetric_floating: float = 0.03
    logit: tuple[float, ...] = (-2.6, 1.9, -3.8, 1.2, -5.5)


PART_PIPELINE = PartPipelineParameters()


@dataclass(frozen=True, eq=False)
class LocatedPart:
    """A pose of a part in a scene.

    Attributes
    ----------
    outcome : EngineOutcome
        Of the refinement, in the frames of the clouds.
    verdict : Verdict
    runner_up : (4, 4) ndarray or None
        The best pose that contradicts it.
    scores : tuple of float
        Overlap scores of the pose, and of the runner-up.
    hypotheses : int
        Poses proposed.
    equivalent_poses : (K, 4, 4) ndarray
        The pose, and those that the symmetry of the part makes equal to it.
    symmetry : str
        In words; empty where the part has none.
    ratio : float
        Score of the best pose that contradicts it, over that of the pose.
    places : int
        Places that fit equally well, where only one was looked for.
    """

    outcome: EngineOutcome
    verdict: Verdict
    runner_up: Floats | None
    scores: tuple[float, ...]
    hypotheses: int
    equivalent_poses: Floats
    symmetry: str
    ratio: float
    places: int = 1


def locate_part(
    part: PreprocessedCloud,
    scene: PreprocessedCloud,
    most: int,
    settings: EngineSettings,
    seed: int = 0,
    threads: int = 1,
) -> tuple[list[LocatedPart], dict[str, float]]:
    """Return the instances of a part, best first, and the seconds of each stage.

    These are the ones that are located; where there are none, the best pose found, if any.
    """
    best: list[LocatedPart] = []
    timings = dict.fromkeys(("describe", "search", "refine"), 0.0)
    voxels: list[float] = []
    for count in PART_PIPELINE.surfels:
        clock = time.perf_counter()
        small, index = prepare_part(part, scene, count, threads)
        timings["describe"] += time.perf_counter() - clock
        if small.voxel in voxels:  # the points do not allow a finer resolution
            break
        voxels.append(small.voxel)
        found = _locate_at(small, index, most, settings, seed, threads, timings)
        located = [instance for instance in found if instance.verdict.success]
        if located:
            return located[:most], timings
        if any(instance.places > 1 for instance in found):
            return found, timings
        best = sorted(best + found, key=lambda instance: -instance.verdict.confidence)[:1]
        if not any(map(_may_be_there, found)):
            break
        finer = PART_PIPELINE.surfels[1] / PART_PIPELINE.surfels[0]
        if finer * len(index.described) > PART_PIPELINE.most_scene_surfels:
            break
    return best, timings


def part_poses(
    part: PreprocessedCloud, scene: PreprocessedCloud, most: int, wide: bool = False, threads: int = 1
) -> Floats:
    """Return poses of a part in a scene, (P, 4, 4), without a verdict, for a caller with evidence of its own.

    These are the best poses of up to `most` places, then up to half as many others that are best: at one place a part
    may fit in several orientations. `wide` searches many more places, which takes several times as long.
    """
    small, index = prepare_part(part, scene, PART_PIPELINE.surfels[0], threads)
    candidates = search_widely(small, index, threads) if wide else search_part(small, index, most, threads)
    chosen = distinct_instances(small, candidates)[:most]
    chosen += [number for number in range(len(candidates.poses)) if number not in chosen][: most // 2]
    return np.array([_in_scene(T, small, index) for T in candidates.poses[chosen]]).reshape(-1, 4, 4)


def _may_be_there(instance: LocatedPart) -> bool:
    """Whether a pose that is not located may be at a finer resolution."""
    floats = instance.symmetry and instance.verdict.evidence.floating > PART_PIPELINE.most_floating
    return instance.verdict.probability >= PART_PIPELINE.least_probability and not floats


def index_for_part(part: PreprocessedCloud, scene: PreprocessedCloud, threads: int = 1) -> None:
    """Build the index of a scene that the first attempt for parts of this size needs; the scene keeps it."""
    prepare_part(part, scene, PART_PIPELINE.surfels[0], threads)


def _locate_at(
    part: Part,
    index: SceneIndex,
    most: int,
    settings: EngineSettings,
    seed: int,
    threads: int,
    timings: dict[str, float],
) -> list[LocatedPart]:
    """One attempt; best first. Its seconds are added to `timings`."""
    clock = [time.perf_counter()]
    candidates = search_part(part, index, most, threads)
    symmetry = _symmetry(part, threads)
    # One more than wanted: a second place that fits as well makes a single one ambiguous.
    instances = find_instances(part, candidates, symmetry, most + 1)
    clock.append(time.perf_counter())
    refined = [_refine(instance, part, index, settings, seed, threads) for instance in instances]
    found = [
        LocatedPart(
            outcome,
            _verdict(outcome, instance.score_ratio, part, index, symmetry, threads),
            None if instance.runner_up is None else _in_scene(instance.runner_up, part, index),
            (instance.score, *([] if instance.runner_up is None else [instance.runner_up_score])),
            candidates.proposed,
            _equivalent_poses(outcome.transformation, part, symmetry),
            symmetry_in_words(symmetry, part.cloud.T_local_cloud),
            instance.score_ratio,
        )
        for instance, outcome in zip(instances, refined, strict=True)
        if outcome is not None
    ]
    found.sort(key=lambda instance: -instance.verdict.confidence)
    if most == 1:
        found = [_unambiguous(found, part, index, symmetry, threads)] if found else []
    clock.append(time.perf_counter())
    for stage, seconds in zip(("search", "refine"), np.diff(clock), strict=True):
        timings[stage] += float(seconds)
    return found


def _symmetry(part: Part, threads: int) -> Symmetry:
    finest = part.cloud.voxel_sizes.finest
    fine_voxel = min(max(part.voxel / VOXEL_SIZES.fine_per_coarse, finest), part.voxel)
    fine = fit_surfels(part.cloud.local_points, fine_voxel, threads=threads)
    return find_symmetry(part.described.surfels, fine, part.voxel / fine_voxel, threads)


def _in_scene(T: Floats, part: Part, scene: SceneIndex) -> Floats:
    """A pose between the local frames, translation in coarse voxels, as one between the clouds."""
    between = pose(T[:3, :3], T[:3, 3] * part.voxel)
    return np.asarray(inverse(scene.cloud.T_local_cloud) @ between @ part.cloud.T_local_cloud)


def _refine(
    instance: Instance, part: Part, scene: SceneIndex, settings: EngineSettings, seed: int, threads: int
) -> EngineOutcome | None:
    """Refine a pose on the points of the scene around it; None where no surface stands out among them."""
    offsets = part.described.surfels.points - part.centre
    radius = (1 + PART_PIPELINE.surroundings) * float(np.linalg.norm(offsets, axis=1).max())
    around = scene.points_around(transform(instance.T, part.centre[None])[0], radius)
    if len(around) < settings.required_points:
        return None
    piece = transform(inverse(scene.cloud.T_local_cloud), around)
    target = preprocess(piece, "scene", max_points=settings.points, seed=seed)
    try:
        init = _in_scene(instance.T, part, scene)
        return register_graphreg(EngineRun(part.cloud, target, settings, init, seed, threads))
    except InputError:
        return None


def _verdict(
    outcome: EngineOutcome, ratio: float, part: Part, scene: SceneIndex, symmetry: Symmetry, threads: int
) -> Verdict:
    """The verdict on a pose, for which one that is equivalent would be as right.

    Inlier correspondences are counted at the resolution of the search, for normals of either sign, with all equivalent
    poses; rotation about an axis of symmetry is not looked for.
    """
    T = outcome.transformation
    verdict = judge(outcome.evidence, T, OtherPoses(VERDICT.unknown_margin), threads=threads)
    if verdict.observability is None:
        return replace(verdict, reason=verdict.reason.replace("registered", "located", 1))
    poses = _equivalent_poses(T, part, symmetry, PART_PIPELINE.turns)
    inliers, correspondences = inlier_matches(part, scene, [_in_voxels(each, part, scene) for each in poses], threads)
    evidence = replace(verdict.evidence, inliers=inliers, correspondences=correspondences)
    features = part_features(evidence, ratio)
    logit = float(np.dot(PART_PIPELINE.logit, (1.0, *features.values())))
    probability = confidence = float(1 / (1 + np.exp(-logit)))
    directions = verdict.observability.degenerate_directions
    words = symmetry_in_words(symmetry, part.cloud.T_local_cloud)
    degenerate = len(directions) > len(symmetry.axes)
    fits = evidence.overlap >= PART_PIPELINE.symmetric_overlap and evidence.floating <= PART_PIPELINE.symmetric_floating
    if degenerate or (words and not fits):
        confidence *= VERDICT.ambiguous_share
    success = confidence >= VERDICT.success
    finding = "located:" if success else "not located:"
    if degenerate and probability >= VERDICT.probable:
        finding = f"not determined: unconstrained {', '.join(directions)};"
    reason = f"{finding} overlap {100 * evidence.overlap:.0f} %, {inliers} of {correspondences} correspondences are "
    reason += "inliers" + (f"; {words}" if words else "")
    return Verdict(success, confidence, probability, reason, evidence, verdict.observability)


def part_features(evidence: Evidence, ratio: float) -> dict[str, float]:
    """Return what the probability that a part is where it was located depends on.

    Parameters
    ----------
    evidence : Evidence
        With inlier correspondences at the resolution of the search.
    ratio : float
        Score of the best pose that contradicts the pose, over that of the pose.
    """
    return {
        "log(1 + inliers)": float(np.log1p(evidence.inliers)),
        "ratio": min(ratio, 100.0),
        "overlap": evidence.overlap,
        "floating^1/2": float(np.sqrt(evidence.floating)),
    }


def _in_voxels(T: Floats, part: Part, scene: SceneIndex) -> Floats:
    """A pose between the clouds as one between the local frames, translation in coarse voxels."""
    between = scene.cloud.T_local_cloud @ T @ inverse(part.cloud.T_local_cloud)
    return pose(between[:3, :3], between[:3, 3] / part.voxel)


def _equivalent_poses(T: Floats, part: Part, symmetry: Symmetry, turns: int = 1) -> Floats:
    """The pose, and those that the symmetry of the part makes equal to it; `turns` of them about an axis."""
    T_local_part, centre = part.cloud.T_local_cloud, part.centre
    own = list(symmetry.poses)
    if len(symmetry.axes) == 1:
        angles = np.linspace(0, 2 * np.pi, turns, endpoint=False)
        own = [S @ rotation_about(angle * symmetry.axes[0], centre) for S in own for angle in angles]
    scaled = [pose(S[:3, :3], S[:3, 3] * part.voxel) for S in own]
    return np.array([T @ inverse(T_local_part) @ S @ T_local_part for S in scaled])


def _unambiguous(
    found: list[LocatedPart], part: Part, scene: SceneIndex, symmetry: Symmetry, threads: int
) -> LocatedPart:
    """The best of the poses found, judged beside all others."""
    best = found[0]
    places = sum(each.verdict.success for each in found)
    if places > 1:
        reason = best.verdict.reason.replace("located:", f"ambiguous: {places} places fit equally well;", 1)
        confidence = VERDICT.ambiguous_share * best.verdict.confidence
        verdict = replace(best.verdict, success=False, confidence=confidence, reason=reason)
        return replace(best, verdict=verdict, runner_up=found[1].outcome.transformation, places=places)
    others = max([0.0, *best.scores[1:], *(other.scores[0] for other in found[1:])])
    ratio = others / max(best.scores[0], 1e-9)
    return replace(best, ratio=ratio, verdict=_verdict(best.outcome, ratio, part, scene, symmetry, threads))
