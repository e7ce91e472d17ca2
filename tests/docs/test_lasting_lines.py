"""The command lines of README, docs and --help that run until they are stopped, download, or measure for minutes.

A viewer is closed once its page is fetched. A download comes from a server on this machine. An experiment that ends in
seconds is run; a longer one is stopped after its first run. Of all experiments the jobs are listed.
"""

from __future__ import annotations

import functools
import shlex
import signal
import subprocess
import sys
import tarfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from tests.support.commands import CommandLine, invoke
from tests.support.snippets import BENCH, GET, UNWANTED, VIEW, environment, lines_in_text, lines_of_shell
from tests.support.strategies import small_scan

import graphreg
from graphreg.bench import EXPERIMENTS, runner
from graphreg.bench.results_files import Results, write_results
from graphreg.bench.run_log import RunLog
from graphreg.datasets import stanford
from graphreg.datasets.catalogue import DATASETS
from graphreg.errors import MissingExtraError
from graphreg.provenance import measured_now

VIEWED, GOT, MEASURED = ([line for line in lines_of_shell() if line.startswith(what)] for what in (VIEW, GET, BENCH))
PAGE = f"{BENCH} page"
PAGES = [line for line in MEASURED if line.startswith(PAGE)]
QUICK = [line for line in MEASURED if "--quick" in line and not line.startswith(f"{BENCH} all")]
LONG = [line for line in MEASURED if line not in (*PAGES, *QUICK)]
# Also those of sentences and tables; without a folder of real scans, of which there are none here.
EXPERIMENT_LINES = sorted(
    {
        line.replace(" --data FOLDER", "")
        for line in (*MEASURED, *lines_in_text(BENCH))
        # Some name pairs of that folder.
        if not line.startswith((PAGE, f"{BENCH} NAME")) and not ("--pairs" in line and "--data FOLDER" in line)
    }
)
# Of one method, the first run of each entry of the tables.
LESS = ["--budget", "0", "--methods", "graphreg"]


def test_there_are_lines_of_each_kind() -> None:
    assert all((VIEWED, GOT, PAGES, QUICK))
    assert len(LONG) == 3


# ------------------------------------------------------------------------------------------------------ the viewer


