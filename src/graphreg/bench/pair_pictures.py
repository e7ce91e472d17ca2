"""Rendered pairs: in the initial pose, in the true pose, and as registered by the published method and by ours."""

from __future__ import annotations

import numpy as np

from graphreg.bench.corruption import CLEAN, Corruption
from graphreg.bench.pairs import Pair
from graphreg.clouds import Floats
from graphreg.poses import pose, transform
from graphreg.registration import run_method
from graphreg.reports.display_clouds import describe_cloud
from graphreg.reports.pictures import BLUE, ORANGE, Image, ScaleBar, panels
from graphreg.reports.previews import FRONT, picture_axes

SIZE = (1600, 420)
# Data of the comparison are in metres.
SCALE_BAR = ScaleBar(unit="m")
# Rotation errors below this many degrees are rounding errors of the formula.
ROUNDING = 1e-6
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
    poses |= {f"{name}: {error_text(pair.errors(pose)[0])}": pose for name, pose in found.items()}
    clean = np.vstack([transform(initial, pair.source), pair.target])
    frame = upright(pair.target)
    scenes = [
        [(transform(frame, _near(source, clean)), BLUE), (transform(frame, _near(target, clean)), ORANGE)],
        *(
            [(transform(frame @ pose, pair.source), BLUE), (transform(frame, pair.target), ORANGE)]
            for pose in poses.values()
        ),
    ]
    captions = ["initial pose: source blue, target orange", *poses]
    return panels(scenes, captions, FRONT, SIZE, scale_bar=SCALE_BAR)


def upright(points: Floats) -> Floats:
    """Return the (4, 4) rotation into a frame in which the camera `FRONT` sees most of a cloud, and sees it upright."""
    return pose(picture_axes(describe_cloud(points, "points")), np.zeros(3))


def error_text(degrees: float) -> str:
    """Format a rotation error for a caption."""
    return f"{degrees:.2g}° off" if degrees >= ROUNDING else f"less than {ROUNDING:f}° off"


def _near(points: Floats, others: Floats) -> Floats:
    """Points within the bounding box of others, enlarged by a margin."""
    low, high = others.min(axis=0), others.max(axis=0)
    margin = 0.1 * (high - low)
    return np.asarray(points[((points >= low - margin) & (points <= high + margin)).all(axis=1)])
