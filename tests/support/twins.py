"""The kernels of `graphreg._core` and reference methods in plain numpy: short, slow, without shared code."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

Floats = NDArray[np.float64]


def squared_distances(a: Floats, b: Floats) -> Floats:
    """Squared distances (N, M) of all pairs, by the same three products as the kernels."""
    d = a[:, None, :] - b[None, :, :]
    squared: Floats = d[..., 0] * d[..., 0] + d[..., 1] * d[..., 1] + d[..., 2] * d[..., 2]
    return squared


def nearest(points: Floats, queries: Floats, k: int, exclude_self: bool = False) -> tuple[NDArray[np.int64], Floats]:
    """Indices (M, k) of the k nearest points and squared distances; equal distances by ascending index."""
    squared = squared_distances(queries, points)
    if exclude_self:
        np.fill_diagonal(squared, np.inf)
    index = np.broadcast_to(np.arange(len(points)), squared.shape)
    order = np.lexsort((index, squared), axis=1)[:, :k]
    return order, np.take_along_axis(squared, order, axis=1)


def equal_distance(points: Floats, distances: Floats) -> Floats:
    """What two distances may differ by to count as equal: 1e-9 of them, or 64 units of the largest coordinate."""
    return np.asarray(np.maximum(1e-9 * distances, 64 * np.finfo(float).eps * np.abs(points).max()))


def ties(points: Floats, k: int) -> set[tuple[int, int]]:
    """Pairs of a point and another that is as far as its k-th neighbour, but not among its k."""
    index, squared = nearest(points, points, len(points) - 1, exclude_self=True)
    distances = np.sqrt(squared)
    tau = distances[:, k - 1 : k]
    limit = np.where(tau > 64 * np.finfo(float).eps * np.abs(points).max(), tau + equal_distance(points, tau), -1.0)
    rows, columns = np.nonzero(distances[:, k:] <= limit)
    return set(zip(rows.tolist(), index[rows, columns + k].tolist(), strict=True))


def edge_weights(points: Floats, neighbours: NDArray[np.int64]) -> Floats:
    """Edge weights of Eq. 1."""
    distances = np.linalg.norm(points[neighbours] - points[:, None], axis=-1)
    tau = distances[:, -1:]
    with np.errstate(invalid="ignore"):
        weights = np.where(distances < tau - equal_distance(points, tau), np.exp(-2 * (distances / tau) ** 2), 0.0)
    return np.where(distances == 0, 1.0, weights)


def response(points: Floats, neighbours: NDArray[np.int64]) -> Floats:
    """Squared high-pass response of the coordinates (Definition 1)."""
    weights = edge_weights(points, neighbours)
    degrees = weights.sum(1)
    offsets = points[:, None] - points[neighbours]
    with np.errstate(invalid="ignore"):
        filtered = (weights[..., None] * offsets).sum(1) / degrees[:, None]
    return np.where(degrees > 0, (filtered**2).sum(1), np.inf)


def fit_planes(points: Floats, neighbours: NDArray[np.int64]) -> tuple[Floats, Floats, Floats]:
    """Normals, curvature, and the three eigenvalues of the covariance as shares of their sum."""
    members = np.concatenate([np.zeros((len(points), 1, 3)), points[neighbours] - points[:, None]], axis=1)
    centred = members - members.mean(1, keepdims=True)
    covariance = np.einsum("nki,nkj->nij", centred, centred)
    values, vectors = np.linalg.eigh(covariance)
    shares = values / np.maximum(values.sum(1, keepdims=True), np.finfo(float).tiny)
    return vectors[:, :, 0], np.clip(shares[:, 0], 0, None), shares


def variation(
    points: Floats, neighbours: NDArray[np.int64], normals: Floats, curvature: Floats
) -> tuple[Floats, Floats]:
    """Variation of normals and curvature over the edges, and that of normals alone (Theorem 2)."""
    weights = edge_weights(points, neighbours)
    here, there = normals[:, None], normals[neighbours]
    of_normals = np.minimum(((here - there) ** 2).sum(-1), ((here + there) ** 2).sum(-1))
    of_curvature = (curvature[:, None] - curvature[neighbours]) ** 2
    return (weights * (of_normals + of_curvature)).sum(1), (np.sqrt(weights) * of_normals).sum(1)


def voxel_means(points: Floats, size: float) -> Floats:
    """Mean of the points in each occupied voxel."""
    voxel = group_by_voxel(points, size)
    return np.stack([points[voxel == v].mean(0) for v in range(voxel.max() + 1)])


def pair_forces(
    source: Floats,
    target: Floats,
    source_features: Floats,
    target_features: Floats,
    mass: Floats,
    gaussian: bool,
    scale: float,
) -> tuple[Floats, Floats, Floats, Floats]:
    """Forces, weights, and a bound of the rounding error of each in single precision.

    Each operation adds u = 2^-24 of the absolute value of the terms: 5 for r^2 and one more for r^2 + s^2, so 12 for
    its power of 3/2, with a square, a root and a product; F + 8 for the charge, whose own terms are 1 and
    2 |f_i - f_j|^2 / sqrt(F); 3 for the products, and one for each block of eight that is added. A relative error of
    the exponent a is an absolute one of its exponential: 14 a, and 8 for the polynomial. Below exp(-87) the kernel has
    0. The arguments must be representable in single precision.
    """
    u = 2.0**-24
    features = source_features.shape[1]
    offsets = target[None] - source[:, None]
    squared = (offsets**2).sum(-1)
    feature_distance = ((target_features[None] - source_features[:, None]) ** 2).sum(-1)
    slope = 2 / np.sqrt(features) if features else 0.0
    if gaussian:
        exponent = squared / (2 * scale**2)
        falloff, rounding, lost = np.exp(-exponent), 14 * exponent + 8, np.exp(-87)
    else:
        falloff, rounding, lost = (squared + scale**2) ** -1.5, np.full_like(squared, 12), 0.0
    weights = mass * (1 - slope * feature_distance) * falloff
    largest = mass * (1 + slope * feature_distance)
    steps = rounding + features + 8 + 3 + len(target) / 8 + 2
    slack = largest * (steps * u * falloff + lost)
    return (
        (weights[..., None] * offsets).sum(1),
        weights.sum(1),
        (slack[..., None] * np.abs(offsets)).sum(1),
        slack.sum(1),
    )


def group_by_voxel(points: Floats, size: float) -> NDArray[np.int64]:
    """Number of each point's voxel, (N,); voxels in the order of their coordinates, not along a Z-order curve."""
    _, which = np.unique(np.floor(points / size).astype(np.int64), axis=0, return_inverse=True)
    return np.asarray(which.ravel(), np.int64)


