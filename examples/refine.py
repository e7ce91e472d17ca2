"""A pose is known roughly, from odometry or from last time: only refine it."""

import numpy as np

import graphreg
from graphreg.datasets import synthetic
from graphreg.metrics import angular_error
from graphreg.poses import pose, rotation_from_vector

pair = synthetic.pair("street", 4.0, points=20_000)  # two scans, 4 m down the street

# Odometry, say: some 3 degrees and 20 cm off the truth.
off = pose(rotation_from_vector(np.radians([0.5, -0.5, 3.0])), [0.1, -0.15, 0.05])
guess = off @ pair.T_target_source

result = graphreg.register(pair.source, pair.target, init=guess)

for name, motion in (("guess", guess), ("refined", result.transformation)):
    print(f"{name}: {angular_error(motion, pair.T_target_source):.3f} degrees off")
print(result.reason)
