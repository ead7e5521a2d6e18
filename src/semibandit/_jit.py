"""The one decorator that compiles kernels."""

from collections.abc import Callable
from typing import ParamSpec, TypeVar

import numba

P = ParamSpec("P")
R = TypeVar("R")


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` with numba and keep the machine code on disk.

    Where no cache directory can be written (a read-only installation without a home directory) the
    function is compiled anew in each process instead of failing. No fastmath: kernels handle infinities
    and rely on the order of their additions.
    """
    try:
        compiled: Callable[P, R] = numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:
        compiled = numba.njit(nogil=True)(function)
    return compiled
