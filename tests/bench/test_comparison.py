"""The comparison: what a run tells, what fails and how it counts, and what the tables say of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from graphreg.bench import comparison, peers
from graphreg.bench.comparison import Column, Run
from graphreg.bench.pairs import SPOILINGS, pair_of
from graphreg.errors import InputError, MissingExtraError
from graphreg.metrics import angular_error
from graphreg.poses import transform
from graphreg.registration import methods, register

PAIR, POINTS = "made_casting_30", 1500


def peer(run: Callable[..., Any]) -> peers.Peer:
    return peers.Peer(("numpy",), run, "a stand-in")


@pytest.fixture
def stand_ins(monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(*_: Any) -> Any:
        raise RuntimeError("no features")

    truth = pair_of(PAIR, None, POINTS).truth
    for name, run in {
        "knows": lambda *_: truth,
        "stays": lambda *_: np.eye(4),
        "breaks": breaks,
        "nowhere": lambda *_: np.full((4, 4), np.nan),
    }.items():
        monkeypatch.setitem(peers.PEERS, name, peer(run))


def row_of(run: Run) -> dict[str, Any]:
    (row,) = comparison.measure(run, None)
    return row


@pytest.mark.usefixtures("stand_ins")
def test_a_run_tells_how_far_off_the_truth_it_ended() -> None:
    right = row_of(Run(PAIR, "knows", points=POINTS))
    assert right["right"]
    assert right["degrees"] == pytest.approx(0, abs=1e-9)
    assert right["rmsd"] == pytest.approx(0, abs=1e-12)
    pair = pair_of(PAIR, None, POINTS)
    stays = row_of(Run(PAIR, "stays", points=POINTS))
    assert not stays["right"]
    assert stays["degrees"] == pytest.approx(angular_error(np.eye(4), pair.truth))


@pytest.mark.usefixtures("stand_ins")
@pytest.mark.parametrize(
    ("name", "told"),
    [("breaks", "RuntimeError: no features"), ("nowhere", "ArithmeticError: the pose is not finite")],
)
def test_what_ends_in_an_error_has_failed_and_left_the_source_where_it_was(name: str, told: str) -> None:
    row = row_of(Run(PAIR, name, points=POINTS))
    assert (row["right"], row["problem"]) == (False, told)
    assert row["degrees"] == row_of(Run(PAIR, "stays", points=POINTS))["degrees"]
    assert any(told in line for line in comparison.remarks([row]))


def test_our_methods_tell_their_stages_and_the_registration_alone_is_a_part_of_the_call() -> None:
    for name in ("graphreg", "icp"):
        row = row_of(Run(PAIR, name, points=POINTS))
        assert 0 < row["register s"] < row["stages"]["total"] <= row["seconds"]


@pytest.mark.usefixtures("stand_ins")
def test_no_method_is_told_where_the_source_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    pair = pair_of(PAIR, None, POINTS)
    seen = []

    def watches(source: Any, target: Any, *_: Any) -> Any:
        seen.append(source)
        return np.eye(4)

    monkeypatch.setitem(peers.PEERS, "watches", peer(watches))
    for start, turned in ((0, (0.0, 0.0, 0.0)), (1, (0.0, 0.0, 0.0)), (0, (0.0, 90.0, 0.0))):
        row = row_of(Run(PAIR, "watches", points=POINTS, start=start, turned=turned))
        # It stayed, so the motion from the pose as scanned is the start itself.
        off = row["degrees"]
    assert np.array_equal(seen[0], pair.source)
    assert not np.allclose(seen[1], pair.source)
    assert np.allclose(seen[2].mean(axis=0), pair.source.mean(axis=0))
    start = comparison.turned_about_centroid(pair.source, (0.0, 90.0, 0.0))
    assert np.allclose(seen[2], transform(start, pair.source))
    assert off == pytest.approx(angular_error(start, pair.truth))


def test_turns_follow_each_other_about_fixed_axes() -> None:
    motion = comparison.turned_about_centroid(np.zeros((1, 3)), (90.0, 0.0, 90.0))
    # About x, y goes to z and stays there; about z, x goes to y.
    assert transform(motion, np.eye(3)) == pytest.approx(np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]]), abs=1e-12)


def test_rivals_get_the_voxel_of_the_clean_scans(monkeypatch: pytest.MonkeyPatch) -> None:
    given = {}

    def watched(source: Any, target: Any, *, method: str, **settings: Any) -> Any:
        given[method] = settings.get("voxel")
        return register(source, target)

    monkeypatch.setattr(comparison, "register", watched)
    pair = pair_of(PAIR, None, POINTS)
    longest = max(np.ptp(cloud, axis=0).max() for cloud in (pair.source, pair.target))
    for name in ("graphreg", "graphreg-paper", "pipl", "icp", "cpd"):
        row_of(Run(PAIR, name, spoiling=SPOILINGS[0], points=POINTS))
    assert given == {
        "graphreg": None,
        "graphreg-paper": None,
        "pipl": None,
        "icp": pytest.approx(longest / 200),
        "cpd": pytest.approx(longest / 100),
    }
    row_of(Run(PAIR, "icp", points=POINTS, settings=(("voxel", 0.125),)))
    assert given["icp"] == 0.125


def test_runs_of_the_same_seed_are_the_same_and_others_are_not() -> None:
    def degrees(seed: int) -> float:
        return float(row_of(Run(PAIR, "icp", seed, SPOILINGS[1], POINTS))["degrees"])

    assert degrees(0) == degrees(0) != degrees(1)


def test_methods_are_all_or_those_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "PEERS", {})
    monkeypatch.setattr(comparison, "PEERS", {"there": peer(lambda: 0), "gone": peers.Peer(("no_such",), print, "")})
    assert comparison.methods_of(None, False) == list(methods())
    assert comparison.methods_of(None, True) == [*methods(), "there"]
    assert comparison.methods_of("icp,there,icp", False) == ["icp", "there"]
    with pytest.raises(MissingExtraError, match=r"the method gone needs an extra .* pip install 'graphreg\[peers\]'"):
        comparison.methods_of("gone", True)
    with pytest.raises(InputError, match="methods: 'icq' is none of graphreg, graphreg-paper"):
        comparison.methods_of("icp,icq", False)


def rows(degrees: dict[str, list[float | None]], known_to: float = 0.0) -> list[dict[str, Any]]:
    found = []
    for name, values in degrees.items():
        for seed, value in enumerate(values):
            run = Run("a", name, seed)
            if value is None:
                found.append(comparison.left_out(run, "not run: time is spent"))
            else:
                extra = {"kind": "object", "right": value < 2, "degrees": value, "rmsd": value, "seconds": 2 * value,
                         "rmsd of tolerance": value, "register s": None if name == "peer" else value,
                         "truth known to": known_to, "problem": ""}  # fmt: skip
                found.append({**comparison.left_out(run, ""), **extra})
    return found


def test_tables_hold_medians_and_the_papers_figures_beside_them() -> None:
    some = rows({"graphreg": [1.0, 2.0, 6.0], "icp": [4.0, None, None], "peer": [3.0]})
    column = Column(lambda row: True, "Dragon", {"degrees": {"icp": 0.5}, "register s": {}})
    errors, register_s, whole, details = comparison.tables_of(some, {"a": column}).values()
    assert errors == [
        {"method": "graphreg", "a": 2.0, "paper: Dragon": None},
        {"method": "icp", "a": 4.0, "paper: Dragon": 0.5},
        {"method": "peer", "a": 3.0, "paper: Dragon": None},
    ]
    assert [line["a"] for line in register_s] == [2.0, 4.0, None]
    assert [line["a"] for line in whole] == [4.0, 8.0, 6.0]
    first, second, _ = details
    assert (first["right"], first["mean degrees"], first["10 %"], first["90 %"]) == ("1 of 3", 3.0, 1.2, 5.2)
    assert (second["right"], second["not run"]) == ("0 of 1", 2)
    assert any("all methods but these: all; icp 1 of 3" in line for line in comparison.remarks(some))


@pytest.mark.parametrize(
    ("ours", "theirs", "known_to", "told"),
    [
        (0.1, 0.2, 0.0, "graphreg is first in accuracy on: a"),
        (0.2, 0.1, 0.0, "graphreg is NOT first in accuracy on: a (0.2 beside 0.1 of icp)"),
        (0.2, 0.1, 0.15, "graphreg is not first, but the ground truth cannot tell, on: a (0.2 beside 0.1 of icp; "
                         "the truth is known to about 0.15)"),
        (1e-9, 1e-12, 0.0, "graphreg is first in accuracy on: a"),
    ],
)  # fmt: skip
def test_it_is_told_in_plain_words_where_ours_is_not_first(
    ours: float, theirs: float, known_to: float, told: str
) -> None:
    some = rows({"graphreg": [ours], "icp": [theirs], "cpd": [5.0]}, known_to)
    assert comparison.standing(some, {"a": Column(lambda row: True)}) == [told]


def test_nothing_is_said_of_first_places_where_ours_was_not_run_or_runs_alone() -> None:
    column = {"a": Column(lambda row: True)}
    assert comparison.standing(rows({"icp": [1.0], "cpd": [2.0]}), column) == []
    assert comparison.standing(rows({"graphreg": [1.0]}), column) == []
    assert comparison.standing(rows({"graphreg": [None], "icp": [1.0]}), column) == []


def test_every_method_has_a_place_in_the_charts() -> None:
    assert {comparison.OURS}.union(*comparison.FAMILIES.values()) == {*methods(), *peers.PEERS}
