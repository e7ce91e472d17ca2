"""The engine as a whole: any initial pose, outliers, constrained degrees of freedom, degenerate clouds."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.strategies import Floats, random_transform, small_pair, small_result, small_scan

import graphreg
from graphreg.datasets import synthetic
from graphreg.method_interface import Iteration
from graphreg.metrics import angular_error, rmsd
from graphreg.poses import inverse, pose, rotation_from_vector, transform

BODIES = synthetic.bodies()
# The fast tier has one body, since to scan takes longer than to register.
HARE_FIRST = ["hare", *(pytest.param(name, marks=pytest.mark.slow) for name in BODIES if name != "hare")]
SCENES = [pytest.param(name, marks=pytest.mark.slow) for name in ("room", "street")]
LINE = np.outer(np.linspace(0, 1, 2000), [1.0, 2.0, 3.0])


def about(point: Floats, vector: Floats | list[float]) -> Floats:
    """A rotation about an axis through a point."""
    rotation = rotation_from_vector(vector)
    return pose(rotation, point - rotation @ point)


def rmsd_in_voxels(found: graphreg.Result, truth: Floats, source: Floats) -> float:
    """RMSD of the points from their true positions, in fine voxels."""
    return rmsd(found.transformation, truth, source) / float(found.settings["voxel"])


@pytest.mark.parametrize("name", [*HARE_FIRST, *SCENES])
def test_exact_copies_are_registered(name: str) -> None:
    body = small_scan(name)
    size = np.ptp(body, axis=0).max()
    T = random_transform(1, size)
    source = transform(inverse(T), body)
    found = graphreg.register(source, body)
    assert rmsd(found.transformation, T, source) < 1e-6 * size
    assert found.success


@pytest.mark.slow
@pytest.mark.parametrize("name", [*BODIES, "room"])
def test_two_scans_are_registered_from_any_pose(name: str) -> None:
    """Noise of the scanner is well below a voxel, and thousands of surfels average it: a tenth of a voxel is left."""
    pair = small_pair(name)
    T = random_transform(1, np.ptp(pair.target))
    source = transform(inverse(T), pair.source)
    found = graphreg.register(source, pair.target)
    assert rmsd_in_voxels(found, pair.T_target_source @ T, source) < 0.1
    assert found.degenerate_directions == ()
    assert found.success


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "kind"), [("dragon", "gaussian"), ("hare", "uniform"), ("hand", "gaussian"), ("casting", "uniform")]
)
def test_outliers_do_not_prevent_registration(name: str, kind: str) -> None:
    pair = small_pair(name)
    T = random_transform(4, 1.0)
    source, target = (
        synthetic.add_outliers(points, 1.5, kind, seed)[0] for seed, points in enumerate((pair.source, pair.target))
    )
    source = transform(inverse(T), source)
    found = graphreg.register(source, target)
    assert rmsd_in_voxels(found, pair.T_target_source @ T, transform(inverse(T), pair.source)) < 0.1
    assert found.success


@pytest.mark.slow
def test_moving_both_clouds_moves_the_pose_with_them() -> None:
    """By as much as coordinates are rounded; tests/properties has other scans."""
    pair = small_pair("dragon")
    size = np.ptp(pair.target, axis=0).max()
    here = small_result("dragon")
    for seed, distance in ((2, size), (3, 1e6)):
        along = random_transform(seed, distance)
        there = graphreg.register(transform(along, pair.source), transform(along, pair.target))
        # At 10^6 by 10^-10, which for bodies of 0.1 is 10^-9 of the size, and moves some points to the next voxel.
        allowed = 1e-9 * size if distance < 1e6 else 1e-6 * size
        assert rmsd(inverse(along) @ there.transformation @ along, here.transformation, pair.source) < allowed
        assert there.confidence == pytest.approx(here.confidence, abs=0.01)


@pytest.mark.slow
def test_the_unit_does_not_matter() -> None:
    pair, here = small_pair("hare"), small_result("hare")
    for unit in (1e-3, 1024.0):
        there = graphreg.register(pair.source * unit, pair.target * unit)
        back = there.transformation.copy()
        back[:3, 3] /= unit
        # A power of two changes no digit of any number.
        allowed = 0.0 if unit == 1024 else 1e-9
        assert np.abs(back - here.transformation).max() <= allowed * max(np.abs(here.transformation).max(), 1)
        assert there.inlier_rmse == pytest.approx(here.inlier_rmse * unit)
        assert there.confidence == pytest.approx(here.confidence)


@pytest.mark.slow
def test_the_same_bits_for_any_number_of_threads() -> None:
    source, _ = synthetic.add_outliers(small_pair("dragon").source, 0.5, "gaussian", 0)
    target = small_pair("dragon").target
    init = random_transform(0, 0.1)
    for settings in ({"points": 4000, "seed": 3}, {"init": init, "voxel": 0.002}, {"dof": "rz x y z"}):
        one, other = (graphreg.register(source, target, threads=threads, **settings) for threads in (1, 5))
        assert other.transformation.tobytes() == one.transformation.tobytes()
        assert (other.scores, other.confidence, other.reason) == (one.scores, one.confidence, one.reason)
        assert (other.covariance is None) == (one.covariance is None)
        assert one.covariance is None or other.covariance.tobytes() == one.covariance.tobytes()


@pytest.mark.slow
def test_the_result_reports_the_search() -> None:
    pair, found = small_pair("hand"), small_result("hand")
    assert found.hypotheses >= 1
    assert [step.energy for step in found.history] == [-found.scores[0]] * 2
    assert set(found.timings) == {"preprocess", "describe", "search", "refine", "judge", "total"}
    assert (found.runner_up is None) == (len(found.scores) == 1)
    if found.runner_up is not None:
        assert found.scores[0] >= found.scores[1]
        assert rmsd_in_voxels(found, found.runner_up, pair.source) > 1


def along_a_street() -> synthetic.Pair:
    """Two scans ten metres apart: most points of each are close to the scanner, where streets are alike."""
    return synthetic.pair("street", 10.0, points=30_000)


@pytest.mark.slow
def test_clouds_of_uneven_density_are_retried_on_uniform_samples() -> None:
    pair = along_a_street()
    T = random_transform(0, 5.0)
    source = transform(inverse(T), pair.source)
    found = graphreg.register(source, pair.target)
    assert found.success
    assert rmsd_in_voxels(found, pair.T_target_source @ T, source) < 0.5
    assert [each.number for each in found.history] == list(range(1, len(found.history) + 1))


@pytest.mark.slow
def test_clouds_of_even_density_are_not_retried() -> None:
    here, there = small_scan("hare"), small_scan("casting")
    found = graphreg.register(here, there)
    assert not found.success
    assert len(found.history) == 2


@pytest.mark.slow
def test_a_callback_that_stops_is_not_called_again() -> None:
    pair = along_a_street()
    asked = []
    found = graphreg.register(pair.source, pair.target, callback=lambda now: asked.append(now) is None)
    assert len(asked) == len(found.history) == 1


@pytest.mark.slow
def test_a_callback_stops_before_the_fine_refinement() -> None:
    pair = small_pair("hand")

    def stop(_: Iteration) -> bool:
        return True

    coarse, whole = graphreg.register(pair.source, pair.target, callback=stop), small_result("hand")
    assert len(coarse.history) == 1
    assert np.array_equal(coarse.transformation, whole.history[0].transformation)
    assert (
        rmsd_in_voxels(whole, pair.T_target_source, pair.source)
        < rmsd_in_voxels(coarse, pair.T_target_source, pair.source)
        < 1
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", [*BODIES, "room"])
def test_an_initial_pose_is_refined(name: str) -> None:
    """The scans show different parts, so that their local frames differ; what counts is the initial pose."""
    pair = small_pair(name)
    centre = pair.target.mean(axis=0)
    direction = np.random.default_rng(0).normal(size=3)
    off = about(centre, np.radians(4) * direction / np.linalg.norm(direction))
    T = random_transform(0, 1.0)
    source, truth = transform(inverse(T), pair.source), pair.T_target_source @ T
    found = graphreg.register(source, pair.target, init=off @ truth)
    assert rmsd_in_voxels(found, truth, source) < 0.1
    assert found.success
    assert found.overlap > 0.7
    assert found.hypotheses == 1


@pytest.mark.parametrize("vector", [[1.6, 0.0, 0.0], [0.0, 1.6, 0.0]])
def test_a_wrong_initial_pose_is_not_replaced_by_a_search(vector: list[float]) -> None:
    pair = small_pair("casting")
    wrong = about(pair.target.mean(axis=0), vector) @ pair.T_target_source
    found = graphreg.register(pair.source, pair.target, init=wrong)
    assert angular_error(found.transformation, pair.T_target_source) > 10
    assert not found.success


@pytest.mark.slow
def test_an_initial_pose_is_kept_in_degenerate_directions() -> None:
    """Two square walls are symmetric, and their principal axes may point anywhere."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        source, target = (
            np.where(rng.random((5000, 1)) < 0.5, [1.0, 0, 1], [0, 1.0, 1]) * rng.random((5000, 3)) for _ in range(2)
        )
        init = random_transform(seed, 2.0)
        found = graphreg.register(source, transform(init, target), init=init)
        # It may slide along the edge, but by no more than the widest kernel.
        assert angular_error(found.transformation, init) < 1
        assert rmsd(found.transformation, init, source) < 0.2


