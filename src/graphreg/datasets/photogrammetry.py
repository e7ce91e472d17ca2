"""Cross-modal pairs: a photogrammetric cloud without scale, and a laser scan of the same body or scene.

A cloud from photographs covers what several of them show; it is dense where the surface has texture and sparse where it
has none; matching over windows smooths edges; errors are alike over a patch; and its unit is arbitrary.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphreg.argument_checks import check_integer, check_number, check_positive
from graphreg.clouds import Floats, extent
from graphreg.datasets.synthetic import Pair, scan, sequence
from graphreg.features.graphs import neighbour_graph
from graphreg.poses import inverse, pose, rotation_from_vector, transform

SMALLEST_SCALE, LARGEST_SCALE = 0.1, 10.0


@dataclass(frozen=True)
class PhotogrammetryParameters:
    """How a photogrammetric cloud differs from a scan; chosen. Lengths as shares of the cloud's extent.

    Attributes
    ----------
    views : int
        Viewpoints that it is merged from;
    between : float
        so far apart, in steps of the pair.
    bare : float
        Share of the points that is left where the surface has least texture.
    texture : float
        Wavelength of the texture, and of the errors.
    smoothing : int
        Neighbours that a point is averaged with.
    error, noise : float
        Standard deviation of the errors that neighbouring points share, and of those that they do not.
    """

    views: int = 3
    between: float = 0.5
    bare: float = 0.03
    texture: float = 0.25
    smoothing: int = 8
    error: float = 0.001
    noise: float = 0.0005


PHOTOGRAMMETRY = PhotogrammetryParameters()


def photogrammetric_pair(
    name: str,
    step: float = 30.0,
    *,
    scale: float | None = None,
    points: int | None = None,
    variant: int = 0,
    seed: int = 0,
) -> Pair:
    """Make a photogrammetric cloud, the source, and a laser scan, the target, of a synthetic body or scene.

    Parameters
    ----------
    name : str
        One of `bodies()` and `scenes()`.
    step : float, default 30
        From the scanner's viewpoint to the nearest camera, in the unit of `scan`.
    scale : float, optional
        From the cloud's unit to that of the scan; by default random between 0.1 and 10.
    points : int, optional
        Approximate number of points of the scan, and of each view; by default as many as the sensor delivers.
    variant : int, default 0
        Of the body or scene.
    seed : int, default 0
        Of everything random.

    Returns
    -------
    Pair
        `T_target_source` is a similarity; the source has any pose.

    Examples
    --------
    >>> from graphreg.poses import scale_of
    >>> pair = photogrammetric_pair("hare", scale=2.5, points=1000)
    >>> round(scale_of(pair.T_target_source), 9)
    2.5
    """
    check_number("step", step, -1e4, 1e4)
    check_integer("variant", variant)
    check_integer("seed", seed)
    rng = np.random.default_rng([seed, *name.encode()])
    low, high = np.log((SMALLEST_SCALE, LARGEST_SCALE))
    factor = float(np.exp(rng.uniform(low, high))) if scale is None else check_positive("scale", scale)
    target = scan(name, points=points, variant=variant, seed=seed)
    parameters = PHOTOGRAMMETRY
    views = sequence(
        name,
        parameters.views,
        parameters.between * step,
        viewpoint=step,
        points=points,
        noise=0.0,
        variant=variant,
        seed=seed + 1,
    )
    merged = np.concatenate([transform(view.pose, view.points) for view in views])
    cloud = transform(inverse(target.pose), _as_photogrammetric(merged, rng))
    rotation = rotation_from_vector(rng.normal(size=3))
    T_target_source = pose(factor * rotation, target.points.mean(axis=0) + rng.normal(size=3) * extent(target.points))
    source = (cloud - T_target_source[:3, 3]) @ rotation / factor
    return Pair(np.ascontiguousarray(source), target.points, T_target_source, float("nan"), name)


def _as_photogrammetric(points: Floats, rng: np.random.Generator) -> Floats:
    """Points with the density, the smoothness and the errors of a photogrammetric cloud."""
    parameters, size = PHOTOGRAMMETRY, extent(points)
    texture = 0.5 + _smooth_field(points, parameters.texture * size, 1, rng)[:, 0]
    kept = points[rng.random(len(points)) < np.clip(texture, parameters.bare, 1.0)]
    neighbours = neighbour_graph(np.ascontiguousarray(kept), parameters.smoothing).neighbours
    smoothed = (kept + kept[neighbours].sum(axis=1)) / (1 + parameters.smoothing)
    shared = _smooth_field(smoothed, parameters.texture * size, 3, rng) * parameters.error * size
    return np.asarray(smoothed + shared + rng.normal(size=smoothed.shape) * parameters.noise * size)


def _smooth_field(points: Floats, wavelength: float, components: int, rng: np.random.Generator) -> Floats:
    """(N, C): a random function of position with a wavelength, mean 0 and variance 1: a sum of plane waves."""
    waves = 16
    directions = rng.normal(size=(waves, 3))
    directions *= 2 * np.pi / wavelength / np.linalg.norm(directions, axis=1, keepdims=True)
    phases = points @ directions.T
    amplitudes = rng.normal(size=(waves, components))
    shifts = rng.uniform(0, 2 * np.pi, waves)
    return np.asarray(np.cos(phases + shifts) @ amplitudes * np.sqrt(2 / waves))
