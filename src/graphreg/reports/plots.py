"""Figures of the experiments and of the documentation, by matplotlib (extra `plots`).

One style for all: a method has the same colour, line and marker in every figure. A figure is SVG text without a
background; its ink is light where the page is dark. Pages that must open without matplotlib use `charts`.

Examples
--------
>>> panel = Panel({"graphreg": ([0, 1, 2], [0.1, 0.2, 0.1])}, "Noise", "noise (%)", "rotation error (°)", log_y=True)
>>> plot_grid([panel], "noise").startswith("<?xml")
True
"""

from __future__ import annotations

import io
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from graphreg.errors import InputError
from graphreg.files.optional_libraries import import_library
from graphreg.files.output_file import atomic_write

# Colours that differ from each other, and from light and from dark paper.
BLUE, ORANGE, RED, GREEN, PURPLE = "#2f7ed8", "#e8862b", "#d9484b", "#2f9e6e", "#9163b8"
TEAL, BROWN, PINK, OLIVE, SLATE = "#1ba3b5", "#a9743d", "#d665a5", "#9a9a2a", "#8a93a0"
CYCLE = (BLUE, ORANGE, RED, GREEN, PURPLE, TEAL, BROWN, PINK, OLIVE, SLATE)
# Ink on light paper and on dark.
INK, PALE_INK = "#383d47", "#dfe3ea"
GRID, PALE_GRID = "#d5d9e0", "#454b57"
# Width and height of a panel, in inches of 72 pixels.
PANEL = (4.6, 3.4)
MARKERS = "osD^vPX*<>"
SOLID, DASHED = "-", (0, (5, 2))
# {method: (colour, line, marker)}; those that one figure compares differ in colour.
METHODS: dict[str, tuple[str, Any, str]] = {
    **{
        name: (colour, SOLID, marker)
        for name, colour, marker in zip(
            ("graphreg", "graphreg-paper", "pipl", "icp", "icp-kp", "icp-kn", "tricp", "fricp", "gmm", "cpd"),
            (BLUE, ORANGE, RED, GREEN, TEAL, PURPLE, BROWN, PINK, OLIVE, SLATE),
            MARKERS,
            strict=True,
        )
    },
    **{
        name: (colour, DASHED, marker)
        for name, colour, marker in zip(
            ("ecm", "fgr", "teaser", "super4pcs", "gicp", "kiss+gicp", "open3d-icp", "fgr+icp", "ransac+icp"),
            (ORANGE, RED, GREEN, PURPLE, TEAL, BROWN, PINK, OLIVE, SLATE),
            MARKERS[1:],
            strict=True,
        )
    },
    "graphreg, map": (BLUE, SOLID, "o"),
    "graphreg, pairs": (BLUE, DASHED, "o"),
    "graphreg locate": (BLUE, SOLID, "o"),
    "graphreg register": (BLUE, DASHED, "o"),
    "kiss-icp": (RED, SOLID, "s"),
    "gicp, map": (TEAL, SOLID, "D"),
    "gicp, pairs": (TEAL, DASHED, "D"),
    "ground truth": (INK, (0, (1, 1)), ""),
}
# Lines with more points have no markers, which would hide them.
MAX_MARKERS = 30
LEGEND_COLUMNS = 3
# Over a smaller ratio of its ends, a logarithmic axis has labels between the powers of ten.
FEW_DECADES = 200.0
STYLE = {
    "axes.edgecolor": INK,
    "axes.grid": True,
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "figure.constrained_layout.use": True,
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Helvetica Neue", "Arial"],
    "font.size": 9.5,
    "grid.color": GRID,
    "grid.linewidth": 0.7,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "lines.linewidth": 1.8,
    "lines.markersize": 4.5,
    "svg.fonttype": "none",
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}
# Over these colours of the style sheet the page's own theme wins.
ADAPTED = "".join(
    f'[style*="{which}: {light}"]{{{which}:{dark}!important}}'
    for light, dark in ((INK, PALE_INK), (GRID, PALE_GRID))
    for which in ("fill", "stroke")
)


@dataclass(frozen=True)
class Panel:
    """One chart of a figure.

    Attributes
    ----------
    series : mapping of str to (array_like, array_like)
        {name: (x, y)}; points are joined in their order. A method has its own colour, others one by their order.
    title, x_label, y_label : str
    log_y : bool, default False
        Logarithmic y axis.
    floor : float, optional
        Smaller values of a logarithmic axis are open triangles at its lower end, which is labelled as "below".
    equal : bool, default False
        Equal scales on both axes, as on a map.
    bars : bool, default False
        The y of each series is one number, drawn as a bar with the name beside it; x is not used.
    """

    series: Mapping[str, tuple[ArrayLike, ArrayLike]]
    title: str
    x_label: str
    y_label: str
    log_y: bool = False
    floor: float | None = None
    equal: bool = False
    bars: bool = False


def plot_grid(panels: Sequence[Panel], name: str, columns: int | None = None) -> str:
    """Draw charts side by side, row by row. The same input gives the same text.

    Parameters
    ----------
    panels : sequence of Panel
    name : str
        Name of the figure; seeds the identifiers inside it.
    columns : int, optional
        Charts in a row, by default all.

    Returns
    -------
    str
        SVG text.

    Raises
    ------
    InputError
        If there is nothing to draw.
    MissingExtraError
        If matplotlib is not installed.
    """
    require_matplotlib()
    import matplotlib
    from matplotlib.figure import Figure

    if not panels:
        raise InputError("panels: expected one or more, got none")
    across = min(columns or len(panels), len(panels))
    down = math.ceil(len(panels) / across)
    with matplotlib.rc_context({**matplotlib.rcParamsDefault, **STYLE, "svg.hashsalt": name, "backend": "svg"}):
        figure = Figure(figsize=(PANEL[0] * across, PANEL[1] * down))
        for number, panel in enumerate(panels, 1):
            _draw(figure.add_subplot(down, across, number), panel)
        return _svg(figure)


