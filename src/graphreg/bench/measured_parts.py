"""Parts of the package that results depend on, for their fingerprints (`graphreg.provenance.fingerprint`)."""

from __future__ import annotations

from graphreg.provenance import NATIVE

BASE = ("clouds", "metrics", "poses", "threads", "voxels", NATIVE)
FEATURES = (*BASE, "features")
ENGINE = (*FEATURES, "robust", "engine", "method_interface", "registration")
PAPER_METHOD = (*FEATURES, "paper", "method_interface", "registration")
BASELINE_METHODS = (*FEATURES, "robust", "paper", "baselines", "method_interface")
ALL_METHODS = (*ENGINE, "paper", "baselines")
MULTISCAN = (*ENGINE, "multiscan")
BATCHES = (*ENGINE, "batches", "files")
SYNTHETIC_SCANS = ("datasets",)
