"""graphreg bench: the experiments of the paper and of this library."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from graphreg.cli.options import Quiet, Verbose

try:
    from graphreg.bench import EXPERIMENTS, GROUPS
except ModuleNotFoundError:  # a published wheel is without them
    EXPERIMENTS, GROUPS = {}, {}

PAGE = "page"
NOT_INSTALLED = (
    "the experiments are not in this wheel, but in a clone of the repository and in the source distribution "
    "(`pip install --no-binary graphreg graphreg`)"
)


def bench(
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="NAME",
            help="\n\n".join(f"{name}: {what}" for name, what in EXPERIMENTS.items())
            + "\n\npaper: all experiments of the paper, from accuracy to resampling\n\nall: every experiment"
            + f"\n\n{PAGE}: only write page and figures of existing results, without measuring; with --data, also "
            "the pictures of scans" + ("" if EXPERIMENTS else f"\n\nNone can run: {NOT_INSTALLED}"),
        ),
    ],
    out: Annotated[
        Path, typer.Option("-o", "--out", help="Folder for the results (JSON, Markdown, SVG and PNG).")
    ] = Path("results"),
    data: Annotated[
        Path | None,
        typer.Option(envvar="GRAPHREG_DATA", help="Folder of real scans, to run the experiments on these too."),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Few runs on small synthetic scans: some minutes for all.")
    ] = False,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Repeat what an earlier run into the same folder has done.")
    ] = False,
    budget: Annotated[
        float | None,
        typer.Option(min=0, help="Seconds for each method in an experiment; skipped repetitions are reported."),
    ] = None,
    methods: Annotated[str | None, typer.Option(help="Only these methods, such as 'graphreg,icp'.")] = None,
    starts: Annotated[int | None, typer.Option(min=1, help="Initial poses of each pair (engine, confidence).")] = None,
    pairs: Annotated[
        str | None,
        typer.Option(help="Only pairs whose names match, such as '*dragon*,bunny*' (engine, confidence)."),
    ] = None,
    groups: Annotated[
        str | None, typer.Option(help="Only these groups of runs, such as 'ambiguous,fragments' (confidence).")
    ] = None,
    peers: Annotated[
        bool | None,
        typer.Option(help="Also run other libraries that are installed; default unless --quick."),
    ] = None,
    report: Annotated[Path | None, typer.Option(help="Write an HTML page of all results here.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON, by experiment.")] = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Run the experiments of the paper and of this library, and write tables and figures.

    An interrupted command resumes when it is run again.

    Exit status: 0 done, 2 bad input.

    \b
    Examples:
      graphreg bench all --quick
      graphreg bench accuracy outliers --out results --report results.html
      graphreg bench engine --starts 2 --pairs '*dragon*'
    """
    import json
    import os

    # Before numpy is imported: idle threads of OpenBLAS spin, and would compete with the method that is measured next.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

    from graphreg.argument_checks import check_choice
    from graphreg.errors import InputError

    if not EXPERIMENTS:
        raise InputError(NOT_INSTALLED)

    from graphreg.bench.results_files import read_results
    from graphreg.bench.results_page import write_page
    from graphreg.bench.results_report import write_report
    from graphreg.bench.runner import options_of, redraw, run_experiment
    from graphreg.cli.console import note, output
    from graphreg.cli.outputs import check_folder, check_outputs
    from graphreg.cli.progress import item_progress

    wanted: dict[str, None] = {}
    names = [check_choice("names", name, (*EXPERIMENTS, *GROUPS, PAGE)) for name in names]
    for name in names:
        wanted |= dict.fromkeys(GROUPS.get(name, (name,) if name != PAGE else ()))
    if data is not None and not data.is_dir():
        raise InputError(f"data: {data} is not a folder")
    check_folder(out)
    check_outputs(page=report)
    passed = {"methods": methods, "starts": starts, "pairs": pairs, "groups": groups, "peers": peers}
    options = {name: value for name, value in passed.items() if value is not None}
    known = {name: options_of(name) for name in wanted}
    for option in options:
        if not any(option in of for of in known.values()):
            raise InputError(f"{option}: not an option of {', '.join(names)}")
    results = {}
    for name in wanted:
        mine = {option: value for option, value in options.items() if option in known[name]}
        if quick and "peers" in known[name]:
            mine.setdefault("peers", False)
        try:
            page, *others = run_experiment(name, out, data, mine, quick, fresh, budget, item_progress)
        except KeyboardInterrupt as interrupt:
            raise KeyboardInterrupt("the same command without --fresh resumes it") from interrupt
        if as_json:
            results[name] = read_results(page.with_suffix(".json")).to_dict()
        else:
            output(page.read_text(encoding="utf-8"))
        note(f"written: {', '.join(map(str, (page, *others)))}, and the same as .json beside it")
    if PAGE in names and not wanted and (drawn := redraw(out, data)):
        note(f"written: {', '.join(map(str, drawn))}")
    note(f"written: {write_page(out)}")
    if report is not None:
        # The page of all existing results, whichever of them are new.
        write_report(out, None if PAGE in names else list(wanted), report)
        note(f"written: {report}")
    if as_json:
        typer.echo(json.dumps(results))
