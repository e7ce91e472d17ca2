"""Resident memory of this process."""

from __future__ import annotations

import mmap
import sys

import pytest

from graphreg.bench.memory import resident_bytes

SIZE = 32 << 20


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux")
def test_memory_that_is_used_is_resident() -> None:
    before = resident_bytes("VmRSS")
    # Pages of its own: an allocator could reuse memory that is resident already.
    with mmap.mmap(-1, SIZE) as block:
        for page in range(0, SIZE, mmap.PAGESIZE):
            block[page] = 1
        assert resident_bytes("VmRSS") - before > 0.9 * SIZE
        assert resident_bytes("VmHWM") >= resident_bytes("VmRSS")
