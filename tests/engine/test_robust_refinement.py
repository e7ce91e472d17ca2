"""Refinement with a robust loss: the pose that least squares or the engine's own weights find, and no worse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphreg
from graphreg.datasets import synthetic
from graphreg.datasets.synthetic import Pair
from graphreg.engine.settings import EngineSettings
from graphreg.metrics import rmsd
from graphreg.robust.losses import LOSSES, Loss


@pytest.fixture(scope="module")
def pair() -> Pair:
    return synthetic.pair("casting", 10.0, points=3000)


def refined(pair: Pair, **settings: Any) -> np.ndarray:
    return graphreg.register(pair.source, pair.target, init=pair.T_target_source, **settings).transformation


@pytest.mark.slow
@pytest.mark.parametrize("name", LOSSES)
def test_every_loss_refines_to_the_true_pose(pair: Pair, name: Any) -> None:
    """Within what the noise of some thousand points leaves: a fraction of the spacing."""
    size = np.linalg.norm(np.ptp(pair.target, axis=0))
    assert rmsd(refined(pair, loss=name), pair.T_target_source, pair.source) < 0.002 * size


@pytest.mark.slow
def test_a_loss_does_not_depend_on_the_unit(pair: Pair) -> None:
    """A scale that is a length is one of the data."""
    one = refined(pair, loss=Loss("tukey", scale=0.001))
    in_millimetres = graphreg.register(
        1000 * pair.source,
        1000 * pair.target,
        init=np.diag([1000.0] * 3 + [1.0]) @ pair.T_target_source @ np.diag([0.001] * 3 + [1.0]),
        loss=Loss("tukey", scale=1.0),
    ).transformation
    np.testing.assert_allclose(in_millimetres[:3, :3], one[:3, :3], atol=1e-6)
    np.testing.assert_allclose(in_millimetres[:3, 3], 1000 * one[:3, 3], atol=1e-3)


@pytest.mark.slow
def test_the_number_of_threads_changes_no_bit(pair: Pair) -> None:
    one, three = (refined(pair, loss="barron", threads=threads) for threads in (1, 3))
    np.testing.assert_array_equal(one, three)


@pytest.mark.parametrize("others", [{"dof": ("rz", "x", "y", "z")}, {"scale": True}])
def test_it_is_refused_with_what_it_does_not_refine(others: Any) -> None:
    with pytest.raises(graphreg.InputError, match=r"^loss: cannot be combined with dof or scale"):
        EngineSettings(loss=Loss("huber"), **others)
