"""Scans from a levelled tripod: only the heading and the position are unknown."""

import numpy as np

import graphreg
from graphreg.datasets import synthetic
from graphreg.metrics import angular_error
from graphreg.poses import inverse, transform

target, source = synthetic.sequence("room", 2, points=20_000)


def levelled(scan: synthetic.Scan) -> tuple[np.ndarray, np.ndarray]:
    """The points in a level frame with the heading of the scanner, as its inclinometer would give, and its pose."""
    heading = np.arctan2(scan.pose[1, 0], scan.pose[0, 0])
    T_world_level = np.eye(4)
    T_world_level[:2, :2] = [[np.cos(heading), -np.sin(heading)], [np.sin(heading), np.cos(heading)]]
    T_world_level[:3, 3] = scan.pose[:3, 3]
    return transform(inverse(T_world_level) @ scan.pose, scan.points), T_world_level


source_points, T_world_source = levelled(source)
target_points, T_world_target = levelled(target)
truth = inverse(T_world_target) @ T_world_source

result = graphreg.register(source_points, target_points, dof=("rz", "x", "y", "z"))

print(result.reason)
print("the vertical is unchanged:", result.transformation[2, :3])
print(f"rotation error: {angular_error(result.transformation, truth):.3f} degrees")
