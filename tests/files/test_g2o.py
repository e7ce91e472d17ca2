"""Pose graphs in g2o files: they come back as they were, with g2o's own meaning of the information matrix."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.support.pose_rings import ring

from graphreg import FileError
from graphreg.files.g2o import read_graph, write_graph
from graphreg.multiscan.pose_graph import squared_errors


def test_a_graph_is_read_as_it_was_written(tmp_path: Path) -> None:
    graph, _ = ring(7, 5, noise=1.0)
    rng = np.random.default_rng(0)
    roots = rng.normal(size=(len(graph.pairs), 6, 6))
    graph = replace(graph, information=roots @ roots.transpose(0, 2, 1))
    write_graph(tmp_path / "graph.g2o", graph)
    back = read_graph(tmp_path / "graph.g2o")
    assert np.array_equal(back.pairs, graph.pairs)
    for name in ("poses", "transforms", "information"):
        np.testing.assert_allclose(
            getattr(back, name), getattr(graph, name), atol=1e-12 * np.abs(getattr(graph, name)).max()
        )
    np.testing.assert_allclose(squared_errors(back), squared_errors(graph), rtol=1e-6, atol=1e-9)


def test_information_is_that_of_g2o(tmp_path: Path) -> None:
    """The error of a g2o edge: a translation on the right of Z, and the vector of a quaternion, half of the angle."""
    half = np.sqrt(0.5)
    numbers = " ".join("1" if i == j else "0" for i in range(6) for j in range(i, 6))
    path = tmp_path / "graph.g2o"
    for (translation, angle), expected in (((0.3, 0.0), 0.3**2), ((0.0, 1e-3), np.sin(5e-4) ** 2)):
        sine, cosine = np.sin(angle / 2), np.cos(angle / 2)
        # The second pose is Z, a rotation by 90 degrees about z and a translation, followed in its own frame by a small
        # translation or rotation.
        quaternion = (0.0, 0.0, half * (cosine + sine), half * (cosine - sine))
        path.write_text(
            "VERTEX_SE3:QUAT 0 0 0 0 0 0 0 1\n"
            f"VERTEX_SE3:QUAT 1 5 {translation!r} 0 {' '.join(map(repr, map(float, quaternion)))}\n"
            f"EDGE_SE3:QUAT 0 1 5 0 0 0 0 {float(half)!r} {float(half)!r} {numbers}\n"
        )
        # Ours is of the angle, not of its sine, and after Z: the same to first order.
        np.testing.assert_allclose(squared_errors(read_graph(path)), expected, rtol=1e-4)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("EDGE_SE3:QUAT 0 7 0 0 0 0 0 0 1" + " 1" * 21, "line 3: expected two vertices of the file, got 0 and 7"),
        ("EDGE_SE3:QUAT 0 0 0 0 0 0 0 0 1" + " 1" * 21, "line 3: expected two vertices of the file, got 0 and 0"),
        ("EDGE_SE3:QUAT 0 1 0 0 0 0 0 0 2" + " 1" * 21, "line 3: expected a translation and a unit quaternion"),
        ("EDGE_SE3:QUAT 0 1 0 0 0 0 0 0 1" + " nan" * 21, "line 3: expected finite numbers"),
        ("EDGE_SE3:QUAT 0 1 1e308 0 0 0 0 0 1" + " 1" * 21, "line 3: expected finite numbers, of 1e\\+75 at most"),
    ],
)
def test_a_bad_edge_is_named_by_its_line(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "graph.g2o"
    path.write_text(f"VERTEX_SE3:QUAT 0 0 0 0 0 0 0 1\nVERTEX_SE3:QUAT 1 0 0 0 0 0 0 1\n{line}\n")
    with pytest.raises(FileError, match=message):
        read_graph(path)
