"""Registration recall by the published protocols of 3DMatch, 3DLoMatch, KITTI and ETH, beside other libraries.

Every pair is registered once, its source in a random pose. Methods alternate on the same points. Other libraries get
a voxel size that suits the data set; ours gets nothing but the points. Each protocol is counted in all the ways that
it is published in: by errors of rotation and translation, of all pairs and as a mean over scenes; for 3DMatch also by
the RMSE of ground-truth correspondences, without pairs of consecutive fragments.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from graphreg.bench.comparison_runs import OURS, ROTATION_ERROR, Row, attempt, methods_of
from graphreg.bench.initial_poses import initial_poses
from graphreg.bench.measured_parts import ENGINE, SYNTHETIC_SCANS
from graphreg.bench.pairs import Pair, select
from graphreg.bench.peers import PEERS, describe_peers
from graphreg.bench.recall_protocols import PROTOCOLS, PUBLISHED, Protocol, pairs_of, rmse_of
from graphreg.clouds import Floats
from graphreg.metrics import angular_error, translation_error
from graphreg.poses import transform
from graphreg.reports.plots import Panel, plot_grid

TITLE = "Registration recall on public benchmarks"
PARTS = (*ENGINE, *SYNTHETIC_SCANS)
# Methods of other libraries that work from any pose.
GLOBAL_PEERS = ("kiss+gicp", "ransac+icp")
TRANSLATION_ERROR, RMSE = "translation error (m)", "correspondence RMSE (m)"
LARGEST_DRAWN, DRAWN = 1.5, 61  # of the tolerance; points of a line
PUBLISHED_TABLE = "Published by others, not measured here (recall in %)"


@dataclass(frozen=True)
class RecallRun:
    """One method on one pair of a protocol."""

    protocol: str
    pair: str
    method: str
    quick: bool = False


def jobs(
    data: Path | None,
    quick: bool = False,
    pairs: str | None = None,
    methods: str | None = None,
    peers: bool = True,
) -> list[RecallRun]:
    """Return the runs, methods interleaved."""
    names = [name for name in methods_of(methods, peers) if methods or name in (OURS, *GLOBAL_PEERS)]
    known = {pair: protocol for protocol, of in pairs_of(data, quick).items() for pair in of}
    chosen = select(known, pairs or "*")
    return [
        RecallRun(protocol, pair, method, quick)
        for protocol, of in pairs_of(data, quick).items()
        for pair in of
        if pair in chosen
        for method in names
    ]


def measure(run: RecallRun, data: Path | None) -> Iterator[dict[str, Any]]:
    """Yield the row of a run."""
    protocol, pair = PROTOCOLS[run.protocol], pairs_of(data, run.quick)[run.protocol][run.pair]
    source, target, truth = _scans(run.protocol, run.pair, data, run.quick)
    degrees, metres = protocol.tolerances[0]
    scans = Pair(
        name=run.pair, kind=protocol.kind, source=source, target=target, truth=truth, max_degrees=degrees,
        tolerance=metres, voxel=protocol.voxel,
    )  # fmt: skip
    _, start = initial_poses(run.pair, protocol.kind, source, 2)
    attempted = attempt(run.method, transform(start, source), target, scans, 0)
    found = attempted.found @ start
    rmse, origin = (None, None)
    if protocol.rmse is not None:
        rmse, origin = rmse_of(found, truth, source, target, pair.information)
    errors = angular_error(found, truth), translation_error(found, truth)
    yield {
        "protocol": run.protocol,
        "protocol version": protocol.version,
        "scene": pair.scene,
        "pair": run.pair,
        "consecutive": pair.consecutive,
        "method": run.method,
        "correct": not attempted.exception and errors[0] < degrees and errors[1] < metres,
        ROTATION_ERROR: errors[0],
        TRANSLATION_ERROR: errors[1],
        RMSE: rmse,
        "correspondences from": origin,
        "seconds": attempted.seconds,
        "exception": attempted.exception,
    }


def tables(rows: Sequence[Row]) -> dict[str, list[dict[str, Any]]]:
    """Return a table for each protocol, and one of the figures that others published."""
    found: dict[str, list[dict[str, Any]]] = {}
    for name in dict.fromkeys(row["protocol"] for row in rows):
        mine = [row for row in rows if row["protocol"] == name]
        found[f"{name} (recall in %)"] = [
            {"method": method, **_statistics(PROTOCOLS[name], [row for row in mine if row["method"] == method])}
            for method in dict.fromkeys(row["method"] for row in mine)
        ]
    published = [
        {"protocol": name, "method": method, "counted": counted, "recall": recall, "source": source}
        for name, figures in PUBLISHED.items()
        if any(row["protocol"] == name for row in rows)
        for method, counted, recall, source in figures
    ]
    return {**found, PUBLISHED_TABLE: published} if published else found


def summary(rows: Sequence[Row]) -> list[str]:
    """Return statements about the results, one a line."""
    lines = [
        "every source in a random pose: any rotation and a translation of up to a diameter; outdoors any heading, "
        "up to 10 degrees of tilt and a tenth of the diameter; times: the whole call, all cores",
        *describe_peers({name: PEERS[name] for name in GLOBAL_PEERS}, {row["method"] for row in rows}),
    ]
    for name in dict.fromkeys(row["protocol"] for row in rows):
        protocol, mine = PROTOCOLS[name], [row for row in rows if row["protocol"] == name]
        scenes = list(dict.fromkeys(row["scene"] for row in mine))
        lines.append(
            f"{name}, version {protocol.version} ({protocol.reference}): {len({row['pair'] for row in mine})} pairs; "
            f"scenes: {', '.join(scenes)}; voxel size of other libraries {protocol.voxel:g} m"
        )
        if origins := {row["correspondences from"] for row in mine} - {None}:
            lines.append(
                f"{name}: RMSE over ground-truth correspondences ({', '.join(sorted(origins))}), without pairs of "
                "consecutive fragments"
            )
        if name == "KITTI 10 m":
            lines.append(f"{name}: ground truth as the data set provides it, not refined by ICP as in the publications")
    exceptions = [row for row in rows if row["exception"]]
    if exceptions:
        lines.append(f"exceptions, which count as failures: {len(exceptions)}")
    return lines


def figures(rows: Sequence[Row]) -> dict[str, str]:
    """Return a chart (SVG) of the recall over the rotation and translation errors that count as registered."""
    panels = []
    for name in dict.fromkeys(row["protocol"] for row in rows):
        degrees, metres = PROTOCOLS[name].tolerances[0]
        for error, limit, unit in ((ROTATION_ERROR, degrees, "degrees"), (TRANSLATION_ERROR, metres, "m")):
            limits, series = np.linspace(0, LARGEST_DRAWN * limit, DRAWN), {}
            for method in dict.fromkeys(row["method"] for row in rows):
                of_method = [row for row in rows if (row["protocol"], row["method"]) == (name, method)]
                errors = np.array([np.inf if row["exception"] else row[error] for row in of_method])
                series[method] = limits, [100 * float(np.mean(errors <= one)) for one in limits]
            kind = error.split()[0]
            panels.append(Panel(series, f"{name}: {kind}", f"{kind} error of at most ({unit})", "% of the pairs"))
    return {"recall": plot_grid(panels, "recall", columns=2)}


def _statistics(protocol: Protocol, rows: Sequence[Row]) -> dict[str, Any]:
    """Recall by every definition of the protocol, median errors of what is registered, and times."""
    figures: dict[str, Any] = {"pairs": len(rows)}
    for degrees, metres in protocol.tolerances:
        name = f"{degrees:g} deg, {metres:g} m"
        registered = [
            not row["exception"] and row[ROTATION_ERROR] < degrees and row[TRANSLATION_ERROR] < metres for row in rows
        ]
        figures[name], figures[f"{name}, mean of scenes"] = _recall(rows, registered)
    if protocol.rmse is not None:
        name = f"RMSE {protocol.rmse:g} m"
        counted = [row for row in rows if row[RMSE] is not None and not row["consecutive"]]
        registered = [not row["exception"] and row[RMSE] <= protocol.rmse for row in counted]
        figures[name], figures[f"{name}, mean of scenes"] = _recall(counted, registered)
    correct = [row for row in rows if row["correct"]]
    for error in (ROTATION_ERROR, TRANSLATION_ERROR):
        figures[f"median {error}"] = float(np.median([row[error] for row in correct])) if correct else None
    figures["median (s)"] = float(np.median([row["seconds"] for row in rows]))
    figures["max (s)"] = max(row["seconds"] for row in rows)
    return figures


def _recall(rows: Sequence[Row], registered: Sequence[bool]) -> tuple[float | None, float | None]:
    """Recall over all pairs, and its mean over scenes, in per cent."""
    if not rows:
        return None, None
    scenes: dict[str, list[bool]] = {}
    for row, one in zip(rows, registered, strict=True):
        scenes.setdefault(row["scene"], []).append(one)
    return 100 * float(np.mean(registered)), 100 * float(np.mean([np.mean(of) for of in scenes.values()]))


@lru_cache(maxsize=2)
def _scans(protocol: str, pair: str, data: Path | None, quick: bool) -> tuple[Floats, Floats, Floats]:
    """The clouds of a pair and the true transform, read once for all methods."""
    return pairs_of(data, quick)[protocol][pair].read()
