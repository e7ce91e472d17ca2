"""A registration as an animated picture: the source goes from where it was to where the result puts it."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphreg.clouds import Floats, sample_rows
from graphreg.errors import MissingExtraError
from graphreg.files.input_file import as_path
from graphreg.files.output_file import atomic_write
from graphreg.poses import transform
from graphreg.reports.display_clouds import DisplayCloud, describe_pair
from graphreg.reports.picture_text import draw_text
from graphreg.reports.pictures import BLUE, INK, ORANGE, PAPER, Image, render
from graphreg.reports.previews import FRONT, as_result, picture_axes
from graphreg.result import Result

# Frames before, during and after the motion, and milliseconds of each.
STILL, MOVING, END, DURATION = 10, 34, 30, 50
# Points of a cloud in a frame, and colours of the palette: a smaller file.
MAX_POINTS, COLOURS = 12_000, 48
# Share of the width and of the height that is cut off at each edge, where the corners of the scene are drawn.
MARGIN = 0.044
# Height of the line of text, as a share.
TEXT = 0.09


def write_animation(
    path: str | os.PathLike[str],
    result: Result,
    source: Any,
    target: Any,
    *,
    size: tuple[int, int] = (720, 400),
    threads: int | None = None,
) -> None:
    """Write a registration as an animated GIF: both clouds as they are, then the source on its way to the target.

    The way is not that of the search, which has none: the rotation is turned back evenly, and the centre moves along a
    line. Outliers are left out.

    Parameters
    ----------
    path : path_like
        The file to write, which ends in .gif. It is replaced as a whole or not at all.
    result : Result
        What `register` returned for source and target.
    source, target : array_like or path
        (N, 3) and (M, 3) points.
    size : (int, int), default (720, 400)
        Width and height in pixels.
    threads : int, optional
        Number of threads, by default all.

    Raises
    ------
    MissingExtraError
        Where Pillow, of the extra `plots`, is not installed.

    Examples
    --------
    >>> import graphreg
    >>> from graphreg.datasets import synthetic
    >>> pair = synthetic.pair("hare", 20.0, points=2000)
    >>> result = graphreg.register(pair.source, pair.target)
    >>> write_animation("registration.gif", result, pair.source, pair.target, size=(160, 90))
    """
    try:
        from PIL import Image as PillowImage
    except ImportError as problem:
        raise MissingExtraError("writing animations", "plots") from problem

    checked = as_result(result)
    frames = animation_frames(checked, *describe_pair(source, target, threads), size)
    # One palette for all frames, from the first and the last, so that colours do not flicker.
    both = PillowImage.fromarray(np.concatenate([frames[0], frames[-1]]))
    palette = both.quantize(COLOURS, method=PillowImage.Quantize.MEDIANCUT)
    plain = PillowImage.Dither.NONE
    pictures = [PillowImage.fromarray(frame).quantize(palette=palette, dither=plain) for frame in frames]
    with atomic_write(as_path(path)) as output:
        pictures[0].save(
            output.file, "GIF", save_all=True, append_images=pictures[1:], duration=DURATION, loop=0, optimize=True
        )


def animation_frames(result: Result, source: DisplayCloud, target: DisplayCloud, size: tuple[int, int]) -> list[Image]:
    """Return the frames: still before, the motion, and still after, with the verdict below."""
    axes = picture_axes(target)
    moving, fixed = (_points(cloud) for cloud in (source, target))
    shares = [0.0, *_eased(np.linspace(0, 1, MOVING + 1)[1:])]
    poses = [_pose_between(result.transformation, source.centre, share) for share in shares]
    scenes = [(transform(T, moving) - target.centre) @ axes.T for T in poses]
    still = (fixed - target.centre) @ axes.T
    every = np.concatenate([*scenes, still])
    corners = np.stack([every.min(axis=0), every.max(axis=0)])
    before = "two scans: source blue, target orange"
    after = f"{result.reason.partition(',')[0]}, confidence {result.confidence:.2f}"
    images = [
        _frame(moved, still, corners, before if number < len(scenes) - 1 else after, size)
        for number, moved in enumerate(scenes)
    ]
    return [images[0]] * STILL + images[1:-1] + [images[-1]] * END


def _pose_between(transformation: Floats, centre: Floats, share: float) -> Floats:
    """The pose at a share of the way from the identity: rotated about the source's centre, which moves straight."""
    from scipy.spatial.transform import Rotation

    rotation = Rotation.from_rotvec(share * Rotation.from_matrix(transformation[:3, :3]).as_rotvec()).as_matrix()
    goal = transform(transformation, centre[None])[0]
    between = np.eye(4)
    between[:3, :3] = rotation
    between[:3, 3] = centre + share * (goal - centre) - rotation @ centre
    return between


def _eased(share: Floats) -> Floats:
    """Slow at both ends."""
    return share**2 * (3 - 2 * share)


def _points(cloud: DisplayCloud) -> Floats:
    points = cloud.points[: cloud.inlier_count]
    return points[sample_rows(len(points), MAX_POINTS)]


def _frame(moved: Floats, still: Floats, corners: Floats, text: str, size: tuple[int, int]) -> Image:
    width, height = size
    line = max(round(TEXT * height), 1)
    # The corners of the scene, in the colour of the paper, keep the scale of all frames the same; they are cut off.
    inner = np.array([height - line, width])
    margin = np.ceil(MARGIN * inner).astype(int)
    tall, wide = inner + 2 * margin
    image = render([(moved, BLUE), (still, ORANGE), (corners, PAPER)], FRONT, (int(wide), int(tall)))
    whole: NDArray[np.uint8] = np.empty((height, width, 3), np.uint8)
    whole[:] = np.round(255 * np.array(PAPER))
    whole[: height - line] = image[margin[0] : tall - margin[0], margin[1] : wide - margin[1]]
    draw_text(whole[height - line :], text, max(round(0.55 * line), 8), INK)
    return whole
