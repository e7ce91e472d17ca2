"""The experiment on confidence and covariance: tables, summary, figures."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from tests.support.commands import invoke

from graphreg.bench import confidence, confidence_runs, pairs
from graphreg.bench.calibration import INFLATION_TERMS, features_of
from graphreg.bench.results_files import read_rows


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(pairs.QUICK_POINTS, "object", 600)
    monkeypatch.setattr(confidence_runs, "QUICK_AMBIGUOUS_POINTS", 600)
    monkeypatch.setattr(confidence_runs, "QUICK_DIFFERENT", 1)
    monkeypatch.setattr(confidence_runs, "QUICK_AMBIGUOUS", ("cube", "plate with a boss"))
    monkeypatch.setattr(confidence_runs, "QUICK_FAMILIES", ("hand", "hare"))
    monkeypatch.setattr(confidence_runs, "VARIANTS", 1)
    confidence_runs._cloud.cache_clear()
    yield
    confidence_runs._cloud.cache_clear()


@pytest.mark.slow
@pytest.mark.usefixtures("small")
def test_the_command_writes_all_runs_and_they_can_be_read_back(tmp_path: Path) -> None:
    arguments = ["bench", "confidence", "--quick", "-o", str(tmp_path), "--pairs", "synthetic_hand_30"]
    done = invoke(arguments)
    assert done.exit_code == 0, done.output
    rows = read_rows(tmp_path / "confidence.rows.jsonl.gz")
    assert [row["task"] for row in rows] == [
        *["match"] * 7,
        *["ambiguous"] * 2,
        *["different"] * 1,
        *["halves"] * 6,
    ]
    assert [row["group"] for row in rows[5:7]] == ["50 % uniform outliers", "91 % uniform outliers"]
    assert {type(row["correct"]) for row in rows} == {bool}
    assert all((row["NEES / 6"] is None) == (not row["correct"]) for row in rows if row["task"] != "ambiguous")
    assert confidence.summary(rows)[0].startswith("7 runs on 1 pairs that match, 9 on ambiguous pairs and on")
    assert "area under the ROC curve" in done.output
    assert any(line.startswith("object, noise 0.2 %: ") for line in confidence.summary(rows))
    ElementTree.fromstring((tmp_path / "confidence.svg").read_text())


def test_errors_are_counted_and_bins_have_every_run() -> None:
    def run(task: str, correct: bool, value: float, start: int = 0) -> dict[str, Any]:
        return {
            "task": task, "group": task, "pair": "synthetic_a", "scene": "a", "kind": "object",
            "corruption": "clean", "initial pose": start,
            "correct": correct, "success": value >= 0.75, "confidence": value, "NEES / 6": 2.0 if correct else None,
        }  # fmt: skip

    rows = [
        run("match", True, 1.0),
        run("match", True, 0.5, start=1),
        run("match", False, 0.2),
        run("halves", False, 0.9),
    ]
    lines = "\n".join(confidence.summary(rows))
    assert "although wrong: 1 of 2: synthetic_a 1x" in lines
    assert "although correct: 1 of 2: synthetic_a 1x" in lines
    assert "area under the ROC curve: 0.7500; on the pairs that match 1.0000" in lines
    # A second initial pose without noise is the same error once more.
    assert "object, clean: 2 (2) over 1 runs" in lines
    assert [tuple(line.values())[:6] for line in confidence.by_group(rows)] == [
        ("match", 3, 2, 1, 0, 1),
        ("halves", 1, 0, 1, 1, 0),
        ("all", 4, 2, 2, 1, 1),
    ]
    assert [(line["runs"], line["share correct"]) for line in confidence.tables(rows)[confidence.RELIABILITY]] == [
        (1, 0.0),
        (1, 1.0),
        (2, 0.5),
    ]


@pytest.mark.slow
def test_fitted_constants_stand_beside_those_in_use() -> None:
    rng = np.random.default_rng(0)
    rows = []
    for number in range(200):
        correct = number % 2 == 0
        inliers = int(rng.integers(20, 60) if correct else rng.integers(0, 30))
        rows.append(
            {
                "task": "match", "pair": f"synthetic_object{number % 10}_30", "kind": "object", "corruption": "noise",
                "scene": f"object{number % 10}", "group": "pairs",
                "initial pose": 0, "correct": correct, "success": correct, "confidence": 0.5,
                "degenerate": number % 7 == 0,
                "nearest_inliers": inliers, "tightness": rng.random(), "spread": 20 * rng.random(),
                "floating": 0.1 * rng.random(), "margin": rng.uniform(-1, 2), "similarity": rng.random(),
                "seen_through": 0.1 * rng.random(), "variety": 0.3 * rng.random(),
                "floating_in_clutter": rng.uniform(0.01, 1),
                "roughness": rng.uniform(0, 0.4), "NEES / 6": rng.chisquare(6) / 6 if correct else None,
            }
        )  # fmt: skip
    table = confidence.tables(rows)["Fitted constants"]
    assert [line["term"] for line in table] == [
        "constant",
        *features_of(rows[0]),
        *INFLATION_TERMS,
        "share if degenerate",
    ]
    for line in table[:-1]:
        assert line["smallest without a fold"] <= line["largest without a fold"]
    assert any(
        line.startswith("cross-validated, constants fitted without the object") for line in confidence.summary(rows)
    )