def voxel_moments(points: Floats, weights: Floats) -> tuple[float, Floats, Floats]:
    """Sum of weights, weighted mean and weighted second moments about it, of the points of one voxel."""
    mean = weights @ points / weights.sum()
    offsets = points - mean
    scatter = (offsets * weights[:, None]).T @ offsets
    return weights.sum(), mean, scatter[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]


def pooled_scatter(members: list[Floats], weights: list[Floats]) -> tuple[Floats, float]:
    """Scatter matrix of the points of several voxels about their common mean, and the sum of their weights."""
    points, weight = np.concatenate(members), np.concatenate(weights)
    offsets = points - weight @ points / weight.sum()
    return (offsets * weight[:, None]).T @ offsets, float(weight.sum())


def edge_signals(points: Floats, normals: Floats, centre: int) -> tuple[Floats, Floats]:
    """Length (N - 1,) of the edges from one point to all others, and four signals (4, N - 1) on them."""
    offsets = np.delete(points - points[centre], centre, axis=0)
    there, here = np.delete(normals, centre, axis=0), normals[centre]
    length = np.linalg.norm(offsets, axis=1)
    directions = offsets / length[:, None]
    signals = np.stack(
        [directions @ here, (directions * there).sum(1), there @ here, (np.cross(here, directions) * there).sum(1)]
    )
    return length, signals


