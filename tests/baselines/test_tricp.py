"""Trimmed ICP on clouds that overlap in part."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import graphreg
from graphreg.baselines.tricp import TricpSettings, _golden_section
from graphreg.metrics import rmsd

SPACING = 0.003  # of the clouds
Pair = tuple[np.ndarray, np.ndarray, np.ndarray]


@pytest.mark.slow
def test_trimming_registers_partial_overlap_where_icp_does_not(partial_overlap: Pair) -> None:
    source, target, truth = partial_overlap
    trimmed = graphreg.register(source, target, method="tricp", voxel=0, init=np.eye(4), overlap=0.7)
    assert rmsd(trimmed.transformation, truth, source) < 1e-9 * SPACING
    searched = graphreg.register(source, target, method="tricp", voxel=0, init=np.eye(4))
    assert rmsd(searched.transformation, truth, source) < 0.1 * SPACING
    plain = graphreg.register(source, target, method="icp", voxel=0, init=np.eye(4))
    assert rmsd(plain.transformation, truth, source) > SPACING


def test_an_overlap_that_is_too_large_breaks_trimming_down(partial_overlap: Pair) -> None:
    source, target, truth = partial_overlap
    result = graphreg.register(source, target, method="tricp", voxel=0, init=np.eye(4), overlap=1.0)
    assert rmsd(result.transformation, truth, source) > SPACING


def test_golden_section_finds_the_minimum() -> None:
    evaluated: list[float] = []

    def parabola(overlap: float) -> tuple[float, np.ndarray]:
        evaluated.append(overlap)
        return (overlap - 0.7) ** 2, np.full((4, 4), overlap)

    value, estimate = _golden_section(parabola, 0.4, 1.0)
    assert value == min((overlap - 0.7) ** 2 for overlap in evaluated)
    assert abs(estimate[0, 0] - 0.7) < 0.02


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"overlap": 1.5}, "overlap: expected a share"),
        ({"overlap": "most"}, "overlap: expected a share"),
        ({"smallest_overlap": 0}, "smallest_overlap: expected a share"),
        ({"preference": -1}, "preference: expected a number from 0 on"),
    ],
)
def test_settings_out_of_range(settings: dict[str, object], message: str) -> None:
    with pytest.raises(graphreg.InputError, match=f"^{message}"):
        replace(TricpSettings(), **settings)
