"""What the kernels compute, written again in numpy without a thought for speed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def squared_distances(a: Floats, b: Floats) -> Floats:
    d = a[:, None, :] - b[None, :, :]
    squared: Floats = d[..., 0] * d[..., 0] + d[..., 1] * d[..., 1] + d[..., 2] * d[..., 2]
    return squared


def nearest(points: Floats, queries: Floats, k: int, own: bool = False) -> tuple[NDArray[np.int64], Floats]:
    squared = squared_distances(queries, points)
    if own:
        np.fill_diagonal(squared, np.inf)
    index = np.broadcast_to(np.arange(len(points)), squared.shape)
    order = np.lexsort((index, squared), axis=1)[:, :k]
    return order, np.take_along_axis(squared, order, axis=1)


def edge_weights(points: Floats, neighbours: NDArray[np.int64]) -> Floats:
    offsets = points[neighbours] - points[:, None]
    squared = (offsets**2).sum(-1)
    tau = squared[:, -1:]
    with np.errstate(invalid="ignore"):
        weights = np.where(squared < tau, np.exp(-2 * squared / tau), 0.0)
    return np.where(squared == 0, 1.0, weights)


def intensity(points: Floats, neighbours: NDArray[np.int64]) -> Floats:
    weights = edge_weights(points, neighbours)
    degrees = weights.sum(1)
    offsets = points[:, None] - points[neighbours]
    with np.errstate(invalid="ignore"):
        left = (weights[..., None] * offsets).sum(1) / degrees[:, None]
    return np.where(degrees > 0, (left**2).sum(1), np.inf)


def planes(points: Floats, neighbours: NDArray[np.int64]) -> tuple[Floats, Floats, Floats]:
    """Normals, curvature, and the three eigenvalues as shares of their sum."""
    members = np.concatenate([np.zeros((len(points), 1, 3)), points[neighbours] - points[:, None]], axis=1)
    centred = members - members.mean(1, keepdims=True)
    covariance = np.einsum("nki,nkj->nij", centred, centred)
    values, vectors = np.linalg.eigh(covariance)
    shares = values / np.maximum(values.sum(1, keepdims=True), np.finfo(float).tiny)
    return vectors[:, :, 0], np.clip(shares[:, 0], 0, None), shares


def variation(
    points: Floats, neighbours: NDArray[np.int64], normals: Floats, curvature: Floats
) -> tuple[Floats, Floats]:
    weights = edge_weights(points, neighbours)
    here, there = normals[:, None], normals[neighbours]
    turn = np.minimum(((here - there) ** 2).sum(-1), ((here + there) ** 2).sum(-1))
    bend = (curvature[:, None] - curvature[neighbours]) ** 2
    return (weights * (turn + bend)).sum(1), (np.sqrt(weights) * turn).sum(1)


def voxel_means(points: Floats, size: float) -> Floats:
    cells = np.floor(points / size).astype(np.int64)
    _, which = np.unique(cells, axis=0, return_inverse=True)
    return np.stack([points[which.ravel() == c].mean(0) for c in range(which.max() + 1)])


def pair_forces(
    source: Floats,
    target: Floats,
    source_features: Floats,
    target_features: Floats,
    mass: Floats,
    gaussian: bool,
    scale: float,
) -> tuple[Floats, Floats, Floats, Floats]:
    """Forces, weights, and how far rounding to single precision may carry each of them off.

    Each operation adds u = 2^-24 of the absolute value of the terms: 5 for r^2 and one more for r^2 + s^2, so 12 for
    its power of 3/2, with a square, a root and a product; F + 8 for the charge, whose own terms are 1 and
    2 |f_i - f_j|^2 / sqrt(F); 3 for the products, and one for each block of eight that is added. A relative error of
    the exponent a is an absolute one of its exponential: 14 a, and 8 for the polynomial. Below exp(-87) the kernel has
    0. The numbers given must be single precision.
    """
    u = 2.0**-24
    features = source_features.shape[1]
    offsets = target[None] - source[:, None]
    squared = (offsets**2).sum(-1)
    unlike = ((target_features[None] - source_features[:, None]) ** 2).sum(-1)
    slope = 2 / np.sqrt(features) if features else 0.0
    if gaussian:
        exponent = squared / (2 * scale**2)
        falloff, rounding, lost = np.exp(-exponent), 14 * exponent + 8, np.exp(-87)
    else:
        falloff, rounding, lost = (squared + scale**2) ** -1.5, np.full_like(squared, 12), 0.0
    weights = mass * (1 - slope * unlike) * falloff
    largest = mass * (1 + slope * unlike)
    steps = rounding + features + 8 + 3 + len(target) / 8 + 2
    slack = largest * (steps * u * falloff + lost)
    return (
        (weights[..., None] * offsets).sum(1),
        weights.sum(1),
        (slack[..., None] * np.abs(offsets)).sum(1),
        slack.sum(1),
    )
