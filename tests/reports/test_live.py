"""A registration that is watched: what start, pause, step, stop and a hand do to it, and what is told."""

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
from graphreg.reports.live import Choice, Live, Moment, State, cool_down_rate, free_names, save

MOTION = pose(rotation_from_vector([0.05, -0.1, 0.1]), [0.01, 0.0, 0.01])
# Takes a hundred steps, always.
PAPER = Choice("graphreg-paper")
STEPS = 100
# Nothing should take so long, on a machine however busy; only a test that fails waits for it.
LONG = 600.0
# Steps a second, so few that a run lasts long enough to be held whatever else the machine does.
SLOW = 10.0
# Long enough to see that nothing happens, where nothing should.
SHORT = 0.15


@pytest.fixture(scope="module")
def clouds() -> tuple[np.ndarray, np.ndarray]:
    body = small_scan("hare")
    return transform(inverse(MOTION), body[1::2]), body[::2]


@pytest.fixture(scope="module")
def expected(clouds: tuple[np.ndarray, np.ndarray]) -> graphreg.Result:
    return graphreg.register(*clouds, method="graphreg-paper", threads=2)


@pytest.fixture
def live(clouds: tuple[np.ndarray, np.ndarray]) -> Iterator[Live]:
    one = Live(*clouds, threads=2)
    one.pace(1e6)
    yield one
    one.close()
    assert alive() == []


def alive() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "registration"]


def until(live: Live, holds: Callable[[Moment], bool]) -> Moment:
    """The first moment seen of which it holds."""
    deadline = time.monotonic() + LONG
    moment = live.moment
    while not holds(moment):
        assert time.monotonic() < deadline, moment
        moment = live.wait_past(moment, 1.0)
    return moment


def done(live: Live) -> Moment:
    return until(live, lambda moment: moment.state is State.DONE)


def paused(live: Live, steps: int) -> Moment:
    """Paused after so many steps, and nothing more happens."""
    moment = until(live, lambda now: now.state is State.PAUSED and len(now.steps) == steps)
    assert live.wait_past(moment, SHORT) is moment
    return moment


def test_at_first_nothing_runs(live: Live) -> None:
    moment = live.moment
    assert (moment.state, moment.steps, moment.result, moment.problem) == (State.IDLE, (), None, None)
    assert np.array_equal(moment.pose, np.eye(4))
    live.pause()
    live.stop()
    assert live.wait_past(moment, SHORT) is moment


def test_started_it_ends_with_what_register_finds(live: Live, expected: graphreg.Result) -> None:
    live.start(PAPER)
    moment = done(live)
    assert moment.problem is None
    assert moment.result is not None
    assert np.array_equal(moment.result.transformation, expected.transformation)
    assert np.array_equal(moment.pose, expected.transformation)
    assert (moment.result.reason, moment.result.confidence) == (expected.reason, expected.confidence)
    assert [now.energy for now in moment.steps] == [now.energy for now in expected.history]
    assert not moment.stopping


def test_it_is_seen_while_it_runs(live: Live, expected: graphreg.Result) -> None:
    live.pace(200)
    live.start(PAPER)
    moment = until(live, lambda now: len(now.steps) >= 5)
    assert moment.state is State.RUNNING
    assert np.array_equal(moment.pose, moment.steps[-1].transformation)
    assert np.array_equal(moment.pose, expected.history[len(moment.steps) - 1].transformation)


def test_each_step_is_one_step(live: Live, expected: graphreg.Result) -> None:
    for number in (1, 2, 3):
        live.step(PAPER)
        moment = paused(live, number)
        assert np.array_equal(moment.pose, expected.history[number - 1].transformation)
    live.start(PAPER)
    assert np.array_equal(done(live).pose, expected.transformation)


def test_steps_asked_for_at_once_are_all_taken(live: Live) -> None:
    for _ in range(4):
        live.step(PAPER)
    paused(live, 4)


def test_stepping_to_the_end_ends_it(live: Live, expected: graphreg.Result) -> None:
    for _ in range(STEPS):
        live.step(PAPER)
    assert paused(live, STEPS).result is None
    live.step(PAPER)
    assert np.array_equal(done(live).pose, expected.transformation)


def test_pause_holds_it_and_start_goes_on(live: Live, expected: graphreg.Result) -> None:
    live.pace(SLOW)
    live.start(PAPER)
    until(live, lambda now: len(now.steps) >= 3)
    live.pause()
    at_once = live.moment
    live.wait_past(at_once, 2 / SLOW)
    held = live.moment
    assert at_once.state is held.state is State.PAUSED
    # The step that was being taken may still come.
    assert len(held.steps) <= len(at_once.steps) + 1 < STEPS
    live.pace(1e6)
    live.start(Choice("icp"))  # what was chosen before the pause stays
    moment = done(live)
    assert moment.result is not None
    assert moment.result.method == "graphreg-paper"
    assert np.array_equal(moment.pose, expected.transformation)


