"""The methods that the paper compares with, each in a module of its own.

In the order in which data flows:

baseline_run
    The base of all settings, and the state of a run: downsampled clouds, current estimate, history, timings.
fpfh_correspondences
    Putative correspondences between points with similar FPFH or graph descriptors, for FGR and TEASER++.
alike_points, membership_priors
    With `features=True`: attraction between points with alike invariants, and priors of the mixtures' memberships.
closest_points, alignment
    The loop of ICP: closest-point correspondences, and the transform that aligns them.
mixtures
    The expectation step of the probabilistic methods.
icp, icp_kp, icp_kn, tricp, fricp
    ICP and its variants.
gmm, cpd, ecm
    Registration of Gaussian mixtures.
fgr, teaser, super4pcs
    Global registration.

Each method has frozen settings and a function `register_…` of type
`graphreg.method_interface.RegistrationMethod`. docs/methods.md compares them.
"""

from __future__ import annotations

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
from graphreg.method_interface import Method, MethodSettings

BASELINES: dict[str, Method[MethodSettings]] = {
    "icp": Method[IcpSettings](IcpSettings(), register_icp, "point-to-point ICP (Besl, McKay 1992); local"),
    "icp-kp": Method[IcpKpSettings](
        IcpKpSettings(),
        register_icp_kp,
        "point-to-point ICP, fixed number of iterations (Kjer, Wilm 2010); local",
    ),
    "icp-kn": Method[IcpKnSettings](
        IcpKnSettings(),
        register_icp_kn,
        "point-to-plane ICP, fixed number of iterations (Kjer, Wilm 2010); local",
    ),
    "tricp": Method[TricpSettings](
        TricpSettings(),
        register_tricp,
        "trimmed ICP: the closest share of the correspondences (Chetverikov et al. 2002); local",
    ),
    "fricp": Method[FricpSettings](
        FricpSettings(),
        register_fricp,
        "robust ICP: Welsch's function, Anderson acceleration (Zhang, Yao, Deng 2021); local",
    ),
    "gmm": Method[GmmSettings](
        GmmSettings(),
        register_gmm,
        "L2 distance of two Gaussian mixtures, coarse to fine (Jian, Vemuri 2011); local",
    ),
    "cpd": Method[CpdSettings](
        CpdSettings(),
        register_cpd,
        "coherent point drift: Gaussian mixture with one variance, by EM (Myronenko, Song 2010); local",
    ),
    "ecm": Method[EcmSettings](
        EcmSettings(),
        register_ecm,
        "Gaussian mixture with a full covariance, by ECM (Horaud et al. 2011); local",
    ),
    "fgr": Method[FgrSettings](
        FgrSettings(),
        register_fgr,
        "Geman-McClure cost over FPFH correspondences, graduated (Zhou, Park, Koltun 2016); global",
    ),
    "teaser": Method[TeaserSettings](
        TeaserSettings(),
        register_teaser,
        "TEASER++: FPFH correspondences, maximum clique, truncated least squares (Yang et al. 2021); global",
    ),
    "super4pcs": Method[Super4pcsSettings](
        Super4pcsSettings(),
        register_super4pcs,
        "Super4PCS: four-point congruent sets (Mellado, Aiger, Mitra 2014); global",
    ),
}
"""Name, as in `graphreg.register(method=...)`, to default settings, function and summary."""
