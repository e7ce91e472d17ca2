"""Registration as published: Algorithm 2, from two clouds to the motion between them.

The paper's text cannot be followed to the letter everywhere. What is read differently is said where it happens, and in
docs/method.md beside the equations.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Literal

import numpy as np

import graphreg._core as _core
from graphreg.clouds import Floats
from graphreg.errors import InputError
from graphreg.features.graphs import neighbour_graph
from graphreg.features.invariant_features import graph_invariants
from graphreg.features.response import inliers, response_intensity
from graphreg.method_interface import Callback, Iteration, MethodSettings, Outcome
from graphreg.paper.annealing import Annealing, accept_or_reject, cool_adaptively, cool_steadily
from graphreg.paper.dynamics import Step, centre_of_mass, rigid_step
from graphreg.paper.forces import Law, Particles, pull
from graphreg.poses import inverse, pose, principal_frame, transform
from graphreg.voxels import voxel_downsample

# The authors' program scales both clouds to so many units, and moves by at least one of them, times T, each step.
UNITS = 100.0
LEAST_MOVE = 1.0
# Where particles happen to meet, a few pairs alone would fling the body out of reach of all the others.
MOST_MOVE = 10.0


@dataclass(frozen=True)
class PaperSettings(MethodSettings):
    """What can be tuned, with the paper's symbol and value.

    k, alpha        neighbours in the graph; limit of the X84 rule
    voxel           side of the cells that even out the density, in the unit of the data; by default a two-hundredth
                    of the longer cloud
    particles       how many of each cloud take part in an iteration (the authors' program: 1,024, drawn once)
    max_iterations  maxNumIter
    beta            cool-down rate
    temperature     T at the start
    accept_rate     AcceptRate at the start
    softening       s of the force, in hundredths of the longer cloud
    masses          whether the response gives particles their mass: m = sqrt(I) (the text: I); else 1
    charges         whether the invariants give pairs their charge; else 1: gravity
    annealing       "adaptive": Algorithm 1, ended at max_iterations; "plain": ended at T < epsilon
    epsilon         T at the end of plain annealing
    """

    k: int = 10
    alpha: float = 5.2
    voxel: float | None = None
    particles: int = 1024
    max_iterations: int = 100
    beta: float = 0.9
    temperature: float = 1.0
    accept_rate: float = 0.5
    softening: float = 0.3
    masses: bool = True
    charges: bool = True
    annealing: Literal["adaptive", "plain"] = "adaptive"
    epsilon: float = 1e-5

    def __post_init__(self) -> None:
        for name in ("particles", "max_iterations", "temperature", "softening", "epsilon"):
            if not getattr(self, name) > 0:
                raise InputError(f"{name}: expected a positive number, got {getattr(self, name)!r}")
        if not 0 < self.beta < 1:
            raise InputError(f"beta: expected a number between 0 and 1, got {self.beta!r}")
        if self.annealing not in ("adaptive", "plain"):
            raise InputError(f"annealing: expected 'adaptive' or 'plain', got {self.annealing!r}")

    @property
    def required_points(self) -> int:
        return self.k + 1


PIPL = PaperSettings(masses=False, charges=False, annealing="plain")
"""The physics baseline (Jauer et al. 2018) in the paper's comparison: gravity, unit mass, plain simulated annealing."""


def register_published(
    source: Floats,
    target: Floats,
    settings: PaperSettings,
    init: Floats | None = None,
    seed: int = 0,
    threads: int = 1,
    callback: Callback | None = None,
) -> Outcome:
    """Algorithm 2. Starts at `init`, or where it is None with the centroids aligned, as the authors' program does."""
    rng = np.random.default_rng(seed)
    began = time.perf_counter()
    # Lines 1 to 4: graph, response, outliers; one point a cell, so that the sensor's density does not pull.
    source, target = (cloud[inliers(cloud, settings.alpha, settings.k, threads)] for cloud in (source, target))
    for name, cloud in (("source", source), ("target", target)):
        if len(cloud) <= settings.k:
            raise InputError(f"{name}: the X84 rule leaves {len(cloud)} points of it; a larger alpha leaves more")
    frames = [principal_frame(cloud) for cloud in (source, target)]
    placed = [transform(frame, cloud) for frame, cloud in zip(frames, (source, target), strict=True)]
    longest = float(max(np.ptp(cloud, axis=0).max() for cloud in placed))
    if not longest > 0:
        raise InputError("source, target: all points lie in one place")
    voxel = settings.voxel or longest / 200
    thinned = (voxel_downsample(cloud, voxel, threads) for cloud in placed)
    source, target = (transform(inverse(frame), cloud) for frame, cloud in zip(frames, thinned, strict=True))
    cleaned = time.perf_counter()
    # Lines 5 to 8: response and invariants of what is left; who takes part, and when.
    x, y = _shuffled(source, target, settings, rng, threads)
    drawn = time.perf_counter()
    # Coordinates in a hundred units, in the target's own frame.
    start = pose(np.eye(3), target.mean(axis=0) - source.mean(axis=0)) if init is None else init
    to_units = np.diag([UNITS / longest] * 3 + [1.0]) @ frames[1]
    to_data = inverse(frames[1]) @ np.diag([longest / UNITS] * 3 + [1.0])
    to_start = to_units @ start
    gears = _gears(_hand(x, 0, settings.particles, to_start))

    history: list[Iteration] = []
    state = Annealing(settings.temperature, settings.accept_rate)
    motion = np.eye(4)
    step: Step | None = None
    while not _ended(state, len(history), settings):
        # Lines 9 to 12: forces, and what they do to the body.
        body = _hand(x, len(history), settings.particles, motion @ to_start)
        field = _hand(y, len(history), settings.particles, to_units)
        felt = pull(body, field, Law.INVERSE_SQUARE, settings.softening, threads)
        tried = gears.take(rigid_step(body.points, body.mass, felt.forces * body.mass[:, None]))
        # Algorithm 1. Energies are compared by their logarithms, as in the authors' program. A rejected step is
        # replaced by the one before it; its energy is not, else no later step could be accepted.
        if step is None or tried.energy == 0:
            step = tried
        else:
            state = accept_or_reject(state, float(np.log10(tried.energy / max(step.energy, 1e-300))), rng)
            step = Step(step.shift, step.turn, tried.energy) if state.rejected else tried
        progress = len(history) / settings.max_iterations
        state = (
            cool_adaptively(state, progress, settings.beta)
            if settings.annealing == "adaptive"
            else cool_steadily(state, settings.beta)
        )
        # Lines 13 to 15: move, and compose.
        motion = step.motion(centre_of_mass(body.points, body.mass), state.temperature) @ motion
        now = Iteration(
            len(history) + 1,
            to_data @ motion @ to_start,
            step.energy,
            state.temperature,
            state.accept_rate,
            state.rejected,
        )
        history.append(now)
        if callback is not None and callback(now):
            break
    ended = time.perf_counter()
    timings = {"clean": cleaned - began, "describe": drawn - cleaned, "register": ended - drawn}
    return Outcome(to_data @ motion @ to_start, tuple(history), timings, voxel, source, target)


def _ended(state: Annealing, iterations: int, settings: PaperSettings) -> bool:
    if settings.annealing == "plain":
        return state.temperature < settings.epsilon
    return iterations >= settings.max_iterations


@dataclass(frozen=True)
class _Gears:
    """How the authors' program takes a step.

    It divides the torque by sum m |r|, not by sum m |r|^2 as the text does, by which bodies hardly turn; and it moves
    by at least one unit, so that the temperature alone says how far.

    ratio  of the second of these sums to the first
    reach  the mean of all |r|
    """

    ratio: float
    reach: float

    def take(self, step: Step) -> Step:
        turn = step.turn * (self.ratio * self.reach)
        return Step(_bounded(step.shift), _bounded(turn) / self.reach, step.energy)


def _gears(body: Particles) -> _Gears:
    """They stay as they are, since a rigid body does."""
    arms = np.linalg.norm(body.points - centre_of_mass(body.points, body.mass), axis=1)
    arms = np.maximum(arms, 1e-9)  # nothing turns a body that is a point
    return _Gears(float(body.mass @ arms**2 / (body.mass @ arms)), float(arms.mean()))


def _bounded(move: Floats) -> Floats:
    length = float(np.linalg.norm(move))
    return move if length == 0 else np.asarray(move * (min(max(length, LEAST_MOVE), MOST_MOVE) / length))


def _shuffled(
    source: Floats, target: Floats, settings: PaperSettings, rng: np.random.Generator, threads: int
) -> tuple[Particles, Particles]:
    """All particles of the target in random order, and for each the source's point most like it in its features.

    The paper's set C pairs each point with its nearest in feature space. As pairs these are close to random, but as a
    choice of who takes part they let both sides stand for the same kinds of surface.
    """
    x, y = (_described(cloud, settings, threads) for cloud in (source, target))
    mine, theirs = np.split(_ranks(np.vstack([x.features, y.features])), [len(x)])
    order = rng.permutation(len(y))
    tree = _core.Tree(_in_space(mine, rng), threads)
    partners = tree.nearest(_in_space(theirs[order], rng), 1, threads)[0][:, 0]
    if not settings.charges:
        mine, theirs = mine[:, :0], theirs[:, :0]
    return (
        Particles(x.points[partners], x.mass[partners], mine[partners]),
        Particles(y.points[order], y.mass[order], theirs[order]),
    )


def _hand(particles: Particles, turn: int, count: int, motion: Floats) -> Particles:
    """Deal the next so many of them, from the start again after the last, and move them.

    The authors' program draws one sample for all iterations. In a new one each time, what is particular to a sample
    averages out, so that a smaller one will do.
    """
    first = turn * count % len(particles)
    rows = np.arange(first, first + min(count, len(particles)))
    points, mass, features = (
        values.take(rows, axis=0, mode="wrap") for values in (particles.points, particles.mass, particles.features)
    )
    return Particles(transform(motion, points), mass, features)


def _described(points: Floats, settings: PaperSettings, threads: int) -> Particles:
    graph = neighbour_graph(points, settings.k, threads)
    mass = np.ones(len(points))
    if settings.masses:
        response = response_intensity(graph)
        mass = np.sqrt(np.where(np.isfinite(response), response, 0.0))
        # None without any, so that every hand of particles has a centre.
        mass = np.maximum(mass / mass.mean(), 1e-6) if mass.any() else np.ones(len(points))
    return Particles(points, mass, graph_invariants(graph)[:, 1:])


def _ranks(features: Floats) -> Floats:
    """Each feature as the share of points that have less of it.

    The authors' program scales by the largest value, by which all but a few points are near 0, and alike. Where
    features differ by rounding only, as on a perfect plane, they share a rank.
    """
    columns = np.round(features, 9).T
    return np.column_stack([np.searchsorted(np.sort(column), column) / len(column) for column in columns])


def _in_space(features: Floats, rng: np.random.Generator) -> Floats:
    """Two features as points in space, for the neighbour search. Of points that are all alike, chance takes one."""
    return np.column_stack([features, 1e-9 * rng.random(len(features))])
