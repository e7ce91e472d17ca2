"""The paper's experiments, and ours: one file each, with `jobs`, `measure`, `summary`, and what it shows.

jobs(data, quick, ...) -> what is to be done; measure(job, data) -> rows; tables(rows), summary(rows), figures(rows) and
pictures(data, quick) -> what they come to. `runner` runs them, `runs` keeps what is done, `tables` and `page` write it.
"""

from __future__ import annotations

PAPER = {
    "accuracy": "error and time of every method from the pose as scanned (the paper's Table I)",
    "noise": "the same under noise of up to 1.4 % (Fig. bunny)",
    "outliers": "the same with 30 % outliers (Table II)",
    "cooling": "the cool-down rate of annealing, on 300,000 points (Fig. hand)",
    "teapot": "a lid to its pot, most of which is no part of it (Table III)",
    "annealing": "accuracy and time of adaptive and plain annealing (Fig. SA)",
    "terrestrial": "scans of a facade from a tripod (Table IV)",
    "odometry": "a drive, frame by frame, and how errors add up (Table V)",
    "density": "scans whose density falls off from the middle (Table VI)",
    "poses": "a scan turned about each axis by up to half a turn (Fig. rotation)",
    "x84": "outliers found by the X84 rule, and good points lost to it (Fig. X84)",
    "resampling": "what resampling keeps, and what the invariants see (Fig. resample, Fig. featVis)",
}
OURS = {
    "parts": "what masses and charges contribute to the published method, over pairs and seeds",
    "engine": "how often, how exactly and how fast our own method registers from any pose, beside other libraries",
    "sequences": "whole drives on a local map and frame by frame: drift and frames a second, beside other odometry",
    "multiway": "many scans to one set of poses, before and after the pose graph, with foreign scans among them",
    "confidence": "whether the verdict is right, on pairs that match and on clouds that do not; and the covariance",
}
EXPERIMENTS = {**PAPER, **OURS}
GROUPS = {"paper": tuple(PAPER), "all": tuple(EXPERIMENTS)}
