"""graphreg register: the verdict, the exit status and the output files."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from tests.support.commands import CommandLine, run_command
from tests.support.png_images import decoded

import graphreg
from graphreg.clouds import as_cloud
from graphreg.datasets import synthetic
from graphreg.metrics import angular_error
from graphreg.poses import inverse, pose, rotation_from_vector, transform

T_TARGET_SOURCE = pose(rotation_from_vector(np.radians([8.0, -12.0, 10.0])), [0.03, -0.02, 0.01])


def register_command(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    return run_command("register", *arguments, cwd=cwd)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("scans")
    body = synthetic.scan("hare", points=1500).points
    shade = np.arange(len(body), dtype=np.int32)
    graphreg.write(path / "target.ply", body)
    graphreg.write(
        path / "source.ply", as_cloud(transform(inverse(T_TARGET_SOURCE), body), attributes={"shade": shade})
    )
    graphreg.write(path / "other.ply", synthetic.scan("casting", points=500).points)
    return path


@pytest.mark.slow
def test_transform_and_aligned_scan_are_written(folder: Path) -> None:
    done = register_command("source.ply", "target.ply", "-o", "T.txt", "--save-aligned", "moved.ply", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("registered: ")
    found = np.loadtxt(folder / "T.txt")
    assert angular_error(found, T_TARGET_SOURCE) < 1
    moved = graphreg.read_cloud(folder / "moved.ply")
    assert np.array_equal(moved.points, transform(found, graphreg.read(folder / "source.ply")))
    assert np.array_equal(moved.attributes["shade"], np.arange(len(moved)))


@pytest.mark.slow
def test_json_is_the_whole_result(folder: Path) -> None:
    clouds = [graphreg.read(folder / name) for name in ("source.ply", "target.ply")]
    done = register_command("source.ply", "target.ply", "--json", "--voxel", 0.002, "--dof", "rz,x y,z", cwd=folder)
    result = graphreg.Result.from_json(done.stdout)
    same = graphreg.register(*clouds, voxel=0.002, dof=("rz", "x", "y", "z"))
    assert np.array_equal(result.transformation, same.transformation)
    assert (result.settings["voxel"], result.settings["dof"]) == (0.002, ["rz", "x", "y", "z"])
    published = ("--method", "graphreg-paper", "--json", "--seed", 3, "--iterations", 60)
    done = register_command("source.ply", "target.ply", *published, cwd=folder)
    result = graphreg.Result.from_json(done.stdout)
    same = graphreg.register(*clouds, method="graphreg-paper", seed=3, max_iterations=60)
    assert np.array_equal(result.transformation, same.transformation)
    assert len(result.history) == 60


@pytest.mark.slow
@pytest.mark.usefixtures("small_pictures")
def test_report_and_picture_are_written(folder: Path) -> None:
    done = register_command(
        "source.ply", "target.ply", "--report", "report.html", "--png", "before_after.png", "--json", cwd=folder
    )
    assert done.returncode == 0, done.stderr
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "<title>source.ply → target.ply" in page
    assert graphreg.Result.from_json(done.stdout).reason.partition(": ")[2] in page
    image = decoded((folder / "before_after.png").read_bytes())
    assert image.shape == (600, 1600, 3)
    assert np.ptp(image.astype(int), axis=2).max() > 100


@pytest.mark.slow
@pytest.mark.usefixtures("small_pictures")
def test_a_failed_registration_is_exit_status_1_and_has_a_report(folder: Path) -> None:
    done = register_command("other.ply", "target.ply", "--report", "failed.html", "-o", "failed.txt", cwd=folder)
    assert done.returncode == 1
    assert "failed.txt: the best pose that was found, which is not to be relied on" in done.stderr
    assert done.stdout.startswith("not registered: ")
    assert "Not registered" in (folder / "failed.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_init_and_method(folder: Path) -> None:
    np.savetxt(folder / "init.txt", T_TARGET_SOURCE)
    for method in ("graphreg", "pipl"):
        done = register_command(
            "source.ply", "target.ply", "--init", "init.txt", "--method", method, "--json", cwd=folder
        )
        assert done.returncode == 0, done.stderr
        result = graphreg.Result.from_json(done.stdout)
        assert result.method == method
        assert angular_error(result.transformation, T_TARGET_SOURCE) < 1


@pytest.mark.slow
def test_degenerate_directions_are_printed(folder: Path) -> None:
    """The rotation of a sphere about any axis is not observable."""
    directions = np.random.default_rng(0).normal(size=(5000, 3))
    sphere = directions / np.linalg.norm(directions, axis=1, keepdims=True)
    graphreg.write(folder / "ball.ply", sphere)
    graphreg.write(folder / "moved_ball.ply", transform(T_TARGET_SOURCE, sphere))
    done = register_command("ball.ply", "moved_ball.ply", cwd=folder)
    assert done.returncode == 1
    assert "(confidence 0." in done.stdout
    assert "\ndegenerate directions: " in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("source.ply",), "TARGET"),
        (("nothing.ply", "target.ply"), "nothing.ply: No such file"),
        (("source.ply", "target.ply", "--method", "magic"), "expected one of"),
        (("source.ply", "target.ply", "--init", "source.ply"), "source.ply: expected a first row of 4 numbers"),
        (("source.ply", "target.ply", "--iterations", "60"), "--iterations: no setting of graphreg"),
        (("source.ply", "target.ply", "--iterations", "0", "--method", "pipl"), "--iterations: expected"),
        (("source.ply", "target.ply", "--dof", "up"), "dof: expected some of"),
        (("source.ply", "target.ply", "--voxel", "0"), "voxel: expected a positive number"),
        (
            ("source.ply", "target.ply", "--report", "nowhere/report.html"),
            "nowhere/report.html: there is no folder nowhere to write it to",
        ),
        (
            ("source.ply", "target.ply", "--png", "nowhere/a.png"),
            "nowhere/a.png: there is no folder nowhere to write it to",
        ),
    ],
)
def test_bad_input_is_exit_status_2(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    message: str,
) -> None:
    monkeypatch.chdir(folder)
    done = CommandLine(monkeypatch, capsys)("register", *arguments)
    assert done.status == 2
    assert message in done.err
    assert "Traceback" not in done.err


def test_a_method_with_its_own_settings(folder: Path) -> None:
    done = register_command(
        "source.ply", "target.ply", "--method", "tricp", "--set", "overlap=0.9", "--set", "max_iterations=30", "--json",
        cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    result = graphreg.Result.from_json(done.stdout)
    assert result.method == "tricp"
    assert (result.settings["overlap"], result.settings["max_iterations"]) == (0.9, 30)
    assert len(result.history) <= 30


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("overlap", "--set: expected name=value"),
        ("speed=1", "speed: no setting"),
        ("overlap=most", "overlap: expected"),
    ],
)
def test_bad_settings_are_exit_status_2(folder: Path, setting: str, message: str) -> None:
    done = register_command("source.ply", "target.ply", "--method", "tricp", "--set", setting, cwd=folder)
    assert done.returncode == 2
    assert message in done.stderr


@pytest.mark.slow
@pytest.mark.usefixtures("small_pictures")
def test_a_similarity_is_estimated_written_and_applied(folder: Path) -> None:
    points = graphreg.read(folder / "source.ply")
    graphreg.write(folder / "photos.ply", points / 4)
    done = register_command(
        "photos.ply", "target.ply", "--scale", "any", "-o", "S.txt", "--report", "scale.html", cwd=folder
    )
    assert done.returncode == 0, done.stderr
    (found,) = re.findall(r"^scale: (\S+) ± ", done.stdout, re.MULTILINE)
    assert float(found) == pytest.approx(4, rel=1e-3)
    assert "Scale uncertainty" in (folder / "scale.html").read_text(encoding="utf-8")
    assert run_command("apply", "S.txt", "photos.ply", "moved.ply", cwd=folder).returncode == 0
    target = graphreg.read(folder / "target.ply")
    assert np.abs(graphreg.read(folder / "moved.ply") - target).max() < 0.01 * np.ptp(target)
    assert run_command("apply", "S.txt", "moved.ply", "back.ply", "--inverse", cwd=folder).returncode == 0
    np.testing.assert_allclose(graphreg.read(folder / "back.ply"), points / 4, atol=1e-9)
    again = register_command("photos.ply", "target.ply", "--scale", "2,8", "--init", "S.txt", "--quiet", cwd=folder)
    assert again.returncode == 0, again.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--scale", "some"), "--scale: expected any"),
        (("--scale", "2,1"), "scale: expected any, or the smallest"),
        (("--scale", "any", "--method", "fgr"), "scale: no setting of fgr"),
        (("--scale", "any", "-o", "T.tum"), "tum files have no scale"),
    ],
)
def test_scales_that_cannot_be_used_are_exit_status_2(folder: Path, arguments: tuple[str, ...], message: str) -> None:
    done = register_command("source.ply", "target.ply", *arguments, cwd=folder)
    assert done.returncode == 2
    assert message in done.stderr


@pytest.mark.slow
def test_the_viewpoints_of_the_files_are_an_initial_pose(run: CommandLine) -> None:
    from tests.files.test_viewpoints import write_pcd

    pair = synthetic.pair("casting", 20.0, points=3000)
    write_pcd(Path("a.pcd"), pair.T_target_source, pair.source)
    write_pcd(Path("b.pcd"), np.eye(4), pair.target)
    done = run("register", "a.pcd", "b.pcd", "--init", "viewpoint", "--json")
    assert done.status == 0, done.err
    found = json.loads(done.out)
    assert np.allclose(found["transformation"], pair.T_target_source, atol=0.01)
    assert found["hypotheses"] == 1
    assert "viewpoint   scanner at" in run("info", "a.pcd").out
    np.savetxt("c.xyz", pair.target)
    refused = run("register", "a.pcd", "c.xyz", "--init", "viewpoint")
    assert refused.status == 2
    assert "c.xyz holds no pose" in refused.err


@pytest.mark.slow
def test_console_and_result_show_the_same_residuals(run: CommandLine) -> None:
    pair = synthetic.pair("casting", 20.0, points=3000)
    result = graphreg.register(pair.source, pair.target)
    quantiles = np.array(result.residual_quantiles)
    assert len(quantiles) == 21
    assert (np.diff(quantiles) >= 0).all()
    assert 0 < result.residual_median <= result.residual_95 <= quantiles[-1] <= result.overlap_distance
    assert quantiles[0] <= result.inlier_rmse <= quantiles[-1]
    np.save("a.npy", pair.source)
    np.save("b.npy", pair.target)
    printed = run("register", "a.npy", "b.npy").out
    assert (
        f"residuals of the overlap (within {result.overlap_distance:.3g}): median {result.residual_median:.3g}, RMS "
        f"{result.inlier_rmse:.3g}, 95 % below {result.residual_95:.3g}"
    ) in printed
