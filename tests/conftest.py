"""What all tests share: how hypothesis draws, what Ctrl-C does, and where the real scans are."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("graphreg", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("graphreg")

# A shell starts what runs in the background deaf to Ctrl-C. Commands that tests start, and end so, would inherit that.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def scans() -> Path:
    """The folder of real scans, named by GRAPHREG_DATA."""
    folder = os.environ.get("GRAPHREG_DATA")
    if not folder:
        pytest.skip("GRAPHREG_DATA does not name a folder of real scans")
    path = Path(folder)
    assert path.is_dir(), f"GRAPHREG_DATA names {folder}, which is no folder"
    return path
