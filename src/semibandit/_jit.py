"""The decorators that compile kernels: for what Python calls, and for what only kernels call."""

import functools
import os
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any, ParamSpec, TypeVar

import numba

Door: Any
Part: Any
try:
    from semibandit._compiler import Door, Part
except (ImportError, AttributeError):  # another numba: its own way takes twice as long
    Door = Part = None

P = ParamSpec("P")
R = TypeVar("R")

_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` with numba and keep the machine code on disk.

    Where it cannot be kept (a read-only installation without a home directory, a full disk) or read (a
    damaged file) the function is compiled anew in each process instead of failing. No fastmath: kernels
    handle infinities and rely on the order of their additions. They check what they divide by themselves:
    raising for a zero would keep loops from being worked off several entries at a time.
    """
    part: Any = inner(function)
    if not hasattr(part, "overloads"):  # the JIT is off
        return function
    compiler = {"pipeline_class": type("Door", (Door,), {"part": part})} if Door else {}
    njit: Any = functools.partial(numba.njit, **_OPTIONS, **compiler)
    try:
        compiled: Any = njit(cache=True)(function)
    except RuntimeError:
        compiled = njit()(function)
    compiled._cache = _ForgivingCache(compiled._cache)
    if Door:  # other kernels call the part
        compiled.get_call_template, compiled.get_overload = part.get_call_template, part.get_overload
    else:
        compiled.get_call_template = functools.partial(_for_any_number, compiled.get_call_template)
    return compiled  # type: ignore[no-any-return]


def inner(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` as a part of the kernels that call it; Python cannot.

    It has no file and no machine code of its own, most of what it takes to compile a small function.
    """
    return _part(function, counted=True)


def uncounted(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` as `inner` does, without counting references to arrays.

    That takes as long as many a small function does, and half of its compilation. Such a function may take
    arrays and look at parts of them, but it neither makes nor returns any, nor calls what returns some.
    """
    return _part(function, counted=False)


def _part(function: Callable[P, R], *, counted: bool) -> Callable[P, R]:
    compiler = {"pipeline_class": Part} if Part else {}
    njit: Any = functools.partial(numba.njit, no_cpython_wrapper=True, no_cfunc_wrapper=True, **compiler)
    # What is left out here would be as it is for the kernel that is compiled first.
    compiled = njit(_nrt=counted, **_OPTIONS)(function)
    if hasattr(compiled, "overloads"):  # with the JIT off, it is the function itself
        compiled.get_call_template = functools.partial(_for_any_number, compiled.get_call_template)
        # Without a wrapper a call would crash: numba must neither find the function nor ask for it.
        compiled._insert = lambda *overload: None
        compiled._compile_for_args = _refuse
    return compiled  # type: ignore[no-any-return]


def _refuse(*arguments: Any, **keywords: Any) -> Any:
    raise TypeError("an inner kernel is a part of others, and cannot be called from Python")


def _for_any_number(template: Callable[..., Any], args: Any, kws: Any) -> Any:
    """What kernels call is compiled once for all integers, not once more for each that is written out."""
    plain: Callable[[Any], Any] = numba.types.unliteral
    return template(tuple(map(plain, args)), {name: plain(each) for name, each in kws.items()})


def is_new(compiled: Any) -> bool:
    """Whether no machine code of a kernel is on disk, where it could be."""
    try:
        return not os.path.exists(compiled._cache._cache_file._index_path)
    except AttributeError:  # the JIT is off, there is no place for files, or numba has changed
        return False


class _ForgivingCache:
    """numba's cache of a function, whose failures cost time and nothing else.

    Whoever sits at a terminal is told when there is something to wait for.
    """

    _warned = False
    _told = False

    def __init__(self, cache: Any) -> None:
        self._cache = cache

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cache, name)

    def load_overload(self, *arguments: Any) -> Any:
        try:
            loaded = self._cache.load_overload(*arguments)
        except Exception as error:
            self._warn(error)
            with suppress(Exception):
                self._cache.flush()  # what cannot be read is written anew
            loaded = None
        if loaded is None:
            self._tell()
        return loaded

    def save_overload(self, *arguments: Any) -> None:
        try:
            self._cache.save_overload(*arguments)
        except Exception as error:
            self._warn(error)

    @staticmethod
    def _tell() -> None:
        if not _ForgivingCache._told:
            _ForgivingCache._told = True
            if sys.stderr is not None and sys.stderr.isatty():
                print("semibandit: compiling, once on this machine; half a minute or so ...", file=sys.stderr)

    @staticmethod
    def _warn(error: Exception) -> None:
        if not _ForgivingCache._warned:
            _ForgivingCache._warned = True
            warnings.warn(
                f"compiled code cannot be kept on disk, and is compiled anew: {error!r}", stacklevel=4
            )
