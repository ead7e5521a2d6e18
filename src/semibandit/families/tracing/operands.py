"""Plain operands of traced values: numbers and arrays, their shapes and memory order."""

from __future__ import annotations

from typing import Any

import numpy as np

from semibandit.families.tracing.errors import TracingError

__all__ = ["common_shape", "fixed", "number", "room", "shape_of"]

_FLOAT = np.dtype(float)
_NUMBERS = (np.ndarray, np.generic, bool, int, list, tuple)
_WITH_RULES = (np.ma.MaskedArray, np.matrix)


def number(value: Any) -> Any:
    """Return a plain operand as a float or an array of floats, which may be the user's: see `fixed`."""
    if type(value) is float or (type(value) is np.ndarray and value.dtype is _FLOAT):
        return value
    if type(value) is int:
        return float(value)
    array = np.asarray(value) if isinstance(value, _NUMBERS) and not isinstance(value, _WITH_RULES) else None
    if array is None or not (array.dtype.kind in "iub" or array.dtype == _FLOAT):
        kind = type(value).__name__ if array is None else array.dtype
        raise TracingError(
            f"a value that depends on rho meets {str(value)[:40]!r} of type {kind}: only bools, integers, "
            f"64-bit floats and numpy's arrays of them are traced; use x.astype(float) or x.to_numpy()"
        )
    return array.astype(float) if array.ndim else float(array)


def fixed(value: Any) -> Any:
    """Return coefficients that do not change with the user's array."""
    return value.copy() if type(value) is np.ndarray else value


def shape_of(value: Any) -> Any:
    """Return the shape of a number or an array."""
    return () if type(value) is float else value.shape


def common_shape(x: Any, y: Any) -> tuple[int, ...]:
    """Return the shape of the result of two operands."""
    if not y or x == y:
        return x  # type: ignore[no-any-return]
    return np.broadcast_shapes(x, y) if x else y


def room(parts: Any, shape: tuple[int, ...]) -> Any:
    """Return an empty array for coefficients, in the memory order that numpy gives the plain array.

    That decides whether `reshape` and `ravel` return views.
    """
    arrays = [p for p in parts if type(p) is np.ndarray and p.shape == shape]
    if not arrays or any(array.flags.c_contiguous for array in arrays):
        return np.empty((len(parts), *shape))
    axes = np.argsort([-abs(stride) for stride in arrays[0].strides], kind="stable")
    full = np.empty((len(parts), *(shape[axis] for axis in axes)))
    return full.transpose(0, *(1 + np.argsort(axes)))
