"""Synthetic scans with exact ground truth, made without files or network.

    pair = synthetic.pair("dragon", 30)
    result = graphreg.register(pair.source, pair.target)       # compare with pair.T_target_source

A name and a `variant` select what is scanned, `viewpoint` from where, `seed` the noise. The same arguments give the
same bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from graphreg.argument_checks import check_choice, check_flag, check_integer, check_number
from graphreg.clouds import Floats
from graphreg.datasets.contamination import add_noise, add_outliers
from graphreg.datasets.scan_setups import SETUPS, ScanSetup
from graphreg.datasets.scanner import ReturnLoss, cast_rays, simulate_scan, simulate_sweep
from graphreg.datasets.surfaces import Surface
from graphreg.errors import InputError
from graphreg.poses import inverse

__all__ = [
    "Pair",
    "Scan",
    "add_noise",
    "add_outliers",
    "bodies",
    "pair",
    "scan",
    "scenes",
    "sequence",
    "surface",
]

MAX_POINTS = 20_000_000
# Source points that the overlap is estimated from.
OVERLAP_SAMPLE = 5000


@dataclass(frozen=True, eq=False)
class Scan:
    """One synthetic scan.

    Parameters
    ----------
    points : (N, 3) array
        In the sensor's frame, in metres.
    pose : (4, 4) array
        Exact pose of the sensor: x_world = pose x_sensor.
    name : str
        The body or scene.
    times : (N,) array or None
        Of a scan with motion distortion: when each point was measured, from -1/2 to 1/2. Points are then in the
        sensor's frame at their own time, and `pose` is that at time 0.
    """

    points: Floats
    pose: Floats
    name: str
    times: Floats | None = None


@dataclass(frozen=True, eq=False)
class Pair:
    """Two synthetic scans of one body or scene, each in its sensor's frame.

    Parameters
    ----------
    source, target : (N, 3) and (M, 3) arrays
        In metres.
    T_target_source : (4, 4) array
        Exact transform: x_target = T x_source.
    overlap : float
        Share of the source points that the target's sensor can see as well.
    name : str
        The body or scene.
    """

    source: Floats
    target: Floats
    T_target_source: Floats
    overlap: float
    name: str


def bodies() -> tuple[str, ...]:
    """Names of the bodies: small objects, scanned by a range camera from around them.

    Examples
    --------
    >>> bodies()
    ('dragon', 'hare', 'hand', 'casting')
    """
    return tuple(name for name, setup in SETUPS.items() if setup.sensor.projection == "pinhole")


def scenes() -> tuple[str, ...]:
    """Names of the scenes, scanned by a laser scanner within them.

    Examples
    --------
    >>> scenes()
    ('facade', 'room', 'street')
    """
    return tuple(name for name in SETUPS if name not in bodies())


def scan(
    name: str,
    viewpoint: float = 0.0,
    *,
    points: int | None = None,
    noise: float | None = None,
    dropout: float = 0.02,
    range_dropout: float = 0.0,
    variant: int = 0,
    seed: int = 0,
) -> Scan:
    """Scan a body or scene from one viewpoint.

    Parameters
    ----------
    name : str
        One of `bodies()` and `scenes()`.
    viewpoint : float, default 0
        Degrees around a body, within the room or in front of the facade; metres along the street.
    points : int, optional
        Approximate number of points; by default that of such a scanner, from 40,000 (bodies) to 120,000 (street).
    noise : float, optional
        Standard deviation of the range, in metres; by default that of such a scanner, from 0.0001 to 0.02.
    dropout : float, default 0.02
        Share of the returns that are lost at random. Those at grazing incidence are always lost.
    range_dropout : float, default 0
        Share of the returns at the scanner's maximal range that are lost as well; falls with the square of the range.
    variant : int, default 0
        Selects another individual of the same kind.
    seed : int, default 0
        Of the noise, the lost returns and the exact pose of the scanner.

    Returns
    -------
    Scan

    Raises
    ------
    InputError
        If an argument is out of range.

    Examples
    --------
    >>> hare = scan("hare", 45.0, points=1000)
    >>> hare.name, hare.points.shape[1], hare.pose.shape
    ('hare', 3, (4, 4))
    """
    return next(
        sequence(
            name,
            1,
            viewpoint=viewpoint,
            points=points,
            noise=noise,
            dropout=dropout,
            range_dropout=range_dropout,
            variant=variant,
            seed=seed,
        )
    )


def pair(
    name: str,
    step: float | None = None,
    *,
    viewpoint: float = 0.0,
    points: int | None = None,
    noise: float | None = None,
    dropout: float = 0.02,
    range_dropout: float = 0.0,
    variant: int = 0,
    seed: int = 0,
) -> Pair:
    """Scan a body or scene from two viewpoints: the target from `viewpoint`, the source from `viewpoint + step`.

    Parameters
    ----------
    name : str
        One of `bodies()` and `scenes()`.
    step : float, optional
        From the target's viewpoint to the source's, in its unit; by default 30 degrees (bodies), 40 (room),
        60 (facade), 5 m (street). Around a body, 90 degrees leave an overlap of about 0.4; along the street, 20 m do.
    viewpoint, points, noise, dropout, range_dropout, variant, seed
        As for `scan`.

    Returns
    -------
    Pair

    Examples
    --------
    >>> dragon = pair("dragon", 30, points=1000)
    >>> dragon.T_target_source.shape
    (4, 4)
    >>> 0.5 < dragon.overlap < 1
    True
    """
    target, source = sequence(
        name,
        2,
        step,
        viewpoint=viewpoint,
        points=points,
        noise=noise,
        dropout=dropout,
        range_dropout=range_dropout,
        variant=variant,
        seed=seed,
    )
    setup = _setup(name)
    T_target_source = inverse(target.pose) @ source.pose
    scanned = setup.surface(variant, max(viewpoint, viewpoint + (setup.step if step is None else step)))
    overlap = _overlap(setup, scanned, source, target, setup.noise if noise is None else noise)
    return Pair(source.points, target.points, T_target_source, overlap, name)


def sequence(
    name: str,
    frames: int,
    step: float | None = None,
    *,
    viewpoint: float = 0.0,
    points: int | None = None,
    noise: float | None = None,
    dropout: float = 0.02,
    range_dropout: float = 0.0,
    variant: int = 0,
    seed: int = 0,
    distorted: bool = False,
) -> Iterator[Scan]:
    """Scan a body or scene from successive viewpoints: `viewpoint`, `viewpoint + step`, ...

    Parameters
    ----------
    name : str
        One of `bodies()` and `scenes()`.
    frames : int
        Number of scans.
    step : float, optional
        From one viewpoint to the next; default as for `pair`.
    viewpoint, points, noise, dropout, range_dropout, variant, seed
        As for `scan`.
    distorted : bool, default False
        Whether the scanner moves by `step` while it scans, as one that rotates on a car does: then scans have `times`.
        Only on the street.

    Returns
    -------
    iterator of Scan
        Each is computed when it is asked for. The first is the same, bit for bit, as that of `scan`.

    Examples
    --------
    >>> street = list(sequence("street", 3, 1.0, points=500))
    >>> [round(float(scan.pose[0, 3])) for scan in street]
    [0, 1, 2]
    """
    setup = _setup(name)
    count = check_number("points", setup.points if points is None else points, 10, MAX_POINTS)
    sigma = check_number("noise", setup.noise if noise is None else noise, 0, setup.max_range)
    loss = ReturnLoss(
        check_number("dropout", dropout, 0, 0.99), check_number("range_dropout", range_dropout, 0, 1), setup.max_range
    )
    spacing = check_number("step", setup.step if step is None else step, -1e4, 1e4)
    first = check_number("viewpoint", viewpoint, -1e4, 1e4)
    check_integer("frames", frames, 1)
    check_integer("variant", variant)
    check_integer("seed", seed)
    if check_flag("distorted", distorted) and name != "street":
        raise InputError(f"distorted: only scans of the street can be, got {name!r}")
    viewpoints = [first + k * spacing for k in range(frames)]
    if name == "street" and min(viewpoints) < 0:
        raise InputError(f"viewpoint: the sequence reaches {min(viewpoints):g} m, but the street begins at 0")

    def scans() -> Iterator[Scan]:
        scanned = setup.surface(variant, max(viewpoints))
        for k, at in enumerate(viewpoints):
            rng = np.random.default_rng([seed, k])
            pose = setup.sensor_pose(at, rng)
            if distorted:
                poses = partial(_sensor_pose, setup, at, spacing)
                measured, times = simulate_sweep(scanned, setup.sensor, poses, int(count), sigma, loss, rng)
                yield Scan(measured, pose, name, times)
                continue
            yield Scan(simulate_scan(scanned, setup.sensor, pose, int(count), sigma, loss, rng), pose, name)

    return scans()


def surface(name: str, variant: int = 0) -> Surface:
    """The exact surface of a body or scene, to cast other rays at; of the street, its first 128 m."""
    check_integer("variant", variant)
    return _setup(name).surface(variant, 0.0)


def _setup(name: str) -> ScanSetup:
    return SETUPS[check_choice("name", name, SETUPS)]


def _sensor_pose(setup: ScanSetup, viewpoint: float, step: float, time: float) -> Floats:
    """Pose of a moving sensor, which is at `viewpoint` at time 0 and one step ahead at time 1."""
    return setup.sensor_pose(viewpoint + time * step, np.random.default_rng(0))


def _overlap(setup: ScanSetup, scanned: Surface, source: Scan, target: Scan, noise: float) -> float:
    """Share of the source points that are visible from the target's pose: the range there is that of the point."""
    sample = source.points[:: 1 + len(source.points) // OVERLAP_SAMPLE]
    T_target_source = inverse(target.pose) @ source.pose
    rays = sample @ T_target_source[:3, :3].T + T_target_source[:3, 3]
    ranges = np.linalg.norm(rays, axis=1)
    rays /= ranges[:, None]
    no_loss = ReturnLoss(0.0, 0.0, setup.max_range)
    seen = cast_rays(scanned, setup.sensor, rays, target.pose, no_loss, np.random.default_rng(0))
    visible = np.abs(seen - ranges) <= 4 * noise + 2e-3 * ranges
    return float((visible & setup.sensor.covers(rays)).mean())
