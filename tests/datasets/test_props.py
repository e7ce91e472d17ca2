"""Components of scenes: above the ground, placed by heading and position, with openings where walls have them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import pytest

from graphreg.datasets import props
from graphreg.datasets.convex_scenes import ConvexPart, ConvexScene

RANDOM = np.random.default_rng(0)
COMPONENTS: dict[str, Callable[[], Iterable[ConvexPart]]] = {
    "car": lambda: props.car(RANDOM, "car"),
    "van": lambda: props.car(RANDOM, "van"),
    "tree": lambda: props.tree(RANDOM, [0, 0, 0], 6.0),
    "street furniture": lambda: props.street_furniture(RANDOM, 0.0, 0.0, 1),
    "table": lambda: props.table([0, 0, 0], 1.5, 0.8, 0.75, 0.3),
    "chair": lambda: props.chair([0, 0, 0], 0.3),
    "balcony": lambda: props.balcony(-1.0, 1.0, 3.0, 1.0),
    "window": lambda: props.window(RANDOM, -0.5, 0.5, 1.0, 2.5),
}


@pytest.mark.parametrize("name", COMPONENTS)
def test_components_have_volume_and_stand_on_the_ground(name: str) -> None:
    parts = list(COMPONENTS[name]())
    assert parts
    for part in parts:
        assert abs(np.linalg.det(part.axes)) > 0
        assert part.centre[2] > 0


def test_placed_parts_are_rotated_by_the_heading_and_translated() -> None:
    parts = props.car(np.random.default_rng(1), "car")
    for part, moved in zip(parts, props.placed(parts, [1, 2, 3], np.pi / 2), strict=True):
        x, y, z = part.centre
        np.testing.assert_allclose(moved.centre, [1 - y, 2 + x, 3 + z], atol=1e-12)
        assert moved.radius == pytest.approx(part.radius)


def test_a_wall_is_recessed_in_its_openings() -> None:
    wall = ConvexScene(props.wall(0, 10, 0, 4, [(2, 3, 1, 3), (6, 7, 0, 2)], depth=0.4))
    targets = np.array([[1.0, 0, 2], [2.5, 0, 2], [2.5, 0, 0.5], [6.5, 0, 1], [6.5, 0, 3]])
    ahead = np.array([[0.0, 1.0, 0.0]])
    ranges = [wall.cast(target - [0, 5, 0], ahead, 100.0)[0][0] for target in targets]
    np.testing.assert_allclose(ranges, [5, 5.32, 5, 5.32, 5])
