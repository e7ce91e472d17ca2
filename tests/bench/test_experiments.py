"""Every experiment, on scans so small that it takes a moment: jobs, rows, tables, figures and files."""

from __future__ import annotations

import json
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from tests.support.commands import invoke

from graphreg.bench import EXPERIMENTS, GROUPS, cooling, odometry, pair_pictures, pairs, resampling
from graphreg.bench.results_files import read_results
from graphreg.provenance import fingerprint
from graphreg.registration import methods

COMPARISONS = ("accuracy", "noise", "outliers", "cooling", "teapot", "terrestrial", "odometry", "density", "poses")


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch, small_pictures: None) -> None:
    monkeypatch.setattr(pairs, "QUICK_POINTS", {"object": 800, "indoor": 800, "tls": 800, "lidar": 1000})
    monkeypatch.setattr(pairs.pot, "POINTS", 2000)
    monkeypatch.setattr(cooling, "QUICK_POINTS", 800)
    monkeypatch.setattr(odometry, "QUICK_POINTS", 1000)
    for module in (pair_pictures, resampling):
        monkeypatch.setattr(module, "SIZE", (400, 120))


def test_there_is_a_module_for_each_experiment_and_all_are_in_a_group() -> None:
    for name in EXPERIMENTS:
        module = import_module(f"graphreg.bench.{name}")
        assert module.TITLE
        assert fingerprint(*module.PARTS)
        assert callable(module.measure)
    assert GROUPS["all"] == tuple(EXPERIMENTS)
    assert set(GROUPS["paper"]) < set(EXPERIMENTS)


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow) if n == "recall" else n for n in EXPERIMENTS])
def test_jobs_differ_and_can_be_written_down(name: str) -> None:
    for quick in (False, True):
        jobs = import_module(f"graphreg.bench.{name}").jobs(None, quick=quick)
        assert len({type(job).__name__ + json.dumps(asdict(job)) for job in jobs}) == len(jobs) > 0


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("name", COMPARISONS)
def test_all_methods_take_part_interleaved(name: str, quick: bool) -> None:
    jobs = import_module(f"graphreg.bench.{name}").jobs(None, quick=quick, peers=False)
    order = [job.method for job in jobs]
    assert set(order) == set(methods())
    first_round = order[: max(order.index(method) for method in methods()) + 1]
    assert list(dict.fromkeys(first_round)) == list(methods())


@pytest.mark.slow
@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("name", [*COMPARISONS, "resampling"])
def test_the_command_writes_what_it_measures(name: str, tmp_path: Path) -> None:
    chosen = ["--methods", "graphreg,icp"] if name in COMPARISONS else []
    arguments = ["bench", name, "--quick", "-o", str(tmp_path), "--budget", "0.2", *chosen]
    done = invoke(arguments)
    assert done.exit_code == 0, (done.output, done.exception)
    written = read_results(tmp_path / f"{name}.json")
    assert written.provenance.command.startswith(f"graphreg bench {name} --quick")
    assert written.provenance.command.endswith(" --budget 0.2")
    assert written.provenance.state == "current"
    assert written.rows
    page = (tmp_path / f"{name}.md").read_text()
    assert page.startswith(f"# {written.title}\n\n")
    assert "\n- a quick run" in page
    assert written.title in (tmp_path / "README.md").read_text()
    # Charts are SVG alone; PNG is for rendered scans.
    assert not {path.stem for path in tmp_path.glob("*.svg")} & {path.stem for path in tmp_path.glob("*.png")}
    for picture in tmp_path.glob("*.png"):
        assert picture.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    if name in COMPARISONS:
        assert {row["method"] for row in written.rows} == {"graphreg", "icp"}
        assert set(written.about["methods"]) == {"graphreg", "icp"}


@pytest.mark.slow
@pytest.mark.usefixtures("small")
def test_a_second_run_resumes_the_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = import_module("graphreg.bench.accuracy")
    count = {"calls": 0}
    measure = module.measure

    def counted(*arguments: Any) -> Any:
        count["calls"] += 1
        if count["calls"] == 3:
            raise KeyboardInterrupt
        return measure(*arguments)

    monkeypatch.setattr(module, "measure", counted)
    monkeypatch.delattr(module, "pictures")
    arguments = ["bench", "accuracy", "--quick", "--methods", "icp,icp-kp", "-o", str(tmp_path), "--budget", "99"]
    stopped = invoke(arguments)
    assert stopped.exit_code != 0
    assert "interrupted; the same command without --fresh resumes it" in stopped.output
    assert not (tmp_path / "accuracy.json").exists()
    done = invoke(arguments)
    assert done.exit_code == 0, done.output
    # Four jobs: two before the stop, the one that was stopped, and two after it.
    assert count["calls"] == 5
    invoke(arguments)
    assert count["calls"] == 5
    invoke([*arguments, "--fresh"])
    assert count["calls"] == 9
