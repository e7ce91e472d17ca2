"""multiway(): register many scans, in any order and pose, into one frame. The stages on one page.

describe  preprocess each scan once; similarity of each two scans (VLAD retrieval with geometric verification)
register  the most similar pairs, each with its verdict; where they leave scans unconnected, the next most similar ones
optimise  the pose graph of the successful pairs, robustly: edges that contradict the others are rejected
close     loop closure: register pairs that overlap in these poses and have no edge yet; then optimise again
verify    where one scan alone connects two parts, its edges to one of them are rejected if scans around it overlap and
          do not register; then groups that are not connected any more try their next most similar pairs, and all is
          optimised again
refine    multiview refinement of all poses together on the surfaces of all scans
adjust    control points and targets join groups, and count in one least squares with the pairs; standard deviations
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from graphreg.clouds import MIN_EXTENT, Cloud, Floats, Mask, as_cloud, extent
from graphreg.engine.preprocessing import PreprocessedCloud
from graphreg.engine.settings import EngineSettings
from graphreg.errors import InputError
from graphreg.feedback.progress_bars import Progress, check_progress
from graphreg.files.control_points import ControlPoint
from graphreg.multiscan.edge_verification import VERIFICATION, log_odds, weakest_connections, witnesses_of
from graphreg.multiscan.multiview_refinement import refine_multiview
from graphreg.multiscan.multiway_result import ControlResidual, Edge, Multiway
from graphreg.multiscan.network_adjustment import Sightings, adjust_network, place_groups
from graphreg.multiscan.pairwise import PairwiseRegistration, centred_graph, centroid
from graphreg.multiscan.pose_graph import (
    POSE_GRAPH,
    Groups,
    alternative_support,
    anchors,
    connected_groups,
    residuals,
    spanning_tree_poses,
)
from graphreg.multiscan.pose_graph_optimisation import free_steps, optimise
from graphreg.multiscan.retrieval import (
    RETRIEVAL,
    Pair,
    PlacedSurfels,
    most_similar_pairs,
    overlapping_pairs,
    pairs_between_groups,
    retrieval_surfels,
    scan_similarity,
)
from graphreg.multiscan.survey_inputs import SurveyInputs, checked_survey
from graphreg.poses import PoseGraph, inverse, pose
from graphreg.registration import prepare_sample
from graphreg.threads import thread_count

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class MultiwayParameters:
    """Constants of the stages of multiway registration. All are chosen."""

    # Rounds in which groups that are not connected yet try their next most similar pairs.
    max_rounds: int = 4
    # A pose is doubtful if at least this many rejected edges agree on another one, and at least this share of the
    # number of edges that support it.
    min_alternative_edges: int = 2
    doubtful_share: float = 0.5
    # Squared error above which an edge is an outlier, in place of that of `PoseGraphParameters`: scans are distorted in
    # themselves, so that right edges between fragments of rooms are up to ten standard deviations off, while wrong
    # edges contradict by hundreds.
    outlier_threshold: float = 100.0
    # Rejecting an edge costs as much as the log-odds of its confidence say: of these confidences at least and at most,
    # as the verdict knows one pair only, and in units of those of this confidence.
    confidences: tuple[float, float] = (0.6, 0.999)
    usual_confidence: float = 0.95


MULTIWAY = MultiwayParameters()
# Derived: an information matrix is the reciprocal of squared errors, which are far below a scan's extent.
LEAST_EXTENT = MIN_EXTENT**0.5


@dataclass(frozen=True)
class Solution:
    """The optimised pose graph: poses (N, 4, 4) before and after, its edges, and the scans whose pose is doubtful.

    Poses are in a frame of the world whose origin is moved to `origin` (3,), so that large coordinates lose no digits;
    those of a group without a fixed scan are in a frame of its own.
    """

    origin: Floats
    initial_poses: Floats
    poses: Floats
    edges: dict[Pair, Edge]
    doubtful: dict[int, str]

    @property
    def used_pairs(self) -> list[Pair]:
        return [pair for pair, edge in self.edges.items() if edge.used]

    @property
    def groups(self) -> Groups:
        return connected_groups(self.used_pairs, len(self.poses))


def multiway(
    clouds: Sequence[Any],
    *,
    names: Sequence[str] | None = None,
    init: Any = None,
    fixed: Sequence[str | int] = (),
    dof: str | Sequence[str] | None = None,
    control: Sequence[ControlPoint] | None = None,
    voxel: float | None = None,
    seed: int = 0,
    threads: int | None = None,
    progress: bool | Progress | None = None,
) -> Multiway:
    """Register several scans into one frame, in any order and from any pose.

    Parameters
    ----------
    clouds : sequence of array_like
        Two or more clouds: (N, 3) arrays, names of files, or anything else that `register` takes.
    names : sequence of str, optional
        Different names of the scans, for messages and results. The default is those of the files, or scan 0, scan 1,
        ...
    init : (N, 4, 4) array_like, optional
        Initial poses, x_world = P x_scan; NaN for a scan without one. Scans that overlap in these poses are registered
        from there; what these pairs leave unconnected is registered from any pose.
    fixed : sequence of str or int, default ()
        Names or numbers of scans that stay at their initial pose, by default the identity.
    dof : sequence of str, optional
        Degrees of freedom of each pose, as in `register`: ("rz", "x", "y", "z") for levelled scans.
    control : sequence of ControlPoint, optional
        Control points, which bring the scans into the world frame, and targets, which tie scans together: see
        `read_control_points`. Points that contradict the others are left out.
    voxel : float, optional
        Fine voxel size, as in `register`. The default follows from each pair.
    seed : int, default 0
        Seed of the random sampling. The same seed gives the same bits.
    threads : int, optional
        Number of threads, by default all cores. The result does not depend on it.
    progress : bool, callable or bar of tqdm, optional
        True shows a bar. A function is called as progress(done, total) after each pair; the total may grow.

    Returns
    -------
    Multiway
        Scans that could not be registered are named in `left_out`, with the reason.

    Raises
    ------
    InputError
        If an argument cannot be used.

    See Also
    --------
    graphreg.register : Register two clouds.
    graphreg.sequence : Register the frames of a moving sensor.
    graphreg.absolute_orientation : The transform of a single frame from control points alone.

    Examples
    --------
    >>> import graphreg
    >>> from graphreg.datasets import synthetic
    >>> scans = [scan.points for scan in synthetic.sequence("hare", 3, 30, points=4000)]
    >>> result = graphreg.multiway(scans, names=["front", "side", "back"])
    >>> result.success, result.groups, result.left_out
    (True, ((0, 1, 2),), {})
    >>> result.poses.shape
    (3, 4, 4)
    >>> len(result.merged()) == sum(map(len, scans))
    True
    """
    stopwatch = _Stopwatch()
    check_progress(progress)
    with stopwatch.stage("describe"):
        names = _checked_names(clouds, names)
        survey = checked_survey(names, init, fixed, dof, control)
        workers = thread_count(threads)
        accepted, prepared, unusable = _preprocessed(clouds, names, EngineSettings(voxel=voxel), seed)
        usable = list(prepared)
        survey = survey.of_scans(usable)
        scans = [prepared[scan] for scan in usable]
        surfels, retrieval_voxel = retrieval_surfels(scans, workers)
        similarity = scan_similarity(surfels, workers)
    to_clouds = np.array([inverse(scan.T_local_cloud) for scan in scans])
    scan_names = tuple(names[scan] for scan in usable)
    registration = PairwiseRegistration(scans, scan_names, voxel, seed, workers, progress, survey.dof)
    with stopwatch.stage("register"):
        placed = tuple(np.flatnonzero(survey.has_pose).tolist())
        pairs = overlapping_pairs(surfels, retrieval_voxel, survey.start @ to_clouds, (placed,) if placed else ())
        registration.register(pairs, poses=survey.start)
        _register_similar_pairs(registration, similarity, survey)
    for _ in range(MULTIWAY.max_rounds):
        with stopwatch.stage("optimise"):
            solution = _optimised(registration.edges, scans, survey)
        with stopwatch.stage("close"):
            successful = [pair for pair, edge in registration.edges.items() if edge.success]
            pairs = overlapping_pairs(surfels, retrieval_voxel, solution.poses @ to_clouds, solution.groups, successful)
            registration.register(pairs, poses=solution.poses)
        with stopwatch.stage("optimise"):
            solution = _optimised(registration.edges, scans, survey)
        with stopwatch.stage("verify"):
            placed_surfels = PlacedSurfels(surfels, retrieval_voxel, solution.poses @ to_clouds)
            if not _reject_refuted(registration, solution, placed_surfels):
                break
            _register_between_groups(registration, similarity)
    with stopwatch.stage("refine"):
        poses = refine_multiview(
            scans, solution.poses, solution.used_pairs, voxel, workers, fixed=survey.fixed, dof=survey.free
        )
    with stopwatch.stage("adjust"):
        adjusted = _adjusted(scans, solution, poses, survey)
    scan_clouds = tuple(accepted[scan] for scan in usable)
    result = _assembled(scan_names, scan_clouds, solution, adjusted, survey, stopwatch.timings())
    return _with_unusable(result, names, accepted, usable, unusable) if unusable else result


def _register_similar_pairs(
    registration: PairwiseRegistration,
    similarity: Floats,
    survey: SurveyInputs,
    parameters: MultiwayParameters = MULTIWAY,
) -> None:
    """Register the most similar pairs, and more between the groups that these leave unconnected.

    Where all scans have an initial pose, only the latter.
    """
    searched: set[Pair] = set()
    if not survey.has_pose.all():
        successful = {pair for pair, edge in registration.edges.items() if edge.success}
        pairs = [pair for pair in most_similar_pairs(similarity) if pair not in successful]
        registration.register(pairs)
        searched |= set(pairs)
    _register_between_groups(registration, similarity, searched, parameters)


def _register_between_groups(
    registration: PairwiseRegistration,
    similarity: Floats,
    searched: Collection[Pair] | None = None,
    parameters: MultiwayParameters = MULTIWAY,
) -> None:
    """Register the most similar pairs of scans in different groups, of those that were not searched for poses yet."""
    done = set(registration.edges) if searched is None else set(searched)
    for _ in range(parameters.max_rounds):
        pairs = pairs_between_groups(similarity, registration.groups, done)
        if not pairs:
            break
        registration.register(pairs)
        done |= set(pairs)


def _reject_refuted(registration: PairwiseRegistration, solution: Solution, placed: PlacedSurfels) -> bool:
    """Reject used edges of single scans that the scans around these refute; return whether there are any."""
    confidences = {pair: solution.edges[pair].confidence for pair in solution.used_pairs}
    refuted, outcomes = False, dict[Pair, bool]()
    for connection in weakest_connections(confidences):
        witnesses = witnesses_of(connection, placed.overlap, RETRIEVAL.min_overlap)
        untried = [pair for pair in witnesses if pair not in outcomes]
        outcomes |= {
            pair: edge.success
            for pair, edge in zip(untried, registration.attempt(untried, solution.poses), strict=True)
        }
        registers = [outcomes[pair] for pair in witnesses]
        if VERIFICATION.log_odds([confidences[pair] for pair in connection.edges], registers) < 0:
            refuted = True
            why = f"rejected: {registers.count(False)} pairs of scans around it overlap but do not register"
            for pair in connection.edges:
                registration.edges[pair] = replace(registration.edges[pair], success=False, used=False, reason=why)
    return refuted


def _optimised(
    edges: dict[Pair, Edge],
    scans: Sequence[PreprocessedCloud],
    survey: SurveyInputs,
    parameters: MultiwayParameters = MULTIWAY,
) -> Solution:
    """Optimise the pose graph of the successful edges."""
    successful = {pair: edge for pair, edge in edges.items() if edge.success}
    from_centroids = np.array([pose(np.eye(3), centroid(scan)) for scan in scans])
    origin = _world_origin(survey, from_centroids)
    poses = np.tile(np.eye(4), (len(scans), 1, 1))
    poses[survey.fixed] = pose(np.eye(3), -origin) @ survey.start[survey.fixed] @ from_centroids[survey.fixed]
    graph = centred_graph(list(successful.values()), from_centroids, poses)
    confidence = np.array([edge.confidence for edge in successful.values()])
    robust = replace(POSE_GRAPH, outlier_threshold=parameters.outlier_threshold)
    initial = spanning_tree_poses(graph, confidence, survey.fixed)
    trust = log_odds(np.clip(confidence, *parameters.confidences)) / log_odds(parameters.usual_confidence)
    result = optimise(replace(graph, poses=initial), robust, fixed=survey.fixed, dof=survey.free, trust=trust)
    optimised = replace(graph, poses=result.poses)
    judged = dict(edges)
    for (pair, edge), used, error in zip(successful.items(), result.used, residuals(optimised), strict=True):
        judged[pair] = replace(edge, used=bool(used), reason=edge.reason if used else _contradiction(error))
    supporting = np.bincount(graph.pairs[result.used].ravel(), minlength=len(scans)).tolist()
    doubtful = {
        scan: f"{supporting[scan]} edges support its pose, but {against} rejected edges agree on another one"
        for scan, against in enumerate(alternative_support(optimised, result.used, robust).tolist())
        if against >= max(parameters.min_alternative_edges, parameters.doubtful_share * supporting[scan])
    }
    to_centroids = np.array([inverse(T) for T in from_centroids])
    return Solution(origin, initial @ to_centroids, result.poses @ to_centroids, judged, doubtful)


def _world_origin(survey: SurveyInputs, from_centroids: Floats) -> Floats:
    """A point (3,) in the world near the scans or control points, if any."""
    if survey.fixed.any():
        first = int(np.argmax(survey.fixed))
        return np.asarray((survey.start[first] @ from_centroids[first])[:3, 3])
    known = survey.sightings.known
    return np.asarray(survey.sightings.world[known].mean(axis=0)) if known.any() else np.zeros(3)


@dataclass(frozen=True, eq=False)
class _Adjusted:
    """Poses in the frame of the world, or of each group, and what is known of their accuracy."""

    poses: Floats
    groups: Groups
    in_world: bool
    covariances: Floats
    control: tuple[ControlResidual, ...]


def _adjusted(
    scans: Sequence[PreprocessedCloud], solution: Solution, refined: Floats, survey: SurveyInputs
) -> _Adjusted:
    """Adjust the refined poses to control points and targets.

    The relative poses of the used pairs are the observations, with the information matrices of the edges. As the
    refined poses minimise the errors of the pairs, this is the minimum of pairs and points together.
    """
    from_centroids = np.array([pose(np.eye(3), centroid(scan)) for scan in scans])
    to_centroids = np.array([inverse(T) for T in from_centroids])
    seen = survey.sightings
    centred = replace(
        seen, positions=seen.positions + to_centroids[seen.scans, :3, 3], world=seen.world - solution.origin
    )
    placement = place_groups(refined @ from_centroids, solution.groups, survey.fixed, centred, survey.dof)
    first = placement.groups[0] if placement.groups else ()
    inside = np.isin(seen.scans, first)
    tied = replace(
        centred,
        scans=seen.scans[inside],
        points=seen.points[inside],
        positions=centred.positions[inside],
        sigma=seen.sigma[inside],
        world=centred.world if placement.in_world else np.full_like(centred.world, np.nan),
    )
    grouped = {scan for group in placement.groups for scan in group}
    alone = tuple((scan,) for scan in range(len(scans)) if scan not in grouped)
    anchored = anchors((*placement.groups, *alone), survey.fixed)
    if placement.in_world:
        anchored[list(first)] = survey.fixed[list(first)]
    pairs = np.array(solution.used_pairs, np.intp).reshape(-1, 2)
    observed = [inverse(placement.poses[target]) @ placement.poses[source] for source, target in pairs]
    information = [solution.edges[pair].information for pair in solution.used_pairs]
    graph = PoseGraph(
        placement.poses,
        pairs,
        np.array(observed).reshape(-1, 4, 4),
        np.array(information, np.float64).reshape(-1, 6, 6),
    )
    network = adjust_network(graph, free_steps(anchored, survey.free), tied, placement.agreeing[inside])
    poses = network.poses if inside.any() else placement.poses
    return _Adjusted(
        poses @ to_centroids,
        placement.groups,
        placement.in_world,
        network.covariances,
        _control_residuals(seen, inside, network.residuals, network.probabilities, network.used),
    )


def _control_residuals(
    seen: Sightings, inside: Mask, residual: Floats, probability: Floats, used: Mask
) -> tuple[ControlResidual, ...]:
    """Of all sightings; those outside of the first group have no residual."""
    row = np.cumsum(inside) - 1
    return tuple(
        ControlResidual(
            seen.names[point],
            int(seen.scans[number]),
            bool(seen.known[point]),
            residual[row[number]] if inside[number] else np.full(3, np.nan),
            float(seen.sigma[number]),
            float(probability[row[number]]) if inside[number] else float("nan"),
            bool(inside[number] and used[row[number]]),
        )
        for number, point in enumerate(seen.points.tolist())
    )


def _assembled(
    names: tuple[str, ...],
    clouds: tuple[Cloud, ...],
    solution: Solution,
    adjusted: _Adjusted,
    survey: SurveyInputs,
    timings: dict[str, float],
) -> Multiway:
    """The result: poses in the frame of each group, and what is said of the other scans."""
    grouped = {scan for group in adjusted.groups for scan in group}
    alone = [scan for scan in range(len(names)) if scan not in grouped]
    poses = np.full_like(adjusted.poses, np.nan)
    for number, group in enumerate(adjusted.groups):
        if adjusted.in_world and number == 0:
            to_frame = pose(np.eye(3), solution.origin)
        else:
            to_frame = survey.start[group[0]] @ inverse(adjusted.poses[group[0]])
        for scan in group:
            poses[scan] = to_frame @ adjusted.poses[scan]
        if not (adjusted.in_world and number == 0):
            poses[group[0]] = survey.start[group[0]]
    poses[survey.fixed] = survey.start[survey.fixed]
    covariances = adjusted.covariances.copy()
    covariances[alone] = np.nan
    return Multiway(
        names=names,
        poses=poses,
        groups=adjusted.groups,
        left_out={names[scan]: _why_left_out(scan, names, solution.edges) for scan in alone},
        doubtful={names[scan]: why for scan, why in solution.doubtful.items() if scan in grouped},
        edges=tuple(solution.edges.values()),
        initial_poses=_in_frames_of(poses, solution.initial_poses, solution.groups),
        timings=timings,
        clouds=clouds,
        covariances=covariances,
        fixed=tuple(np.flatnonzero(survey.fixed).tolist()),
        control=adjusted.control,
        in_world=adjusted.in_world,
    )


def _in_frames_of(reference: Floats, poses: Floats, groups: Groups) -> Floats:
    """Poses with each group transformed as a whole, so that its first pose is that of the reference."""
    result = np.empty_like(poses)
    for group in groups:
        for scan in group:
            result[scan] = reference[group[0]] @ inverse(poses[group[0]]) @ poses[scan]
        result[group[0]] = reference[group[0]]
    return result


def _why_left_out(scan: int, names: Sequence[str], edges: dict[Pair, Edge]) -> str:
    tried = [edge for pair, edge in edges.items() if scan in pair]
    if not tried:
        return "no other scan is similar to it"
    best = max(tried, key=lambda edge: edge.confidence)
    other = names[best.source + best.target - scan]
    return f"not registered to any of {len(tried)} scans; the best was {other}: {best.reason}"


def _contradiction(residual: Floats) -> str:
    degrees, distance = np.degrees(np.linalg.norm(residual[:3])), np.linalg.norm(residual[3:])
    return f"rejected: the other edges contradict it by {degrees:.2g} degrees and {distance:.2g}"


def _checked_names(clouds: Any, names: Sequence[str] | None) -> tuple[str, ...]:
    """A name for each of at least two clouds."""
    if isinstance(clouds, (str, bytes)) or not isinstance(clouds, Sequence) or len(clouds) < 2:
        got = f"{len(clouds)}" if isinstance(clouds, (list, tuple)) else type(clouds).__name__
        raise InputError(f"clouds: expected a list of at least two, got {got}")
    if not (names is None or isinstance(names, Iterable)):
        raise InputError(f"names: expected {len(clouds)} different ones, got {names!r}")
    checked = _default_names(clouds) if names is None else tuple(map(str, names))
    if len(checked) != len(clouds) or len(set(checked)) < len(checked):
        raise InputError(f"names: expected {len(clouds)} different ones, got {', '.join(checked)}")
    return checked


def _default_names(clouds: Sequence[Any]) -> tuple[str, ...]:
    """Names of files, where the clouds are files of different names; else scan 0, scan 1, ..."""
    files = tuple(Path(cloud).name for cloud in clouds if isinstance(cloud, (str, os.PathLike)))
    different = len(set(files)) == len(clouds)
    return files if different else tuple(f"scan {number}" for number in range(len(clouds)))


def _preprocessed(
    clouds: Sequence[Any], names: Sequence[str], settings: EngineSettings, seed: int
) -> tuple[tuple[Cloud, ...], dict[int, PreprocessedCloud], dict[str, str]]:
    """The clouds, checked; the scans that are made of them, by number; and which cannot be used, and why."""
    least = settings.k + 1
    accepted = tuple(as_cloud(cloud, name, 0) for cloud, name in zip(clouds, names, strict=True))
    scans: dict[int, PreprocessedCloud] = {}
    unusable: dict[str, str] = {}
    for number, (name, cloud) in enumerate(zip(names, accepted, strict=True)):
        scan = prepare_sample(cloud, seed=seed) if len(cloud) >= least else None
        if scan is None or len(scan) < least:
            count = f"{len(cloud)} points" if scan is None else f"{len(scan)} distinct points"
            unusable[name] = f"has {count}, but at least {least} are needed"
        elif (size := extent(scan.local_points)) < LEAST_EXTENT:
            unusable[name] = f"has an extent of {size:g}, too small for a pose graph"
        else:
            scans[number] = scan
    if len(scans) < 2:
        name, why = next(iter(unusable.items()))
        raise InputError(f"{name}: {why}")
    return accepted, scans, unusable


def _with_unusable(
    result: Multiway, names: tuple[str, ...], clouds: tuple[Cloud, ...], usable: list[int], unusable: dict[str, str]
) -> Multiway:
    """A result of the usable scans as one of all scans, of which the others are left out."""

    def expanded(values: Floats) -> Floats:
        every = np.full((len(names), *values.shape[1:]), np.nan)
        every[usable] = values
        return every

    return replace(
        result,
        names=names,
        poses=expanded(result.poses),
        groups=tuple(tuple(usable[scan] for scan in group) for group in result.groups),
        left_out={**unusable, **result.left_out},
        edges=tuple(replace(edge, source=usable[edge.source], target=usable[edge.target]) for edge in result.edges),
        initial_poses=expanded(result.initial_poses),
        clouds=clouds,
        covariances=expanded(result.covariances),
        fixed=tuple(usable[scan] for scan in result.fixed),
        control=tuple(replace(point, scan=usable[point.scan]) for point in result.control),
    )


class _Stopwatch:
    """Seconds of each stage, summed where a stage runs twice."""

    def __init__(self) -> None:
        self._began = time.perf_counter()
        self._stages: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        began = time.perf_counter()
        yield
        seconds = time.perf_counter() - began
        _log.debug("multiway, %s: %.3f s", name, seconds)
        self._stages[name] = self._stages.get(name, 0.0) + seconds

    def timings(self) -> dict[str, float]:
        """The stages, and the total since the start."""
        return {**self._stages, "total": time.perf_counter() - self._began}
