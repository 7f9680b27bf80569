"""What a trace knows of the part of a GPU goes into the tasks, and changes nothing else."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

from mlfs_gym.workloads.fill import JobMix, Parallelism, fill
from mlfs_gym.workloads.job_columns import JobColumns


def filled(share: list[int] | None, parallelism: Parallelism) -> JobColumns:
    jobs = 6
    return fill(
        np.random.default_rng(5),
        np.arange(jobs) * 10.0,
        np.full(jobs, 600.0),
        np.array([1, 2, 4, 1, 8, 1]),
        JobMix(),
        parallelism,
        known_gpu_share=None if share is None else np.array(share),
    )


@pytest.mark.parametrize("parallelism", ["ml", "gang"])
def test_known_shares_change_no_draw(parallelism: Parallelism) -> None:
    drawn, unknown = filled(None, parallelism), filled([-1] * 6, parallelism)
    known = filled([-1, 1000, -1, 500, 250, 1], parallelism)
    for field in fields(JobColumns):
        before, after, with_shares = (np.asarray(getattr(each, field.name)) for each in (drawn, unknown, known))
        assert before.tobytes() == after.tobytes()
        if field.name != "gpu_demand":
            assert before.tobytes() == with_shares.tobytes()
    assert known.gpu_demand.tolist() == [drawn.gpu_demand[0], 1000, drawn.gpu_demand[2], 500, 250, 1]
