"""The result of multiway registration: its pose graph, the merged cloud, and JSON."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from tests.support.body_scans import body_scans, registered_body

from graphreg import InputError
from graphreg.clouds import as_cloud
from graphreg.multiscan.pose_graph import squared_errors
from graphreg.multiscan.pose_graph_optimisation import optimise
from graphreg.poses import inverse, transform


@pytest.mark.slow
def test_the_graph_has_the_errors_of_the_edges() -> None:
    """Information is about the origin of each target in the graph, about its centroid in the edge."""
    result = registered_body()
    edges = [edge for edge in result.edges if edge.information is not None]
    for edge, squared in zip(edges, squared_errors(result.graph), strict=True):
        difference = inverse(result.poses[edge.target]) @ result.poses[edge.source] @ inverse(edge.transformation)
        translation = transform(difference, edge.rotation_centre[None])[0] - edge.rotation_centre
        rotation = Rotation.from_matrix(difference[:3, :3]).as_rotvec()
        error = np.concatenate([rotation, translation])
        # Equal to first order. Terms of second order in the rotation move the centroid by no more than this.
        second_order = rotation @ rotation * np.linalg.norm(edge.rotation_centre)
        second_order += np.linalg.norm(rotation) * np.linalg.norm(translation)
        gap = np.sqrt(squared) - np.sqrt(error @ edge.information @ error)
        assert abs(gap) <= second_order * np.sqrt(np.linalg.norm(edge.information[3:, 3:], 2)) + 1e-9
    assert optimise(result.graph).used.tolist() == [edge.used for edge in edges]


def test_the_merged_cloud_has_the_scan_of_each_point() -> None:
    clouds, _ = body_scans()
    shaded = [as_cloud(cloud, attributes={"shade": np.full(len(cloud), n)}) for n, cloud in enumerate(clouds)]
    result = replace(registered_body(), clouds=tuple(shaded))
    merged = result.merged()
    assert len(merged) == sum(map(len, clouds))
    assert np.array_equal(merged.attributes["shade"], merged.attributes["scan"])
    third = merged.select(merged.attributes["scan"] == 2)
    assert np.array_equal(third.points, transform(result.poses[2], clouds[2]))
    assert len(result.merged(voxel=0.01)) < len(merged) / 4


def test_only_attributes_that_all_scans_have_are_merged() -> None:
    clouds, _ = body_scans()
    some = [as_cloud(cloud, attributes={"shade": np.zeros(len(cloud))} if n else {}) for n, cloud in enumerate(clouds)]
    assert set(replace(registered_body(), clouds=tuple(some)).merged().attributes) == {"scan"}


def test_nothing_is_merged_without_a_group() -> None:
    with pytest.raises(InputError, match="merged: no two scans belong together"):
        replace(registered_body(), groups=()).merged()


def test_success_needs_one_group_without_doubt() -> None:
    result = registered_body()
    assert result.success
    assert not replace(result, groups=((0, 1), (2, 3))).success
    assert not replace(result, left_out={"scan 3": "no other scan is similar to it"}).success
    assert not replace(result, doubtful={"scan 3": "2 rejected edges agree on another pose"}).success


def test_json_has_null_for_what_is_unknown() -> None:
    whole = registered_body()
    failed = replace(whole.edges[0], transformation=np.full((4, 4), np.nan))
    plain = json.loads(replace(whole, groups=((0, 1, 2),), edges=(failed, *whole.edges[1:])).to_json())
    assert plain["poses"][3] is None
    assert np.array_equal(plain["poses"][:3], whole.poses[:3])
    assert plain["groups"] == [["scan 0", "scan 1", "scan 2"]]
    assert plain["edges"][0]["transformation"] is None
    for edge, expected in zip(plain["edges"][1:], whole.edges[1:], strict=True):
        assert np.array_equal(edge["transformation"], expected.transformation)
        assert (edge["source"], edge["target"]) == (f"scan {expected.source}", f"scan {expected.target}")
