"""Accept or reject a step, and cool down (Algorithm 1, Sec. III-I)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

# AcceptRate forgets at this pace: a five-hundredth each step.
MEMORY = 500


@dataclass(frozen=True)
class Annealing:
    """Where annealing stands.

    temperature  T
    accept_rate  AcceptRate: the share of steps accepted, slowly forgetting
    rejected     whether the last step was
    """

    temperature: float = 1.0
    accept_rate: float = 0.5
    rejected: bool = False


def accept_or_reject(state: Annealing, change: float, rng: np.random.Generator) -> Annealing:
    """Lines 1 to 12 of Algorithm 1: a lower energy is accepted, a higher one with probability exp(-change / T)."""
    rejected = change >= 0 and not rng.random() < min(1.0, float(np.exp(-change / state.temperature)))
    rate = ((MEMORY - 1) * state.accept_rate + (not rejected)) / MEMORY
    return replace(state, accept_rate=rate, rejected=rejected)


def lam_rate(progress: float) -> float:
    """Lines 13 to 21: the rate of acceptance that Lam's schedule aims at, after that share of the iterations."""
    if progress < 0.15:
        return 0.44 + 0.56 * float(560 ** (-progress / 0.15))
    if progress < 0.65:
        return 0.44
    return 0.44 * float(440 ** (-(progress - 0.65) / 0.35))


def cool_adaptively(state: Annealing, progress: float, beta: float) -> Annealing:
    """Lines 22 to 26: cooler where more is accepted than Lam's schedule asks for, warmer where less is."""
    factor = beta if state.accept_rate > lam_rate(progress) else 1 / beta
    return replace(state, temperature=state.temperature * factor)


def cool_steadily(state: Annealing, beta: float) -> Annealing:
    """Plain simulated annealing: cooler each time."""
    return replace(state, temperature=state.temperature * beta)
