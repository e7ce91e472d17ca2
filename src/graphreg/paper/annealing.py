"""Simulated annealing with Lam's schedule (Algorithm 1, Sec. III-I)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np


@dataclass(frozen=True)
class AnnealingState:
    """State of simulated annealing between two iterations.

    Attributes
    ----------
    temperature : float
        T.
    accept_rate : float
        AcceptRate: exponential moving average of the share of accepted steps.
    rejected : bool
        Whether the last step was rejected.
    """

    temperature: float = 1.0
    accept_rate: float = 0.5
    rejected: bool = False


def accept_or_reject(state: AnnealingState, change: float, rng: np.random.Generator) -> AnnealingState:
    """Accept or reject a step by the Metropolis criterion (Algorithm 1, lines 1 to 12).

    A lower energy is accepted, a higher one with probability min(1, exp(-change / T)). In both cases

        AcceptRate = (499 AcceptRate + 1) / 500   for an accepted step, 499 AcceptRate / 500 for a rejected one.

    Parameters
    ----------
    state : AnnealingState
    change : float
        Change of the energy, E_k - E_(k-1).
    rng : numpy.random.Generator
        Used only where `change` is not negative, for one number.

    Returns
    -------
    AnnealingState
        With new `accept_rate` and `rejected`.
    """
    rejected = change >= 0 and not rng.random() < min(1.0, float(np.exp(-change / state.temperature)))
    rate = (499 * state.accept_rate + (not rejected)) / 500
    return replace(state, accept_rate=rate, rejected=rejected)


def lam_rate(progress: float) -> float:
    """Return the acceptance rate that Lam's schedule aims at, LamRate (Algorithm 1, lines 13 to 21).

    Parameters
    ----------
    progress : float
        k / maxNumIter, the share of the iterations done, 0 to 1.

    Returns
    -------
    float
        It falls from 1 to 0.44 over the first 15 % of the iterations, stays there up to 65 %, and falls to 0.001.
    """
    if progress < 0.15:
        return 0.44 + 0.56 * float(560 ** (-progress / 0.15))
    if progress < 0.65:
        return 0.44
    return 0.44 * float(440 ** (-(progress - 0.65) / 0.35))


def cool_adaptively(state: AnnealingState, progress: float, beta: float) -> AnnealingState:
    """Adapt the temperature to Lam's schedule (Algorithm 1, lines 22 to 26).

    T becomes beta T where AcceptRate > LamRate, and T / beta otherwise.

    Parameters
    ----------
    state : AnnealingState
    progress : float
        k / maxNumIter, the share of the iterations done, 0 to 1.
    beta : float
        Cooling rate, 0 < beta < 1.

    Returns
    -------
    AnnealingState
        With a new `temperature`.
    """
    factor = beta if state.accept_rate > lam_rate(progress) else 1 / beta
    return replace(state, temperature=state.temperature * factor)


def cool_geometrically(state: AnnealingState, beta: float) -> AnnealingState:
    """Cool as plain simulated annealing does: T becomes beta T.

    Parameters
    ----------
    state : AnnealingState
    beta : float
        Cooling rate, 0 < beta < 1.

    Returns
    -------
    AnnealingState
        With a new `temperature`.
    """
    return replace(state, temperature=state.temperature * beta)