def test_a_step_while_it_runs_pauses_it(live: Live) -> None:
    live.pace(SLOW)
    live.start(PAPER)
    until(live, lambda now: len(now.steps) >= 2)
    live.step()
    moment = until(live, lambda now: now.state is State.PAUSED)
    assert live.wait_past(moment, SHORT) is moment
    assert len(moment.steps) < STEPS


@pytest.mark.parametrize("held", [True, False])
def test_stopped_it_tells_of_where_it_stood(live: Live, held: bool) -> None:
    if held:
        for _ in range(3):
            live.step(PAPER)
        paused(live, 3)
    else:
        live.pace(SLOW)
        live.start(PAPER)
        until(live, lambda now: len(now.steps) >= 3)
    live.stop()
    assert live.moment.stopping
    moment = done(live)
    assert moment.result is not None
    assert 3 <= len(moment.steps) < STEPS
    assert len(moment.result.history) == len(moment.steps)
    assert np.array_equal(moment.result.transformation, moment.steps[-1].transformation)


def test_once_told_to_stop_it_does(clouds: tuple[np.ndarray, np.ndarray], monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither start nor step nor pause keep it from stopping, however long the step takes."""
    go_on = threading.Event()
    usual = module.register

    def slow(*args: object, **kwargs: object) -> graphreg.Result:
        assert go_on.wait(LONG)
        return usual(*args, **kwargs)

    monkeypatch.setattr(module, "register", slow)
    live = Live(*clouds, threads=2)
    live.start(PAPER)
    live.stop()
    stopping = live.moment
    live.start(PAPER)
    live.step(PAPER)
    live.pause()
    assert live.moment is stopping
    go_on.set()
    assert len(done(live).steps) == 1
    live.close()


def test_waiting_between_steps_can_be_cut_short(live: Live) -> None:
    live.pace(1e-6)
    live.start(PAPER)
    until(live, lambda now: len(now.steps) == 1)
    live.stop()
    assert len(done(live).steps) == 1


def test_it_can_be_run_again_and_again(live: Live, expected: graphreg.Result) -> None:
    live.start(PAPER)
    first = done(live)
    live.start(Choice("icp-kp"))
    second = done(live)
    assert second.result is not None
    assert second.result.method == "icp-kp"
    assert second.steps[0].number == 1
    assert np.array_equal(second.began, first.pose)
    live.step(PAPER)
    assert paused(live, 1).result is None
    live.stop()
    done(live)
    live.start(PAPER)
    again = done(live)
    assert not again.stopping
    assert np.array_equal(again.pose, expected.transformation)


def test_seed_beta_and_start_are_passed_on(live: Live, clouds: tuple[np.ndarray, np.ndarray]) -> None:
    live.place(MOTION)
    here = live.moment.pose
    live.start(Choice("graphreg-paper", seed=5, beta=0.8, from_here=True))
    same = graphreg.register(*clouds, method="graphreg-paper", init=here, seed=5, beta=0.8, threads=2)
    assert np.array_equal(done(live).pose, same.transformation)
    # With init our own engine only refines.
    live.place(MOTION)
    live.start(Choice(from_here=True))
    refined = done(live).result
    assert refined is not None
    assert refined.hypotheses == 1
    live.place(MOTION)
    live.start(Choice())
    searched = done(live).result
    assert searched is not None
    assert searched.hypotheses > 1


def test_a_hand_moves_the_source_only_while_nothing_runs(live: Live) -> None:
    live.place(MOTION)
    moment = live.moment
    assert moment.by_hand
    assert np.allclose(moment.pose, MOTION, atol=1e-15)
    live.step(PAPER)
    held = paused(live, 1)
    assert not held.by_hand
    live.place(np.eye(4))
    assert live.moment is held
    live.stop()
    assert done(live).result is not None
    live.place(np.eye(4))
    moment = live.moment
    # The verdict was on another pose.
    assert (moment.state, moment.result, moment.steps) == (State.IDLE, None, ())
    assert np.allclose(moment.began, MOTION, atol=1e-15)


@pytest.mark.parametrize("bad", [np.eye(3), np.zeros((4, 4)), np.full((4, 4), np.nan), "here", None])
def test_what_is_no_pose_is_refused(live: Live, bad: object) -> None:
    moment = live.moment
    with pytest.raises(graphreg.InputError, match="pose: expected"):
        live.place(bad)
    assert live.moment is moment


@pytest.mark.parametrize("bad", [0, -1.0, float("nan")])
def test_what_is_no_pace_is_refused(live: Live, bad: float) -> None:
    with pytest.raises(graphreg.InputError, match="steps_a_second: expected a positive number"):
        live.pace(bad)


@pytest.mark.parametrize(
    ("choice", "told"),
    [
        (Choice("magic"), "method: expected one of"),
        (Choice("graphreg-paper", beta=1.5), "beta: expected a number between 0 and 1, got 1.5"),
        (Choice("icp", beta=0.9), "beta: no setting of icp"),
        (Choice(seed=-1), "seed: expected a whole number from 0 on, got -1"),
    ],
)
def test_what_cannot_be_run_is_told(live: Live, choice: Choice, told: str) -> None:
    live.start(choice)
    moment = done(live)
    assert moment.result is None
    assert moment.problem is not None
    assert told in moment.problem
    live.start(PAPER)
    assert done(live).problem is None


def test_too_few_points_are_told(clouds: tuple[np.ndarray, np.ndarray]) -> None:
    live = Live(clouds[0][:5], clouds[1])
    live.start()
    assert done(live).problem == "source: has 5 finite points, but at least 11 are needed"
    live.close()


def test_what_nobody_foresaw_is_told_too(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: object, **kwargs: object) -> None:
        raise ZeroDivisionError("of one by nothing")

    monkeypatch.setattr(module, "register", broken)
    live.start(PAPER)
    assert done(live).problem == "ZeroDivisionError: of one by nothing"


@pytest.mark.parametrize("steps", [0, 1, 2])
def test_closed_it_is_over(live: Live, steps: int) -> None:
    for _ in range(steps):
        live.step(PAPER)
    live.close()
    assert alive() == []
    last = live.moment
    assert last.state is (State.DONE if steps else State.IDLE)
    live.start(PAPER)
    live.step(PAPER)
    assert live.moment is last
    live.close()


def test_closed_while_it_runs_freely(live: Live) -> None:
    live.pace(50)
    live.start(PAPER)
    live.close()
    assert alive() == []
    assert live.moment.state is State.DONE


def test_many_hands_at_once(live: Live, expected: graphreg.Result) -> None:
    """Whatever is pressed, by however many, it still does what it is told afterwards."""

    def press(seed: int) -> None:
        chance = random.Random(seed)
        for _ in range(150):
            chance.choice([live.start, live.step, live.pause, live.stop])()
            live.place(MOTION)

    hands = [threading.Thread(target=press, args=(seed,)) for seed in range(4)]
    for hand in hands:
        hand.start()
    for hand in hands:
        hand.join()
    live.stop()
    until(live, lambda now: now.state in (State.IDLE, State.DONE))
    assert len(alive()) <= 1
    live.start(PAPER)
    assert np.array_equal(done(live).pose, expected.transformation)


def test_only_annealing_cools_down() -> None:
    rates = {method: cool_down_rate(method) for method in graphreg.methods()}
    assert {method for method, rate in rates.items() if rate is not None} == {"graphreg-paper", "pipl"}
    assert rates["pipl"] == 0.9  # the paper's


def test_matrix_and_moved_source_are_saved(tmp_path: Path, expected: graphreg.Result) -> None:
    shade = np.arange(40, dtype=np.int32)
    source = as_cloud(np.random.default_rng(0).normal(size=(40, 3)), attributes={"shade": shade})
    save(expected, source, tmp_path / "T.txt", tmp_path / "moved.ply")
    assert np.array_equal(np.loadtxt(tmp_path / "T.txt"), expected.transformation)
    moved = graphreg.read_cloud(tmp_path / "moved.ply")
    assert np.array_equal(moved.points, transform(expected.transformation, source.points))
    assert np.array_equal(moved.attributes["shade"], shade)


def test_what_cannot_be_written_leaves_the_old_file(tmp_path: Path, expected: graphreg.Result) -> None:
    source = as_cloud(np.zeros((4, 3)))
    with pytest.raises(OSError, match="there is no folder"):
        save(expected, source, tmp_path / "nowhere" / "T.txt", tmp_path / "moved.ply")
    with pytest.raises(graphreg.FileError, match=".stl files can be read, but not written"):
        save(expected, source, tmp_path / "T.txt", tmp_path / "moved.stl")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["T.txt"]


def test_names_that_are_taken_are_not_taken_again(tmp_path: Path) -> None:
    assert free_names(Path("far/scan.PCD"), tmp_path) == (tmp_path / "scan_T.txt", tmp_path / "scan_moved.pcd")
    (tmp_path / "scan_moved.pcd").touch()
    assert free_names(Path("scan.pcd"), tmp_path) == (tmp_path / "scan-2_T.txt", tmp_path / "scan-2_moved.pcd")
    (tmp_path / "scan-2_T.txt").touch()
    assert free_names(Path("scan.pcd"), tmp_path)[0] == tmp_path / "scan-3_T.txt"
    # Corners of a mesh are read from it, but not written to it.
    assert free_names(Path("mesh.stl"), tmp_path)[1] == tmp_path / "mesh_moved.ply"
