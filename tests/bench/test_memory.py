"""Resident memory of this process."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from graphreg.bench.memory import resident_bytes


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux")
def test_memory_that_is_used_is_resident() -> None:
    before = resident_bytes("VmRSS")
    block = np.ones(32 << 20, np.uint8)
    assert resident_bytes("VmRSS") - before > 0.9 * len(block)
    assert resident_bytes("VmHWM") >= resident_bytes("VmRSS")
