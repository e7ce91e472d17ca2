"""Local and global maps: when frames become keyframes, what is kept, and in which frame."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import cKDTree
from tests.support.walks import NOISE, frame_at, scene_points, walk_poses

import graphreg
from graphreg.engine.settings import EngineSettings
from graphreg.multiscan.maps import GlobalMap, LocalMap, MapParameters, PosedCloud
from graphreg.poses import transform
from graphreg.voxels import voxel_downsample


def posed(k: int) -> PosedCloud:
    pose = walk_poses(k + 1)[k]
    return PosedCloud(graphreg.prepare(frame_at(pose, k)), pose)


def test_a_frame_becomes_a_keyframe_when_its_overlap_falls() -> None:
    local_map = LocalMap(parameters=MapParameters(overlap_ratio=0.9))
    assert local_map.needs(None)
    assert not local_map.needs(0.5)
    assert not local_map.needs(0.8)
    assert not local_map.needs(0.73)
    assert local_map.needs(0.71)
    # The next map starts without a reference.
    assert not local_map.needs(0.2)
    assert local_map.needs(None)


@pytest.mark.slow
def test_the_first_keyframe_is_the_map() -> None:
    local_map = LocalMap()
    assert local_map.posed is None
    first = posed(0)
    local_map.add(first)
    assert local_map.posed is first


def test_the_map_is_in_the_frame_of_the_newest_keyframe_and_stays_small() -> None:
    local_map = LocalMap(parameters=MapParameters(keyframes=2))
    keyframes = [posed(k) for k in range(3)]
    for keyframe in keyframes:
        local_map.add(keyframe)
    built = local_map.posed
    assert built is not None
    assert np.array_equal(built.pose, keyframes[-1].pose)
    assert len(built.cloud) <= EngineSettings.points
    # Points of the last two keyframes: all are samples of the scene with noise, each point once.
    distance = cKDTree(scene_points()).query(transform(built.pose, built.cloud.points))[0]
    assert distance.max() < 6 * NOISE
    assert len(built.cloud) == sum(len(each.cloud) for each in keyframes[1:])


def test_after_a_restart_one_keyframe_is_left() -> None:
    local_map = LocalMap()
    keyframes = [posed(k) for k in range(4)]
    for keyframe in keyframes[:2]:
        local_map.add(keyframe)
    local_map.restart(keyframes[2])
    local_map.add(keyframes[3])
    assert local_map.posed is not None
    assert len(local_map.posed.cloud) == len(keyframes[2].cloud) + len(keyframes[3].cloud)


def test_the_global_map_has_a_point_for_each_voxel() -> None:
    rng = np.random.default_rng(0)
    parts = [rng.normal(size=(500, 3)) for _ in range(7)]
    whole, in_parts = GlobalMap(), GlobalMap(MapParameters(frames_at_once=2))
    for number, part in enumerate(parts):
        for each in (whole, in_parts):
            each.add(part, 0.2 + number)  # the voxel size is that of the first frame
    assert np.array_equal(whole.points(), voxel_downsample(np.concatenate(parts), 0.2))
    # Downsampled in between, a voxel has the mean of means; the occupied voxels are the same.
    apart = cKDTree(in_parts.points()).query(whole.points())[0]
    assert apart.max() < 0.2 * np.sqrt(3)
    assert GlobalMap().points().shape == (0, 3)
