"""What the probabilistic methods share: the expectation step, and sums of Gaussians over all pairs.

The sums are the Gaussian case of the pair forces (`graphreg.paper.forces`); pairs beyond the reach of the Gaussian are
skipped. No array of all pairs is stored.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import graphreg._core as _core
from graphreg.baselines.alike_points import sample_with_invariants
from graphreg.baselines.baseline_run import BaselineRun
from graphreg.baselines.membership_priors import MembershipPrior, forces_by_class, membership_prior, weights_by_class
from graphreg.clouds import Floats
from graphreg.poses import pose

MIXTURE_VOXELS = 100
"""Voxels along the longest extent of the clouds, where no voxel size is set (chosen).

As in the paper's comparison, methods that sum over all pairs in every iteration use some 10 to 50 % of a scan's points.
"""


@dataclass(frozen=True)
class MixtureClouds:
    """The clouds of a run as mixtures see them.

    Attributes
    ----------
    source, target : (N, 3) and (M, 3) ndarray
        Along a space-filling order, in which sums over pairs are fast; in units of the clouds' spread.
    unit : float
        That spread.
    prior : MembershipPrior or None
        Of the source's points as components.
    """

    source: Floats
    target: Floats
    unit: float
    prior: MembershipPrior | None


def mixture_clouds(run: BaselineRun, features: bool, seed: int) -> MixtureClouds:
    """Scale and order the clouds of a run; with `features` sample the source by its response, with membership priors.

    Parameters
    ----------
    run : BaselineRun
    features : bool
    seed : int
        Of the sample.

    Returns
    -------
    MixtureClouds
    """
    invariants = sample_with_invariants(run, seed) if features else None
    unit = joint_spread(run.source, run.target)
    i, j = (_core.Tree(cloud, run.threads).order() for cloud in (run.source, run.target))
    prior = membership_prior(invariants.source[i], invariants.target[j]) if invariants else None
    run.finish_features()
    return MixtureClouds(run.source[i] / unit, run.target[j] / unit, unit, prior)


def joint_spread(source: Floats, target: Floats) -> float:
    """Return the RMS distance of the points of both clouds to their centroids, the unit of length of the mixtures.

    Parameters
    ----------
    source, target : (N, 3) and (M, 3) ndarray

    Returns
    -------
    float
        1 where all points coincide.
    """
    variances = [float(cloud.var(axis=0).sum()) for cloud in (source, target)]
    return float(np.sqrt(np.mean(variances))) or 1.0


def mean_squared_distance(source: Floats, target: Floats) -> float:
    """Return the mean squared distance over all pairs of a source and a target point.

    Parameters
    ----------
    source, target : (N, 3) and (M, 3) ndarray

    Returns
    -------
    float
    """
    offset = source.mean(axis=0) - target.mean(axis=0)
    return float(source.var(axis=0).sum() + target.var(axis=0).sum() + offset @ offset)


@dataclass(frozen=True)
class Responsibilities:
    """Sums over p_ij, the posterior probability of component i for data point j.

    Attributes
    ----------
    component_sums : (N,) ndarray
        sum_j p_ij.
    data_sums : (M,) ndarray
        sum_i p_ij; the rest up to 1 is the probability of an outlier.
    means : (N, 3) ndarray
        sum_j p_ij y_j / sum_j p_ij, the soft correspondence of each component; the component itself where the sum is
        zero.
    log_likelihood : float
        sum_j log(sum_i exp(-|y_j - x_i|^2 / (2 s^2)) + outliers).
    """

    component_sums: Floats
    data_sums: Floats
    means: Floats
    log_likelihood: float

    def scatter(self, components: Floats, data: Floats) -> Floats:
        """Return the mean of (y_j - x_i)(y_j - x_i)^T over all pairs, weighted with p_ij.

        Parameters
        ----------
        components, data : (N, 3) and (M, 3) ndarray
            x_i, transformed since the expectation step, and y_j.

        Returns
        -------
        (3, 3) ndarray
        """
        mixed = (self.means * self.component_sums[:, None]).T @ components
        own = (components * self.component_sums[:, None]).T @ components
        total = (data * self.data_sums[:, None]).T @ data - mixed - mixed.T + own
        return np.asarray(total / self.component_sums.sum())


def expectation_step(
    components: Floats,
    data: Floats,
    width: float,
    outliers: float,
    threads: int,
    prior: MembershipPrior | None = None,
) -> Responsibilities:
    """Compute the responsibilities (E-step).

    p_ij = exp(-|y_j - x_i|^2 / (2 s^2)) / (sum_k exp(-|y_j - x_k|^2 / (2 s^2)) + outliers), each Gaussian times the
    prior of the membership where there is one.

    Parameters
    ----------
    components : (N, 3) ndarray
        Centres x_i of the Gaussians.
    data : (M, 3) ndarray
        Data points y_j, relative to the same origin.
    width : float
        Standard deviation s.
    outliers : float
        Weight of the uniform class, positive.
    threads : int
    prior : MembershipPrior, optional

    Returns
    -------
    Responsibilities
    """
    x, y = (np.ascontiguousarray(cloud, np.float32) for cloud in (components, data))
    of_data = None if prior is None else prior.reversed()
    sums = weights_by_class(y, x, np.ones(len(x), np.float32), width, threads, of_data)
    inverse_sums = 1 / (sums + outliers)
    # Divided by the largest, so that single precision represents them however small `outliers` is.
    largest = float(inverse_sums.max())
    mass = np.asarray(inverse_sums / largest, np.float32)
    weights, forces = forces_by_class(x, y, mass, width, threads, prior)
    nonzero = np.where(weights > 0, weights, 1.0)
    means = components + forces / nonzero[:, None]
    return Responsibilities(weights * largest, sums * inverse_sums, means, float(np.log(sums + outliers).sum()))


def rescale_translation(transformation: Floats, unit: float) -> Floats:
    """Convert a transform between clouds that were divided by `unit` to one between the clouds themselves.

    Parameters
    ----------
    transformation : (4, 4) ndarray
    unit : float

    Returns
    -------
    (4, 4) ndarray
    """
    return pose(transformation[:3, :3], transformation[:3, 3] * unit)
