"""graphreg registers 3D point clouds: two scans go in, the rigid motion between them comes out."""

from graphreg.batch import batch
from graphreg.clouds import Cloud
from graphreg.errors import FileError, InputError, MissingExtraError
from graphreg.files import formats, read, read_cloud, write
from graphreg.files.poses import read_poses, write_poses
from graphreg.graphs import Graph, neighbour_graph
from graphreg.histograms import fpfh
from graphreg.invariants import invariants, normals
from graphreg.multiway import Multiway, multiway
from graphreg.registration import Result, methods, prepare, register
from graphreg.reports.html import report
from graphreg.response import inliers, intensity, resample
from graphreg.sequences import Odometry, Trajectory, sequence
from graphreg.views import Prepared
from graphreg.voxels import voxel_downsample

__version__ = "0.1.0"

__all__ = [
    "Cloud",
    "FileError",
    "Graph",
    "InputError",
    "MissingExtraError",
    "Multiway",
    "Odometry",
    "Prepared",
    "Result",
    "Trajectory",
    "batch",
    "formats",
    "fpfh",
    "inliers",
    "intensity",
    "invariants",
    "methods",
    "multiway",
    "neighbour_graph",
    "normals",
    "prepare",
    "read",
    "read_cloud",
    "read_poses",
    "register",
    "report",
    "resample",
    "sequence",
    "voxel_downsample",
    "write",
    "write_poses",
]
