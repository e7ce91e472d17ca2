"""CPD against pycpd: the same input, initial transform and parameters."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import graphreg
from graphreg.baselines.cpd import CpdSettings, register_cpd
from graphreg.baselines.mixtures import joint_spread
from graphreg.metrics import angular_error, rmsd
from graphreg.poses import pose

pycpd = pytest.importorskip("pycpd", reason="pycpd is not installed: pip install 'graphreg[peers]'")

ITERATIONS = 15


class WithoutScale(pycpd.RigidRegistration):  # type: ignore[name-defined, misc]
    """pycpd always estimates a scale. Here it is 1, with the translation and the variance that follow from that."""

    def update_transform(self) -> None:
        super().update_transform()
        self.s = 1.0
        self.t = (self.P @ self.X).sum(axis=0) / self.Np - (self.P.T @ self.Y).sum(axis=0) / self.Np @ self.R

    def update_variance(self) -> None:
        squares = self.Pt1 @ (self.X_hat**2).sum(axis=1) - 2 * np.trace(self.A @ self.R) + self.YPY
        self.sigma2 = squares / (self.Np * self.D)
        self.diff = np.inf  # never ends early


@pytest.mark.slow
def test_cpd(scans: Path) -> None:
    for entry in json.loads((scans / "pairs.json").read_text()):
        if entry["kind"] != "object":
            continue
        source, target = (graphreg.read(scans / entry[end]) for end in ("source", "target"))
        # Coarse: pycpd keeps arrays of all pairs.
        voxel = float(max(np.ptp(cloud, axis=0).max() for cloud in (source, target))) / 15
        settings = CpdSettings(voxel=voxel, max_iterations=ITERATIONS, tolerance=0.0)
        found = register_cpd(source, target, settings)
        centroids = found.source.mean(axis=0), found.target.mean(axis=0)
        # The uniform class has a density, so that the unit matters: ours is the spread of the clouds (normalize=1).
        unit = joint_spread(found.source, found.target)
        theirs = WithoutScale(
            X=(found.target - centroids[1]) / unit,
            Y=(found.source - centroids[0]) / unit,
            w=settings.outliers,
            max_iterations=len(found.history),
        )
        theirs.register()
        rotation = theirs.R.T
        expected = pose(rotation, unit * np.ravel(theirs.t) + centroids[1] - rotation @ centroids[0])
        assert angular_error(found.transformation, expected) < 0.05
        assert rmsd(found.transformation, expected, found.source) < 0.1 * voxel
