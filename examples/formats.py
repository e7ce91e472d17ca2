"""One scan in every format that can be written, and back."""

import numpy as np

import graphreg
from graphreg.datasets import synthetic

points = synthetic.scan("hand", points=5000).points

for suffix, known in graphreg.formats().items():
    if not known.writes:
        print(f"{suffix}: can only be read")
        continue
    try:
        graphreg.write(f"hand{suffix}", points)
        back = graphreg.read(f"hand{suffix}")
    except graphreg.MissingExtraError as problem:
        print(f"{suffix}: {problem}")
        continue
    lost = np.abs(back - points).max()
    print(f"{suffix}: {known.description}; {len(back)} points, off by at most {1e6 * lost:.2f} micrometres")

# With what else a file says of each point: colours, reflectance, time, under the file's own names.
cloud = graphreg.Cloud(points, np.ones(len(points), bool), {"intensity": np.linspace(0, 1, len(points))})
graphreg.write("hand.ply", cloud)
print(sorted(graphreg.read_cloud("hand.ply").attributes))
