"""The arguments of a registration: clouds as they were passed, or preprocessed already."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from tests.support.strategies import small_pair

from graphreg.engine.engine_run import EngineRun
from graphreg.engine.preprocessing import preprocess
from graphreg.engine.settings import EngineSettings


def test_clouds_are_sampled_once_and_named_for_messages() -> None:
    pair = small_pair("casting")
    ready = preprocess(pair.target, "scene", max_points=2000)
    run = EngineRun(pair.source, ready, seed=3)
    source, target = run.preprocessed(1000)
    assert (source.name, target.name) == ("source", "target")
    np.testing.assert_array_equal(source.points, preprocess(pair.source, "", None, 1000, seed=3).points)
    assert target.local_points is ready.local_points
    assert run.points[0] is pair.source
    np.testing.assert_array_equal(run.points[1], ready.points)


def test_weights_go_with_their_cloud() -> None:
    pair = small_pair("casting")
    weights = np.arange(1.0, len(pair.source) + 1), None
    run = replace(EngineRun(pair.source, pair.target), settings=EngineSettings(weights=weights))
    source, target = run.preprocessed(None)
    assert source.weights is not None
    assert len(source.weights) == len(source)
    assert target.weights is None
