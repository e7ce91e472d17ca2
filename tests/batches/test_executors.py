"""A Dask cluster of real processes: the same results as the process pool, whichever process is killed."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from tests.support.batch_jobs import keys_in, without_times
from tests.support.faulty_register import faulty_register

import graphreg
from graphreg import InputError

pytestmark = pytest.mark.skipif(find_spec("distributed") is None, reason="Dask is not installed: graphreg[dask]")

SCANS = 3


@pytest.fixture(scope="module")
def empty_cluster() -> Iterator[Any]:
    """Without workers, which start slowly: what a test needs, it adds, and the next one finds it."""
    import distributed

    with distributed.LocalCluster(
        n_workers=0, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=False
    ) as running:
        yield running


def with_workers(cluster: Any, count: int) -> Any:
    cluster.scale(count)
    deadline = time.monotonic() + 60
    while len(cluster.scheduler.workers) != count:
        assert time.monotonic() < deadline, f"{len(cluster.scheduler.workers)} workers, not {count}"
        time.sleep(0.02)
    return cluster


@pytest.fixture
def cluster(empty_cluster: Any) -> Any:
    return with_workers(empty_cluster, 2)


@pytest.mark.slow
def test_a_cluster_without_workers_is_waited_for_with_a_warning(
    empty_cluster: Any, jobs: list[dict[str, Any]], expected: list[str], tmp_path: Path,
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr("graphreg.batches.executors.QUERY_INTERVAL", 0.05)
    monkeypatch.setattr(sys.modules["graphreg.batches.batch_run"], "POLL_INTERVAL", 0.05)
    cluster = with_workers(empty_cluster, 0)
    address = cluster.scheduler_address

    def messages() -> list[str]:
        return [record.getMessage() for record in caplog.records if record.name.startswith("graphreg")]

    def add_worker(now: Any) -> None:
        if len(messages()) == 1 and not cluster.worker_spec:
            cluster.scale(1)

    found = graphreg.batch(jobs, tmp_path / "r.jsonl", dask=address, progress=add_worker)
    assert [without_times(record) for record in found] == expected
    assert messages() == [f"graphreg: no workers at {address}; waiting for some", f"graphreg: 1 worker at {address}"]


@pytest.mark.slow
def test_tasks_of_the_only_worker_are_done_by_the_next_one_when_it_is_killed(
    empty_cluster: Any, jobs: list[dict[str, Any]], expected: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("graphreg.batches.executors.QUERY_INTERVAL", 0.5)
    monkeypatch.setattr(sys.modules["graphreg.batches.batch_run"], "POLL_INTERVAL", 0.5)
    cluster = with_workers(empty_cluster, 1)
    killed: list[int] = []

    def kill(now: Any) -> None:
        if now.done == 2 and not killed:
            killed.append(next(iter(cluster.workers.values())).pid)
            os.kill(killed[0], signal.SIGKILL)

    out = tmp_path / "results.jsonl"
    found = graphreg.batch(jobs, out, dask=cluster.scheduler_address, progress=kill)
    assert killed
    assert [without_times(record) for record in found] == expected
    assert len(keys_in(out)) == len(set(keys_in(out))) == 6


@pytest.mark.slow
def test_a_cluster_gives_the_results_of_the_process_pool(
    cluster: Any, jobs: list[dict[str, Any]], expected: list[str], tmp_path: Path
) -> None:
    found = graphreg.batch(jobs, tmp_path / "results.jsonl", dask=cluster.scheduler_address)
    assert [without_times(record) for record in found] == expected
    assert (found.jobs, found.clouds) == (6, 3)
    assert graphreg.batch(jobs, tmp_path / "results.jsonl", dask=cluster.scheduler_address).before == 6


@pytest.mark.slow
def test_jobs_that_crash_do_not_kill_dask_workers(cluster: Any, jobs: list[dict[str, Any]], tmp_path: Path) -> None:
    before = {worker.pid for worker in cluster.workers.values()}
    out, address = tmp_path / "results.jsonl", cluster.scheduler_address
    found = graphreg.batch([{**jobs[0], "fault": "exit"}, *jobs[1:]], out, dask=address, retries=0, run=faulty_register)
    assert next(iter(found)).reason == f"its worker exited with status 7, on {socket.gethostname()}"
    assert (found.set_aside, found.registered + found.not_registered) == (1, 5)
    # Its clouds are cached by now.
    (hanging,) = graphreg.batch(
        [{**jobs[0], "fault": "hang"}], out, dask=address, timeout=0.5, retries=1, run=faulty_register
    )
    assert (hanging.reason, hanging.attempts) == (f"took longer than 0.5 s, on {socket.gethostname()}", 2)
    assert {worker.pid for worker in cluster.workers.values()} == before


def test_a_missing_scheduler_is_reported(
    jobs: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("graphreg.batches.executors.ANSWER_TIMEOUT", 0.5)
    with pytest.raises(InputError, match="dask: no scheduler answers at tcp://127.0.0.1:9"):
        graphreg.batch(jobs, tmp_path / "results.jsonl", dask="tcp://127.0.0.1:9")
    for address in ("nonsense://x:1", "host", "host:8786", "tcp://host", "tcp://:8786", "tcp://host:port"):
        with pytest.raises(InputError, match=f"dask: expected an address such as tcp://host:8786, got '{address}'"):
            graphreg.batch(jobs, tmp_path / "results.jsonl", dask=address)


def test_a_server_of_another_kind_is_reported(
    jobs: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as the dashboard of Dask, which waits for the client to send first."""
    monkeypatch.setattr("graphreg.batches.executors.ANSWER_TIMEOUT", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(InputError, match="is no Dask scheduler"):
            graphreg.batch(jobs, tmp_path / "results.jsonl", dask=address)


@pytest.mark.slow
def test_a_lost_scheduler_is_reported_and_no_result_is_lost(
    jobs: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped so that it does not answer, and killed."""
    monkeypatch.setattr("graphreg.batches.executors.QUERY_INTERVAL", 0.5)
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "0", "--no-dashboard"]
    address_file, out = tmp_path / "scheduler.json", tmp_path / "results.jsonl"
    with subprocess.Popen(
        [*command, "--host", "127.0.0.1", "--scheduler-file", str(address_file)], stderr=subprocess.DEVNULL
    ) as scheduler:
        try:
            while not address_file.exists():
                time.sleep(0.05)
            address = json.loads(address_file.read_text())["address"]
            worker = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--nthreads", "1"]
            with subprocess.Popen([*worker, "--no-dashboard", "--no-nanny"], stderr=subprocess.DEVNULL) as one:
                try:
                    for how, results in ((signal.SIGSTOP, 2), (signal.SIGKILL, 4)):

                        def lose(now: Any, how: signal.Signals = how, results: int = results) -> None:
                            if now.done == results and scheduler.poll() is None:
                                monkeypatch.setattr("graphreg.batches.executors.ANSWER_TIMEOUT", 2.0)
                                scheduler.send_signal(how)

                        with pytest.raises(
                            ConnectionError, match=f"the cluster at {address} is lost; start the same batch again"
                        ):
                            graphreg.batch(jobs, out, dask=address, progress=lose)
                        assert len(keys_in(out)) >= results
                        monkeypatch.setattr("graphreg.batches.executors.ANSWER_TIMEOUT", 30.0)
                        scheduler.send_signal(signal.SIGCONT)
                finally:
                    one.kill()
        finally:
            scheduler.kill()
    assert graphreg.batch(jobs, out, workers=1).before >= 4


def test_a_missing_extra_is_reported(
    jobs: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(graphreg.MissingExtraError, match="pip install 'graphreg\\[dask\\]'"):
        graphreg.batch(jobs, tmp_path / "results.jsonl", dask="tcp://127.0.0.1:9")


@pytest.mark.slow
def test_a_worker_with_another_version_of_graphreg_or_none_is_reported(
    cluster: Any, jobs: list[dict[str, Any]], tmp_path: Path
) -> None:
    import distributed

    def other_version() -> None:
        from graphreg import _version

        _version.__version__ = "0.0.9"

    def no_version() -> None:
        import sys

        for name in [name for name in sys.modules if name.startswith("graphreg.")]:
            del sys.modules[name]
        sys.modules["graphreg"] = None  # type: ignore[assignment]

    out = tmp_path / "results.jsonl"
    try:
        for break_installation, problem in (
            (other_version, "has graphreg 0.0.9, but the batch"),
            (no_version, "No module named 'graphreg"),
        ):
            with distributed.Client(cluster.scheduler_address, set_as_default=False) as client:
                client.run(break_installation)
            with pytest.raises(ConnectionError, match=f"a worker of .* cannot be used: .*{problem}.* again"):
                graphreg.batch(jobs, out, dask=cluster.scheduler_address)
            assert len(cluster.scheduler.workers) == 2
    finally:
        with_workers(cluster, 0)
    assert graphreg.batch(jobs, out, workers=1).done == len(jobs)
