"""Comparison of the outputs of an algorithm."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["same_output"]


def same_output(a: Any, b: Any) -> bool:
    """Return whether two outputs are equal: arrays by element, also inside of containers; nan equals nan.

    >>> same_output((1, np.array([2.0, np.nan])), (1, np.array([2.0, np.nan])))
    True
    >>> same_output([1, 2], [1, 3])
    False
    """
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return _same_array(np.asarray(a), np.asarray(b))
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(same_output, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same_output(value, b[key]) for key, value in a.items())
    return bool(a == b) or bool(a != a and b != b)


def _same_array(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
    if a.shape != b.shape:
        return False
    if a.dtype.hasobject or b.dtype.hasobject:
        return all(map(same_output, a.ravel().tolist(), b.ravel().tolist()))
    return bool(((a == b) | ((a != a) & (b != b))).all())
