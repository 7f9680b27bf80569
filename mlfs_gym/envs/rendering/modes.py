"""Which render modes there are on this machine."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Final

from mlfs_gym.errors import SettingsError

ALWAYS: Final = ("ansi", "rgb_array")
NEEDS_PYGAME: Final = "human"


def available_modes() -> list[str]:
    """Modes that work here. Gymnasium's checker tries every mode that an environment names."""
    return [*ALWAYS, NEEDS_PYGAME] if find_spec("pygame") is not None else list(ALWAYS)


def check_mode(mode: str | None) -> None:
    """Raises SettingsError for a mode that does not work here, and names the extra that would make it work."""
    if mode is None or mode in available_modes():
        return
    if mode == NEEDS_PYGAME:
        raise SettingsError(
            "render_mode: found 'human', expected pygame to be installed: pip install 'mlfs-gym[human]'"
        )
    raise SettingsError(f"render_mode: found {mode!r}, expected one of {[*ALWAYS, NEEDS_PYGAME]}")
