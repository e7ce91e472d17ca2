"""Laws of the scans that we make: on the surface, in front, exactly posed, repeatable, without symmetry."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy.spatial import cKDTree
from scipy.spatial.transform import Rotation

from graphreg.clouds import Floats, Mask
from graphreg.datasets import scenes as built
from graphreg.datasets import synthetic
from graphreg.datasets.scanner import Losses, Sensor, returns
from graphreg.datasets.shapes import Body, Scene
from graphreg.errors import InputError

EVERYTHING = synthetic.bodies() + synthetic.scenes()


@lru_cache(maxsize=64)
def clean(name: str, view: float = 0.0, points: int = 3000, seed: int = 0) -> synthetic.Scan:
    return synthetic.scan(name, view, points=points, noise=0.0, seed=seed)


def moved(T: Floats, points: Floats) -> Floats:
    return np.asarray(points @ T[:3, :3].T + T[:3, 3])


def inside(surface: Body | Scene, points: Floats) -> Mask:
    """Which points are within the solid; for scenes by another way than the one that rays take."""
    if isinstance(surface, Body):
        return np.asarray(surface.field(points) < 0)
    result = np.zeros(len(points), bool)
    tree = cKDTree(points)
    for part in surface.parts:
        near = np.array(tree.query_ball_point(part.centre, 1.01 * part.radius), np.intp)
        local = np.linalg.solve(part.axes, (points[near] - part.centre).T).T
        held = (local @ part.planes[:, :3].T <= part.planes[:, 3]).all(axis=1)
        result[near] |= held & (((part.rounded * local) ** 2).sum(axis=1) <= 1)
    return result


def solid(name: str) -> Body | Scene:
    surface = synthetic.surface(name)
    assert isinstance(surface, (Body, Scene))
    return surface


def straddles(name: str, world: Floats, eye: Floats) -> Mask:
    """Which points have air just before them and matter just behind, seen from `eye`."""
    away = (world - eye) / np.linalg.norm(world - eye, axis=1, keepdims=True)
    # Parts are met exactly; fields to well below the 0.1 mm of noise that a range camera has.
    margin = 4e-5 if name in synthetic.bodies() else 1e-7
    return ~inside(solid(name), world - margin * away) & inside(solid(name), world + margin * away)


@pytest.mark.parametrize("name", EVERYTHING)
def test_points_lie_on_the_surface(name: str) -> None:
    scan = clean(name)
    assert straddles(name, moved(scan.pose, scan.points), scan.pose[:3, 3]).mean() > 0.995


@pytest.mark.parametrize("name", EVERYTHING)
def test_the_truth_takes_the_source_onto_the_target_surface(name: str) -> None:
    pair = synthetic.pair(name, points=2000, noise=0.0, seed=3)
    target, source = synthetic.sequence(name, 2, points=2000, noise=0.0, seed=3)
    assert np.array_equal(pair.source, source.points)
    assert np.array_equal(pair.target, target.points)
    world = moved(target.pose, moved(pair.T_target_source, pair.source))
    assert straddles(name, world, source.pose[:3, 3]).mean() > 0.995


@pytest.mark.parametrize("name", EVERYTHING)
def test_nothing_stands_before_a_point(name: str) -> None:
    scan = clean(name)
    eye, world = scan.pose[:3, 3], moved(scan.pose, scan.points)[::25]
    away = np.linalg.norm(world - eye, axis=1)
    # Before a body there is nothing but itself, and its wings and spikes are thin: look there closely.
    first = 0.6 * away if name in synthetic.bodies() else 0.02 * away
    places = first + np.linspace(0, 1, 200)[:, None] * (0.9995 * away - first)
    before = eye + (places / away)[..., None] * (world - eye)
    assert inside(solid(name), before.reshape(-1, 3)).reshape(len(places), -1).any(axis=0).mean() < 0.01


@pytest.mark.parametrize("name", EVERYTHING)
def test_poses_are_rigid_motions(name: str) -> None:
    for scan in synthetic.sequence(name, 3, points=100):
        R = scan.pose[:3, :3]
        assert np.allclose(R @ R.T, np.eye(3), atol=1e-12)
        assert np.linalg.det(R) == pytest.approx(1.0)
        assert np.array_equal(scan.pose[3], [0, 0, 0, 1])


@pytest.mark.parametrize("name", EVERYTHING)
def test_the_same_seed_gives_the_same_bits_and_another_one_does_not(name: str) -> None:
    first, again, other = (synthetic.scan(name, 7.0, points=500, seed=seed) for seed in (4, 4, 5))
    assert first.points.tobytes() == again.points.tobytes()
    assert first.pose.tobytes() == again.pose.tobytes()
    assert first.points.tobytes() != other.points.tobytes()


@pytest.mark.parametrize("name", EVERYTHING)
def test_a_variant_is_another_individual(name: str) -> None:
    rays = Sensor("angles", (-3.1, 3.1), (-0.6, 0.6), 90).rays(400)
    eye = clean(name).pose[:3, 3]
    first, second = (
        synthetic.surface(name, variant).cast(eye, _towards(name, rays, eye), 50.0)[0] for variant in (0, 1)
    )
    both = np.isfinite(first) & np.isfinite(second)
    assert np.abs(first[both] - second[both]).max() > 1e-4


def _towards(name: str, rays: Floats, eye: Floats) -> Floats:
    """Rays all around for scenes; for a body, rays that stay close to the direction of its middle."""
    if name in synthetic.scenes():
        return rays
    aimed = rays * 0.1 - eye / np.linalg.norm(eye)
    return np.asarray(aimed / np.linalg.norm(aimed, axis=1, keepdims=True))


@pytest.mark.parametrize("name", EVERYTHING)
def test_about_as_many_points_as_asked(name: str) -> None:
    for count in (500, 3000):
        assert len(clean(name, points=count).points) == pytest.approx(count, rel=0.15)


@pytest.mark.parametrize("name", ["hare", "room"])
def test_noise_is_along_the_ray_and_as_large_as_asked(name: str) -> None:
    sigma = 1e-3
    exact, noisy = clean(name), synthetic.scan(name, points=3000, noise=sigma)
    ranges = np.linalg.norm(exact.points, axis=1)
    rays = exact.points / ranges[:, None]
    along = np.einsum("ij,ij->i", noisy.points, rays) - ranges
    sideways = noisy.points - (ranges + along)[:, None] * rays
    assert np.abs(sideways).max() < 1e-12
    assert along.std() == pytest.approx(sigma, rel=4 / np.sqrt(2 * len(along)))
    assert abs(along.mean()) < 4 * sigma / np.sqrt(len(along))


@pytest.mark.parametrize("name", ["casting", "facade"])
def test_losses_are_the_asked_share_of_the_returns(name: str) -> None:
    pose, sensor, surface = clean(name).pose, _sensor(name), synthetic.surface(name)
    rays = sensor.rays(6000)
    reach = 60.0 if name == "facade" else 2.0

    def back(dropout: float, fading: float) -> Floats:
        losses = Losses(dropout, fading, reach)
        return returns(surface, sensor, rays, pose, losses, np.random.default_rng(1))

    everything = back(0.0, 0.0)
    hit = np.isfinite(everything)
    assert np.isfinite(back(0.4, 0.0))[hit].mean() == pytest.approx(0.6, abs=4 * 0.5 / np.sqrt(hit.sum()))
    expected = 1 - 0.9 * (everything[hit] / reach) ** 2
    kept = np.isfinite(back(0.0, 0.9))
    assert not kept[~hit].any()
    assert kept[hit].mean() == pytest.approx(expected.mean(), abs=4 * 0.5 / np.sqrt(hit.sum()))


def test_no_return_comes_from_a_grazing_surface() -> None:
    pose, sensor, surface = clean("casting").pose, _sensor("casting"), synthetic.surface("casting")
    rays = sensor.rays(6000)
    ranges = returns(surface, sensor, rays, pose, Losses(0.0, 0.0, 2.0), np.random.default_rng(0))
    directions = rays @ pose[:3, :3].T
    everything, normals = surface.cast(pose[:3, 3], directions, 2.0)
    angle = np.degrees(np.arccos(np.clip(-(directions * normals).sum(axis=1), -1, 1)))
    hit = np.isfinite(everything)
    assert np.array_equal(np.isfinite(ranges)[hit], angle[hit] <= sensor.grazing)


def _sensor(name: str) -> Sensor:
    if name in synthetic.bodies():
        return Sensor("camera", (-0.2, 0.2), (-0.2, 0.2), grazing=80)
    return Sensor("angles", (-1.0, 1.0), (-0.3, 0.8), grazing=86)


@pytest.mark.parametrize(
    ("name", "steps"), [("dragon", (10, 60, 120)), ("casting", (15, 60, 150)), ("street", (2, 20, 80))]
)
def test_overlap_falls_as_the_views_part(name: str, steps: tuple[float, ...]) -> None:
    shares = [synthetic.pair(name, step, points=2000).overlap for step in steps]
    assert 1 >= shares[0] > shares[1] > shares[2] >= 0
    assert shares[0] > 0.7


@lru_cache(maxsize=8)
def whole(name: str, seed: int) -> Floats:
    """All sides of a body, or one scan of a scene, in the world's frame."""
    scans = (
        synthetic.sequence(name, 6, 60.0, points=1200, noise=0.0, seed=seed)
        if name in synthetic.bodies()
        else (clean(name, points=6000, seed=seed),)
    )
    return np.concatenate([moved(scan.pose, scan.points) for scan in scans])


