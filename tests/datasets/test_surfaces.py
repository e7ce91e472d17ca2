"""Rotations by yaw, pitch and roll."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from graphreg.datasets.surfaces import rotation_zyx

angles = st.floats(-7, 7)


@given(angles, angles, angles)
def test_rotation_zyx_is_that_of_scipy(yaw: float, pitch: float, roll: float) -> None:
    expected = Rotation.from_euler("ZYX", [yaw, pitch, roll]).as_matrix()
    np.testing.assert_allclose(rotation_zyx(yaw, pitch, roll), expected, atol=1e-14)
