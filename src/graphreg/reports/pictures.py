"""Software rendering of point clouds, without a display: numpy arrays in, PNG files out.

Examples
--------
>>> points = np.random.default_rng(0).normal(size=(500, 3))
>>> panels([[(points, BLUE)], [(points, ORANGE)]], ["source", "target"], size=(320, 120)).shape
(120, 320, 3)
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
from graphreg.reports.picture_text import draw_scale_bar, draw_text

Image: TypeAlias = NDArray[np.uint8]
# Points and their colour: (3,) for all points or (N, 3) for each, red, green and blue from 0 to 1.
Coloured: TypeAlias = tuple[Any, ArrayLike]

BLUE = (0.13, 0.42, 0.72)
ORANGE = (0.93, 0.52, 0.13)
GREY = (0.62, 0.65, 0.70)
RED = (0.83, 0.18, 0.20)
PAPER = (0.985, 0.985, 0.98)
INK = (0.22, 0.24, 0.28)

# Samples a pixel in each direction; averaging them is the antialiasing.
SAMPLES = 2
MAX_PIXELS = 16384
# Share of the picture that the clouds fill.
FILL = 0.92

# From deep blue through teal to yellow, with evenly rising lightness, so that it is readable in greyscale.
_PALETTE = np.array(
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
# Rotations after which the named axis of the data is z.
_UPRIGHT = {
    "x": np.array([[0.0, 1, 0], [0, 0, 1], [1, 0, 0]]),
    "y": np.array([[1.0, 0, 0], [0, 0, -1], [0, 1, 0]]),
    "z": np.eye(3),
}


@dataclass(frozen=True)
class Camera:
    """Viewpoint of a picture, in parallel projection.

    Attributes
    ----------
    azimuth : float, default 30
        Degrees about the up axis. With up "z" and azimuth 0 the camera looks along +y, with x to the right.
    elevation : float, default 20
        Degrees above the horizon.
    up : {"x", "y", "z"}, default "z"
        Axis of the data that points upwards in the picture.
    zoom : float, default 1
        At 1 all points fit into the picture.
    """

    azimuth: float = 30.0
    elevation: float = 20.0
    up: str = "z"
    zoom: float = 1.0

    def axes(self) -> Floats:
        """Return (3, 3): rows right, up and towards the viewer, in the frame of the data."""
        if self.up not in _UPRIGHT:
            raise InputError(f"camera: expected 'x', 'y' or 'z' for up, got {self.up!r}")
        if not self.zoom > 0:
            raise InputError(f"camera: expected a positive zoom, got {self.zoom}")
        azimuth, elevation = np.radians(self.azimuth), np.radians(self.elevation)
        right = np.array([np.cos(azimuth), np.sin(azimuth), 0.0])
        viewer = np.array(
            [np.sin(azimuth) * np.cos(elevation), -np.cos(azimuth) * np.cos(elevation), np.sin(elevation)]
        )
        rows = np.stack([right, np.cross(viewer, right), viewer])
        return np.asarray(rows @ _UPRIGHT[self.up])


@dataclass(frozen=True)
class ScaleBar:
    """Unit of a scale bar.

    Attributes
    ----------
    length : float, default 1
        Length of a unit of the points, where they were scaled before rendering.
    unit : str, default ""
        Name of the unit.
    """

    length: float = 1.0
    unit: str = ""


def render(
    clouds: Sequence[Coloured],
    camera: Camera | None = None,
    size: tuple[int, int] = (800, 600),
    point_size: float | None = None,
    scale_bar: ScaleBar | None = None,
) -> Image:
    """Render clouds into one picture.

    Each pixel takes the colour of the nearest point, and gaps about as wide as a point are closed. A directional light
    and eye-dome lighting, which darkens points behind their surroundings, show the shape without normals.

    Parameters
    ----------
    clouds : sequence of (points, colour)
        The colour is (3,) for all points or (N, 3) for each, red, green and blue from 0 to 1.
    camera : Camera, optional
    size : (int, int), default (800, 600)
        Width and height in pixels.
    point_size : float, optional
        Diameter of a point in pixels, by default large enough to close surfaces.
    scale_bar : ScaleBar, optional
        Draw a scale bar; needs the extra `plots`, and is left out without it.

    Returns
    -------
    (height, width, 3) uint8 ndarray
    """
    positions, colours = _gather(clouds)
    width, height = _checked(size)
    if point_size is not None and not 0 < point_size < 100:
        raise InputError(f"point_size: expected a number between 0 and 100 pixels, got {point_size}")
    camera = camera or Camera()
    view = positions @ camera.axes().T
    low, high = view.min(axis=0), view.max(axis=0)
    wide, tall = width * SAMPLES, height * SAMPLES
    extent = np.maximum(high[:2] - low[:2], 1e-12 * max(1.0, float(np.abs(view).max())))
    pixels = FILL * camera.zoom * min(wide / extent[0], tall / extent[1])
    flat = (view[:, :2] - (low[:2] + high[:2]) / 2) * pixels
    columns = np.floor(flat[:, 0] + wide / 2).astype(np.int64)
    rows = np.floor(tall / 2 - flat[:, 1]).astype(np.int64)
    depth = (high[2] - view[:, 2]) * pixels
    if point_size is None:
        point_size = _closing_size(rows, columns, wide, tall) / SAMPLES
    winner, depths = _splat(rows, columns, depth, wide, tall, point_size * SAMPLES)
    canvas = np.where((winner >= 0)[..., None], colours[winner], np.array(PAPER))
    canvas *= _shade(depths, point_size * SAMPLES)[..., None]
    smooth = canvas.reshape(height, SAMPLES, width, SAMPLES, 3).mean(axis=(1, 3))
    image = np.asarray(np.round(255 * np.clip(smooth, 0, 1)), np.uint8)
    if scale_bar is not None:
        draw_scale_bar(image, pixels / SAMPLES / scale_bar.length, scale_bar.unit, INK)
    return image


def panels(
    scenes: Sequence[Sequence[Coloured]],
    captions: Sequence[str] = (),
    camera: Camera | Sequence[Camera] | None = None,
    size: tuple[int, int] = (1600, 600),
    point_size: float | None = None,
    scale_bar: ScaleBar | None = None,
) -> Image:
    """Render several scenes side by side, each with a caption below it.

    Parameters
    ----------
    scenes : sequence of sequence of (points, colour)
        The clouds of each panel, as for `render`.
    captions : sequence of str, optional
        One for each panel; text needs the extra `plots`, and is left out without it.
    camera : Camera or sequence of Camera, optional
        One for all panels, or one for each.
    size : (int, int), default (1600, 600)
        Width and height of the whole picture in pixels.
    point_size : float, optional
    scale_bar : ScaleBar, optional
        As for `render`.

    Returns
    -------
    (height, width, 3) uint8 ndarray
    """
    width, height = _checked(size)
    if not len(scenes) or len(scenes) > width:
        raise InputError(f"scenes: expected 1 to {width} for a picture {width} pixels wide, got {len(scenes)}")
    if captions and len(captions) != len(scenes):
        raise InputError(f"captions: expected {len(scenes)}, one for each panel, got {len(captions)}")
    cameras = [camera] * len(scenes) if camera is None or isinstance(camera, Camera) else list(camera)
    if len(cameras) != len(scenes):
        raise InputError(f"camera: expected {len(scenes)}, one for each panel, got {len(cameras)}")
    text_height = max(8, round(height / 28))
    below = 3 * text_height if captions else 0
    if below >= height:
        raise InputError(f"size: expected a height above {below} pixels for captions, got {height}")
    edges = np.linspace(0, width, len(scenes) + 1).round().astype(int)
    image = np.empty((height, width, 3), np.uint8)
    image[:] = np.round(255 * np.array(PAPER))
    for k, scene in enumerate(scenes):
        left, right = int(edges[k]), int(edges[k + 1])
        inside = right - left, height - below
        image[: height - below, left:right] = render(scene, cameras[k], inside, point_size, scale_bar)
        if captions:
            draw_text(image[height - below :, left:right], captions[k], text_height, INK)
    return image


def colour_map(values: ArrayLike, low: float | None = None, high: float | None = None) -> Floats:
    """Map numbers to colours, from deep blue (low) to yellow (high).

    Parameters
    ----------
    values : (N,) array_like
        Values that are not finite become grey.
    low, high : float, optional
        Ends of the range, by default the 2nd and the 98th percentile of the finite values, so that a few extreme
        values do not flatten the rest. Values beyond them have the colour of the nearer end.

    Returns
    -------
    (N, 3) ndarray
        Red, green and blue from 0 to 1.
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
    stops = np.linspace(0, 1, len(_PALETTE))
    colours = np.stack([np.interp(share, stops, _PALETTE[:, channel]) for channel in range(3)], axis=1)
    colours[~finite] = GREY
    return colours


