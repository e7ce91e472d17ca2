"""A stroke font for captions in pictures.

A glyph is a list of strokes separated by "|". A stroke is a list of points "xy" on a grid with the baseline at y = 2,
the x-height at 6, capitals up to 8 and descenders down to 0. A stroke that begins with "~" is a smooth curve through
its points, any other one is a polyline.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial import cKDTree

from graphreg.clouds import Floats

STROKES = {
    "a": "~45 26 05 03 22 43|46 42", "b": "08 02|~03 22 43 45 26 05", "c": "~45 26 05 03 22 43",
    "d": "48 42|~43 22 03 05 26 45", "e": "04 44|~44 45 26 05 03 22 43", "f": "~38 28 17 15|15 12|06 36",
    "g": "~45 26 05 03 22 43|46 41|~41 20 01", "h": "08 02|~04 05 26 45 44|44 42", "i": "06 02|08 08",
    "j": "26 21|~21 10 00|28 28", "k": "08 02|36 04 32", "l": "08 02",
    "m": "06 02|~04 05 16 35 34|34 32|~34 35 46 65 64|64 62", "n": "06 02|~04 05 26 45 44|44 42",
    "o": "~26 05 03 22 43 45 26", "p": "06 00|~05 26 45 43 22 03", "q": "46 40|~45 26 05 03 22 43",
    "r": "06 02|~04 05 26 36", "s": "~45 26 05 24 43 22 03", "t": "18 13|~13 22 32|06 36",
    "u": "06 04|~04 03 22 43|46 42", "v": "06 22 46", "w": "06 12 36 52 66", "x": "06 42|46 02",
    "y": "06 22|46 10", "z": "06 46 02 42",
    "A": "02 28 42|14 34", "B": "02 08 28|~28 47 46 25|05 25|~25 44 43 22|22 02", "C": "~47 28 06 04 22 43",
    "D": "02 08 18|~18 36 34 12|12 02", "E": "48 08 02 42|05 35", "F": "48 08 02|05 35",
    "G": "~47 28 06 04 22 43|43 45 25", "H": "08 02|48 42|05 45", "I": "08 02", "J": "38 34|~34 33 12 03",
    "K": "08 02|48 05 42", "L": "08 02 42", "M": "02 08 34 68 62", "N": "02 08 42 48",
    "O": "~28 06 04 22 44 46 28", "P": "02 08 28|~28 47 46 25|25 05", "Q": "~28 06 04 22 44 46 28|33 51",
    "R": "02 08 28|~28 47 46 25|25 05|25 42", "S": "~47 28 07 25 43 22 03", "T": "08 48|28 22",
    "U": "08 04|~04 03 22 43 44|44 48", "V": "08 22 48", "W": "08 12 36 52 68", "X": "08 42|48 02",
    "Y": "08 25 48|25 22", "Z": "08 48 02 42",
    "0": "~28 07 03 22 43 47 28", "1": "07 28 22", "2": "~07 28 47 35 02|02 42",
    "3": "~07 28 47 25|~25 43 22 03",
    "4": "32 38 04 44", "5": "48 08 05|~05 26 44 22 03", "6": "~47 28 05 03 22 43 44 25 04", "7": "08 48 12",
    "8": "~28 07 25 43 22 03 25 47 28", "9": "~03 22 45 47 28 07 06 25 46",
    ".": "02 02", ",": "12 01", ":": "02 02|05 05", "-": "04 34", "+": "05 45|27 23", "=": "04 44|06 46",
    "%": "02 48|~07 18 17 07|~33 43 42 32 33", "°": "~07 18 27 16 07", "(": "~19 07 03 11",
    ")": "~09 17 13 01",
    "/": "02 38", "<": "47 05 43", ">": "07 45 03", "_": "01 41", "'": "08 07",
    "→": "05 55|37 55 33",
}  # fmt: skip
# Width of a space, and of a character that the font lacks, in grid units.
SPACE_WIDTH = 3
# Grid units between two glyphs.
GLYPH_GAP = 2
# Dots for each segment between two points of a stroke.
DOTS_PER_SEGMENT = 24
# Height of a capital, radius of the pen, and vertical middle of a line of text, in grid units.
CAPITAL_HEIGHT, PEN_RADIUS, MIDDLE = 6, 0.42, 5


def draw_text(image: NDArray[np.uint8], text: str, height: int, ink: ArrayLike) -> None:
    """Write text into the centre of an image, in place.

    Text too wide for the image is written smaller. A character that the font lacks leaves a gap.

    Parameters
    ----------
    image : (H, W, 3) uint8 ndarray
        Changed in place.
    text : str
    height : int
        Height of a capital in pixels.
    ink : (3,) array_like
        Red, green and blue from 0 to 1.
    """
    dots, width = stroke_dots(text)
    if not len(dots):
        return
    scale = min(height / CAPITAL_HEIGHT, 0.96 * image.shape[1] / (width + 2))
    dots = (dots - [width / 2, MIDDLE]) * scale * [1, -1] + [image.shape[1] / 2, image.shape[0] / 2]
    rows, columns = np.mgrid[: image.shape[0], : image.shape[1]]
    pixels = np.stack([columns.ravel(), rows.ravel()], axis=1) + 0.5
    pen = PEN_RADIUS * scale
    distance = cKDTree(dots).query(pixels, distance_upper_bound=pen + 1)[0]
    cover = np.clip(pen + 0.5 - distance, 0, 1).reshape(image.shape[:2])[..., None]
    image[:] = np.round(image * (1 - cover) + 255 * np.asarray(ink, float) * cover).astype(np.uint8)


def stroke_dots(text: str) -> tuple[Floats, float]:
    """Place closely spaced dots along all strokes of a text.

    Returns
    -------
    dots : (N, 2) ndarray
        x to the right and y upwards, in grid units.
    width : float
        Width of the text in grid units.
    """
    dots: list[Floats] = []
    left = 0.0
    for character in text:
        if character not in STROKES:
            left += SPACE_WIDTH
            continue
        strokes = [
            (stroke.startswith("~"), np.array([[int(point[0]), int(point[1])] for point in stroke.lstrip("~").split()]))
            for stroke in STROKES[character].split("|")
        ]
        dots += [_dots_along(points + np.array([left, 0.0]), smooth) for smooth, points in strokes]
        left += max(points[:, 0].max() for _, points in strokes) + GLYPH_GAP
    return (np.concatenate(dots) if dots else np.empty((0, 2))), max(left - GLYPH_GAP, 0.0)


def _dots_along(points: Floats, smooth: bool) -> Floats:
    at = np.linspace(0, len(points) - 1, DOTS_PER_SEGMENT * (len(points) - 1) + 1)
    k = np.minimum(at.astype(int), len(points) - 2)
    t = (at - k)[:, None]
    if not smooth:
        return np.asarray(points[k] * (1 - t) + points[k + 1] * t)
    # Catmull-Rom spline; a closed stroke is smooth at its first point as well.
    closed = np.array_equal(points[0], points[-1])
    before, after = (points[-2], points[1]) if closed else (points[0], points[-1])
    p = np.vstack([before, points, after])
    a, b, c, d = p[k], p[k + 1], p[k + 2], p[k + 3]
    curve = 2 * b + (c - a) * t + (2 * a - 5 * b + 4 * c - d) * t**2 + (3 * (b - c) + d - a) * t**3
    return np.asarray(curve / 2)
