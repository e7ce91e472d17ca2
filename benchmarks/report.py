"""Time to write a report, beside that of the registration, and its size.

python benchmarks/report.py --out docs/results
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

from scaling import APART, START, ground

from graphreg import register, report
from graphreg.bench.measured_parts import ENGINE
from graphreg.bench.results_files import Results, write_results
from graphreg.poses import transform
from graphreg.provenance import measured_now, script_command
from graphreg.reports.pictures import write_png
from graphreg.reports.previews import before_and_after

SIZES = (10_000, 100_000, 1_000_000, 2_000_000, 5_000_000)
ROUNDS = 3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("results"))
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    args = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        page, picture = Path(folder, "report.html"), Path(folder, "before_after.png")
        for size in args.sizes:
            source, target = transform(START, ground(size, APART, 1)), ground(size, 0.0, 2)
            times = []
            for _ in range(args.rounds):
                began = time.perf_counter()
                result = register(source, target)
                registered = time.perf_counter()
                report(result, source, target, page)
                written = time.perf_counter()
                write_png(picture, before_and_after(result, source, target))
                times.append((registered - began, written - registered, time.perf_counter() - written))
            registering, reporting, drawing = (statistics.median(column) for column in zip(*times, strict=True))
            rows.append(
                {
                    "points of each scan": size,
                    "registration (s)": registering,
                    "report (s)": reporting,
                    "report (MB)": page.stat().st_size / 1e6,
                    "picture (s)": drawing,
                    "picture (MB)": picture.stat().st_size / 1e6,
                }
            )
    summary = [f"medians of {args.rounds}; report and picture are written after the registration"]
    results = Results("Reports", measured_now(script_command(), (*ENGINE, "reports")), summary, rows)
    print(write_results(args.out, "report", results).read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
