"""locate(): right pose from any pose, every instance, equivalent poses, nothing where there is nothing, bad input."""

from __future__ import annotations

import json
import pickle
from functools import cache

import numpy as np
import pytest

import graphreg
from graphreg.clouds import Floats
from graphreg.datasets import clutter
from graphreg.poses import inverse, nearest_rotation, pose, transform

MOVED = pose(nearest_rotation(np.random.default_rng(7).normal(size=(3, 3))), [5.0, -3.0, 1.0])


@cache
def table(name: str = "bracket", instances: int = 1, spacing: float = 0.04) -> clutter.Clutter:
    return clutter.table(name, instances=instances, objects=5, spacing=spacing)


@cache
def located(name: str, instances: int = 1, most: int = 1) -> list[graphreg.Location]:
    """What is located on a table."""
    example = table(name, instances)
    return graphreg.locate(example.part, example.scene, most, threads=1)


def error(location: graphreg.Location, T: Floats, part: Floats) -> float:
    """Largest distance of a point of the part from where it belongs, for the best of the equivalent poses."""
    return float(
        min(
            np.linalg.norm(transform(each, part) - transform(T, part), axis=1).max()
            for each in location.equivalent_poses
        )
    )


@pytest.mark.slow
def test_a_part_is_found_from_any_pose_with_the_verdict() -> None:
    example = table()
    part = transform(MOVED, example.part)
    (location,) = graphreg.locate(part, example.scene)
    assert location.success
    assert location.reason.startswith("located: overlap")
    assert error(location, example.poses[0] @ inverse(MOVED), part) < 0.02
    assert location.equivalent_poses.shape == (1, 4, 4)
    assert np.allclose(location.equivalent_poses[0], location.transformation)
    assert location.symmetry == ""
    stages = sum(seconds for stage, seconds in location.timings.items() if stage != "total")
    assert 0 < stages <= location.timings["total"]


@pytest.mark.slow
def test_the_result_does_not_depend_on_threads_or_on_preparation() -> None:
    example = table()
    prepared = graphreg.prepare(example.scene, part=example.part)
    first = located("bracket")[0]
    again = graphreg.locate(example.part, pickle.loads(pickle.dumps(prepared)), threads=2)[0]
    assert np.array_equal(first.transformation, again.transformation)
    assert first.confidence == again.confidence


@pytest.mark.slow
def test_a_prepared_scene_keeps_all_its_points() -> None:
    example = table()
    prepared = graphreg.prepare(example.scene, points=1000)
    assert graphreg.locate(example.part, prepared)[0].success


@pytest.mark.slow
def test_every_instance_is_found_and_one_of_two_is_ambiguous() -> None:
    example = table(instances=2)
    found = graphreg.locate(example.part, example.scene, most=4)
    assert [location.success for location in found] == [True, True]
    nearest = [int(np.argmin([error(location, T, example.part) for T in example.poses])) for location in found]
    assert sorted(nearest) == [0, 1]
    assert all(error(found[n], example.poses[nearest[n]], example.part) < 0.02 for n in range(2))
    (single,) = graphreg.locate(example.part, example.scene)
    assert not single.success
    assert single.reason.startswith("ambiguous: 2 places fit equally well")


@pytest.mark.slow
@pytest.mark.parametrize("name", clutter.PARTS)
def test_what_is_not_there_is_not_located(name: str) -> None:
    assert not any(location.success for location in located(name, instances=0, most=3))


@pytest.mark.slow
def test_a_cube_has_24_equivalent_poses() -> None:
    example = table("cube")
    (location,) = located("cube")
    assert location.success
    assert location.symmetry == "24 equivalent poses"
    assert location.equivalent_poses.shape == (24, 4, 4)
    assert location.reason.endswith("24 equivalent poses")
    assert error(location, example.poses[0], example.part) < 0.05


@pytest.mark.slow
def test_a_lid_is_found_up_to_the_rotation_about_its_axis() -> None:
    example = table("lid", spacing=0.03)
    (location,) = graphreg.locate(example.part, example.scene)
    assert location.success
    assert location.symmetry == "equivalent under any rotation about (0.00, 0.00, 1.00)"
    axis = np.array([[0.0, 0, 0], [0, 0, 0.5]])
    assert np.allclose(transform(location.transformation, axis), transform(example.poses[0], axis), atol=0.03)


@pytest.mark.slow
def test_a_location_survives_json() -> None:
    (location,) = located("cube")
    again = graphreg.Location.from_json(location.to_json())
    assert np.array_equal(again.equivalent_poses, location.equivalent_poses)
    assert again.reason == location.reason


@pytest.mark.slow
@pytest.mark.parametrize(
    "damage",
    [
        {"equivalent_poses": 3},
        {"equivalent_poses": []},
        {"equivalent_poses": [["x"]]},
        {"equivalent_poses": [[[1.0]]]},
        {"equivalent_poses": None},
        {"symmetry": 4},
    ],
)
def test_a_damaged_location_is_an_input_error(damage: dict[str, object]) -> None:
    text = json.dumps({**json.loads(located("cube")[0].to_json()), **damage})
    with pytest.raises(graphreg.InputError, match="text"):
        graphreg.Location.from_json(text)


@pytest.mark.parametrize("most", [0, -1, 1.5, True, "2", None])
def test_a_count_that_is_none_is_refused(most: object) -> None:
    with pytest.raises(graphreg.InputError, match="most: expected a whole number from 1 on"):
        graphreg.locate(np.eye(3), np.eye(3), most=most)  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize("bad", [np.empty((0, 3)), np.zeros((5, 3)), np.full((20, 3), np.nan), np.ones(3), object()])
def test_bad_clouds_are_refused_by_name(bad: object) -> None:
    good = table().part
    with pytest.raises(graphreg.InputError, match="part"):
        graphreg.locate(bad, good)
    with pytest.raises(graphreg.InputError, match="scene"):
        graphreg.locate(good, bad)


@pytest.mark.slow
def test_clouds_without_surface_give_a_result_or_a_clear_error() -> None:
    rng = np.random.default_rng(0)
    good = table().part
    line = np.linspace(0, 1, 50)[:, None] * [1.0, 2.0, 3.0]
    for bad in (np.ones((50, 3)), line, rng.random((30, 3)), rng.random((500, 3))):
        for part, scene in ((bad, good), (good, bad), (bad, bad)):
            try:
                assert not any(location.success for location in graphreg.locate(part, scene) if bad is not part)
            except graphreg.InputError as problem:
                assert "part" in str(problem) or "scene" in str(problem)  # noqa: PT017