@pytest.mark.slow
@pytest.mark.parametrize(("given", "offset"), [(False, 0.0), (True, 1e6)], ids=["search", "init far away"])
def test_levelled_scans_rotate_about_z_only(offset: float, given: bool) -> None:
    pair = small_pair("casting")
    place = np.array([offset, -offset, offset / 2])
    target = pair.target + place
    for angle in (2.5, -1.0):
        T = about(target.mean(axis=0), [0, 0, angle])
        source = transform(inverse(T), transform(pair.T_target_source, pair.source) + place)
        init = about(target.mean(axis=0), [0, 0, 0.05]) @ T if given else None
        found = graphreg.register(source, target, init=init, dof=("rz", "x", "y", "z"))
        assert rmsd_in_voxels(found, T, source) < 0.1
        assert found.success
        after = found.transformation if init is None else found.transformation @ inverse(init)
        np.testing.assert_array_equal(after[2, :3], [0, 0, 1])
        np.testing.assert_array_equal(after[:2, 2], [0, 0])


@pytest.mark.slow
@pytest.mark.parametrize(("given", "offset"), [(False, 0.0), (True, 1e6)], ids=["search", "init far away"])
@pytest.mark.parametrize(
    ("dof", "rotation", "translation"),
    [
        (("rz", "x", "y"), [0, 0, 0.7], [0.05, -0.02, 0]),
        (("rz",), [0, 0, 0.7], [0, 0, 0]),
        (("x", "y"), [0, 0, 0], [0.05, -0.02, 0]),
        (("z",), [0, 0, 0], [0, 0, 0.03]),
        (("ry", "z"), [0, 0.4, 0], [0, 0, 0.03]),
        (("rx", "ry", "rz"), [0.3, 0.2, 0.1], [0, 0, 0]),
    ],
)
def test_constrained_translations_stay_zero(
    dof: tuple[str, ...], rotation: list[float], translation: list[float], given: bool, offset: float
) -> None:
    """A rotation about the origin of the target's frame, then a translation."""
    pair = small_pair("casting")
    place = np.array([offset, -offset, offset / 2])
    init = random_transform(5, 1.0) if given else np.eye(4)
    # The initial pose is off by a few voxels at most, also at the end of a long lever.
    part = 0.01 / (1 + offset) if given else 1.0
    T = pose(rotation_from_vector(part * np.array(rotation)), part * np.array(translation)) @ init
    source = transform(inverse(T), transform(pair.T_target_source, pair.source) + place)
    found = graphreg.register(source, pair.target + place, init=init if given else None, dof=dof)
    fixed = np.array([axis not in dof for axis in "xyz"])
    after = found.transformation @ inverse(init)
    # Removing the initial pose again costs the rounding of its translation.
    np.testing.assert_allclose(after[:3, 3][fixed], 0, atol=1e-14 if given else 0)
    rotations = [axis for number, axis in enumerate(np.eye(3)) if ("rx", "ry", "rz")[number] in dof]
    if len(rotations) == 1:
        np.testing.assert_allclose(after[:3, :3] @ rotations[0], rotations[0], atol=1e-14 if given else 0)
    elif not rotations:
        np.testing.assert_allclose(after[:3, :3], np.eye(3), atol=1e-14 if given else 0)
    assert rmsd_in_voxels(found, T, source) < 0.1


