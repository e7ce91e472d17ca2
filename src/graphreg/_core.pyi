"""Kernels in C++ (native/): what takes time, in double precision unless the types say float32.

Arrays are C-contiguous and checked for shape and dtype; indices in them are trusted, so only pass indices that these
functions returned. `threads` is at least 1 and does not change a bit of any result.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_Floats = NDArray[np.float64]
_Indices = NDArray[np.int32]

VOXEL_BITS: int
"""A voxel grid has at most 2**VOXEL_BITS voxels along each axis."""

# --------------------------------------------------------------------------------------------------- nearest neighbours

class Tree:
    """k-d tree over points (N, 3), finite and at least one; it stores a copy. Ties are broken by the lower index."""

    def __init__(self, points: _Floats, threads: int) -> None: ...
    def __len__(self) -> int: ...
    def graph(self, k: int, threads: int) -> _Indices:
        """k-nearest-neighbour graph (N, k) of the tree's own points, without the point itself, nearest first; k < N."""
    def graph_with_ties(self, k: int, threads: int) -> tuple[_Indices, _Indices]:
        """The same graph, and pairs (T, 2) of a point and another that is as far as its k-th neighbour, up to rounding,
        but not among its k."""
    def nearest(self, queries: _Floats, k: int, threads: int) -> tuple[_Indices, _Floats]:
        """Indices (M, k) of the k nearest points of each query (M, 3), nearest first, and squared distances (M, k)."""
    def update_nearest(
        self, queries: _Floats, searched_at: _Floats, second_distance: _Floats, nearest: _Indices, threads: int
    ) -> _Floats:
        """Nearest points of queries (M, 3) that move a little from call to call; returns squared distances (M,).

        A query is searched for only where another point can have become its nearest since its last search. The state is
        updated in place: `searched_at` (M, 3), the position of each query at that search; `second_distance` (M,), to
        the second-nearest point then; `nearest` (M, 2), both points, -1 before the first call. The result is
        `nearest[:, 0]`.
        """
    def within(self, queries: _Floats, radius: float, threads: int) -> tuple[NDArray[np.int64], _Indices, _Floats]:
        """Radius search: offsets (M + 1,), and for query i, from offsets[i] to offsets[i + 1], the indices of the
        points within the closed ball, nearest first, and their squared distances."""
    def order(self) -> _Indices:
        """Permutation (N,) in which points that are close in space are close in memory."""

# --------------------------------------------------------------------------------------------- graph and local geometry
#
# points (N, 3), neighbours (N, k) nearest first, order (N,): the order in which points are visited. Any permutation
# gives the same values; `Tree.order` is fast.

def edge_weights(points: _Floats, neighbours: _Indices, order: _Indices, threads: int) -> _Floats:
    """Edge weights W (N, k) of the paper's Eq. 1."""

def response(points: _Floats, neighbours: _Indices, order: _Indices, threads: int) -> _Floats:
    """Squared graph high-pass response (N,) of the coordinates (Definition 1); inf where no edge has a weight."""

def shift(
    points: _Floats, neighbours: _Indices, order: _Indices, weights: _Floats, signal: _Floats, threads: int
) -> _Floats:
    """One graph shift of a signal (N, F): sum_j weights_ij signal_j, with weights (N, k)."""

def variation(
    points: _Floats, neighbours: _Indices, order: _Indices, normals: _Floats, curvature: _Floats, threads: int
) -> _Floats:
    """Local variation (N, 2) of normals (N, 3) and curvature (N,) over the graph (Theorem 2)."""

def fit_planes(
    points: _Floats, neighbours: _Indices, order: _Indices, threads: int, ties: _Indices | None = None
) -> tuple[_Floats, _Floats]:
    """Least-squares planes of each point, its neighbours and their ties (`Tree.graph_with_ties`): unit normals (N, 3)
    of arbitrary sign, zero where there is no unique plane, and curvature (N,): the smallest eigenvalue of the
    covariance over the sum of all three."""

