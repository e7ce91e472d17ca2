"""graphreg view: a live registration in the browser."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from graphreg.cli.options import Threads

if TYPE_CHECKING:
    from graphreg.result import Result


def view(
    source: Annotated[Path, typer.Argument(metavar="SOURCE", help="The scan to transform.")],
    target: Annotated[Path, typer.Argument(metavar="TARGET", help="The scan to align it with.")],
    out: Annotated[
        Path | None,
        typer.Option(
            "-o", "--out", help="File that Save writes the transform to, x_target = T x_source; default SOURCE_T.txt."
        ),
    ] = None,
    save_aligned: Annotated[
        Path | None,
        typer.Option(
            help="File that Save writes the transformed source to; default SOURCE_moved, in the format of SOURCE."
        ),
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 for access from other machines.")] = (
        "127.0.0.1"
    ),
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Port to listen on; default the first free one from 8080.")
    ] = None,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open a browser if there is a display.")
    ] = True,
    threads: Threads = None,
) -> None:
    """Show a registration live in the browser.

    The page has controls to start, pause, step and stop the registration, to move SOURCE by hand, and to save the
    result. Ctrl-C stops the server.

    Exit status: 0 stopped, 2 bad input.

    \b
    Examples:
      graphreg view source.ply target.ply
      graphreg view source.ply target.ply --no-browser --port 9000
      graphreg view a.laz b.laz -o T.txt --save-aligned moved.laz
    """
    import contextlib

    from graphreg.cli.progress import byte_progress, spinner
    from graphreg.files import read_cloud
    from graphreg.reports.display_clouds import describe_pair
    from graphreg.reports.live import LiveRegistration, State, save_result, unused_paths
    from graphreg.reports.viewer import Viewer, free_port

    free_port(host, port)  # before large files are read
    with byte_progress(f"reading {source.name}") as show:
        moving = read_cloud(source, progress=show)
    with byte_progress(f"reading {target.name}") as show:
        fixed = read_cloud(target, progress=show)

    folder = Path.cwd()

    def write_result(result: Result) -> str:
        free = unused_paths(source, folder)
        matrix, moved = folder / (out or free[0]), folder / (save_aligned or free[1])
        save_result(result, moving, matrix, moved)
        return f"written: {out or matrix.name}, {save_aligned or moved.name}"

    with spinner("drawing"):
        samples = describe_pair(moving, fixed, threads)
    live = LiveRegistration(moving, fixed, threads)
    viewer = Viewer(live, samples, write_result, (source.name, target.name), host, port)
    try:
        with contextlib.suppress(KeyboardInterrupt):
            _announce(host, viewer.port, viewer.query, browser)
            viewer.run()
        typer.echo("stopping after the current iteration" if live.snapshot.state is State.RUNNING else "stopped")
    finally:
        try:
            live.close()
        finally:
            viewer.close()


def _announce(host: str, port: int, query: str, browser: bool) -> None:
    """Print the address, and how to reach it from another machine; open a browser if there is a display."""
    import socket
    import webbrowser

    everywhere, loopback = host in ("0.0.0.0", "::"), host in ("127.0.0.1", "::1", "localhost")
    name = socket.gethostname() if everywhere else f"[{host}]" if ":" in host else host
    display = _has_display()
    lines = [f"open http://{name}:{port}/{query} in a browser; Ctrl-C stops the server"]
    if not loopback:
        lines.append("anyone who has this address can see the scans and use the controls; it is not encrypted")
    elif not display:
        lines.append("to open it from another machine, run there:")
        lines.append(f"  ssh -L {port}:{name}:{port} {_user()}@{socket.gethostname()}")
    typer.echo("\n".join(lines))
    if display and browser:
        webbrowser.open(f"http://{'localhost' if everywhere else name}:{port}/{query}")


def _has_display() -> bool:
    """Whether a browser opened here would be visible."""
    import os
    import sys

    if "SSH_CONNECTION" in os.environ:
        return False
    return sys.platform != "linux" or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _user() -> str:
    import getpass

    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):  # the user of a container may have no name
        return "user"
