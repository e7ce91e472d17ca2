"""Pictures of point clouds without a display: numpy in, PNG out.

image = panels([[(source, BLUE), (target, ORANGE)], [(moved, BLUE), (target, ORANGE)]], ["before", "after"])
write_png("registration.png", image)
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.ndimage import gaussian_filter, maximum_filter, minimum_filter

from graphreg.clouds import Floats, as_cloud
from graphreg.errors import InputError
from graphreg.files.output_file import atomic_write
from graphreg.reports.letters import draw_text

Image: TypeAlias = NDArray[np.uint8]
# Points with one colour for all (3,) or one for each (N, 3), red green blue from 0 to 1.
Coloured: TypeAlias = tuple[Any, ArrayLike]

BLUE = (0.13, 0.42, 0.72)
ORANGE = (0.93, 0.52, 0.13)
GREY = (0.62, 0.65, 0.70)
RED = (0.83, 0.18, 0.20)
PAPER = (0.985, 0.985, 0.98)
INK = (0.22, 0.24, 0.28)

# Samples a pixel in each direction; the average over them is what smooths the edges.
SAMPLES = 2
LARGEST_SIDE = 16384

# From deep blue through teal to yellow, lightness rising evenly, so that it reads in grey as well.
_SCALE = np.array(
    [
        [0.19, 0.17, 0.45],
        [0.18, 0.30, 0.58],
        [0.13, 0.43, 0.60],
        [0.13, 0.57, 0.57],
        [0.32, 0.70, 0.47],
        [0.64, 0.81, 0.33],
        [0.98, 0.90, 0.25],
    ]
)
# Turns the data so that the asked axis becomes z.
_UPRIGHT = {
    "x": np.array([[0.0, 1, 0], [0, 0, 1], [1, 0, 0]]),
    "y": np.array([[1.0, 0, 0], [0, 0, -1], [0, 1, 0]]),
    "z": np.eye(3),
}


@dataclass(frozen=True)
class Camera:
    """Where the picture is taken from.

    azimuth    degrees about z: at 0 the camera looks along +y, with x to the right
    elevation  degrees above the horizon
    up         the axis of the data that is up in the picture
    zoom       1 fits everything in
    """

    azimuth: float = 30.0
    elevation: float = 20.0
    up: str = "z"
    zoom: float = 1.0

    def axes(self) -> Floats:
        """Rows: right, up and towards the viewer, in the data's frame."""
        if self.up not in _UPRIGHT:
            raise InputError(f"camera: up is {self.up!r}, expected 'x', 'y' or 'z'")
        if not self.zoom > 0:
            raise InputError(f"camera: zoom is {self.zoom}, expected more than 0")
        turn, lift = np.radians(self.azimuth), np.radians(self.elevation)
        right = np.array([np.cos(turn), np.sin(turn), 0.0])
        viewer = np.array([np.sin(turn) * np.cos(lift), -np.cos(turn) * np.cos(lift), np.sin(lift)])
        rows = np.stack([right, np.cross(viewer, right), viewer])
        return np.asarray(rows @ _UPRIGHT[self.up])


def render(
    clouds: Sequence[Coloured],
    camera: Camera | None = None,
    size: tuple[int, int] = (800, 600),
    point_size: float | None = None,
) -> Image:
    """Draw clouds into one picture: (height, width, 3) uint8.

    clouds      (points, colour) each; a colour for all points (3,) or for each (N, 3), from 0 to 1
    camera      where from; parallel projection, everything is fitted in
    size        (width, height) in pixels
    point_size  diameter of a point in pixels; by default so large that surfaces close

    The nearest point wins each pixel, and gaps about as wide as a point are closed. Shape is made readable by
    a lamp and by darkening what lies behind its surroundings (eye-dome lighting); normals are not needed.
    """
    positions, colours = _gather(clouds)
    width, height = _checked(size)
    if point_size is not None and not 0 < point_size < 100:
        raise InputError(f"point_size: is {point_size}, expected between 0 and 100 pixels")
    camera = camera or Camera()
    view = positions @ camera.axes().T
    low, high = view.min(axis=0), view.max(axis=0)
    wide, tall = width * SAMPLES, height * SAMPLES
    extent = np.maximum(high[:2] - low[:2], 1e-12 * max(1.0, float(np.abs(view).max())))
    pixels = 0.92 * camera.zoom * min(wide / extent[0], tall / extent[1])
    flat = (view[:, :2] - (low[:2] + high[:2]) / 2) * pixels
    columns = np.floor(flat[:, 0] + wide / 2).astype(np.int64)
    rows = np.floor(tall / 2 - flat[:, 1]).astype(np.int64)
    depth = (high[2] - view[:, 2]) * pixels
    if point_size is None:
        point_size = _closing_size(rows, columns, wide, tall) / SAMPLES
    winner, seen = _splat(rows, columns, depth, wide, tall, point_size * SAMPLES)
    canvas = np.where((winner >= 0)[..., None], colours[winner], np.array(PAPER))
    canvas *= _shade(seen, point_size * SAMPLES)[..., None]
    smooth = canvas.reshape(height, SAMPLES, width, SAMPLES, 3).mean(axis=(1, 3))
    return np.asarray(np.round(255 * np.clip(smooth, 0, 1)), np.uint8)


