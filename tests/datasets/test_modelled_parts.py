"""Models of parts are closed and oriented outwards."""

from __future__ import annotations

import numpy as np
import pytest

from graphreg.datasets.modelled_parts import modelled_parts
from graphreg.meshes.triangle_mesh import Mesh


@pytest.mark.parametrize("part", modelled_parts().values(), ids=modelled_parts())
def test_each_edge_has_two_faces_and_the_volume_is_positive(part: Mesh) -> None:
    edges = np.concatenate([part.faces[:, [a, b]] for a, b in ((0, 1), (1, 2), (2, 0))])
    there, back = ({tuple(edge) for edge in each.tolist()} for each in (edges, edges[:, ::-1]))
    assert there == back
    corners = part.vertices[part.faces]
    assert np.linalg.det(corners).sum() > 0
