"""Our own charts as pixels: the SVG text that `charts` writes, drawn without a browser.

Only what those charts consist of is drawn: rectangles, straight lines, markers, text, and groups that are shifted.
"""

from __future__ import annotations

import re
from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
from scipy.spatial import cKDTree

from graphreg.clouds import Floats
from graphreg.errors import InputError
from graphreg.reports.letters import pen_path
from graphreg.reports.pictures import Image

SVG = "{http://www.w3.org/2000/svg}"
# Pixels for each unit of the drawing.
SCALE = 1.5
# Of the height of a capital to the size of a font, and to the unit of the pen's grid.
CAPITAL = 0.72
GRID = 6.0
BOLD = 1.5
# Steps along a curve.
ARC = 24


def drawn(text: str, scale: float = SCALE) -> Image:
    """The picture of a chart, (height, width, 3) uint8.

    scale  pixels for each unit of the drawing
    """
    try:
        root = ElementTree.fromstring(text)
        width, height = float(root.get("width", "")), float(root.get("height", ""))
    except (ElementTree.ParseError, ValueError) as problem:
        raise InputError("text: expected the SVG text of a chart") from problem
    canvas = _Canvas(width, height, scale)
    _draw(root, canvas, np.zeros(2), {})
    return canvas.image()


class _Canvas:
    def __init__(self, width: float, height: float, scale: float) -> None:
        self._scale = scale
        self._pixels = np.ones((round(height * scale), round(width * scale), 3))

    def image(self) -> Image:
        return np.asarray(np.round(255 * self._pixels), np.uint8)

    def fill(self, low: Floats, high: Floats, colour: str) -> None:
        """An upright rectangle."""
        left, top = np.round(low * self._scale).astype(int)
        right, bottom = np.round(high * self._scale).astype(int)
        self._pixels[top:bottom, left:right] = _rgb(colour)

    def polygon(self, corners: Floats, colour: str) -> None:
        """Its inside, by counting how often a ray to the right crosses its sides, at four places of each pixel."""
        corners = corners * self._scale
        low, high = np.floor(corners.min(axis=0)).astype(int), np.ceil(corners.max(axis=0)).astype(int) + 1
        place = np.moveaxis(np.mgrid[low[0] : high[0], low[1] : high[1]], 0, -1)
        cover = np.zeros(place.shape[:2])
        for off in ((0.25, 0.25), (0.25, 0.75), (0.75, 0.25), (0.75, 0.75)):
            x, y = np.moveaxis(place + off, -1, 0)
            inside = np.zeros(x.shape, bool)
            for (x1, y1), (x2, y2) in zip(corners, np.roll(corners, -1, axis=0), strict=True):
                crosses = (y1 > y) != (y2 > y)
                rise = np.where(y2 == y1, 1.0, y2 - y1)
                inside ^= crosses & (x < x1 + (y - y1) / rise * (x2 - x1))
            cover += inside / 4
        self._blend(low, cover, colour, 1.0)

    def dots(self, dots: Floats, width: float, colour: str, opacity: float = 1.0) -> None:
        """A pen of this width set down at places so close that they make a line."""
        dots, radius = dots * self._scale, width * self._scale / 2
        low = np.floor(dots.min(axis=0) - radius - 1).astype(int)
        high = np.ceil(dots.max(axis=0) + radius + 1).astype(int)
        place = np.moveaxis(np.mgrid[low[0] : high[0], low[1] : high[1]], 0, -1) + 0.5
        away = cKDTree(dots).query(place.reshape(-1, 2), distance_upper_bound=radius + 1)[0]
        self._blend(low, np.clip(radius + 0.5 - away, 0, 1).reshape(place.shape[:2]), colour, opacity)

    def line(self, corners: Floats, width: float, colour: str, opacity: float = 1.0) -> None:
        for one, other in pairwise(corners):
            steps = max(2, int(np.ceil(2 * self._scale * np.linalg.norm(other - one))))
            self.dots(one + np.linspace(0, 1, steps)[:, None] * (other - one), width, colour, opacity)

    def _blend(self, low: Floats, cover: Floats, colour: str, opacity: float) -> None:
        """Colour over what is there; cover is (x, y) from `low` on, and may reach beyond the picture."""
        height, width = self._pixels.shape[:2]
        x0, y0 = max(0, -int(low[0])), max(0, -int(low[1]))
        x1, y1 = min(cover.shape[0], width - int(low[0])), min(cover.shape[1], height - int(low[1]))
        if x0 >= x1 or y0 >= y1:
            return
        share = opacity * cover[x0:x1, y0:y1].T[..., None]
        part = self._pixels[int(low[1]) + y0 : int(low[1]) + y1, int(low[0]) + x0 : int(low[0]) + x1]
        part[:] = part * (1 - share) + _rgb(colour) * share


