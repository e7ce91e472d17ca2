"""graphreg registers 3D point clouds: it estimates the rigid transform between two scans, or between many.

A name is imported when it is first used, so that a program waits for no more than it needs.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from graphreg._version import __version__
from graphreg.feedback import notebooks

if TYPE_CHECKING:
    from graphreg.batches.batch_run import batch
    from graphreg.clouds import Cloud
    from graphreg.comparison.deviations import Deviation, deviation
    from graphreg.engine.preprocessing import PreprocessedCloud
    from graphreg.errors import FileError, InputError, MissingExtraError
    from graphreg.features.fpfh_features import fpfh
    from graphreg.features.graphs import Graph, neighbour_graph
    from graphreg.features.invariant_features import invariants, normals
    from graphreg.features.response import inliers, intensity, resample
    from graphreg.files import formats, read, read_cloud, read_mesh, write
    from graphreg.files.control_points import ControlPoint, read_control_points
    from graphreg.files.pose_files import read_poses, write_poses
    from graphreg.locating import Location, locate
    from graphreg.meshes.triangle_mesh import Mesh
    from graphreg.multiscan.georeferencing import AbsoluteOrientation, absolute_orientation
    from graphreg.multiscan.localisation import Localisation, localise
    from graphreg.multiscan.multiway_registration import multiway
    from graphreg.multiscan.multiway_result import Multiway
    from graphreg.multiscan.odometry import Odometry, sequence
    from graphreg.multiscan.trajectory import Trajectory
    from graphreg.nonrigid.deformation import Deformation
    from graphreg.nonrigid.deforming import deform, deform_sequence
    from graphreg.registration import methods, prepare, register
    from graphreg.reports.registration_page import report
    from graphreg.result import Result
    from graphreg.robust.losses import Loss
    from graphreg.voxels import voxel_downsample

__all__ = [
    "AbsoluteOrientation",
    "Cloud",
    "ControlPoint",
    "Deformation",
    "Deviation",
    "FileError",
    "Graph",
    "InputError",
    "Localisation",
    "Location",
    "Loss",
    "Mesh",
    "MissingExtraError",
    "Multiway",
    "Odometry",
    "PreprocessedCloud",
    "Result",
    "Trajectory",
    "__version__",
    "absolute_orientation",
    "batch",
    "deform",
    "deform_sequence",
    "deviation",
    "formats",
    "fpfh",
    "inliers",
    "intensity",
    "invariants",
    "localise",
    "locate",
    "methods",
    "multiway",
    "neighbour_graph",
    "normals",
    "prepare",
    "read",
    "read_cloud",
    "read_control_points",
    "read_mesh",
    "read_poses",
    "register",
    "report",
    "resample",
    "sequence",
    "voxel_downsample",
    "write",
    "write_poses",
]

_NAMES_OF_MODULES = {
    "graphreg.batches.batch_run": "batch",
    "graphreg.clouds": "Cloud",
    "graphreg.comparison.deviations": "Deviation deviation",
    "graphreg.engine.preprocessing": "PreprocessedCloud",
    "graphreg.errors": "FileError InputError MissingExtraError",
    "graphreg.features.fpfh_features": "fpfh",
    "graphreg.features.graphs": "Graph neighbour_graph",
    "graphreg.features.invariant_features": "invariants normals",
    "graphreg.features.response": "inliers intensity resample",
    "graphreg.files": "formats read read_cloud read_mesh write",
    "graphreg.files.control_points": "ControlPoint read_control_points",
    "graphreg.files.pose_files": "read_poses write_poses",
    "graphreg.locating": "Location locate",
    "graphreg.meshes.triangle_mesh": "Mesh",
    "graphreg.multiscan.georeferencing": "AbsoluteOrientation absolute_orientation",
    "graphreg.multiscan.localisation": "Localisation localise",
    "graphreg.multiscan.multiway_registration": "multiway",
    "graphreg.multiscan.multiway_result": "Multiway",
    "graphreg.multiscan.odometry": "Odometry sequence",
    "graphreg.multiscan.trajectory": "Trajectory",
    "graphreg.nonrigid.deformation": "Deformation",
    "graphreg.nonrigid.deforming": "deform deform_sequence",
    "graphreg.registration": "methods prepare register",
    "graphreg.reports.registration_page": "report",
    "graphreg.result": "Result",
    "graphreg.robust.losses": "Loss",
    "graphreg.voxels": "voxel_downsample",
}
_MODULE_OF = {name: module for module, names in _NAMES_OF_MODULES.items() for name in names.split()}

if not TYPE_CHECKING:  # to type checkers, it would make every name exist

    def __getattr__(name: str) -> Any:
        if name in _MODULE_OF:
            found = globals()[name] = getattr(import_module(_MODULE_OF[name]), name)
            return found
        if not name.startswith("_"):
            try:
                return import_module(f"graphreg.{name}")
            except ModuleNotFoundError as problem:
                if problem.name != f"graphreg.{name}":
                    raise
        raise AttributeError(f"module 'graphreg' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


notebooks.module_of_pictures = "graphreg.reports.notebook_pictures"
