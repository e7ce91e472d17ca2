"""Register two scans of one object from any initial pose."""

import graphreg
from graphreg.datasets import synthetic
from graphreg.metrics import angular_error
from graphreg.poses import transform

# Synthetic scans with known ground truth. Your own: graphreg.read("scan.ply").
pair = synthetic.pair("dragon", 30, points=10_000)

result = graphreg.register(pair.source, pair.target)

print(result.reason, f"(confidence {result.confidence:.2f})")
print(result.transformation)  # x_target = T x_source
print(f"rotation error: {angular_error(result.transformation, pair.T_target_source):.3f} degrees")

if result.success:
    aligned = transform(result.transformation, pair.source)
    graphreg.write("aligned.ply", aligned)
    graphreg.report(result, pair.source, pair.target, "report.html")
