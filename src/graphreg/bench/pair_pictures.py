"""Rendered pairs: in the initial pose, in the true pose, and as registered by the published method and by ours."""

from __future__ import annotations

import numpy as np

from graphreg.bench.corruption import CLEAN, Corruption
from graphreg.bench.pairs import Pair
from graphreg.clouds import Floats
from graphreg.poses import principal_frame, transform
from graphreg.registration import run_method
from graphreg.reports.pictures import BLUE, ORANGE, Camera, Image, panels

# In the principal frame x is the shortest axis of the target: along it most of the target is visible.
CAMERA = Camera(azimuth=90.0, elevation=15.0)
SIZE = (1600, 420)
SHOWN = ("graphreg-paper", "graphreg")


def before_and_after(pair: Pair, corruption: Corruption = CLEAN, start: Floats | None = None) -> Image:
    """Render source and target before and after registration.

    Parameters
    ----------
    pair : Pair
        The pair.
    corruption : Corruption, default CLEAN
        What is done to both scans; drawn in the first panel, as far as it is near them.
    start : (4, 4) array, optional
        Transform of the source before registration.

    Returns
    -------
    Image
        Four panels: initial pose, ground truth, published method, our method.
    """
    initial = np.eye(4) if start is None else start
    source, target = transform(initial, corruption.apply(pair.source, 0)), corruption.apply(pair.target, 1)
    found = {name: run_method(source, target, name, {}).transformation @ initial for name in SHOWN}
    poses = {"ground truth": pair.truth}
    poses |= {f"{name} ({pair.errors(pose)[0]:.3g}°)": pose for name, pose in found.items()}
    clean = np.vstack([transform(initial, pair.source), pair.target])
    frame = principal_frame(pair.target)
    scenes = [
        [(transform(frame, _near(source, clean)), BLUE), (transform(frame, _near(target, clean)), ORANGE)],
        *(
            [(transform(frame @ pose, pair.source), BLUE), (transform(frame, pair.target), ORANGE)]
            for pose in poses.values()
        ),
    ]
    return panels(scenes, ["initial pose", *poses], CAMERA, SIZE)


def _near(points: Floats, others: Floats) -> Floats:
    """Points within the bounding box of others, enlarged by a margin."""
    low, high = others.min(axis=0), others.max(axis=0)
    margin = 0.1 * (high - low)
    return np.asarray(points[((points >= low - margin) & (points <= high + margin)).all(axis=1)])
