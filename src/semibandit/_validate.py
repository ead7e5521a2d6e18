"""Checks of arguments: each error names the argument, what was expected and what came."""

import math
import numbers
import os
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


def number(
    name: str, value: Any, *, low: float = -math.inf, high: float = math.inf, open: bool = False
) -> float:
    """Return a finite float in [low, high], or in (low, high) if `open`."""
    try:
        if isinstance(value, str | bytes):  # float() would parse it
            raise TypeError
        x = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a number, got {value!r}") from None
    except OverflowError:
        raise ValueError(f"{name} must be {_range(low, high, open)}, got an integer beyond floats") from None
    inside = low < x < high if open else low <= x <= high
    if not (math.isfinite(x) and inside):
        raise ValueError(f"{name} must be {_range(low, high, open)}, got {x!r}")
    return x


def integer(name: str, value: Any, *, low: int | None = None, high: int | None = 2**63 - 1) -> int:
    """Return an integer in [low, high]; refuse bools and floats."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer):
        raise TypeError(f"{name} must be an integer, got {value!r}")
    if low is not None and value < low:
        raise ValueError(f"{name} must be at least {low}, got {shown(value)}")
    if high is not None and value > high:
        raise ValueError(f"{name} must be at most {high}, got {shown(value)}")
    return int(value)


def seed(name: str, value: Any) -> int:
    """Return a seed of numpy's generators: an integer of any size, at least 0."""
    return integer(name, value, low=0, high=None)


def boolean(name: str, value: Any) -> bool:
    """Return True or False; refuse other values that are true or false."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False, got {value!r}")
    return bool(value)


def choice(name: str, value: Any, allowed: tuple[str, ...]) -> str:
    """Return one of the strings in `allowed`."""
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {value!r}")
    return str(value)


def path(name: str, value: Any) -> str:
    """Return the path of a file as a string; refuse bytes and null characters."""
    try:
        if isinstance(value, bytes):
            raise TypeError
        text = str(os.fspath(value))
    except TypeError:
        raise TypeError(f"{name} must be the path of a file, got {value!r}") from None
    if "\0" in text:
        raise ValueError(f"{name} must not contain a null character, got {text!r}")
    return text


def iterable(name: str, value: Any, what: str) -> Any:
    """Return an iterable; its elements are not checked."""
    try:
        iter(value)
    except TypeError:
        raise TypeError(f"{name} must be {what}, got {value!r}") from None
    return value


def function(name: str, value: Any) -> Any:
    """Return a callable."""
    if not callable(value):
        raise TypeError(f"{name} must be a callable, got {value!r}")
    return value


def unmasked(name: str, values: Any) -> None:
    """Refuse arrays with masked entries: the mask would be dropped."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise ValueError(
            f"{name} must not have masked entries, got {np.ma.getmaskarray(values).sum()} of them"
        )


def floats(name: str, values: Any, what: str = "a sequence of numbers") -> FloatArray:
    """Return an array of floats of any shape, with nan and infinities allowed; copies only if needed."""
    if type(values) is np.ndarray and values.dtype == np.float64:
        return values
    unmasked(name, values)
    try:
        array = np.asarray(values)
        kind = array.dtype.kind
        if kind in "biuf" or (kind == "O" and all(isinstance(x, numbers.Real | Decimal) for x in array.flat)):
            return array.astype(np.float64, copy=False)
    except (TypeError, ValueError, OverflowError):
        pass  # ragged, or an integer beyond floats
    raise TypeError(f"{name} must be {what}, got {values!r}")


def vector(name: str, values: Any, *, length: int | None = None, low: float = -math.inf) -> FloatArray:
    """Return a one-dimensional array of finite floats, each at least `low`; copies only if needed."""
    array = floats(name, values)
    if array.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, got shape {array.shape}")
    if length is not None and array.size != length:
        raise ValueError(f"{name} must have {length} entries, got {array.size}")
    bad = ~(np.isfinite(array) & (array >= low))
    if bad.any():
        where = int(np.flatnonzero(bad)[0])
        raise ValueError(
            f"{name} must be {_range(low, math.inf, False)}, got {name}[{where}] = {float(array[where])!r}"
        )
    return array


def shown(value: Any) -> str:
    """Return a value as text for an error message; Python refuses to print integers of 4,300 digits."""
    if isinstance(value, int) and abs(value) >= 1 << 4000:
        return "an integer of thousands of digits"
    return repr(value)


def _range(low: float, high: float, open: bool) -> str:
    if high < math.inf:
        return f"in ({low:g}, {high:g})" if open else f"in [{low:g}, {high:g}]"
    return "finite" if low == -math.inf else f"finite and {'>' if open else '>='} {low:g}"
