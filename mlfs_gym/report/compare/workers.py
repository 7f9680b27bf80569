"""Run after run in parallel processes."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Final

from mlfs_gym.config import ClusterConfig
from mlfs_gym.errors import SettingsError
from mlfs_gym.report.compare.one_run import play
from mlfs_gym.report.compare.plan import Run
from mlfs_gym.report.simulate import simulate

OnRun = Callable[[Run, str | None], None]

_NO_GUARD: Final = (
    "worker processes could not begin, as each imports the script that called; put the call under "
    '`if __name__ == "__main__":`, or give processes=1'
)
_KILLED: Final = (
    "a worker process was ended from outside, perhaps for want of memory; what is complete is kept, give the "
    "comparison again with fewer processes"
)


def run_all(
    runs: Sequence[Run], workload: str, cluster: ClusterConfig, folder: Path, processes: int, on_run: OnRun
) -> None:
    """Play runs; results go into the folder.

    Args:
        runs: the longest first.
        workload: name.
        cluster: the servers.
        folder: of the comparison.
        processes: worker processes; 1: none, all in this one.
        on_run: called here after each run, with the traceback of one that failed.

    Raises:
        SettingsError: a worker process ended before its work.
    """
    if processes == 1:
        for run in runs:
            on_run(run, play(run, workload, cluster, folder))
        return
    context = multiprocessing.get_context("spawn")  # a fork would copy locks that threads of this process may hold
    pool = ProcessPoolExecutor(processes, context, _begin, (list(sys.path), os.getcwd()))
    begun = False
    try:
        # One process compiles what is not yet compiled, so that the others need not do the same beside it.
        pool.submit(_compile, sorted({run.scheduler for run in runs})).result()
        begun = True
        pending = {pool.submit(play, run, workload, cluster, folder): run for run in runs}
        for done in as_completed(pending):
            on_run(pending[done], done.result())
    except BrokenProcessPool:
        raise SettingsError(f"processes: {_KILLED if begun else _NO_GUARD}") from None
    finally:
        pool.shutdown(wait=True, cancel_futures=True)  # runs that have begun end; no other begins


def leave_if_imported_by_a_worker() -> None:
    """End a worker that is importing the script it was started from, which calls for workers of its own.

    The script lacks its ``if __name__ == "__main__":``. The parent says so, in one line; tracebacks of all its workers
    would say it many times.
    """
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise SystemExit(1)


def _begin(path: list[str], folder: str) -> None:
    """A worker finds what the parent finds, and leaves Ctrl-C to it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.path[:] = path
    os.chdir(folder)


def _compile(schedulers: list[str]) -> None:
    for name in schedulers:
        try:
            simulate("toy", name)
        except Exception:  # the run itself will fail and tell
            continue