def panels(
    scenes: Sequence[Sequence[Coloured]],
    captions: Sequence[str] = (),
    camera: Camera | Sequence[Camera] | None = None,
    size: tuple[int, int] = (1600, 600),
    point_size: float | None = None,
) -> Image:
    """Several pictures side by side, each with a short caption below it: (height, width, 3) uint8.

    scenes    what `render` takes, once for each panel
    captions  one for each panel, or none
    camera    one for all panels, or one for each
    size      (width, height) of the whole
    """
    width, height = _checked(size)
    if not len(scenes) or len(scenes) > width:
        raise InputError(f"scenes: holds {len(scenes)} panels for a picture {width} pixels wide")
    if captions and len(captions) != len(scenes):
        raise InputError(f"captions: holds {len(captions)} for {len(scenes)} panels")
    cameras = [camera] * len(scenes) if camera is None or isinstance(camera, Camera) else list(camera)
    if len(cameras) != len(scenes):
        raise InputError(f"camera: holds {len(cameras)} for {len(scenes)} panels")
    letter = max(8, round(height / 36))
    below = 3 * letter if captions else 0
    if below >= height:
        raise InputError(f"size: {height} pixels are not high enough for captions")
    edges = np.linspace(0, width, len(scenes) + 1).round().astype(int)
    image = np.empty((height, width, 3), np.uint8)
    image[:] = np.round(255 * np.array(PAPER))
    for k, scene in enumerate(scenes):
        left, right = int(edges[k]), int(edges[k + 1])
        image[: height - below, left:right] = render(scene, cameras[k], (right - left, height - below), point_size)
        if captions:
            draw_text(image[height - below :, left:right], captions[k], letter, INK)
    return image


def colour_map(values: ArrayLike, low: float | None = None, high: float | None = None) -> Floats:
    """Colours (N, 3) for one number a point, from deep blue (low) to yellow (high).

    The range is from the 2nd to the 98th percentile of the finite values unless given, so that a few wild
    values do not flatten the rest; beyond it the end colours hold. What is not finite is grey.
    """
    numbers = np.asarray(values, float)
    if numbers.ndim != 1:
        raise InputError(f"values: expected one number a point, shape (N,), got {numbers.shape}")
    finite = np.isfinite(numbers)
    if finite.any():
        least, most = np.quantile(numbers[finite], [0.02, 0.98])
        low, high = least if low is None else low, most if high is None else high
    span = (high or 0.0) - (low or 0.0)
    share = np.clip((np.where(finite, numbers, 0.0) - (low or 0.0)) / (span if span > 0 else 1.0), 0, 1)
    stops = np.linspace(0, 1, len(_SCALE))
    colours = np.stack([np.interp(share, stops, _SCALE[:, channel]) for channel in range(3)], axis=1)
    colours[~finite] = GREY
    return colours


def png(image: NDArray[Any]) -> bytes:
    """An (H, W, 3) uint8 image as the bytes of a PNG file."""
    pixels = np.asarray(image)
    if pixels.ndim != 3 or pixels.shape[2] != 3 or pixels.dtype != np.uint8 or 0 in pixels.shape:
        raise InputError(f"image: expected (H, W, 3) uint8, got {pixels.shape} {pixels.dtype}")
    height, width = pixels.shape[:2]
    # Filter 2 (up): each row less the one above, which on flat paper is all zeros and packs well.
    above = np.vstack([np.zeros_like(pixels[:1]), pixels[:-1]])
    rows = np.hstack([np.full((height, 1), 2, np.uint8), (pixels - above).reshape(height, -1)])
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        for kind, body in ((b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes(), 6)), (b"IEND", b""))
    )


def write_png(path: str | os.PathLike[str], image: NDArray[Any]) -> None:
    """Write an (H, W, 3) uint8 image as a PNG. The file appears whole or not at all."""
    content = png(image)
    with atomic_write(Path(path)) as output:
        output.file.write(content)


def _checked(size: tuple[int, int]) -> tuple[int, int]:
    try:
        width, height = (int(side) for side in size)
    except (TypeError, ValueError) as problem:
        raise InputError(f"size: is {size!r}, expected (width, height) in pixels") from problem
    if not (1 <= width <= LARGEST_SIDE and 1 <= height <= LARGEST_SIDE):
        raise InputError(f"size: is {width} x {height}, expected sides from 1 to {LARGEST_SIDE} pixels")
    return width, height