@pytest.mark.slow
@pytest.mark.skipif(find_spec("viser") is None, reason="viser is not installed: pip install 'graphreg[view]'")
@pytest.mark.parametrize("line", VIEWED)
def test_a_viewer_shows_a_page_until_ctrl_c(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from graphreg.reports.viewer import Viewer

    def fetch_the_page(viewer: Viewer) -> None:
        browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        with browser.open(f"http://127.0.0.1:{viewer.port}/{viewer.query}", timeout=600) as answer:
            assert b"<html" in answer.read().lower()
        raise KeyboardInterrupt

    words = shlex.split(line)[1:]
    scans = words[1:3]
    for name, points in zip(scans, (small_scan("hare")[::2], small_scan("hare")[1::2]), strict=True):
        if name.endswith(".laz"):
            pytest.importorskip("laspy")
        graphreg.write(tmp_path / name, points)
    monkeypatch.setattr(Viewer, "run", fetch_the_page)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    for name in UNWANTED:
        monkeypatch.delenv(name, raising=False)
    # Whichever port is named, another program may have it.
    done = CommandLine(monkeypatch, capsys)(*words, "--port", "0")
    assert done.status == 0, done.err + done.out
    assert "open http://127.0.0.1:" in done.out
    assert done.err == ""
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(scans)


def started(words: list[str], folder: Path) -> subprocess.Popen[str]:
    variables = environment() | {"PYTHONUNBUFFERED": "1", "no_proxy": "127.0.0.1"}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(words, cwd=folder, env=variables, text=True, **pipes)


# --------------------------------------------------------------------------------------------------------- downloads

# The command, with the archives of a data set at another address, and small.
PROGRAM = """
import hashlib, sys
from dataclasses import replace
from urllib.request import urlopen
from graphreg.cli import main
from graphreg.datasets.catalogue import DATASETS
from graphreg.errors import MissingExtraError
server, name = sys.argv.pop(1), sys.argv[3]
archives = []
for one in DATASETS[name].archives:
    url = f"{server}/{one.name}"
    with urlopen(url) as answer:
        content = answer.read()
    sha256 = hashlib.sha256(content).hexdigest()
    archives.append(replace(one, url=url, size=len(content), checksum=f"sha256:{sha256}"))
DATASETS[name] = replace(DATASETS[name], archives=tuple(archives))
main()
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """The address of a server with the bunny, of which there are two scans of few points."""
    files = tmp_path / "files"
    data = files / "bunny" / "data"
    data.mkdir(parents=True)
    for name in ("bun000", "bun045"):
        graphreg.write(data / f"{name}.ply", small_scan("hare"))
    (data / "bun.conf").write_text("bmesh bun000.ply 0 0 0 0 0 0 1\nbmesh bun045.ply 0 0 0 0 0 0 1\n")
    with tarfile.open(files / DATASETS["stanford_bunny"].archives[0].name, "w:gz") as archive:
        archive.add(files / "bunny", "bunny")

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *arguments: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(files))) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


@pytest.mark.slow
@pytest.mark.parametrize("line", GOT)
def test_what_is_downloaded_can_be_loaded(line: str, server: str, tmp_path: Path) -> None:
    words = shlex.split(line)
    assert words[:4] == ["graphreg", "data", "get", "stanford_bunny"], "the server has nothing else"
    with started([sys.executable, "-c", PROGRAM, server, *words[1:]], tmp_path) as running:
        out, err = running.communicate(timeout=600)
    assert running.returncode == 0, out + err
    folder = tmp_path / words[words.index("--folder") + 1]
    assert [len(scan.read()) for scan in stanford.scans(folder / "stanford_bunny")] == [len(small_scan("hare"))] * 2


# ------------------------------------------------------------------------------------------------------- experiments


@pytest.mark.slow
@pytest.mark.usefixtures("small_demo")
def test_quick_experiments_and_their_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GRAPHREG_DATA", raising=False)
    for line in (*QUICK, *PAGES):
        words = shlex.split(line)[1:]
        done = CommandLine(monkeypatch, capsys)(*words, *(LESS if line in QUICK else ()))
        assert done.status == 0, (line, done.err + done.out)
        page = tmp_path / words[words.index("--report") + 1]
        assert "</html>" in page.read_text(encoding="utf-8"), line


@pytest.mark.slow
@pytest.mark.usefixtures("small_demo")
@pytest.mark.parametrize("line", LONG[:2])
def test_a_long_experiment_starts_and_keeps_finished_runs(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    add = RunLog.add

    def add_and_stop(log: RunLog, job: Any, rows: Any) -> None:
        add(log, job, rows)
        raise KeyboardInterrupt

    monkeypatch.setattr(RunLog, "add", add_and_stop)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GRAPHREG_DATA", raising=False)
    done = CommandLine(monkeypatch, capsys)(*shlex.split(line)[1:])
    assert done.status == 130, done.err + done.out
    assert "interrupted; the same command without --fresh resumes it" in done.err
    assert runs_in(tmp_path / "results") == 1


# The command, with scans of a few points.
SMALL = """
from dataclasses import replace
from graphreg.cli import main
from graphreg.datasets.scan_setups import SETUPS
SETUPS.update({name: replace(setup, points=1000) for name, setup in SETUPS.items()})
main()
"""


@pytest.mark.slow
def test_ctrl_c_keeps_finished_runs(tmp_path: Path) -> None:
    with started([sys.executable, "-c", SMALL, *shlex.split(LONG[2])[1:]], tmp_path) as running:
        while running.poll() is None and not runs_in(tmp_path / "results"):
            time.sleep(0.05)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=600)
    assert running.returncode == 130, out + err
    assert "interrupted; the same command without --fresh resumes it" in err
    assert "Traceback" not in err
    assert runs_in(tmp_path / "results")


def runs_in(folder: Path) -> int:
    return sum(text.count('{"job"') for path in folder.glob("*.runs.jsonl") for text in [path.read_text()])


@pytest.mark.slow
@pytest.mark.parametrize("line", EXPERIMENT_LINES)
def test_experiments_and_options_are_known_and_there_are_jobs(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = []

    def list_jobs(
        name: str, out: Path, data: Path | None, options: dict[str, Any], quick: bool, *others: Any
    ) -> list[Path]:
        module = import_module(f"graphreg.bench.{name}")
        jobs = module.jobs(data, quick=quick, **options)
        assert jobs
        listed.append(name)
        provenance = measured_now(f"graphreg bench {name}", module.PARTS)
        return [write_results(out, name, Results(module.TITLE, provenance, [], [{"jobs": len(jobs)}]))]

    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GRAPHREG_DATA", raising=False)
    monkeypatch.setattr(runner, "run_experiment", list_jobs)
    done = invoke(shlex.split(line)[1:])
    if isinstance(done.exception, MissingExtraError):
        pytest.skip(str(done.exception))
    assert done.exit_code == 0, (done.output, done.exception)
    assert listed == [name for name in EXPERIMENTS if name in listed]
    assert listed
