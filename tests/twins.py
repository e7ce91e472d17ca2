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

    Each operation adds u = 2^-24 of the absolute value of the terms: 5 for r^2 and one more for r^2 + s^2, so 11 for
    its power of 3/2; F + 8 for the charge, whose own terms are 1 and 2 |f_i - f_j|^2 / sqrt(F); 3 for the products, and
    one for each block of eight that is added. A relative error of the exponent a is an absolute one of its exponential:
    14 a, and 8 for the polynomial. Below exp(-87) the kernel has 0. The numbers given must be single precision.
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
        falloff, rounding, lost = (squared + scale**2) ** -1.5, np.full_like(squared, 11), 0.0
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


def fpfh(points: Floats, normals: Floats, radius: float, most: int) -> tuple[Floats, NDArray[np.bool_]]:
    """Histograms by their definition, and which of them hang on an angle that is within rounding of a bin's edge."""
    count = len(points)
    squared = squared_distances(points, points)
    near = [[j for j in np.lexsort((np.arange(count), row)) if row[j] <= radius**2][:most] for row in squared]
    simple, doubtful = np.zeros((count, 3, 11)), np.zeros(count, bool)
    for i, members in enumerate(near):
        others = [j for j in members if j != i]
        for j in others:
            line = points[j] - points[i]
            if not line.any():
                shares = np.array([0.5, 0.5, 0.5])
            else:
                line = line / np.linalg.norm(line)
                u, other = normals[i], normals[j]
                doubtful[i] |= abs(abs(u @ line) - abs(other @ line)) < 1e-9
                if abs(u @ line) < abs(other @ line):
                    u, other, line = other, u, -line
                v = np.cross(line, u)
                v = v / np.linalg.norm(v)
                turn = np.arctan2(np.cross(u, v) @ other, u @ other)
                shares = np.array([turn / (2 * np.pi) + 0.5, (v @ other + 1) / 2, (u @ line + 1) / 2])
            doubtful[i] |= (np.abs(shares * 11 - np.round(shares * 11)) < 1e-9).any()
            for angle, share in enumerate(shares):
                simple[i, angle, int(np.clip(np.floor(share * 11), 0, 10))] += 100 / len(others)
    mixed = simple.copy()
    for i, members in enumerate(near):
        whole = sum((simple[j] / squared[i, j] for j in members if squared[i, j] > 0), np.zeros((3, 11)))
        sums = whole.sum(axis=1, keepdims=True)
        mixed[i] += 100 * whole / np.where(sums > 0, sums, 1)
    spread = np.array([doubtful[members].any() for members in near])
    return mixed.reshape(count, 33), spread
