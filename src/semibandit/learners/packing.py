"""Arrays as plain data, for files."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

__all__ = ["Array", "pack", "unpack"]


class Array(msgspec.Struct):
    """Numpy array: dtype, shape and little-endian bytes."""

    dtype: str
    shape: list[int]
    data: bytes


def pack(array: np.ndarray[Any, Any]) -> Array:
    """Return the array as plain data."""
    portable = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    return Array(portable.dtype.str, list(array.shape), portable.tobytes())


def unpack(array: Array) -> np.ndarray[Any, Any]:
    """Return the array from `pack`."""
    dtype = np.dtype(array.dtype)
    return np.frombuffer(array.data, dtype).reshape(array.shape).astype(dtype.newbyteorder("="))
