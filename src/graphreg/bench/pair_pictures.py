"""Pictures of pairs: as they lie, as they belong, and as our methods lay them on each other."""

from __future__ import annotations

import numpy as np

from graphreg.bench.pairs import CLEAN, Pair, Spoiling
from graphreg.clouds import Floats
from graphreg.poses import principal_frame, transform
from graphreg.registration import run_method
from graphreg.reports.pictures import BLUE, ORANGE, Camera, Image, panels

# The target's principal axes are x, y and z in this order, from the shortest: seen along the shortest, it shows most.
CAMERA = Camera(azimuth=90.0, elevation=15.0)
SIZE = (1600, 420)
SHOWN = ("graphreg-paper", "graphreg")


def before_and_after(pair: Pair, spoiling: Spoiling = CLEAN, start: Floats | None = None) -> Image:
    """Source and target: as they lie, in their true pose, and registered by the published method and by ours.

    spoiling  what is wrong with the scans: shown as they lie, as far as it is near them
    start     motion of the source before that
    """
    first = np.eye(4) if start is None else start
    source, target = transform(first, spoiling.of(pair.source, 0)), spoiling.of(pair.target, 1)
    found = {name: run_method(source, target, name, {}).transformation @ first for name in SHOWN}
    poses = {"ground truth": pair.truth}
    poses |= {f"{name} ({pair.errors(motion)[0]:.3g}°)": motion for name, motion in found.items()}
    given = np.vstack([transform(first, pair.source), pair.target])
    frame = principal_frame(pair.target)
    scenes = [
        [(transform(frame, _near(source, given)), BLUE), (transform(frame, _near(target, given)), ORANGE)],
        *(
            [(transform(frame @ motion, pair.source), BLUE), (transform(frame, pair.target), ORANGE)]
            for motion in poses.values()
        ),
    ]
    return panels(scenes, ["as they lie", *poses], CAMERA, SIZE)


def _near(points: Floats, others: Floats) -> Floats:
    """Those within the bounding box of others, and a margin."""
    low, high = others.min(axis=0), others.max(axis=0)
    margin = 0.1 * (high - low)
    return np.asarray(points[((points >= low - margin) & (points <= high + margin)).all(axis=1)])
