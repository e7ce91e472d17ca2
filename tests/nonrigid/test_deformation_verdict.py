"""The verdict on a deformation."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from graphreg.nonrigid.deformation_verdict import VERDICT, Evidence, judge_deformation

GOOD = Evidence(0.95, 0.9, 100, 400, 0.03, 0.01)
shares = st.floats(0, 1)
evidence = st.builds(Evidence, shares, shares, st.integers(0, 500), st.just(500), st.floats(0, 3), st.just(0.1))


@given(evidence)
def test_more_evidence_never_lowers_the_confidence(given_evidence: Evidence) -> None:
    success, confidence, reason = judge_deformation(given_evidence)
    assert 0 <= confidence <= 1
    assert success == reason.startswith("deformed")
    better = replace(given_evidence, explained=1.0, overlap=1.0, agreeing=500, strain=0.0)
    assert judge_deformation(better)[1] >= confidence


def test_success_needs_a_target_that_is_explained() -> None:
    assert judge_deformation(GOOD)[0]
    in_part = replace(GOOD, explained=VERDICT.least_explained - 0.01)
    assert not judge_deformation(in_part)[0]
    assert judge_deformation(replace(in_part, agreeing=GOOD.tried))[0]  # the target shows more than the source does
    assert not judge_deformation(replace(GOOD, agreeing=0, strain=0.5))[0]
    assert judge_deformation(GOOD)[1] >= VERDICT.success
