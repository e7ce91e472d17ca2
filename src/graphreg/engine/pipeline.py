"""Our own way from two clouds to the motion between them, from any starting pose: the whole of it on one page.

clean     drop what belongs to no surface, by the response of each point (Def. 1, Sec. III-C)
describe  coarse and fine pieces of surface, their normals, and descriptors of the coarse ones
search    descriptors that match propose poses; the best few are refined on the coarse pieces
settle    the best one again, on fine pieces, then by the points themselves
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

import graphreg._core as _core
from graphreg.clouds import Floats
from graphreg.engine.descriptors import mutual_correspondences
from graphreg.engine.hypotheses import LAST_REACH, WIDE, find_candidates
from graphreg.engine.outcome import EngineOutcome
from graphreg.engine.preprocessing import (
    PreprocessedCloud,
    build_pyramids,
    map_pair,
    preprocess,
    to_cloud_frames,
    to_pyramid_frames,
)
from graphreg.engine.refinement import refine_fine
from graphreg.engine.settings import FREEDOMS, EngineSettings
from graphreg.errors import InputError
from graphreg.method_interface import Callback, Iteration
from graphreg.poses import inverse, nearest_rotation, pose

# Widths of the weights, in coarse cells, where it starts from a pose that is given: from wider to as wide as after a
# search.
FROM_INIT_SCALES = np.concatenate([np.full(6, 3.0), WIDE])
# Clouds whose points lie this unevenly get a second look, if they are not registered.
UNEVEN = 4.0
ALL = 10**9


def register_graphreg(
    source: Floats | PreprocessedCloud,
    target: Floats | PreprocessedCloud,
    settings: EngineSettings,
    init: Floats | None = None,
    seed: int = 0,
    threads: int = 1,
    callback: Callback | None = None,
) -> EngineOutcome:
    """Find the motion from any pose; with `init`, only refine that pose."""
    began = time.perf_counter()
    here, there = _looked_at(source, target, settings, settings.points, seed, threads)
    shared = isinstance(source, PreprocessedCloud) and isinstance(target, PreprocessedCloud)
    start = np.eye(4) if init is None else init
    if settings.dof is not None:
        # Where not every motion is allowed, both keep their axes.
        upright = pose(np.eye(3), there.home[:3, :3].T @ there.home[:3, 3])
        here, there = here.seen_from(upright @ start), there.seen_from(upright)
    swept = time.perf_counter()
    x, y = build_pyramids(here, there, settings.voxel, settings.k, settings.alpha, threads, shared)
    described = time.perf_counter()
    free = tuple(settings.dof is None or name in settings.dof for name in FREEDOMS)
    pivot = y.home[:3, 3] / y.cell  # the origin of the target's frame
    freedom = _core.DegreesOfFreedom(free, pivot)
    history: list[Iteration] = []

    def in_data(motion: Floats) -> Floats:
        moved = to_cloud_frames(motion, x, y) @ inverse(start)
        # Other than by rounding it does not shift along the axes that are not free.
        moved[:3, 3] *= free[3:]
        return moved @ start

    def reached(motion: Floats, score: float) -> bool:
        now = Iteration(len(history) + 1, in_data(motion), -score)
        history.append(now)
        return callback is not None and bool(callback(now))

    if init is None:
        candidates = find_candidates(x.coarse, y.coarse, (x.descriptors, y.descriptors), freedom, all(free), threads)
        poses, scores, proposed, pairs = candidates.poses, candidates.scores, candidates.proposed, candidates.matches
    else:
        begun = to_pyramid_frames(start, x, y)[None]
        poses = y.coarse.grid.refine(
            begun, x.coarse.points, x.coarse.normals, x.coarse.importance, FROM_INIT_SCALES, freedom, threads
        )
        scores = y.coarse.grid.score(poses, x.coarse.points, x.coarse.normals, LAST_REACH, threads)
        proposed, pairs = 1, mutual_correspondences(x.descriptors, y.descriptors, threads)
    searched = time.perf_counter()
    motion = poses[0]
    if not reached(motion, float(scores[0])):
        close = refine_fine(x, y, motion, free, pivot, settings.voxel is not None, threads)
        motion = pose(nearest_rotation(close[:3, :3]), close[:3, 3])
        reached(motion, float(scores[0]))
    ended = time.perf_counter()
    return EngineOutcome(
        in_data(motion),
        tuple(history),
        {
            "draw": swept - began,
            "describe": described - swept,
            "search": searched - described,
            "refine": ended - searched,
        },
        y.fine_cell,
        source.points if isinstance(source, PreprocessedCloud) else source,
        target.points if isinstance(target, PreprocessedCloud) else target,
        pyramids=(x, y),
        matches=pairs,
        hypotheses=proposed,
        runner_up=in_data(poses[1]) if len(poses) > 1 else None,
        scores=tuple(float(score) for score in scores[:2]),
        rivalry=0.0 if init is None else 0.5,
        free=free,
    )


def retry_subsampled(
    found: EngineOutcome,
    source: Floats | PreprocessedCloud,
    target: Floats | PreprocessedCloud,
    settings: EngineSettings,
    seed: int = 0,
    threads: int = 1,
    callback: Callback | None = None,
) -> EngineOutcome | None:
    """A search on as many points in one place as in another, for clouds that were not registered and are far from that.

    Around a scanner most points lie near it, and cells that suit these are too small for all else, which is what tells
    one place from another. What this finds is refined on all points. None where it would find the same again, where the
    motion is not free, and where a callback has stopped the registration.
    """
    stopped = len(found.history) < 2
    if stopped or settings.dof is not None or found.pyramids is None:
        return None
    if max(view.unevenness for view in found.pyramids) < UNEVEN:
        return None
    side = found.pyramids[0].cell
    here, there = (cloud.thinned(side, threads) for cloud in _looked_at(source, target, settings, ALL, seed, threads))
    if min(len(here), len(there)) <= settings.k:
        return None
    try:
        evenly = register_graphreg(here, there, replace(settings, voxel=None), None, seed, threads, callback)
    except InputError:  # no surface stands out among so few points
        return None
    close = register_graphreg(source, target, settings, evenly.transformation, seed, threads, callback)
    timings = {stage: sum(look.timings[stage] for look in (found, evenly, close)) for stage in found.timings}
    history = found.history + evenly.history + close.history
    return replace(
        evenly,
        transformation=close.transformation,
        history=tuple(replace(one, number=number) for number, one in enumerate(history, 1)),
        timings=timings,
        voxel=close.voxel,
        source=close.source,
        target=close.target,
    )


def _looked_at(
    source: Floats | PreprocessedCloud,
    target: Floats | PreprocessedCloud,
    settings: EngineSettings,
    most: int,
    seed: int,
    threads: int,
) -> list[PreprocessedCloud]:
    """At most so many points of each cloud; of prepared ones those that they hold."""
    weights = settings.weights or (None, None)

    def seen(number: int, _: int) -> PreprocessedCloud:
        cloud, name = (source, target)[number], ("source", "target")[number]
        if isinstance(cloud, PreprocessedCloud):
            return replace(cloud, name=name)
        return preprocess(cloud, name, weights[number], most, seed)

    return map_pair(seen, (0, 1), threads)