@pytest.mark.slow
def test_heavier_points_determine_the_pose() -> None:
    """Half of the points are noisy: with small weights they hardly change the pose."""
    pair = small_pair("hare")
    voxel = small_result("hare").settings["voxel"]
    # Without outlier removal, which would drop most of the noisy ones.
    settings = {"voxel": voxel, "alpha": 1e6}
    apart = []
    for seed in range(2):
        rng = np.random.default_rng(seed)
        noisy = rng.random(len(pair.source)) < 0.5
        source = pair.source + np.where(noisy[:, None], voxel * rng.normal(size=pair.source.shape), 0)
        without = graphreg.register(source[~noisy], pair.target, **settings).transformation
        weights = np.where(noisy, 1e-3, 1.0)
        found = [graphreg.register(source, pair.target, weights=given, **settings) for given in (weights, None)]
        apart.append([rmsd_in_voxels(result, without, source) for result in found])
    light, heavy = np.mean(apart, axis=0)
    assert light < heavy


@pytest.mark.slow
def test_only_the_ratios_of_weights_count() -> None:
    pair = small_pair("hand")
    plain = small_result("hand")
    alike = graphreg.register(pair.source, pair.target, weights=np.full(len(pair.source), 7.0))
    assert alike.transformation.tobytes() == plain.transformation.tobytes()
    weights = np.random.default_rng(0).uniform(1, 2, len(pair.target))
    once, more = (graphreg.register(pair.source, pair.target, weights=(None, unit * weights)) for unit in (1, 1024))
    assert once.transformation.tobytes() == more.transformation.tobytes() != plain.transformation.tobytes()


