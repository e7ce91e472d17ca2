"""Text and scale bars on rendered pictures, drawn by Pillow (extra `plots`).

Pictures need no text to be of use: where Pillow is missing they are written without it, and `can_write` says so.
"""

from __future__ import annotations

import math
from importlib.util import find_spec

import numpy as np
from numpy.typing import ArrayLike, NDArray

# Height of a capital over the size of Pillow's own font, and smallest size at which it can be read, in pixels.
CAPITAL, SMALLEST = 0.7, 9
# A scale bar is about this share of the picture's width, and has these round lengths times a power of ten.
BAR_SHARE, BAR_LENGTHS = 0.2, (1, 2, 5)


def can_write() -> bool:
    """Return whether Pillow is installed, without which pictures have no text."""
    return find_spec("PIL") is not None


def draw_text(image: NDArray[np.uint8], text: str, height: int, ink: ArrayLike) -> None:
    """Write text into the centre of an image, in place; text too wide for the image is written smaller.

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
    if not can_write() or not text.strip():
        return
    from PIL import Image, ImageDraw, ImageFont

    rows, columns = image.shape[:2]
    size = height / CAPITAL
    width = ImageDraw.Draw(Image.new("L", (1, 1))).textlength(text, ImageFont.load_default(size))
    size = max(SMALLEST, size * min(1.0, 0.94 * columns / max(width, 1)))
    cover = Image.new("L", (columns, rows))
    # The middle of the line is that of its capitals, so that captions beside each other share a baseline.
    at = columns / 2, rows / 2 + CAPITAL * size / 2
    ImageDraw.Draw(cover).text(at, text, 255, ImageFont.load_default(size), anchor="ms")
    _blend(image, np.asarray(cover) / 255, ink)


def draw_scale_bar(image: NDArray[np.uint8], pixels: float, unit: str, ink: ArrayLike) -> None:
    """Draw a bar of a round length into the lower left corner of an image, in place, with its length above it.

    Parameters
    ----------
    image : (H, W, 3) uint8 ndarray
        Changed in place.
    pixels : float
        Pixels to a unit of length.
    unit : str
        Name of the unit.
    ink : (3,) array_like
        Red, green and blue from 0 to 1.
    """
    rows, columns = image.shape[:2]
    length = round_length(BAR_SHARE * columns / pixels)
    margin, thick = max(4, rows // 40), max(2, rows // 200)
    capital = max(7, rows // 45)
    right = margin + round(length * pixels)
    if not can_write() or right >= columns or rows < 3 * margin + 2 * capital:
        return
    cover = np.zeros((rows, columns))
    cover[rows - margin - thick : rows - margin, margin:right] = 1
    for end in (margin, right - thick):
        cover[rows - margin - 3 * thick : rows - margin, end : end + thick] = 1
    _blend(image, cover, ink)
    label = image[rows - margin - 3 * thick - 2 * capital : rows - margin - 3 * thick, : right + margin]
    draw_text(label, f"{length:g} {unit}".strip(), capital, ink)


def round_length(length: float) -> float:
    """Return the largest of 1, 2, 5, 10, ... times a power of ten that does not exceed a length."""
    power = 10.0 ** math.floor(math.log10(length))
    return max(factor * power for factor in BAR_LENGTHS if factor * power <= length * (1 + 1e-9))


def _blend(image: NDArray[np.uint8], cover: NDArray[np.float64], ink: ArrayLike) -> None:
    image[:] = np.round(image * (1 - cover[..., None]) + 255 * np.asarray(ink, float) * cover[..., None])