def fit_pooled_planes(
    means: _Floats, neighbours: _Indices, order: _Indices, weights: _Floats, moments: _Floats, threads: int
) -> tuple[_Floats, _Floats, _Floats]:
    """Least-squares planes of all points in a voxel and its neighbouring voxels, from `voxel_moments`.

    Takes means (N, 3), weights (N,) and second moments (N, 6). Returns unit normals (N, 3), the standard deviation
    (N,) of the points along the normal, and the means projected onto their planes (N, 3).
    """

# ---------------------------------------------------------------------------------------------------------- voxel grids

def group_by_voxel(
    points: _Floats, size: float, threads: int
) -> tuple[_Indices, NDArray[np.int64], NDArray[np.uint64]]:
    """Group points (N, 3) by voxel of a grid with a corner at the origin.

    Returns an order (N,) of the points, voxel by voxel along a Z-order curve; starts (V + 1,), where each voxel
    begins in it; and the Morton keys (V,) of the voxels: a key without its last three bits is that of the voxel twice
    as large.
    """

def voxel_means(values: _Floats, order: _Indices, starts: NDArray[np.int64], threads: int) -> _Floats:
    """Mean (V, F) of the values (N, F) in each voxel."""

def voxel_moments(
    points: _Floats,
    weights: _Floats | None,
    order: _Indices,
    starts: NDArray[np.int64],
    threads: int,
    point_moments: _Floats | None = None,
) -> tuple[_Floats, _Floats, _Floats]:
    """Sum of weights (V,), weighted mean (V, 3) and second moments about it (V, 6: xx yy zz xy xz yz) of each voxel's
    points.

    weights (N,) are positive; None: all 1. point_moments (N, 6): where the points are means themselves, the moments
    about each.
    """

