"""The numbers behind the plots."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd


def pooled_cdf(quantiles: Any) -> tuple[Any, Any]:
    """Distribution of several samples together, each given by its quantiles at equal steps.

    Args:
        quantiles: shape (samples, n), ascending in each row.

    Returns:
        Values and the share of the pool that is at most that; shape (m,) each. Values that are nan are left out of the
        first and count in the second.
    """
    pool = np.sort(np.asarray(quantiles, float)[:, 1:].ravel())  # the least value of a sample stands for no share
    share = np.arange(1, len(pool) + 1) / len(pool)
    known = ~np.isnan(pool)
    return pool[known], share[known]


def mean_and_within_interval(values: Sequence[pd.Series]) -> tuple[Any, Any]:
    """Mean over seeds, and half of its 95% interval without the differences between workloads.

    All schedulers play the same workloads, which differ more than schedulers do; what bars should show is how surely
    the schedulers differ. Cousineau's method with Morey's correction: deviations from the mean of each seed.

    Args:
        values: for each scheduler, a metric by seed.

    Returns:
        Means and half widths, shape (schedulers,); half widths are nan where there are not two of both.
    """
    import pandas as pd
    from scipy import stats

    table = pd.DataFrame(list(values))
    means = table.mean(axis=1).to_numpy(float)
    common = table.dropna(axis=1)
    schedulers, seeds = common.shape
    if schedulers < 2 or seeds < 2:
        return means, np.full(len(means), np.nan)
    within = common - common.mean(axis=0) + common.to_numpy(float).mean()
    error = within.std(axis=1, ddof=1) / np.sqrt(seeds) * np.sqrt(schedulers / (schedulers - 1))
    return means, error.to_numpy(float) * stats.t.ppf(0.975, seeds - 1)
