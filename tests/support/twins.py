"""What the kernels compute, written again in numpy without a thought for speed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation

Floats = NDArray[np.float64]


def squared_distances(a: Floats, b: Floats) -> Floats:
    d = a[:, None, :] - b[None, :, :]
    squared: Floats = d[..., 0] * d[..., 0] + d[..., 1] * d[..., 1] + d[..., 2] * d[..., 2]
    return squared


def nearest(points: Floats, queries: Floats, k: int, exclude_self: bool = False) -> tuple[NDArray[np.int64], Floats]:
    squared = squared_distances(queries, points)
    if exclude_self:
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


def response(points: Floats, neighbours: NDArray[np.int64]) -> Floats:
    weights = edge_weights(points, neighbours)
    degrees = weights.sum(1)
    offsets = points[:, None] - points[neighbours]
    with np.errstate(invalid="ignore"):
        left = (weights[..., None] * offsets).sum(1) / degrees[:, None]
    return np.where(degrees > 0, (left**2).sum(1), np.inf)


def fit_planes(points: Floats, neighbours: NDArray[np.int64]) -> tuple[Floats, Floats, Floats]:
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


def group_by_voxel(points: Floats, size: float) -> NDArray[np.int64]:
    """For each point the number of its cell; cells counted in the order of their keys along no particular curve."""
    _, which = np.unique(np.floor(points / size).astype(np.int64), axis=0, return_inverse=True)
    return np.asarray(which.ravel(), np.int64)


def voxel_moments(points: Floats, weights: Floats) -> tuple[float, Floats, Floats]:
    """Of the points of one cell: the sum of weights, the mean, and the second moments about it, weighted."""
    mean = weights @ points / weights.sum()
    arms = points - mean
    scatter = (arms * weights[:, None]).T @ arms
    return weights.sum(), mean, scatter[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]


def pooled_scatter(members: list[Floats], weights: list[Floats]) -> tuple[Floats, float]:
    """The scatter of the points of several cells about their common mean, and the sum of their weights."""
    points, share = np.concatenate(members), np.concatenate(weights)
    arms = points - share @ points / share.sum()
    return (arms * share[:, None]).T @ arms, float(share.sum())


def edge_signals(points: Floats, normals: Floats, own: int) -> tuple[Floats, Floats]:
    """Of the edges from one point to all others: length (N,) and four signals (4, N)."""
    offsets = np.delete(points - points[own], own, axis=0)
    others, mine = np.delete(normals, own, axis=0), normals[own]
    length = np.linalg.norm(offsets, axis=1)
    directions = offsets / length[:, None]
    signals = np.stack(
        [directions @ mine, (directions * others).sum(1), others @ mine, (np.cross(mine, directions) * others).sum(1)]
    )
    return length, signals


def descriptor(points: Floats, normals: Floats, own: int, radius: float) -> Floats:
    """96 numbers, in 255ths, not rounded. Signals count as the middles of bins a quarter as wide."""
    length, signals = edge_signals(points, normals, own)
    found = np.zeros((3, 4, 8))
    middles = np.arange(8) * 0.25 - 0.875
    for shell, (begin, end) in enumerate(((0.0, 0.45), (0.45, 0.72), (0.72, 1.0))):
        inside = (length > begin * radius) & (length <= end * radius)
        for number, exact in enumerate(signals[:, inside]):
            signal = (np.clip(np.floor((exact + 1) * 16), 0, 31) + 0.5) / 16 - 1
            # Linear interpolation between the middles of the bins.
            parts = np.clip(1 - np.abs(np.clip(signal, -0.875, 0.875)[:, None] - middles) / 0.25, 0, None)
            found[shell, number] = parts.sum(0) / max(inside.sum(), 1)
    return 255 * np.sqrt(found.ravel())


def compatible(
    source: Floats, source_normals: Floats, target: Floats, target_normals: Floats, tolerance: float
) -> NDArray[np.bool_]:
    """Which matches one motion can carry together: lengths and angles agree, and they are not too near each other."""

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


def fit_rigid_transform(source: Floats, target: Floats) -> Floats:
    """The rigid motion of least squares (Kabsch), by singular values."""
    x, y = source.mean(0), target.mean(0)
    u, _, vt = np.linalg.svd((target - y).T @ (source - x))
    turn = u @ np.diag([1, 1, np.linalg.det(u @ vt)]) @ vt
    motion = np.eye(4)
    motion[:3, :3], motion[:3, 3] = turn, y - turn @ x
    return motion


def score(
    near: NDArray[np.int64], moved: Floats, turned: Floats, points: Floats, normals: Floats, reach: float
) -> float:
    """How well moved points with turned normals lie on those named (-1: none)."""
    on = near >= 0
    squared = ((moved[on] - points[near[on]]) ** 2).sum(1)
    facing = (turned[on] * normals[near[on]]).sum(1)
    return float((np.clip(1 - squared / reach**2, 0, None) * np.clip(facing, 0, None)).sum() / len(moved))


def normal_equations(
    near: NDArray[np.int64],
    moved: Floats,
    turned: Floats,
    points: Floats,
    normals: Floats,
    weights: Floats,
    scale: float,
) -> tuple[Floats, Floats, float, float]:
    """A, b, the sum of the weights and that of the weighted squared residuals."""
    on = near >= 0
    x, n, y, m, importance = moved[on], turned[on], points[near[on]], normals[near[on]], weights[on]
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
    """The matrix exponential of the cross product, by its series."""
    x, y, z = vector
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    term = total = np.eye(3)
    for power in range(1, 30):
        term = term @ cross / power
        total = total + term
    return total


def grid_lookup(points: Floats, places: Floats) -> NDArray[np.int64]:
    """What the cell of each place names: the point nearest to its middle, if it is within two cells and 2.5 of it."""
    low = points.min(axis=0) - 3
    cells, own = np.floor(places - low), np.floor(points - low)
    squared = squared_distances(cells + low + 0.5, points)
    near = (np.abs(cells[:, None] - own[None]) <= 2).all(axis=-1) & (squared <= 2.5**2)
    squared = np.where(near, squared, np.inf)
    return np.asarray(np.where(near.any(axis=1), squared.argmin(axis=1), -1))


def gauss_newton_step(
    motion: Floats, equations: tuple[Floats, Floats], free: NDArray[np.bool_], pivot: Floats
) -> Floats:
    """The motion after one step: the equations solved for turns about the moved pivot and shifts, as far as free.

    Where all shifts are free across the axes of the turns, about the origin.
    """
    a, b = equations
    held = any(free[turn] and not free[3 + axis] for turn in range(3) for axis in range(3) if axis != turn)
    x, y, z = centre = motion[:3, :3] @ pivot + motion[:3, 3] if held else np.zeros(3)
    carry = np.eye(6)
    carry[3:, :3] = [[0, -z, y], [z, 0, -x], [-y, x, 0]]
    a, b = (carry.T @ a @ carry)[np.ix_(free, free)], (carry.T @ b)[free]
    step = np.zeros(6)
    # The trace that keeps directions from running away which nothing holds.
    step[free] = np.linalg.solve(a + 1e-6 * a.diagonal().max() * np.eye(len(a)), b)
    turn = rotation_from_vector(step[:3])
    after = np.eye(4)
    after[:3, :3], after[:3, 3] = turn, centre - turn @ centre + step[3:]
    return np.asarray(after @ motion)


def feature_histograms(points: Floats, normals: Floats, radius: float, most: int) -> tuple[Floats, NDArray[np.bool_]]:
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


def ecm(source: Floats, target: Floats, radius: float, floor: float, steps: int) -> Floats:
    """(4, 4): ECM for point registration (Horaud et al., TPAMI 33(3), 2011, Algorithm 1), with arrays of all pairs.

    radius  that of the ball in which an outlier has the density of one point
    floor   added to the covariance, in units of the clouds' spread, squared

    It begins with the centroids aligned. The rotation is searched for by a general optimiser over its vector.
    """
    centroids = source.mean(axis=0), target.mean(axis=0)
    unit = np.sqrt((((source - centroids[0]) ** 2).sum() / len(source) + target.var(axis=0).sum()) / 2)
    x, y = (source - centroids[0]) / unit, (target - centroids[1]) / unit
    uniform = 1.5 * np.sqrt(2 * np.pi) / (radius / unit) ** 3
    turn, shift = Rotation.identity(), np.zeros(3)
    covariance = np.eye(3) * squared_distances(x, y).mean() / 3
    for _ in range(steps):
        metric = np.linalg.inv(covariance)
        apart = y[None] - (turn.apply(x) + shift)[:, None]
        joint = np.exp(-(apart @ metric * apart).sum(axis=-1) / 2) / np.sqrt(np.linalg.det(covariance))
        share = joint / (joint.sum(axis=0) + uniform)
        weights = share.sum(axis=1)
        wanted = share @ y / weights[:, None]
        here, there = weights @ x / weights.sum(), weights @ wanted / weights.sum()

        def cost(vector: Floats, turn: Rotation = turn) -> float:
            gap = wanted - there - (Rotation.from_rotvec(vector) * turn).apply(x - here)  # noqa: B023
            return float(weights @ (gap @ metric * gap).sum(axis=1) / weights.sum())  # noqa: B023

        turn = Rotation.from_rotvec(minimize(cost, np.zeros(3), method="BFGS", options={"gtol": 1e-9}).x) * turn
        shift = there - turn.apply(here)
        apart = y[None] - (turn.apply(x) + shift)[:, None]
        covariance = np.tensordot(share[..., None] * apart, apart, ([0, 1], [0, 1])) / share.sum() + floor * np.eye(3)
    motion = np.eye(4)
    motion[:3, :3], motion[:3, 3] = turn.as_matrix(), unit * shift + centroids[1] - turn.apply(centroids[0])
    return motion