def _draw(element: ElementTree.Element, canvas: _Canvas, origin: Floats, above: dict[str, str]) -> None:
    """An element and what is in it. above: attributes that it takes from those around it."""
    told = {**above, **element.attrib}
    transform = element.get("transform", "")
    if transform.startswith("translate"):
        origin = origin + _numbers(transform)
    kind = element.tag.removeprefix(SVG)
    if kind == "rect":
        low = origin + [float(element.get(name, "0")) for name in ("x", "y")]
        high = low + [float(element.get(name, "0")) for name in ("width", "height")]
        if told.get("fill", "none") != "none":
            canvas.fill(low, high, told["fill"])
        if "stroke" in told:
            corners = np.array([low, [high[0], low[1]], high, [low[0], high[1]], low])
            canvas.line(corners, float(told.get("stroke-width", "1")), told["stroke"])
    elif kind == "polyline":
        corners = np.array(_numbers(element.get("points", ""))).reshape(-1, 2)
        canvas.line(origin + corners, float(told["stroke-width"]), told["stroke"])
    elif kind == "path":
        corners = origin + _path(element.get("d", ""))
        if "stroke" in element.attrib:
            opacity = float(told.get("stroke-opacity", "1"))
            canvas.line(corners, float(told.get("stroke-width", "1")), told["stroke"], opacity)
        else:
            canvas.polygon(corners, told["fill"])
    elif kind == "text":
        _write(canvas, element.text or "", origin, told)
    inherited: dict[str, str] = {name: told[name] for name in ("fill", "font-size") if name in told}
    for child in element:
        _draw(child, canvas, origin, inherited)


def _write(canvas: _Canvas, text: str, origin: Floats, told: dict[str, str]) -> None:
    dots, width = pen_path(text)
    if not len(dots):
        return
    size = CAPITAL * float(told["font-size"]) / GRID
    before = {"middle": width / 2, "end": width}.get(told.get("text-anchor", "start"), 0.0)
    # The pen's grid has its baseline at 2, and y upwards.
    placed = (dots - [before, 2.0]) * size * [1, -1]
    if told.get("transform", "").startswith("rotate(-90"):
        placed = placed[:, ::-1] * [1, -1]
    at = [float(told["x"]), float(told["y"])]
    bold = BOLD if told.get("font-weight") == "bold" else 1.0
    canvas.dots(origin + at + placed, 0.9 * size * bold, told["fill"])


def _path(text: str) -> Floats:
    """Corners of a path of the commands M, L, h, v, l, a (half circles) and z."""
    corners: list[Floats] = []
    for command, arguments in re.findall(r"([MLhvlaz])([^MLhvlaz]*)", text):
        numbers = _numbers(arguments)
        if command in "ML":
            corners.append(np.array(numbers))
        elif command in "hv":
            corners.append(corners[-1] + (np.array([numbers[0], 0.0]) if command == "h" else [0.0, numbers[0]]))
        elif command == "l":
            corners.append(corners[-1] + numbers)
        elif command == "a":
            # From a point of the circle half around it.
            end = corners[-1] + numbers[5:]
            middle, arm = (corners[-1] + end) / 2, (corners[-1] - end) / 2
            for angle in np.linspace(0, np.pi, ARC)[1:]:
                corners.append(middle + np.cos(angle) * arm + np.sin(angle) * np.array([-arm[1], arm[0]]))
    return np.array(corners)


def _numbers(text: str) -> list[float]:
    return [float(number) for number in re.findall(r"-?\d+\.?\d*(?:e-?\d+)?", text)]


def _rgb(colour: str) -> Floats:
    return np.array([int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)])