def descriptor(points: Floats, normals: Floats, centre: int, radius: float) -> Floats:
    """Descriptor (96,) of one surfel in 255ths, not rounded. Signals count as centres of bins a quarter as wide."""
    length, signals = edge_signals(points, normals, centre)
    histograms = np.zeros((3, 4, 8))
    centres = np.arange(8) * 0.25 - 0.875
    for shell, (inner, outer) in enumerate(((0.0, 0.45), (0.45, 0.72), (0.72, 1.0))):
        inside = (length > inner * radius) & (length <= outer * radius)
        for number, exact in enumerate(signals[:, inside]):
            signal = (np.clip(np.floor((exact + 1) * 16), 0, 31) + 0.5) / 16 - 1
            # Linear interpolation between the centres of the bins.
            parts = np.clip(1 - np.abs(np.clip(signal, -0.875, 0.875)[:, None] - centres) / 0.25, 0, None)
            histograms[shell, number] = parts.sum(0) / max(inside.sum(), 1)
    return 255 * np.sqrt(histograms.ravel())


def compatible(
    source: Floats, source_normals: Floats, target: Floats, target_normals: Floats, tolerance: float
) -> NDArray[np.bool_]:
    """Which correspondences one rigid transform can align: lengths and angles agree, and they are not too close."""

    def edges(points: Floats, normals: Floats) -> tuple[Floats, Floats]:
        offsets = points[None] - points[:, None]
        length = np.linalg.norm(offsets, axis=-1)
        directions = offsets / np.where(length > 0, length, 1)[..., None]
        first = np.einsum("ijk,ik->ij", directions, normals)
        second = np.einsum("ijk,jk->ij", directions, normals)
        return length, np.stack([first, second, normals @ normals.T])

    (a, angles), (b, other_angles) = edges(source, source_normals), edges(target, target_normals)
    agree = (np.abs(a - b) <= tolerance) & (np.minimum(a, b) >= 2 * tolerance)
    return np.asarray(agree & (np.abs(angles - other_angles) <= 0.35).all(axis=0))


def grid_lookup(points: Floats, queries: Floats) -> NDArray[np.int64]:
    """The surfel stored in each query's voxel: the nearest to its centre, within two voxels along each axis and 2.5."""
    low = points.min(axis=0) - 3
    voxels, of_points = np.floor(queries - low), np.floor(points - low)
    squared = squared_distances(voxels + low + 0.5, points)
    near = (np.abs(voxels[:, None] - of_points[None]) <= 2).all(axis=-1) & (squared <= 2.5**2)
    squared = np.where(near, squared, np.inf)
    return np.asarray(np.where(near.any(axis=1), squared.argmin(axis=1), -1))


def score(
    surfels: NDArray[np.int64],
    source: Floats,
    source_normals: Floats,
    points: Floats,
    normals: Floats,
    max_distance: float,
) -> float:
    """Score of a pose: transformed source surfels against the target surfels assigned to them (-1: none)."""
    on = surfels >= 0
    squared = ((source[on] - points[surfels[on]]) ** 2).sum(1)
    cosine = (source_normals[on] * normals[surfels[on]]).sum(1)
    return float((np.clip(1 - squared / max_distance**2, 0, None) * np.clip(cosine, 0, None)).sum() / len(source))


def normal_equations(
    surfels: NDArray[np.int64],
    source: Floats,
    source_normals: Floats,
    points: Floats,
    normals: Floats,
    weights: Floats,
    scale: float,
) -> tuple[Floats, Floats, float, float]:
    """A, b, the sum of weights and the weighted sum of squared residuals of symmetric point-to-plane ICP."""
    on = surfels >= 0
    x, n, y, m, importance = source[on], source_normals[on], points[surfels[on]], normals[surfels[on]], weights[on]
    cosine = (n * m).sum(1)
    squared = ((x - y) ** 2).sum(1)
    common = n + m
    with np.errstate(invalid="ignore", divide="ignore"):
        common = common / np.linalg.norm(common, axis=1, keepdims=True)
        weight = importance * np.clip(1 - squared / (8 * scale**2), 0, None) ** 4 / (1 - cosine + 0.02)
    weight, common = np.where(cosine > 0, weight, 0), np.where((cosine > 0)[:, None], common, 0)
    rows = np.column_stack([np.cross((x + y) / 2, common), common])
    residual = ((x - y) * common).sum(1)
    return (rows * weight[:, None]).T @ rows, -(weight * residual) @ rows, weight.sum(), weight @ residual**2


