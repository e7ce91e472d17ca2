"""multiway(): scans in any order and pose in, one pose for each out, and which of them belong together.

describe  each scan once; how much alike each two are
register  the pairs that are most alike, each with its verdict; where scans are not joined by them, first those of them
          again that have most points in one place, then more pairs
optimise  the pose graph of the pairs that succeeded; edges that contradict the others are found
close     pairs that lie on each other in these poses and were not registered before; the graph once more
refine    all scans at once, surfaces on surfaces
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from graphreg.clouds import Cloud, Floats, Mask, as_cloud
from graphreg.engine.preprocessing import PreprocessedCloud
from graphreg.engine.settings import EngineSettings
from graphreg.engine.surfels import Surfels
from graphreg.errors import InputError
from graphreg.multiscan.multiview_refinement import refine_multiview
from graphreg.multiscan.pose_graph import (
    agreement,
    groups_of,
    optimise,
    residuals,
    rivals,
    spanning_poses,
)
from graphreg.multiscan.retrieval import scan_similarity, surfels_of_scans
from graphreg.poses import PoseGraph, adjoint, inverse, move_cloud, pose, transform
from graphreg.registration import Result, prepare, register
from graphreg.threads import thread_count
from graphreg.voxels import voxel_downsample

# Up to so many scans all pairs are tried; of more, so many for each scan.
FEW, PARTNERS = 8, 6
# Scans that this does not join are seen again with one point in each cell that is so many times as small as those that
# scans usually fill, if more than this share of a scan's points goes by that.
EVEN, UNEVEN = 4.0, 0.1
# Groups that are not joined yet try their next best pairs so many times.
ROUNDS = 4
# Scans that lie on each other by this share in the poses found are registered to each other as well; pieces of surface
# nearer than so many cells lie on each other, if the cosine between their normals is larger than this.
OVERLAP, NEAR, ALONG = 0.3, 1.0, 0.7
# A scan is in doubt if at least two pairs, and so many times as many as hold it, agree to place it elsewhere.
DOUBT = 0.5
# Errors between real scans are up to so many times what the verdict's covariance says, and never less than this share
# of a fine cell.
NARROWER, FLOOR = 8.0, 0.02

Progress = Callable[[int, int], None]
Pair = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Edge:
    """A pair that was registered.

    source, target  numbers of the scans
    transformation  (4, 4): x_target = T x_source; NaN where they could not be registered at all
    success, confidence, overlap  the verdict of this pair
    information     (6, 6): its weight, the inverse of its covariance: turns about the x, y, z axes through the
                    middle of the target (radians), then shifts along them; None where there is no success
    middle          (3,) of the target, in its frame
    used            whether it is part of the answer
    reason          why, or why not
    """

    source: int
    target: int
    transformation: Floats
    success: bool
    confidence: float
    overlap: float
    information: Floats | None
    middle: Floats
    used: bool
    reason: str


@dataclass(frozen=True, eq=False)
class Multiway:
    """What `multiway` found.

    names     of the scans, in the order given
    poses     (N, 4, 4): x = P x_scan in the frame of the first scan of its group; NaN for a scan that is left out
    groups    numbers of the scans that belong together, the largest group first
    left_out  {name: why}: scans that belong to no group
    doubtful  {name: why}: scans that are placed, but that some pairs agree to place elsewhere
    edges     every pair that was tried
    initial_poses  (N, 4, 4): poses before the graph was optimised, composed along its most certain edges
    timings   {stage: seconds}, and the total
    clouds    the scans
    """

    names: tuple[str, ...]
    poses: Floats
    groups: tuple[tuple[int, ...], ...]
    left_out: dict[str, str]
    doubtful: dict[str, str]
    edges: tuple[Edge, ...]
    initial_poses: Floats
    timings: dict[str, float]
    clouds: tuple[Cloud, ...]

    @property
    def success(self) -> bool:
        """Whether all scans are placed in one group, without doubt."""
        return len(self.groups) == 1 and not self.left_out and not self.doubtful

    @property
    def graph(self) -> PoseGraph:
        """The pose graph of the pairs that succeeded, used or not; scans that are left out stay at the origin."""
        sure = [edge for edge in self.edges if edge.information is not None]
        # From turns about the middle of the target to turns about its origin.
        about = adjoint(np.array([pose(np.eye(3), -edge.middle) for edge in sure]).reshape(-1, 4, 4))
        information = np.array([edge.information for edge in sure], np.float64).reshape(-1, 6, 6)
        return PoseGraph(
            np.where(np.isnan(self.poses), np.eye(4), self.poses),
            np.array([(edge.source, edge.target) for edge in sure], np.intp).reshape(-1, 2),
            np.array([edge.transformation for edge in sure]).reshape(-1, 4, 4),
            about.transpose(0, 2, 1) @ information @ about,
        )

    def to_json(self) -> str:
        """Names, poses, groups, what was left out, every pair and the timings, as text; the clouds are left out."""

        def pair(edge: Edge) -> dict[str, Any]:
            return {
                "source": self.names[edge.source],
                "target": self.names[edge.target],
                "transformation": None if np.isnan(edge.transformation).any() else edge.transformation.tolist(),
                "success": edge.success,
                "confidence": edge.confidence,
                "overlap": edge.overlap,
                "used": edge.used,
                "reason": edge.reason,
            }

        placed = {scan for group in self.groups for scan in group}
        return json.dumps(
            {
                "success": self.success,
                "names": self.names,
                "poses": [self.poses[scan].tolist() if scan in placed else None for scan in range(len(self.names))],
                "groups": [[self.names[scan] for scan in group] for group in self.groups],
                "left_out": self.left_out,
                "doubtful": self.doubtful,
                "edges": [pair(edge) for edge in self.edges],
                "timings": self.timings,
            },
            allow_nan=False,
        )

    def merged(self, voxel: float | None = None) -> Cloud:
        """The scans of the largest group as one cloud, in the frame of the first; `scan` tells whose each point is.

        voxel  side of a cell, to keep one point of each; points alone are kept then
        """
        if not self.groups:
            raise InputError("merged: no two scans belong together")
        members = [move_cloud(self.poses[scan], self.clouds[scan]) for scan in self.groups[0]]
        points = np.concatenate([cloud.points for cloud in members])
        if voxel is not None:
            return as_cloud(voxel_downsample(points, voxel))
        shared = set.intersection(*(set(cloud.attributes) for cloud in members))
        attributes = {
            name: np.concatenate([cloud.attributes[name] for cloud in members])
            for name in members[0].attributes
            if name in shared and len({cloud.attributes[name].shape[1:] for cloud in members}) == 1
        }
        whose = np.repeat(np.array(self.groups[0], np.int32), [len(cloud) for cloud in members])
        return as_cloud(points, attributes={**attributes, "scan": whose})


def multiway(
    clouds: Sequence[Any],
    *,
    names: Sequence[str] | None = None,
    voxel: float | None = None,
    seed: int = 0,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Multiway:
    """Find one pose for each of several scans, in any order and from any pose.

    clouds    (N, 3) arrays, or anything else that holds points
    names     of the scans, for messages; by default scan 0, scan 1, ...
    voxel     as in `register`; by default one that suits each pair
    seed      of what is drawn at random: the same seed gives the same bits
    threads   how many, by default all; the result is the same for any number
    progress  called as progress(done, total) after each pair; the total may grow

    Scans that fit nowhere are left out and named, with the reason. What cannot be used is an InputError.
    """
    began = time.perf_counter()
    if isinstance(clouds, (str, bytes)) or not isinstance(clouds, Sequence) or len(clouds) < 2:
        raise InputError(f"clouds: expected a list of at least two, got {_described(clouds)}")
    called = tuple(f"scan {number}" for number in range(len(clouds))) if names is None else tuple(map(str, names))
    if len(called) != len(clouds) or len(set(called)) < len(called):
        raise InputError(f"names: expected {len(clouds)} different ones, got {', '.join(called)}")
    settings = EngineSettings(voxel=voxel)
    whole = tuple(as_cloud(cloud, name, settings.k + 1) for cloud, name in zip(clouds, called, strict=True))
    workers = thread_count(threads)
    scans = [prepare(cloud, seed=seed) for cloud in whole]
    for name, scan in zip(called, scans, strict=True):
        if len(scan) <= settings.k:
            raise InputError(f"{name}: holds {len(scan)} different points, but at least {settings.k + 1} are needed")
    surfaces, cell = surfels_of_scans(scans, workers)
    alike = scan_similarity(surfaces, workers)
    described = time.perf_counter()

    edges: dict[Pair, Edge] = {}
    done = 0

    def attempt(wanted: list[Pair], seen: Sequence[PreprocessedCloud], poses: Floats | None = None) -> None:
        """Register these pairs, seen like this; from where they lie, if poses are given."""
        nonlocal done
        total = done + len(wanted)

        def one(pair: Pair) -> Edge:
            source, target = pair
            init = None if poses is None else inverse(poses[target]) @ poses[source]
            try:
                # Pairs run side by side, so each has one thread.
                result = register(seen[source], seen[target], voxel=voxel, init=init, seed=seed, threads=1)
            except InputError as problem:
                told = str(problem).replace("source:", f"{called[source]}:").replace("target:", f"{called[target]}:")
                return Edge(
                    source, target, np.full((4, 4), np.nan), False, 0.0, 0.0, None, _middle(scans[target]), False, told
                )
            return _edge(source, target, result, scans)

        with ThreadPoolExecutor(workers) as pool:
            waiting = [pool.submit(one, pair) for pair in wanted]
            try:
                for pair, future in zip(wanted, waiting, strict=True):
                    found = future.result()
                    if found.success or pair not in edges:
                        edges[pair] = found
                    done += 1
                    if progress is not None:
                        progress(done, total)
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise

    attempt(_most_alike(alike), scans)
    if more := _between_groups(alike, edges, set()):
        even, changed = _evened(scans, workers)
        attempt([pair for pair in more if changed[list(pair)].any()], even)
    for _ in range(ROUNDS):
        if not (more := _between_groups(alike, edges, set(edges))):
            break
        attempt(more, scans)
    registered = time.perf_counter()
    _, poses, so_far, _ = _solved(edges, scans)
    optimised = time.perf_counter()
    if more := _lying_on_each_other(surfaces, scans, cell, poses, so_far):
        attempt(more, scans, poses)
    closed = time.perf_counter()
    start, poses, edges, doubts = _solved(edges, scans)
    solved = time.perf_counter()
    poses = refine_multiview(scans, poses, [pair for pair, edge in edges.items() if edge.used], voxel, workers)
    ended = time.perf_counter()
    timings = {
        "describe": described - began,
        "register": registered - described,
        "close": closed - optimised,
        "optimise": optimised - registered + solved - closed,
        "refine": ended - solved,
        "total": ended - began,
    }
    used = _graph([edge for edge in edges.values() if edge.used], scans)
    groups = tuple(group for group in groups_of(used) if len(group) > 1)
    placed = {scan for group in groups for scan in group}
    return Multiway(
        names=called,
        poses=_in_first_frames(poses, groups),
        groups=groups,
        left_out={called[scan]: _why_alone(scan, called, edges) for scan in range(len(scans)) if scan not in placed},
        doubtful={called[scan]: why for scan, why in doubts.items() if scan in placed},
        edges=tuple(edges.values()),
        initial_poses=_in_first_frames(start, groups),
        timings=timings,
        clouds=whole,
    )


def _most_alike(alike: Floats) -> list[Pair]:
    """All pairs of few scans; of many, those of each scan with the scans most like it."""
    count = len(alike)
    partners = count if count <= FEW else PARTNERS
    order = np.argsort(-(alike - 3 * np.eye(count)), axis=1, kind="stable")[:, : min(partners, count - 1)]
    return sorted({(max(scan, other), min(scan, other)) for scan in range(count) for other in order[scan].tolist()})


def _between_groups(alike: Floats, edges: dict[Pair, Edge], but: set[Pair]) -> list[Pair]:
    """For each group but the largest, the pairs with other groups that are most alike, but for some."""
    count = len(alike)
    joined = np.array([pair for pair, edge in edges.items() if edge.success], np.intp).reshape(-1, 2)
    groups = groups_of(PoseGraph(np.zeros((count, 4, 4)), joined, np.zeros((0, 4, 4)), np.zeros((0, 6, 6))))
    wanted: set[Pair] = set()
    for group in groups[1:]:
        outside = [scan for scan in range(count) if scan not in group]
        pairs = [(max(a, b), min(a, b)) for a in group for b in outside]
        others = [pair for pair in pairs if pair not in but]
        wanted |= set(sorted(others, key=lambda pair: (-alike[pair], pair))[:PARTNERS])
    return sorted(wanted)


def _evened(scans: Sequence[PreprocessedCloud], threads: int) -> tuple[list[PreprocessedCloud], Mask]:
    """The scans with no more points in one place than a few times as many as are usual; and which of them changed.

    Where the scanner stood close to something, most points lie on that, and cells that suit it are too small for all
    else. Others may stand close as well, so that of the wider cells is taken.
    """
    side = float(np.quantile([scan.sides[2] for scan in scans], 0.75, method="higher")) / EVEN
    even = [scan.thinned(side, threads) for scan in scans]
    changed = [len(after) < (1 - UNEVEN) * len(before) for before, after in zip(scans, even, strict=True)]
    return even, np.array(changed)


def _lying_on_each_other(
    surfaces: Sequence[Surfels], scans: Sequence[PreprocessedCloud], cell: float, poses: Floats, edges: dict[Pair, Edge]
) -> list[Pair]:
    """Of the pairs that have no success yet, those of each scan that overlap most in these poses."""
    from scipy.spatial import cKDTree

    placed, normals = [], []
    for scan, surface, here in zip(scans, surfaces, poses, strict=True):
        motion = here @ inverse(scan.home)
        placed.append(transform(motion, surface.points * cell))
        normals.append(surface.normals @ motion[:3, :3].T)
    trees = [cKDTree(points) for points in placed]
    used = _graph([edge for edge in edges.values() if edge.used], scans)
    shares: dict[Pair, float] = {}
    for group in groups_of(used):
        for source, target in ((b, a) for a in group for b in group if a < b):
            if (source, target) not in edges or not edges[source, target].success:
                distance, index = trees[target].query(placed[source], distance_upper_bound=NEAR * cell)
                near = np.isfinite(distance)
                cosine = np.einsum("ij,ij->i", normals[source][near], normals[target][np.asarray(index)[near]])
                shares[source, target] = np.count_nonzero(cosine > ALONG) / len(near)
    chosen: set[Pair] = set()
    for number in range(len(scans)):
        mine = [pair for pair, share in shares.items() if number in pair and share >= OVERLAP]
        chosen |= set(sorted(mine, key=lambda pair: (-shares[pair], pair))[:PARTNERS])
    return sorted(chosen)


def _edge(source: int, target: int, result: Result, scans: Sequence[PreprocessedCloud]) -> Edge:
    """What a registration says of a pair; its weight is about the middle of the target."""
    information = None
    if result.success and result.covariance is not None and result.centre is not None:
        reach = float(np.sqrt((scans[target].local ** 2).sum(axis=1).mean())) or 1.0
        floor = FLOOR * result.settings["voxel"] * np.repeat([1 / reach, 1.0], 3)
        # From turns about the middle of the overlap to turns about that of the target.
        about = adjoint(pose(np.eye(3), result.centre - _middle(scans[target])))
        covariance = about @ (NARROWER**2 * result.covariance + np.diag(floor**2)) @ about.T
        information = np.linalg.inv(covariance)
        information = (information + information.T) / 2
    success = information is not None
    return Edge(
        source, target, result.transformation, success, result.confidence, result.overlap, information,
        _middle(scans[target]), success, result.reason,
    )  # fmt: skip


def _graph(edges: Sequence[Edge], scans: Sequence[PreprocessedCloud]) -> PoseGraph:
    """The pose graph of edges that succeeded; frames are moved to the middle of each scan, so that no digit is lost."""
    to_middle = [pose(np.eye(3), -_middle(scan)) for scan in scans]
    motions = [to_middle[edge.target] @ edge.transformation @ inverse(to_middle[edge.source]) for edge in edges]
    return PoseGraph(
        np.tile(np.eye(4), (len(scans), 1, 1)),
        np.array([(edge.source, edge.target) for edge in edges], np.intp).reshape(-1, 2),
        np.array(motions).reshape(-1, 4, 4),
        np.array([edge.information for edge in edges], np.float64).reshape(-1, 6, 6),
    )


def _solved(
    edges: dict[Pair, Edge], scans: Sequence[PreprocessedCloud]
) -> tuple[Floats, Floats, dict[Pair, Edge], dict[int, str]]:
    """Poses along the most certain edges; optimised poses; the edges, told which are used; which scans are in doubt."""
    sure = {pair: edge for pair, edge in edges.items() if edge.success}
    graph = _graph(list(sure.values()), scans)
    trust = np.array([edge.confidence for edge in sure.values()])
    # What other edges bear out comes first.
    start = spanning_poses(graph, np.minimum(agreement(graph), 2) + trust)
    found = optimise(replace(graph, poses=start))
    off = residuals(replace(graph, poses=found.poses))
    told = dict(edges)
    for (pair, edge), used, error in zip(sure.items(), found.used, off, strict=True):
        degrees, shift = np.degrees(np.linalg.norm(error[:3])), np.linalg.norm(error[3:])
        wrong = f"wrong: the other pairs contradict it by {degrees:.2g} degrees and {shift:.2g}"
        told[pair] = replace(edge, used=bool(used), reason=edge.reason if used else wrong)
    from_middle = np.array([pose(np.eye(3), -_middle(scan)) for scan in scans])
    hold = np.bincount(graph.pairs[found.used].ravel(), minlength=len(scans)).tolist()
    doubts = {
        scan: f"{hold[scan]} pairs hold it where it is, but {against} others agree to place it elsewhere"
        for scan, against in enumerate(rivals(replace(graph, poses=found.poses), found.used).tolist())
        if against >= max(2, DOUBT * hold[scan])
    }
    return start @ from_middle, found.poses @ from_middle, told, doubts


def _in_first_frames(poses: Floats, groups: tuple[tuple[int, ...], ...]) -> Floats:
    """Poses in the frame of the first scan of each group; NaN for scans in no group."""
    result = np.full_like(poses, np.nan)
    for group in groups:
        for scan in group:
            result[scan] = inverse(poses[group[0]]) @ poses[scan]
        result[group[0]] = np.eye(4)
    return result


def _why_alone(scan: int, names: Sequence[str], edges: dict[Pair, Edge]) -> str:
    tried = [edge for pair, edge in edges.items() if scan in pair]
    if not tried:
        return "no other scan is like it"
    best = max(tried, key=lambda edge: edge.confidence)
    other = names[best.source + best.target - scan]
    return f"fits none of the {len(tried)} scans that it was tried with; best with {other}, {best.reason}"


def _middle(scan: PreprocessedCloud) -> Floats:
    return inverse(scan.home)[:3, 3]


def _described(value: Any) -> str:
    return f"{len(value)}" if isinstance(value, (list, tuple)) else type(value).__name__