def settle(points: Floats, tree: cKDTree, start: Floats) -> tuple[Floats, float]:
    """A few steps of closest points from a start: the rotation reached, and the mean distance left."""
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


@pytest.mark.parametrize("name", EVERYTHING)
def test_no_other_rotation_fits(name: str) -> None:
    points, tree = whole(name, 1)[::8], cKDTree(whole(name, 0))
    upright = [Rotation.from_euler("z", turn, degrees=True) for turn in range(30, 360, 30)]
    anyhow = list(Rotation.create_group("O")) if name in synthetic.bodies() else []
    at_rest = settle(points, tree, np.eye(3))[1]
    for start in upright + anyhow:
        R, residual = settle(points, tree, start.as_matrix())
        if Rotation.from_matrix(R).magnitude() > np.radians(8):
            assert residual > 2.5 * at_rest, start.as_rotvec(degrees=True)


def test_a_longer_drive_is_down_the_same_street() -> None:
    rays = Sensor("angles", (-3.1, 3.1), (-0.3, 0.3), 90).rays(2000)
    short, long = (
        built.street(0, drive).cast(built.street_pose(30.0)[:3, 3] + [0, 0, 1.7], rays, 80.0)[0]
        for drive in (60.0, 200.0)
    )
    assert np.array_equal(short, long)


