"""Parts of the package that results depend on, for their fingerprints (`graphreg.provenance.fingerprint`)."""

from __future__ import annotations

BASE = ("clouds", "metrics", "poses", "threads", "voxels", "native.common", "native.points")
# What no registration uses is left out.
FEATURES = (*BASE, "features", "-features.volume_outliers", "native.features")
UNKNOWN_SCALE = (
    "engine.similarity",
    "engine.similarity_refinement",
    "engine.scale_votes",
    "engine.scale_hypotheses",
    "engine.scale_observability",
)
ENGINE = (
    *FEATURES,
    "robust",
    "engine",
    *(f"-{module}" for module in UNKNOWN_SCALE),
    "native.engine",
    "method_interface",
    "registration",
)
PAPER_METHOD = (*FEATURES, "paper", "native.paper", "method_interface", "registration")
BASELINE_METHODS = (*FEATURES, "robust", "paper", "native.paper", "baselines", "native.baselines", "method_interface")
ALL_METHODS = (*ENGINE, "paper", "native.paper", "baselines", "native.baselines")
MULTISCAN = (*ENGINE, "multiscan", "native.odometry")
# Scans in any order: without what frames of a sequence alone need.
FRAMES = ("deskewing", "frames", "localisation", "loop_closure", "maps", "odometry", "tracking", "trajectory")
MULTIWAY = (*ENGINE, "multiscan", *(f"-multiscan.{module}" for module in FRAMES))
BATCHES = (*ENGINE, "batches", "files", "native.files")
# Without the bodies that deform.
SYNTHETIC_SCANS = ("datasets", "-datasets.deformed_bodies", "-datasets.mannequin", "native.datasets")
