"""Our own way from two clouds to the motion between them, from any starting pose: the whole of it on one page.

clean     drop what belongs to no surface, by the response of each point (Def. 1, Sec. III-C)
describe  coarse and fine pieces of surface, their normals, and signatures of the coarse ones
search    signatures that match propose poses; the best few are refined on the coarse pieces
settle    the best one again, on fine pieces, then by the points themselves
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from graphreg import _core
from graphreg.clouds import Floats
from graphreg.errors import InputError
from graphreg.outcomes import Callback, Iteration, Outcome
from graphreg.poses import inverse, nearest_rotation, pose
from graphreg.search import LAST_REACH, WIDE, search
from graphreg.settling import settled
from graphreg.signatures import matches
from graphreg.views import Prepared, at_once, drawn, in_cells, in_users_frame, views_of

# Widths of the weights, in coarse cells, where it starts from a pose that is given: from wider to as wide as after a
# search.
FROM_INIT_SCALES = np.concatenate([np.full(6, 3.0), WIDE])
# Clouds whose points lie this unevenly get a second look, if they are not registered.
UNEVEN = 4.0
ALL = 10**9
FREEDOMS = ("rx", "ry", "rz", "x", "y", "z")


@dataclass(frozen=True)
class Settings:
    """What can be tuned. Nothing has to be.

    k, alpha  neighbours in the graph; limit of the X84 rule
    voxel     side of the fine cells, in the unit of the data; by default one that suits the clouds. Coarse ones are at
              least as wide
    points    how many points of each cloud are looked at; of more, so many are drawn
    dof       what the motion may do, some of rx ry rz x y z: turn about and shift along the target's axes, for instance
              ("rz", "x", "y", "z") for scans that are level; turns about all axes, one or none. With `init` it is the
              motion after that pose. By default all
    weights   of the source's points, or a pair for both clouds (None: all alike); positive
    """

    k: int = 10
    alpha: float = 5.2
    voxel: float | None = None
    points: int = 40_000
    dof: tuple[str, ...] | None = None
    weights: tuple[Floats | None, Floats | None] | None = None

    def __post_init__(self) -> None:
        number, whole = (int, float, np.number), (int, np.integer)
        for name, kinds in (("k", whole), ("alpha", number), ("points", whole)):
            value = getattr(self, name)
            if not (isinstance(value, kinds) and value > 0):
                described = "whole number" if kinds is whole else "number"
                raise InputError(f"{name}: expected a positive {described}, got {value!r}")
        if self.k < 2:
            raise InputError(f"k: expected at least 2 neighbours, got {self.k}")
        if self.voxel is not None and not (isinstance(self.voxel, number) and 0 < self.voxel < np.inf):
            raise InputError(f"voxel: expected a positive length, got {self.voxel!r}")
        if self.dof is not None:
            object.__setattr__(self, "dof", _freedoms(self.dof))


def register_engine(
    source: Floats | Prepared,
    target: Floats | Prepared,
    settings: Settings,
    init: Floats | None = None,
    seed: int = 0,
    threads: int = 1,
    callback: Callback | None = None,
) -> Outcome:
    """Find the motion from any pose; with `init`, only refine that pose."""
    began = time.perf_counter()
    here, there = _looked_at(source, target, settings, settings.points, seed, threads)
    shared = isinstance(source, Prepared) and isinstance(target, Prepared)
    start = np.eye(4) if init is None else init
    if settings.dof is not None:
        # Where not every motion is allowed, both keep their axes.
        upright = pose(np.eye(3), there.home[:3, :3].T @ there.home[:3, 3])
        here, there = here.seen_from(upright @ start), there.seen_from(upright)
    swept = time.perf_counter()
    x, y = views_of(here, there, settings.voxel, settings.k, settings.alpha, threads, shared)
    described = time.perf_counter()
    free = tuple(settings.dof is None or name in settings.dof for name in FREEDOMS)
    pivot = y.home[:3, 3] / y.cell  # the origin of the target's frame
    freedom = _core.Freedom(free, pivot)
    history: list[Iteration] = []

    def in_data(motion: Floats) -> Floats:
        moved = in_users_frame(motion, x, y) @ inverse(start)
        # Other than by rounding it does not shift along the axes that are not free.
        moved[:3, 3] *= free[3:]
        return moved @ start

    def reached(motion: Floats, score: float) -> bool:
        now = Iteration(len(history) + 1, in_data(motion), -score)
        history.append(now)
        return callback is not None and bool(callback(now))

    if init is None:
        candidates = search(x.coarse, y.coarse, (x.signatures, y.signatures), freedom, all(free), threads)
        poses, scores, proposed, pairs = candidates.poses, candidates.scores, candidates.proposed, candidates.matches
    else:
        begun = in_cells(start, x, y)[None]
        poses = y.coarse.field.refine(
            begun, x.coarse.points, x.coarse.normals, x.coarse.importance, FROM_INIT_SCALES, freedom, threads
        )
        scores = y.coarse.field.score(poses, x.coarse.points, x.coarse.normals, LAST_REACH, threads)
        proposed, pairs = 1, matches(x.signatures, y.signatures, threads)
    searched = time.perf_counter()
    motion = poses[0]
    if not reached(motion, float(scores[0])):
        close = settled(x, y, motion, free, pivot, settings.voxel is not None, threads)
        motion = pose(nearest_rotation(close[:3, :3]), close[:3, 3])
        reached(motion, float(scores[0]))
    ended = time.perf_counter()
    return Outcome(
        in_data(motion),
        tuple(history),
        {
            "draw": swept - began,
            "describe": described - swept,
            "search": searched - described,
            "refine": ended - searched,
        },
        y.fine_cell,
        source.points if isinstance(source, Prepared) else source,
        target.points if isinstance(target, Prepared) else target,
        views=(x, y),
        matches=pairs,
        hypotheses=proposed,
        runner_up=in_data(poses[1]) if len(poses) > 1 else None,
        scores=tuple(float(score) for score in scores[:2]),
        rivalry=0.0 if init is None else 0.5,
        free=free,
    )


def look_again(
    found: Outcome,
    source: Floats | Prepared,
    target: Floats | Prepared,
    settings: Settings,
    seed: int = 0,
    threads: int = 1,
    callback: Callback | None = None,
) -> Outcome | None:
    """A search on as many points in one place as in another, for clouds that were not registered and are far from that.

    Around a scanner most points lie near it, and cells that suit these are too small for all else, which is what tells
    one place from another. What this finds is refined on all points. None where it would find the same again, where the
    motion is not free, and where a callback has stopped the registration.
    """
    stopped = len(found.history) < 2
    if stopped or settings.dof is not None or found.views is None:
        return None
    if max(view.unevenness for view in found.views) < UNEVEN:
        return None
    side = found.views[0].cell
    here, there = (cloud.thinned(side, threads) for cloud in _looked_at(source, target, settings, ALL, seed, threads))
    if min(len(here), len(there)) <= settings.k:
        return None
    try:
        evenly = register_engine(here, there, replace(settings, voxel=None), None, seed, threads, callback)
    except InputError:  # no surface stands out among so few points
        return None
    close = register_engine(source, target, settings, evenly.transformation, seed, threads, callback)
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
    source: Floats | Prepared, target: Floats | Prepared, settings: Settings, most: int, seed: int, threads: int
) -> list[Prepared]:
    """At most so many points of each cloud; of prepared ones those that they hold."""
    weights = settings.weights or (None, None)

    def seen(number: int, _: int) -> Prepared:
        cloud, name = (source, target)[number], ("source", "target")[number]
        if isinstance(cloud, Prepared):
            return replace(cloud, name=name)
        return drawn(cloud, name, weights[number], most, seed)

    return at_once(seen, (0, 1), threads)


def _freedoms(names: Any) -> tuple[str, ...]:
    chosen = tuple(names.replace(",", " ").split()) if isinstance(names, str) else names
    if (
        not isinstance(chosen, (tuple, list, set, frozenset))
        or not chosen
        or any(name not in FREEDOMS for name in chosen)
    ):
        raise InputError(f"dof: expected some of {', '.join(FREEDOMS)}, got {names!r}")
    if sum(name in chosen for name in FREEDOMS[:3]) == 2:
        raise InputError(f"dof: turns about all axes, one or none are possible, got {names!r}")
    return tuple(name for name in FREEDOMS if name in chosen)
