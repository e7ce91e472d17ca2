"""Refine an initial pose, from odometry or an earlier registration."""

import numpy as np

import graphreg
from graphreg.datasets import synthetic
from graphreg.metrics import angular_error
from graphreg.poses import pose, rotation_from_vector

pair = synthetic.pair("street", 4.0, points=20_000)  # two LiDAR frames, 4 m apart

# An initial pose with an error of 3 degrees and 20 cm.
error = pose(rotation_from_vector(np.radians([0.5, -0.5, 3.0])), [0.1, -0.15, 0.05])
initial = error @ pair.T_target_source

result = graphreg.register(pair.source, pair.target, init=initial)

for name, transformation in (("initial", initial), ("refined", result.transformation)):
    print(f"{name}: rotation error {angular_error(transformation, pair.T_target_source):.3f} degrees")
print(result.reason)
