"""Interactive control of a registration: start, pause, step, stop, manual poses, and errors."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.support.strategies import small_scan

import graphreg
from graphreg.clouds import as_cloud
from graphreg.poses import inverse, pose, rotation_from_vector, transform
from graphreg.reports import live as module
from graphreg.reports.live import (
    LiveRegistration,
    RunSettings,
    Snapshot,
    State,
    default_beta,
    save_result,
    unused_paths,
)

T_TARGET_SOURCE = pose(rotation_from_vector([0.05, -0.1, 0.1]), [0.01, 0.0, 0.01])
# Always takes a hundred iterations.
PAPER = RunSettings("graphreg-paper")
ITERATIONS = 100
# Seconds; long enough for any busy machine, so that only a failing test waits this long.
TIMEOUT = 600.0
# Iterations a second, so few that a run can be paused before its end on any busy machine.
SLOW = 10.0
# Seconds in which nothing must change.
QUIET = 0.15


@pytest.fixture(scope="module")
def clouds() -> tuple[np.ndarray, np.ndarray]:
    body = small_scan("hare")
    return transform(inverse(T_TARGET_SOURCE), body[1::5]), body[::5]


@pytest.fixture(scope="module")
def expected(clouds: tuple[np.ndarray, np.ndarray]) -> graphreg.Result:
    return graphreg.register(*clouds, method="graphreg-paper", threads=2)


@pytest.fixture
def live(clouds: tuple[np.ndarray, np.ndarray]) -> Iterator[LiveRegistration]:
    live = LiveRegistration(*clouds, threads=2)
    live.set_rate(1e6)
    yield live
    live.close()
    assert registration_threads() == []


def registration_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "registration"]


def wait_until(live: LiveRegistration, condition: Callable[[Snapshot], bool]) -> Snapshot:
    """The first observed snapshot that satisfies the condition."""
    deadline = time.monotonic() + TIMEOUT
    snapshot = live.snapshot
    while not condition(snapshot):
        assert time.monotonic() < deadline, snapshot
        snapshot = live.wait_for_change(snapshot, 1.0)
    return snapshot


def wait_until_done(live: LiveRegistration) -> Snapshot:
    return wait_until(live, lambda snapshot: snapshot.state is State.DONE)


def wait_until_paused(live: LiveRegistration, count: int) -> Snapshot:
    """Wait until the run is paused after `count` iterations, and check that it stays so."""
    snapshot = wait_until(live, lambda now: now.state is State.PAUSED and len(now.iterations) == count)
    assert live.wait_for_change(snapshot, QUIET) is snapshot
    return snapshot


def test_it_is_idle_at_first(live: LiveRegistration) -> None:
    snapshot = live.snapshot
    assert (snapshot.state, snapshot.iterations, snapshot.result, snapshot.problem) == (State.IDLE, (), None, None)
    assert np.array_equal(snapshot.pose, np.eye(4))
    live.pause()
    live.stop()
    assert live.wait_for_change(snapshot, QUIET) is snapshot


@pytest.mark.slow
def test_a_run_ends_with_the_result_of_register(live: LiveRegistration, expected: graphreg.Result) -> None:
    live.start(PAPER)
    snapshot = wait_until_done(live)
    assert snapshot.problem is None
    assert snapshot.result is not None
    assert np.array_equal(snapshot.result.transformation, expected.transformation)
    assert np.array_equal(snapshot.pose, expected.transformation)
    assert (snapshot.result.reason, snapshot.result.confidence) == (expected.reason, expected.confidence)
    assert [now.energy for now in snapshot.iterations] == [now.energy for now in expected.history]
    assert not snapshot.stopping


def test_snapshots_follow_the_iterations(live: LiveRegistration, expected: graphreg.Result) -> None:
    live.set_rate(200)
    live.start(PAPER)
    snapshot = wait_until(live, lambda now: len(now.iterations) >= 5)
    assert snapshot.state is State.RUNNING
    assert np.array_equal(snapshot.pose, snapshot.iterations[-1].transformation)
    assert np.array_equal(snapshot.pose, expected.history[len(snapshot.iterations) - 1].transformation)


def test_a_step_is_one_iteration(live: LiveRegistration, expected: graphreg.Result) -> None:
    for number in (1, 2, 3):
        live.step(PAPER)
        snapshot = wait_until_paused(live, number)
        assert np.array_equal(snapshot.pose, expected.history[number - 1].transformation)
    live.start(PAPER)
    assert np.array_equal(wait_until_done(live).pose, expected.transformation)


def test_steps_requested_at_once_are_all_taken(live: LiveRegistration) -> None:
    for _ in range(4):
        live.step(PAPER)
    wait_until_paused(live, 4)


def test_stepping_to_the_end_ends_the_run(live: LiveRegistration, expected: graphreg.Result) -> None:
    for _ in range(ITERATIONS):
        live.step(PAPER)
    assert wait_until_paused(live, ITERATIONS).result is None
    live.step(PAPER)
    assert np.array_equal(wait_until_done(live).pose, expected.transformation)


def test_pause_interrupts_and_start_continues(live: LiveRegistration, expected: graphreg.Result) -> None:
    live.set_rate(SLOW)
    live.start(PAPER)
    wait_until(live, lambda now: len(now.iterations) >= 3)
    live.pause()
    at_once = live.snapshot
    live.wait_for_change(at_once, 2 / SLOW)
    later = live.snapshot
    assert at_once.state is later.state is State.PAUSED
    # The current iteration may still be reported.
    assert len(later.iterations) <= len(at_once.iterations) + 1 < ITERATIONS
    live.set_rate(1e6)
    live.start(RunSettings("icp"))  # the settings of the paused run stay
    snapshot = wait_until_done(live)
    assert snapshot.result is not None
    assert snapshot.result.method == "graphreg-paper"
    assert np.array_equal(snapshot.pose, expected.transformation)


def test_a_step_during_a_run_pauses_it(live: LiveRegistration) -> None:
    live.set_rate(SLOW)
    live.start(PAPER)
    wait_until(live, lambda now: len(now.iterations) >= 2)
    live.step()
    snapshot = wait_until(live, lambda now: now.state is State.PAUSED)
    assert live.wait_for_change(snapshot, QUIET) is snapshot
    assert len(snapshot.iterations) < ITERATIONS


@pytest.mark.parametrize("is_paused", [True, False])
def test_a_stopped_run_has_a_result_for_its_last_pose(live: LiveRegistration, is_paused: bool) -> None:
    if is_paused:
        for _ in range(3):
            live.step(PAPER)
        wait_until_paused(live, 3)
    else:
        live.set_rate(SLOW)
        live.start(PAPER)
        wait_until(live, lambda now: len(now.iterations) >= 3)
    live.stop()
    assert live.snapshot.stopping
    snapshot = wait_until_done(live)
    assert snapshot.result is not None
    assert 3 <= len(snapshot.iterations) < ITERATIONS
    assert len(snapshot.result.history) == len(snapshot.iterations)
    assert np.array_equal(snapshot.result.transformation, snapshot.iterations[-1].transformation)


def test_nothing_revokes_a_stop(clouds: tuple[np.ndarray, np.ndarray], monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither start nor step nor pause, however long the iteration takes."""
    released = threading.Event()
    run_method = module.run_method

    def slow(*args: object, **kwargs: object) -> graphreg.Result:
        assert released.wait(TIMEOUT)
        return run_method(*args, **kwargs)

    monkeypatch.setattr(module, "run_method", slow)
    live = LiveRegistration(*clouds, threads=2)
    live.start(PAPER)
    live.stop()
    stopping = live.snapshot
    live.start(PAPER)
    live.step(PAPER)
    live.pause()
    assert live.snapshot is stopping
    released.set()
    assert len(wait_until_done(live).iterations) == 1
    live.close()


