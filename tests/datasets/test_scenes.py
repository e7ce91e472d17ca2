"""The synthetic street."""

from __future__ import annotations

import numpy as np
import pytest

from graphreg.datasets.scanner import Sensor
from graphreg.datasets.scenes import street, street_pose


@pytest.mark.slow
def test_a_longer_street_begins_with_the_same_blocks() -> None:
    rays = Sensor("spherical", (-3.1, 3.1), (-0.3, 0.3), 90).rays(200)
    origin = street_pose(30.0)[:3, 3] + [0, 0, 1.7]
    short, long = (street(0, length).cast(origin, rays, 80.0)[0] for length in (40.0, 80.0))
    assert np.array_equal(short, long)
