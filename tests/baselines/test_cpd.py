"""The settings of CPD; its laws are in test_laws.py, its comparison with pycpd in tests/peers."""

from __future__ import annotations

from dataclasses import replace

import pytest

import graphreg
from graphreg.baselines.cpd import CpdSettings


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"outliers": 0.0}, "outliers: expected a share"),
        ({"max_iterations": 0}, "max_iterations: expected"),
        ({"tolerance": -1}, "tolerance: expected a number from 0"),
    ],
)
def test_settings_out_of_range(settings: dict[str, object], message: str) -> None:
    with pytest.raises(graphreg.InputError, match=f"^{message}"):
        replace(CpdSettings(), **settings)