@pytest.mark.parametrize(
    ("weights", "message"),
    [(0.0, "positive"), (-1.0, "positive"), (np.nan, "positive"), (1e-20, "differ by a factor of at most")],
)
def test_unusable_weights_are_refused(weights: float, message: str) -> None:
    body = small_scan("hare")
    values = np.ones(len(body))
    values[5] = weights
    with pytest.raises(graphreg.InputError, match=f"^weights: expected .*{message}"):
        graphreg.register(body, body, weights=values)


@pytest.mark.slow
def test_rows_that_are_not_finite_are_left_out_with_their_weights() -> None:
    pair = small_pair("hand")
    rng = np.random.default_rng(0)
    weights = rng.uniform(1, 2, len(pair.source))
    where = np.sort(rng.integers(0, len(pair.source), 500))
    dirty = np.insert(pair.source, where, [np.nan, 0, np.inf], axis=0)
    clean = graphreg.register(pair.source, pair.target, weights=weights)
    found = graphreg.register(dirty, pair.target, weights=np.insert(weights, where, 1.5))
    assert found.dropped == (500, 0)
    assert found.transformation.tobytes() == clean.transformation.tobytes()


@pytest.mark.parametrize(
    ("points", "message"),
    [
        (np.zeros((50, 3)), "source: has 1 distinct points, but at least 11"),
        (np.repeat(np.arange(15.0).reshape(5, 3), 20, axis=0), "source: has 5 distinct points, but at least 11"),
        (np.full((50, 3), np.nan), "source: .*finite"),
        (np.random.default_rng(0).normal(size=(10, 3)), "source: has 10 finite points, but at least 11"),
        (np.full((50, 3), 1e200), "source: has coordinates beyond"),
    ],
)
def test_clouds_without_enough_points_are_refused(points: Floats, message: str) -> None:
    with pytest.raises(graphreg.InputError, match=f"^{message}"):
        graphreg.register(points, small_scan("hare"))
    with pytest.raises(graphreg.InputError, match=f"^{message.replace('source', 'target')}"):
        graphreg.register(small_scan("hare"), points)


