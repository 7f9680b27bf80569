"""The one decorator for compiled code, and the note that a first compilation takes a while."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast, overload

import numba
from numba.core.caching import FunctionCache, IndexDataCacheFile

F = TypeVar("F", bound=Callable[..., Any])

_PACKAGE = Path(__file__).resolve().parent.parent
_COMPILED_FOLDERS = ("cluster", "workloads", "sim", "schedulers", "envs")


@cache
def package_stamp() -> str:
    """Digest of every source file that may hold a kernel.

    Numba dates a cached kernel by its own file alone, and would go on using old code when only a
    function that it calls has changed. One stamp over all of them makes an upgrade safe.
    """
    digest = hashlib.sha256(numba.__version__.encode())
    for folder in _COMPILED_FOLDERS:
        for path in sorted((_PACKAGE / folder).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()


class _PackageIndex(IndexDataCacheFile):  # type: ignore[misc]
    """Numba's index of the machine code of a kernel, which survives upgrades of the package."""

    def _load_index(self) -> Any:
        try:
            return super()._load_index()
        except (ImportError, AttributeError):  # it names a class that has moved since: old code, to be replaced
            return {}


class _PackageCache(FunctionCache):  # type: ignore[misc]
    """Numba's on-disk cache, dated by the whole package."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._cache_file = _PackageIndex(
            cache_path=self._cache_path, filename_base=self._impl.filename_base, source_stamp=package_stamp()
        )


@overload
def kernel(function: F) -> F: ...
@overload
def kernel(*, allocates: bool) -> Callable[[F], F]: ...
def kernel(function: F | None = None, *, allocates: bool = False) -> F | Callable[[F], F]:
    """Compile a function with Numba on first call; keep the machine code on disk.

    Division by zero gives inf or nan as in NumPy. No fast-math: results must not depend on the
    instruction set, and the plain twin in the tests must agree to the bit.

    Args:
        function: what to compile.
        allocates: True if it makes arrays, or calls what returns arrays to it. Only then are references to arrays
            counted, which costs a call at every mention of one and doubles the time to compile; views may be taken and
            passed on without. A kernel that does not count must not call one that returns new arrays.
    """
    if function is None:
        return lambda other: _compiled(other, allocates)
    return _compiled(function, allocates)


def _compiled(function: F, allocates: bool) -> F:
    dispatcher = numba.njit(error_model="numpy", nogil=True, no_cfunc_wrapper=True, _nrt=allocates)(function)
    try:
        dispatcher._cache = _PackageCache(function)
    except RuntimeError:  # no place to write a cache: compile in memory
        pass
    return cast(F, dispatcher)


def is_compiled(dispatcher: Callable[..., Any]) -> bool:
    """True if machine code of the kernel is in memory or on disk."""
    kernel_: Any = dispatcher
    if kernel_.signatures:
        return True
    stored = getattr(kernel_, "_cache", None)
    if not isinstance(stored, _PackageCache):
        return False
    return bool(stored._cache_file._load_index())


@cache
def say_if_first_compilation(dispatcher: Callable[..., Any]) -> None:
    """Tell the user when a kernel must be compiled, so that nobody thinks it hangs. Looks once per process."""
    if not is_compiled(dispatcher):
        _say_that_it_compiles()


@cache
def _say_that_it_compiles() -> None:
    print(
        "mlfs-gym: compiling the simulator for this machine, once after installation (about a minute) ...",
        file=sys.stderr,
        flush=True,
    )
