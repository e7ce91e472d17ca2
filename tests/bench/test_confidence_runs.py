"""Runs of the experiment on confidence: pairs that match, different subjects, halves."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphreg.bench import confidence_runs, pairs
from graphreg.bench.confidence_fragments import SAME_SCENE, fragments_apart
from graphreg.bench.corruption import CLEAN
from graphreg.bench.initial_poses import diagonal
from graphreg.engine.evidence import Evidence
from graphreg.errors import FileError, InputError
from graphreg.files import write
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.fixture
def folder_of_lists(tmp_path: Path) -> Path:
    """A scan and its copy in another frame, listed as 3DMatch is; two rooms of three fragments, far apart."""
    rng = np.random.default_rng(0)
    for room in ("3dmatch_a", "3dmatch_b"):
        (tmp_path / room).mkdir()
        lines = []
        for number, place in enumerate((0.0, 0.1, 50.0)):
            write(tmp_path / room / f"{number}.ply", rng.random((400, 3)))
            lines.append(f"1 0 0 {place} 0 1 0 0 0 0 1 0")
        (tmp_path / room / "poses.txt").write_text("\n".join(lines))
    scan = pairs.pair_of("synthetic_hand_30", None, 3000)
    write(tmp_path / "source.ply", scan.source)
    write(tmp_path / "target.ply", scan.target)
    (tmp_path / "3dmatch.json").write_text(
        json.dumps(
            [
                {
                    "name": f"{of}_hand_1_to_0", "kind": "object", "source": "source.ply", "target": "target.ply",
                    "T_target_source": scan.truth.tolist(), "max_rotation_error_deg": 2.0, "max_rmsd": None,
                    "peer_voxel": 0.01,
                }
                for of in ("3DMatch", "3DLoMatch")
            ]
        )
    )  # fmt: skip
    (tmp_path / "pairs.json").write_text("[]")
    return tmp_path


@pytest.mark.slow
def test_pairs_of_a_list_count_as_their_benchmark_does(folder_of_lists: Path) -> None:
    jobs = confidence_runs.jobs(folder_of_lists, groups="lists")
    assert [job.pair for job in jobs if isinstance(job, confidence_runs.Listed)] == [
        "3DMatch_hand_1_to_0",
        "3DLoMatch_hand_1_to_0",
    ]
    rows = [row for job in jobs for row in confidence_runs.measure(job, folder_of_lists)]
    assert [(row["group"], row["initial pose"]) for row in rows] == [("3DMatch", 1), ("3DLoMatch", 1)]
    assert rows[0]["correct"]
    pair = pairs.listed_pair(pairs.entries_of(folder_of_lists, "3dmatch.json")[0], folder_of_lists)
    for metres, correct in ((0.29, True), (0.31, False)):
        found = pair.truth.copy()
        found[0, 3] += metres
        assert confidence_runs._near(found, pair.truth) is correct


@pytest.mark.slow
def test_fragments_that_overlap_are_no_hard_negatives(folder_of_lists: Path) -> None:
    found = fragments_apart(folder_of_lists, 100)
    same = {(source, target) for group, source, target in found if group == SAME_SCENE}
    assert same == {(f"{room}/{k}.ply", f"{room}/2.ply") for room in ("3dmatch_a", "3dmatch_b") for k in (0, 1)}
    assert len(found) == 4 + 9
    assert len({scene.split("/")[0] for _, *ends in found[4:] for scene in ends}) == 2
    assert len(fragments_apart(folder_of_lists, 4)) == 4


@pytest.mark.slow
def test_every_fragment_needs_a_pose(folder_of_lists: Path) -> None:
    (folder_of_lists / "3dmatch_b" / "2.ply").unlink()
    with pytest.raises(FileError, match="has 3 poses, but there are 2 fragments"):
        fragments_apart(folder_of_lists, 100)


@pytest.mark.slow
def test_no_pose_of_an_ambiguous_pair_is_correct_but_equivalent_ones_are_known() -> None:
    cube, plate = (
        next(confidence_runs.measure(confidence_runs.Ambiguous(name, 0, 2000), None))
        for name in ("cube", "plate with a boss")
    )
    assert (cube["correct"], cube["equivalent"], cube["group"]) == (False, True, "ambiguous")
    assert plate["correct"] == plate["equivalent"]
    assert plate["group"] == "determined by a feature"


def test_rows_have_every_figure_of_the_evidence() -> None:
    row = next(confidence_runs.measure(confidence_runs.Ambiguous("uniform noise", 0, 500), None))
    assert {field.name for field in fields(Evidence)} <= row.keys()
    json.dumps(row, allow_nan=False)


def test_a_group_that_does_not_exist_is_refused() -> None:
    with pytest.raises(InputError, match="groups: 'noise' is none of"):
        confidence_runs.jobs(None, groups="halves,noise")


@pytest.mark.parametrize(
    ("name", "scene"),
    [
        ("synthetic_hare_30", "hare"),
        ("bunny_045_to_000", "bunny"),
        ("stanford_dragon/dragonStandRight_0.ply to synthetic_hand_0", "dragon"),
        ("3dmatch_kitchen/000001.ply", "kitchen"),
        ("box 1 %", "box"),
    ],
)
def test_the_scene_is_that_of_the_source(name: str, scene: str) -> None:
    assert confidence_runs.scene_of(name) == scene
