"""The methods that the paper compares with, one file each, all behind one signature.

Each has frozen settings and a function

    register_name(source, target, settings, init, seed, threads, callback) -> Outcome

for finite (N, 3) arrays with more than ten points. docs/methods.md compares them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphreg.baselines.cpd import CpdSettings, register_cpd
from graphreg.baselines.ecm import EcmSettings, register_ecm
from graphreg.baselines.fgr import FgrSettings, register_fgr
from graphreg.baselines.fricp import FricpSettings, register_fricp
from graphreg.baselines.gmm import GmmSettings, register_gmm
from graphreg.baselines.icp import IcpSettings, register_icp
from graphreg.baselines.icp_kn import IcpKnSettings, register_icp_kn
from graphreg.baselines.icp_kp import IcpKpSettings, register_icp_kp
from graphreg.baselines.super4pcs import Super4pcsSettings, register_super4pcs
from graphreg.baselines.teaser import TeaserSettings, register_teaser
from graphreg.baselines.tricp import TricpSettings, register_tricp
from graphreg.method_interface import Outcome

BASELINES: dict[str, tuple[Any, Callable[..., Outcome], str]] = {
    "icp": (IcpSettings(), register_icp, "nearest points, laid on each other in turns (Besl, McKay); local"),
    "icp-kp": (IcpKpSettings(), register_icp_kp, "ICP in a fixed number of steps (Kjer, Wilm); local"),
    "icp-kn": (IcpKnSettings(), register_icp_kn, "ICP to the planes of the target (Kjer, Wilm); local"),
    "tricp": (TricpSettings(), register_tricp, "ICP on the closest share of the pairs (Chetverikov et al.); local"),
    "fricp": (FricpSettings(), register_fricp, "ICP with Welsch's function, accelerated (Zhang et al.); local"),
    "gmm": (GmmSettings(), register_gmm, "L2 distance of two Gaussian mixtures, coarse to fine (Jian, Vemuri); local"),
    "cpd": (CpdSettings(), register_cpd, "the source as a Gaussian mixture, fitted by EM (Myronenko, Song); local"),
    "ecm": (EcmSettings(), register_ecm, "a Gaussian mixture with a full covariance, by ECM (Horaud et al.); local"),
    "fgr": (FgrSettings(), register_fgr, "FPFH matches under Geman-McClure, graduated (Zhou et al.); global"),
    "teaser": (
        TeaserSettings(),
        register_teaser,
        "FPFH matches, clique, truncated least squares (Yang et al.); global",
    ),
    "super4pcs": (Super4pcsSettings(), register_super4pcs, "congruent sets of four points (Mellado et al.); global"),
}
"""Name -> settings with their defaults, how it runs, a line for people."""
