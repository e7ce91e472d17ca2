"""Clouds that are worked on: no isolated points, about as many as asked for, normals of one sign."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import cKDTree
from tests.support.deforming_bodies import bumpy_body

from graphreg.errors import InputError
from graphreg.nonrigid.working_cloud import voxel_means, without_isolated, working_cloud


def test_outliers_are_removed_and_surfaces_kept() -> None:
    body = bumpy_body(2000)
    outliers = np.random.default_rng(3).uniform(-1, 1, (400, 3)) * [1.2, 0.8, 0.8]
    kept = without_isolated(np.vstack([body, outliers]), "source", 1)
    assert np.isin(body[:, 0], kept[:, 0]).mean() > 0.97
    far = outliers[cKDTree(body).query(outliers)[0] > 0.25]
    assert len(far) > 30
    assert np.isin(far[:, 0], kept[:, 0]).mean() < 0.1


def test_points_without_a_surface_are_refused() -> None:
    """Most points coincide in pairs far apart: all others are isolated."""
    with pytest.raises(InputError, match="source: no surface"):
        without_isolated(np.random.default_rng(0).normal(size=(19, 3)), "source", 1)


def test_as_many_points_as_asked_for() -> None:
    for count in (100, 700):
        assert 0.6 * count <= len(voxel_means(bumpy_body(2000), count, 1)) <= count
        assert len(working_cloud(bumpy_body(2000), count, 1)) <= count
    assert len(working_cloud(bumpy_body(2000), 2000, 1).sample(500)) == 500


def test_normals_of_a_closed_body_point_outward_or_inward_and_turn_to_a_surface() -> None:
    cloud = working_cloud(bumpy_body(2000), 2000, 1)
    outward = np.einsum("ij,ij->i", cloud.normals, cloud.points) > 0
    assert abs(outward.mean() - 0.5) > 0.45
    for sign in (-1.0, 1.0):
        turned = cloud.facing_surface(cloud.points, sign * cloud.points, 0.1, 1)
        assert (np.sign(np.einsum("ij,ij->i", turned.normals, cloud.points)) == sign).mean() > 0.95


def test_the_rim_of_a_sheet_is_its_boundary() -> None:
    sheet = np.random.default_rng(2).uniform(-1, 1, (3000, 3)) * [1, 1, 0]
    cloud = working_cloud(sheet, 3000, 1)
    rim = np.abs(cloud.points).max(axis=1)
    assert cloud.boundary[rim > 0.99].mean() > 0.8
    assert cloud.boundary[rim < 0.85].mean() < 0.06  # 3 % by chance