def rotation_from_vector(vector: Floats) -> Floats:
    """Rotation matrix of a rotation vector: the matrix exponential of the cross product, by its series."""
    x, y, z = vector
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    term = total = np.eye(3)
    for power in range(1, 30):
        term = term @ cross / power
        total = total + term
    return total


def gauss_newton_step(T: Floats, equations: tuple[Floats, Floats], free: NDArray[np.bool_], pivot: Floats) -> Floats:
    """Pose (4, 4) after one step: A x = b solved for the free rotations about the transformed pivot and translations.

    Where all translations across the axes of the free rotations are free, rotations are about the origin.
    """
    a, b = equations
    needed = any(
        free[rotation] and not free[3 + axis] for rotation in range(3) for axis in range(3) if axis != rotation
    )
    x, y, z = centre = T[:3, :3] @ pivot + T[:3, 3] if needed else np.zeros(3)
    change = np.eye(6)
    change[3:, :3] = [[0, -z, y], [z, 0, -x], [-y, x, 0]]
    a, b = (change.T @ a @ change)[np.ix_(free, free)], (change.T @ b)[free]
    step = np.zeros(6)
    # Damped, so that steps in degenerate directions stay small.
    step[free] = np.linalg.solve(a + 1e-6 * a.diagonal().max() * np.eye(len(a)), b)
    rotation = rotation_from_vector(step[:3])
    after = np.eye(4)
    after[:3, :3], after[:3, 3] = rotation, centre - rotation @ centre + step[3:]
    return np.asarray(after @ T)


def feature_histograms(
    points: Floats, normals: Floats, radius: float, max_neighbours: int
) -> tuple[Floats, NDArray[np.bool_]]:
    """FPFH by definition, and which depend on an angle within rounding of the edge of a bin."""
    count = len(points)
    squared = squared_distances(points, points)
    near = [[j for j in np.lexsort((np.arange(count), row)) if row[j] <= radius**2][:max_neighbours] for row in squared]
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
                theta = np.arctan2(np.cross(u, v) @ other, u @ other)
                shares = np.array([theta / (2 * np.pi) + 0.5, (v @ other + 1) / 2, (u @ line + 1) / 2])
            doubtful[i] |= (np.abs(shares * 11 - np.round(shares * 11)) < 1e-9).any()
            for angle, share in enumerate(shares):
                simple[i, angle, int(np.clip(np.floor(share * 11), 0, 10))] += 100 / len(others)
    fast = simple.copy()
    for i, members in enumerate(near):
        mean = sum((simple[j] / squared[i, j] for j in members if squared[i, j] > 0), np.zeros((3, 11)))
        sums = mean.sum(axis=1, keepdims=True)
        fast[i] += 100 * mean / np.where(sums > 0, sums, 1)
    return fast.reshape(count, 33), np.array([doubtful[members].any() for members in near])


def rodrigues(vector: Floats) -> Floats:
    """The matrix (3, 3) of a rotation vector, without the checks that take SciPy most of the time."""
    angle = float(np.linalg.norm(vector))
    if angle == 0:
        return np.eye(3)
    x, y, z = vector / angle
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.asarray(np.eye(3) + np.sin(angle) * K + 2 * np.sin(angle / 2) ** 2 * K @ K)