def test_the_drive_goes_ahead_step_by_step() -> None:
    poses = [scan.pose for scan in synthetic.sequence("street", 5, 2.0, points=200)]
    for before, after in pairwise(poses):
        step = before[:3, :3].T @ (after[:3, 3] - before[:3, 3])
        assert step[0] == pytest.approx(2.0, abs=0.05)
        assert np.abs(step[1:]).max() < 0.3


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("name", "unicorn"), ("points", 3), ("points", "many"), ("noise", -1.0), ("noise", float("nan")),
        ("dropout", 1.0), ("fading", 2.0), ("variant", -1), ("seed", 0.5), ("view", float("inf")),
    ],
)  # fmt: skip
def test_a_bad_argument_is_named(argument: str, value: Any) -> None:
    arguments: dict[str, Any] = {"name": "hare", argument: value}
    with pytest.raises(InputError, match=f"^{argument}: "):
        synthetic.scan(**arguments)


def test_bad_arguments_of_sequences_are_named_before_the_first_scan() -> None:
    with pytest.raises(InputError, match=r"^frames: "):
        synthetic.sequence("street", 0)
    with pytest.raises(InputError, match=r"^view: "):
        synthetic.sequence("street", 3, -1.0)
    with pytest.raises(InputError, match=r"^apart: "):
        synthetic.pair("hare", float("nan"))
    with pytest.raises(InputError, match=r"^name: "):
        synthetic.surface("unicorn")
