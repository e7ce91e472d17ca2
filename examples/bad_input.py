"""What goes wrong is said in one sentence: which argument, what it held, what was expected."""

import numpy as np

import graphreg
from graphreg.datasets import synthetic

points = synthetic.scan("hare", points=5000).points
mirrored = np.diag([1.0, 1.0, -1.0, 1.0])

attempts = {
    "a transposed array": lambda: graphreg.register(points.T, points),
    "too few points": lambda: graphreg.register(points[:5], points),
    "a mirrored start": lambda: graphreg.register(points, points, init=mirrored),
    "a setting that there is not": lambda: graphreg.register(points, points, method="icp", outliers=0.3),
    "a method that there is not": lambda: graphreg.register(points, points, method="magic"),
    "a file that is not there": lambda: graphreg.read("missing.ply"),
}
for name, attempt in attempts.items():
    try:
        attempt()
    except (graphreg.InputError, OSError) as problem:
        print(f"{name}: {problem}")

# Rows that are not finite are no error: they are left out, and counted.
holed = points.copy()
holed[::10] = np.nan
result = graphreg.register(holed, points)
print(f"with {result.dropped[0]} rows of NaN: {result.reason}")

# Scans that have nothing in common are no error either, but no success: ask before you use the pose.
stranger = synthetic.scan("casting", points=5000).points
result = graphreg.register(stranger, points)
print(f"two different things: success is {result.success}, {result.reason}")
