"""E57 files of several scans: listed, chosen, and registered as separate scans."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.commands import CommandLine

import graphreg
from graphreg.clouds import Floats
from graphreg.poses import inverse, transform

pye57: Any = pytest.importorskip("pye57")


@pytest.fixture
def site(run: CommandLine, hare: Floats, T_target_source: Floats) -> CommandLine:
    """site.e57 with the same object twice; its own poses leave the second misaligned."""
    with pye57.E57("site.e57", "w") as file:
        for name, points in (("front", hare), ("back", transform(inverse(T_target_source), hare))):
            columns = {f"cartesian{axis}": points[:, i].copy() for i, axis in enumerate("XYZ")}
            file.write_scan_raw(columns, name=name, translation=np.zeros(3), rotation=np.array([1.0, 0, 0, 0]))
    return run


def test_scans_are_listed(site: CommandLine, hare: Floats) -> None:
    done = site("info", "site.e57")
    assert f"  scan 2      back: {len(hare):,} points, scanner at 0  0  0; applied\n" in done.out
    scans = json.loads(site("info", "site.e57", "--json").out)["scans"]
    assert [scan["name"] for scan in scans] == ["front", "back"]
    assert json.loads(site("info", "site.e57#back", "--json").out)["points"] == len(hare)


def test_two_scans_of_a_file_are_registered(site: CommandLine, T_target_source: Floats) -> None:
    done = site("register", "site.e57#back", "site.e57#1", "-o", "T.npy")
    assert done.status == 0, done.err
    np.testing.assert_allclose(graphreg.read_poses("T.npy")[0], T_target_source, rtol=0, atol=1e-3)


def test_the_identity_is_an_initial_transform(site: CommandLine) -> None:
    done = site("register", "site.e57#1", "target.ply", "--init", "identity", "-o", "T.npy")
    assert done.status == 0, done.err
    np.testing.assert_allclose(graphreg.read_poses("T.npy")[0], np.eye(4), rtol=0, atol=1e-3)


@pytest.mark.slow
def test_all_scans_of_a_file_are_registered(site: CommandLine, T_target_source: Floats) -> None:
    done = site("multiway", "site.e57", "-o", "poses")
    assert done.status == 0, done.err
    assert sorted(path.name for path in Path("poses").iterdir()) == ["site_1.txt", "site_2.txt"]
    np.testing.assert_allclose(graphreg.read_poses("poses/site_2.txt")[0], T_target_source, rtol=0, atol=1e-3)
