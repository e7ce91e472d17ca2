"""Pairs of scans that more than one pose fits, or that a small feature decides, or that have nothing in common.

    pair = ambiguous_scenes.pair("stairs", seed=1)
    pair.determined, len(pair.equivalent)       # False, and the poses that fit as well as the true one

Symmetric objects, scenes that repeat themselves, clouds of noise. The two scans are sampled independently of each
other, each in a frame of its own. The same arguments give the same bits. Lengths in metres.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import permutations, product

import numpy as np
from scipy.spatial.transform import Rotation

from graphreg.argument_checks import check_choice, check_integer, check_number
from graphreg.clouds import Floats, Mask
from graphreg.datasets.convex_scenes import ConvexPart, box, cylinder, ellipsoid, gable
from graphreg.datasets.props import car, chair, placed, table
from graphreg.datasets.surface_sampling import sample_surface
from graphreg.datasets.surfaces import rotation_zyx
from graphreg.poses import inverse, pose, transform

__all__ = ["AmbiguousPair", "names", "pair"]

# Samples of the trials that estimate the area of the surface.
TRIAL_POINTS = 4000
# Noise by default, as a share of the diagonal of the scene.
NOISE = 1e-3
# Steps of the rotations about an axis of revolution, in degrees.
STEP = 2.0


@dataclass(frozen=True, eq=False)
class AmbiguousPair:
    """Two scans, and every pose that aligns them equally well.

    Parameters
    ----------
    source, target : (N, 3) and (M, 3) arrays
    T_target_source : (4, 4) array
        Exact transform: x_target = T x_source.
    determined : bool
        Whether the scans determine the pose. If not, no pose found is a success.
    equivalent : (K, 4, 4) array
        Transforms that align the scans as well as the true one, which is the first; about an axis of revolution, in
        steps of 2 degrees.
    name : str
        Of the scene.
    """

    source: Floats
    target: Floats
    T_target_source: Floats
    determined: bool
    equivalent: Floats
    name: str


@dataclass(frozen=True, eq=False)
class _Scene:
    """Parts, what each scan sees of them, and the rigid transforms that map the scene to itself."""

    parts: Sequence[ConvexPart]
    symmetries: Sequence[Floats] = (np.eye(4),)
    determined: bool = False
    # (points, normals) -> which of them the target's and the source's scan see.
    seen: tuple[Callable[[Floats, Floats], Mask], Callable[[Floats, Floats], Mask]] | None = None


def names() -> tuple[str, ...]:
    """Names of the scenes.

    Examples
    --------
    >>> "cube" in names(), "stairs" in names(), "uniform noise" in names()
    (True, True, True)
    """
    return (*_SCENES, *_NOISES)


def pair(name: str, *, points: int = 8000, noise: float | None = None, seed: int = 0) -> AmbiguousPair:
    """Sample two scans of an ambiguous scene.

    Parameters
    ----------
    name : str
        One of `names()`.
    points : int, default 8000
        Approximate number of points of each scan.
    noise : float, optional
        Standard deviation along each axis, in metres; by default a thousandth of the scene's diagonal.
    seed : int, default 0
        Of the samples, the noise, the frames of the scans and, where they see different parts, of these.

    Returns
    -------
    AmbiguousPair

    Raises
    ------
    InputError
        If an argument is out of range.

    Examples
    --------
    >>> cube = pair("cube", points=500)
    >>> cube.determined, cube.equivalent.shape
    (False, (24, 4, 4))
    >>> pair("plate with a boss", points=500).determined
    True
    """
    check_choice("name", name, names())
    count = int(check_number("points", points, 10, 10_000_000))
    sigma = None if noise is None else check_number("noise", noise, 0, 1e6)
    check_integer("seed", seed)
    rng = np.random.default_rng([seed, *name.encode()])
    if name in _NOISES:
        clouds, scene = [_NOISES[name](rng, count) for _ in range(2)], _Scene(())
    else:
        scene = _SCENES[name](rng)
        clouds = [_sample(scene, which, count, rng) for which in range(2)]
    size = float(np.linalg.norm(np.ptp(np.vstack(clouds), axis=0)))
    deviation = NOISE * size if sigma is None else sigma
    frames = [pose(Rotation.random(random_state=rng).as_matrix(), rng.uniform(-1, 1, 3) * size) for _ in clouds]
    target, source = (
        transform(frame, cloud + deviation * rng.normal(size=cloud.shape))
        for frame, cloud in zip(frames, clouds, strict=True)
    )
    equivalent = np.array([frames[0] @ symmetry @ inverse(frames[1]) for symmetry in scene.symmetries])
    return AmbiguousPair(source, target, equivalent[0], scene.determined, equivalent, name)


def _sample(scene: _Scene, which: int, count: int, rng: np.random.Generator) -> Floats:
    """About `count` points of what one of the two scans sees."""
    seen = scene.seen and scene.seen[which]
    density = TRIAL_POINTS / sum(4 * part.radius**2 for part in scene.parts)
    # A first trial on all surfaces, a second on as many points of what is seen; then the scan itself.
    for wanted in (TRIAL_POINTS, count):
        trial = len(sample_surface(scene.parts, density, rng, seen)[0])
        density *= wanted / max(trial, TRIAL_POINTS / 100)
    return sample_surface(scene.parts, density, rng, seen)[0]


# ---------------------------------------------------------------- symmetric objects
def _box(apart: float) -> Callable[[np.random.Generator], _Scene]:
    def build(_: np.random.Generator) -> _Scene:
        half = np.array([1.0, 1 + apart, 1 + 2 * apart]) / 2
        return _Scene([box(-half, half)], _half_turns())

    return build


def _cube(_: np.random.Generator) -> _Scene:
    return _Scene([box([-0.5] * 3, [0.5] * 3)], _cube_rotations())


def _plate(boss: bool) -> Callable[[np.random.Generator], _Scene]:
    def build(_: np.random.Generator) -> _Scene:
        parts = [box([-0.5, -0.5, -0.03], [0.5, 0.5, 0.03])]
        if boss:
            return _Scene([*parts, cylinder([0.31, 0.17, 0], [0.31, 0.17, 0.09], 0.05)], determined=True)
        return _Scene(parts, [R for R in _cube_rotations() if abs(R[2, 2]) > 0.5])

    return build


def _cylinder(mark: bool) -> Callable[[np.random.Generator], _Scene]:
    def build(_: np.random.Generator) -> _Scene:
        parts = [cylinder([0, 0, -0.5], [0, 0, 0.5], 0.25)]
        if mark:
            return _Scene([*parts, box([0.2, -0.05, 0.2], [0.3, 0.05, 0.32])], determined=True)
        about = [pose(rotation_zyx(np.radians(angle)), np.zeros(3)) for angle in np.arange(0, 360, STEP)]
        return _Scene(parts, [one @ flip for flip in _half_turns()[:2] for one in about])

    return build


def _half_turns() -> list[Floats]:
    """The rotations of a box: none, and half a turn about each axis."""
    return [pose(np.diag(signs), np.zeros(3)) for signs in ((1, 1, 1), (1, -1, -1), (-1, 1, -1), (-1, -1, 1))]


def _cube_rotations() -> list[Floats]:
    """The 24 rotations of a cube, the identity first."""
    matrices = (np.eye(3)[list(order)] * np.array(signs)[:, None]
                for order in permutations(range(3)) for signs in product((1, -1), repeat=3))  # fmt: skip
    return [pose(matrix, np.zeros(3)) for matrix in matrices if np.linalg.det(matrix) > 0]


# ---------------------------------------------------------------- repeated scenes
def _stairs(rng: np.random.Generator) -> _Scene:
    """A flight of stairs between walls; each scan sees eight steps of it, the other some steps farther up."""
    deep, high, steps = 0.29, 0.17, 24
    parts = [box([k * deep, 0, -3.0], [(k + 1) * deep + 0.02, 1.4, k * high]) for k in range(steps)]
    slope = np.arctan2(high, deep)
    for y in (-0.15, 1.4):
        wall = box([-6, y, -2.5], [14, y + 0.15, 2.5])
        parts.append(wall.transformed(pose(rotation_zyx(0, -slope), [0, 0, 0.5])))
    step = np.array([deep, 0, high])
    return _Scene(
        parts,
        _shifts(step[None], 3),
        seen=_windows(rng, step[None], extent=8, shift=3, centre=10, within=[_normals_within([-1, 0, 1], 1.9)]),
    )


def _box_grid(rng: np.random.Generator) -> _Scene:
    """Equal boxes in a square grid on the ground."""
    pitch = 1.2
    parts = [box([-9, -9, -0.2], [9, 9, 0])]
    for x, y in product(range(-4, 5), repeat=2):
        parts.append(box([pitch * x - 0.3, pitch * y - 0.3, -0.1], [pitch * x + 0.3, pitch * y + 0.3, 0.7]))
    quarter_turns = [R for R in _cube_rotations() if R[2, 2] > 0.5]
    steps = pitch * np.eye(3)[:2]
    return _Scene(
        parts,
        [shift @ turn for turn in quarter_turns for shift in _shifts(steps, 1)],
        seen=_windows(rng, steps, extent=4, shift=1, centre=0, within=[_upward]),
    )


def _parked_cars(rng: np.random.Generator) -> _Scene:
    """A row of equal cars along a kerb, a wall behind them."""
    pitch = 5.5
    one = car(np.random.default_rng(7), "car")
    parts = [box([-60, -4, -0.3], [60, 1.3, 0]), box([-60, 1.2, -0.3], [60, 4, 0.14]), box([-60, 3.8, 0], [60, 4.2, 5])]
    for k in range(-8, 9):
        parts += placed(one, [pitch * k, 0, 0], 0)
    steps = pitch * np.eye(3)[:1]
    return _Scene(
        parts,
        _shifts(steps, 2),
        seen=_windows(rng, steps, extent=4, shift=1, centre=0, within=[_normals_within([0, -0.7, 0.7], 1.7)]),
    )


def _tower(rng: np.random.Generator) -> _Scene:
    """The facade of a tower block: equal windows with sills and balconies in rows and columns."""
    wide, high = 3.0, 2.9
    parts = [box([-25, 0.3, -25], [25, 1, 25])]
    for k, level in product(range(-4, 5), repeat=2):
        x, z = wide * k, high * level
        parts += [
            box([x - wide / 2, 0, z - high / 2], [x - 0.6, 0.4, z + high / 2]),
            box([x + 0.6, 0, z - high / 2], [x + wide / 2, 0.4, z + high / 2]),
            box([x - 0.61, 0, z - high / 2], [x + 0.61, 0.4, z - 0.6]),
            box([x - 0.61, 0, z + 0.8], [x + 0.61, 0.4, z + high / 2]),
            box([x - 0.8, -0.9, z - 0.85], [x + 0.8, 0.1, z - 0.7]),
        ]
    steps = np.array([[wide, 0, 0], [0, 0, high]])
    return _Scene(
        parts,
        _shifts(steps, 1),
        seen=_windows(rng, steps, extent=4, shift=1, centre=0, within=[_normals_within([0, -1, 0], 1.6)]),
    )


def _roof_tiles(rng: np.random.Generator) -> _Scene:
    """Round tiles in rows that overlap like scales."""
    wide, long = 0.22, 0.33
    parts = [box([-4, -4, -0.2], [4, 4, 0])]
    for k, row in product(range(-7, 8), repeat=2):
        x, y = wide * k, long * row
        parts.append(cylinder([x, y - 0.2, 0.05], [x, y + 0.2, 0.0], 0.085))
    steps = np.array([[wide, 0, 0], [0, long, 0]])
    return _Scene(parts, _shifts(steps, 2), seen=_windows(rng, steps, extent=8, shift=2, centre=0, within=[_upward]))


def _poles(rng: np.random.Generator) -> _Scene:
    """A row of equal poles on flat ground."""
    pitch = 6.0
    parts = [box([-80, -3, -0.2], [80, 3, 0])]
    parts += [cylinder([pitch * k, 0, -0.1], [pitch * k, 0, 5], 0.12) for k in range(-10, 11)]
    steps = pitch * np.eye(3)[:1]
    turns = [R for R in _half_turns() if R[2, 2] > 0]
    return _Scene(
        parts,
        [shift @ turn for turn in turns for shift in _shifts(steps, 2)],
        seen=_windows(rng, steps, extent=5, shift=1, centre=0, within=[_upward]),
    )


def _shifts(steps: Floats, most: int) -> list[Floats]:
    """Translations by up to `most` steps in each direction of a lattice (K, 3), none first.

    So few that the scans, which see windows apart from each other, still overlap by a quarter.
    """
    numbers = sorted(product(range(-most, most + 1), repeat=len(steps)), key=lambda each: sum(map(abs, each)))
    return [pose(np.eye(3), np.array(each) @ steps) for each in numbers]


def _windows(
    rng: np.random.Generator,
    steps: Floats,
    *,
    extent: int,
    shift: int,
    centre: int,
    within: list[Callable[[Floats, Floats], Mask]],
) -> tuple[Callable[[Floats, Floats], Mask], Callable[[Floats, Floats], Mask]]:
    """Windows of `extent` steps along each direction of a lattice, those of the scans `shift` steps apart."""
    lengths = np.linalg.norm(steps, axis=1)
    along = steps / lengths[:, None]
    offset = rng.uniform(-0.5, 0.5, len(steps)) + centre
    turned = rng.choice([-1, 1], len(steps)) * shift

    def window(middle: Floats) -> Callable[[Floats, Floats], Mask]:
        def seen(points: Floats, normals: Floats) -> Mask:
            inside = np.abs(points @ along.T / lengths - middle).max(axis=1) < extent / 2
            return np.asarray(inside & np.all([one(points, normals) for one in within], axis=0))

        return seen

    return window(offset), window(offset + turned)


def _normals_within(direction: Sequence[float], most: float) -> Callable[[Floats, Floats], Mask]:
    """Surfaces whose normals are within `most` radians of a direction."""
    unit = np.array(direction) / np.linalg.norm(direction)
    return lambda points, normals: np.asarray(normals @ unit > np.cos(most))


def _upward(points: Floats, normals: Floats) -> Mask:
    return np.asarray(normals[:, 2] > -0.1)


# ---------------------------------------------------------------- identical objects
def _identical_objects(shared: bool) -> Callable[[np.random.Generator], _Scene]:
    """Two equal chairs far apart, each seen by one scan with what stands around it; both see the middle, or do not."""

    def build(rng: np.random.Generator) -> _Scene:
        parts = [box([-5, -2, -0.2], [5, 2, 0]), *chair([-3, 0.2, 0], 0.4), *chair([3, -0.3, 0], 1.7)]
        parts += [box([-4.6, -1.6, 0], [-3.9, -0.7, 1.1]), cylinder([-2.2, 1.2, 0], [-2.2, 1.2, 0.8], 0.3)]
        parts += [gable([3.7, 0.6, 0], [4.6, 1.6, 0.9]), ellipsoid([2.2, 1.2, 0.4], [0.5, 0.3, 0.4])]
        parts += table([0.1, 0.3, 0], 1.5, 0.8, 0.74, 0.3)
        parts += [cylinder([-0.6, -1, 0], [-0.6, -1, 0.5], 0.25), box([0.7, -1.3, 0], [1.1, -0.7, 1.3])]
        limit = 1.4 if shared else -0.2
        sees = [lambda p, n: _upward(p, n) & (p[:, 0] < limit), lambda p, n: _upward(p, n) & (p[:, 0] > -limit)]
        if rng.random() < 0.5:
            sees.reverse()
        return _Scene(parts, determined=shared, seen=(sees[0], sees[1]))

    return build


def _uniform(rng: np.random.Generator, count: int) -> Floats:
    return rng.random((count, 3)) * [1.0, 0.8, 0.6]


def _gaussian(rng: np.random.Generator, count: int) -> Floats:
    return rng.normal(size=(count, 3))


_SCENES: dict[str, Callable[[np.random.Generator], _Scene]] = {
    **{f"box {percent} %": _box(percent / 100) for percent in range(1, 7)},
    "cube": _cube,
    "plate": _plate(False),
    "cylinder": _cylinder(False),
    "stairs": _stairs,
    "box grid": _box_grid,
    "parked cars": _parked_cars,
    "tower": _tower,
    "roof tiles": _roof_tiles,
    "poles": _poles,
    "identical objects apart": _identical_objects(False),
    "identical objects": _identical_objects(True),
    "plate with a boss": _plate(True),
    "cylinder with a mark": _cylinder(True),
}
_NOISES: dict[str, Callable[[np.random.Generator, int], Floats]] = {
    "uniform noise": _uniform,
    "gaussian noise": _gaussian,
}
