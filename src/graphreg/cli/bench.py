"""graphreg bench: the paper's experiments, each a command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from graphreg.bench import EXPERIMENTS, GROUPS
from graphreg.cli.console import Quiet, Verbose

PAGE = "page"


def bench(
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="NAME",
            help="\n\n".join(f"{name}: {what}" for name, what in EXPERIMENTS.items())
            + "\n\npaper: all of the paper's, down to resampling\n\nall: every one"
            + f"\n\n{PAGE}: only write the page on the results that are there",
        ),
    ],
    out: Annotated[
        Path, typer.Option("-o", "--out", help="Folder for the results (JSON, Markdown, SVG and PNG).")
    ] = Path("results"),
    data: Annotated[
        Path | None, typer.Option(envvar="GRAPHREG_DATA", help="Folder with real scans, to measure on these too.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Few runs on small scans that we make: minutes for all.")
    ] = False,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Measure all anew, also what an earlier run into the same folder has done.")
    ] = False,
    budget: Annotated[
        float | None,
        typer.Option(min=0, help="Seconds that a method may take in an experiment; repeats left out then are told."),
    ] = None,
    methods: Annotated[str | None, typer.Option(help="Only these methods, such as 'graphreg,icp'.")] = None,
    starts: Annotated[
        int | None, typer.Option(min=1, help="Poses to register each pair from (engine, confidence).")
    ] = None,
    pairs: Annotated[
        str | None,
        typer.Option(help="Only pairs with names like these, such as '*dragon*,bunny*' (engine, confidence)."),
    ] = None,
    peers: Annotated[
        bool | None,
        typer.Option(help="Measure other libraries too, where they are installed; by default unless --quick."),
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="Write all that was measured as one page that opens in any browser (HTML).")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the results as JSON, by the name of the experiment.")
    ] = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Rerun experiments and write their tables, figures and a page on all of them.

    Stopped at any moment, the same command goes on where it was.

    \b
    Examples:
      graphreg bench all --quick
      graphreg bench accuracy outliers --out results --report results.html
      graphreg bench engine --starts 2 --pairs '*dragon*'
    """
    import json

    from graphreg.bench.results_files import read_results
    from graphreg.bench.results_page import write_page
    from graphreg.bench.results_report import write_report
    from graphreg.bench.runner import options_of, run_experiment
    from graphreg.cli.console import note, tell
    from graphreg.cli.outputs import check_folder, check_outputs
    from graphreg.cli.progress import each
    from graphreg.errors import InputError

    wanted: dict[str, None] = {}
    for name in names:
        if name not in (*EXPERIMENTS, *GROUPS, PAGE):
            raise InputError(f"name: expected one of {', '.join((*EXPERIMENTS, *GROUPS, PAGE))}, got {name!r}")
        wanted |= dict.fromkeys(GROUPS.get(name, (name,) if name != PAGE else ()))
    if data is not None and not data.is_dir():
        raise InputError(f"data: {data} is no folder")
    check_folder(out)
    check_outputs(page=report)
    given = {"methods": methods, "starts": starts, "pairs": pairs, "peers": peers}
    options = {name: value for name, value in given.items() if value is not None}
    known = {name: options_of(name) for name in wanted}
    for option in options:
        if not any(option in of for of in known.values()):
            raise InputError(f"{option}: no option of {', '.join(names)}")
    results = {}
    for name in wanted:
        mine = {option: value for option, value in options.items() if option in known[name]}
        if quick and "peers" in known[name]:
            mine.setdefault("peers", False)
        try:
            page, *others = run_experiment(name, out, data, mine, quick, fresh, budget, each)
        except KeyboardInterrupt:
            note(f"graphreg: {name} stopped; the same command without --fresh goes on where it was")
            raise
        if as_json:
            results[name] = read_results(page.with_suffix(".json")).to_dict()
        else:
            tell(page.read_text(encoding="utf-8"))
        note(f"written: {', '.join(map(str, (page, *others)))}, and the same as .json beside it")
    note(f"written: {write_page(out)}")
    if report is not None:
        # The page on all that is there, whatever of it is measured anew.
        write_report(out, None if PAGE in names else list(wanted), report)
        note(f"written: {report}")
    if as_json:
        typer.echo(json.dumps(results))
