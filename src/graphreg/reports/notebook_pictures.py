"""Results in notebooks: their text, and a picture of the clouds.

Importing this module registers the functions with `graphreg.feedback.notebooks`. That is below reports, so that the
package tells it the name of this module.
"""

from __future__ import annotations

from html import escape

from graphreg.errors import InputError
from graphreg.feedback.notebooks import html_with_picture, text_html
from graphreg.multiscan.multiway_result import Multiway
from graphreg.multiscan.trajectory import Trajectory
from graphreg.result import Result

# Width and height of the picture of two clouds, in pixels.
PICTURE = (960, 400)


@html_with_picture.register
def _of_registration(result: Result) -> str:
    from graphreg.reports.page_layout import data_uri
    from graphreg.reports.pictures import png
    from graphreg.reports.previews import before_and_after

    if result.preview is None:
        return text_html(result)
    try:
        picture = data_uri(png(before_and_after(result, *result.preview, PICTURE)))
    except InputError:  # too few points for a picture
        return text_html(result)
    return _beside(result, picture, "source and target before and after registration")


@html_with_picture.register
def _of_multiway(result: Multiway) -> str:
    from graphreg.reports.multiway_page import multiway_picture

    return _beside(result, multiway_picture(result), "all scans before and after registration")


@html_with_picture.register
def _of_trajectory(trajectory: Trajectory) -> str:
    from graphreg.reports.trajectory_page import trajectory_picture

    return _beside(trajectory, trajectory_picture(trajectory), "the trajectory on the map")


def _beside(result: object, picture: str, description: str) -> str:
    """The text of a result, with a picture, given as a URI, if there is one."""
    if not picture:
        return text_html(result)
    return f'{text_html(result)}<img src="{picture}" alt="{escape(description)}" style="max-width:100%">'
