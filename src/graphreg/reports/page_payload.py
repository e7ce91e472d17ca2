"""The data of the interactive viewer in a page: quantised points, their colours, and the poses of the source.

Lengths are in units of the larger cloud's radius. Points are relative to the centre of their cloud, and a pose is the
position of the centre of the source relative to the centre of the target, so that no number is large.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphreg.clouds import Floats
from graphreg.method_interface import Iteration
from graphreg.metrics import angular_error
from graphreg.poses import transform
from graphreg.reports.display_clouds import DisplayCloud, default_view, displayed_pose

# Levels of a colour scale; a value that is not finite has the level UNKNOWN.
LEVELS, UNKNOWN = 255, 255
# Steps of a quantised coordinate, which has 16 bits.
POSITION_STEPS = 65535


def registration_payload(
    transformation: Floats,
    iterations: Sequence[Iteration],
    clouds: tuple[DisplayCloud, DisplayCloud],
    residuals: tuple[Floats, Floats],
    max_residual: float,
) -> dict[str, Any]:
    """Collect everything that the viewer of a registration displays, ready for JSON.

    Parameters
    ----------
    transformation : (4, 4) ndarray
        The result, x_target = T x_source.
    iterations : sequence of Iteration
        The iterations that led to it.
    clouds : (DisplayCloud, DisplayCloud)
        Source and target.
    residuals : (ndarray, ndarray)
        Distance of each point to the surface of the other cloud.
    max_residual : float
        Residual at the end of the colour scale.
    """
    signals = {
        "residual": residuals,
        "intensity": _logarithms(cloud.intensity for cloud in clouds),
        "variation": _logarithms(cloud.variation for cloud in clouds),
    }
    ranges = {name: _percentile_range(values) for name, values in signals.items()} | {"residual": (0.0, max_residual)}
    legends = {name: [f"{10**end:.2g}" for end in ranges[name]] for name in ("intensity", "variation")}
    unit = max(cloud.radius for cloud in clouds)
    entries = []
    for index, cloud in enumerate(clouds):
        scales = {name: encoded(levels(values[index], *ranges[name])) for name, values in signals.items()}
        positions = (cloud.points - cloud.centre) / unit
        entries.append(
            cloud_entry(positions, cloud.radius / unit, cloud.spacing / unit)
            | {"inliers": cloud.inlier_count, "levels": scales}
        )
    return {
        "clouds": entries,
        "frames": frames(transformation, iterations, clouds),
        "view": default_view(clouds[1]).ravel().tolist(),
        "palette": palette(),
        "legends": legends | {"residual": ["0", f"{max_residual:.3g} or more"]},
    }


def cloud_entry(positions: Floats, radius: float, spacing: float) -> dict[str, Any]:
    """Encode the points of a cloud for the viewer; all arguments are in its unit of length."""
    low, step, quanta = quantised(positions)
    return {
        "points": len(positions),
        "radius": radius,
        "spacing": spacing,
        "low": low.tolist(),
        "step": step.tolist(),
        "positions": encoded(quanta),
    }


def palette() -> str:
    """Encode the colours of the levels 0 to 254, three bytes each."""
    from graphreg.reports.pictures import colour_map

    return encoded(np.round(255 * colour_map(np.linspace(0, 1, LEVELS), 0, 1)).astype(np.uint8))


def frames(
    transformation: Floats, iterations: Sequence[Iteration], clouds: tuple[DisplayCloud, DisplayCloud]
) -> list[dict[str, Any]]:
    """List the poses of the source: initial, after each iteration, and final.

    Returns
    -------
    list of dict
        iteration, name
            Number, 0 for the initial pose, and what to call the frame.
        rotation
            Quaternion x, y, z, w.
        translation, shortened
            Displayed position of the centre of the source, and whether it is closer to the target than it is.
        degrees, distance
            Rotation, and distance of the centre in the unit of the data, from this pose to the final one.
    """
    from scipy.spatial.transform import Rotation

    count = iterations[-1].number if iterations else 1
    poses = [(0, "before", np.eye(4))]
    poses += [(now.number, f"iteration {now.number} of {count}", now.transformation) for now in iterations]
    if len(poses) > 1 and np.array_equal(poses[-1][2], transformation):
        poses.pop()
    poses.append((count, "after", transformation))
    centre = clouds[0].centre[None]
    listed = []
    for number, name, current in poses:
        shown = displayed_pose(current, *clouds)
        listed.append(
            {
                "iteration": number,
                "name": name,
                "rotation": Rotation.from_matrix(shown.rotation).as_quat().tolist(),
                "translation": shown.translation.tolist(),
                "shortened": shown.shortened,
                "degrees": angular_error(current, transformation),
                "distance": float(np.linalg.norm(transform(current, centre) - transform(transformation, centre))),
            }
        )
    return listed


def quantised(points: Floats) -> tuple[Floats, Floats, NDArray[np.uint16]]:
    """Quantise coordinates to 16 bits.

    Returns
    -------
    low, step : (3,) ndarray
    quanta : (N, 3) uint16 ndarray
        points = low + step * quanta, to half a step.
    """
    low = points.min(axis=0)
    step = (points.max(axis=0) - low) / POSITION_STEPS
    quanta = np.round((points - low) / np.where(step > 0, step, 1.0))
    return low, step, quanta.astype("<u2")


def levels(values: Floats, low: float, high: float) -> NDArray[np.uint8]:
    """Quantise values to levels from 0 at `low` to 254 at `high`; values that are not finite become UNKNOWN."""
    finite = np.isfinite(values)
    share = (np.where(finite, values, low) - low) / (high - low)
    return np.where(finite, np.round((LEVELS - 1) * np.clip(share, 0, 1)), UNKNOWN).astype(np.uint8)


def encoded(numbers: NDArray[Any]) -> str:
    """Encode the bytes of an array, row by row, as base64."""
    return base64.b64encode(np.ascontiguousarray(numbers).tobytes()).decode("ascii")


def _logarithms(signals: Iterable[Floats]) -> tuple[Floats, ...]:
    """Base 10; not finite where a signal is zero or not finite."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return tuple(np.log10(signal) for signal in signals)


def _percentile_range(values: Sequence[Floats]) -> tuple[float, float]:
    """From the 2nd to the 98th percentile, so that a few extreme values do not flatten the rest."""
    every = np.concatenate(values)
    finite = every[np.isfinite(every)]
    if not len(finite):
        return 0.0, 1.0
    low, high = np.quantile(finite, [0.02, 0.98])
    return float(low), float(high if high > low else low + 1)