def ecm(source: Floats, target: Floats, radius: float, floor: float, steps: int) -> Floats:
    """Pose (4, 4) by ECM for point registration (Horaud et al., TPAMI 33(3), 2011, Algorithm 1), with all-pairs arrays.

    radius  of the ball in which an outlier has the density of one point
    floor   added to the covariance, in units of the squared standard deviation of the clouds

    It starts with the centroids aligned. The rotation is found by a general optimiser over the rotation vector.
    """
    centroids = source.mean(axis=0), target.mean(axis=0)
    unit = np.sqrt((((source - centroids[0]) ** 2).sum() / len(source) + target.var(axis=0).sum()) / 2)
    x, y = (source - centroids[0]) / unit, (target - centroids[1]) / unit
    uniform = 1.5 * np.sqrt(2 * np.pi) / (radius / unit) ** 3
    R, translation = np.eye(3), np.zeros(3)
    covariance = np.eye(3) * squared_distances(x, y).mean() / 3
    for _ in range(steps):
        metric = np.linalg.inv(covariance)
        apart = y[None] - (x @ R.T + translation)[:, None]
        joint = np.exp(-(apart @ metric * apart).sum(axis=-1) / 2) / np.sqrt(np.linalg.det(covariance))
        share = joint / (joint.sum(axis=0) + uniform)
        weights = share.sum(axis=1)
        wanted = share @ y / weights[:, None]
        here, there = weights @ x / weights.sum(), weights @ wanted / weights.sum()

        def cost(vector: Floats, R: Floats = R) -> float:
            residual = wanted - there - (x - here) @ (rodrigues(vector) @ R).T  # noqa: B023
            return float(weights @ (residual @ metric * residual).sum(axis=1) / weights.sum())  # noqa: B023

        R = rodrigues(minimize(cost, np.zeros(3), method="BFGS", options={"gtol": 1e-9}).x) @ R
        translation = there - R @ here
        apart = y[None] - (x @ R.T + translation)[:, None]
        covariance = np.tensordot(share[..., None] * apart, apart, ([0, 1], [0, 1])) / share.sum() + floor * np.eye(3)
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = R, unit * translation + centroids[1] - R @ centroids[0]
    return T


def surfel(points: Floats, size: float, max_thickness: float) -> tuple[Floats, Floats] | None:
    """Mean and normal of the points of a voxel of a surfel map, if they lie in a plane; None otherwise."""
    if len(points) < 10:
        return None
    mean = points.mean(axis=0)
    values, vectors = np.linalg.eigh((points - mean).T @ (points - mean) / len(points))
    thickness, extent = np.sqrt(np.maximum(values[:2], 0))
    flat = thickness <= max_thickness and extent >= 0.1 * size and extent >= 3 * thickness
    return (mean, vectors[:, 0]) if flat else None


def surfel_at(
    query: Floats, means: Floats, members: list[Floats], voxel: float, levels: int, max_thickness: float
) -> tuple[int, Floats, Floats]:
    """What a surfel map finds at a point: 2 and a surfel, 1 if the voxel has points, 0 if not.

    means: of the voxels of a frame, members: the points of each; a voxel of the frame is in one of the map as a whole.
    """
    nothing = np.zeros(3)
    for level in reversed(range(levels)):
        size = voxel * 2**level
        inside = np.flatnonzero((np.floor(means / size) == np.floor(query / size)).all(axis=1))
        if not len(inside):
            return 0, nothing, nothing
        found = surfel(np.concatenate([members[i] for i in inside]), size, max_thickness)
        if found is not None:
            return 2, *found
    return 1, nothing, nothing


def smooth_union(points: Floats, parts: Floats, blend: float) -> Floats:
    """Signed distances (N,) of points (N, 3) from all parts (P, 18) of a smooth union; the columns are the kernel's."""
    x, y, z = points.T
    one = np.ones_like(x)
    along = np.stack([x, y, z, one], axis=1) @ parts[:, :4].T
    scale, length2, radius, growth = parts[:, 4:8].T
    share = np.clip(along * scale, 0, 1)
    monomials = np.stack([x * x, x * y, x * z, y * y, y * z, z * z, x, y, z, one], axis=1)
    away2 = monomials @ parts[:, 8:].T + share * (share * length2 - 2 * along)
    gap = np.sqrt(np.maximum(away2, 0)) - radius - share * growth
    least = gap.min(axis=1)
    return np.asarray(least - blend * np.log(np.exp((least[:, None] - gap) / blend).sum(axis=1)))


def match_near_descriptors(
    a: NDArray[np.uint8], b: NDArray[np.uint8], offsets: NDArray[np.int64], near: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Nearest descriptor in the L1 norm among pairs, both ways; the first of equal ones, -1 without a pair."""
    distance = np.full((len(a), len(b)), np.inf)
    for row in range(len(a)):
        for column in near[offsets[row] : offsets[row + 1]]:
            distance[row, column] = np.abs(a[row].astype(int) - b[column].astype(int)).sum()
    rows, columns = (np.where(np.isfinite(distance.min(axis)), distance.argmin(axis), -1) for axis in (1, 0))
    return rows, columns
