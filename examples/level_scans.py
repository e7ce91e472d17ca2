"""Scanners on tripods are level: then only the heading and the place are unknown."""

import numpy as np

import graphreg
from graphreg.datasets import synthetic
from graphreg.metrics import angular_error
from graphreg.poses import inverse, transform

# In frames with z up: both scans are turned upright by what the scanners' levels would say.
target, source = synthetic.sequence("room", 2, points=20_000)


def levelled(scan: synthetic.Scan) -> tuple[np.ndarray, np.ndarray]:
    """The points in a frame that is level but has the scanner's heading, and the pose of that frame."""
    heading = np.arctan2(scan.pose[1, 0], scan.pose[0, 0])
    frame = np.eye(4)
    frame[:2, :2] = [[np.cos(heading), -np.sin(heading)], [np.sin(heading), np.cos(heading)]]
    frame[:3, 3] = scan.pose[:3, 3]
    return transform(inverse(frame) @ scan.pose, scan.points), frame


(moving, from_frame), (fixed, to_frame) = levelled(source), levelled(target)
truth = inverse(to_frame) @ from_frame

result = graphreg.register(moving, fixed, dof=("rz", "x", "y", "z"))

print(result.reason)
print("the vertical stays as it is:", result.transformation[2, :3])
print(f"off by {angular_error(result.transformation, truth):.3f} degrees")