def degenerate_clouds(points: Floats) -> dict[str, tuple[Floats, Floats]]:
    """Clouds without a surface, or with one that does not determine a pose."""
    rng = np.random.default_rng(0)
    return {
        "line": (LINE, LINE),
        "line on body": (LINE, points),
        "body on line": (points, LINE),
        "noisy line": (LINE + 1e-3 * rng.normal(size=LINE.shape), LINE + 1e-3 * rng.normal(size=LINE.shape)),
        "11 points": (points[:11], points),
        "12 points each": (points[::500][:12], points[::500][:12]),
        "plane of a grid": (np.indices((50, 50, 1)).reshape(3, -1).T.astype(float),) * 2,
        "noise": (rng.normal(size=(3000, 3)), rng.normal(size=(3000, 3))),
        "large on small": (1e6 * points, points),
        "small on large": (points, 1e6 * points),
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", degenerate_clouds(np.zeros((6000, 3))))
def test_degenerate_clouds_are_not_registered(name: str) -> None:
    try:
        found = graphreg.register(*degenerate_clouds(small_scan("hare"))[name])
    except graphreg.InputError as problem:
        assert str(problem).startswith(("source: ", "target: "))  # noqa: PT017 - either end is right
    else:
        assert np.isfinite(found.transformation).all()
        assert np.linalg.det(found.transformation[:3, :3]) == pytest.approx(1)
        assert not found.success
        assert found.confidence < 0.5
        assert graphreg.Result.from_json(found.to_json()).to_json() == found.to_json()


@pytest.mark.slow
def test_of_two_copies_far_apart_one_is_registered_or_none() -> None:
    body = small_scan("hare")
    found = graphreg.register(np.vstack([body, body + 1e6]), body)
    shifts = [np.abs(found.transformation - pose(np.eye(3), shift)).max() for shift in (np.zeros(3), np.full(3, -1e6))]
    assert not found.success or min(shifts) < 1e-3


def test_a_single_far_point_does_no_harm() -> None:
    body = small_scan("hare")
    assert graphreg.register(np.vstack([body, [[1e6, 0, 0]]]), body).success


@pytest.mark.slow
def test_scans_in_national_grid_coordinates() -> None:
    """Coordinates of 10^7: there a tenth of a millimetre is 10^-11."""
    pair = small_pair("room")
    far = np.array([4e6, 1e7, 300.0])
    found = graphreg.register(pair.source + far, pair.target)
    assert found.success
    assert rmsd_in_voxels(found, pair.T_target_source @ pose(np.eye(3), -far), pair.source + far) < 0.1


@pytest.mark.slow
@pytest.mark.parametrize("voxel", [1e-6, 1e-4, 0.01, 1.0, 1e9, 1e300])
def test_any_voxel_gives_an_answer(voxel: float) -> None:
    pair = small_pair("hare")
    found = graphreg.register(pair.source, pair.target, voxel=voxel)
    assert found.settings["voxel"] == voxel
    assert np.isfinite(found.transformation).all()
    if voxel == 0.01:
        assert angular_error(found.transformation, pair.T_target_source) < 1


@pytest.mark.parametrize("voxel", [1e-8, 1e-300])
def test_voxels_too_small_for_the_extent_are_refused(voxel: float) -> None:
    with pytest.raises(graphreg.InputError, match="^voxel: .* would divide the cloud's extent"):
        graphreg.register(small_scan("hare"), small_scan("hare"), voxel=voxel)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"seed": -1}, "seed: expected a whole number"),
        ({"seed": "a"}, "seed: expected a whole number"),
        ({"k": 10.5}, "k: expected a whole number from 2 on"),
        ({"k": "many"}, "k: expected a whole number from 2 on"),
        ({"k": 1}, "k: expected a whole number from 2 on"),
        ({"points": 1e4}, "points: expected a whole number from 1 on"),
        ({"points": 5}, "source: has . distinct points"),
        ({"alpha": np.nan}, "alpha: expected a positive number"),
        ({"voxel": "small"}, "voxel: expected a positive number"),
        ({"voxel": np.inf}, "voxel: expected a positive number"),
        ({"dof": 3}, "dof: expected some of"),
        ({"dof": "rx ry"}, "dof: expected rotations about three axes, one or none"),
    ],
)
def test_unusable_settings_are_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(graphreg.InputError, match=f"^{message}"):
        graphreg.register(small_scan("hare"), small_scan("hare"), **settings)
