"""Registration as published: Algorithm 2, from two clouds to the rigid transform between them.

The text of the paper cannot be followed literally everywhere. Each deviation is stated where it occurs, and in
docs/method.md beside the equations.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

import graphreg._core as _core
from graphreg.clouds import Floats, common_extent
from graphreg.errors import InputError
from graphreg.features.graphs import neighbour_graph
from graphreg.features.invariant_features import graph_invariants, rank_features
from graphreg.features.response import inliers, response_intensity
from graphreg.method_interface import Callback, Iteration, MethodSettings, Outcome
from graphreg.paper.annealing import AnnealingState, accept_or_reject, cool_adaptively, cool_geometrically
from graphreg.paper.dynamics import RigidStep, centre_of_mass, rigid_step
from graphreg.paper.forces import ForceLaw, Particles, pair_forces
from graphreg.poses import inverse, pose, principal_frame, transform
from graphreg.voxels import voxel_downsample


@dataclass(frozen=True)
class PaperSettings(MethodSettings):
    """Settings of the published method, with the paper's symbols and values.

    Parameters
    ----------
    k : int, default 10
        Number of neighbours in the graph.
    alpha : float, default 5.2
        Threshold of the X84 rule, in units of MAD.
    voxel : float, optional
        Voxel size that both clouds are downsampled with, in the unit of the data. By default 1/200 of the longest
        extent of the clouds.
    particles : int, default 1024
        Number of particles sampled from each cloud in each iteration (the authors' program: 1,024, sampled once).
    max_iterations : int, default 100
        maxNumIter: number of iterations.
    beta : float, default 0.9
        Cooling rate, 0 < beta < 1.
    temperature : float, default 1.0
        Initial temperature T.
    accept_rate : float, default 0.5
        Initial AcceptRate.
    softening : float, default 0.3
        Softening length s of the force, in hundredths of the longest extent of the clouds.
    masses : bool, default True
        Whether the response intensity is the mass of particles, m = sqrt(I) (the text: I). Otherwise m = 1.
    charges : bool, default True
        Whether the invariants determine the charge of pairs. Otherwise k = 1: gravity.
    annealing : {"adaptive", "plain"}, default "adaptive"
        "adaptive": Algorithm 1, until max_iterations. "plain": geometric cooling, until T < epsilon.
    epsilon : float, default 1e-5
        Final temperature of plain annealing.
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
        self._require_count("k", least=2)
        self._require_count("particles", "max_iterations")
        self._require_positive("alpha", "temperature", "softening", "epsilon")
        if self.voxel is not None:
            self._require_positive("voxel")
        self._require("a number between 0 and 1", lambda value: 0 < value < 1, "beta")
        self._require("a share from 0 to 1", lambda value: 0 <= value <= 1, "accept_rate")
        self._require_flag("masses", "charges")
        self._require_choice("annealing", "adaptive", "plain")

    @property
    def required_points(self) -> int:
        """The fewest points that a cloud must have: one more than the neighbours in the graph."""
        return self.k + 1


PIPL = PaperSettings(masses=False, charges=False, annealing="plain")
"""Settings of the physics-based baseline (Jauer et al. 2018): gravity, unit masses, plain simulated annealing."""


@dataclass(frozen=True)
class AlgorithmConstants:
    """Constants of Algorithm 2 that are not settings.

    "Unit" is a hundredth of the longest extent of the clouds.

    Attributes
    ----------
    extent : float
        The clouds are scaled to this extent, in units (authors' program).
    voxels : int
        Voxels along the longest extent where no voxel size is set (chosen).
    min_displacement : float
        Translation, and rotation times mean radius, of a step before the temperature is applied, at least; in units
        (authors' program).
    max_displacement : float
        The same, at most; in units (chosen). Where particles happen to coincide, the force of a few pairs would move
        the body out of reach of all others.
    min_mass : float
        Smallest mass of a particle, in mean masses (chosen), so that every sample has a centre of mass.
    min_radius : float
        Smallest distance of a particle from the centre of mass, in units (chosen), so that a body of coincident points
        does not rotate.
    min_energy : float
        Smallest energy in the logarithm (chosen: close to the smallest double).
    tie_break : float
        Random offset of features in the search for the nearest (chosen): among points with equal features one is
        chosen at random.
    """

    extent: float = 100.0
    voxels: int = 200
    min_displacement: float = 1.0
    max_displacement: float = 10.0
    min_mass: float = 1e-6
    min_radius: float = 1e-9
    min_energy: float = 1e-300
    tie_break: float = 1e-9


CONSTANTS = AlgorithmConstants()


def register_published(
    source: Floats,
    target: Floats,
    settings: PaperSettings,
    init: Floats | None = None,
    seed: int = 0,
    threads: int = 1,
    callback: Callback | None = None,
) -> Outcome:
    """Register two clouds by the published method (Algorithm 2).

    Parameters
    ----------
    source, target : (N, 3) and (M, 3) ndarray
        Finite points.
    settings : PaperSettings
    init : (4, 4) ndarray, optional
        Initial transform. By default the translation that aligns the centroids, as in the authors' program.
    seed : int, default 0
        Seed of the sampling order and of annealing.
    threads : int, default 1
        Number of threads. The result does not depend on it.
    callback : callable, optional
        Called after each iteration; returning True stops the method.

    Returns
    -------
    Outcome

    Examples
    --------
    >>> import graphreg
    >>> from graphreg.datasets import synthetic
    >>> pair = synthetic.pair("hare", 10.0, points=2000)
    >>> result = graphreg.register(pair.source, pair.target, method="graphreg-paper")
    >>> result.success, len(result.history)
    (True, 100)
    """
    rng = np.random.default_rng(seed)
    began = time.perf_counter()
    # Lines 1 to 4: graph, response, outlier removal.
    clouds = _preprocess(source, target, settings, threads)
    preprocessed = time.perf_counter()
    # Lines 5 to 8: response and invariants of the remaining points; which of them take part in which iteration.
    x, y = _pair_by_features(clouds, settings, rng, threads)
    described = time.perf_counter()
    # The particles move in units, in the target's principal axes.
    start = pose(np.eye(3), clouds.target.mean(axis=0) - clouds.source.mean(axis=0)) if init is None else init
    T_units_target = np.diag([CONSTANTS.extent / clouds.extent] * 3 + [1.0]) @ clouds.target_axes
    T_target_units = inverse(clouds.target_axes) @ np.diag([clouds.extent / CONSTANTS.extent] * 3 + [1.0])
    T_units_source = T_units_target @ start
    scaling = _step_scaling(_sample(x, 0, settings.particles, T_units_source))

    history: list[Iteration] = []
    state = AnnealingState(settings.temperature, settings.accept_rate)
    moved = np.eye(4)
    step: RigidStep | None = None
    while not _finished(state, len(history), settings):
        # Lines 9 to 12: forces, and the step of the rigid body that they cause.
        body = _sample(x, len(history), settings.particles, moved @ T_units_source)
        field = _sample(y, len(history), settings.particles, T_units_target)
        pairs = pair_forces(body, field, ForceLaw.INVERSE_SQUARE, settings.softening, threads)
        proposed = scaling.apply(rigid_step(body.points, body.mass, pairs.forces * body.mass[:, None]))
        # Algorithm 1. Energies are compared by their logarithms, as in the authors' program. A rejected step is
        # replaced by the previous one, but not its energy: otherwise no later step could be accepted.
        if step is None or proposed.energy == 0:
            step = proposed
        else:
            change = float(np.log10(proposed.energy / max(step.energy, CONSTANTS.min_energy)))
            state = accept_or_reject(state, change, rng)
            step = RigidStep(step.translation, step.rotation, proposed.energy) if state.rejected else proposed
        state = (
            cool_adaptively(state, len(history) / settings.max_iterations, settings.beta)
            if settings.annealing == "adaptive"
            else cool_geometrically(state, settings.beta)
        )
        # Lines 13 to 15: apply the step and compose.
        moved = step.transform(centre_of_mass(body.points, body.mass), state.temperature) @ moved
        iteration = Iteration(
            len(history) + 1,
            T_target_units @ moved @ T_units_source,
            step.energy,
            state.temperature,
            state.accept_rate,
            state.rejected,
        )
        history.append(iteration)
        if callback is not None and callback(iteration):
            break
    ended = time.perf_counter()
    return Outcome(
        transformation=T_target_units @ moved @ T_units_source,
        history=tuple(history),
        timings={
            "preprocess": preprocessed - began,
            "describe": described - preprocessed,
            "register": ended - described,
        },
        voxel=clouds.voxel,
        source=clouds.source,
        target=clouds.target,
    )


def _finished(state: AnnealingState, iterations: int, settings: PaperSettings) -> bool:
    if settings.annealing == "plain":
        return state.temperature < settings.epsilon
    return iterations >= settings.max_iterations


class _Preprocessed(NamedTuple):
    """Both clouds without outliers, downsampled.

    target_axes is the transform to the target's centroid and principal axes; extent is the longest extent of both
    clouds along their principal axes.
    """

    source: Floats
    target: Floats
    target_axes: Floats
    extent: float
    voxel: float


def _preprocess(source: Floats, target: Floats, settings: PaperSettings, threads: int) -> _Preprocessed:
    """Remove outliers by the X84 rule and downsample to one point a voxel, which evens out the sensor's density.

    Voxel grids are aligned with the principal axes of each cloud, so that the result does not depend on the pose.
    """
    source, target = (cloud[inliers(cloud, settings.alpha, settings.k, threads)] for cloud in (source, target))
    for name, cloud in (("source", source), ("target", target)):
        if len(cloud) <= settings.k:
            raise InputError(f"{name}: the X84 rule leaves {len(cloud)} points of it; a larger alpha leaves more")
    axes = [principal_frame(cloud) for cloud in (source, target)]
    aligned = [transform(frame, cloud) for frame, cloud in zip(axes, (source, target), strict=True)]
    extent = common_extent(aligned[0], aligned[1])
    voxel = extent / CONSTANTS.voxels if settings.voxel is None else settings.voxel
    downsampled = (voxel_downsample(cloud, voxel, threads) for cloud in aligned)
    source, target = (transform(inverse(frame), cloud) for frame, cloud in zip(axes, downsampled, strict=True))
    return _Preprocessed(source, target, axes[1], extent, voxel)


def _pair_by_features(
    clouds: _Preprocessed, settings: PaperSettings, rng: np.random.Generator, threads: int
) -> tuple[Particles, Particles]:
    """Return all target particles in random order, and for each the source particle nearest in feature space.

    The paper's set C pairs each point with its nearest neighbour in feature space. As correspondences these pairs are
    close to random, but as a choice of particles they sample the same kinds of surface from both clouds.
    """
    x, y = (_as_particles(cloud, settings, threads) for cloud in (clouds.source, clouds.target))
    source_ranks, target_ranks = np.split(rank_features(np.vstack([x.features, y.features])), [len(x)])
    order = rng.permutation(len(y))
    tree = _core.Tree(_add_random_coordinate(source_ranks, rng), threads)
    nearest = tree.nearest(_add_random_coordinate(target_ranks[order], rng), 1, threads)[0][:, 0]
    if not settings.charges:
        source_ranks, target_ranks = source_ranks[:, :0], target_ranks[:, :0]
    return (
        Particles(x.points[nearest], x.mass[nearest], source_ranks[nearest]),
        Particles(y.points[order], y.mass[order], target_ranks[order]),
    )


def _as_particles(points: Floats, settings: PaperSettings, threads: int) -> Particles:
    """Points with masses from the response intensity, and with the features of the authors' program."""
    graph = neighbour_graph(points, settings.k, threads)
    mass = np.ones(len(points))
    if settings.masses:
        response = response_intensity(graph)
        mass = np.sqrt(np.where(np.isfinite(response), response, 0.0))
        mass = np.maximum(mass / mass.mean(), CONSTANTS.min_mass) if mass.any() else np.ones(len(points))
    return Particles(points, mass, graph_invariants(graph)[:, 1:])


def _add_random_coordinate(features: Floats, rng: np.random.Generator) -> Floats:
    """Two features and a small random number as a point in space, for the nearest-neighbour search."""
    return np.column_stack([features, CONSTANTS.tie_break * rng.random(len(features))])


def _sample(particles: Particles, iteration: int, count: int, transformation: Floats) -> Particles:
    """Return the next `count` particles, cyclically, transformed.

    The authors' program uses one sample for all iterations. With a new one each time the peculiarities of a sample
    average out, so that a smaller one suffices.
    """
    first = iteration * count % len(particles)
    rows = np.arange(first, first + min(count, len(particles)))
    points, mass, features = (
        values.take(rows, axis=0, mode="wrap") for values in (particles.points, particles.mass, particles.features)
    )
    return Particles(transform(transformation, points), mass, features)


@dataclass(frozen=True)
class _StepScaling:
    """Scaling of a step as in the authors' program.

    It divides the torque by sum m |r|; the text divides by sum m |r|^2, with which bodies hardly rotate. And it moves
    by at least one unit, so that the temperature alone determines the size of a step.

    inertia_ratio is the second of these sums over the first; mean_radius is the mean of all |r|.
    """

    inertia_ratio: float
    mean_radius: float

    def apply(self, step: RigidStep) -> RigidStep:
        arc = step.rotation * (self.inertia_ratio * self.mean_radius)
        return RigidStep(_clamp_length(step.translation), _clamp_length(arc) / self.mean_radius, step.energy)


def _step_scaling(body: Particles) -> _StepScaling:
    """The scaling for a body; computed once, since the body is rigid."""
    radii = np.linalg.norm(body.points - centre_of_mass(body.points, body.mass), axis=1)
    radii = np.maximum(radii, CONSTANTS.min_radius)
    return _StepScaling(float(body.mass @ radii**2 / (body.mass @ radii)), float(radii.mean()))


def _clamp_length(vector: Floats) -> Floats:
    """The vector with its length clamped to the displacements of a step; zero stays zero."""
    length = float(np.linalg.norm(vector))
    if length == 0:
        return vector
    return np.asarray(vector * (min(max(length, CONSTANTS.min_displacement), CONSTANTS.max_displacement) / length))
