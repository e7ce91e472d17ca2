"""The uncertainty of a pose: standard deviations, the covariance of a point, degenerate directions."""

import numpy as np

import graphreg
from graphreg.datasets import synthetic

pair = synthetic.pair("casting", 30, points=20_000)
result = graphreg.register(pair.source, pair.target)
if result.covariance is None:
    raise SystemExit("the scans do not overlap: there is no covariance")

# Rotations about x, y, z through result.centre in radians, then translations along x, y, z.
deviation = np.sqrt(np.diag(result.covariance))
print("rotation, degrees:", np.degrees(deviation[:3]).round(4))
print("translation, millimetres:", (1000 * deviation[3:]).round(4))

# A point p moves by rotation x (p - centre) + translation; its covariance follows from this Jacobian.
point = pair.target[0]
x, y, z = point - result.centre
jacobian = np.hstack([[[0, z, -y], [-z, 0, x], [y, -x, 0]], np.eye(3)])
of_point = jacobian @ result.covariance @ jacobian.T
print("point, millimetres:", (1000 * np.sqrt(np.diag(of_point))).round(4))

# Rotations of a sphere are not observable, and the verdict says so.
directions = np.random.default_rng(0).normal(size=(2, 5000, 3))
spheres = directions / np.linalg.norm(directions, axis=2, keepdims=True)
sphere = graphreg.register(spheres[0], spheres[1])
print(f"sphere: {sphere.reason} (degenerate directions: {'; '.join(sphere.degenerate_directions)})")
