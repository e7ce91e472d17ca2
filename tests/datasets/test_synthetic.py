"""Laws of synthetic scans: on the surface, visible, exactly posed, repeatable, without symmetry."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy.spatial import cKDTree
from scipy.spatial.transform import Rotation

from graphreg.clouds import Floats, Mask
from graphreg.datasets import synthetic
from graphreg.datasets.convex_scenes import ConvexScene
from graphreg.datasets.implicit_surfaces import ImplicitSurface
from graphreg.datasets.scan_setups import SETUPS
from graphreg.datasets.scanner import Sensor
from graphreg.errors import InputError
from graphreg.poses import transform

NAMES = synthetic.bodies() + synthetic.scenes()


@lru_cache(maxsize=64)
def noiseless(name: str, points: int = 3000) -> synthetic.Scan:
    return synthetic.scan(name, points=points, noise=0.0)


@lru_cache
def two_scans(name: str) -> tuple[synthetic.Scan, ...]:
    return tuple(synthetic.sequence(name, 2, points=1000, noise=0.0, seed=3))


def inside(surface: ImplicitSurface | ConvexScene, points: Floats) -> Mask:
    """Which points are within the solid; for scenes independently of how rays are cast."""
    if isinstance(surface, ImplicitSurface):
        return np.asarray(surface.field(points) < 0)
    result = np.zeros(len(points), bool)
    tree = cKDTree(points)
    for part in surface.parts:
        near = np.array(tree.query_ball_point(part.centre, 1.01 * part.radius), np.intp)
        if not len(near):
            continue
        local = np.linalg.solve(part.axes, (points[near] - part.centre).T).T
        within_planes = (local @ part.planes[:, :3].T <= part.planes[:, 3]).all(axis=1)
        result[near] |= within_planes & (((part.quadric * local) ** 2).sum(axis=1) <= 1)
    return result


def solid(name: str) -> ImplicitSurface | ConvexScene:
    surface = synthetic.surface(name)
    assert isinstance(surface, (ImplicitSurface, ConvexScene))
    return surface


def straddles(name: str, world: Floats, eye: Floats) -> Mask:
    """Which points have free space just before them and solid just behind, seen from `eye`."""
    away = (world - eye) / np.linalg.norm(world - eye, axis=1, keepdims=True)
    # Hits on convex parts are exact; those on fields well below the 0.1 mm of noise of a range camera.
    margin = 4e-5 if name in synthetic.bodies() else 1e-7
    return ~inside(solid(name), world - margin * away) & inside(solid(name), world + margin * away)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_points_lie_on_the_surface(name: str) -> None:
    scan = noiseless(name)
    assert straddles(name, transform(scan.pose, scan.points), scan.pose[:3, 3]).mean() > 0.995


@pytest.mark.slow
@pytest.mark.parametrize("name", ["dragon", "casting", "room", "street"])
def test_the_true_transform_takes_the_source_onto_the_surface_of_the_target(name: str) -> None:
    pair = synthetic.pair(name, points=1000, noise=0.0, seed=3)
    target, source = two_scans(name)
    assert np.array_equal(pair.source, source.points)
    assert np.array_equal(pair.target, target.points)
    world = transform(target.pose, transform(pair.T_target_source, pair.source))
    assert straddles(name, world, source.pose[:3, 3]).mean() > 0.995


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_point_is_visible_from_the_sensor(name: str) -> None:
    scan = noiseless(name)
    eye, world = scan.pose[:3, 3], transform(scan.pose, scan.points)[::25]
    away = np.linalg.norm(world - eye, axis=1)
    # Only the body itself can occlude its points, and its wings and spikes are thin: sample densely there.
    first = 0.6 * away if name in synthetic.bodies() else 0.02 * away
    distances = first + np.linspace(0, 1, 200)[:, None] * (0.9995 * away - first)
    before = eye + (distances / away)[..., None] * (world - eye)
    assert inside(solid(name), before.reshape(-1, 3)).reshape(len(distances), -1).any(axis=0).mean() < 0.01


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_poses_are_rigid_transforms(name: str) -> None:
    for scan in (noiseless(name), noiseless(name, points=500)):
        R = scan.pose[:3, :3]
        assert np.allclose(R @ R.T, np.eye(3), atol=1e-12)
        assert np.linalg.det(R) == pytest.approx(1.0)
        assert np.array_equal(scan.pose[3], [0, 0, 0, 1])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hare", "room"])
def test_the_same_seed_gives_the_same_bits_and_another_seed_does_not(
    name: str, forget_rays: Callable[[], None]
) -> None:
    first = synthetic.scan(name, points=500)
    forget_rays()
    again, other = (synthetic.scan(name, points=500, seed=seed) for seed in (0, 5))
    assert first.points.tobytes() == again.points.tobytes()
    assert first.pose.tobytes() == again.pose.tobytes()
    assert first.points.tobytes() != other.points.tobytes()


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_variant_is_another_individual(name: str) -> None:
    rays = Sensor("spherical", (-3.1, 3.1), (-0.6, 0.6), 90).rays(400)
    eye = noiseless(name).pose[:3, 3]
    first, second = (
        synthetic.surface(name, variant).cast(eye, _towards(name, rays, eye), 50.0)[0] for variant in (0, 1)
    )
    both = np.isfinite(first) & np.isfinite(second)
    assert np.abs(first[both] - second[both]).max() > 1e-4


def _towards(name: str, rays: Floats, eye: Floats) -> Floats:
    """Rays in all directions for scenes; for a body, rays close to the direction of its centre."""
    if name in synthetic.scenes():
        return rays
    aimed = rays * 0.1 - eye / np.linalg.norm(eye)
    return np.asarray(aimed / np.linalg.norm(aimed, axis=1, keepdims=True))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_there_are_about_as_many_points_as_requested(name: str) -> None:
    for count in (500, 3000):
        assert len(noiseless(name, points=count).points) == pytest.approx(count, rel=0.15)


@pytest.mark.parametrize("name", ["hare", "room"])
def test_noise_is_along_the_ray_with_the_requested_deviation(name: str) -> None:
    sigma = 1e-3
    exact, noisy = noiseless(name), synthetic.scan(name, points=3000, noise=sigma)
    ranges = np.linalg.norm(exact.points, axis=1)
    rays = exact.points / ranges[:, None]
    along = np.einsum("ij,ij->i", noisy.points, rays) - ranges
    sideways = noisy.points - (ranges + along)[:, None] * rays
    assert np.abs(sideways).max() < 1e-12
    assert along.std() == pytest.approx(sigma, rel=4 / np.sqrt(2 * len(along)))
    assert abs(along.mean()) < 4 * sigma / np.sqrt(len(along))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "steps"), [("dragon", (10, 60, 120)), ("casting", (15, 60, 150)), ("street", (2, 20, 80))]
)
def test_overlap_falls_with_the_distance_of_the_viewpoints(name: str, steps: tuple[float, ...]) -> None:
    shares = [synthetic.pair(name, step, points=600).overlap for step in steps]
    assert 1 >= shares[0] > shares[1] > shares[2] >= 0
    assert shares[0] > 0.7


def complete(name: str, points: int, seed: int) -> Floats:
    """A body scanned from all around, or one scan of a scene, in the world frame."""
    scans = (
        synthetic.sequence(name, 4, 90.0, points=points, noise=0.0, seed=seed)
        if name in synthetic.bodies()
        else (synthetic.scan(name, points=4 * points, noise=0.0, seed=seed),)
    )
    return np.concatenate([transform(scan.pose, scan.points) for scan in scans])


def icp(points: Floats, tree: cKDTree, start: Floats) -> tuple[Floats, float]:
    """A few iterations of point-to-point ICP: the rotation reached, and the mean distance left."""
    R, centre = start, points.mean(axis=0)
    t = centre - R @ centre
    for _ in range(8):
        here = points @ R.T + t
        nearest = tree.query(here)[1]
        there = np.asarray(tree.data)[nearest]
        U, _, Vt = np.linalg.svd((points - centre).T @ (there - there.mean(axis=0)))
        R = Vt.T @ np.diag([1, 1, np.linalg.det(Vt.T @ U.T)]) @ U.T
        t = there.mean(axis=0) - R @ centre
    return R, float(np.mean(tree.query(points @ R.T + t)[0]))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_no_other_rotation_aligns_a_body_with_itself(name: str) -> None:
    points, tree = complete(name, 80, seed=1), cKDTree(complete(name, 1800, seed=0))
    upright = [Rotation.from_euler("z", angle, degrees=True) for angle in range(30, 360, 30)]
    # Those about the vertical are among the upright ones.
    octahedral = [R for R in Rotation.create_group("O") if name in synthetic.bodies() and R.as_matrix()[2, 2] < 0.5]
    at_rest = icp(points, tree, np.eye(3))[1]
    for start in upright + octahedral:
        R, residual = icp(points, tree, start.as_matrix())
        if Rotation.from_matrix(R).magnitude() > np.radians(8):
            assert residual > 2.5 * at_rest, start.as_rotvec(degrees=True)


@pytest.mark.slow
def test_each_point_of_a_distorted_scan_is_measured_from_the_pose_at_its_time() -> None:
    scan = list(synthetic.sequence("street", 2, 2.0, points=1000, noise=0.0, distorted=True))[1]
    assert scan.times is not None
    assert -0.5 <= scan.times.min() < -0.4 < 0.4 < scan.times.max() <= 0.5

    def pose_at(time: float) -> Floats:
        return SETUPS["street"].sensor_pose(2.0 + 2.0 * time, np.random.default_rng(0))

    at = {time: scan.times == time for time in np.unique(scan.times)}
    world, eye = np.empty_like(scan.points), np.empty_like(scan.points)
    for time, measured in at.items():
        world[measured], eye[measured] = transform(pose_at(time), scan.points[measured]), pose_at(time)[:3, 3]
    assert straddles("street", world, eye).all()
    assert np.array_equal(scan.pose, pose_at(0.0))
    assert np.array_equal(noiseless("street").pose, SETUPS["street"].sensor_pose(0.0, np.random.default_rng(0)))


@pytest.mark.slow
def test_the_street_sequence_advances_by_the_step() -> None:
    poses = [scan.pose for scan in synthetic.sequence("street", 5, 2.0, points=200)]
    for before, after in pairwise(poses):
        step = before[:3, :3].T @ (after[:3, 3] - before[:3, 3])
        assert step[0] == pytest.approx(2.0, abs=0.05)
        assert np.abs(step[1:]).max() < 0.3


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("name", "unicorn"), ("points", 3), ("points", "many"), ("noise", -1.0), ("noise", float("nan")),
        ("dropout", 1.0), ("range_dropout", 2.0), ("variant", -1), ("seed", 0.5), ("viewpoint", float("inf")),
    ],
)  # fmt: skip
def test_a_bad_argument_is_named(argument: str, value: Any) -> None:
    arguments: dict[str, Any] = {"name": "hare", argument: value}
    with pytest.raises(InputError, match=f"^{argument}: "):
        synthetic.scan(**arguments)


def test_bad_arguments_of_sequences_are_named_before_the_first_scan() -> None:
    with pytest.raises(InputError, match="distorted: only scans of the street can be, got 'room'"):
        synthetic.sequence("room", 2, distorted=True)
    with pytest.raises(InputError, match=r"^frames: "):
        synthetic.sequence("street", 0)
    with pytest.raises(InputError, match=r"^viewpoint: "):
        synthetic.sequence("street", 3, -1.0)
    with pytest.raises(InputError, match=r"^step: "):
        synthetic.pair("hare", float("nan"))
    with pytest.raises(InputError, match=r"^name: "):
        synthetic.surface("unicorn")
