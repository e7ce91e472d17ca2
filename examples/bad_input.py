"""Errors: an exception says which argument, what it was and what was expected; a failed registration is a result."""

import numpy as np

import graphreg
from graphreg.datasets import synthetic

points = synthetic.scan("hare", points=5000).points
reflection = np.diag([1.0, 1.0, -1.0, 1.0])

attempts = {
    "a transposed array": lambda: graphreg.register(points.T, points),
    "too few points": lambda: graphreg.register(points[:5], points),
    "a reflection as initial pose": lambda: graphreg.register(points, points, init=reflection),
    "an unknown setting": lambda: graphreg.register(points, points, method="icp", outliers=0.3),
    "an unknown method": lambda: graphreg.register(points, points, method="magic"),
    "a missing file": lambda: graphreg.read("missing.ply"),
}
for name, attempt in attempts.items():
    try:
        attempt()
    except (graphreg.InputError, OSError) as problem:
        print(f"{name}: {problem}")

# Non-finite rows are no error: they are left out and counted.
with_holes = points.copy()
with_holes[::10] = np.nan
result = graphreg.register(with_holes, points)
print(f"without {result.dropped[0]} non-finite rows: {result.reason}")

# Nor are scans without overlap an error: check `success` before you use the transformation.
casting = synthetic.scan("casting", points=5000).points
result = graphreg.register(casting, points)
print(f"two different objects: success is {result.success}, {result.reason}")