def _gather(clouds: Sequence[Coloured]) -> tuple[Floats, Floats]:
    if not len(clouds):
        raise InputError("clouds: holds nothing to draw")
    positions, colours = [], []
    for number, (points, colour) in enumerate(clouds):
        cloud = as_cloud(points, f"clouds[{number}]")
        paint = np.asarray(colour, float)
        if paint.shape not in ((3,), (len(cloud.kept), 3)) or not ((paint >= 0) & (paint <= 1)).all():
            raise InputError(
                f"clouds[{number}]: the colour has shape {paint.shape}, expected (3,) or "
                f"({len(cloud.kept)}, 3) with values from 0 to 1"
            )
        positions.append(cloud.points)
        colours.append(np.broadcast_to(paint, (len(cloud.kept), 3))[cloud.kept])
    return np.concatenate(positions), np.concatenate(colours)


def _closing_size(rows: NDArray[np.int64], columns: NDArray[np.int64], wide: int, tall: int) -> float:
    """A diameter in samples at which the dots of a surface just touch: from the area that the dots cover."""
    cell = 8 * SAMPLES
    inside = (rows >= 0) & (rows < tall) & (columns >= 0) & (columns < wide)
    cells = np.unique(rows[inside] // cell * (wide // cell + 1) + columns[inside] // cell)
    spacing = cell * np.sqrt(len(cells) / max(1, inside.sum()))
    return float(np.clip(2.0 * spacing, 1.5 * SAMPLES, 6 * SAMPLES))


def _splat(
    rows: NDArray[np.int64], columns: NDArray[np.int64], depth: Floats, wide: int, tall: int, diameter: float
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """The number of the point seen at each sample (-1: none), and its depth in samples (infinite: none).

    Depth and number share one integer, depth first, so that a single minimum finds the nearest point and
    breaks ties the same way every time.
    """
    bits = len(depth).bit_length()
    # Filters of images count in float64, which holds whole numbers up to 2^53.
    nothing = 2**53
    finest = (2.0 ** (53 - bits) - 1) / (float(depth.max()) + diameter + 1.0)
    nearest = np.full(tall * wide, nothing, np.int64)
    number = np.arange(len(depth))
    radius = diameter / 2
    reach = int(radius)
    for down in range(-reach, reach + 1):
        for across in range(-reach, reach + 1):
            off2 = down * down + across * across
            if off2 > radius * radius:
                continue
            r, c = rows + down, columns + across
            inside = (r >= 0) & (r < tall) & (c >= 0) & (c < wide)
            # Dots are domes: between two points of one surface the sample goes to the closer one.
            dome = radius - np.sqrt(radius * radius - off2)
            key = (((depth[inside] + dome) * finest).astype(np.int64) << bits) | number[inside]
            np.minimum.at(nearest, r[inside] * wide + c[inside], key)
    image = nearest.reshape(tall, wide)
    # What is seen only through gaps between the dots of a nearer surface is not meant to be seen.
    window = 2 * round(0.45 * diameter) + 1
    front = minimum_filter(image, window, mode="nearest")
    around = maximum_filter(front, window, mode="nearest")
    behind = (image >> bits) - (around >> bits) > int(2 * diameter * finest)
    image = np.where(behind, front, image)
    hit = image != nothing
    winner = np.where(hit, image & ((1 << bits) - 1), -1)
    return winner, np.where(hit, depth[winner], np.inf).astype(np.float32)


def _shade(seen: NDArray[np.float32], diameter: float) -> NDArray[np.float32]:
    """Light at each sample: a lamp over the viewer's left shoulder, less where neighbours are nearer."""
    hit = np.isfinite(seen)
    light = np.ones_like(seen)
    if not hit.any():
        return light
    # Depth smoothed over a few dots: what is left after this is shape, what it takes away is noise.
    weight = gaussian_filter(hit.astype(np.float32), diameter)
    filled = np.where(hit, seen, np.float32(0))
    smooth = gaussian_filter(filled, diameter) / np.maximum(weight, np.float32(1e-6))
    down, across = np.gradient(smooth)
    facing = (np.float32(0.80) + 0.45 * across + 0.40 * down) / np.sqrt(1 + across**2 + down**2)
    lamp = 0.62 + 0.45 * np.clip(facing, 0, 1)
    hidden = np.zeros_like(seen)
    for radius in (1.5 * diameter, 4 * diameter):
        step = max(1, round(radius))
        for down_by, across_by in ((step, 0), (-step, 0), (0, step), (0, -step)):
            beside = _shifted(smooth, hit, down_by, across_by)
            hidden += np.clip((smooth - beside) / step, 0, 2.5)
    light[hit] = (lamp * np.exp(-0.07 * hidden))[hit]
    return light


def _shifted(depth: NDArray[np.float32], hit: NDArray[np.bool_], down: int, across: int) -> NDArray[np.float32]:
    """The depth beside each sample; infinite where there is nothing."""
    tall, wide = depth.shape
    result = np.full_like(depth, np.inf)
    if abs(down) >= tall or abs(across) >= wide:
        return result
    to = slice(max(0, -down), tall - max(0, down)), slice(max(0, -across), wide - max(0, across))
    of = slice(max(0, down), tall - max(0, -down)), slice(max(0, across), wide - max(0, -across))
    result[to] = np.where(hit[of], depth[of], np.inf)
    return result
