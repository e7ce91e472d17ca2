"""Terrestrial laser scans of a facade, downsampled to 0.1 m (the paper's Table IV).

The paper measures on five pairs of the ETH data set that it does not name. Here are five pairs of four scans of the
same facade, whose ground truth was found by registration: it closes a loop of seven scans to 0.036 degrees and a
centimetre.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from graphreg.bench import comparison_runs
from graphreg.bench.comparison_runs import OURS, REGISTRATION_TIME, ROTATION_ERROR, Run, completed, methods_of
from graphreg.bench.comparison_statistics import Column, columns_by, tables_of
from graphreg.bench.comparison_wording import ranking, remarks
from graphreg.bench.measured_parts import ALL_METHODS, SYNTHETIC_SCANS
from graphreg.bench.pair_pictures import before_and_after
from graphreg.bench.pairs import pair_of, points_of
from graphreg.reports.pictures import Image

TITLE = "Terrestrial scans"
PARTS = (*ALL_METHODS, *SYNTHETIC_SCANS)
RUNS = 3
VOXEL = 0.1
REAL = ("eth_facade_3_to_2", "eth_facade_4_to_3", "eth_facade_5_to_4", "eth_facade_4_to_2", "eth_facade_5_to_3")
SYNTHETIC = ("synthetic_facade_20", "synthetic_facade_40", "synthetic_facade_60")
QUICK = ("synthetic_facade_40", "synthetic_facade_60")
# Rotation errors (degrees) and times (s) on the paper's five pairs.
DEGREES = {
    "icp": (11.6826, 2.8705, 5.4316, 2.0054, 6.0332),
    "icp-kp": (12.7025, 2.9106, 5.4488, 2.0283, 6.0734),
    "icp-kn": (9.1673, 4.0623, 9.4825, 3.3633, 7.2193),
    "gmm": (20.1567, 4.7727, 6.9385, 5.9180, 20.9932),
    "cpd": (2.6700, 2.5726, 13.4760, 9.9122, 8.1589),
    "ecm": (5.9759, 0.3724, 11.9003, 12.2728, 7.3281),
    "teaser": (1.8652, 0.8146, 2.3320, 5.3606, 4.2966),
    "fgr": (4.2284, 1.6893, 1.6398, 0.8089, 2.1304),
    "fricp": (2.4306, 2.8869, 0.4207, 2.7742, 1.8182),
    "pipl": (4.1883, 0.1031, 3.9591, 10.1872, 5.9874),
    "graphreg-paper": (1.6100, 0.0839, 1.9209, 1.6625, 1.3293),
}
SECONDS = {
    "icp": (0.3285, 0.2226, 0.2301, 0.2156, 0.2349),
    "icp-kp": (3.8016, 2.8928, 2.9445, 2.3750, 2.2919),
    "icp-kn": (3.9138, 2.9664, 3.0095, 2.4604, 2.3802),
    "gmm": (38.4033, 42.4362, 68.5586, 38.6081, 23.7734),
    "cpd": (47.0350, 26.9683, 24.2632, 37.4666, 18.4693),
    "ecm": (39.6100, 30.8803, 31.8921, 26.2225, 25.5012),
    "teaser": (1.193, 0.7606, 0.9601, 0.7401, 0.8913),
    "fgr": (0.5711, 0.3654, 0.4571, 0.3609, 0.4588),
    "fricp": (0.8287, 0.7960, 0.7540, 0.5212, 0.7080),
    "pipl": (0.4504, 0.5380, 0.5303, 0.4461, 0.4495),
    "graphreg-paper": (0.3584, 0.3357, 0.3415, 0.3419, 0.3412),
}

measure, left_out = comparison_runs.measure, comparison_runs.left_out


def jobs(data: Path | None, quick: bool = False, methods: str | None = None, peers: bool = True) -> list[Run]:
    """Return the runs, methods interleaved."""
    pairs = QUICK if quick else SYNTHETIC if data is None else REAL
    return [
        # Our method gets no voxel size. A quick scan is too sparse for the paper's voxels.
        Run(pair, method, seed, points=points_of(pair, quick),
            settings=() if quick or method == OURS else (("voxel", VOXEL),))
        for seed in range(1 if quick else RUNS)
        for pair in pairs
        for method in methods_of(methods, peers)
    ]  # fmt: skip


def columns(rows: Sequence[dict[str, Any]]) -> dict[str, Column]:
    """Return the groups of runs that the tables compare, by their titles."""
    degrees, seconds = ({name: sum(five) / len(five) for name, five in of.items()} for of in (DEGREES, SECONDS))
    everything = Column(
        lambda row: True, "mean of its five pairs", {ROTATION_ERROR: degrees, REGISTRATION_TIME: seconds}
    )
    return {**columns_by(rows, "pair"), "all pairs": everything}


def tables(rows: Sequence[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Return the tables by their headings."""
    five = [
        {"method": name, **{f"pair {number}": value for number, value in enumerate(values, 1)}}
        for name, values in DEGREES.items()
    ]
    return {**tables_of(rows, columns(rows)), "Rotation error on the paper's own pairs (degrees)": five}


def summary(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return statements about the results, one a line."""
    runs = 1 + max(row["seed"] for row in rows)
    voxel = f"{VOXEL} m" if any(row["settings"] for row in rows) else "1/200 of the longest side, as scans are sparse"
    means = {
        name: sum(row[ROTATION_ERROR] for row in mine) / len(mine)
        for name in (OURS, "graphreg-paper")
        if (mine := [row for row in completed(rows) if row["method"] == name])
    }
    return [
        f"{runs} runs for each pair and method (the paper: 10); voxel size of all methods but graphreg: {voxel}",
        "mean rotation error over all pairs (degrees): "
        + ", ".join(f"{name} {mean:.3g}" for name, mean in means.items())
        + f"; the paper on its pairs: {sum(DEGREES['graphreg-paper']) / 5:.3g}",
        *ranking(rows, columns(rows)),
        *remarks(rows),
    ]


def pictures(data: Path | None, quick: bool) -> dict[str, Image]:
    """Return rendered scans by the names of their files."""
    name = REAL[1] if data is not None else SYNTHETIC[2]
    return {"terrestrial": before_and_after(pair_of(name, data, points_of(name, quick)))}