def png(image: NDArray[Any]) -> bytes:
    """Encode an (H, W, 3) uint8 image as the bytes of a PNG file."""
    pixels = np.asarray(image)
    if pixels.ndim != 3 or pixels.shape[2] != 3 or pixels.dtype != np.uint8 or 0 in pixels.shape:
        raise InputError(f"image: expected (H, W, 3) uint8, got {pixels.shape} {pixels.dtype}")
    height, width = pixels.shape[:2]
    # Filter 2 (up): each row minus the one above; a plain background becomes zeros, which compress well.
    above = np.vstack([np.zeros_like(pixels[:1]), pixels[:-1]])
    rows = np.hstack([np.full((height, 1), 2, np.uint8), (pixels - above).reshape(height, -1)])
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        for kind, body in ((b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes(), 6)), (b"IEND", b""))
    )


def write_png(path: str | os.PathLike[str], image: NDArray[Any]) -> None:
    """Write an (H, W, 3) uint8 image as a PNG. The file is replaced as a whole or not at all."""
    content = png(image)
    with atomic_write(Path(path)) as output:
        output.file.write(content)


def _checked(size: tuple[int, int]) -> tuple[int, int]:
    try:
        width, height = (int(length) for length in size)
    except (TypeError, ValueError) as problem:
        raise InputError(f"size: expected (width, height) in pixels, got {size!r}") from problem
    if not (1 <= width <= MAX_PIXELS and 1 <= height <= MAX_PIXELS):
        raise InputError(f"size: expected a width and a height from 1 to {MAX_PIXELS} pixels, got {width} x {height}")
    return width, height


