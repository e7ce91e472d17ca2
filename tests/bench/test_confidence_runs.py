"""Runs of the experiment on confidence: pairs that match, different subjects, halves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphreg.bench import confidence_runs, pairs
from graphreg.bench.corruption import CLEAN
from graphreg.bench.initial_poses import diagonal
from graphreg.registration import register


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(pairs.QUICK_POINTS, "object", 3000)
    confidence_runs._cloud.cache_clear()
    yield
    confidence_runs._cloud.cache_clear()


def test_at_least_two_hundred_pairs_do_not_match_and_none_shows_one_subject_twice(tmp_path: Path) -> None:
    def entry(name: str, source: str, target: str) -> str:
        return f'{{"name": "{name}", "kind": "object", "source": "{source}", "target": "{target}"}}'

    entries = [entry("dragon_1_to_0", "d1.ply", "d0.ply"), entry("teapot_lid_to_teapot", "lid.ply", "pot.ply")]
    (tmp_path / "pairs.json").write_text(f"[{', '.join(entries)}]")
    for data in (None, tmp_path):
        jobs = confidence_runs.jobs(data)
        different = [job for job in jobs if isinstance(job, confidence_runs.Different)]
        halves = [job for job in jobs if isinstance(job, confidence_runs.Halves)]
        assert len(different) + len(halves) >= 200
        families = confidence_runs.families_of(data)
        assert all(families[job.source] != families[job.target] for job in different)
        assert not any(job.cloud in ("lid.ply", "pot.ply") for job in halves)
    assert {job.pair for job in jobs if isinstance(job, confidence_runs.Match)} == {
        *pairs.SYNTHETIC,
        "dragon_1_to_0",
        "teapot_lid_to_teapot",
    }


def test_halves_share_no_point() -> None:
    points = np.random.default_rng(0).normal(size=(501, 3)) * [1, 2, 3]
    for axis in range(3):
        one, other = confidence_runs.halves_of(points, axis)
        assert (len(one), len(other)) == (250, 251)
        assert len(np.unique(np.vstack([one, other]), axis=0)) == len(points)


@pytest.mark.usefixtures("small")
def test_a_row_says_what_register_says() -> None:
    row = next(confidence_runs.measure(confidence_runs.Match("synthetic_hand_30", CLEAN, 1, 3000), None))
    pair = pairs.pair_of("synthetic_hand_30", None, 3000)
    result = register(pair.source, pair.target)
    assert (row["success"], row["confidence"], row["overlap"], row["reason"]) == (
        result.success,
        result.confidence,
        result.overlap,
        result.reason,
    )
    assert (row["score"], row["runner-up score"]) == (*result.scores, None)[:2]
    assert row["NEES / 6"] > 0
    assert 0 < row["roughness"] < 1


@pytest.mark.usefixtures("small")
def test_different_clouds_have_the_same_size(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []

    def judged(source: Any, target: Any) -> Any:
        sizes.extend([diagonal(source), diagonal(target)])
        return {}, np.eye(4), None

    monkeypatch.setattr(confidence_runs, "_judged", judged)
    row = next(
        confidence_runs.measure(confidence_runs.Different("synthetic_hand_0", "synthetic_casting_0", True), None)
    )
    assert row["correct"] is False
    # Rotated, so that the bounding box is another one.
    assert 0.5 < sizes[0] / sizes[1] < 2
