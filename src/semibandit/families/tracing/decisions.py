"""Decisions on traced values: comparisons narrow the interval, choices and rounding rest on comparisons."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from semibandit.families.tracing import _kernels
from semibandit.families.tracing.errors import TracingError
from semibandit.families.tracing.operands import common_shape, room
from semibandit.families.tracing.protocols import UFUNCS, refuse
from semibandit.families.tracing.values import Traced, unify

__all__ = ["compare", "decide", "select"]


def _paired(x: Any, y: Any) -> tuple[Traced, Traced]:
    """Return two operands of the same kind and shape."""
    x, y = unify(x, y)
    if x.shape == y.shape:
        return x, y
    shape = common_shape(x.shape, y.shape)
    return Traced(x.tracer, x.terms(), shape), Traced(y.tracer, y.terms(), shape)


def compare(x: Any, y: Any) -> Any:
    """Return the signs of x - y just right of ρ, and narrow the interval to where they are the same."""
    x, y = _paired(x, y)
    parts = (*x.parts, *y.parts) if len(x.shape) > 1 else ()
    found = decide(_kernels.signs, x.columns(), y.columns(), x.tracer.bounds).reshape(x.shape)
    if len(x.shape) < 2:
        return found
    ordered = room(parts, x.shape)[0]
    ordered[...] = found
    return ordered


def _compare_at(x: Any, y: Any) -> Any:
    """Return the signs of x - y just right of ρ; the interval stays as it is."""
    x, y = _paired(x, y)
    return decide(_kernels.signs_at, x.columns(), y.columns(), x.tracer.rho).reshape(x.shape)


def decide(kernel: Callable[..., Any], *args: Any) -> Any:
    """Call a kernel; raise an error that names the line if a value cannot be compared."""
    try:
        return kernel(*args)
    except ValueError:
        raise TracingError(
            "a comparison of values with nan, an infinite slope, or numbers beyond 1e300: "
            "leave infinities out, or put them in after the values were computed"
        ) from None


def _relation(test: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def relation(x: Any, y: Any) -> Any:
        found = test(compare(x, y), 0.0)
        return found if found.ndim else bool(found)

    return relation


def _equality(test: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    relation = _relation(test)

    def equality(x: Any, y: Any) -> Any:
        return test(0.0, 1.0) if y is None or isinstance(y, str) else relation(x, y)

    return equality


def select(chosen: Any, x: Any, y: Any) -> Any:
    """Return x where `chosen`, else y."""
    if isinstance(chosen, Traced):
        chosen = compare(chosen, 0.0) != 0.0
    if not (isinstance(x, Traced) or isinstance(y, Traced)):
        return np.where(chosen, x, y)
    x, y = unify(x, y)
    parts = tuple(
        u if type(u) is float and type(v) is float and u == v else np.where(chosen, u, v)
        for u, v in zip(x.terms(), y.terms(), strict=True)
    )
    return Traced(x.tracer, parts, common_shape(common_shape(x.shape, y.shape), np.shape(chosen)))


def _better(test: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda x, y: select(test(compare(x, y), 0.0), x, y)


def _absolute(x: Any) -> Any:
    return select(compare(x, 0.0) < 0.0, -x, x)


def _clip(x: Any, a_min: Any = None, a_max: Any = None, **options: Any) -> Any:
    low, high = options.pop("min", a_min), options.pop("max", a_max)
    refuse("clip", options)
    x = x if low is None else np.maximum(x, low)
    return x * 1.0 if high is None else np.minimum(x, high)


def _value(x: Traced) -> Any:
    """Return the values at ρ, with rounding errors."""
    if x.affine:
        a, b = x.terms()
        return a + x.tracer.rho * b
    k, p, q, a, b = x.terms()
    return k * np.exp(a + x.tracer.rho * (b + np.log(p) - np.log(q)))


def _floor(x: Any) -> Any:
    """Return the largest integers at most x just right of ρ."""
    with np.errstate(over="ignore"):
        found = np.broadcast_to(np.floor(_value(x)), x.shape)
    if not np.all(np.isfinite(found)):
        raise TracingError("a value that depends on rho is beyond the range of floats and cannot be rounded")
    found = found - (_compare_at(x, found) < 0.0)  # rounding moves the guess by at most one
    found = found + (_compare_at(x, found + 1.0) >= 0.0)
    if np.any(compare(x, found) < 0.0) or np.any(compare(x, found + 1.0) >= 0.0):
        raise TracingError("a value that depends on rho is too large: its rounding errors exceed 1")
    return found[()]


def _trunc(x: Any) -> Any:
    negative = compare(x, 0.0) < 0.0
    return (np.where(negative, -1.0, 1.0) * _floor(select(negative, -x, x)))[()]


def _rint(x: Any) -> Any:
    """Return the nearest integers; only constants can lie halfway between two, and go to the even one."""
    if not x.affine:
        low = _floor(x)
        return low + (compare(x, low + 0.5) >= 0.0)
    a, b = x.terms()
    return np.where(np.broadcast_to(np.equal(b, 0.0), x.shape), np.rint(a), _floor(x + 0.5))[()]


def _remainder(x: Any, y: Any) -> Any:
    return x - y * np.floor(x / y)


UFUNCS |= {
    np.less: _relation(operator.lt), np.less_equal: _relation(operator.le),
    np.greater: _relation(operator.gt), np.greater_equal: _relation(operator.ge),
    np.equal: _equality(operator.eq), np.not_equal: _equality(operator.ne),
    np.minimum: _better(operator.le), np.maximum: _better(operator.ge),
    np.fmin: _better(operator.le), np.fmax: _better(operator.ge), np.clip: _clip,
    np.absolute: _absolute, np.fabs: _absolute, np.sign: lambda x: compare(x, 0.0)[()],
    np.logical_not: lambda x: compare(x, 0.0) == 0.0,
    np.floor: _floor, np.ceil: lambda x: -_floor(-x), np.trunc: _trunc, np.rint: _rint,
    np.floor_divide: lambda x, y: np.floor(x / y), np.remainder: _remainder,
    np.divmod: lambda x, y: (np.floor(x / y), _remainder(x, y)),
}  # fmt: skip