def test_a_stop_ends_the_wait_between_iterations(live: LiveRegistration) -> None:
    live.set_rate(1e-6)
    live.start(PAPER)
    wait_until(live, lambda now: len(now.iterations) == 1)
    live.stop()
    assert len(wait_until_done(live).iterations) == 1


@pytest.mark.slow
def test_runs_can_be_repeated(live: LiveRegistration, expected: graphreg.Result) -> None:
    live.start(PAPER)
    first = wait_until_done(live)
    live.start(RunSettings("icp-kp"))
    second = wait_until_done(live)
    assert second.result is not None
    assert second.result.method == "icp-kp"
    assert second.iterations[0].number == 1
    assert np.array_equal(second.start_pose, first.pose)
    live.step(PAPER)
    assert wait_until_paused(live, 1).result is None
    live.stop()
    wait_until_done(live)
    live.start(PAPER)
    again = wait_until_done(live)
    assert not again.stopping
    assert np.array_equal(again.pose, expected.transformation)


@pytest.mark.slow
def test_seed_beta_and_start_are_passed_on(live: LiveRegistration, clouds: tuple[np.ndarray, np.ndarray]) -> None:
    live.set_pose(T_TARGET_SOURCE)
    here = live.snapshot.pose
    live.start(RunSettings("graphreg-paper", seed=5, beta=0.8, from_current_pose=True))
    same = graphreg.register(*clouds, method="graphreg-paper", init=here, seed=5, beta=0.8, threads=2)
    assert np.array_equal(wait_until_done(live).pose, same.transformation)
    # With init the graphreg method only refines.
    live.set_pose(T_TARGET_SOURCE)
    live.start(RunSettings(from_current_pose=True))
    refined = wait_until_done(live).result
    assert refined is not None
    assert refined.hypotheses == 1
    live.set_pose(T_TARGET_SOURCE)
    live.start(RunSettings())
    searched = wait_until_done(live).result
    assert searched is not None
    assert searched.hypotheses > 1


