"""Registration recall: both definitions, the data sets that are found, and the command on small files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.datasets.test_benchmark_pairs import information_of, write_log
from tests.support.commands import invoke

from graphreg.bench import pairs, recall
from graphreg.bench.comparison_runs import ROTATION_ERROR
from graphreg.bench.recall_protocols import PROTOCOLS, pairs_of, rmse_of
from graphreg.bench.results_files import read_rows
from graphreg.errors import FileError, InputError
from graphreg.files import write
from graphreg.poses import inverse, transform


@pytest.fixture(autouse=True)
def _fresh() -> None:
    pairs_of.cache_clear()
    recall._scans.cache_clear()


def row(scene: str, degrees: float, metres: float, rmse: float | None, consecutive: bool = False) -> dict[str, Any]:
    return {
        "protocol": "3DMatch", "scene": scene, "pair": f"{scene} {degrees}", "consecutive": consecutive,
        "method": "graphreg", "correct": degrees < 15 and metres < 0.3, ROTATION_ERROR: degrees,
        recall.TRANSLATION_ERROR: metres, recall.RMSE: rmse, "correspondences from": "gt.info", "seconds": 0.1,
        "exception": "",
    }  # fmt: skip


def test_recall_is_counted_over_pairs_and_over_scenes() -> None:
    rows = [
        row("a", 14.9, 0.29, 0.21),
        row("a", 1.0, 0.31, 0.19),
        row("a", 15.1, 0.1, 0.5),
        row("a", 1.0, 0.1, 0.01, consecutive=True),
        row("b", 1.0, 0.1, 0.2),
    ]
    line = recall.tables(rows)["3DMatch (recall in %)"][0]
    assert line["15 deg, 0.3 m"] == pytest.approx(100 * 3 / 5)
    assert line["15 deg, 0.3 m, mean of scenes"] == pytest.approx(100 * (2 / 4 + 1) / 2)
    # Without the consecutive pair: one of three in a, one of one in b.
    assert line["RMSE 0.2 m"] == pytest.approx(100 * 2 / 4)
    assert line["RMSE 0.2 m, mean of scenes"] == pytest.approx(100 * (1 / 3 + 1) / 2)
    assert line["pairs"] == 5


def test_an_exception_is_a_failure_by_every_definition() -> None:
    line = recall.tables([{**row("a", 0.0, 0.0, 0.0), "exception": "ValueError", "correct": False}])
    figures = line["3DMatch (recall in %)"][0]
    assert (figures["15 deg, 0.3 m"], figures["RMSE 0.2 m"]) == (0, 0)


def test_figures_of_others_are_marked_as_published() -> None:
    tables = recall.tables([row("a", 1.0, 0.1, None)])
    assert {line["protocol"] for line in tables[recall.PUBLISHED_TABLE]} == {"3DMatch"}
    assert "not measured here" in recall.PUBLISHED_TABLE
    street = {**row("a", 1.0, 0.1, None), "protocol": "KITTI 10 m"}
    assert recall.PUBLISHED_TABLE not in recall.tables([street])
    assert "5 deg, 0.6 m" in recall.tables([street])["KITTI 10 m (recall in %)"][0]


def test_both_origins_of_the_rmse_agree() -> None:
    target = np.random.default_rng(0).random((3000, 3)) * [3, 3, 0.1]
    truth = np.eye(4)
    truth[:3, 3] = [1.0, 2.0, 0.5]
    source = transform(inverse(truth), target)
    found = truth.copy()
    found[0, 3] += 0.1
    assert rmse_of(found, truth, source, target, None)[0] == pytest.approx(0.1)
    assert rmse_of(found, truth, source, target, information_of(source)) == (pytest.approx(0.1), "gt.info")
    assert rmse_of(found, truth, source + 100.0, target, None) == (None, None)


@pytest.fixture
def data_set(tmp_path: Path) -> Path:
    """Fragments and a log of one pair, made of a synthetic room."""
    scans = pairs.pair_of("synthetic_room_40", None, 4000)
    for number, points in ((0, scans.target), (2, scans.source)):
        (tmp_path / "den").mkdir(exist_ok=True)
        write(tmp_path / "den" / f"cloud_bin_{number}.ply", points)
    write_log(tmp_path / "3DLoMatch" / "den", {(0, 2): scans.truth}, information_of(scans.source))
    return tmp_path


@pytest.mark.slow
def test_the_command_measures_a_folder_of_a_data_set(data_set: Path, tmp_path: Path) -> None:
    out = tmp_path / "results"
    done = invoke(["bench", "recall", "--data", str(data_set), "--methods", "graphreg", "-o", str(out)])
    assert done.exit_code == 0, (done.output, done.exception)
    (found,) = read_rows(out / "recall.rows.jsonl.gz")
    assert (found["protocol"], found["scene"], found["correct"]) == ("3DLoMatch", "den", True)
    assert found["correspondences from"] == "gt.info"
    assert found[recall.RMSE] < 0.05
    page = (out / "recall.md").read_text()
    assert "Huang et al. (Predator), CVPR 2021" in page
    assert "FPFH + MAC" in page


def test_without_a_data_set_rooms_and_a_street_are_simulated(tmp_path: Path) -> None:
    assert set(pairs_of(None, True)) == {"synthetic rooms", "synthetic street 10 m"} <= set(PROTOCOLS)
    assert set(pairs_of(tmp_path, True)) == set(pairs_of(None, True))
    runs = recall.jobs(None, quick=True, methods="graphreg,icp")
    assert [run.method for run in runs[:4]] == ["graphreg", "icp"] * 2


def test_a_list_stands_in_for_the_logs(tmp_path: Path) -> None:
    (tmp_path / "3dmatch.json").write_text(
        '[{"name": "3DLoMatch_home_at_7_to_6", "source": "a.ply", "target": "b.ply", "T_target_source": '
        "[[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]}]"
    )
    (only,) = pairs_of(tmp_path)["3DLoMatch"].values()
    assert (only.scene, only.consecutive, only.information) == ("home_at", True, None)


def test_a_list_with_other_names_is_refused(tmp_path: Path) -> None:
    (tmp_path / "3dmatch.json").write_text('[{"name": "kitchen_1_to_0"}]')
    with pytest.raises(FileError, match="expected such as 3DMatch_kitchen_1_to_0"):
        pairs_of(tmp_path)


def test_a_pair_that_does_not_exist_is_refused() -> None:
    with pytest.raises(InputError, match="pairs: 'attic' matches none"):
        recall.jobs(None, quick=True, pairs="attic")
