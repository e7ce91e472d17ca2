"""Results in a few lines of text: what `print(result)` shows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from graphreg.clouds import Floats
from graphreg.metrics import angular_error
from graphreg.poses import cross_matrices

# Width of the column of names.
NAME_WIDTH = 12
# Names of a list that are printed before the rest is counted.
MAX_NAMES = 4
# Rotations smaller than this have no axis, in degrees.
SMALLEST_ANGLE = 1e-9


def labelled(headline: str, entries: Mapping[str, str]) -> str:
    """Return a headline, and below it a line for each entry that is not empty.

    Examples
    --------
    >>> print(labelled("registered", {"confidence": "1.00", "left out": ""}))
    registered
      confidence    1.00
    """
    lines = [f"  {name:<{NAME_WIDTH}}  {value}" for name, value in entries.items() if value]
    return "\n".join([headline, *lines])


def listed(names: Sequence[str]) -> str:
    """Return names, separated by commas; of many the first ones, and how many more there are.

    Examples
    --------
    >>> listed(["a", "b"]), listed("abcdef")
    ('a, b', 'a, b, c, d and 2 more')
    """
    more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    return ", ".join(names[:MAX_NAMES]) + more


def scale_text(scale: float, covariance: Floats | None) -> str:
    """Return a scale and its standard deviation.

    Examples
    --------
    >>> scale_text(2.5, np.diag([1e-6] * 7))
    '2.5000 ± 0.0025'
    """
    sigma = None if covariance is None or len(covariance) < 7 else scale * math.sqrt(max(float(covariance[6, 6]), 0.0))
    return f"{scale:.6g}" if sigma is None else f"{scale:.{_decimals(sigma, 6)}f} ± {sigma:.{_decimals(sigma, 6)}f}"


def rotation_text(transformation: Floats, covariance: Floats | None) -> str:
    """Return the angle of a rotation, its standard deviation and its axis.

    Parameters
    ----------
    transformation : (3, 3) or (4, 4) ndarray
    covariance : (6, 6) ndarray or None
        As in `Result`. The standard deviation is that about the least certain axis.

    Examples
    --------
    >>> T = np.array([[0.0, -1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
    >>> rotation_text(T, np.diag([1e-6, 1e-6, 4e-6, 1, 1, 1]))
    '90.00° ± 0.11° about (0.00, 0.00, 1.00)'
    """
    angle = angular_error(transformation, np.eye(4))
    sigma = None
    if covariance is not None:
        sigma = math.degrees(math.sqrt(max(np.linalg.eigvalsh(covariance[:3, :3])[-1], 0.0)))
    decimals = _decimals(sigma, 4)
    spread = "" if sigma is None else f" ± {sigma:.{decimals}f}°"
    return f"{angle:.{decimals}f}°{spread}{_axis(transformation[:3, :3], angle)}"


def _axis(rotation: Floats, angle: float) -> str:
    if angle < SMALLEST_ANGLE:
        return ""
    # R + R^T - (tr R - 1) I = 2 (1 - cos) a a^T: its largest column is the axis, also near 180 degrees.
    outer = rotation + rotation.T - (np.trace(rotation) - 1) * np.eye(3)
    skew = np.array([rotation[2, 1] - rotation[1, 2], rotation[0, 2] - rotation[2, 0], rotation[1, 0] - rotation[0, 1]])
    axis = outer[np.argmax(np.diagonal(outer))] if angle > 90 else skew
    length = float(np.linalg.norm(axis)) or 1.0
    sign = -1.0 if float(axis @ skew) < 0 else 1.0
    entries = np.round(sign * axis / length, 2) + 0.0
    return f" about ({', '.join(f'{entry:.2f}' for entry in entries)})"


def translation_text(transformation: Floats, covariance: Floats | None, centre: Floats | None) -> str:
    """Return a translation with its standard deviations.

    A rotation about a centre far from where the origin is moved to makes these larger than those at the centre.

    Parameters
    ----------
    transformation : (4, 4) ndarray
    covariance, centre : (6, 6) ndarray, (3,) ndarray, or None
        As in `Result`.

    Examples
    --------
    >>> T = np.eye(4)
    >>> T[:3, 3] = 1, 2, 3
    >>> translation_text(T, np.diag([0, 0, 0, 1e-4, 1e-4, 1e-4]), np.zeros(3))
    '(1.000, 2.000, 3.000) ± (0.010, 0.010, 0.010)'
    """
    translation = transformation[:3, 3]
    if covariance is None or centre is None:
        return f"({', '.join(f'{value:.6g}' for value in translation + 0.0)})"
    # A small rotation w, translation v and log scale s after T move the image t of the origin by w x (t - c) + v +
    # s (t - c).
    arm = translation - centre
    jacobian = np.hstack([-cross_matrices(arm[None])[0], np.eye(3), arm[:, None]])[:, : len(covariance)]
    sigmas = np.sqrt(np.maximum(np.diagonal(jacobian @ covariance @ jacobian.T), 0.0))
    decimals = _decimals(float(sigmas.max()), 6)
    values, spreads = (", ".join(f"{value:.{decimals}f}" for value in entries) for entries in (translation, sigmas))
    return f"({values}) ± ({spreads})"


def _decimals(sigma: float | None, default: int) -> int:
    """Decimals that leave two digits of a standard deviation."""
    if sigma is None or not 0 < sigma < math.inf:
        return default
    return int(min(max(1 - math.floor(math.log10(sigma)), 0), 12))


def matrix_lines(matrix: Floats) -> list[str]:
    """Return the rows of a matrix, as the command line prints them."""
    return ["  " + " ".join(f"{value:15.9f}" for value in row) for row in matrix]
