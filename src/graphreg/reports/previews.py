"""Still pictures of clouds and registrations, rendered without a display."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphreg.clouds import Floats
from graphreg.errors import InputError
from graphreg.reports.display_clouds import (
    DisplayCloud,
    default_view,
    describe_cloud,
    describe_pair,
    displayed_pose,
    subsample,
    without_scale,
)
from graphreg.reports.pictures import BLUE, ORANGE, Camera, Image, ScaleBar, colour_map, panels, render
from graphreg.result import Result
from graphreg.threads import thread_count

# Points of a cloud in a picture.
MAX_PICTURE_POINTS = 30_000
# Points farther from the centre than this many radii are left out.
MAX_PICTURE_DISTANCE = 1.2
# The camera of `pictures` that looks along +y with z up, the frame of `picture_axes`.
FRONT = Camera(azimuth=0, elevation=0)


def before_and_after(
    result: Result, source: Any, target: Any, size: tuple[int, int] = (1600, 600), threads: int | None = None
) -> Image:
    """Render the clouds before and after registration, side by side.

    Outliers and points far from the rest are left out.

    Parameters
    ----------
    result : Result
        What `register` returned for source and target.
    source, target : array_like or Cloud
        (N, 3) and (M, 3) points.
    size : (int, int), default (1600, 600)
        Width and height in pixels.
    threads : int, optional
        Number of threads, by default all.

    Returns
    -------
    (height, width, 3) uint8 ndarray

    Examples
    --------
    >>> import graphreg
    >>> from graphreg.datasets import synthetic
    >>> from graphreg.reports.pictures import write_png
    >>> pair = synthetic.pair("hare", 20.0, points=2000)
    >>> result = graphreg.register(pair.source, pair.target)
    >>> write_png("before_after.png", before_and_after(result, pair.source, pair.target, size=(400, 150)))
    """
    rigid, scaled = without_scale(as_result(result), source)
    return before_and_after_image(rigid, *describe_pair(scaled, target, threads), size)


def before_and_after_image(result: Result, source: DisplayCloud, target: DisplayCloud, size: tuple[int, int]) -> Image:
    """Render the clouds before and after registration, from clouds that are already described."""
    axes = picture_axes(target)
    unit = max(source.radius, target.radius)
    moving, fixed = (_picture_points(cloud) / unit for cloud in (source, target))
    scenes = []
    for transformation in (np.eye(4), result.transformation):
        shown = displayed_pose(transformation, source, target)
        moved = moving @ shown.rotation.T + shown.translation
        scenes.append([(moved @ axes.T, BLUE), (fixed @ axes.T, ORANGE)])
    captions = ["before: source blue, target orange", "after"]
    return panels(scenes, captions, FRONT, size, scale_bar=ScaleBar(unit))


def preview(cloud: Any, size: tuple[int, int] = (1000, 750), threads: int | None = None) -> Image:
    """Render one cloud, coloured by its height in the picture.

    Outliers and points far from the rest are left out.

    Parameters
    ----------
    cloud : array_like or Cloud
        (N, 3) points.
    size : (int, int), default (1000, 750)
        Width and height in pixels.
    threads : int, optional
        Number of threads, by default all.

    Returns
    -------
    (height, width, 3) uint8 ndarray

    Examples
    --------
    >>> from graphreg.datasets import synthetic
    >>> preview(synthetic.scan("hare", points=2000).points, size=(200, 150)).shape
    (150, 200, 3)
    """
    described = describe_cloud(cloud, "cloud", thread_count(threads))
    points = (_picture_points(described) / described.radius) @ picture_axes(described).T
    return render([(points, colour_map(points[:, 2]))], FRONT, size, scale_bar=ScaleBar(described.radius))


def picture_axes(cloud: DisplayCloud) -> Floats:
    """Return the (3, 3) rotation into a frame in which the camera `FRONT` has the default view of a cloud."""
    right, up, viewer = default_view(cloud)
    return np.stack([right, -viewer, up])


def as_result(value: Any) -> Result:
    """Check that a value is a `Result`, or raise an `InputError`."""
    if not isinstance(value, Result):
        raise InputError(f"result: expected what register() returned, got {type(value).__name__}")
    return value


def _picture_points(cloud: DisplayCloud) -> Floats:
    """Points near surfaces, relative to the centre."""
    points = cloud.points[: cloud.inlier_count] - cloud.centre
    close = np.linalg.norm(points, axis=1) <= MAX_PICTURE_DISTANCE * cloud.radius
    return subsample(points[close], MAX_PICTURE_POINTS)
