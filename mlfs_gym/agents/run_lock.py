"""One process trains a run: two would write over each other's checkpoints."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final
from weakref import WeakValueDictionary, finalize

from mlfs_gym.errors import SettingsError

try:
    import fcntl
except ImportError:  # not a POSIX system: nothing is locked
    fcntl = None  # type: ignore[assignment]

NAME: Final = ".lock"


class RunLock:
    """Held as long as it lives. The system releases it when the process ends, however it ends.

    Args:
        descriptor: of the open, locked file.
    """

    def __init__(self, descriptor: int) -> None:
        finalize(self, os.close, descriptor)

    @classmethod
    def of(cls, folder: Path) -> RunLock | None:
        """The lock of a run's folder, the same for all in this process; None where files cannot be locked.

        Raises:
            SettingsError: another process has it.
        """
        key = folder.resolve()
        if key in _held:
            return _held[key]
        descriptor = os.open(folder / NAME, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            _lock(descriptor)
        except BlockingIOError:
            owner = os.read(descriptor, 20).decode(errors="replace")
            os.close(descriptor)
            raise SettingsError(
                f"run folder: {folder} is being trained by process {owner or 'unknown'}; wait for it, or end it first"
            ) from None
        except OSError:  # a file system without locks
            os.close(descriptor)
            return None
        os.ftruncate(descriptor, 0)
        os.write(descriptor, str(os.getpid()).encode())
        held = cls(descriptor)
        _held[key] = held
        return held


_held: WeakValueDictionary[Path, RunLock] = WeakValueDictionary()


def _lock(descriptor: int) -> None:
    if fcntl is not None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
