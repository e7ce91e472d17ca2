"""The paper's pose test: two scans of the dragon, one of them turned about each axis by up to half a turn."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from graphreg.bench.pairs import pair_of
from graphreg.bench.peers import LOCAL, installed, told
from graphreg.poses import pose, rotation_from_vector, transform
from graphreg.registration import register
from graphreg.reports.charts import charts_side_by_side, line_chart

TITLE = "Turned about each axis"
SCANNED, MADE = "dragon_24_to_0", "made_dragon_30"
AXES = ("x", "y", "z")
ANGLES = range(-180, 181, 5)
# Within so many degrees counts as registered.
REGISTERED = 2.0
# In charts, smaller errors are drawn as this: a logarithmic axis has no zero.
LEAST_DRAWN = 1e-3
OURS = "graphreg"


@dataclass(frozen=True)
class Job:
    """One axis, one angle."""

    axis: str
    angle: int
    peers: bool
    data: Path | None


def jobs(data: Path | None, peers: bool = True) -> list[Job]:
    return [Job(axis, angle, peers, data) for axis in AXES for angle in ANGLES]


def measure(job: Job) -> Iterator[dict[str, Any]]:
    pair = pair_of(MADE if job.data is None else SCANNED, job.data)
    centre = pair.source.mean(axis=0)
    turn = rotation_from_vector(np.radians(job.angle) * np.eye(3)[AXES.index(job.axis)])
    start = pose(turn, centre - turn @ centre)
    source = transform(start, pair.source)
    peers = installed(LOCAL) if job.peers else {}
    for name in (OURS, *peers):
        began = time.perf_counter()
        if name == OURS:
            found = register(source, pair.target).transformation
        else:
            found = np.asarray(peers[name].run(source, pair.target, pair.voxel, pair.kind), np.float64)
        seconds = time.perf_counter() - began
        degrees, _ = pair.errors(found @ start)
        yield {
            "pair": pair.name,
            "axis": job.axis,
            "angle": job.angle,
            "method": name,
            "degrees": degrees,
            "seconds": seconds,
        }


def table(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    lines = []
    for method in dict.fromkeys(row["method"] for row in rows):
        for axis in (*dict.fromkeys(row["axis"] for row in rows), "all"):
            mine = [row for row in rows if row["method"] == method and axis in (row["axis"], "all")]
            errors = [row["degrees"] for row in mine]
            lines.append(
                {
                    "method": method,
                    "axis": axis,
                    "registered": f"{sum(error < REGISTERED for error in errors)} of {len(errors)}",
                    "median degrees": float(np.median(errors)),
                    "worst degrees": max(errors),
                    "median s": float(np.median([row["seconds"] for row in mine])),
                }
            )
    return lines


def summary(rows: Sequence[dict[str, Any]]) -> list[str]:
    return [
        f"{rows[0]['pair']}, the source turned about its centroid; registered: under {REGISTERED:g} degrees off",
        *told(LOCAL, {row["method"] for row in rows}),
        *(
            f"{line['method']}: {line['registered']} registered, at worst {line['worst degrees']:.3g} degrees off"
            for line in table(rows)
            if line["axis"] == "all"
        ),
    ]


def figures(rows: Sequence[dict[str, Any]]) -> dict[str, str]:
    """The error over the angle, a chart for each axis: {file name: SVG text}."""
    charts = []
    for axis in dict.fromkeys(row["axis"] for row in rows):
        series = {}
        for method in dict.fromkeys(row["method"] for row in rows):
            mine = [row for row in rows if (row["axis"], row["method"]) == (axis, method)]
            errors = [max(row["degrees"], LEAST_DRAWN) for row in mine]
            series[method] = [row["angle"] for row in mine], errors
        charts.append(line_chart(series, f"about {axis}", "turned by (degrees)", "error (degrees)", log_y=True))
    return {"turns.svg": charts_side_by_side(charts)}
