"""Decorators that compile the kernels with numba, by its public interface alone."""

import functools
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any, ParamSpec, TypeVar

import numba
import numba.core

P = ParamSpec("P")
R = TypeVar("R")

# Releases of numba differ in how much of them is typed.
_config: Any = numba.config
_events: Any = numba.core.event
_njit: Any = functools.partial(numba.njit, nogil=True, error_model="numpy")


def inner(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` for the kernels that call it. The machine code is stored with theirs."""
    return _njit(function)  # type: ignore[no-any-return]


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` when it is first called, and store the machine code on disk.

    If the cache directory (`NUMBA_CACHE_DIR`) cannot be written or read, the function is compiled again in
    each process, with a warning. Kernels are compiled without fastmath: they handle infinities and rely on
    the order of additions. Division by zero does not raise, so that loops can be vectorised.
    """
    if _config.DISABLE_JIT:
        return function
    try:
        cached = _njit(cache=True)(function)
    except RuntimeError:  # there is no directory that can be written
        return inner(function)
    load_or_compile = cached.compile

    def compile_(signature: Any) -> Any:
        try:
            return load_or_compile(signature)
        except numba.core.errors.NumbaError:  # an error in `function`
            raise
        except Exception as error:
            _warn_once(f"numba's cache in {cached.stats.cache_path} cannot be used: {error!r}")
        if not cached.overloads:
            with suppress(Exception):
                cached.recompile()  # empties a damaged cache
        if signature not in cached.overloads:
            uncached: Any = inner(function)
            uncached.compile(signature)
            cached.add_overload(uncached.overloads[signature])
        return load_or_compile(signature)

    cached.compile = compile_
    return cached  # type: ignore[no-any-return]


@functools.cache
def _warn_once(message: str) -> None:
    warnings.warn(message, RuntimeWarning, stacklevel=4)


class _Notice(_events.Listener):  # type: ignore[misc]
    """Tell the user at a terminal, once, that the program waits for the compiler."""

    def on_start(self, event: Any) -> None:
        if event.data["dispatcher"].py_func.__module__.startswith("semibandit."):
            _print_once("semibandit: compiling, once on this machine; this takes up to a minute ...")

    def on_end(self, event: Any) -> None:
        pass


@functools.cache
def _print_once(line: str) -> None:
    print(line, file=sys.stderr)


if sys.stderr is not None and sys.stderr.isatty():
    _events.register("numba:compile", _Notice())
