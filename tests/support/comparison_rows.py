"""Rows of the comparison for tests."""

from __future__ import annotations

from typing import Any

from graphreg.bench.comparison_runs import REGISTRATION_TIME, ROTATION_ERROR, Run, left_out


def rows(errors: dict[str, list[float | None]], accuracy: float = 0.0) -> list[dict[str, Any]]:
    """Rows of runs with these rotation errors, by method; None: left out."""
    found = []
    for name, values in errors.items():
        for seed, value in enumerate(values):
            missing = left_out(Run("a", name, seed), "" if value is not None else "not run: time is spent")
            measured = {
                "kind": "object",
                "correct": (value or 0) < 2,
                ROTATION_ERROR: value,
                "rmsd": value,
                "rmsd / tolerance": value,
                "seconds": 2 * (value or 0),
                REGISTRATION_TIME: None if name == "peer" else value,
                "truth accuracy (deg)": accuracy,
            }
            found.append(missing if value is None else {**missing, **measured})
    return found
