"""A Dask cluster of real processes: the same results as the pool, whoever is killed."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.batch_jobs import harmful, keys_in, timeless, write_table

import graphreg
from graphreg import InputError

distributed = pytest.importorskip("distributed")


SCANS = 3


def dask(workers: int) -> Any:
    return distributed.LocalCluster(
        n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=False
    )


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with dask(2) as held:
        yield held


def test_a_cluster_finds_what_the_pool_finds(
    cluster: Any, jobs: list[dict[str, Any]], alone: list[str], tmp_path: Path
) -> None:
    found = graphreg.batch(jobs, tmp_path / "results.jsonl", dask=cluster.scheduler_address)
    assert [timeless(record) for record in found] == alone
    assert (found.jobs, found.clouds) == (6, 3)
    assert graphreg.batch(jobs, tmp_path / "results.jsonl", dask=cluster.scheduler_address).before == 6


def test_poisoned_jobs_harm_no_worker_of_the_cluster(cluster: Any, jobs: list[dict[str, Any]], tmp_path: Path) -> None:
    before = {worker.pid for worker in cluster.workers.values()}
    out, address = tmp_path / "results.jsonl", cluster.scheduler_address
    found = graphreg.batch([{**jobs[0], "poison": "exit"}, *jobs[1:]], out, dask=address, retries=0, run=harmful)
    assert next(iter(found)).reason == f"its worker left with status 7, on {socket.gethostname()}"
    assert (found.set_aside, found.registered + found.not_registered) == (1, 5)
    # Its clouds are prepared by now.
    (hanging,) = graphreg.batch([{**jobs[0], "poison": "hang"}], out, dask=address, timeout=0.5, retries=1, run=harmful)
    assert (hanging.reason, hanging.attempts) == (f"took longer than 0.5 s, on {socket.gethostname()}", 2)
    assert {worker.pid for worker in cluster.workers.values()} == before


def test_workers_of_the_cluster_are_killed_and_the_batch_goes_on(
    cluster: Any, jobs: list[dict[str, Any]], alone: list[str], tmp_path: Path
) -> None:
    killed: list[int] = []

    def kill(now: Any) -> None:
        if now.done == 2 and not killed:
            killed.append(next(iter(cluster.workers.values())).pid)
            os.kill(killed[0], signal.SIGKILL)

    out = tmp_path / "results.jsonl"
    found = graphreg.batch(jobs, out, dask=cluster.scheduler_address, progress=kill)
    assert killed
    assert [timeless(record) for record in found] == alone
    assert len(keys_in(out)) == len(set(keys_in(out))) == 6


def test_the_driver_is_killed_and_another_goes_on(
    cluster: Any, jobs: list[dict[str, Any]], alone: list[str], tmp_path: Path
) -> None:
    script = """
import os, signal, sys, graphreg
def die(now):
    if now.done == 2:
        os.kill(os.getpid(), signal.SIGKILL)
