"""From the name of an experiment to its files: jobs, runs that can be gone on with, tables, figures, pictures."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

from graphreg.bench import peers
from graphreg.bench.results_files import Results, write_results
from graphreg.bench.run_log import Log, run
from graphreg.errors import InputError
from graphreg.provenance import fingerprint, machine, measured_now, package_versions
from graphreg.registration import METHODS
from graphreg.reports.charts import write_svg
from graphreg.reports.pictures import write_png

# Seconds that the runs of a method may take together in an experiment, where it does not say otherwise.
BUDGET, QUICK_BUDGET = 20.0, 1.0


def options_of(experiment: str) -> set[str]:
    """What can be asked of an experiment, beside what can be asked of all."""
    return set(signature(import_module(f"graphreg.bench.{experiment}").jobs).parameters) - {"data", "quick"}


def run_experiment(
    experiment: str,
    out: Path,
    data: Path | None,
    options: dict[str, Any],
    quick: bool,
    fresh: bool,
    budget: float | None,
    each: Callable[[list[Any], str, int], Iterable[Any]],
) -> list[Path]:
    """Do what is still to be done, and write what all of it comes to. Returns the files, the one to read first.

    data     folder with real scans, or None
    options  of the experiment
    quick    small, and on scans that we make
    fresh    forget what was measured before
    budget   seconds that the runs of a method may take together
    each     (jobs, name, how many) -> the jobs: shows how far it has come
    """
    module = import_module(f"graphreg.bench.{experiment}")
    if unknown := options.keys() - options_of(experiment):
        raise InputError(f"{min(unknown)}: no option of {experiment}")
    data = None if quick else data
    jobs = module.jobs(data, quick=quick, **options)
    methods = list(dict.fromkeys(job.method for job in jobs if hasattr(job, "method")))
    versions = {**peers.versions(methods), **(module.peer_versions(jobs) if hasattr(module, "peer_versions") else {})}
    setting = {**package_versions(), **machine(), **versions, "code": fingerprint(*module.PARTS)}
    limit = budget
    if limit is None:
        limit = QUICK_BUDGET if quick else getattr(module, "BUDGET", BUDGET)
    log = Log(out / f"{experiment}.runs.jsonl", setting, fresh)
    try:
        done = run(
            each(jobs, experiment, len(jobs)),
            lambda job: module.measure(job, data),
            log,
            limit,
            getattr(module, "left_out", None),
        )
        rows = [row for some in done for row in some]
    finally:
        log.close()
    # Those that were left out are counted in the tables; here they would only fill the files.
    made = [row for row in rows if row.get("right", True) is not None]
    about = {
        "budget in seconds": limit if methods else None,
        "not run": len(rows) - len(made),
        "seeds": sorted({row["seed"] for row in made if "seed" in row}),
        "methods": {name: asdict(METHODS[name].settings) for name in methods if name in METHODS},
    }
    tables = getattr(module, "tables", None)
    summary = [*(["a quick run: few runs, on small scans of our own"] if quick else ()), *module.summary(rows)]
    provenance = measured_now(_command(experiment, data, options, quick, budget), module.PARTS, versions)
    results = Results(module.TITLE, provenance, summary, made, tables and tables(rows), about)
    page = write_results(out, experiment, results)
    return [page, *_write_pictures(module, out, rows, data, quick)]


def _write_pictures(module: Any, out: Path, rows: list[Any], data: Path | None, quick: bool) -> list[Path]:
    written = []
    for name, text in module.figures(rows).items() if hasattr(module, "figures") else ():
        write_svg(out / f"{name}.svg", text)
        written.append(out / f"{name}.svg")
    for name, image in module.pictures(data, quick).items() if hasattr(module, "pictures") else ():
        write_png(out / f"{name}.png", image)
        written.append(out / f"{name}.png")
    return written


def _command(experiment: str, data: Path | None, options: dict[str, Any], quick: bool, budget: float | None) -> str:
    """What to type to measure it again."""
    words = ["graphreg", "bench", experiment, *(["--quick"] if quick else ())]
    for name, value in options.items():
        words += [f"--{'' if value else 'no-'}{name}"] if isinstance(value, bool) else [f"--{name}", f"'{value}'"]
    words += [] if budget is None else ["--budget", f"{budget:g}"]
    return " ".join([*words, *([] if data is None else ["--data", "FOLDER"])])
