"""Texts of rotations and translations give the pose back, with the standard deviations that samples have."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphreg.feedback.summaries import labelled, listed, rotation_text, translation_text
from graphreg.poses import pose, rotation_from_vector

VECTORS = st.tuples(*[st.floats(-1, 1)] * 3).map(np.array).filter(lambda v: np.linalg.norm(v) > 0.1)


def numbers(text: str) -> list[float]:
    return [float(number) for number in re.findall(r"-?\d+\.?\d*(?:e-?\d+)?", text)]


@given(axis=VECTORS, degrees=st.floats(0.01, 179.99))
def test_angle_and_axis_give_the_rotation_back(axis: np.ndarray, degrees: float) -> None:
    axis = axis / np.linalg.norm(axis)
    text = rotation_text(pose(rotation_from_vector(np.radians(degrees) * axis), np.zeros(3)), None)
    angle, *shown = numbers(text)
    np.testing.assert_allclose(angle, degrees, atol=6e-5)
    np.testing.assert_allclose(shown, axis, atol=0.0051)


def test_the_identity_has_no_axis() -> None:
    assert rotation_text(np.eye(4), None) == "0.0000°"


@pytest.mark.slow
def test_the_standard_deviation_of_a_translation_is_that_of_samples() -> None:
    """Also where the origin is far from the centre of the rotation."""
    rng = np.random.default_rng(0)
    root = rng.normal(size=(6, 6)) * 1e-3
    covariance, centre, t = root @ root.T, np.array([50.0, -20, 5]), np.array([1.0, 2, 3])
    text = translation_text(pose(np.eye(3), t), covariance, centre)
    values = numbers(text)
    np.testing.assert_allclose(values[:3], t)
    samples = rng.multivariate_normal(np.zeros(6), covariance, 20_000)
    moved = [rotation_from_vector(s[:3]) @ (t - centre) + centre + s[3:] for s in samples]
    np.testing.assert_allclose(values[3:], np.std(moved, axis=0), rtol=0.06, atol=0.01)


def test_entries_without_a_value_are_left_out() -> None:
    assert labelled("head", {"a": "", "b": "x"}).splitlines() == ["head", "  b             x"]


def test_long_lists_are_counted() -> None:
    assert listed([]) == ""
    assert listed([str(n) for n in range(9)]).endswith("3 and 5 more")