graphreg.batch(sys.argv[1], sys.argv[2], dask=sys.argv[3], progress=die)
"""
    table, out = write_table(tmp_path, jobs), tmp_path / "results.jsonl"
    died = subprocess.run([sys.executable, "-c", script, str(table), str(out), cluster.scheduler_address], timeout=120)
    assert died.returncode == -signal.SIGKILL
    assert len(keys_in(out)) == 2
    found = graphreg.batch(table, out, dask=cluster.scheduler_address)
    assert found.before == 2
    assert [timeless(record) for record in found] == alone
    assert len(keys_in(out)) == 6


def test_a_scheduler_that_is_not_there_is_told(
    jobs: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("graphreg.batches.executors.LONGEST_ANSWER", 0.5)
    with pytest.raises(InputError, match="dask: no scheduler answers at tcp://127.0.0.1:9"):
        graphreg.batch(jobs, tmp_path / "results.jsonl", dask="tcp://127.0.0.1:9")
    for address in ("nonsense://x:1", "host", "host:8786", "tcp://host", "tcp://:8786", "tcp://host:port"):
        with pytest.raises(InputError, match=f"dask: expected an address such as tcp://host:8786, got '{address}'"):
            graphreg.batch(jobs, tmp_path / "results.jsonl", dask=address)


def test_another_server_at_the_address_is_told(
    jobs: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as Dask's own dashboard, which waits for us to speak first."""
    monkeypatch.setattr("graphreg.batches.executors.LONGEST_ANSWER", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(InputError, match="does not speak as a Dask scheduler does"):
            graphreg.batch(jobs, tmp_path / "results.jsonl", dask=address)


def test_a_cluster_without_workers_waits_for_some_and_says_so(
    jobs: list[dict[str, Any]], alone: list[str], tmp_path: Path, caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr("graphreg.batches.executors.ASKED_EVERY", 0.05)
    monkeypatch.setattr(sys.modules["graphreg.batches.batch_run"], "LOOKED_EVERY", 0.05)

    def told() -> list[str]:
        return [record.getMessage() for record in caplog.records if record.name.startswith("graphreg")]

    with dask(0) as cluster:
        address = cluster.scheduler_address

        def come(now: Any) -> None:
            if len(told()) == 1 and not cluster.worker_spec:
                cluster.scale(1)

        found = graphreg.batch(jobs, tmp_path / "r.jsonl", dask=address, progress=come)
    assert [timeless(record) for record in found] == alone
    assert told() == [f"graphreg: no workers at {address}; waiting for some", f"graphreg: 1 worker at {address}"]


@pytest.mark.parametrize(("version", "problem"), [("0.0.9", "has graphreg 0.0.9, and the batch"), (None, "graphreg")])
def test_a_worker_with_another_graphreg_or_none_is_told(
    jobs: list[dict[str, Any]], tmp_path: Path, version: str | None, problem: str
) -> None:
    def harm() -> None:
        import sys

        from graphreg import _version

        if version is None:
            sys.modules["graphreg"] = None  # type: ignore[assignment]
        else:
            _version.__version__ = version

    out = tmp_path / "results.jsonl"
    with dask(1) as cluster:
        with distributed.Client(cluster.scheduler_address, set_as_default=False) as client:
            client.run(harm)
        with pytest.raises(ConnectionError, match=f"a worker of .* cannot be used: .*{problem}.* goes on where it was"):
            graphreg.batch(jobs, out, dask=cluster.scheduler_address)
        assert len(cluster.scheduler.workers) == 1
    assert graphreg.batch(jobs, out, workers=1).done == len(jobs)


@pytest.mark.parametrize("how", ["SIGKILL", "SIGSTOP"])
def test_a_scheduler_that_is_lost_is_told_and_no_finished_job_is(
    jobs: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """Killed, or no longer to be heard of."""
    monkeypatch.setattr("graphreg.batches.executors.ASKED_EVERY", 0.5)
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "0", "--no-dashboard"]
    place = tmp_path / "scheduler.json"
    with subprocess.Popen(
        [*command, "--host", "127.0.0.1", "--scheduler-file", str(place)], stderr=subprocess.DEVNULL
    ) as scheduler:
        try:
            while not place.exists():
                time.sleep(0.05)
            address = json.loads(place.read_text())["address"]
            worker = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--nthreads", "1"]
            with subprocess.Popen([*worker, "--no-dashboard"], stderr=subprocess.DEVNULL) as one:
                out = tmp_path / "results.jsonl"

                def lose(now: Any) -> None:
                    if now.done == 2 and scheduler.poll() is None:
                        monkeypatch.setattr("graphreg.batches.executors.LONGEST_ANSWER", 2.0)
                        scheduler.send_signal(getattr(signal, how))

                try:
                    with pytest.raises(ConnectionError, match=f"the cluster at {address} is lost; started again"):
                        graphreg.batch(jobs, out, dask=address, progress=lose)
                finally:
                    one.kill()
        finally:
            scheduler.kill()
    assert len(keys_in(out)) >= 2
    assert graphreg.batch(jobs, out, workers=1).before >= 2


def test_without_dask_the_extra_is_named(
    jobs: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(graphreg.MissingExtraError, match="pip install 'graphreg\\[dask\\]'"):
        graphreg.batch(jobs, tmp_path / "results.jsonl", dask="tcp://127.0.0.1:9")


def test_the_only_worker_is_killed_and_the_next_one_does_what_was_meant_for_it(
    jobs: list[dict[str, Any]], alone: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("graphreg.batches.executors.ASKED_EVERY", 0.5)
    monkeypatch.setattr(sys.modules["graphreg.batches.batch_run"], "LOOKED_EVERY", 0.5)
    killed: list[int] = []
    with dask(1) as cluster:

        def kill(now: Any) -> None:
            if now.done == 2 and not killed:
                killed.append(next(iter(cluster.workers.values())).pid)
                os.kill(killed[0], signal.SIGKILL)

        found = graphreg.batch(jobs, tmp_path / "results.jsonl", dask=cluster.scheduler_address, progress=kill)
    assert killed
    assert [timeless(record) for record in found] == alone
