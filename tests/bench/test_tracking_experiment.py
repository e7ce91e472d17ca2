"""The experiment on tracked frames: what is fitted, and what it is checked on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from graphreg.bench import tracking


def row(fitted: bool, right: bool, tracked: bool, seed: int = 0) -> dict[str, Any]:
    overlap, inliers, support = (0.9, 950, 0.9) if right else (0.5, 500, 0.1)
    figures = (overlap - 0.01 * seed, inliers - seed, 1000, support, 0.03)
    return {
        "scene": "hall", "variant": 1, "fitted": fitted, "guess": tracking.GOOD, "right": right, "tracked": tracked,
        "confidence": 0.9 if tracked else 0.1, **dict(zip(tracking.FIGURES, figures, strict=True)), "CPU (s)": 0.01,
        "engine": True, "engine right": right, "engine CPU (s)": 0.1,
    }  # fmt: skip


def test_constants_are_fitted_to_other_walks_than_they_are_checked_on() -> None:
    walks = tracking.jobs(None)
    fitted = {(walk.scene, walk.variant) for walk in walks if walk.fitted}
    checked = {(walk.scene, walk.variant) for walk in walks if not walk.fitted}
    assert not fitted & checked
    assert {scene for scene, _ in checked} > {scene for scene, _ in fitted}
    rows = [row(True, k % 2 == 0, False, k) for k in range(10)]
    assert np.array_equal(tracking.fit(rows), tracking.fit([*rows, row(False, False, True)]))


def test_wrong_poses_that_are_called_are_counted() -> None:
    rows = [row(True, k % 2 == 0, k % 2 == 0, k) for k in range(10)]
    rows += [row(False, True, True), row(False, False, True), row(False, False, False)]
    line = tracking.tables(rows)["Verdicts"][-1]
    assert (line["tracked from guesses"], line["called"], line["wrong of these"]) == (3, 2, 1)
    assert (line["called by it"], line["wrong of those"]) == (3, 2)
    assert "2 of 3 called, 1 of these wrong" in tracking.summary(rows)[1]


@pytest.mark.slow
def test_a_frame_of_another_place_is_never_right(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracking, "FRAMES", tracking.FIRST + 1)
    monkeypatch.setattr(tracking, "ENGINE_EVERY", 10**6)
    monkeypatch.setitem(tracking.WALKS, tracking.HALL, (4.0, 2_000))
    monkeypatch.setitem(tracking.WALKS, tracking.STREET, (1.0, 2_000))
    rows = list(tracking.measure(tracking.Walk(tracking.HALL, 1, True), None))
    assert {row["guess"] for row in rows} == {tracking.GOOD, tracking.WRONG, tracking.EARLIER, tracking.ELSEWHERE}
    for row in rows:
        assert not (row["guess"] == tracking.ELSEWHERE and (row["right"] or row["tracked"]))
    assert all(row["right"] for row in rows if row["guess"] == tracking.GOOD)