def _gather(clouds: Sequence[Coloured]) -> tuple[Floats, Floats]:
    if not len(clouds):
        raise InputError("clouds: expected one or more, got none")
    positions, colours = [], []
    for number, (points, colour) in enumerate(clouds):
        cloud = as_cloud(points, f"clouds[{number}]")
        paint = np.asarray(colour, float)
        if paint.shape not in ((3,), (len(cloud.kept), 3)) or not ((paint >= 0) & (paint <= 1)).all():
            raise InputError(
                f"clouds[{number}]: expected a colour of shape (3,) or ({len(cloud.kept)}, 3) with values from 0 to 1, "
                f"got shape {paint.shape}"
            )
        positions.append(cloud.points)
        colours.append(np.broadcast_to(paint, (len(cloud.kept), 3))[cloud.kept])
    return np.concatenate(positions), np.concatenate(colours)


def _closing_size(rows: NDArray[np.int64], columns: NDArray[np.int64], wide: int, tall: int) -> float:
    """Diameter, in samples, at which the dots of a surface just touch: from the area that the points cover."""
    block = 8 * SAMPLES
    inside = (rows >= 0) & (rows < tall) & (columns >= 0) & (columns < wide)
    blocks = np.unique(rows[inside] // block * (wide // block + 1) + columns[inside] // block)
    spacing = block * np.sqrt(len(blocks) / max(1, inside.sum()))
    return float(np.clip(2.0 * spacing, 1.5 * SAMPLES, 6 * SAMPLES))


def _splat(
    rows: NDArray[np.int64], columns: NDArray[np.int64], depth: Floats, wide: int, tall: int, diameter: float
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Index of the point visible at each sample (-1: none), and its depth in samples (infinite: none).

    Depth and index share one integer, depth first, so that a single minimum finds the nearest point and ties are
    always broken alike.
    """
    bits = len(depth).bit_length()
    # The filters below compute in float64, which is exact for integers up to 2^53.
    nothing = 2**53
    finest = (2.0 ** (53 - bits) - 1) / (float(depth.max()) + diameter + 1.0)
    nearest = np.full(tall * wide, nothing, np.int64)
    number = np.arange(len(depth))
    radius = diameter / 2
    reach = int(radius)
    for down in range(-reach, reach + 1):
        for across in range(-reach, reach + 1):
            distance2 = down * down + across * across
            if distance2 > radius * radius:
                continue
            r, c = rows + down, columns + across
            inside = (r >= 0) & (r < tall) & (c >= 0) & (c < wide)
            # Dots are domes: between two points of one surface the closer one takes the sample.
            dome = radius - np.sqrt(radius * radius - distance2)
            key = (((depth[inside] + dome) * finest).astype(np.int64) << bits) | number[inside]
            np.minimum.at(nearest, r[inside] * wide + c[inside], key)
    image = nearest.reshape(tall, wide)
    # Hide points that are visible only through gaps between the dots of a nearer surface.
    window = 2 * round(0.45 * diameter) + 1
    front = minimum_filter(image, window, mode="nearest")
    around = maximum_filter(front, window, mode="nearest")
    behind = (image >> bits) - (around >> bits) > int(2 * diameter * finest)
    image = np.where(behind, front, image)
    hit = image != nothing
    winner = np.where(hit, image & ((1 << bits) - 1), -1)
    return winner, np.where(hit, depth[winner], np.inf).astype(np.float32)


def _shade(depths: NDArray[np.float32], diameter: float) -> NDArray[np.float32]:
    """Brightness of each sample: a light from the upper left, reduced where neighbouring samples are nearer."""
    hit = np.isfinite(depths)
    light = np.ones_like(depths)
    if not hit.any():
        return light
    # Smoothing the depth over a few dots removes noise and keeps the shape.
    weight = gaussian_filter(hit.astype(np.float32), diameter)
    filled = np.where(hit, depths, np.float32(0))
    smooth = gaussian_filter(filled, diameter) / np.maximum(weight, np.float32(1e-6))
    down, across = np.gradient(smooth)
    facing = (np.float32(0.80) + 0.45 * across + 0.40 * down) / np.sqrt(1 + across**2 + down**2)
    directional = 0.62 + 0.45 * np.clip(facing, 0, 1)
    hidden = np.zeros_like(depths)
    for radius in (1.5 * diameter, 4 * diameter):
        step = max(1, round(radius))
        for down_by, across_by in ((step, 0), (-step, 0), (0, step), (0, -step)):
            beside = _shifted(smooth, hit, down_by, across_by)
            hidden += np.clip((smooth - beside) / step, 0, 2.5)
    light[hit] = (directional * np.exp(-0.07 * hidden))[hit]
    return light


def _shifted(depth: NDArray[np.float32], hit: NDArray[np.bool_], down: int, across: int) -> NDArray[np.float32]:
    """Depth of the sample at an offset; infinite where there is none."""
    tall, wide = depth.shape
    result = np.full_like(depth, np.inf)
    if abs(down) >= tall or abs(across) >= wide:
        return result
    to = slice(max(0, -down), tall - max(0, down)), slice(max(0, -across), wide - max(0, across))
    of = slice(max(0, down), tall - max(0, -down)), slice(max(0, across), wide - max(0, -across))
    result[to] = np.where(hit[of], depth[of], np.inf)
    return result
