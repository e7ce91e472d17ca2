"""The command line as a user runs it: what it prints, what it writes, how it ends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.support.commands import Shell, run_command

import graphreg
from graphreg.clouds import as_cloud
from graphreg.datasets import synthetic


def graphreg_command(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    return run_command(*arguments, cwd=cwd)


@pytest.fixture(scope="module")
def spoilt() -> tuple[np.ndarray, np.ndarray]:
    return synthetic.add_outliers(synthetic.scan("hare", points=5000).points, 0.3, "gaussian", 1)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Shell:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GRAPHREG_DATA", raising=False)
    return Shell(monkeypatch, capsys)


def test_help_names_every_command(run: Shell) -> None:
    done = run("--help")
    assert done.status == 0
    for command in ("register", "clean", "demo", "bench", "data", "view"):
        assert command in done.out
        assert run(command, "--help").status == 0


def test_version(tmp_path: Path) -> None:
    assert graphreg_command("--version", cwd=tmp_path).stdout == f"graphreg {graphreg.__version__}\n"


def test_it_is_found_as_a_module_and_helps_by_a_letter(tmp_path: Path) -> None:
    program = [sys.executable, "-m", "graphreg", "info", "-h"]
    done = subprocess.run(program, capture_output=True, text=True, cwd=tmp_path, env={**os.environ, "COLUMNS": "200"})
    assert done.returncode == 0
    assert "graphreg info [OPTIONS]" in done.stdout
    # Paragraphs have the width of the terminal, whatever that of our files is.
    assert "guesses by size and by how the points lie about the origin" in done.stdout


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["register", "a.ply"], "Missing argument 'TARGET' (`graphreg register --help` tells more)"),
        (["unicorn"], "No such command 'unicorn' (`graphreg --help` tells more)"),
        (["data", "put"], "No such command 'put' (`graphreg data --help` tells more)"),
        (
            ["info", "a.ply", "-q", "-v"],
            "expected one of --quiet and --verbose, got both (`graphreg info --help` tells",
        ),
    ],
)
def test_words_that_it_does_not_understand_are_told_in_a_line(run: Shell, words: list[str], told: str) -> None:
    done = run(*words)
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("graphreg: ")
    assert done.err.count("\n") == 1
    assert told in done.err


@pytest.mark.skipif(os.name != "posix", reason="pipes are closed otherwise there")
@pytest.mark.parametrize("words", [["data"], ["--help"], ["data", "get", "--help"], []], ids=" ".join)
def test_output_that_nobody_reads_is_not_taken_for_a_failed_registration(tmp_path: Path, words: list[str]) -> None:
    program = [sys.executable, "-c", "from graphreg.cli import main; main()", *words]
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(program, stdout=writer, stderr=subprocess.PIPE, cwd=tmp_path)
    os.close(writer)
    assert done.returncode == 141
    assert done.stderr == b""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no device that is always full")
def test_output_that_does_not_fit_is_told(tmp_path: Path) -> None:
    program = [sys.executable, "-c", "from graphreg.cli import main; main()", "data"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(program, stdout=full, stderr=subprocess.PIPE, text=True, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == "graphreg: No space left on device\n"


def test_clean_removes_what_the_rule_removes_and_keeps_the_rest(
    tmp_path: Path, spoilt: tuple[np.ndarray, np.ndarray]
) -> None:
    points, is_outlier = spoilt
    shade = np.arange(len(points), dtype=np.int32)
    graphreg.write(tmp_path / "in.ply", as_cloud(points, attributes={"shade": shade}))
    done = graphreg_command("clean", "in.ply", "out.pcd", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    kept = graphreg.inliers(points)
    said = json.loads(done.stdout)
    assert (said["points"], said["kept"], said["outliers"]) == (len(points), kept.sum(), (~kept).sum())
    cloud = graphreg.read_cloud(tmp_path / "out.pcd")
    assert np.array_equal(cloud.points, points[kept])
    assert np.array_equal(cloud.attributes["shade"], shade[kept])
    assert is_outlier[~kept].sum() > 0.99 * is_outlier.sum()


def test_clean_tells_a_person(tmp_path: Path, spoilt: tuple[np.ndarray, np.ndarray]) -> None:
    dirty = np.vstack([spoilt[0], [[np.nan, 0, 0]]])
    np.save(tmp_path / "in.npy", dirty)
    done = graphreg_command("clean", "in.npy", "out.xyz", "--alpha", 8, "-k", 12, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert f"of {len(dirty):,} points" in done.stdout
    assert "1 that were not finite" in done.stdout
    assert len(graphreg.read(tmp_path / "out.xyz")) == graphreg.inliers(spoilt[0], 8.0, 12).sum()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("clean", "none.ply", "out.ply"), "graphreg: none.ply: No such file or directory\n"),
        (("clean", "broken.ply", "out.ply"), "broken.ply: "),
        (("clean", "few.xyz", "out.ply"), "needs at least 11"),
        (("clean", "good.xyz", "out.doc"), ".doc"),
        (("clean", ".", "out.ply"), "graphreg: .: is a folder, not a file\n"),
        (("clean", "good.xyz", "nowhere/out.ply"), "nowhere"),
        (("clean", "good.xyz", "out.ply", "--alpha", "-1"), "alpha"),
        (("clean", "good.xyz", "out.ply", "-k", "1"), "k: expected at least 2"),
        (("clean", "good.xyz", "out.ply", "--threads", "0"), "threads"),
        (("clean", "good.xyz"), "OUT"),
        (("bench", "nothing"), "name: expected one of accuracy"),
        (("bench", "x84", "nothing"), "got 'nothing'"),
        (("bench", "x84", "--data", "nowhere"), "nowhere is no folder"),
        (("bench", "x84", "--starts", "2"), "starts: no option of x84"),
        (("bench", "accuracy", "--quick", "--methods", "icq"), "methods: 'icq' is none of graphreg"),
        (("bench", "accuracy", "--budget", "-1"), "--budget"),
        (("bench", "page"), "results holds no results"),
        (("bench", "accuracy", "--data", "."), "pairs.json"),
        (("demo", "--body", "unicorn"), "unicorn"),
        (("demo", "--outliers", "-3"), "--outliers"),
        (("polish",), "polish"),
    ],
)
def test_what_the_user_did_wrong_is_told_in_a_line(
    run: Shell, tmp_path: Path, arguments: tuple[str, ...], told: str
) -> None:
    (tmp_path / "broken.ply").write_bytes(b"ply\nformat ascii 1.0\nelement vertex 100\n")
    (tmp_path / "few.xyz").write_text("1 2 3\n4 5 6\n")
    np.savetxt(tmp_path / "good.xyz", np.random.default_rng(0).normal(size=(50, 3)))
    done = run(*arguments)
    assert done.status == 2
    assert told in done.err
    assert "Traceback" not in done.err
    assert not done.err.startswith("\n")
    assert not (tmp_path / "out.ply").exists()


@pytest.mark.usefixtures("small_demo")
def test_demo_writes_scans_and_pictures(run: Shell, tmp_path: Path) -> None:
    done = run("demo", "--body", "casting")
    assert done.status == 0, done.err
    folder = tmp_path / "graphreg-demo"
    assert sorted(p.name for p in folder.iterdir()) == [
        "annealing.svg",
        "registration.png",
        "report.html",
        "source.ply",
        "source.png",
        "target.ply",
        "target.png",
    ]
    assert "\nregistered: " in done.out
    for name in ("source", "target"):
        assert (folder / f"{name}.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
        assert len(graphreg.read(folder / f"{name}.ply")) > 10_000


def test_bad_input_leaves_no_demo_folder(run: Shell, tmp_path: Path) -> None:
    run("demo", "--body", "unicorn")
    assert not list(tmp_path.iterdir())
