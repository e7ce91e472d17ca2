"""What a stage of a deformable registration did."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Relaxation:
    """What a stage did.

    Attributes
    ----------
    nodes : int
        Number of nodes.
    scale : float
        Scale of the distances to surfaces, in the unit of the data.
    energies : tuple of float
        Before the first step and after each; never rising.
    """

    nodes: int
    scale: float
    energies: tuple[float, ...]
