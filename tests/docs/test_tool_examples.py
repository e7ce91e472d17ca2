"""Examples for other tools: the script for CloudCompare with a stand-in for its plug-in, the node where ROS 2 is."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from tests.support.strategies import small_pair, small_scan

import graphreg
from graphreg.metrics import angular_error
from graphreg.poses import fit_rigid_transform

ROOT = Path(__file__).parents[2]


class PointCloud:
    """As much of the plug-in's cloud as the script uses; it is in single precision."""

    def __init__(self, points: np.ndarray) -> None:
        self._points = points.astype(np.float32)

    def points(self) -> np.ndarray:
        return self._points


def run_in_cloudcompare(monkeypatch: pytest.MonkeyPatch, *selected: PointCloud) -> None:
    window = SimpleNamespace(getSelectedEntities=lambda: list(selected), updateUI=lambda: None, redrawAll=lambda: None)
    plug_in = SimpleNamespace(GetInstance=lambda: window, ccPointCloud=PointCloud)
    monkeypatch.setitem(sys.modules, "pycc", plug_in)
    runpy.run_path(str(ROOT / "examples/cloudcompare/align_selected.py"), run_name="__main__")


def test_the_first_selected_cloud_is_moved_in_cloudcompare(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pair = small_pair("hare")
    source, target = PointCloud(pair.source), PointCloud(pair.target)
    run_in_cloudcompare(monkeypatch, source, target)
    assert "confidence" in capsys.readouterr().out
    moved = fit_rigid_transform(pair.source, source.points().astype(float))
    assert angular_error(moved, pair.T_target_source) < 0.5
    assert np.array_equal(target.points(), pair.target.astype(np.float32))


def test_other_selections_are_refused_in_cloudcompare(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cloud = PointCloud(small_scan("hare"))
    run_in_cloudcompare(monkeypatch, cloud)
    assert "select two clouds" in capsys.readouterr().out
    assert np.array_equal(cloud.points(), small_scan("hare").astype(np.float32))


def test_the_ros_node_is_imported_where_ros_is() -> None:
    pytest.importorskip("rclpy")
    held = runpy.run_path(str(ROOT / "examples/ros2/odometry_node.py"))
    assert callable(held["OdometryNode"].receive)


def test_the_conda_recipe_has_the_version_and_what_is_required() -> None:
    recipe = (ROOT / "packaging/conda/meta.yaml").read_text(encoding="utf-8")
    assert f'version = "{graphreg.__version__}"' in recipe
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    for needed in eval(project.split("\ndependencies = ")[1].split("\n")[0]):
        assert f"- {needed.replace('>=', ' >=')}\n" in recipe
