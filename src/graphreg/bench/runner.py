"""Run an experiment by its name: measure its jobs, then write tables, charts and pictures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

from graphreg.bench import EXPERIMENTS, peers
from graphreg.bench.results_files import Results, read_results, write_markdown, write_results
from graphreg.bench.run_log import RunLog, run
from graphreg.errors import InputError
from graphreg.provenance import fingerprint, machine, measured_now, package_versions
from graphreg.registration import METHODS
from graphreg.reports.pictures import write_png
from graphreg.reports.plots import require_matplotlib, write_svg

# Seconds that the runs of a method may take together in an experiment that sets no BUDGET of its own.
DEFAULT_BUDGET, QUICK_BUDGET = 20.0, 1.0
QUICK_REMARK = "a quick run: few runs, on small synthetic scans"


def options_of(experiment: str) -> set[str]:
    """Return the names of the options of an experiment, beside those that all have."""
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
    """Measure what the log of earlier runs does not have, and write all results.

    Parameters
    ----------
    experiment : str
        Name of the experiment.
    out : Path
        Folder for the results and the log.
    data : Path or None
        Folder with real scans.
    options : dict
        Options of the experiment.
    quick : bool
        Whether to make few runs on small synthetic scans.
    fresh : bool
        Whether to discard the log of earlier runs.
    budget : float or None
        Seconds that the runs of a method may take together; None for the experiment's default.
    each : callable
        (jobs, name, number of jobs) -> the jobs, to show progress.

    Returns
    -------
    list of Path
        Files that were written, the Markdown page first.

    Raises
    ------
    InputError
        If the experiment has no such option.
    """
    module = import_module(f"graphreg.bench.{experiment}")
    if unknown := options.keys() - options_of(experiment):
        raise InputError(f"{min(unknown)}: no option of {experiment}")
    if hasattr(module, "figures"):
        require_matplotlib()
    data = None if quick else data
    jobs = module.jobs(data, quick=quick, **options)
    methods = list(dict.fromkeys(job.method for job in jobs if hasattr(job, "method")))
    versions = {**peers.versions(methods), **(module.peer_versions(jobs) if hasattr(module, "peer_versions") else {})}
    limit = budget
    if limit is None:
        limit = QUICK_BUDGET if quick else getattr(module, "BUDGET", DEFAULT_BUDGET)
    setting = {**package_versions(), **machine(), **versions, "code": fingerprint(*module.PARTS)}
    log = RunLog(out / f"{experiment}.runs.jsonl", setting, fresh)
    try:
        measured = run(
            each(jobs, experiment, len(jobs)),
            lambda job: module.measure(job, data),
            log,
            limit,
            getattr(module, "left_out", None),
        )
        rows = [row for of_job in measured for row in of_job]
    finally:
        log.close()
    # Runs that were left out count in the tables; in the files they would be rows without content.
    made = [row for row in rows if row.get("correct", True) is not None]
    about = {
        "budget in seconds": limit if methods else None,
        "not run": len(rows) - len(made),
        "seeds": sorted({row["seed"] for row in made if "seed" in row}),
        "methods": {name: asdict(METHODS[name].settings) for name in methods if name in METHODS},
    }
    tables = getattr(module, "tables", None)
    summary = [*([QUICK_REMARK] if quick else ()), *module.summary(rows)]
    provenance = measured_now(_command(experiment, data, options, quick, budget), module.PARTS, versions)
    results = Results(module.TITLE, provenance, summary, made, tables and tables(rows), about)
    page = write_results(out, experiment, results)
    files = [*_write_figures(module, out, rows), *_write_pictures(module, out, data, quick)]
    write_markdown(out, experiment, results)  # again, now that there are figures to open it with
    return [page, *files]


def redraw(out: Path, data: Path | None) -> list[Path]:
    """Draw the figures of all experiments again from their recorded rows, without measuring.

    Parameters
    ----------
    out : Path
        Folder of results.
    data : Path or None
        Folder with real scans; with it, pictures of scans are rendered again as well.

    Returns
    -------
    list of Path
        Files that were written.
    """
    written = []
    for name in EXPERIMENTS:
        path = out / f"{name}.json"
        if path.exists():
            module = import_module(f"graphreg.bench.{name}")
            results = read_results(path)
            written += _write_figures(module, out, results.rows)
            written += _write_pictures(module, out, data, False) if data is not None else []
            write_markdown(out, name, results)
    return written


def _write_figures(module: Any, out: Path, rows: Sequence[Any]) -> list[Path]:
    written = []
    for name, text in module.figures(rows).items() if hasattr(module, "figures") else ():
        write_svg(out / f"{name}.svg", text)
        written.append(out / f"{name}.svg")
    return written


def _write_pictures(module: Any, out: Path, data: Path | None, quick: bool) -> list[Path]:
    written = []
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
