"""A Dask cluster of real processes: the same results as the pool, whoever is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from socket import gethostname
from typing import Any

import pytest

import graphreg
from batched import harmful, keys_in, pairs_of, timeless, write_scans
from graphreg import InputError

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("scans")


@pytest.fixture(scope="module")
def jobs(folder: Path) -> list[dict[str, Any]]:
    return pairs_of(folder, write_scans(folder, 3))


@pytest.fixture(scope="module")
def pooled(folder: Path, jobs: list[dict[str, Any]]) -> list[str]:
    return [timeless(record) for record in graphreg.batch(jobs, folder / "pool.jsonl", workers=1)]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=False
    ) as held:
        yield held


def test_a_cluster_finds_what_the_pool_finds(
    cluster: Any, jobs: list[dict[str, Any]], pooled: list[str], tmp_path: Path
) -> None:
    found = graphreg.batch(jobs, tmp_path / "results.jsonl", dask=cluster.scheduler_address)
    assert [timeless(record) for record in found] == pooled
    assert (found.jobs, found.clouds) == (6, 3)
    assert graphreg.batch(jobs, tmp_path / "results.jsonl", dask=cluster.scheduler_address).before == 6


def test_poisoned_jobs_harm_no_worker_of_the_cluster(cluster: Any, jobs: list[dict[str, Any]], tmp_path: Path) -> None:
    before = {worker.pid for worker in cluster.workers.values()}
    out, address = tmp_path / "results.jsonl", cluster.scheduler_address
    found = graphreg.batch([{**jobs[0], "poison": "exit"}, *jobs[1:]], out, dask=address, retries=0, run=harmful)
    assert next(iter(found)).reason == f"its worker left with status 7, on {gethostname()}"
    assert (found.set_aside, found.registered + found.not_registered) == (1, 5)
    # Its clouds are prepared by now.
    (hanging,) = graphreg.batch([{**jobs[0], "poison": "hang"}], out, dask=address, timeout=0.5, retries=1, run=harmful)
    assert (hanging.reason, hanging.attempts) == (f"took longer than 0.5 s, on {gethostname()}", 2)
    assert {worker.pid for worker in cluster.workers.values()} == before


def test_workers_of_the_cluster_are_killed_and_the_batch_goes_on(
    cluster: Any, jobs: list[dict[str, Any]], pooled: list[str], tmp_path: Path
) -> None:
    killed: list[int] = []

    def kill(now: Any) -> None:
        if now.done == 2 and not killed:
            killed.append(next(iter(cluster.workers.values())).pid)
            os.kill(killed[0], signal.SIGKILL)

    out = tmp_path / "results.jsonl"
    found = graphreg.batch(jobs, out, dask=cluster.scheduler_address, progress=kill)
    assert killed
    assert [timeless(record) for record in found] == pooled
    assert len(keys_in(out)) == len(set(keys_in(out))) == 6


def test_the_driver_is_killed_and_another_goes_on(
    cluster: Any, jobs: list[dict[str, Any]], pooled: list[str], tmp_path: Path
) -> None:
    script = """
import os, signal, sys, graphreg
def die(now):
    if now.done == 2:
        os.kill(os.getpid(), signal.SIGKILL)
graphreg.batch(sys.argv[1], sys.argv[2], dask=sys.argv[3], progress=die)
"""
    table, out = tmp_path / "jobs.csv", tmp_path / "results.jsonl"
    table.write_text("source,target\n" + "".join(f"{job['source']},{job['target']}\n" for job in jobs))
    died = subprocess.run([sys.executable, "-c", script, str(table), str(out), cluster.scheduler_address], timeout=120)
    assert died.returncode == -signal.SIGKILL
    assert len(keys_in(out)) == 2
    found = graphreg.batch(table, out, dask=cluster.scheduler_address)
    assert found.before == 2
    assert [timeless(record) for record in found] == pooled
    assert len(keys_in(out)) == 6


def test_a_scheduler_that_is_not_there_is_told(
    jobs: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("graphreg.batches.crews.LONGEST_ANSWER", 0.5)
    with pytest.raises(InputError, match="dask: no scheduler answers at tcp://127.0.0.1:9"):
        graphreg.batch(jobs, tmp_path / "results.jsonl", dask="tcp://127.0.0.1:9")
    with pytest.raises(InputError, match="dask: no scheduler answers at nonsense"):
        graphreg.batch(jobs, tmp_path / "results.jsonl", dask="nonsense://x")


def test_a_cluster_that_is_lost_is_told(jobs: list[dict[str, Any]], tmp_path: Path) -> None:
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=False
    ) as short:

        def close(now: Any) -> None:
            if now.done == 2:
                short.close()

        out = tmp_path / "results.jsonl"
        with pytest.raises(ConnectionError, match="is lost; started again, the same batch goes on"):
            graphreg.batch(jobs, out, dask=short.scheduler_address, progress=close)
    assert len(keys_in(out)) >= 2


def test_without_dask_the_extra_is_named(
    jobs: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(graphreg.MissingExtraError, match="pip install 'graphreg\\[dask\\]'"):
        graphreg.batch(jobs, tmp_path / "results.jsonl", dask="tcp://127.0.0.1:9")
