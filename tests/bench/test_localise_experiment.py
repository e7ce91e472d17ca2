"""The experiment on localisation: what counts as right, and false successes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from graphreg.bench import localise
from graphreg.multiscan.localisation import Localisation
from graphreg.multiscan.trajectory import FrameResult


def row(group: str, localised: bool, right: bool, searched: bool = True) -> dict[str, Any]:
    values = {"group": group, "localised": localised, "right": right, "searched": searched}
    return values | {"degrees": 0.1, "metres": 0.02, "processor seconds": 1.0}


def test_false_successes_are_counted() -> None:
    rows = [row("city", True, True), row("city", True, False), row("city", False, False, False)]
    (line,) = localise.tables(rows)[""]
    assert (line["frames"], line["localised"], line["wrong of these"], line["searched for"]) == (3, 2, 1, 2)
    assert "city: 2 of 3 localised, 1 of these wrong" in localise.summary(rows)


@pytest.mark.parametrize(("group", "right"), [(localise.CITY, True), (localise.ABSENT, False)])
def test_a_pose_in_the_map_of_another_city_is_never_right(
    group: str, right: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def perfect(self: Any, points: np.ndarray) -> FrameResult:
        return FrameResult(np.eye(4), True, 1.0, "tracked")

    monkeypatch.setattr(Localisation, "add", perfect)
    frames = iter([(np.zeros((5, 3)), np.eye(4))])
    made = Localisation.__new__(Localisation)
    monkeypatch.setattr(localise, "_city", lambda run: (made, frames))
    (found,) = localise.measure(localise.LocalisationRun(group, 0, 1, 200.0, 5), None)
    assert (found["localised"], found["right"]) == (True, right)
