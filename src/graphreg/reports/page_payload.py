"""What the viewer of a report draws, as plain numbers: points, what is known of each, and the way of the source.

Lengths are in units of the larger cloud's radius. Points are relative to the middle of their cloud, and motions say
where the middle of the source goes, relative to that of the target: so no large number is left.
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
from graphreg.reports.display_clouds import Sample, placement_of, standpoint

# Values are told to a 254th of their range; UNKNOWN stands for what has none.
LEVELS, UNKNOWN = 255, 255
# Residuals are shown up to so many times the median of the part that overlaps.
WIDEST_RESIDUAL = 6.0


def payload(
    motion: Floats,
    steps: Sequence[Iteration],
    samples: tuple[Sample, Sample],
    residuals: tuple[Floats, Floats],
    widest: float,
) -> dict[str, Any]:
    """Everything for the viewer, ready for JSON.

    motion     (4, 4), the one that was found, by these steps
    residuals  of each cloud's points, shown up to the widest
    """
    from graphreg.reports.pictures import colour_map

    signals = {
        "residual": residuals,
        "intensity": _logarithms(sample.intensity for sample in samples),
        "variation": _logarithms(sample.variation for sample in samples),
    }
    ranges = {name: _usual_range(values) for name, values in signals.items()} | {"residual": (0.0, widest)}
    ends = {name: [f"{10**end:.2g}" for end in ranges[name]] for name in ("intensity", "variation")}
    unit = max(sample.radius for sample in samples)
    clouds = []
    for number, sample in enumerate(samples):
        low, step, places = quantised((sample.points - sample.centre) / unit)
        clouds.append(
            {
                "points": len(sample.points),
                "on_surface": sample.on_surface,
                "near_surface": sample.near_surface,
                "radius": sample.radius / unit,
                "spacing": sample.spacing / unit,
                "low": low.tolist(),
                "step": step.tolist(),
                "places": encoded(places),
                "values": {name: encoded(levels(values[number], *ranges[name])) for name, values in signals.items()},
            }
        )
    return {
        "clouds": clouds,
        "frames": frames(motion, steps, samples),
        "view": standpoint(samples[1]).ravel().tolist(),
        "palette": encoded(np.round(255 * colour_map(np.linspace(0, 1, LEVELS), 0, 1)).astype(np.uint8)),
        "legends": ends | {"residual": ["0", f"{widest:.3g} or more"]},
    }


def frames(motion: Floats, steps: Sequence[Iteration], samples: tuple[Sample, Sample]) -> list[dict[str, Any]]:
    """The way of the source: as it came, after each step, and where it was laid.

    step, name         of the moment; 0 is before the first step
    rotation           quaternion x, y, z, w
    shift, shortened   where its middle is drawn, and whether that is nearer than it is
    degrees, distance  how far it has yet to turn and, in the unit of the data, its middle to go
    """
    from scipy.spatial.transform import Rotation

    count = steps[-1].number if steps else 1
    moments = [(0, "before", np.eye(4))]
    moments += [(step.number, f"step {step.number} of {count}", step.transformation) for step in steps]
    if len(moments) > 1 and np.array_equal(moments[-1][2], motion):
        moments.pop()
    moments.append((count, "after", motion))
    middle = samples[0].centre[None]
    way = []
    for number, name, here in moments:
        placed = placement_of(here, *samples)
        way.append(
            {
                "step": number,
                "name": name,
                "rotation": Rotation.from_matrix(placed.rotation).as_quat().tolist(),
                "shift": placed.shift.tolist(),
                "shortened": placed.shortened,
                "degrees": angular_error(here, motion),
                "distance": float(np.linalg.norm(transform(here, middle) - transform(motion, middle))),
            }
        )
    return way


def widest_residual(residuals: Floats, overlap: float, radius: float) -> float:
    """Up to where residuals are worth telling apart: what lies beyond has no counterpart.

    overlap  share of the points that have one
    """
    typical = float(np.quantile(residuals, np.clip(overlap, 0.1, 1.0) / 2))
    return max(WIDEST_RESIDUAL * typical, 1e-9 * radius)


def quantised(points: Floats) -> tuple[Floats, Floats, NDArray[np.uint16]]:
    """Lowest corner, step and (N, 3) whole numbers with points = corner + step * numbers, to half a step."""
    low = points.min(axis=0)
    step = (points.max(axis=0) - low) / 65535
    places = np.round((points - low) / np.where(step > 0, step, 1.0))
    return low, step, places.astype("<u2")


def levels(values: Floats, low: float, high: float) -> NDArray[np.uint8]:
    """Whole numbers from 0 at `low` to 254 at `high`, and UNKNOWN where there is none."""
    finite = np.isfinite(values)
    share = (np.where(finite, values, low) - low) / (high - low)
    return np.where(finite, np.round((LEVELS - 1) * np.clip(share, 0, 1)), UNKNOWN).astype(np.uint8)


def encoded(numbers: NDArray[Any]) -> str:
    """The bytes of an array, row by row, as base64."""
    return base64.b64encode(np.ascontiguousarray(numbers).tobytes()).decode("ascii")


def _logarithms(signals: Iterable[Floats]) -> tuple[Floats, ...]:
    """Not finite where a signal is zero or not finite."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return tuple(np.log10(signal) for signal in signals)


def _usual_range(values: Sequence[Floats]) -> tuple[float, float]:
    """From the 2nd to the 98th percentile, so that a few wild values do not flatten the rest."""
    every = np.concatenate(values)
    finite = every[np.isfinite(every)]
    if not len(finite):
        return 0.0, 1.0
    low, high = np.quantile(finite, [0.02, 0.98])
    return float(low), float(high if high > low else low + 1)
