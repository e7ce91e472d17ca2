"""The synthetic pot: its lid is a part of it, and a body of revolution."""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from graphreg.bench import pot
from graphreg.poses import rotation_from_vector, transform


def test_the_lid_is_a_part_of_the_pot_and_a_body_of_revolution() -> None:
    lid, whole, truth = pot.lid_and_pot(4000)
    assert 0.8 * 4000 < len(whole) < 1.2 * 4000
    back = transform(truth, lid)
    assert cKDTree(whole).query(back)[0].max() < 1e-12
    # A whole number of steps about the axis maps it to itself.
    steps = len(np.unique(np.round(np.arctan2(back[:, 1], back[:, 0])[np.hypot(*back.T[:2]) > 0.5], 6)))
    rotated = back @ rotation_from_vector([0, 0, 2 * np.pi / steps * 7]).T
    assert cKDTree(back).query(rotated)[0].max() < 1e-9
