"""Tables of multiway registration, for console and page: poses, pairs, control points. The first row is the head."""

from __future__ import annotations

import numpy as np

from graphreg.clouds import Floats
from graphreg.multiscan.multiway_result import Multiway
from graphreg.reports.table_cells import MISSING, percent

Rows = list[tuple[str, ...]]
# Digits after the point at most.
MAX_DECIMALS = 9


def pose_rows(result: Multiway) -> Rows:
    """Position and rotation of every scan that has a pose, with standard deviations.

    Parameters
    ----------
    result : Multiway

    Returns
    -------
    list of tuple of str
    """
    from scipy.spatial.transform import Rotation

    decimals = _decimals(np.array([result.deviations(scan)[1] for scan in range(len(result.names))]))
    rows: Rows = [("pose", "group", "x", "y", "z", "rotation", "sigma", "sigma of rotation")]
    for number, group in enumerate(result.groups, 1):
        for scan in group:
            T = result.poses[scan]
            degrees, distance = result.deviations(scan)
            angle = float(np.degrees(Rotation.from_matrix(T[:3, :3]).magnitude()))
            sigma = (two_digits(distance), f"{two_digits(degrees)}\u00b0")
            if degrees == distance == 0:
                # The others are relative to it.
                sigma = ("fixed" if scan in result.fixed else "origin", "")
            position = (f"{value:.{decimals}f}" for value in T[:3, 3])
            rows.append((result.names[scan], str(number), *position, f"{angle:.3f}\u00b0", *sigma))
    return rows


def pair_rows(result: Multiway, used: bool = False) -> Rows:
    """Residuals of the pairs: by how much the poses differ from the registration of the pair.

    Parameters
    ----------
    result : Multiway
    used : bool, default False
        Only pairs in use.

    Returns
    -------
    list of tuple of str
        Pairs in use first, the most confident first.
    """
    rows: Rows = [("pair", "residual", "residual of rotation", "overlap", "confidence")]
    for edge in sorted(result.edges, key=lambda edge: (not edge.used, -edge.confidence)):
        if used and not edge.used:
            continue
        degrees, distance = result.pair_residual(edge)
        residual = (MISSING, MISSING) if np.isnan(distance) else (two_digits(distance), f"{two_digits(degrees)}\u00b0")
        name = f"{result.names[edge.source]} to {result.names[edge.target]}"
        rows.append((name, *residual, percent(edge.overlap), f"{edge.confidence:.2f}"))
    return rows


def control_rows(result: Multiway) -> Rows:
    """Residuals of control points and targets.

    Parameters
    ----------
    result : Multiway

    Returns
    -------
    list of tuple of str
    """
    decimals = _decimals(np.array([point.sigma for point in result.control]))
    rows: Rows = [("point", "scan", "kind", "dx", "dy", "dz", "sigma", "outcome")]
    for point in result.control:
        # Zero is added so that -0.00004 becomes 0.0000 and not -0.0000.
        rounded = np.round(point.residual, decimals) + 0.0
        residual = [MISSING if np.isnan(value) else f"{value:.{decimals}f}" for value in rounded]
        outcome = "used" if point.used else "outlier" if point.is_outlier else "not used"
        kind = "control" if point.known else "target"
        rows.append((point.name, result.names[point.scan], kind, *residual, f"{point.sigma:g}", outcome))
    return rows


def two_digits(value: float) -> str:
    """A residual or a standard deviation; from 100 on as a whole number, as 130 and not 1.3e+02."""
    return f"{value:.2g}" if value < 99.5 else f"{value:.0f}"


def _decimals(deviations: Floats) -> int:
    """Digits after the point that show two digits of a typical standard deviation."""
    positive = deviations[np.isfinite(deviations) & (deviations > 0)]
    if not len(positive):
        return 3
    return int(np.clip(1 - np.floor(np.log10(np.median(positive))), 0, MAX_DECIMALS))
