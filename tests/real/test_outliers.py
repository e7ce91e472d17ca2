"""The X84 rule on the bunny with outliers, as in the paper's own files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import graphreg
from graphreg.datasets import synthetic


@pytest.mark.parametrize("scan", ["bun000", "bun045"])
@pytest.mark.parametrize("ratio", [0.1, 0.5])
def test_the_outliers_of_the_papers_files_are_detected(scans: Path, scan: str, ratio: float) -> None:
    points = graphreg.read(scans / "graphreg_repo" / f"{scan}_outlier_{ratio}.ply")
    outlier = np.arange(len(points)) >= round(len(points) / (1 + ratio))
    kept = graphreg.inliers(points)
    assert (~kept)[outlier].mean() > 0.98
    assert kept[~outlier].mean() > 0.85


@pytest.mark.slow
@pytest.mark.parametrize("ratio", [0.1, 0.3, 0.5])
def test_gaussian_outliers_are_removed_as_the_paper_reports(scans: Path, ratio: float) -> None:
    points = graphreg.read(scans / "stanford_bunny" / "bun000.ply")
    corrupted, outlier = synthetic.add_outliers(points, ratio, "gaussian", seed=3)
    for alpha in (5.2, 8.0):
        kept = graphreg.inliers(corrupted, alpha)
        assert outlier[kept].mean() < 0.001
