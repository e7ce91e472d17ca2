"""What tests of several commands share."""

from __future__ import annotations

from importlib import import_module

import pytest


@pytest.fixture
def small_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """To draw them takes the demo longer than all the rest."""
    module = import_module("graphreg.cli.demo")  # as a name of the package, it is the function
    monkeypatch.setattr(module, "PANELS", (320, 84))
    monkeypatch.setattr(module, "PAIR", (320, 120))
    monkeypatch.setattr("graphreg.reports.registration_page.PICTURE", (140, 56))
