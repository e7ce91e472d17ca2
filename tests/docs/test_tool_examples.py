"""Examples for other tools: the script for CloudCompare with a stand-in for its plug-in, the node where ROS 2 is."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import MagicMock

import numpy as np
import pytest
from tests.support.strategies import small_pair, small_scan

import graphreg
from graphreg.datasets import synthetic
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


@pytest.mark.slow
@pytest.mark.parametrize("field", ["time", None])
def test_the_ros_node_publishes_poses_of_deskewed_frames(monkeypatch: pytest.MonkeyPatch, field: str | None) -> None:
    """With stand-ins for ROS: what it is asked for is recorded."""
    published, read = [], []

    class Node:
        def __init__(self, name: str) -> None:
            assert name == "graphreg_odometry"

        def declare_parameter(self, _: str, value: str) -> SimpleNamespace:
            return SimpleNamespace(value=value)

        def create_publisher(self, *_: object) -> SimpleNamespace:
            return SimpleNamespace(publish=published.append)

        def create_subscription(self, *_: object) -> None:
            pass

    def read_points(message: SimpleNamespace, names: list[str], skip_nans: bool) -> np.ndarray:
        assert skip_nans
        read.append(names)
        return np.rec.fromarrays([message.columns[name] for name in names], names=names)

    for name in ("rclpy", "geometry_msgs.msg", "nav_msgs.msg", "rclpy.node", "rclpy.qos", "sensor_msgs.msg",
                 "sensor_msgs_py.point_cloud2", "tf2_ros", "geometry_msgs", "nav_msgs", "sensor_msgs",
                 "sensor_msgs_py"):  # fmt: skip
        monkeypatch.setitem(sys.modules, name, MagicMock())
    monkeypatch.setattr(sys.modules["rclpy.node"], "Node", Node)
    monkeypatch.setattr(sys.modules["sensor_msgs_py.point_cloud2"], "read_points", read_points)
    node = runpy.run_path(str(ROOT / "examples/ros2/odometry_node.py"))["OdometryNode"]()
    for scan in synthetic.sequence("street", 2, 1.0, points=6000, distorted=True):
        columns = {**dict(zip("xyz", scan.points.T, strict=True)), "time": scan.times}
        fields = [SimpleNamespace(name=name) for name in ("x", "y", "z", *([field] if field else []))]
        node.receive(SimpleNamespace(columns=columns, fields=fields, header=MagicMock()))
    assert read == 2 * [["x", "y", "z", *([field] if field else [])]]
    assert len(published) == 2
    assert abs(published[1].pose.pose.position.x - 1) < 0.1


def test_the_conda_recipe_has_the_version_and_what_is_required() -> None:
    recipe = (ROOT / "packaging/conda/meta.yaml").read_text(encoding="utf-8")
    assert f'version = "{graphreg.__version__}"' in recipe
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    for needed in eval(project.split("\ndependencies = ")[1].split("\n")[0]):
        assert f"- {needed.replace('>=', ' >=')}\n" in recipe
