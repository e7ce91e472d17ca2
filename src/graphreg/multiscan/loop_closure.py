"""Loop closure: places of a trajectory where the sensor has been before, and the trajectory that they correct.

Keyframes come in one by one, with poses of the odometry.

1. Retrieval: earlier keyframes whose distance the drift of the odometry does not rule out, the most similar first (VLAD
   vectors of graph descriptors, as in `retrieval`).
2. Verification: each is registered from any pose, without the prediction. A loop needs a success.
3. Tracking: from there, the keyframe is tracked on the surfels of the earlier keyframe and its neighbours, which are
   denser than one frame. A loop needs a success here, too, and both transforms must agree within their covariances; it
   is their mean, weighted by these.
4. Rejection: the result must be within the drift of what the odometry predicts. The drift is counted along the shortest
   path over odometry and earlier loops.
5. Confirmation: another loop of a neighbouring keyframe must agree with it. A loop alone is never used.
6. Optimisation, when it is asked for: the robust pose graph of odometry and loops, which rejects loops that contradict
   the others.

A wrong loop does more harm than a missed one, so that each step can only reject.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from graphreg.clouds import Floats, Mask
from graphreg.engine.descriptors import compute_descriptors
from graphreg.engine.orientation import orient_normals
from graphreg.engine.preprocessing import PreprocessedCloud
from graphreg.engine.surfels import fit_surfels
from graphreg.errors import InputError
from graphreg.features.edge_descriptors import Descriptors
from graphreg.multiscan.multiway_result import Edge
from graphreg.multiscan.pairwise import centred_graph, edge_from_result
from graphreg.multiscan.pose_graph import POSE_GRAPH, rotation_vectors, subgraph, twists
from graphreg.multiscan.pose_graph_optimisation import least_squares_poses, optimise
from graphreg.multiscan.retrieval import centred_directions, visual_words, vlad_vector
from graphreg.multiscan.tracking import SurfelTracker, displacement
from graphreg.poses import inverse, pose, rotation_from_vector
from graphreg.registration import prepare_sample, register


@dataclass(frozen=True)
class LoopParameters:
    """Constants of loop closure; all chosen. Voxels are those of the odometry.

    Attributes
    ----------
    points : int
        Points that are kept of a keyframe.
    voxel_ratio : float
        Voxel size of its descriptors over the one in which the engine matches descriptors.
    vocabulary : int
        Keyframes whose descriptors the visual words are computed from; before, no loops are looked for.
    apart : float
        Keyframes along the shortest path to one that can close a loop.
    reach : float
        Largest distance of the centres of two keyframes that are registered, in radii of the newer one.
    tries : int
        Candidates that each keyframe is registered to, at most.
    drift : float
        Largest error of the odometry, as a share of the distance that the points moved.
    lost_drift : float
        The same where frames in between are not registered.
    neighbours : int
        Keyframes before and after the earlier one of a loop, with the surfels of which the loop is tracked.
    tolerance : float
        Error of a loop, in voxels.
    window : int
        Keyframes before this one whose loops can confirm one of it.
    sigma : float
        Standard deviation of the odometry between keyframes in the pose graph, as a share of the distance that the
        points moved; where loops are rejected, it is `drift`; where frames are lost, `lost_drift`. That of a loop
        that is tracked is this share of the distance between the earlier keyframe and its neighbours.
    least_sigma : float
        The smallest of these, in voxels.
    """

    points: int = 20_000
    voxel_ratio: float = 4.0
    vocabulary: int = 10
    apart: float = 12.0
    reach: float = 1.0
    tries: int = 2
    neighbours: int = 2
    drift: float = 0.03
    lost_drift: float = 1.0
    tolerance: float = 1.0
    window: int = 4
    sigma: float = 0.003
    least_sigma: float = 0.01


LOOPS = LoopParameters()


@dataclass(frozen=True, eq=False)
class Keyframe:
    """A keyframe of the odometry.

    Attributes
    ----------
    frame : int
        Its place among all frames.
    centre : (3,) ndarray
        Mean of the points.
    points : (N, 3) ndarray of float32
        A sample, relative to the centre, so that large coordinates lose no digits.
    pose : (4, 4) ndarray
        x_first = P x, by the odometry.
    voxel : float
        Voxel size of the odometry.
    moved : float
        Mean distance of its points from where they would be in the keyframe before.
    lost : bool
        Whether frames since the keyframe before are not registered.
    """

    frame: int
    centre: Floats
    points: NDArray[np.float32]
    pose: Floats
    voxel: float
    moved: float
    lost: bool

    @property
    def cloud(self) -> Floats:
        """The sample in the frame of the sensor, (N, 3)."""
        return np.asarray(self.points + self.centre)

    @property
    def radius(self) -> float:
        """Root mean square distance of the points from their centre."""
        return float(np.sqrt((self.points**2).sum(axis=1).mean())) or self.voxel


@dataclass
class LoopCloser:
    """Keyframes and the loops between them.

    Parameters
    ----------
    seed : int, default 0
        Seed of the random sampling.
    threads : int, default 1
        The result does not depend on it.
    parameters : LoopParameters, default LOOPS

    Attributes
    ----------
    keyframes : list of Keyframe
    edges : list of Edge
        Confirmed loops: numbers of keyframes, the later one is the source.
    """

    seed: int = 0
    threads: int = 1
    parameters: LoopParameters = LOOPS
    keyframes: list[Keyframe] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    _pending: list[Edge] = field(default_factory=list)
    _descriptors: list[Descriptors] = field(default_factory=list)
    _words: NDArray[np.float32] | None = None
    _vectors: list[NDArray[np.float32]] = field(default_factory=list)
    _retrieval_voxel: float = 0.0

    def add(self, frame: int, points: Floats, T_first_frame: Floats, voxel: float, lost: bool = False) -> None:
        """Add a keyframe, and look for loops that it closes.

        Parameters
        ----------
        frame : int
            Its place among all frames.
        points : (N, 3) ndarray
        T_first_frame : (4, 4) ndarray
            Its pose by the odometry.
        voxel : float
            Voxel size of the odometry.
        lost : bool, default False
            Whether frames since the last keyframe are not registered.
        """
        centre = points.mean(axis=0)
        sample = (points[:: -(-len(points) // self.parameters.points)] - centre).astype(np.float32)
        moved = 0.0
        if self.keyframes:
            moved = displacement(points, inverse(self.keyframes[-1].pose) @ T_first_frame)
        self.keyframes.append(Keyframe(frame, centre, sample, T_first_frame, voxel, moved, lost))
        scan = self._scan(-1)
        self._describe(scan)
        if self._words is not None:
            self._close(scan)

    def poses(self) -> tuple[Floats, Mask]:
        """Optimise the pose graph.

        Returns
        -------
        poses : (N, 4, 4) ndarray
            Of the keyframes; the first is unchanged.
        used : (L,) ndarray of bool
            Which of the loops are not rejected.
        """
        poses = np.array([each.pose for each in self.keyframes])
        if not self.edges:
            return poses, np.ones(0, bool)
        from_centroids = np.array([pose(np.eye(3), each.centre) for each in self.keyframes])
        # Errors of the odometry add up in one direction, so that loops are judged by the largest drift.
        loose, tight = (
            centred_graph(
                [*(self._odometry_edge(number, share) for number in range(1, len(poses))), *self.edges],
                from_centroids,
                poses @ from_centroids,
            )
            for share in (self.parameters.drift, self.parameters.sigma)
        )
        result = optimise(loose, certain=np.arange(len(loose.pairs)) < len(poses) - 1)
        used = result.used[len(poses) - 1 :]
        if not used.any():
            return poses, used
        optimised = least_squares_poses(subgraph(replace(tight, poses=result.poses), result.used))
        return optimised @ np.array([inverse(T) for T in from_centroids]), used

    def _scan(self, number: int) -> PreprocessedCloud:
        return prepare_sample(self.keyframes[number].cloud, seed=self.seed)

    def _describe(self, scan: PreprocessedCloud) -> None:
        """The VLAD vector of the newest keyframe; of the first ones when there are enough for the visual words."""
        self._retrieval_voxel = self._retrieval_voxel or self.parameters.voxel_ratio * scan.voxel_sizes.coarse
        surfels = fit_surfels(scan.local_points, self._retrieval_voxel, scan.weights, self.threads)
        self._descriptors.append(compute_descriptors(orient_normals(surfels), self.threads))
        if self._words is None and len(self._descriptors) >= self.parameters.vocabulary:
            self._words = visual_words(self._descriptors)
        if self._words is not None:
            self._vectors += [vlad_vector(each, self._words) for each in self._descriptors]
            self._descriptors = []

    def _close(self, scan: PreprocessedCloud) -> None:
        """Register the newest keyframe to earlier ones that look like it, and keep what is confirmed."""
        newest = len(self.keyframes) - 1
        predicted, allowance = self._predictions()
        for target in self._candidates(predicted, allowance):
            there = self._scan(target)
            try:
                result = register(scan, there, seed=self.seed, threads=self.threads)
            except InputError:
                continue
            found = edge_from_result((newest, target), result, there)
            edge = self._tracked(found) if found.success else None
            if edge is None or self._difference(edge, predicted[target]) > allowance[target] + self._tolerance(edge):
                continue
            confirming = [other for other in self._pending + self.edges if self._agree(edge, other)]
            if confirming:
                self.edges += [other for other in confirming if other in self._pending]
                self.edges.append(edge)
                self._pending = [other for other in self._pending if other not in confirming]
            else:
                self._pending.append(edge)
            break
        self._pending = [edge for edge in self._pending if newest - edge.source < self.parameters.window]

    def _tracked(self, edge: Edge) -> Edge | None:
        """The mean of a loop and of where it is tracked on the surfels around its target; None if these contradict."""
        source, target = self.keyframes[edge.source], self.keyframes[edge.target]
        around = self._around(edge.target)
        if len(around) < 2:
            # The map of one frame cannot be sure.
            return None
        tracker = SurfelTracker(target.cloud, self.threads)
        for number in around:
            tracker.insert(tracker.voxels_of(self.keyframes[number].cloud), self._relative(number, edge.target))
        found = tracker.track(tracker.voxels_of(source.cloud), edge.transformation)
        if not found.success:
            return None
        # The surfels are as precise as the odometry from one of these keyframes to the next.
        moved = max(self.keyframes[number].moved for number in around[1:])
        information = self._information(target, self.parameters.sigma * moved)
        tracked = replace(edge, transformation=found.pose, information=information)
        return weighted_mean(edge, tracked, target.centre)

    def _around(self, number: int) -> range:
        """A keyframe and its neighbours, as far as the odometry leads without a lost frame."""
        first = last = number
        while number - first < self.parameters.neighbours and first > 0 and not self.keyframes[first].lost:
            first -= 1
        newest = len(self.keyframes) - 1
        while last - number < self.parameters.neighbours and last < newest and not self.keyframes[last + 1].lost:
            last += 1
        return range(first, last + 1)

    def _information(self, keyframe: Keyframe, sigma: float) -> Floats:
        """About the centre of a keyframe, whose points have this standard deviation."""
        sigma = max(sigma, self.parameters.least_sigma * keyframe.voxel)
        return np.asarray(np.diag(np.repeat([keyframe.radius / sigma, 1 / sigma], 3) ** 2))

    def _candidates(self, predicted: Floats, allowance: Floats) -> list[int]:
        """Earlier keyframes that may overlap the newest, the most similar first."""
        newest = self.keyframes[-1]
        reach = self.parameters.reach * newest.radius
        spacing = float(np.median([each.moved for each in self.keyframes[1:]]))
        far_along = allowance >= self.parameters.drift * self.parameters.apart * spacing
        centres = predicted[:, :3, :3] @ newest.centre + predicted[:, :3, 3]
        apart = np.linalg.norm(centres - [each.centre for each in self.keyframes], axis=1)
        possible = apart <= reach + allowance
        chosen = np.flatnonzero(far_along & possible)
        vectors = centred_directions(np.stack(self._vectors))
        similarity = vectors[chosen] @ vectors[-1]
        return [int(each) for each in chosen[np.argsort(-similarity, kind="stable")][: self.parameters.tries]]

    def _predictions(self) -> tuple[Floats, Floats]:
        """Pose of the newest keyframe in the frame of each, (N, 4, 4), and how far off that can be, (N,)."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import dijkstra

        count = len(self.keyframes)
        steps = {(number, number - 1): self._allowance(number) for number in range(1, count)}
        steps |= {(edge.source, edge.target): self._tolerance(edge) for edge in self.edges}
        ends = np.array(list(steps), np.int32)
        # An entry of zero would be no edge.
        lengths = np.maximum(np.array(list(steps.values())), 1e-6 * self.keyframes[0].voxel)
        graph = coo_array((lengths, (ends[:, 0], ends[:, 1])), shape=(count, count)).tocsr()
        allowance, before = dijkstra(graph, directed=False, indices=np.array(count - 1), return_predecessors=True)
        loops = {(edge.source, edge.target): edge.transformation for edge in self.edges}
        predicted = np.tile(np.eye(4), (count, 1, 1))
        for number in np.argsort(allowance, kind="stable")[1:].tolist():
            # The shortest path from the newest keyframe comes here from a nearer one.
            nearer = int(before[number])
            pair = (max(nearer, number), min(nearer, number))
            T = loops[pair] if pair in loops else self._relative(*pair)
            predicted[number] = (T if pair[0] == nearer else inverse(T)) @ predicted[nearer]
        return predicted, allowance

    def _relative(self, source: int, target: int) -> Floats:
        """T_target_source of two keyframes by the odometry."""
        return inverse(self.keyframes[target].pose) @ self.keyframes[source].pose

    def _allowance(self, number: int) -> float:
        """How far off the odometry can be from one keyframe to the next."""
        keyframe = self.keyframes[number]
        return keyframe.moved * (self.parameters.lost_drift if keyframe.lost else self.parameters.drift)

    def _difference(self, edge: Edge, T_target_source: Floats) -> float:
        """Mean distance by which an edge moves the points of its source from where they are predicted."""
        return displacement(self.keyframes[edge.source].cloud, inverse(T_target_source) @ edge.transformation)

    def _tolerance(self, edge: Edge) -> float:
        return self.parameters.tolerance * self.keyframes[edge.source].voxel

    def _agree(self, edge: Edge, other: Edge) -> bool:
        """Whether the odometry over the few keyframes between two loops leads from one to the other."""
        if not 0 < edge.source - other.source <= self.parameters.window:
            return False
        ends = sorted((edge.target, other.target))
        between = [*range(other.source + 1, edge.source + 1), *range(ends[0] + 1, ends[1] + 1)]
        predicted = (
            self._relative(other.target, edge.target) @ other.transformation @ self._relative(edge.source, other.source)
        )
        allowed = sum(map(self._allowance, between)) + self._tolerance(edge)
        return self._difference(edge, predicted) <= allowed

    def _odometry_edge(self, number: int, share: float) -> Edge:
        """The odometry to a keyframe, as an edge of the pose graph whose sigma is a share of the distance."""
        keyframe, target = self.keyframes[number], self.keyframes[number - 1]
        share = self.parameters.lost_drift if keyframe.lost else share
        information = self._information(target, share * keyframe.moved)
        T = self._relative(number, number - 1)
        return Edge(number, number - 1, T, True, 1.0, 0.0, information, target.centre, True, "odometry")


