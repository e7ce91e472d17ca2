"""Register two scans of one thing, from any pose, and look at the verdict."""

import graphreg
from graphreg.datasets import synthetic
from graphreg.metrics import angular_error
from graphreg.poses import transform

# Made here, so that the true motion is known. Your own: graphreg.read("scan.ply").
pair = synthetic.pair("dragon", 30, points=10_000)

result = graphreg.register(pair.source, pair.target)

print(result.reason, f"(confidence {result.confidence:.2f})")
print(result.transformation)  # x_target = T x_source
print(f"off by {angular_error(result.transformation, pair.T_target_source):.3f} degrees")

if result.success:
    moved = transform(result.transformation, pair.source)
    graphreg.write("moved.ply", moved)
    graphreg.report(result, pair.source, pair.target, "report.html")
