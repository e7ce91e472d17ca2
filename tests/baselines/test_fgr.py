"""FGR: outlier correspondences, and where it breaks down."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.support.correspondences import random_correspondences, run_with_voxel

import graphreg
from graphreg.baselines.fgr import FgrSettings, minimise_geman_mcclure
from graphreg.metrics import rmsd


@pytest.mark.parametrize("outliers", [0.0, 0.5, 0.7])
def test_outlier_correspondences_have_no_influence(outliers: float) -> None:
    x, y, truth = random_correspondences(outliers, 0.0, 0)
    run, origin = run_with_voxel(x, y)
    minimise_geman_mcclure(run, x - origin, y - origin, 10.0, FgrSettings())
    # An outlier has the influence r (mu / (mu + r^2))^2, which for r of a hundred times the distance is 1e-8 of r.
    assert rmsd(run.outcome().transformation, truth, x) < 1e-5


def test_it_breaks_down_where_nearly_all_correspondences_are_outliers() -> None:
    x, y, truth = random_correspondences(0.98, 0.0, 0)
    run, origin = run_with_voxel(x, y)
    minimise_geman_mcclure(run, x - origin, y - origin, 10.0, FgrSettings())
    assert rmsd(run.outcome().transformation, truth, x) > 0.1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"radius": 0.0}, "radius: expected a positive"),
        ({"similarity": 1.0}, "similarity: expected a number from 0"),
        ({"division": 1.0}, "division: expected a number above 1"),
    ],
)
def test_settings_out_of_range(settings: dict[str, object], message: str) -> None:
    with pytest.raises(graphreg.InputError, match=f"^{message}"):
        replace(FgrSettings(), **settings)
