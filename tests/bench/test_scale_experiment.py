"""The experiment on unknown scales: every method on the same points, errors against the similarity."""

from __future__ import annotations

import numpy as np
import pytest

from graphreg.bench import scale
from graphreg.engine.scale_observability import SCALE_OBSERVABILITY


def test_jobs_are_objects_facades_rooms_and_cross_modal_pairs() -> None:
    kinds = {job.kind for job in scale.jobs(None) if isinstance(job, scale.ScaleJob)}
    assert kinds == {"object", "tls", "indoor", scale.CROSS_MODAL}


@pytest.mark.slow
def test_a_job_measures_every_method_against_the_true_scale() -> None:
    rows = [row for job in scale.jobs(None, quick=True) for row in scale.measure(job, None)]
    known, ours = ([row for row in rows if row["method"] == method] for method in (scale.KNOWN, scale.OURS))
    assert len(known) == len(ours) == 2
    assert all(row["correct"] and row["scale error"] < 1e-9 for row in known)
    assert all(row["correct"] and row["scale error"] <= scale.MAX_SCALE_ERROR for row in ours)
    (line,) = (line for line in scale.tables(rows)[""] if line["kind"] == "all" and line["method"] == scale.OURS)
    assert line["correct"] == "2 of 2"
    assert any("not correct on: none" in text for text in scale.summary(rows))


def test_the_fit_finds_the_factor_that_the_errors_were_sampled_with() -> None:
    rng = np.random.default_rng(2)
    correlated, independent = rng.uniform(0.5, 2, (2, 4_000)) * 1e-6
    errors = rng.normal(size=4_000) * np.sqrt(independent + 3.0 * correlated)
    variances = independent + SCALE_OBSERVABILITY.correlated * correlated
    rows = [
        {"log scale error": error, "variance": variance, "correlated": part}
        for error, variance, part in zip(errors, variances, correlated, strict=True)
    ]
    # The standard error of a variance from 4,000 samples is 2.2 %, of a factor of a part of it about twice that.
    assert scale.fit_correlated(rows) == pytest.approx(3.0, rel=0.15)