def test_a_manual_pose_is_ignored_during_a_run(live: LiveRegistration) -> None:
    live.set_pose(T_TARGET_SOURCE)
    snapshot = live.snapshot
    assert snapshot.manual
    assert np.allclose(snapshot.pose, T_TARGET_SOURCE, atol=1e-15)
    live.step(PAPER)
    paused = wait_until_paused(live, 1)
    assert not paused.manual
    live.set_pose(np.eye(4))
    assert live.snapshot is paused
    live.stop()
    assert wait_until_done(live).result is not None
    live.set_pose(np.eye(4))
    snapshot = live.snapshot
    # The verdict was about another pose.
    assert (snapshot.state, snapshot.result, snapshot.iterations) == (State.IDLE, None, ())
    assert np.allclose(snapshot.start_pose, T_TARGET_SOURCE, atol=1e-15)


@pytest.mark.parametrize("bad", [np.eye(3), np.zeros((4, 4)), np.full((4, 4), np.nan), "here", None])
def test_a_bad_pose_raises(live: LiveRegistration, bad: object) -> None:
    snapshot = live.snapshot
    with pytest.raises(graphreg.InputError, match="pose: expected"):
        live.set_pose(bad)
    assert live.snapshot is snapshot


@pytest.mark.parametrize("bad", [0, -1.0, float("nan")])
def test_a_bad_rate_raises(live: LiveRegistration, bad: float) -> None:
    with pytest.raises(graphreg.InputError, match="rate: expected a positive number"):
        live.set_rate(bad)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (RunSettings("magic"), "method: expected one of"),
        (RunSettings("graphreg-paper", beta=1.5), "beta: expected a number between 0 and 1, got 1.5"),
        (RunSettings("icp", beta=0.9), "beta: no setting of icp"),
        (RunSettings(seed=-1), "seed: expected a whole number from 0 on, got -1"),
    ],
)
def test_bad_settings_are_reported(live: LiveRegistration, settings: RunSettings, message: str) -> None:
    live.start(settings)
    snapshot = wait_until_done(live)
    assert snapshot.result is None
    assert snapshot.problem is not None
    assert message in snapshot.problem
    live.start(PAPER)
    assert wait_until_done(live).problem is None


def test_too_few_points_are_reported(clouds: tuple[np.ndarray, np.ndarray]) -> None:
    live = LiveRegistration(clouds[0][:5], clouds[1])
    live.start()
    assert wait_until_done(live).problem == "source: has 5 finite points, but at least 11 are needed"
    live.close()


def test_unexpected_exceptions_are_reported(live: LiveRegistration, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: object, **kwargs: object) -> None:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr(module, "run_method", broken)
    live.start(PAPER)
    assert wait_until_done(live).problem == "ZeroDivisionError: division by zero"


