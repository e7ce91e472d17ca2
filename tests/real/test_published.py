"""The published method on real pairs, from the pose they were scanned in: what the paper reports must be reached."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphreg
from graphreg.metrics import angular_error, rmsd

SEEDS = range(5)


def errors(scans: Path, name: str, **settings: Any) -> tuple[list[float], list[float], list[bool]]:
    entry = next(e for e in json.loads((scans / "pairs.json").read_text()) if e["name"] == name)
    source, target = (graphreg.read(scans / entry[end]) for end in ("source", "target"))
    truth = np.array(entry["T_target_source"])
    results = [graphreg.register(source, target, seed=seed, **settings) for seed in SEEDS]
    motions = [result.transformation for result in results]
    return (
        [angular_error(motion, truth) for motion in motions],
        [rmsd(motion, truth, source) for motion in motions],
        [result.success for result in results],
    )


def test_dragon_is_as_good_as_in_table_1(scans: Path) -> None:
    angles, _, success = errors(scans, "dragon_24_to_0")
    assert np.median(angles) < 0.33
    assert max(angles) < 1
    assert all(success)


@pytest.mark.parametrize("name", ["dragon_48_to_24", "dragon_48_to_0", "dragon_336_to_0"])
def test_other_dragons(scans: Path, name: str) -> None:
    angles, _, _ = errors(scans, name)
    assert sum(angle < 1 for angle in angles) >= 4


@pytest.mark.parametrize("name", ["bunny_045_to_000", "bunny_outlier0.1_045_to_000", "bunny_outlier0.5_045_to_000"])
def test_bunny_with_and_without_outliers(scans: Path, name: str) -> None:
    _, distances, _ = errors(scans, name, max_iterations=200)
    assert np.median(distances) <= 0.0035
