"""Scans and a command line that the tests of several commands share."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.support.commands import CommandLine

import graphreg
from graphreg.clouds import Floats
from graphreg.datasets import synthetic
from graphreg.poses import inverse, pose, rotation_from_vector, transform


@pytest.fixture(scope="session")
def T_target_source() -> Floats:
    return pose(rotation_from_vector(np.radians([8.0, -12.0, 10.0])), [0.03, -0.02, 0.01])


@pytest.fixture(scope="session")
def hare() -> Floats:
    return synthetic.scan("hare", points=1000).points


@pytest.fixture
def run(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    hare: Floats,
    T_target_source: Floats,
) -> CommandLine:
    """Commands in a folder with source.ply, target.ply and the transform between them, T.txt."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GRAPHREG_DATA", raising=False)
    graphreg.write("target.ply", hare)
    graphreg.write("source.ply", transform(inverse(T_target_source), hare))
    graphreg.write_poses("T.txt", T_target_source)
    return CommandLine(monkeypatch, capsys)
