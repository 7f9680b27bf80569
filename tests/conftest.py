"""Settings of every test run, made before anything heavy is imported."""

from __future__ import annotations

import os

# Two threads that fight for a core make training of small networks many times slower.
os.environ.setdefault("OMP_NUM_THREADS", "1")
