"""The paper's experiments and ours, one module each.

A module of an experiment has TITLE and PARTS (the code that its figures depend on), ``jobs(data, quick, ...)`` (what to
measure), ``measure(job, data)`` (the rows of a job), ``summary(rows)``, and optionally ``tables(rows)``,
``figures(rows)`` (SVG charts) and ``pictures(data, quick)`` (rendered scans). `runner` runs it, `run_log` stores
completed jobs, `results_files` and `results_page` write the results.
"""

from __future__ import annotations

PAPER = {
    "accuracy": "error and time of every method from the pose as scanned (the paper's Table I)",
    "noise": "the same under noise of up to 1.4 % (Fig. bunny)",
    "outliers": "the same with 30 % outliers (Table II)",
    "cooling": "the cool-down rate of annealing, on 300,000 points (Fig. hand)",
    "teapot": "low overlap: a lid to its teapot (Table III)",
    "annealing": "accuracy and time of adaptive and plain annealing (Fig. SA)",
    "terrestrial": "terrestrial laser scans of a facade (Table IV)",
    "odometry": "LiDAR odometry frame to frame: RPE and ATE of every method (Table V)",
    "density": "scans whose density falls off from the middle (Table VI)",
    "poses": "initial rotations about each axis by up to 180 degrees (Fig. rotation)",
    "x84": "outliers found by the X84 rule, and inliers lost to it (Fig. X84)",
    "resampling": "what resampling keeps, and the invariants of two scans (Fig. resample, Fig. featVis)",
}
OURS = {
    "clean": "what outlier removal loses of scans without outliers, and which outliers it finds, beside other filters",
    "parts": "what masses and charges contribute to the published method, over pairs and seeds",
    "engine": "recall, accuracy and time of our method from any initial pose, beside other libraries",
    "recall": "registration recall by the protocols of 3DMatch, 3DLoMatch, KITTI and ETH, beside other libraries and "
    "published figures",
    "scale": "sources of unknown scale, also photogrammetric ones, beside other libraries",
    "losses": "robust losses in ICP and in our refinement, under outliers, noise and partial overlap",
    "invariants": "the paper's invariants in every baseline: success and processor time with and without them",
    "cad": "scans of modelled parts and their CAD models: right or refused, deviations within the noise",
    "locate": "a small part in a large scene: crops, objects in clutter, several instances, a frame in a city",
    "deformation": "bodies that bend, twist and turn: error of both methods of deform, beside rigid registration and "
    "pycpd; the fitted constants of the verdict",
    "sequences": "LiDAR odometry on whole sequences: RPE, ATE, KITTI segment errors and frames a second, beside other "
    "libraries",
    "tracking": "calibration of the confidence of tracked frames, on walks that it was not fitted to; the fitted "
    "constants",
    "loops": "loop closure: drift before and after, wrong loops where all blocks are alike, memory over 5,000 frames",
    "localise": "frames in a prior map: from anywhere in a city, of another city, and a second sequence on a street",
    "multiway": "many scans to one set of poses, before and after the pose graph, with a foreign scan among them",
    "confidence": "calibration of confidence and covariance, on pairs that match and on clouds that do not; the fitted "
    "constants",
}
EXPERIMENTS = {**PAPER, **OURS}
GROUPS = {"paper": tuple(PAPER), "all": tuple(EXPERIMENTS)}