def weighted_mean(first: Edge, second: Edge, centre: Floats) -> Edge | None:
    """The mean of two measurements of the same edge, weighted by their information matrices I:

        x = (I_1 + I_2)^-1 I_2 r,      r^2 = r^T (I_1^-1 + I_2^-1)^-1 r

    where r is the twist from the first to the second, and x that from the first to the mean.

    Parameters
    ----------
    first, second : Edge
        With information matrices.
    centre : (3,) ndarray
        The point of the target's frame that these are about.

    Returns
    -------
    Edge or None
        The first, with the mean transform and the sum of the information matrices; None where they contradict each
        other: where r^2 is that of an outlier.
    """
    assert first.information is not None
    assert second.information is not None
    T_target_centre = pose(np.eye(3), centre)
    between = inverse(T_target_centre) @ second.transformation @ inverse(first.transformation) @ T_target_centre
    twist = twists(between[None])[0]
    information = first.information + second.information
    step = np.linalg.solve(information, second.information @ twist)
    # (I_1^-1 + I_2^-1)^-1 = I_1 (I_1 + I_2)^-1 I_2
    if twist @ first.information @ step > POSE_GRAPH.outlier_threshold:
        return None
    move = T_target_centre @ pose(rotation_from_vector(step[:3]), step[3:]) @ inverse(T_target_centre)
    return replace(
        first, transformation=move @ first.transformation, information=(information + information.T) / 2,
        rotation_centre=centre,
    )  # fmt: skip


