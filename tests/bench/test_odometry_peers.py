"""Odometry of other libraries: each follows a sensor that moves at constant velocity."""

from __future__ import annotations

import numpy as np
import pytest

from graphreg.bench.odometry_peers import ODOMETRY_PEERS, odometry_versions
from graphreg.datasets import synthetic


@pytest.mark.slow
@pytest.mark.parametrize("name", ODOMETRY_PEERS)
def test_poses_are_relative_to_the_first_frame(name: str) -> None:
    peer = ODOMETRY_PEERS[name]
    if not peer.is_installed:
        pytest.skip(f"{peer.module} is not installed")
    follow = peer.start()
    frames = list(synthetic.sequence("street", 3, 1.0, points=60_000))
    found = [follow(frame.points, None)[0] for frame in frames]
    assert found[0] == pytest.approx(np.eye(4))
    # Registration on voxels of a metre, of points with a noise of 2 cm.
    assert np.linalg.norm(found[-1][:3, 3]) == pytest.approx(2, abs=0.1)
    assert odometry_versions([name, "graphreg, map"]).keys() == {peer.module}
