"""The same bits for any number of threads, concurrent callers, and Ctrl-C."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import graphreg
from tests.support.strategies import CLOUD_KINDS, Floats, random_cloud


def all_features(points: Floats, threads: int) -> list[bytes]:
    graph = graphreg.neighbour_graph(points, 10, threads)
    results = (
        graph.neighbours,
        graph.weights,
        graph.filter(points, (0.5, -1.0, 0.25)),
        graphreg.intensity(points, threads=threads),
        graphreg.inliers(points, threads=threads),
        graphreg.invariants(points, threads=threads),
        graphreg.normals(points, threads=threads),
        graphreg.resample(points, 0.2, method="proportional", threads=threads),
        graphreg.voxel_downsample(points, 0.01, threads),
    )
    return [np.ascontiguousarray(result).tobytes() for result in results]


# Most kernels hand out ranges of at most 2,048 points, the k-d tree of 65,536.
@pytest.mark.parametrize(
    ("kind", "count"),
    [*((kind, 5_000) for kind in CLOUD_KINDS), pytest.param("surface", 70_000, marks=pytest.mark.slow)],
)
def test_any_number_of_threads_gives_the_same_bits(kind: str, count: int) -> None:
    points = random_cloud(kind, count, 1)
    expected = all_features(points, 1)
    for threads in (3, 8):
        assert all_features(points, threads) == expected


@pytest.mark.slow
def test_concurrent_callers_do_not_interfere() -> None:
    points = [random_cloud(kind, 2_500, 2) for kind in CLOUD_KINDS]
    expected = [all_features(p, 1) for p in points]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda p: all_features(p, 2), points * 4)) == expected * 4


@pytest.mark.slow
def test_kernels_release_the_gil() -> None:
    points = random_cloud("surface", 400_000, 1)
    ticks = 0
    done = threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not done.is_set():
            ticks += 1
            time.sleep(0.001)

    ticker = threading.Thread(target=tick)
    ticker.start()
    graphreg.neighbour_graph(points, threads=1)
    seen = ticks
    done.set()
    ticker.join()
    assert seen > 5


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent as POSIX has them")
def test_ctrl_c_interrupts_a_long_call() -> None:
    script = (
        "import numpy as np, graphreg, signal, threading, os\n"
        # A shell that starts the tests in the background has them ignore the signal.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "points = np.random.default_rng(0).normal(size=(1_500_000, 3))\n"
        "threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
        "try:\n"
        "    while True: graphreg.neighbour_graph(points, 30, threads=1)\n"
        "except KeyboardInterrupt:\n"
        "    print('stopped')\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=600)
    assert done.stdout == "stopped\n", done.stderr
    assert done.returncode == 0
