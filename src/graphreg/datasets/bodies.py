"""Synthetic bodies for a range camera, about 0.2 m in size: organic (dragon, hare, hand) and machined (casting).

Lengths in this module are millimetres; the surfaces that it returns are in metres. No body has a symmetry.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import CubicSpline

from graphreg.clouds import Floats
from graphreg.datasets.implicit_surfaces import ImplicitSurface, SmoothUnion
from graphreg.datasets.surfaces import rotation_zyx

MILLIMETRE = 1e-3


def dragon(variant: int) -> ImplicitSurface:
    """A walking dragon: open jaws, horns, a crest of spikes, one wing raised and one half folded."""
    rng = np.random.default_rng([variant, 1])
    shape = SmoothUnion(1.0, _relief(rng, 0.5, 8.0))
    spine = _curve(
        [[88, -34, -56], [98, 4, -58], [72, 28, -52], [44, 12, -30], [24, -2, -4], [-10, -4, 4],
         [-34, 4, 12], [-46, 6, 36], [-54, -2, 58], [-70, -8, 64]], 34, rng, 2.0
    )  # fmt: skip
    thick = _along([1.5, 4.5, 8.5, 12, 17, 19.5, 16, 10.5, 9, 9], 34)
    shape.add_capsules(spine, thick)
    for k in range(2, 33):
        ahead = spine[k + 1] - spine[k - 1]
        ahead /= np.linalg.norm(ahead)
        up = np.array([0.0, 0.0, 1.0]) - ahead[2] * ahead
        up /= np.linalg.norm(up)
        tall = (3 + 0.55 * thick[k]) * rng.uniform(0.6, 1.3)
        root = spine[k] + 0.8 * thick[k] * up
        shape.add_capsules([root, root + tall * up - 0.5 * tall * ahead], [2.4, 0.5])
    _dragon_head(shape)
    for hip, knee, foot, size in (
        ([-22, 14, 2], [-36, 32, -22], [-44, 30, -58], 7.5),
        ([-24, -14, 0], [-52, -30, -8], [-74, -30, -34], 7.0),
        ([30, 12, -8], [26, 34, -30], [40, 34, -60], 9.0),
        ([26, -14, -8], [6, -34, -26], [14, -34, -60], 9.5),
    ):
        shape.add_capsules([hip, knee, foot], [1.5 * size, 0.85 * size, 0.6 * size])
        for toe in (-0.55, 0.0, 0.6):
            tip = np.array(foot) + np.array([-17 * np.cos(toe), 15 * np.sin(toe), -3])
            shape.add_capsules([foot, (np.array(foot) + tip) / 2 + [0, 0, 3], tip], [0.55 * size, 0.42 * size, 0.6])
    _wing(shape, [-16, 12, 18], [[10, 40, 62], [44, 48, 84], [62, 46, 62], [58, 44, 36]])
    _wing(shape, [-14, -13, 18], [[14, -38, 34], [54, -42, 40], [66, -42, 22], [58, -38, 4]])
    return _body(shape.field(), 135)


def _dragon_head(shape: SmoothUnion) -> None:
    face = rotation_zyx(0.5, 0.25)
    origin = np.array([-78.0, -12.0, 66.0])

    def at(*point: float) -> Floats:
        return np.asarray(origin + face @ np.array(point))

    shape.add_ellipsoid(at(0, 0, 0), [13, 9.5, 9], face)
    shape.add_capsules([at(-4, 0, 2), at(-22, 0, 0.5), at(-31, 0, 1)], [8, 5.5, 4])
    shape.add_capsules([at(0, 0, -5), at(-14, 0, -15), at(-25, 1, -19)], [5.5, 4, 2.5])
    shape.add_capsules([at(-12, 0, -13), at(-26, 3, -11), at(-35, 6, -15)], [2.2, 1.6, 0.8])
    for side in (-1, 1):
        shape.add_capsules(
            [at(6, 5 * side, 6), at(20, 9 * side, 15), at(34 + 4 * side, 10 * side, 15)], [3.2, 2.4, 0.7]
        )
        shape.add_ellipsoid(at(-9, 6.5 * side, 5.5), [3.6, 2.6, 2.8], face)
        shape.add_ellipsoid(at(-30, 2.6 * side, 4), [2.4, 1.6, 2.0], face)
        shape.add_capsules([at(4, 8 * side, -4), at(14, (14 + 2 * side) * side, -7)], [2.8, 0.7])
        for tooth in (-19, -24, -29):
            shape.add_capsules([at(tooth, 3.6 * side, -1), at(tooth - 0.5, 3.8 * side, -7)], [1.4, 0.4])
    shape.add_capsules([at(-20, 0, -17), at(-17, 0, -28)], [2.0, 0.5])


def _wing(shape: SmoothUnion, shoulder: ArrayLike, fingers: ArrayLike) -> None:
    """Struts from the first joint to each tip, and a thin membrane between neighbouring struts."""
    root, tips = np.asarray(shoulder, float), np.asarray(fingers, float)
    wrist = tips[0]
    shape.add_capsules([root, (root + wrist) / 2 + [4, 0, 2], wrist], [5.5, 4, 3])
    for tip in tips[1:]:
        shape.add_capsules([wrist, (wrist + tip) / 2 + [0, 0, 3], tip], [2.6, 1.9, 0.7])
    for first, second in zip(tips[1:], [*tips[2:], root], strict=True):
        for share in np.linspace(0, 1, int(np.linalg.norm(first - second) / 4) + 2)[1:-1]:
            edge = first + share * (second - first)
            # The membrane sags between the struts.
            tip = edge + 0.25 * share * (1 - share) * 4 * (wrist - edge)
            shape.add_capsules([wrist, tip], [1.6, 1.9])


def hare(variant: int) -> ImplicitSurface:
    """A sitting hare with its head to the left, one ear up and one bent, and a rough coat."""
    rng = np.random.default_rng([variant, 2])
    shape = SmoothUnion(3.0, _relief(rng, 0.7, 11.0))

    def near(*point: float) -> Floats:
        return np.array(point) + rng.uniform(-1.5, 1.5, 3)

    shape.add_ellipsoid(near(16, 0, -36), [44, 33, 33], rotation_zyx(0, 0.35))
    shape.add_ellipsoid(near(-18, -1, -14), [26, 25, 32], rotation_zyx(0.1, -0.3))
    shape.add_ellipsoid(near(-40, 8, 26), [23, 17, 17], rotation_zyx(-0.5, -0.15))
    shape.add_ellipsoid(near(-57, 17, 19), [12, 10.5, 9.5], rotation_zyx(-0.5))
    shape.add_ellipsoid([-68, 22, 21], [3.5, 3, 2.5])
    for cheek in ([-53, 25, 14], [-60, 9, 13]):
        shape.add_ellipsoid(cheek, [7, 6, 6.5])
    for eye in ([-44, 23.5, 31], [-53.5, -0.5, 32]):
        shape.add_ellipsoid(eye, [4.2, 4.0, 4.2])
    shape.add_ellipsoid([-24, 12, 62], [6, 10, 29], rotation_zyx(0.9, 0.45, -0.2))
    shape.add_ellipsoid([-27, -6, 52], [6, 10, 20], rotation_zyx(0.3, 0.35, 0.2))
    shape.add_ellipsoid([-10, -14, 66], [17, 9, 5], rotation_zyx(-0.5, 0.35, 0.2))
    shape.add_ellipsoid(near(24, 25, -42), [28, 13, 25], rotation_zyx(0.15, 0.2))
    shape.add_ellipsoid(near(30, -24, -44), [26, 14, 22], rotation_zyx(-0.25))
    shape.add_capsules([[30, 30, -66], [4, 34, -69], [-14, 33, -70]], [10, 8.5, 7])
    shape.add_capsules([[32, -30, -66], [10, -34, -69], [-4, -38, -70]], [10, 8.5, 6.5])
    shape.add_capsules([[-24, 13, -26], [-34, 15, -52], [-46, 16, -71]], [11, 7.5, 6.5])
    shape.add_capsules([[-22, -13, -26], [-26, -16, -50], [-33, -19, -71]], [11, 7.5, 7])
    for paw in ([-51, 12, -72], [-52, 19, -72], [-39, -22, -72], [-20, 36, -71], [-20, 29, -71]):
        shape.add_ellipsoid(paw, [5, 3.4, 3.6])
    shape.add_ellipsoid(near(62, -5, -44), [12, 10.5, 13])
    for rib in range(5):
        shape.add_ellipsoid(near(2 + 11 * rib, 3, -5 - 1.5 * rib**1.5), [7, 13, 5])
    return _body(shape.field(), 115)


def hand(variant: int) -> ImplicitSurface:
    """A right hand and wrist: five unequal fingers, each bent differently."""
    rng = np.random.default_rng([variant, 3])
    shape = SmoothUnion(1.6, _relief(rng, 0.25, 6.0))
    shape.add_ellipsoid([0, -2, -18], [37, 12, 40], rotation_zyx(0.0, 0.08))
    shape.add_ellipsoid([20, -10, -32], [16, 11, 25], rotation_zyx(0.2, 0.35))
    shape.add_ellipsoid([-22, -8, -32], [13, 10, 26], rotation_zyx(0.0, -0.1))
    shape.add_capsules([[1, 2, -40], [0, 4, -62], [-3, 6, -96]], [20, 18, 21])
    shape.add_ellipsoid([-18, 10, -62], [7, 6.5, 7])
    for line, radii, spread, last in _fingers(rng):
        shape.add_capsules(line, radii)
        for joint, size in zip(line[:-1], radii, strict=False):
            shape.add_ellipsoid(joint + np.array([0, 1.8, 0]), [size * 1.04, size, size * 1.1])
        nail = (line[-1] - line[-2]) / last
        shape.add_ellipsoid(
            line[-1] + [0, 0.62 * radii[-1], 0] - 2 * nail, [0.7 * radii[-1], 1.8, 5], rotation_zyx(-spread)
        )
        shape.add_capsules(np.array([line[0] + [0, 7, 0], [0.35 * line[0][0], 12, -48]]), [2.4, 1.4])
    return _body(shape.field(), 140)


def hand_fingers(variant: int) -> list[tuple[Floats, Floats, float]]:
    """Fingers of the hand: joints (4, 3) from knuckle to tip and radii (4,) in metres, and the spread in radians."""
    rng = np.random.default_rng([variant, 3])
    _relief(rng, 0.25, 6.0)  # `hand` samples its relief first
    return [(line * MILLIMETRE, radii * MILLIMETRE, spread) for line, radii, spread, _ in _fingers(rng)]


def _fingers(rng: np.random.Generator) -> list[tuple[Floats, Floats, float, float]]:
    """Joints, radii, spread and the length of the last bone of each finger."""
    fingers = (
        ([27, 0, 14], (44, 26, 22), (8.6, 7.8, 7.0, 5.6), 0.22, (0.05, 0.16, 0.1)),
        ([9, 2, 19], (48, 31, 24), (8.8, 8.0, 7.2, 5.8), 0.05, (0.28, 0.38, 0.25)),
        ([-9, 1, 16], (44, 29, 23), (8.2, 7.5, 6.8, 5.4), -0.08, (0.40, 0.62, 0.4)),
        ([-26, -2, 8], (34, 21, 19), (7.2, 6.6, 6.0, 4.8), -0.30, (0.28, 0.45, 0.35)),
        ([33, -12, -34], (30, 30, 25), (11.0, 9.2, 8.2, 6.4), 0.85, (0.25, 0.3, 0.45)),
    )
    found = []
    for knuckle, lengths, radii, spread, bends in fingers:
        line, curl = [np.array(knuckle, float)], 0.0
        for length, bend in zip(lengths, bends, strict=True):
            curl += bend * rng.uniform(0.85, 1.15)
            step = [np.sin(spread) * np.cos(curl), -np.sin(curl), np.cos(spread) * np.cos(curl)]
            line.append(line[-1] + length * np.array(step))
        found.append((np.array(line), np.array(radii), spread, float(lengths[-1])))
    return found


def casting(variant: int) -> ImplicitSurface:
    """A cast bearing bracket: plate with unequal holes, bored boss, inclined pipe with a flange, ribs, a stud."""
    rng = np.random.default_rng([variant, 4])
    lean = rng.uniform(0.45, 0.6)
    spout = rotation_zyx(rng.uniform(0.5, 0.7), lean)
    start = np.array([14.0, 6.0, 8.0])
    holes = [([-66, -34], 7), ([-64, 36], 7), ([58, 38], 9), ([66, -28], 5), ([28, -40], 4)]
    studs = [(start + spout @ [14 * np.cos(a), 14 * np.sin(a), 62], 2.6) for a in (0.3, 1.4, 2.6, 3.9, 5.3)]

    def field(p: Floats) -> Floats:
        body = _round_box(p, [0, 0, -34], [80, 50, 8], None, 4)
        body = np.minimum(body, _round_box(p, [-58, -6, -22], [12, 30, 8], None, 2))
        body = _fillet(body, _cylinder(p, [-12, 0, -40], [-12, 0, 34], 34), 5)
        body = _fillet(body, _cylinder(p, start, start + spout @ [0, 0, 58], 14), 4)
        body = np.minimum(body, _cylinder(p, start + spout @ [0, 0, 52], start + spout @ [0, 0, 60], 21))
        body = _fillet(body, _round_box(p, [-44, 8, -8], [22, 4, 24], rotation_zyx(0.15, 0.5), 1), 3)
        body = _fillet(body, _round_box(p, [-10, -34, -12], [4, 18, 22], rotation_zyx(0.2, 0, 0.5), 1), 3)
        body = _fillet(body, _round_box(p, [-28, 22, 14], [7, 20, 9], rotation_zyx(0.4), 2), 2)
        body = np.minimum(body, _cylinder(p, [60, -2, -30], [60, -2, -12], 8))
        body = np.minimum(body, _cylinder(p, [60, -2, -14], [60, -2, 4], 4.5))
        for stud, size in studs:
            body = np.minimum(body, _cylinder(p, stud - spout[:, 2] * 3, stud + spout[:, 2] * 2, size))
        for bore, low, high, size in (
            ([-12, 0], -60, 60, 17), ([-12, 0], 22, 60, 24),
            *((hole, -60, 0, size) for hole, size in holes),
        ):  # fmt: skip
            body = np.maximum(body, -_cylinder(p, [*bore, low], [*bore, high], size))
        body = np.maximum(body, -_cylinder(p, start + spout @ [0, 0, 20], start + spout @ [0, 0, 80], 8.5))
        return np.maximum(body, -_round_box(p, [-48, 0, 34], [24, 5, 12], rotation_zyx(0.3), 0.5))

    return _body(field, 115)


def _body(field: Callable[[Floats], Floats], radius: float) -> ImplicitSurface:
    return ImplicitSurface(lambda points: field(points / MILLIMETRE) * MILLIMETRE, radius * MILLIMETRE)


def _relief(rng: np.random.Generator, height: float, length: float) -> Callable[[Floats], Floats]:
    """Bumps of `height`, about `length` apart: a sum of phase-modulated waves in random directions."""
    waves = rng.normal(size=(3, 5)) * (2 * np.pi / (np.sqrt(3) * length))
    phases = rng.uniform(0, 2 * np.pi, 5)

    def bumps(points: Floats) -> Floats:
        angles = points @ waves + phases
        return np.asarray(height * np.sin(angles + np.sin(0.4 * angles[:, ::-1])).mean(axis=1) * 2)

    return bumps


def _curve(knots: ArrayLike, count: int, rng: np.random.Generator, wobble: float) -> Floats:
    """A cubic spline, as `count` points, through knots displaced at random by up to `wobble`."""
    line = np.asarray(knots, float)
    line = line + rng.uniform(-wobble, wobble, line.shape)
    parameters = np.linspace(0, len(line) - 1, count)
    return np.asarray(CubicSpline(np.arange(len(line)), line)(parameters))


def _along(values: ArrayLike, count: int) -> Floats:
    """Values interpolated linearly to `count` samples."""
    known = np.asarray(values, float)
    return np.asarray(np.interp(np.linspace(0, len(known) - 1, count), np.arange(len(known)), known))


def _round_box(p: Floats, centre: ArrayLike, half: ArrayLike, frame: Floats | None, edge: float) -> Floats:
    """Signed distance to a box with edges rounded to the radius `edge`."""
    local = p - np.asarray(centre, float)
    beyond = np.abs(local if frame is None else local @ frame) - (np.asarray(half, float) - edge)
    outside = np.sqrt((np.maximum(beyond, 0) ** 2).sum(axis=1))
    return np.asarray(outside + np.minimum(beyond.max(axis=1), 0) - edge)


def _cylinder(p: Floats, start: ArrayLike, end: ArrayLike, radius: float) -> Floats:
    """Signed distance to a cylinder."""
    bottom = np.asarray(start, float)
    run = np.asarray(end, float) - bottom
    length = float(np.linalg.norm(run))
    local = p - bottom
    height = local @ (run / length)
    around = np.sqrt(np.maximum((local**2).sum(axis=1) - height**2, 0)) - radius
    above = np.abs(height - length / 2) - length / 2
    corner = np.sqrt(np.maximum(around, 0) ** 2 + np.maximum(above, 0) ** 2)
    return np.asarray(corner + np.minimum(np.maximum(around, above), 0))


def _fillet(first: Floats, second: Floats, width: float) -> Floats:
    """Signed distance to a union whose inner edge is rounded over `width`."""
    share = np.maximum(width - np.abs(first - second), 0)
    return np.asarray(np.minimum(first, second) - share**2 / (4 * width))
