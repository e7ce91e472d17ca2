"""Bodies that deform: exact truth, isometric where they turn rigidly, and reproducible."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import cKDTree

from graphreg.datasets.deformed_bodies import deformations, deformed_frames, deformed_pair, sample_implicit
from graphreg.datasets.implicit_surfaces import ImplicitSurface
from graphreg.errors import InputError


@pytest.mark.slow
@pytest.mark.parametrize("name", deformations())
def test_truth_lies_on_the_target(name: str) -> None:
    pair = deformed_pair(name, points=1500, noise=0.0)
    # Points of one surface are as far from a random sample of it as the sample's points from each other.
    tree = cKDTree(pair.target)
    spacing = tree.query(pair.target, 2)[0][:, 1]
    assert np.quantile(tree.query(pair.truth)[0], 0.95) < 1.2 * np.quantile(spacing, 0.95)


@pytest.mark.slow
@pytest.mark.parametrize("name", deformations())
def test_arguments_determine_every_bit(name: str) -> None:
    one, other = (deformed_pair(name, points=100) for _ in range(2))
    assert np.array_equal(one.truth, other.truth)
    assert np.array_equal(one.target, other.target)


@pytest.mark.slow
def test_no_amount_is_no_deformation() -> None:
    pair = deformed_pair("hand closing", 0.0, points=200, turned=False)
    assert np.allclose(pair.truth, pair.source, atol=1e-12)


@pytest.mark.slow
def test_a_view_is_a_part() -> None:
    whole, seen = (deformed_pair("casting twisting", points=1500, viewpoint=v, turned=False) for v in (None, 0.0))
    assert len(seen.target) <= len(whole.target)
    assert abs(seen.target[:, 0].mean() - whole.target[:, 0].mean()) > 0.005


def test_a_sphere_is_sampled_uniformly() -> None:
    ball = ImplicitSurface(lambda points: np.linalg.norm(points, axis=1) - 0.5, 1.0)
    points, normals = sample_implicit(ball, 4000, np.random.default_rng(0))
    assert np.allclose(np.linalg.norm(points, axis=1), 0.5, atol=1e-6)
    assert np.allclose(normals, 2 * points, atol=1e-3)
    # Heights on a sphere are uniform (Archimedes); the standard deviation of a count of 1,000 is 27.
    assert (np.abs(np.histogram(points[:, 2], 4, (-0.5, 0.5))[0] - 1000) < 120).all()


def test_arguments() -> None:
    for arguments in ({"name": "jelly"}, {"amount": 3}, {"points": 2}, {"outliers": -1}, {"noise": "loud"}):
        with pytest.raises(InputError, match=next(iter(arguments))):
            deformed_pair(**{"name": "hand closing", **arguments})  # type: ignore[arg-type]
    with pytest.raises(InputError, match="frames"):
        list(deformed_frames("hand closing", 1))