def require_matplotlib() -> None:
    """Raise a `MissingExtraError` where matplotlib is not installed."""
    import_library("matplotlib", "drawing figures", "plots")


def write_svg(path: str | os.PathLike[str], text: str) -> None:
    """Write SVG text. The file is replaced as a whole or not at all."""
    with atomic_write(Path(path)) as output:
        output.file.write(text.encode())


def _svg(figure: Any) -> str:
    stream = io.StringIO()
    figure.savefig(stream, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    head, tag, rest = stream.getvalue().partition("<defs>")
    sheet = f"<style>@media (prefers-color-scheme: dark){{{ADAPTED}}}</style>"
    text = f"{head}{sheet}\n {tag}{rest}"
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"


def _draw(axes: Any, panel: Panel) -> None:
    if panel.bars:
        _draw_bars(axes, panel)
    else:
        _draw_lines(axes, panel)
    axes.set_xlabel(panel.x_label)
    axes.set_ylabel(panel.y_label)
    if panel.bars:
        axes.grid(visible=False, axis="y")
    axes.set_axisbelow(True)


def _draw_lines(axes: Any, panel: Panel) -> None:
    marked = all(len(np.atleast_1d(np.asarray(x))) <= MAX_MARKERS for x, _ in panel.series.values())
    any_below = False
    for name, (colour, line, marker), x, y in _styled(panel.series):
        ours = name.startswith("graphreg") and not name.startswith("graphreg-")
        below = np.zeros(len(y), bool) if panel.floor is None else y < panel.floor
        if panel.floor is not None:
            y = np.maximum(y, panel.floor)
        axes.plot(
            x, y, color=colour, linestyle=line, marker=marker if marked else "", label=name, zorder=3 if ours else 2,
            linewidth=2.6 if ours else None, markevery=np.flatnonzero(~below).tolist(),
        )  # fmt: skip
        if below.any():
            any_below = True
            axes.plot(
                x[below], y[below], color=colour, linestyle="", marker="v", markersize=8, fillstyle="none",
                clip_on=False, zorder=4,
            )  # fmt: skip
    if panel.equal:
        axes.set_aspect("equal", adjustable="datalim")
    if panel.log_y:
        axes.set_yscale("log")
        _label_decades(axes.yaxis, panel.floor if any_below else None)
        if any_below:
            axes.set_ylim(bottom=panel.floor)
    rows = 0
    if len(panel.series) > 1:
        axes.legend(
            loc="lower left", bbox_to_anchor=(0, 1.0), ncols=LEGEND_COLUMNS, borderaxespad=0.2, borderpad=0.2,
            columnspacing=1.2, handlelength=2.2,
        )  # fmt: skip
        rows = math.ceil(len(panel.series) / LEGEND_COLUMNS)
    axes.set_title(panel.title, pad=6 + 14.5 * rows)


def _draw_bars(axes: Any, panel: Panel) -> None:
    names = list(panel.series)[::-1]
    values = {name: float(np.asarray(y).ravel()[0]) for name, (_, y) in panel.series.items()}
    for name, (colour, _, _), _, _ in _styled(panel.series):
        axes.barh(names.index(name), values[name], color=colour, height=0.7)
    axes.set_yticks(range(len(names)), names)
    axes.tick_params(axis="y", length=0)
    if panel.log_y:
        axes.set_xscale("log")
        _label_decades(axes.xaxis, None)
    for name, value in values.items():
        axes.annotate(
            f"{value:.3g}", (value, names.index(name)), (4, 0), textcoords="offset points", va="center", fontsize=9
        )
    axes.margins(x=0.15)
    axes.set_title(panel.title)


def _styled(
    series: Mapping[str, tuple[ArrayLike, ArrayLike]],
) -> Iterator[tuple[str, tuple[str, Any, str], Any, Any]]:
    # Of other series alone, so that they have the same colours beside a method and without it.
    others = [name for name in series if name not in METHODS]
    cycle = {
        name: (CYCLE[number % len(CYCLE)], SOLID, MARKERS[number % len(MARKERS)]) for number, name in enumerate(others)
    }
    for name, (xs, ys) in series.items():
        style = METHODS.get(name) or cycle[name]
        x, y = np.atleast_1d(np.asarray(xs, float)), np.atleast_1d(np.asarray(ys, float))
        yield name, style, x, y


def _label_decades(axis: Any, floor: float | None) -> None:
    """Label powers of ten in plain digits, and over few decades 2 and 5 times these; at the floor, "below"."""
    low, high = sorted(axis.get_view_interval())

    def text(value: float, _: Any) -> str:
        return f"below {value:g}" if floor is not None and math.isclose(value, floor) else f"{value:g}"

    def minor(value: float, position: Any) -> str:
        digit = round(value / 10 ** math.floor(math.log10(value) + 1e-9))
        return text(value, position) if digit in (2, 5) and high < low * FEW_DECADES else ""

    axis.set_major_formatter(text)
    axis.set_minor_formatter(minor)
