"""Signed distance fields of the bodies: bounded, another for each variant, and exact for the machined one."""

from __future__ import annotations

import numpy as np
import pytest

from graphreg.datasets import bodies

BODIES = {"dragon": bodies.dragon, "hare": bodies.hare, "hand": bodies.hand, "casting": bodies.casting}


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("variant", [0, 1])
def test_a_body_is_within_its_bounding_sphere(name: str, variant: int) -> None:
    body = BODIES[name](variant)
    directions = np.random.default_rng(0).normal(size=(2000, 3))
    sphere = body.radius * directions / np.linalg.norm(directions, axis=1, keepdims=True)
    assert (body.field(sphere) > 0).all()
    assert (body.field(0.9 * body.radius * np.random.default_rng(1).uniform(-1, 1, (5000, 3))) < 0).any()


def test_the_field_of_the_casting_never_changes_faster_than_distance() -> None:
    """It has no relief, and unions of exact distances are 1-Lipschitz."""
    body = bodies.casting(0)
    rng = np.random.default_rng(2)
    points = rng.uniform(-body.radius, body.radius, (3000, 3))
    steps = rng.normal(size=points.shape) * 0.02 * body.radius
    change = np.abs(body.field(points + steps) - body.field(points))
    assert (change <= (1 + 1e-9) * np.linalg.norm(steps, axis=1)).all()


@pytest.mark.parametrize("name", BODIES)
def test_variants_differ(name: str) -> None:
    first, second = BODIES[name](0), BODIES[name](1)
    points = np.random.default_rng(3).uniform(-0.05, 0.05, (500, 3))
    assert np.abs(first.field(points) - second.field(points)).max() > 1e-5
