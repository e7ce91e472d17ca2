"""The loops that cost time, in C++ (native/). Arrays are C-contiguous; `threads` is at least 1 and changes no bit.

Indices are trusted: only arrays that come from these functions go back into them.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_Floats = NDArray[np.float64]
_Indices = NDArray[np.int32]

VOXEL_BITS: int

class Tree:
    def __init__(self, points: _Floats, threads: int) -> None: ...
    def __len__(self) -> int: ...
    def graph(self, k: int, threads: int) -> _Indices: ...
    def nearest(self, queries: _Floats, k: int, threads: int) -> tuple[_Indices, _Floats]: ...
    def follow(
        self, queries: _Floats, searched_at: _Floats, second: _Floats, nearest: _Indices, threads: int
    ) -> _Floats:
        """Squared distances to the nearest points. The three arrays in between are what is remembered of the queries;
        they are brought up to date, column 0 of `nearest` being the nearest points."""
    def within(self, queries: _Floats, radius: float, threads: int) -> tuple[NDArray[np.int64], _Indices, _Floats]: ...
    def order(self) -> _Indices: ...

def edge_weights(points: _Floats, neighbours: _Indices, order: _Indices, threads: int) -> _Floats: ...
def response(points: _Floats, neighbours: _Indices, order: _Indices, threads: int) -> _Floats: ...
def fit_planes(points: _Floats, neighbours: _Indices, order: _Indices, threads: int) -> tuple[_Floats, _Floats]: ...
def variation(
    points: _Floats,
    neighbours: _Indices,
    order: _Indices,
    normals: _Floats,
    curvature: _Floats,
    threads: int,
) -> _Floats: ...
def shift(
    points: _Floats, neighbours: _Indices, order: _Indices, weights: _Floats, signal: _Floats, threads: int
) -> _Floats: ...
def fit_pooled_planes(
    means: _Floats, neighbours: _Indices, order: _Indices, weights: _Floats, moments: _Floats, threads: int
) -> tuple[_Floats, _Floats, _Floats]: ...
def distinct(points: _Floats) -> _Indices: ...
def distinct_and_near(
    points: _Floats, rows: NDArray[np.int64] | None, far_off: float, sample: int
) -> tuple[_Floats, _Indices]: ...
def occupied_cells(points: _Floats, size: float, levels: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]: ...
def cell_moments(
    points: _Floats,
    weights: _Floats | None,
    order: _Indices,
    starts: NDArray[np.int64],
    threads: int,
    own: _Floats | None = None,
) -> tuple[_Floats, _Floats, _Floats]: ...
def descriptors(points: _Floats, normals: _Floats, radius: float, threads: int) -> NDArray[np.uint8]: ...
def match_descriptors(a: NDArray[np.uint8], b: NDArray[np.uint8], threads: int) -> tuple[_Indices, _Indices]: ...

class DegreesOfFreedom:
    def __init__(self, free: Sequence[bool], pivot: Sequence[float] | _Floats) -> None: ...

def hypotheses(
    source: _Floats,
    source_normals: _Floats,
    target: _Floats,
    target_normals: _Floats,
    tolerance: float,
    most: int,
    dof: DegreesOfFreedom,
    threads: int,
) -> tuple[_Floats, _Indices]: ...

class SurfelGrid:
    def __init__(self, points: _Floats, normals: _Floats, neighbours: _Indices) -> None: ...
    def nearest(self, places: _Floats, most: float, threads: int) -> _Indices: ...
    def score(self, poses: _Floats, points: _Floats, normals: _Floats, reach: float, threads: int) -> _Floats: ...
    def refine(
        self,
        poses: _Floats,
        points: _Floats,
        normals: _Floats,
        weights: _Floats | None,
        scales: _Floats,
        dof: DegreesOfFreedom,
        threads: int,
    ) -> _Floats: ...
    def equations(
        self,
        pose: _Floats,
        points: _Floats,
        normals: _Floats,
        weights: _Floats | None,
        scale: float,
        threads: int,
    ) -> tuple[_Floats, _Floats, float, float]: ...

class SurfelPoints:
    def __init__(self, grid: SurfelGrid, points: _Floats, own: _Indices, weights: _Floats) -> None: ...

def symmetric_equations(
    source: SurfelPoints, target: SurfelPoints, pose: _Floats, scale: float, threads: int
) -> tuple[_Floats, _Floats, float, float]: ...
def refine_symmetric(
    source: SurfelPoints,
    target: SurfelPoints,
    start: _Floats,
    scale: float,
    most_steps: int,
    enough: float,
    dof: DegreesOfFreedom,
    threads: int,
) -> _Floats: ...
def voxel_cells(
    points: _Floats, size: float, threads: int
) -> tuple[_Indices, NDArray[np.int64], NDArray[np.uint64]]: ...
def voxel_means(values: _Floats, order: _Indices, starts: NDArray[np.int64], threads: int) -> _Floats: ...
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
    """Numbers from the lines of a text: a table of at most `rows` rows (all there are where negative), and
    where the first line begins that was not taken. If that is a whole line, it does not fit.

    kinds      a letter a column: f number; i, u 64-bit integer (view the column so); - and l (list) left out
    delimiter  none: blanks; else this letter, and an empty number is nan
    exact      nothing may follow the last column
    comments   # and // begin a comment
    prefix     take only lines that begin with this word (in small letters)
    """

def pack_records(
    data: bytes | NDArray[np.uint8],
    start: int,
    rows: int,
    parts: Sequence[tuple[int, int, int, bool]],
    *,
    big_endian: bool,
) -> tuple[NDArray[np.uint8], int]:
    """The fixed-size bytes of each of `rows` records that hold lists, and where the last ends.

    parts      in the order of the record: fixed bytes, then a list: its length in bytes (0: none), bytes of
               an item, whether the length is signed
    Fewer rows come back where the data end early or a length is negative.
    """

def lzf_decode(data: bytes | NDArray[np.uint8], size: int) -> NDArray[np.uint8]:
    """The `size` bytes that LZF data stand for; ValueError where they do not."""

def pair_forces(
    source: NDArray[np.float32],
    target: NDArray[np.float32],
    source_features: NDArray[np.float32],
    target_features: NDArray[np.float32],
    target_mass: NDArray[np.float32],
    gaussian: bool,
    scale: float,
    threads: int,
) -> tuple[_Floats, _Floats]: ...
def moments_of_pairs(
    points: _Floats,
    target: _Floats,
    partner: _Indices,
    rows: NDArray[np.int64],
    weights: _Floats | None,
    threads: int,
) -> _Floats: ...
def sum_plane_pairs(
    points: _Floats,
    target: _Floats,
    normals: _Floats,
    partner: _Indices,
    rows: NDArray[np.int64],
    middle: _Floats,
    reach: float,
    threads: int,
) -> _Floats: ...
def gaussian_weights(
    points: NDArray[np.float32],
    others: NDArray[np.float32],
    mass: NDArray[np.float32],
    width: float,
    threads: int,
) -> _Floats: ...
def gaussian_forces(
    points: NDArray[np.float32],
    others: NDArray[np.float32],
    mass: NDArray[np.float32],
    width: float,
    threads: int,
) -> tuple[_Floats, _Floats]: ...
def feature_histograms(
    points: _Floats,
    normals: _Floats,
    offsets: NDArray[np.int64],
    indices: _Indices,
    squared: _Floats,
    most: int,
    threads: int,
) -> _Floats: ...
def nearest_features(features: NDArray[np.float32], queries: NDArray[np.float32], threads: int) -> _Indices: ...
def largest_consistent_set(
    source: _Floats, target: _Floats, tolerance: float, branch_limit: int, threads: int
) -> tuple[_Indices, bool]: ...
