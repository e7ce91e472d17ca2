"""What the probabilistic methods share: sums of Gaussians over all pairs, without an array of their number.

The Gaussian case of the pair law (`graphreg.forces`), where what lies beyond the Gaussian's reach is passed over.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import graphreg._core as _core
from graphreg.clouds import Floats
from graphreg.poses import pose

# So many cells make up the longer cloud, where the user gives no voxel: as in the paper's comparison, methods that sum
# over all pairs in every step get some 10 to 50 % of a scan's points.
CELLS = 100


def in_spatial_order(points: Floats, threads: int) -> Floats:
    """The same points in an order in which the sums over pairs are fast."""
    return np.ascontiguousarray(points[_core.Tree(points, threads).order()])


def unit_of(source: Floats, target: Floats) -> float:
    """The root-mean-square distance of the points of both clouds to their own centroids."""
    spread = [float(cloud.var(axis=0).sum()) for cloud in (source, target)]
    return float(np.sqrt(np.mean(spread))) or 1.0


def mean_squared_distance(source: Floats, target: Floats) -> float:
    """Of all pairs."""
    apart = source.mean(axis=0) - target.mean(axis=0)
    return float(source.var(axis=0).sum() + target.var(axis=0).sum() + apart @ apart)


@dataclass(frozen=True)
class Responsibilities:
    """Which component made which data point, summed up: p_ij is the share of component i in data point j.

    of_components  (N,): sum_j p_ij
    of_data        (M,): sum_i p_ij; what is missing to 1 went to the outliers
    means          (N, 3): sum_j p_ij y_j / sum_j p_ij, where the data want each component to be; the component itself
                   where no data point wants it
    evidence       sum_j log(sum_i exp(-|y_j - x_i|^2 / (2 s^2)) + outliers)
    """

    of_components: Floats
    of_data: Floats
    means: Floats
    evidence: float

    def scatter(self, components: Floats, data: Floats) -> Floats:
        """(3, 3): the mean of (y_j - x_i)(y_j - x_i)^T over all pairs, weighted with p_ij, for moved components."""
        mixed = (self.means * self.of_components[:, None]).T @ components
        own = (components * self.of_components[:, None]).T @ components
        whole = (data * self.of_data[:, None]).T @ data - mixed - mixed.T + own
        return np.asarray(whole / self.of_components.sum())


def responsibilities(components: Floats, data: Floats, width: float, outliers: float, threads: int) -> Responsibilities:
    """E-step: p_ij = exp(-|y_j - x_i|^2 / (2 s^2)) / (sum_k exp(-|y_j - x_k|^2 / (2 s^2)) + outliers).

    components, data  (N, 3) x and (M, 3) y, relative to a common origin
    width             s
    outliers          above 0: what the uniform class adds to each sum
    """
    x, y = (np.ascontiguousarray(cloud, np.float32) for cloud in (components, data))
    sums = _core.gaussian_weights(y, x, np.ones(len(x), np.float32), width, threads)
    shares = 1 / (sums + outliers)
    # Scaled, so that a share fits into single precision however small the outliers' part is.
    top = float(shares.max())
    weights, forces = _core.gaussian_forces(x, y, np.asarray(shares / top, np.float32), width, threads)
    safe = np.where(weights > 0, weights, 1.0)
    means = components + forces / safe[:, None]
    return Responsibilities(weights * top, sums * shares, means, float(np.log(sums + outliers).sum()))


def back_to_lengths(motion: Floats, unit: float) -> Floats:
    """A motion found on clouds divided by `unit`."""
    return pose(motion[:3, :3], motion[:3, 3] * unit)
