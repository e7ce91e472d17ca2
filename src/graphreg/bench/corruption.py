"""How scans are corrupted before they are registered: outliers, noise, density that falls off outwards."""

from __future__ import annotations

from dataclasses import dataclass

from graphreg.clouds import Floats
from graphreg.datasets.contamination import add_noise, add_outliers, thin_by_distance


@dataclass(frozen=True)
class Corruption:
    """What is done to both scans of a pair.

    Attributes
    ----------
    name : str
        Name in the tables.
    outliers : float, default 0
        Outliers for each point.
    outlier_kind : {"gaussian", "uniform"}, default "gaussian"
        Their distribution; see `add_outliers`.
    noise : float, default 0
        Standard deviation of Gaussian noise, relative to the sides of the bounding box.
    rim : float, default 1
        Share of the points that is kept at the largest distance from the centroid.
    """

    name: str
    outliers: float = 0.0
    outlier_kind: str = "gaussian"
    noise: float = 0.0
    rim: float = 1.0

    def apply(self, points: Floats, seed: int) -> Floats:
        """Return corrupted points, the same for the same seed."""
        if self.rim < 1:
            points = thin_by_distance(points, self.rim, seed)
        if self.noise:
            points = add_noise(points, self.noise, seed)
        return add_outliers(points, self.outliers, self.outlier_kind, seed)[0] if self.outliers else points


CLEAN = Corruption("clean")
# For objects only: in scenes, noise of a hundredth of a street would leave no surface.
CORRUPTIONS = (
    Corruption("50 % outliers", outliers=0.5),
    Corruption("noise 0.8 %", noise=0.008),
    Corruption("noise 1.4 %", noise=0.014),
)
# Outliers that fill the box: 50, 67, 75, 83 and 91 % of all points.
UNIFORM_OUTLIERS = tuple(
    Corruption(f"{100 * ratio / (1 + ratio):.0f} % uniform outliers", outliers=float(ratio), outlier_kind="uniform")
    for ratio in (1, 2, 3, 5, 10)
)
