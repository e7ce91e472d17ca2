"""How sure is the pose? Its covariance, as numbers that people know, and at any point of the scan."""

import numpy as np

import graphreg
from graphreg.datasets import synthetic

pair = synthetic.pair("casting", 30, points=20_000)
result = graphreg.register(pair.source, pair.target)
if result.covariance is None:
    raise SystemExit("the scans do not meet: there is no covariance")

# Six numbers: turns about x, y, z through result.centre in radians, then shifts along x, y, z.
deviation = np.sqrt(np.diag(result.covariance))
print("turns, degrees:", np.degrees(deviation[:3]).round(4))
print("shifts, millimetres:", (1000 * deviation[3:]).round(4))

# A point that is carried along moves by turn x arm + shift: its own covariance follows.
point = pair.target[0]
x, y, z = point - result.centre
jacobian = np.hstack([[[0, z, -y], [-z, 0, x], [y, -x, 0]], np.eye(3)])
of_point = jacobian @ result.covariance @ jacobian.T
print("that point, millimetres:", (1000 * np.sqrt(np.diag(of_point))).round(4))

# A ball can turn any way without leaving its surface, and the verdict says so.
directions = np.random.default_rng(0).normal(size=(2, 5000, 3))
balls = directions / np.linalg.norm(directions, axis=2, keepdims=True)
ball = graphreg.register(balls[0], balls[1])
print(f"a ball: {ball.reason} ({'; '.join(ball.undetermined)})")