def occupied_voxels(points: _Floats, size: float, levels: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Number of voxels with any point, and with more than one (levels,), at voxel sizes size, 2 size, 4 size, ..."""

def near_moments(points: _Floats, max_ratio: float, sample_size: int) -> tuple[_Floats, float, _Floats]:
    """The median (3,), the median distance from it, and sums (10,) over the points up to `max_ratio` times as far.

    The sums: the number of points, their offsets from the median in median distances (3), and the products of these
    (xx yy zz xy xz yz). The medians are those of a regular sample of at most `sample_size` points.
    Rows that are not finite are left out.
    """

def sample_by_cell(points: _Floats, centre: _Floats, limit: float, axes: _Floats, size: int, seed: int) -> _Indices:
    """Up to `size` rows of distinct points within `limit` of the centre, in the order of a hash of their cells.

    The cell is |axes (x - centre)|, rounded down. So the order of the points and the signs of the axes do not matter.
    Rows that are not finite are left out.
    """

def unique_points(points: _Floats) -> _Indices:
    """Indices of the points (N, 3) that do not repeat an earlier one, ascending."""

def remove_duplicates_and_outliers(points: _Floats, max_ratio: float, sample_size: int) -> tuple[_Floats, _Indices]:
    """Unique points (K, 3), and their indices, without those farther from the median than max_ratio median distances.

    The medians are those of a regular sample of at most `sample_size` points.
    Rows that are not finite are left out.
    """

# ----------------------------------------------------------------- engine: descriptors, hypotheses, refinement
#
# Lengths are in voxels: the surfels of a cloud are about one unit apart.

class DegreesOfFreedom:
    """Free rotations about x, y, z through the pivot (3,), and free translations along x, y, z: free (6,)."""

    def __init__(self, free: Sequence[bool], pivot: Sequence[float] | _Floats) -> None: ...

def descriptors(points: _Floats, normals: _Floats, radius: float, threads: int) -> NDArray[np.uint8]:
    """Descriptors (N, 96): histograms of four angles between normals and edges in three shells around each surfel."""

def match_descriptors(a: NDArray[np.uint8], b: NDArray[np.uint8], threads: int) -> tuple[_Indices, _Indices]:
    """Nearest descriptor in the L1 norm: for each of a (N, 96) its index in b (M, 96), and the other way round."""

def match_near_descriptors(
    a: NDArray[np.uint8], b: NDArray[np.uint8], offsets: NDArray[np.int64], near: _Indices
) -> tuple[_Indices, _Indices]:
    """The same among pairs alone: row i of a with near[offsets[i]:offsets[i + 1]] of b; -1 for rows without a pair."""

class DescriptorIndex:
    """Approximate nearest neighbours among many descriptors (N, 96), at least one: lists around centres (k-means).

    A few thousand descriptors are one list, whose search is exact.
    """

    def __init__(self, descriptors: NDArray[np.uint8], threads: int) -> None: ...
    def __len__(self) -> int: ...
    def nearest(self, queries: NDArray[np.uint8], k: int, probes: int, threads: int) -> tuple[_Indices, _Indices]:
        """Indices (M, k) of the descriptors nearest to each query (M, 96) in the L1 norm, nearest first, and their
        distances (M, k); both -1 where there are fewer in the `probes` lists that are searched."""

def orient_consistently(points: _Floats, normals: _Floats, neighbours: _Indices) -> _Floats:
    """Normals (N, 3) of one sign on each connected surface, along a maximum spanning forest of the graph."""

class DescriptorRanks:
    """Ranks of descriptor distances: how rare is a distance as small as this, among all that a surfel could match?

    The rank r of a pair is the geometric mean of its rank among all targets and among all sources, as shares.
    """

    def __init__(self, source: NDArray[np.uint8], target: NDArray[np.uint8], threads: int) -> None: ...
    def information(self, i: _Indices, j: _Indices) -> NDArray[np.float32]:
        """-log r of pairs of descriptors (N,); 1 on average by chance."""

    def contacts(
        self,
        source: SurfelGrid,
        target: SurfelGrid,
        poses: _Floats,
        max_distance: float,
        min_cosine: float,
        step: int,
        threads: int,
    ) -> _Floats:
        """What the surfels say that each pose (P, 4, 4) brings together, (P, 6); every `step`-th of them.

        Numbers of surfels of both clouds: close to the other cloud with normals that agree, that oppose each other,
        and that do neither; floating in front of and behind its surface. Last, the sum of -log r - 1 over the first.
        """

def infer_viewpoint(points: _Floats, normals: _Floats, neighbours: _Indices, threads: int) -> _Floats:
    """Position (3,) towards which all normals can point with the least contradiction between neighbours."""

def hypotheses(
    source: _Floats,
    source_normals: _Floats,
    target: _Floats,
    target_normals: _Floats,
    tolerance: float,
    max_count: int,
    dof: DegreesOfFreedom,
    threads: int,
) -> tuple[_Floats, _Indices]:
    """Poses (P, 4, 4) supported by sets of pairwise compatible correspondences, and the size of each set (P,),
    largest first.

    The arrays (C, 3) are paired by row. Two correspondences are compatible if their distances agree within
    `tolerance` and so do the angles between their normals.
    """

def inlier_sums(
    source: _Floats,
    source_normals: _Floats,
    target: _Floats,
    target_normals: _Floats,
    weights: _Floats,
    poses: _Floats,
    distances: _Floats,
    min_cosine: float,
    threads: int,
) -> _Floats:
    """Sums (P, D, 11) over the pairs, by row, that each pose makes inliers within the distances (D,), ascending.

    Their number, their weights, their positions in the source, moved, (3) and the products xx, xy, yy, xz, yz, zz of
    these (6). Inliers have normals with a cosine of at least `min_cosine` between them.
    """

class SurfelGrid:
    """Nearest-surfel grid: an approximately nearest surfel in constant time.

    points (N, 3), unit or zero normals (N, 3), neighbours (N, k): nearest surfels of each surfel.
    """

    def __init__(self, points: _Floats, normals: _Floats, neighbours: _Indices) -> None: ...
    def nearest(self, queries: _Floats, max_distance: float, threads: int) -> _Indices:
        """Nearest surfel of each query (M, 3); -1 beyond `max_distance`, or beyond about two voxels."""
    def score(self, poses: _Floats, points: _Floats, normals: _Floats, max_distance: float, threads: int) -> _Floats:
        """Score (P,) of poses (P, 4, 4) of surfels (M, 3): the mean of (1 - d^2 / max_distance^2) cos(normals), each
        factor at least 0."""
    def refine(
        self,
        poses: _Floats,
        points: _Floats,
        normals: _Floats,
        weights: _Floats | None,
        scales: _Floats,
        dof: DegreesOfFreedom,
        threads: int,
    ) -> _Floats:
        """Poses (P, 4, 4) after one Gauss-Newton step of symmetric point-to-plane ICP for each kernel width in
        `scales`.

        points, normals (M, 3), weights (M,) or None: the source's surfels. Ends early where steps no longer change a
        pose.
        """
    def equations(
        self, pose: _Floats, points: _Floats, normals: _Floats, weights: _Floats | None, scale: float, threads: int
    ) -> tuple[_Floats, _Floats, float, float]:
        """Normal equations of such a step: A (6, 6), b (6,), the sum of weights, the weighted sum of squared
        residuals."""

def frame_voxels(points: _Floats, times: _Floats | None, size: float) -> tuple[_Floats, _Floats, _Floats, _Floats]:
    """Number of points (V,), mean (V, 3), second moments about it (V, 6: xx yy zz xy xz yz) and mean time (V,) of each
    voxel of a frame (N, 3), in the order in which its points reach them."""

class SurfelMap:
    """Incremental map of planar surfels: a hash table of octrees with voxels of `voxel`, 2 `voxel`, ... on `levels`
    levels. The largest voxel whose points have a standard deviation of at most `max_thickness` along a normal is a
    surfel.

    A frame is given by its voxels: number of points (V,), means (V, 3) and second moments about these (V, 6: xx yy zz
    xy xz yz).
    """

    def __init__(self, voxel: float, levels: int, max_thickness: float) -> None: ...
    def __len__(self) -> int:
        """Number of octrees."""
    def insert(self, counts: _Floats, means: _Floats, moments: _Floats, pose: _Floats, threads: int) -> None:
        """Add a frame at a pose."""
    def forget(self, centre: _Floats, radius: float) -> None:
        """Remove the octrees whose centre is farther from `centre` (3,)."""
    def find(self, points: _Floats) -> tuple[NDArray[np.int8], _Floats, _Floats]:
        """Of each point (M, 3): 2 if it is in a surfel, 1 if its voxel has points, 0 otherwise; point and normal of the
        surfel (M, 3)."""
    def track(
        self,
        counts: _Floats,
        means: _Floats,
        moments: _Floats,
        start: _Floats,
        kernel: float,
        least_kernel: float,
        shrinkage: float,
        noise: float,
        max_steps: int,
        tolerance: float,
        threads: int,
    ) -> tuple[_Floats, _Floats, _Floats, int, int, int, bool]:
        """Pose (4, 4) of a frame after robust point-to-plane Gauss-Newton steps from `start`.

        Also returns the normal equations (6, 6) of the inliers, and of the other correspondences, with unit weights,
        for rotations about the mean of the frame; the number of voxels that overlap the map, that have a surfel, and
        that are inliers; and whether the steps converged.
        """
    def track_sweep(
        self,
        counts: _Floats,
        means: _Floats,
        moments: _Floats,
        times: _Floats,
        start: _Floats,
        kernel: float,
        least_kernel: float,
        shrinkage: float,
        noise: float,
        max_steps: int,
        tolerance: float,
        inertia: float,
        threads: int,
    ) -> tuple[_Floats, _Floats, _Floats]:
        """Pose (4, 4) at the middle of a frame that was measured while the sensor moved, and the transforms (4, 4)
        that follow it at times -1/2 and 1/2.

        times (V,): of each voxel; inertia: information that these transforms are the identity, as a share of what the
        frame has on its pose.
        """

def transform_each(points: _Floats, pose_of: _Indices, poses: _Floats, threads: int) -> _Floats:
    """Points (N, 3), each transformed by the pose (K, 4, 4) of its index (N,)."""

class SurfelPoints:
    """All points of a cloud (M, 3) with the index of each one's surfel (M,), -1: unused, and weights of the surfels
    (N,)."""

    def __init__(self, grid: SurfelGrid, points: _Floats, surfels: _Indices, weights: _Floats) -> None: ...

def symmetric_equations(
    source: SurfelPoints, target: SurfelPoints, pose: _Floats, scale: float, threads: int
) -> tuple[_Floats, _Floats, float, float]:
    """Normal equations of all points of each cloud against the surfels of the other, see `SurfelGrid.equations`."""

def refine_symmetric(
    source: SurfelPoints,
    target: SurfelPoints,
    start: _Floats,
    scale: float,
    max_steps: int,
    tolerance: float,
    dof: DegreesOfFreedom,
    threads: int,
) -> _Floats:
    """Pose (4, 4) after Gauss-Newton steps on `symmetric_equations`: at most max_steps, until the largest entry of a
    step (voxels, radians) is at most `tolerance`."""

# --------------------------------------------------------------------------------------- the paper's forces, baselines

def pair_forces(
    source: NDArray[np.float32],
    target: NDArray[np.float32],
    source_features: NDArray[np.float32],
    target_features: NDArray[np.float32],
    target_mass: NDArray[np.float32],
    gaussian: bool,
    scale: float,
    threads: int,
) -> tuple[_Floats, _Floats]:
    """Force (N, 3) of all target particles (M, 3) on each source particle (N, 3), and the sum of the pair weights (N,).

    features (N, F) and (M, F), mass (M,). The law is the softened inverse square, or the Gaussian of width `scale`.
    """

def moments_of_pairs(
    points: _Floats,
    target: _Floats,
    partner: _Indices,
    rows: NDArray[np.int64],
    weights: _Floats | None,
    threads: int,
) -> _Floats:
    """Means of both sides and their cross-covariance (15,) over the correspondences (points[i], target[partner[i]]),
    i in rows."""

def sum_plane_pairs(
    points: _Floats,
    target: _Floats,
    normals: _Floats,
    partner: _Indices,
    rows: NDArray[np.int64],
    weights: _Floats | None,
    centre: _Floats,
    length_scale: float,
    threads: int,
) -> _Floats:
    """Normal equations (28,) of point-to-plane ICP: the upper triangle of J^T W J (21), J^T W r (6), r^T W r (1).

    Rotations are about `centre` (3,) and multiplied by `length_scale`, so that all six unknowns are lengths.
    """

def gaussian_weights(
    points: NDArray[np.float32],
    others: NDArray[np.float32],
    mass: NDArray[np.float32],
    width: float,
    threads: int,
) -> _Floats:
    """Sum of Gaussians (N,) at points (N, 3): sum_j mass_j exp(-|y_j - x_i|^2 / (2 width^2)) over others (M, 3)."""

def gaussian_forces(
    points: NDArray[np.float32],
    others: NDArray[np.float32],
    mass: NDArray[np.float32],
    width: float,
    threads: int,
) -> tuple[_Floats, _Floats]:
    """`gaussian_weights` (N,), and the same sum of the offsets y_j - x_i (N, 3)."""

def smooth_union(
    points: _Floats,
    order: NDArray[np.int64],
    parts: _Floats,
    blend: float,
    reach: float,
    block: int,
) -> _Floats:
    """Signed distances (N,) of points (N, 3) from the smooth union of parts (P, 18), whose columns are those of
    `SmoothUnion.field`: -blend log sum_i exp(-d_i / blend). Points are taken in `order`, `block` of them together;
    parts that are by `reach` farther than the nearest may be left out."""

def feature_histograms(
    points: _Floats,
    normals: _Floats,
    offsets: NDArray[np.int64],
    indices: _Indices,
    squared: _Floats,
    max_neighbours: int,
    threads: int,
) -> _Floats:
    """Fast point feature histograms (N, 33) from the neighbours that `Tree.within` found, the nearest max_neighbours
    of each."""

def nearest_features(features: NDArray[np.float32], queries: NDArray[np.float32], threads: int) -> _Indices:
    """Index (M,) of the row of features (N, F) that is nearest to each query (M, F); of equal ones the first."""

def largest_consistent_set(
    source: _Floats, target: _Floats, tolerance: float, branch_limit: int, threads: int
) -> tuple[_Indices, bool]:
    """Maximum clique of correspondences (source[i], target[i]) whose pairwise distances agree within `tolerance`.

    Returns its members, ascending, and whether it is proven to be maximum within `branch_limit` branches.
    """

# --------------------------------------------------------------------------------------------------------- file formats

def parse_table(
    data: bytes | NDArray[np.uint8],
    start: int,
    rows: int,
    kinds: str,
    *,
    delimiter: str = "",
    exact: bool = True,
    comments: bool = False,
    prefix: str = "",
) -> tuple[NDArray[np.float64], int]:
    """Numbers from lines of text: a table of at most `rows` rows (negative: all), and the offset of the first unread
    line.

    If that line is complete, it does not match the format.

    kinds      a letter for each column: f number; i, u 64-bit integer (view the column so); - and l (list) are skipped
    delimiter  empty: whitespace; else this character, and an empty number is nan
    exact      nothing may follow the last column
    comments   # and // begin a comment
    prefix     read only lines whose first word, in lower case, is this one
    """

def pack_records(
    data: bytes | NDArray[np.uint8],
    start: int,
    rows: int,
    parts: Sequence[tuple[int, int, int, bool]],
    *,
    big_endian: bool,
) -> tuple[NDArray[np.uint8], int]:
    """The fixed-size bytes of each of `rows` binary records that contain lists, and the offset of the end of the last.

    parts      in the order of the record: number of fixed bytes, then a list: bytes of its length field (0: no list),
    bytes of
               an item, whether the length is signed
    Fewer rows are returned where the data end early or a length is negative.
    """

def lzf_decode(data: bytes | NDArray[np.uint8], size: int) -> NDArray[np.uint8]:
    """Decompress LZF data to `size` bytes; ValueError where the data are invalid or of another size."""

def parse_list_faces(
    data: bytes | NDArray[np.uint8], start: int, rows: int, kinds: str
) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """Faces from lines of text: the corners of all faces, the number of corners of each, and the offset of the first
    unread line, which is incomplete, or no face, or beyond `rows`.

    kinds      a letter for each column: p the list of corners, l another list, - any other word
    """

def parse_obj_faces(data: bytes | NDArray[np.uint8]) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """The same of an OBJ file, numbered from 0 on."""

def unpack_faces(
    data: bytes | NDArray[np.uint8],
    start: int,
    rows: int,
    parts: Sequence[tuple[int, int, int, bool]],
    list: int,
    *,
    signed_corners: bool,
    big_endian: bool,
) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """The same of binary records, with parts as in `pack_records`; `list` is the part that has the corners."""

# ------------------------------------------------------------------------------------------------------------- meshes

def triangulate(vertices: _Floats, corners: _Indices, sizes: NDArray[np.int64]) -> _Indices:
    """Triangles (T, 3) of polygons; none of those with fewer than three corners."""

class TriangleTree:
    """Bounding-volume tree over triangles: vertices (V, 3), finite, and faces (F, 3), none without area."""

    def __init__(self, vertices: _Floats, faces: _Indices) -> None: ...
    def __len__(self) -> int: ...
    def closest(self, queries: _Floats, threads: int) -> tuple[_Floats, _Floats, _Indices, NDArray[np.uint8]]:
        """The closest point of the mesh to each query (M, 3): its distance (M,), the point (M, 3), the face (M,), and
        what of the face a, b, c it is on (M,): 0 inside, 1 to 3 the edges ab, bc, ca, 4 to 6 the corners."""