def corrected_poses(poses: Floats, keyframes: Sequence[int], keyframe_poses: Floats, centres: Floats) -> Floats:
    """Poses of all frames, from corrected poses of keyframes.

    Between two keyframes the correction changes steadily from one to the other.

    Parameters
    ----------
    poses : (N, 4, 4) ndarray
        Of all frames, by the odometry.
    keyframes : sequence of int
        Which of them are keyframes, in ascending order.
    keyframe_poses : (K, 4, 4) ndarray
        Corrected poses of these.
    centres : (K, 3) ndarray
        A point near the points of each, in its own frame.

    Returns
    -------
    (N, 4, 4) ndarray
        Keyframes have their corrected poses.
    """
    result: Floats = poses.copy()
    corrections = [new @ inverse(poses[frame]) for frame, new in zip(keyframes, keyframe_poses, strict=True)]
    for frame, own in enumerate(poses):
        after = int(np.searchsorted(keyframes, frame, side="right"))
        first, last = (min(max(k, 0), len(keyframes) - 1) for k in (after - 1, after))
        share = 0.0 if first == last else (frame - keyframes[first]) / (keyframes[last] - keyframes[first])
        here, there = corrections[first] @ own, corrections[last] @ own
        turn = rotation_vectors((here[:3, :3].T @ there[:3, :3])[None])[0]
        rotation = here[:3, :3] @ rotation_from_vector(share * turn)
        # The points change place steadily, also where the origin of the frame is far from them.
        centre = centres[first]
        moved = (1 - share) * (here[:3, :3] @ centre + here[:3, 3]) + share * (there[:3, :3] @ centre + there[:3, 3])
        result[frame] = pose(rotation, moved - rotation @ centre)
    return result