@pytest.mark.parametrize("steps", [0, 1, 2])
def test_after_close_nothing_runs(live: LiveRegistration, steps: int) -> None:
    for _ in range(steps):
        live.step(PAPER)
    live.close()
    assert registration_threads() == []
    last = live.snapshot
    assert last.state is (State.DONE if steps else State.IDLE)
    live.start(PAPER)
    live.step(PAPER)
    assert live.snapshot is last
    live.close()


def test_close_ends_a_run(live: LiveRegistration) -> None:
    live.set_rate(50)
    live.start(PAPER)
    live.close()
    assert registration_threads() == []
    assert live.snapshot.state is State.DONE


@pytest.mark.slow
def test_concurrent_controls(live: LiveRegistration, expected: graphreg.Result) -> None:
    """After any sequence of calls from several threads, a run still gives the right result."""

    def control(seed: int) -> None:
        chance = random.Random(seed)
        for _ in range(150):
            chance.choice([live.start, live.step, live.pause, live.stop])()
            live.set_pose(T_TARGET_SOURCE)

    threads = [threading.Thread(target=control, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    live.stop()
    wait_until(live, lambda now: now.state in (State.IDLE, State.DONE))
    assert len(registration_threads()) <= 1
    live.start(PAPER)
    assert np.array_equal(wait_until_done(live).pose, expected.transformation)


def test_methods_with_annealing_have_a_default_beta() -> None:
    rates = {method: default_beta(method) for method in graphreg.methods()}
    assert {method for method, rate in rates.items() if rate is not None} == {"graphreg-paper", "pipl"}
    assert rates["pipl"] == 0.9  # the paper's


def test_the_matrix_and_the_transformed_source_are_saved(tmp_path: Path, expected: graphreg.Result) -> None:
    shade = np.arange(40, dtype=np.int32)
    source = as_cloud(np.random.default_rng(0).normal(size=(40, 3)), attributes={"shade": shade})
    save_result(expected, source, tmp_path / "T.txt", tmp_path / "moved.ply")
    assert np.array_equal(np.loadtxt(tmp_path / "T.txt"), expected.transformation)
    moved = graphreg.read_cloud(tmp_path / "moved.ply")
    assert np.array_equal(moved.points, transform(expected.transformation, source.points))
    assert np.array_equal(moved.attributes["shade"], shade)


def test_files_that_cannot_be_written_raise(tmp_path: Path, expected: graphreg.Result) -> None:
    source = as_cloud(np.zeros((4, 3)))
    with pytest.raises(OSError, match="there is no folder"):
        save_result(expected, source, tmp_path / "nowhere" / "T.txt", tmp_path / "moved.ply")
    with pytest.raises(graphreg.FileError, match="points cannot be written to .stl files"):
        save_result(expected, source, tmp_path / "T.txt", tmp_path / "moved.stl")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["T.txt"]


def test_existing_paths_are_not_used(tmp_path: Path) -> None:
    assert unused_paths(Path("far/scan.PCD"), tmp_path) == (tmp_path / "scan_T.txt", tmp_path / "scan_moved.pcd")
    (tmp_path / "scan_moved.pcd").touch()
    assert unused_paths(Path("scan.pcd"), tmp_path) == (tmp_path / "scan-2_T.txt", tmp_path / "scan-2_moved.pcd")
    (tmp_path / "scan-2_T.txt").touch()
    assert unused_paths(Path("scan.pcd"), tmp_path)[0] == tmp_path / "scan-3_T.txt"
    # Points cannot be written as STL.
    assert unused_paths(Path("mesh.stl"), tmp_path)[1] == tmp_path / "mesh_moved.ply"


def test_a_link_that_leads_elsewhere_is_not_written_through(tmp_path: Path) -> None:
    folder = tmp_path / "scans"
    folder.mkdir()
    (folder / "source_T.txt").symlink_to(tmp_path / "elsewhere.txt")
    matrix, moved = unused_paths(Path("source.ply"), folder)
    assert (matrix, moved) == (folder / "source-2_T.txt", folder / "source-2_moved.ply")
