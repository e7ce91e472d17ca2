"""graphreg clean: the points that are no outliers, with their attributes."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tests.support.commands import CommandLine

import graphreg
from graphreg.clouds import as_cloud
from graphreg.datasets import synthetic


@pytest.fixture(scope="module")
def corrupted() -> tuple[np.ndarray, np.ndarray]:
    return synthetic.add_outliers(synthetic.scan("hare", points=3000).points, 0.3, "gaussian", 1)


@pytest.mark.slow
def test_the_inliers_are_written_with_their_attributes(
    run: CommandLine, corrupted: tuple[np.ndarray, np.ndarray]
) -> None:
    points, is_outlier = corrupted
    shade = np.arange(len(points), dtype=np.int32)
    graphreg.write("in.ply", as_cloud(points, attributes={"shade": shade}))
    done = run("clean", "in.ply", "out.pcd", "--json")
    assert done.status == 0, done.err
    kept = graphreg.inliers(points, rule="volume")
    output = json.loads(done.out)
    assert (output["points"], output["kept"], output["outliers"]) == (len(points), kept.sum(), (~kept).sum())
    cloud = graphreg.read_cloud("out.pcd")
    assert np.array_equal(cloud.points, points[kept])
    assert np.array_equal(cloud.attributes["shade"], shade[kept])
    assert is_outlier[~kept].sum() > 0.99 * is_outlier.sum()


def test_the_printed_counts(run: CommandLine, corrupted: tuple[np.ndarray, np.ndarray]) -> None:
    dirty = np.vstack([corrupted[0], [[np.nan, 0, 0]]])
    np.save("in.npy", dirty)
    done = run("clean", "in.npy", "out.xyz", "--rule", "x84", "--alpha", 8, "-k", 12)
    assert done.status == 0, done.err
    assert f"of {len(dirty):,} points" in done.out
    assert " and 1 non-finite rows" in done.out
    assert len(graphreg.read("out.xyz")) == graphreg.inliers(corrupted[0], 8.0, 12).sum()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("none.ply", "out.ply"), "graphreg: none.ply: No such file or directory\n"),
        (("broken.ply", "out.ply"), "broken.ply: "),
        (("few.xyz", "out.ply"), "needs at least 11"),
        (("good.xyz", "out.doc"), ".doc"),
        ((".", "out.ply"), "graphreg: .: is a folder, and no map of tiles"),
        (("good.xyz", "nowhere/out.ply"), "nowhere"),
        (("good.xyz", "out.ply", "--rule", "x84", "--alpha", "-1"), "alpha"),
        (("good.xyz", "out.ply", "--alpha", "8"), "--alpha: belongs to --rule x84"),
        (("good.xyz", "out.ply", "-k", "1"), "--neighbours: expected a whole number from 2 on"),
        (("good.xyz", "out.ply", "--threads", "0"), "threads"),
        (("good.xyz",), "OUT"),
        (("good.xyz", "./good.xyz"), "is the scan to be cleaned; choose another file, or pass --overwrite"),
    ],
)
def test_bad_input_is_one_line(run: CommandLine, arguments: tuple[str, ...], message: str) -> None:
    with open("broken.ply", "wb") as file:
        file.write(b"ply\nformat ascii 1.0\nelement vertex 100\n")
    np.savetxt("few.xyz", np.arange(6.0).reshape(2, 3))
    np.savetxt("good.xyz", np.random.default_rng(0).normal(size=(50, 3)))
    done = run("clean", *arguments)
    assert done.status == 2
    assert message in done.err
    assert done.err.count("\n") == 1


def test_the_input_is_overwritten_when_asked_and_many_outliers_are_worth_a_warning(run: CommandLine) -> None:
    points, _ = synthetic.add_outliers(synthetic.scan("hare", points=1000).points, 0.5, "uniform", 1)
    np.savetxt("scan.xyz", points)
    done = run("clean", "scan.xyz", "scan.xyz", "--overwrite")
    assert done.status == 0, done.err
    assert len(graphreg.read("scan.xyz")) < 0.9 * len(points)
    assert "% of the points were removed" in done.err
    again = run("clean", "scan.xyz", "out.xyz", "--rule", "x84", "--alpha", "1000")
    assert again.err == ""
