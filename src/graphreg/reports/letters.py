"""A small alphabet of pen strokes, for captions in pictures.

A letter is strokes separated by "|"; a stroke is points "xy" on a grid with the baseline at y = 2, small
letters
up to 6, capitals up to 8, tails down to 0. A stroke that begins with "~" is a smooth curve through its
points.
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
WORD_GAP = 3


def draw_text(image: NDArray[np.uint8], text: str, height: int, ink: ArrayLike) -> None:
    """Write `text` centred into `image`, in place; `height` is that of a capital, in pixels.

    Text too wide for the image is drawn smaller. A character that the alphabet lacks leaves a gap.
    """
    dots, width = pen_path(text)
    if not len(dots):
        return
    scale = min(height / 6, 0.96 * image.shape[1] / (width + 2))
    dots = (dots - [width / 2, 5]) * scale * [1, -1] + [image.shape[1] / 2, image.shape[0] / 2]
    rows, columns = np.mgrid[: image.shape[0], : image.shape[1]]
    pixels = np.stack([columns.ravel(), rows.ravel()], axis=1) + 0.5
    pen = 0.42 * scale
    away = cKDTree(dots).query(pixels, distance_upper_bound=pen + 1)[0]
    cover = np.clip(pen + 0.5 - away, 0, 1).reshape(image.shape[:2])[..., None]
    image[:] = np.round(image * (1 - cover) + 255 * np.asarray(ink, float) * cover).astype(np.uint8)


def pen_path(text: str) -> tuple[Floats, float]:
    """Closely spaced dots along all strokes, and the width of the line, in grid units."""
    pieces: list[Floats] = []
    at = 0.0
    for letter in text:
        if letter not in STROKES:
            at += WORD_GAP
            continue
        strokes = STROKES[letter].split("|")
        for stroke in strokes:
            knots = np.array([[at + int(knot[0]), int(knot[1])] for knot in stroke.lstrip("~").split()])
            pieces.append(_dots(knots, smooth=stroke.startswith("~")))
        at += max(int(knot[0]) for stroke in strokes for knot in stroke.lstrip("~").split()) + 2
    return (np.concatenate(pieces) if pieces else np.empty((0, 2))), max(at - 2, 0.0)


def _dots(knots: Floats, smooth: bool) -> Floats:
    share = np.linspace(0, len(knots) - 1, 24 * (len(knots) - 1) + 1)
    k = np.minimum(share.astype(int), len(knots) - 2)
    t = (share - k)[:, None]
    if not smooth:
        return np.asarray(knots[k] * (1 - t) + knots[k + 1] * t)
    # Catmull-Rom; a closed stroke goes on smoothly through its first point.
    closed = np.array_equal(knots[0], knots[-1])
    before, after = (knots[-2], knots[1]) if closed else (knots[0], knots[-1])
    p = np.vstack([before, knots, after])
    a, b, c, d = p[k], p[k + 1], p[k + 2], p[k + 3]
    curve = 2 * b + (c - a) * t + (2 * a - 5 * b + 4 * c - d) * t**2 + (3 * (b - c) + d - a) * t**3
    return np.asarray(curve / 2)
