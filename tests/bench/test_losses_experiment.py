"""The experiment on robust losses: starts, rows, intervals and what it says of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from graphreg.bench import losses
from graphreg.metrics import rmsd
from graphreg.robust.losses import LOSSES


def job(name: str) -> losses.LossJob:
    (condition,) = (one for one in losses.CONDITIONS if one.name == name)
    return losses.LossJob("hare", 0, condition, 800)


@pytest.mark.parametrize("name", [one.name for one in losses.CONDITIONS])
def test_a_start_is_as_its_condition_says(name: str) -> None:
    start, whole = losses.start_of(job(name)), losses.start_of(job("clean"))
    condition = job(name).condition
    kept = (1 + condition.overlap) / 2
    assert len(start.clean) == pytest.approx(kept * len(whole.clean), rel=0.01)
    assert 1 - len(start.clean) / len(start.source) == pytest.approx(condition.outliers, abs=0.01)
    assert (len(start.target) > len(whole.target)) == (condition.outliers > 0 and condition.in_target)
    # The rotation is about the centroid: it adds to the shift.
    size = np.linalg.norm(np.ptp(start.clean, axis=0))
    assert rmsd(start.init, np.eye(4), start.clean) > losses.START_SHIFT * size


def test_ratios_are_of_the_same_pair_and_condition() -> None:
    rows = [
        {"pair": "hare", "seed": seed, "condition": "clean", "family": "clean", "level": 0.0, "method": method,
         "loss": loss, "error (%)": (seed + 1.0) * (0.5 if loss == "tukey" else 1.0), "registered": True}
        for seed in range(3)
        for method, of_method in losses.variants().items()
        for loss in of_method
    ]  # fmt: skip
    tables = losses.tables(rows)
    assert len(tables) == 4
    *_, ratios = tables.values()
    by_loss = {(line["method"], line["loss"]): line["all"] for line in ratios}
    assert by_loss["icp", "tukey"] == by_loss["graphreg", "tukey"] == "0.5 (0.5 to 0.5)"
    assert by_loss["icp", "huber"] == "1 (1 to 1)"
    assert losses.summary(rows)[-1].startswith("our refinement: tukey significantly better")
    same = [{**row, "error (%)": 1.0} for row in rows]
    assert "no loss is significantly better" in losses.summary(same)[-1]


@pytest.mark.slow
def test_a_job_measures_every_loss_of_every_method() -> None:
    rows = list(losses.measure(replace(job("50% outliers"), points=600), None))
    assert [row["loss"] for row in rows if row["method"] == losses.ENGINE] == [losses.OWN, *LOSSES]
    by_loss = {row["loss"]: row["registered"] for row in rows if row["method"] == losses.ICP}
    assert not by_loss["l2"]
    assert by_loss["tukey"]
    assert all(text.startswith("<?xml") for text in losses.figures(rows).values())
