"""What is published about Philly's jobs, as numbers: no row of a trace is in here.

Sources:

- "full log": statistics of the full log of 112,956 jobs, published with AcmeTrace (Hu et al., NSDI 2024; CC-BY-4.0) in
  ``cluster_summary.csv`` and in the curves of its figures of GPU requests and run times.
- "reduced trace": measured on the 82,247 jobs of the public reduced trace (Jeon et al., USENIX ATC 2019; CC-BY-4.0).
  Jobs with several GPUs are rarer there, 7% against 18% in the full log, so sizes come from the full log.
"""

from __future__ import annotations

from typing import Final

import numpy as np

JOBS: Final = 117_325
"""Jobs of the evaluation in MLFS (CoNEXT 2020)."""

SPAN_DAYS: Final = 126.0
"""18 weeks, the time in which those jobs arrive, also when there are 1/2 to 4 times as many (ibid.)."""

TOTAL_GPUS: Final = 2_474
"""Of 550 servers (ibid.)."""

GPU_REQUESTS: Final = np.array([1, 2, 4, 8, 12, 16, 24, 32, 64, 128], np.int64)
GPU_REQUEST_PERCENT: Final = np.array([82.42, 2.06, 7.57, 6.86, 0.01, 0.89, 0.02, 0.15, 0.01, 0.01])
"""Jobs by GPU request. Full log; it says "9 to 15" and "more than 32, up to 128", the reduced trace 12, 64 and 128."""

RUN_TIME_SHIFT: Final = np.array([0.0, 0.60, 0.53, 0.72, -1.30, 0.55, 0.48, 0.45, -1.53, -1.82])
"""How much longer jobs run by GPU request, in standard deviations of a normal score; see `run_times`.

Fitted to the shares of GPU time in the full log: 1 GPU 16.43%, 2 2.97%, 4 18.77%, 8 49.86%, 16 9.17%, 24 0.27%, 32
2.53%. With 12, 64 and 128 GPUs the share is 0.00%, so these few jobs must be short.
"""

# fmt: off
RUN_TIME_SECONDS: Final = np.array([
    1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 874, 1024,
    2048, 4096, 8192, 16_384, 32_768, 65_536, 131_072, 262_144, 524_288, 1_048_576, 2_097_152, 4_240_676,
])
RUN_TIME_PERCENT: Final = np.array([
    0.03, 0.08, 0.17, 0.82, 3.62, 8.42, 18.88, 26.99, 31.50, 36.28, 50.00, 54.91,
    67.47, 79.28, 84.60, 90.29, 92.71, 94.86, 96.95, 98.39, 99.32, 99.80, 99.95, 100.0 - 100.0 / 112_956,
])
# fmt: on
"""Jobs that run at most so long. Full log: points of the curve, the median, and at the end the longest job."""

BATCH_SIZE: Final = np.array([1, 2, 3, 7, 15, 31, 63, 127, 255, 511, 1063])
BATCH_SIZE_CDF: Final = np.array(
    [0.8350, 0.9230, 0.9447, 0.9709, 0.9810, 0.9863, 0.9898, 0.99547, 0.99774, 0.99962, 1.0]
)
"""Batches of at most so many jobs: mean 3.4, 90th percentile 2, 99th 64. Reduced trace.

A batch is a run of jobs of one virtual cluster and one GPU request with gaps of up to 60 s.
"""

LARGEST_BATCH_OF_MANY_GPUS: Final = 8
"""Batches of more jobs ask for 1 GPU each: 95% of them and more do in the reduced trace."""

BATCH_GAP_SECONDS: Final = np.array([0.01, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 20.0, 32.0, 50.0, 60.0])
BATCH_GAP_CDF: Final = np.array([0.0, 0.107, 0.234, 0.328, 0.413, 0.548, 0.642, 0.755, 0.879, 0.955, 0.989, 1.0])
"""Gaps below so many seconds from one job of a batch to the next. Reduced trace, whose whole seconds are spread."""

RUN_TIME_CORRELATION: Final = 0.86
"""Of logarithms of run times within a batch: 14% of their variance is within batches. Reduced trace."""

# fmt: off
HOUR_FACTORS: Final = np.array([
    1.12, 0.97, 1.04, 1.05, 0.96, 1.09, 1.18, 1.18, 1.21, 1.05, 0.92, 0.87,
    0.82, 0.83, 0.82, 0.84, 0.89, 1.02, 1.05, 1.00, 0.95, 1.06, 1.06, 1.06,
])
# fmt: on
"""Beginnings of batches in each hour of the day, from midnight on, mean 1. Reduced trace."""

WEEKDAY_FACTORS: Final = np.array([0.99, 1.21, 1.14, 1.14, 1.04, 0.80, 0.68])
"""Beginnings of batches on Monday to Sunday, mean 1. Reduced trace."""
