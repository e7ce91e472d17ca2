"""Deskewing: points that a moving sensor measured one after another, as seen at the middle of the frame.

Within a frame the velocity is constant. It is estimated with the pose of the frame on the map of surfels
(`SurfelTracker.track_sweep`); before there is such a map, the sensor moves as it did from the previous frame to this
one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import graphreg._core as _core
from graphreg.clouds import Cloud, Floats
from graphreg.errors import InputError
from graphreg.multiscan.pose_graph import rotation_vectors
from graphreg.poses import cross_matrices, rotation_from_vector

# Attributes of a cloud that have the time of each point: Ouster's, Velodyne's and Hesai's, Robosense's, Livox's.
TIME_FIELDS = ("t", "time", "timestamp", "offset_time")
# What `times` can be instead of numbers.
FIELDS, GUESS = "fields", "guess"


@dataclass(frozen=True)
class DeskewingParameters:
    """Constants of deskewing; all chosen.

    Attributes
    ----------
    instants : int
        The pose of the sensor is computed at so many instants of a frame.
    rounds : int
        For the second frame, pose and velocity of the first two are estimated in turn, so many times.
    least_order : float
        Times can be guessed where the azimuth grows, or falls, for this share of the points more than it does the
        opposite.
    """

    instants: int = 256
    rounds: int = 3
    least_order: float = 0.5


DESKEWING = DeskewingParameters()


def check_times(times: Any) -> None:
    """Raise an `InputError` unless `times` is None, one of the words, or numbers."""
    if times is None or (isinstance(times, str) and times in (FIELDS, GUESS)):
        return
    try:
        values = np.asarray(times, np.float64)
    except (TypeError, ValueError) as problem:
        raise InputError(
            f"times: expected a number for each point, {FIELDS!r} or {GUESS!r}, got {times!r:.60}"
        ) from problem
    if values.ndim != 1:
        raise InputError(f"times: expected a number for each point, got an array of shape {values.shape}")


def frame_times(times: Any, cloud: Cloud) -> Floats | None:
    """Return when each point of a frame was measured, from -1/2 to 1/2.

    Parameters
    ----------
    times : None, "fields", "guess" or (M,) array_like
        None: the points are used as they are. "fields": the attribute of the cloud that has a name of `TIME_FIELDS`.
        "guess": from the azimuth, for a rotating scanner whose points are in the order of measurement. Or a number for
        each row of the input, in any unit.
    cloud : Cloud

    Returns
    -------
    (N,) ndarray or None
        None where all times are equal, or `times` is None.

    Raises
    ------
    InputError
        If there is no finite time for each point.

    Examples
    --------
    >>> from graphreg.clouds import as_cloud
    >>> frame_times([10, 20, 30], as_cloud([[1, 0, 0], [0, 1, 0], [-1, 0, 0]]))
    array([-0.5,  0. ,  0.5])
    """
    if times is None:
        return None
    check_times(times)
    if isinstance(times, str):
        values = _from_fields(cloud) if times == FIELDS else _from_azimuth(cloud.points)
    else:
        values = _given(times, cloud)
    if not np.isfinite(values).all():
        raise InputError("times: expected finite numbers, got NaN or infinity")
    first, last = values.min(), values.max()
    if not last > first:
        return None
    return np.asarray((values - first) / (last - first) - 0.5)


def _given(times: Any, cloud: Cloud) -> Floats:
    values = np.asarray(times, np.float64)
    if values.shape != cloud.kept.shape:
        raise InputError(f"times: expected {len(cloud.kept)} numbers, one for each point, got {len(values)}")
    return np.asarray(values[cloud.kept])


def _from_fields(cloud: Cloud) -> Floats:
    for field in TIME_FIELDS:
        values = cloud.attributes.get(field)
        if values is not None and values.shape == (len(cloud),):
            # Nanoseconds since 1970 have more digits than a float64: subtract first.
            return np.asarray(values - values.min(), np.float64)
    raise InputError(
        f"times: the frame has none of the attributes {', '.join(TIME_FIELDS)}; it has "
        f"{', '.join(cloud.attributes) or 'none'}"
    )


def _from_azimuth(points: Floats) -> Floats:
    """The angle that the scanner has turned since the first point, in the direction in which it turns."""
    azimuth = np.arctan2(points[:, 1], points[:, 0])
    steps = np.sign((np.diff(azimuth) + np.pi) % (2 * np.pi) - np.pi)
    direction = float(steps.mean()) if len(steps) else 0.0
    if abs(direction) < DESKEWING.least_order:
        raise InputError(
            "times: they cannot be guessed, for the points are not in the order of measurement of a rotating scanner"
        )
    return np.asarray((np.sign(direction) * (azimuth - azimuth[0])) % (2 * np.pi))


def deskewed(points: Floats, times: Floats, T_previous_frame: Floats, threads: int = 1) -> Floats:
    """Return the points as seen from the pose of the sensor at the middle of the frame.

    Parameters
    ----------
    points : (N, 3) ndarray
        Each in the frame of the sensor at its own time.
    times : (N,) ndarray
        From -1/2 to 1/2.
    T_previous_frame : (4, 4) ndarray
        How the sensor moves in the time of a frame.
    threads : int, default 1

    Examples
    --------
    >>> from graphreg.poses import pose
    >>> ahead = pose(np.eye(3), [2.0, 0.0, 0.0])
    >>> deskewed(np.array([[9.0, 0, 0], [9.0, 0, 0]]), np.array([-0.5, 0.5]), ahead)
    array([[ 8.,  0.,  0.],
           [10.,  0.,  0.]])
    """
    instants = DESKEWING.instants
    instant_of = np.round((times + 0.5) * (instants - 1)).astype(np.int32)
    poses = sensor_poses(T_previous_frame, np.linspace(-0.5, 0.5, instants))
    return _core.transform_each(points, instant_of, poses, threads)


def sensor_poses(T_previous_frame: Floats, times: Floats) -> Floats:
    """Return the pose of the sensor at each time with respect to that at the middle of the frame, (K, 4, 4).

    The rotation about a fixed axis and the velocity in the sensor's frame are constant: a screw, to second order in the
    rotation.
    """
    rotation = rotation_vectors(T_previous_frame[None, :3, :3])[0]
    velocity = rotation_from_vector(-rotation / 2) @ T_previous_frame[:3, 3]
    poses = np.tile(np.eye(4), (len(times), 1, 1))
    poses[:, :3, :3] = _rotations_by(rotation, times)
    poses[:, :3, 3] = times[:, None] * (_rotations_by(rotation, times / 2) @ velocity)
    return poses


def _rotations_by(vector: Floats, shares: Floats) -> Floats:
    """Rotations (K, 3, 3) by shares of a rotation vector (Rodrigues)."""
    angle = float(np.linalg.norm(vector))
    cross = cross_matrices(vector[None] / (angle or 1.0))[0]
    sin, versine = np.sin(shares * angle), 2 * np.sin(shares * angle / 2) ** 2
    return np.asarray(np.eye(3) + sin[:, None, None] * cross + versine[:, None, None] * (cross @ cross))
