"""Local and global maps: when frames become keyframes, what is kept, and in which frame."""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree
from tests.support.walks import NOISE, frame_at, scene_points, walk_poses

from graphreg.engine.settings import EngineSettings
from graphreg.multiscan.maps import GlobalMap, LazyCloud, LocalMap, MapParameters, PosedCloud
from graphreg.multiscan.tracking import SurfelTracker
from graphreg.poses import pose, rotation_from_vector, transform
from graphreg.voxels import voxel_downsample


def posed(k: int) -> PosedCloud:
    T_world_frame = walk_poses(k + 1)[k]
    return PosedCloud(LazyCloud(frame_at(T_world_frame, k), 0), T_world_frame)


def test_a_frame_becomes_a_keyframe_when_its_points_have_moved_some_voxels() -> None:
    local_map = LocalMap(parameters=MapParameters(distance=2.0))
    here = posed(0)
    assert local_map.needs(here, 0.1)
    local_map.add(here)
    for metres, needed in ((0.19, False), (0.21, True)):
        moved = PosedCloud(here.cloud, here.pose @ pose(np.eye(3), [metres, 0, 0]))
        assert local_map.needs(moved, 0.1) is needed
    rotated = PosedCloud(here.cloud, here.pose @ pose(rotation_from_vector([0, 0, 0.5]), [0, 0, 0]))
    assert local_map.needs(rotated, 0.1)


def test_what_registration_needs_of_a_frame_is_computed_once_and_the_frame_can_be_released() -> None:
    points = frame_at(walk_poses(1)[0], 0)
    frame = LazyCloud(points, 0)
    assert not np.shares_memory(frame.points, points)
    assert frame.preprocessed is frame.preprocessed
    one, other = SurfelTracker(points), SurfelTracker(points[:500])
    assert frame.voxels(one) is frame.voxels(one)
    assert len(frame.voxels(other).counts) != len(frame.voxels(one).counts)


def test_the_first_keyframe_is_the_map() -> None:
    local_map = LocalMap()
    assert local_map.posed is None
    first = posed(0)
    local_map.add(first)
    assert local_map.posed is not None
    assert local_map.posed.cloud is first.cloud


def test_the_map_is_in_the_frame_of_the_newest_keyframe_and_stays_small() -> None:
    local_map = LocalMap(parameters=MapParameters(keyframes=2))
    keyframes = [posed(k) for k in range(3)]
    for keyframe in keyframes:
        local_map.add(keyframe)
    built = local_map.posed
    assert built is not None
    assert np.array_equal(built.pose, keyframes[-1].pose)
    assert len(built.cloud.preprocessed) <= EngineSettings.points
    # Points of the last two keyframes: all are samples of the scene with noise, each point once.
    distance = cKDTree(scene_points()).query(transform(built.pose, built.cloud.points))[0]
    assert distance.max() < 6 * NOISE
    assert len(built.cloud.points) == sum(len(each.cloud.points) for each in keyframes[1:])


def test_after_a_restart_one_keyframe_is_left() -> None:
    local_map = LocalMap()
    keyframes = [posed(k) for k in range(4)]
    for keyframe in keyframes[:2]:
        local_map.add(keyframe)
    local_map.restart(keyframes[2])
    local_map.add(keyframes[3])
    assert local_map.posed is not None
    assert len(local_map.posed.cloud.points) == len(keyframes[2].cloud.points) + len(keyframes[3].cloud.points)


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
