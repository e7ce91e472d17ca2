"""graphreg info, apply and convert; and what all commands share: --quiet, --verbose, --json, outputs, Ctrl-C."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.commands import Shell
from tests.support.png_images import decoded

import graphreg
from graphreg.bench.results_files import read_results
from graphreg.clouds import Floats, as_cloud
from graphreg.datasets import synthetic
from graphreg.poses import inverse, pose, rotation_from_vector, transform

TURNED = pose(rotation_from_vector(np.radians([8.0, -12.0, 10.0])), [0.03, -0.02, 0.01])
COMMANDS = ("register", "info", "clean", "apply", "convert", "demo", "bench", "data")


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, dragon: Floats) -> Shell:
    monkeypatch.chdir(tmp_path)
    graphreg.write("target.ply", dragon)
    graphreg.write("source.ply", transform(inverse(TURNED), dragon))
    graphreg.write_poses("T.txt", TURNED)
    return Shell(monkeypatch, capsys)


@pytest.fixture(scope="module")
def dragon() -> Floats:
    return synthetic.scan("dragon", points=4000).points


def files() -> set[str]:
    return {path.name for path in Path().iterdir()}


# ---------------------------------------------------------------------------------------------------------- info


def test_info_counts_what_is_there(run: Shell) -> None:
    points = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 2], [1, 0, 0], [-0.0, 0, 0], [np.nan, 0, 0]])
    np.savez("a.npz", points=points, shade=np.arange(7, dtype=np.uint8), colour=np.zeros((7, 3), np.float32))
    done = run("info", "a.npz", "--json")
    assert done.status == 0, done.err
    said = json.loads(done.out)
    assert (said["points"], said["not_finite"], said["duplicates"]) == (6, 1, 2)
    assert (said["low"], said["high"], said["size"]) == ([0, 0, 0], [1, 1, 2], [1, 1, 2])
    assert said["attributes"]["shade"] == {"type": "uint8", "components": 1, "low": 0, "high": 5}
    assert said["attributes"]["colour"]["components"] == 3


def test_spacing_is_that_of_a_grid(run: Shell) -> None:
    grid = np.stack(np.meshgrid(*[np.arange(12.0)] * 3), axis=-1).reshape(-1, 3) * 0.25
    np.save("a.npy", np.vstack([grid, grid[:100]]))
    said = json.loads(run("info", "a.npy", "--json").out)
    assert said["spacing"] == 0.25
    assert said["duplicates"] == 100


@pytest.mark.parametrize(
    ("name", "scale", "kind", "unit"),
    [
        ("hare", 1.0, "object", "metres"),
        ("casting", 1000.0, "object", "millimetres"),
        ("facade", 1.0, "terrestrial", "metres"),
        ("room", 1.0, "room", "metres"),
        ("street", 1.0, "vehicle lidar", "metres"),
    ],
)
def test_the_guess(run: Shell, name: str, scale: float, kind: str, unit: str) -> None:
    np.save("a.npy", scale * synthetic.scan(name, points=20_000, variant=3).points)
    done = run("info", "a.npy")
    assert f"a guess     {kind}, in {unit}: " in done.out


def test_info_draws_a_preview(run: Shell) -> None:
    assert run("info", "source.ply", "--png", "preview.png").status == 0
    image = decoded(Path("preview.png").read_bytes())
    assert image.shape == (750, 1000, 3)
    assert np.ptp(image.astype(int), axis=2).max() > 100


@pytest.mark.parametrize("points", [[[1.0, 2, 3]], [[1.0, 2, 3]] * 40, np.eye(3) * 1e140, np.eye(3) * 1e-140])
def test_odd_clouds_can_be_inspected(run: Shell, points: Any) -> None:
    np.save("a.npy", np.asarray(points))
    said = json.loads(run("info", "a.npy", "--json").out)
    assert said["points"] == len(points)
    assert said["spacing"] >= 0


# --------------------------------------------------------------------------------------------- apply and convert


def test_apply_moves_and_keeps(run: Shell, dragon: Floats) -> None:
    """There and back again, with a colour; and the motion in each format."""
    shade = np.arange(len(dragon), dtype=np.int32)
    graphreg.write("in.ply", as_cloud(dragon, attributes={"shade": shade}))
    for name in ("T.txt", "T.npy", "T.kitti", "T.tum", "T.g2o"):
        graphreg.write_poses(name, TURNED)
        assert run("apply", name, "in.ply", "out.pcd").status == 0
        moved = graphreg.read_cloud("out.pcd")
        np.testing.assert_allclose(moved.points, transform(TURNED, dragon), rtol=0, atol=1e-14)
        assert np.array_equal(moved.attributes["shade"], shade)
        assert run("apply", name, "out.pcd", "back.ply", "--inverse").status == 0
        np.testing.assert_allclose(graphreg.read("back.ply"), dragon, rtol=0, atol=1e-14)


@pytest.mark.parametrize("names", [("nx", "ny", "nz"), ("normal_x", "normal_y", "normal_z")])
def test_normals_turn_with_the_cloud(run: Shell, dragon: Floats, names: tuple[str, ...]) -> None:
    normals = graphreg.normals(dragon, viewpoint=[0, 0, 5]).astype(np.float32)
    graphreg.write("in.ply", as_cloud(dragon, attributes=dict(zip(names, normals.T, strict=True))))
    assert run("apply", "T.txt", "in.ply", "out.ply").status == 0
    moved = graphreg.read_cloud("out.ply")
    turned = np.stack([moved.attributes[name] for name in names], axis=1)
    assert turned.dtype == np.float32
    np.testing.assert_allclose(turned, normals @ TURNED[:3, :3].T, rtol=0, atol=1e-6)


@pytest.mark.parametrize("suffix", [".ply", ".pcd", ".npz", ".csv", ".las", ".laz"])
def test_convert_keeps_attributes(run: Shell, dragon: Floats, suffix: str) -> None:
    intensity = np.arange(len(dragon), dtype=np.uint16)
    graphreg.write("in.ply", as_cloud(dragon, attributes={"intensity": intensity}))
    done = run("convert", "in.ply", f"out{suffix}", "--json")
    assert json.loads(done.out)["kept"] == ["intensity"]
    assert done.err == ""
    back = graphreg.read_cloud(f"out{suffix}")
    np.testing.assert_allclose(back.points, dragon, rtol=0, atol=1e-9)
    assert np.array_equal(back.attributes["intensity"], intensity)


@pytest.mark.parametrize("suffix", [".xyz", ".npy", ".obj", ".off", ".e57", ".bin"])
def test_convert_tells_what_is_lost(run: Shell, dragon: Floats, suffix: str) -> None:
    dirty = np.vstack([dragon, [[np.inf, 0, 0]]])
    np.savez("in.npz", points=dirty, intensity=np.arange(len(dirty)), name=np.full(len(dirty), "a"))
    done = run("convert", "in.npz", f"out{suffix}")
    assert done.status == 0
    assert f"out{suffix}: {suffix} files cannot hold all attributes; left out: intensity, name\n" in done.err
    assert ("single precision" in done.err) == (suffix == ".bin")
    assert ", without 1 rows that were not finite; attributes: none" in done.out
    np.testing.assert_allclose(graphreg.read(f"out{suffix}"), dragon, rtol=0, atol=1e-7 if suffix == ".bin" else 0)


def test_what_a_format_cannot_hold_is_returned(tmp_path: Path) -> None:
    held = {"far": np.array([2**60, 1]), "word": np.array(["a", "b"]), "near": np.array([1, 2]), "two": np.eye(2)}
    cloud = as_cloud(np.eye(3)[:2], attributes=held)
    assert graphreg.write(tmp_path / "a.ply", cloud) == ("far", "word")
    assert graphreg.write(tmp_path / "a.pcd", cloud) == ("word",)
    assert graphreg.write(tmp_path / "a.npz", cloud) == ()
    assert graphreg.write(tmp_path / "a.xyz", cloud) == ("far", "word", "near", "two")
    assert graphreg.write(tmp_path / "a.ply", np.eye(3)) == ()


# ------------------------------------------------------------------------------------------------- what all share


@pytest.mark.parametrize(
    "arguments",
    [
        ("register", "source.ply", "target.ply", "-o", "T2.txt"),
        ("info", "source.ply"),
        ("clean", "source.ply", "out.xyz"),
        ("apply", "T.txt", "source.ply", "out.xyz"),
        ("convert", "source.ply", "out.xyz"),
        ("data",),
        ("data", "get", "uwa"),
    ],
)
def test_quiet_says_nothing_and_verbose_more(run: Shell, arguments: tuple[str, ...]) -> None:
    usual, quiet, verbose = run(*arguments), run(*arguments, "--quiet"), run(*arguments, "--verbose")
    assert usual.status == quiet.status == verbose.status
    assert (quiet.out, quiet.err) == ("", "")
    assert usual.out
    if arguments[0] != "data":
        assert len(verbose.err) > len(usual.err)
        assert " s\n" in verbose.err
    assert run(*arguments, "--quiet", "--verbose").status == 2
    loud = run(*arguments, "--quiet", "--json")
    json.loads(loud.out)
    assert loud.err == ""


def test_errors_are_told_to_the_quiet_too(run: Shell) -> None:
    assert run("info", "none.ply", "--quiet").err == "graphreg: none.ply: No such file or directory\n"


@pytest.mark.parametrize("suffix", [".txt", ".npy", ".kitti", ".tum", ".g2o"])
def test_register_writes_and_takes_poses_of_any_kind(run: Shell, suffix: str) -> None:
    done = run("register", "source.ply", "target.ply", "-o", f"found{suffix}", "--json")
    found = graphreg.Result.from_json(done.out).transformation
    np.testing.assert_allclose(graphreg.read_poses(f"found{suffix}"), found[None], rtol=0, atol=1e-14)
    again = run("register", "source.ply", "target.ply", "--init", f"found{suffix}", "--json")
    refined = graphreg.Result.from_json(again.out)
    assert refined.success
    np.testing.assert_allclose(refined.transformation, TURNED, rtol=0, atol=1e-3)


OUTPUTS = {"-o": ".txt", "--save-aligned": ".ply", "--report": ".html", "--png": ".png"}


@pytest.mark.parametrize("option", OUTPUTS)
@pytest.mark.parametrize(
    ("place", "told"),
    [
        ("nowhere/a{}", "nowhere/a{}: there is no folder nowhere to write it to"),
        ("a.doc", "a.doc: "),
        ("folder{}", "folder{}: is a folder, not a file"),
    ],
)
def test_outputs_are_checked_before_anything_is_read(run: Shell, option: str, place: str, told: str) -> None:
    Path(f"folder{OUTPUTS[option]}").mkdir()
    before = files()
    done = run("register", "none.ply", "none.ply", option, place.format(OUTPUTS[option]))
    assert done.status == 2
    assert done.err.startswith("graphreg: " + told.format(OUTPUTS[option]))
    assert done.err.count("\n") == 1
    assert files() == before


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("register", "none.ply", "none.ply", "-o", "a.txt", "--save-aligned", "a.txt"), "a.txt: is named twice"),
        (("register", "none.ply", "none.ply", "--png", "a.jpg"), "a.jpg: expected a name that ends in .png"),
        (("register", "source.ply", "target.ply", "--init", "two.txt"), "two.txt: has 2 poses, expected one"),
        (("info", "none.ply", "--png", "nowhere/a.png"), "nowhere/a.png: there is no folder nowhere"),
        (("clean", "none.ply", "a.stl"), "a.stl: .stl files can be read, but not written"),
        (("convert", "none.ply", "a"), "a: it has no suffix"),
        (("apply", "T.txt", "none.ply", "a.doc"), "a.doc: its suffix '.doc' is not known"),
        (("apply", "none.txt", "source.ply", "a.ply"), "none.txt: No such file or directory"),
        (("apply", "source.ply", "source.ply", "a.ply"), "source.ply: its first row should be 4 numbers"),
        (("demo", "--out", "T.txt"), "T.txt: is a file, expected a folder"),
        (("demo", "--out", "T.txt/below"), "T.txt/below: cannot be made a folder"),
        (("bench", "x84", "--out", "T.txt"), "T.txt: is a file, expected a folder"),
    ],
)
def test_what_cannot_be_done_is_told_in_a_line(run: Shell, arguments: tuple[str, ...], told: str) -> None:
    graphreg.write_poses("two.txt", [TURNED, TURNED])
    before = files()
    done = run(*arguments)
    assert done.status == 2
    assert done.err.startswith(f"graphreg: {told}")
    assert done.err.count("\n") == 1
    assert files() == before


def test_a_missing_extra_is_told_before_anything_is_read(run: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "laspy", None)
    done = run("convert", "none.ply", "a.laz")
    assert done.status == 2
    assert "writing LAS and LAZ files needs an extra that is not installed: pip install 'graphreg[las]'" in done.err


@pytest.mark.parametrize(
    "arguments",
    [
        ("register", "source.ply", "target.ply", "-o", "old.txt"),
        ("register", "source.ply", "target.ply", "--save-aligned", "old.txt"),
        ("apply", "T.txt", "source.ply", "old.txt"),
        ("convert", "source.ply", "old.txt"),
        ("clean", "source.ply", "old.txt"),
    ],
)
def test_an_interruption_leaves_the_old_file_and_no_other(
    run: Shell, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    """Ctrl-C at the worst moment: the new file is written, but not yet in its place."""

    def interrupt(*given: Any) -> None:
        raise KeyboardInterrupt

    Path("old.txt").write_text("as it was")
    before = files()
    monkeypatch.setattr(os, "fsync", interrupt)
    assert run(*arguments).status == 130
    assert files() == before
    assert Path("old.txt").read_text() == "as it was"


def test_every_help_has_an_example(run: Shell) -> None:
    assert "Examples:" in run("--help").out
    for command in COMMANDS:
        said = run(command, "--help")
        assert said.status == 0
        assert f"graphreg {command}" in said.out.split("Example", 1)[1]


def test_help_loads_nothing_that_it_does_not_need() -> None:
    script = "import graphreg.cli, sys; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert not {"scipy", "laspy", "pye57", "graphreg.inspection"} & set(loaded)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("graphreg reg", ["register"]),
        ("graphreg register --method icp-", ["icp-kp", "icp-kn"]),
        ("graphreg demo --body h", ["hare", "hand"]),
        ("graphreg data get k", ["kitti_odometry"]),
    ],
)
def test_the_shell_completes(words: str, expected: list[str]) -> None:
    environment = {"_GRAPHREG_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    program = [sys.executable, "-c", "from graphreg.cli import main; main()"]
    done = subprocess.run(program, capture_output=True, text=True, env={**os.environ, **environment}, timeout=600)
    assert done.stdout.split() == expected


def test_completion_can_be_shown(run: Shell) -> None:
    assert "--install-completion" in run("--help").out


@pytest.mark.usefixtures("small_demo")
def test_demo_as_json(run: Shell) -> None:
    done = run("demo", "--body", "hand", "--out", "made", "--json")
    assert done.status == 0, done.err
    said = json.loads(done.out)
    assert said["runs"]["graphreg"]["success"]
    assert said["runs"]["graphreg"]["degrees_after"] < 1 < said["runs"]["graphreg"]["degrees_before"]
    assert set(said["scans"]) == {"source", "target"}
    assert (Path(said["folder"]) / "report.html").is_file()


@pytest.fixture
def small_x84(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graphreg.bench.x84.QUICK", ("hare",))
    monkeypatch.setattr("graphreg.bench.x84.QUICK_POINTS", 2000)
    monkeypatch.setattr("graphreg.bench.x84.RATIOS", (0.1, 0.5))
    monkeypatch.setattr("graphreg.bench.pairs.QUICK_POINTS", {"object": 1500})


@pytest.mark.usefixtures("small_x84")
def test_bench_as_json(run: Shell) -> None:
    done = run("bench", "x84", "--quick", "--out", "results", "--json", "--quiet")
    assert done.status == 0, done.err
    assert done.err == ""
    written = read_results(Path("results/x84.json"))
    assert written.rows
    assert json.loads(done.out) == {"x84": written.to_dict()}


@pytest.mark.usefixtures("small_x84")
def test_bench_writes_a_report_of_what_it_measures_or_of_all_that_is_there(run: Shell) -> None:
    assert run("bench", "x84", "--quick", "--out", "results", "--report", "x84.html").status == 0
    page = Path("x84.html").read_text(encoding="utf-8")
    assert json.loads(Path("results/x84.json").read_text())["title"] in page
    assert run("bench", "page", "--out", "results", "--report", "all.html").status == 0
    assert Path("all.html").is_file()


@pytest.mark.parametrize(
    ("name", "told"), [("page.pdf", "ends in .html or .htm"), ("nowhere/page.html", "there is no folder nowhere")]
)
def test_bench_looks_at_its_report_before_it_begins(run: Shell, name: str, told: str) -> None:
    done = run("bench", "x84", "--out", "results", "--report", name)
    assert done.status == 2
    assert told in done.err
    assert not Path("results").exists()
