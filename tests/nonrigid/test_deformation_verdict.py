"""The verdict on a deformation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.support.deforming_bodies import bumpy_body

from graphreg.nonrigid.deformation_verdict import VERDICT, Evidence, gather_evidence, judge_deformation
from graphreg.nonrigid.local_correspondences import NO_CORRESPONDENCES
from graphreg.nonrigid.working_cloud import working_cloud

GOOD = Evidence(0.95, 0.01, 0.7, 0.9, 300, 400, 0.03, 0.01)
shares = st.floats(0, 1)
evidence = st.builds(
    Evidence, shares, shares, shares, shares, st.integers(0, 500), st.just(500), st.floats(0, 3), st.just(0.1)
)


@given(evidence)
def test_more_evidence_never_lowers_the_confidence(given_evidence: Evidence) -> None:
    success, confidence, reason = judge_deformation(given_evidence)
    assert 0 <= confidence <= 1
    assert success == reason.startswith("deformed")
    assert success <= (confidence >= VERDICT.success)
    better = replace(given_evidence, missing=0.0, weakest=1.0, agreeing=500, strain=0.0)
    assert judge_deformation(better)[1] >= confidence


def test_a_patch_of_the_target_that_nothing_explains_lowers_the_confidence() -> None:
    points = bumpy_body(1000)
    body = working_cloud(points / np.ptp(points[:, 0]), 1000, 1)
    kept = body.points[:, 0] < np.quantile(body.points[:, 0], 0.9)
    whole, without_end = (
        gather_evidence(
            np.ascontiguousarray(body.points[rows]),
            np.ascontiguousarray(body.normals[rows]),
            body,
            body.spacing,
            np.empty((0, 3)),
            NO_CORRESPONDENCES,
            np.zeros(1),
            1,
        )
        for rows in (np.ones(len(body), bool), kept)
    )
    assert (whole.missing, whole.weakest) == (0.0, 1.0)
    assert without_end.missing > 0.05
    assert without_end.weakest < 0.5
    complete, in_part = (judge_deformation(replace(each, agreeing=300, tried=400)) for each in (whole, without_end))
    assert complete[0]
    assert in_part[1] < complete[1]
    assert judge_deformation(GOOD)[0]
    success, confidence, _ = judge_deformation(replace(GOOD, agreeing=VERDICT.least_agreeing - 1))
    assert not success
    assert confidence <= VERDICT.undecided < VERDICT.success


def test_a_body_that_fits_with_its_sides_exchanged_is_ambiguous() -> None:
    assert judge_deformation(replace(GOOD, margin=2 * VERDICT.least_margin))[0]
    success, confidence, reason = judge_deformation(replace(GOOD, margin=VERDICT.least_margin / 2))
    assert not success
    assert confidence <= VERDICT.undecided
    assert "ambiguous" in reason
