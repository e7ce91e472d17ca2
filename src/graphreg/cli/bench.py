"""graphreg bench: the paper's experiments, each a command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from graphreg.cli.voice import Quiet, Verbose

EXPERIMENTS = {
    "x84": "outliers found by the X84 rule, and good points lost to it (the paper's Fig. X84)",
    "annealing": "accuracy and time of adaptive and plain annealing over the cool-down rate (Fig. SA and Fig. hand)",
    "parts": "what masses and charges contribute to the published method, over pairs and seeds",
    "engine": "how often, how exactly and how fast our own method registers, from any pose, beside other libraries",
    "turns": "the pose test: a scan turned about each axis by up to half a turn, beside local methods",
    "confidence": "whether the verdict is right, on pairs that match and on clouds that do not; and the covariance",
}


def bench(
    experiment: Annotated[str, typer.Argument(help="; ".join(f"{name}: {what}" for name, what in EXPERIMENTS.items()))],
    out: Annotated[
        Path, typer.Option("-o", "--out", help="Folder for the results (JSON, CSV, Markdown and SVG).")
    ] = Path("results"),
    data: Annotated[
        Path | None, typer.Option(envvar="GRAPHREG_DATA", help="Folder with real scans, to measure on these too.")
    ] = None,
    starts: Annotated[int | None, typer.Option(min=1, help="Poses to register each pair from.")] = None,
    pairs: Annotated[
        str | None, typer.Option(help="Only pairs with names like these, such as 'dragon*,bunny*'.")
    ] = None,
    peers: Annotated[bool | None, typer.Option(help="Measure other libraries too, where they are installed.")] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the results as JSON, by the name of the experiment.")
    ] = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Rerun an experiment and write its table, and its figures where it has some.

    \b
    Examples:
      graphreg bench x84 --out results
      graphreg bench engine --starts 2 --pairs 'dragon*'
    """
    import json
    from collections.abc import Callable
    from importlib import import_module
    from inspect import signature
    from typing import Any

    from graphreg.bench.tables import write_table
    from graphreg.cli.outputs import check_folder
    from graphreg.cli.progress import each
    from graphreg.cli.voice import note, tell
    from graphreg.errors import InputError
    from graphreg.reports.charts import write_svg

    if experiment not in EXPERIMENTS:
        raise InputError(f"experiment: expected one of {', '.join(EXPERIMENTS)}, got {experiment!r}")
    if data is not None and not data.is_dir():
        raise InputError(f"data: {data} is no folder")
    check_folder(out)
    module = import_module(f"graphreg.bench.{experiment}")
    options = {"starts": starts, "pairs": pairs, "peers": peers}
    given = {name: value for name, value in options.items() if value is not None}
    if unknown := given.keys() - signature(module.jobs).parameters.keys():
        raise InputError(f"{min(unknown)}: no option of {experiment}")
    jobs = module.jobs(data, **given)
    rows = [row for job in each(jobs, experiment, len(jobs)) for row in module.measure(job)]
    table: Callable[[list[dict[str, Any]]], list[dict[str, Any]]] | None = getattr(module, "table", None)
    shown = None if table is None else table(rows)
    written = write_table(out, experiment, module.TITLE, module.summary(rows), rows, shown)
    if as_json:
        typer.echo(json.dumps({experiment: json.loads(written.with_suffix(".json").read_text(encoding="utf-8"))}))
    else:
        tell(written.read_text(encoding="utf-8"))
    note(f"written: {written}, and .json and .csv beside it")
    figures: Callable[[list[dict[str, Any]]], dict[str, str]] | None = getattr(module, "figures", None)
    if figures is not None:
        for name, text in figures(rows).items():
            write_svg(out / name, text)
            note(f"written: {out / name}")
