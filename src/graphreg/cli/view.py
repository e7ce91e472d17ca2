"""graphreg view: a registration in the browser, while it runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from graphreg.result import Result


def view(
    source: Annotated[Path, typer.Argument(metavar="SOURCE", help="The scan to move.")],
    target: Annotated[Path, typer.Argument(metavar="TARGET", help="The scan to lay it on.")],
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="Where Save writes the 4x4 matrix; by default SOURCE_T.txt.")
    ] = None,
    save_aligned: Annotated[
        Path | None, typer.Option(help="Where Save writes the moved source; by default SOURCE_moved.")
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen at. Others can only reach one of the network's.")] = (
        "127.0.0.1"
    ),
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Port to listen on; by default the first free one from 8080.")
    ] = None,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the browser where there is one.")
    ] = True,
    threads: Annotated[int | None, typer.Option(help="Threads to use, by default all.")] = None,
) -> None:
    """Watch SOURCE being laid on TARGET in the browser: start, pause, step, stop, move it by hand, save.

    Ctrl-C ends it.

    \b
    Examples:
      graphreg view source.ply target.ply
      graphreg view source.ply target.ply --no-browser --port 9000
      graphreg view a.laz b.laz -o T.txt --save-aligned moved.laz
    """
    import contextlib

    from graphreg.cli.progress import reading, working
    from graphreg.files import read_cloud
    from graphreg.reports.display_clouds import describe_pair
    from graphreg.reports.live import LiveRegistration, State, save_result, unused_paths
    from graphreg.reports.viewer import Viewer, free_port

    free_port(host, port)  # before anyone has waited for large files
    with reading(source.name) as show:
        moving = read_cloud(source, progress=show)
    with reading(target.name) as show:
        fixed = read_cloud(target, progress=show)

    def write_result(result: Result) -> str:
        free = unused_paths(source, Path())
        matrix, moved = out or free[0], save_aligned or free[1]
        save_result(result, moving, matrix, moved)
        return f"written: {matrix}, {moved}"

    with working("drawing"):
        samples = describe_pair(moving, fixed, threads)
    live = LiveRegistration(moving, fixed, threads)
    viewer = Viewer(live, samples, write_result, (source.name, target.name), host, port)
    try:
        with contextlib.suppress(KeyboardInterrupt):
            _announce(host, viewer.port, browser)
            viewer.run()
        typer.echo("ending, after the step that is being taken" if live.snapshot.state is State.RUNNING else "ended")
    finally:
        try:
            live.close()
        finally:
            viewer.close()


def _announce(host: str, port: int, browser: bool) -> None:
    """Say where it is to be seen, and from far away, how; open it where there is a screen."""
    import socket
    import webbrowser

    everywhere, loopback = host in ("0.0.0.0", "::"), host in ("127.0.0.1", "::1", "localhost")
    name = socket.gethostname() if everywhere else f"[{host}]" if ":" in host else host
    screen = _has_screen()
    lines = [f"open http://{name}:{port} in a browser; Ctrl-C ends it"]
    if not loopback:
        lines.append("anyone who can reach this address can look at the scans and use the controls")
    elif not screen:
        lines.append("from another machine, tunnel to it first, from there:")
        lines.append(f"  ssh -L {port}:{name}:{port} {_user()}@{socket.gethostname()}")
    typer.echo("\n".join(lines))
    if screen and browser:
        webbrowser.open(f"http://{'localhost' if everywhere else name}:{port}")


def _has_screen() -> bool:
    """Whether a browser that is opened here would be seen."""
    import os
    import sys

    if "SSH_CONNECTION" in os.environ:
        return False
    return sys.platform != "linux" or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _user() -> str:
    import getpass

    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):  # a container's user may have no name
        return "user"
