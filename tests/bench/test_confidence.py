"""The experiment on the verdict."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from typer.testing import CliRunner

from graphreg.bench import confidence, pairs
from graphreg.bench.results_files import read_rows
from graphreg.cli import app
from graphreg.engine.verdict import Observability
from graphreg.poses import pose, rotation_from_vector
from graphreg.registration import register


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(pairs.QUICK_POINTS, "object", 3000)
    monkeypatch.setattr(confidence, "QUICK_MIXED", 2)
    monkeypatch.setattr(confidence, "QUICK_FAMILIES", ("hand", "casting"))
    monkeypatch.setattr(confidence, "VARIANTS", 1)
    confidence._cloud.cache_clear()
    yield
    confidence._cloud.cache_clear()


def test_there_are_two_hundred_pairs_that_do_not_match_and_none_shows_one_thing_twice(tmp_path: Path) -> None:
    def entry(name: str, source: str, target: str) -> str:
        return f'{{"name": "{name}", "kind": "object", "source": "{source}", "target": "{target}"}}'

    entries = [entry("dragon_1_to_0", "d1.ply", "d0.ply"), entry("teapot_lid_to_teapot", "lid.ply", "pot.ply")]
    (tmp_path / "pairs.json").write_text(f"[{', '.join(entries)}]")
    for data in (None, tmp_path):
        jobs = confidence.jobs(data)
        strangers = [job for job in jobs if isinstance(job, confidence.Mixed)]
        halves = [job for job in jobs if isinstance(job, confidence.Halves)]
        assert len(strangers) + len(halves) >= 200
        families = confidence.families_of(data)
        assert all(families[job.source] != families[job.target] for job in strangers)
        assert not any(job.cloud in ("lid.ply", "pot.ply") for job in halves)
    assert {job.pair for job in jobs if isinstance(job, confidence.Match)} == {
        *pairs.MADE,
        "dragon_1_to_0",
        "teapot_lid_to_teapot",
    }


def test_halves_share_no_point() -> None:
    points = np.random.default_rng(0).normal(size=(501, 3)) * [1, 2, 3]
    for axis in range(3):
        one, other = confidence.halves_of(points, axis)
        assert (len(one), len(other)) == (250, 251)
        assert len(np.unique(np.vstack([one, other]), axis=0)) == len(points)


def test_the_area_is_the_chance_that_right_is_believed_more() -> None:
    rng = np.random.default_rng(1)
    believed, right = rng.integers(0, 5, 60) / 4, rng.random(60) < 0.4
    pairs_of_runs = [(a > b) + 0.5 * (a == b) for a in believed[right] for b in believed[~right]]
    assert confidence.area_under_roc(believed, right) == pytest.approx(np.mean(pairs_of_runs))
    assert np.isnan(confidence.area_under_roc([0.1, 0.2], [True, True]))


def test_errors_drawn_from_the_covariance_are_calibrated() -> None:
    rng = np.random.default_rng(2)
    mixing = rng.normal(size=(6, 6)) * 1e-4
    hold = Observability(np.array([10.0, -20.0, 30.0]), mixing @ mixing.T, ())
    truth = pose(rotation_from_vector([0.5, 1.0, -2.0]), [5.0, 6.0, 7.0])
    squared = []
    for _ in range(2000):
        error = mixing @ rng.normal(size=6)
        turn = rotation_from_vector(error[:3])
        off = pose(turn, hold.centre - turn @ hold.centre + error[3:])
        squared.append(confidence.squared_error(off @ truth, truth, hold))
    # The mean of 2000 chi-squares of six degrees, by six: 1, give or take four times sqrt(2 / 6 / 2000).
    assert np.mean(squared) == pytest.approx(1, abs=0.052)


@pytest.mark.usefixtures("small")
def test_a_run_tells_what_register_tells() -> None:
    row = next(confidence.measure(confidence.Match("made_hand_30", pairs.CLEAN, 1, 3000), None))
    pair = pairs.pair_of("made_hand_30", None, 3000)
    result = register(pair.source, pair.target)
    assert (row["success"], row["confidence"], row["overlap"], row["reason"]) == (
        result.success,
        result.confidence,
        result.overlap,
        result.reason,
    )
    assert (row["score"], row["score of the runner-up"]) == (*result.scores, None)[:2]
    assert row["squared error"] > 0


@pytest.mark.usefixtures("small")
def test_clouds_that_do_not_match_have_one_size() -> None:
    seen = {}

    def watched(source: Any, target: Any) -> Any:
        seen["sizes"] = pairs.diagonal_of(source), pairs.diagonal_of(target)
        return {}, np.eye(4), None

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(confidence, "_run", watched)
        row = next(confidence.measure(confidence.Mixed("made_hand_0", "made_casting_0", True), None))
    assert row["right"] is False
    # Turned, so that the box is another one.
    assert 0.5 < seen["sizes"][0] / seen["sizes"][1] < 2


@pytest.mark.usefixtures("small")
def test_the_command_writes_all_runs_and_they_can_be_read_back(tmp_path: Path) -> None:
    arguments = ["bench", "confidence", "--quick", "-o", str(tmp_path), "--pairs", "made_hand_30"]
    done = CliRunner().invoke(app, arguments, env={"GRAPHREG_DATA": ""})
    assert done.exit_code == 0, done.output
    runs = read_rows(tmp_path / "confidence.rows.jsonl.gz")
    assert [run["tag"] for run in runs] == ["match"] * 5 + ["mixed"] * 2 + ["halves"] * 6
    assert {type(run["right"]) for run in runs} == {bool}
    assert all((run["squared error"] is None) == (not run["right"]) for run in runs)
    assert confidence.summary(runs)[0].startswith("5 runs on pairs that match, 8 on clouds that do not")
    assert "area under the ROC curve" in done.output
    assert any(line.startswith("object, noise 0.2 %: ") for line in confidence.summary(runs))
    ElementTree.fromstring((tmp_path / "confidence.svg").read_text())


def test_mistakes_are_counted_and_bins_hold_every_run() -> None:
    def run(tag: str, right: bool, believed: float, start: int = 0) -> dict[str, Any]:
        return {
            "tag": tag, "pair": "made_a", "kind": "object", "spoilt": "clean", "start": start, "right": right,
            "success": believed >= 0.75, "confidence": believed, "squared error": 2.0 if right else None,
        }  # fmt: skip

    rows = [
        run("match", True, 1.0),
        run("match", True, 0.5, start=1),
        run("match", False, 0.2),
        run("halves", False, 0.9),
    ]
    told = "\n".join(confidence.summary(rows))
    assert "although wrong: 1 of 2: made_a 1x" in told
    assert "although right: 1 of 2: made_a 1x" in told
    assert "area under the ROC curve: 0.7500; of the pairs that match alone 1.0000" in told
    # A second start without noise of its own is the same error once more.
    assert "object, clean: 2 (2) over 1 runs" in told
    assert [(line["runs"], line["share right"]) for line in confidence.tables(rows)[""]] == [
        (1, 0.0),
        (1, 1.0),
        (2, 0.5),
    ]


def runs_on(things: list[str], right: list[bool], meeting: list[int]) -> list[dict[str, Any]]:
    return [
        {
            "pair": f"{thing}_1_to_0", "right": yes, "meeting": met, "score": 1.0, "score of the runner-up": None,
            "overlap": 0.5, "undetermined": False, "confidence": 0.5,
        }
        for thing, yes, met in zip(things, right, meeting, strict=True)
    ]  # fmt: skip


def test_what_tells_right_from_wrong_does_so_on_other_things() -> None:
    things = [f"thing{number % 20}" for number in range(200)]
    right = [number % 3 == 0 for number in range(200)]
    told = confidence.held_out(runs_on(things, right, [60 if yes else 2 for yes in right]))
    assert confidence.area_under_roc(told, right) == 1


def test_what_tells_nothing_is_not_learnt_by_heart() -> None:
    # Each thing has a number of its own, which tells of its own runs whether they are right, and of no others'.
    rng = np.random.default_rng(3)
    thing = np.arange(400) % 40
    right = (rng.random(40) < 0.5)[thing].tolist()
    told = confidence.held_out(runs_on([f"thing{number}" for number in thing], right, (7 * thing).tolist()))
    assert 0.2 < confidence.area_under_roc(told, right) < 0.8
