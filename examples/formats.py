"""Write a scan in every file format, and read it back."""

import numpy as np

import graphreg
from graphreg.datasets import synthetic

points = synthetic.scan("hand", points=5000).points

for suffix, format in graphreg.formats().items():
    if not format.writes:
        print(f"{suffix}: read only")
        continue
    try:
        graphreg.write(f"hand{suffix}", points)
        back = graphreg.read(f"hand{suffix}")
    except graphreg.MissingExtraError as problem:
        print(f"{suffix}: {problem}")
        continue
    error = np.abs(back - points).max()
    print(f"{suffix}: {format.description}; {len(back)} points, largest error {1e6 * error:.2f} micrometres")

# Attributes of the points, such as colour, intensity or time, have the names of the file.
cloud = graphreg.Cloud(points, np.ones(len(points), bool), {"intensity": np.linspace(0, 1, len(points))})
graphreg.write("hand.ply", cloud)
print(sorted(graphreg.read_cloud("hand.ply").attributes))
