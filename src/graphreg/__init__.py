"""graphreg registers 3D point clouds: it estimates the rigid transform between two scans, or between many."""

from graphreg._version import __version__
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
from graphreg.reports import notebook_pictures as _notebook_pictures  # noqa: F401 (registers what notebooks show)
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
