"""Where in the user's own code an error comes from: of a traceback, only that is of use to them."""

from __future__ import annotations

import sysconfig
import traceback
from pathlib import Path
from types import TracebackType

_NOT_OWN = (
    Path(__file__).resolve().parents[1],
    *(Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib", "purelib", "platlib")),
)
_INSTALLED = {"site-packages", "dist-packages"}  # of another environment on the path, too


def own_traceback(error: BaseException) -> str | None:
    """A traceback without the frames above the first of the user's own; None if there is no such frame."""
    here: TracebackType | None = error.__traceback__
    while here is not None and not _is_own(here.tb_frame.f_code.co_filename):
        here = here.tb_next
    if here is None:
        return None
    return "".join(traceback.format_exception(type(error), error, here)).rstrip()


def _is_own(file: str) -> bool:
    if file.startswith("<"):  # frozen modules, code made at run time
        return False
    path = Path(file).resolve()
    return not _INSTALLED & set(path.parts) and not set(_NOT_OWN) & set(path.parents)
