"""Traced values: numbers and arrays that depend on ρ, and record on which interval decisions are the same.

`Traced` behaves like a float or an array by Python's operators and numpy's protocols. Its coefficients are
an array with one more axis, the last: two columns for affine values a + bρ, five for powers
k·(p/q)^ρ·exp(a + bρ). Comparisons, and all that rests on them, return plain numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from semibandit.families.tracing.errors import TracingError

__all__ = ["Traced", "Tracer", "plain"]

AFFINE, POWER = 2, 5
_ONE = np.array([1.0, 1.0, 1.0, 0.0, 0.0])
_HELP = "Take logarithms, multiply out, or use sb.BlackBox"


@cache
def _kernels() -> Any:
    from semibandit.families.tracing import _kernels

    return _kernels


class Tracer:
    """One run: ρ, and the interval [lo, hi) on which all decisions so far are the same."""

    def __init__(self, rho: float, lo: float, hi: float) -> None:
        self.bounds = np.array([rho, lo, hi])

    @property
    def interval(self) -> tuple[float, float]:
        """Ends of the interval."""
        return float(self.bounds[1]), float(self.bounds[2])

    def variable(self) -> Traced:
        """Return ρ as a traced number."""
        return Traced(self, np.array([0.0, 1.0]))


class Traced(NDArrayOperatorsMixin):
    """A number or an array that depends on ρ."""

    __slots__ = ("c", "tracer")
    __array_priority__ = 1000.0
    dtype = np.dtype(float)

    def __init__(self, tracer: Tracer, c: Any) -> None:
        self.tracer, self.c = tracer, c

    # -- shape -------------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape, as of an array of floats."""
        return self.c.shape[:-1]  # type: ignore[no-any-return]

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return self.c.ndim - 1  # type: ignore[no-any-return]

    @property
    def size(self) -> int:
        """Number of elements."""
        return int(np.prod(self.shape))

    @property
    def T(self) -> Traced:
        """The transposed array."""
        return np.transpose(self)  # type: ignore[call-overload,no-any-return]

    @property
    def affine(self) -> bool:
        """Whether the values are affine, not powers."""
        return self.c.shape[-1] == AFFINE  # type: ignore[no-any-return]

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("a traced number has no length")
        return self.shape[0]

    def __iter__(self) -> Iterator[Traced]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index: Any) -> Traced:
        return Traced(self.tracer, self.c[_index(index)])

    def __setitem__(self, index: Any, value: Any) -> None:
        self.c[_index(index)] = _coefficients(value, self.c.shape[-1], self.tracer)

    def copy(self) -> Traced:
        """Return a copy."""
        return Traced(self.tracer, self.c.copy())

    def astype(self, dtype: Any) -> Traced:
        """Return a copy; the only type is float."""
        if np.dtype(dtype).kind != "f":
            raise TracingError(f"a value that depends on rho cannot become {dtype}: use np.floor or np.round")
        return self.copy()

    def tolist(self) -> Any:
        """Return nested lists of traced numbers."""
        return [x.tolist() for x in self] if self.ndim else self

    def item(self) -> Traced:
        """Return the only element."""
        return self.reshape(())  # type: ignore[no-any-return]

    def reshape(self, *shape: Any) -> Any:
        """Return the values in another shape."""
        shape = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple | list) else shape
        return Traced(self.tracer, self.c.reshape(self.c[..., 0].reshape(shape).shape + self.c.shape[-1:]))

    def sort(self, axis: int = -1) -> None:
        """Sort in place."""
        self.c[...] = np.sort(self, axis=axis).c  # type: ignore[call-overload]

    def __getattr__(self, name: str) -> Any:
        if name in _METHODS:
            return partial(getattr(np, name), self)
        raise AttributeError(f"a traced value has no attribute {name!r}")

    # -- decisions ---------------------------------------------------------------------------------

    def __bool__(self) -> bool:
        if self.size != 1:
            raise ValueError("the truth value of an array with several elements is ambiguous")
        return bool(np.ravel(_compare(self, 0.0))[0] != 0.0)

    def __floor__(self) -> int:
        return int(_floor(self))

    def __ceil__(self) -> int:
        return -int(_floor(-self))

    def __trunc__(self) -> int:
        return int(_trunc(self))

    __int__ = __trunc__

    def __round__(self, digits: int | None = None) -> Any:
        rounded = _round(self, digits or 0)
        return int(rounded) if digits is None else float(rounded)

    def __float__(self) -> float:
        found = plain(self)
        if isinstance(found, Traced) or self.ndim:
            raise TracingError(
                "a value that depends on rho is needed as a plain float. Use numpy's functions instead of "
                "math's, and np.stack or np.where instead of storing it in a plain array"
            )
        return float(found)

    def __array__(self, *args: Any, **options: Any) -> Any:
        found = plain(self)
        if isinstance(found, Traced):
            raise TracingError(
                "values that depend on rho cannot be stored in a plain array. Build it with np.stack, "
                "np.concatenate or np.where"
            )
        return np.asarray(found, *args)

    def __repr__(self) -> str:
        kind = "affine" if self.affine else "power"
        return f"<traced {kind} value of shape {self.shape}>"

    def __reduce__(self) -> Any:
        raise TracingError("a traced value lives only during its run, and cannot be pickled or copied deeply")

    # -- numpy's protocols -------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **options: Any) -> Any:
        name = ufunc.__name__
        if method == "reduce" and name in _REDUCTIONS:
            return getattr(np, _REDUCTIONS[name])(*inputs, **{"axis": 0} | options)
        rule = _UFUNCS.get(name)
        if method != "__call__" or rule is None or options:
            raise TracingError(f"np.{name} of a value that depends on rho is not traced. {_HELP}")
        result = rule(*inputs)
        if out is None:
            return result
        if not isinstance(out[0], Traced):
            raise TracingError("a plain array cannot be changed in place to depend on rho: write x = x + y")
        out[0][...] = result
        return out[0]

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        rule = _FUNCTIONS.get(function)
        if rule is None:
            raise TracingError(
                f"np.{function.__name__} of a value that depends on rho is not traced. {_HELP}"
            )
        return rule(*args, **options)


def _index(index: Any) -> Any:
    """Return the index of coefficients, whose last axis is not the user's."""
    parts = index if isinstance(index, tuple) else (index,)
    return (*parts, slice(None)) if any(part is Ellipsis for part in parts) else index


def plain(value: Any) -> Any:
    """Return the plain number or array of a value that does not depend on ρ; others as they are."""
    if not isinstance(value, Traced):
        return value
    c = value.c
    if value.affine:
        return c[..., 0] if not c[..., 1].any() else value
    if (c[..., 1] == c[..., 2]).all() and not c[..., 4].any():
        return c[..., 0] * np.exp(c[..., 3])
    return value


def _coefficients(value: Any, columns: int, tracer: Tracer) -> Any:
    """Return the coefficients of a plain or traced value, with this number of columns."""
    if isinstance(value, Traced):
        if value.tracer is not tracer:
            raise TracingError("a traced value of another run was kept, such as in a global or a cache")
        if value.c.shape[-1] == columns:
            return value.c
        value = plain(value)
        if isinstance(value, Traced):
            raise TracingError(f"an affine value and a power of rho meet. {_HELP}")
    array = np.asarray(value, dtype=float)
    c = np.zeros((*array.shape, columns))
    if columns == POWER:
        c[...] = _ONE
    c[..., 0] = array
    return c


def _unify(*values: Any) -> tuple[Tracer, list[Any]]:
    """Return the tracer, and the coefficients of all values in one kind."""
    traced = [value for value in values if isinstance(value, Traced)]
    columns = max(
        (v.c.shape[-1] for v in traced if isinstance(plain(v), Traced)), default=traced[0].c.shape[-1]
    )
    tracer = traced[0].tracer
    return tracer, [_coefficients(value, columns, tracer) for value in values]


# -- arithmetic ------------------------------------------------------------------------------------------


def _sum_of(x: Any, y: Any, sign: float) -> Any:
    x, y = plain(x), plain(y)
    traced = [v for v in (x, y) if isinstance(v, Traced)]
    if not traced:
        return x + sign * y
    tracer, (cx, cy) = _unify(x, y)
    if cx.shape[-1] == POWER:
        raise TracingError(f"a sum of powers of rho is neither affine nor a power. {_HELP}")
    return Traced(tracer, cx + sign * cy)


def _add(x: Any, y: Any) -> Any:
    return _sum_of(x, y, 1.0)


def _subtract(x: Any, y: Any) -> Any:
    return _sum_of(x, y, -1.0)


def _multiply(x: Any, y: Any) -> Any:
    if not isinstance(x, Traced):
        x, y = y, x
    if not isinstance(y, Traced):
        return _scale(x, np.asarray(y, dtype=float), np.multiply)
    px, py = plain(x), plain(y)
    if not (isinstance(px, Traced) and isinstance(py, Traced)):
        return px * py
    tracer, (cx, cy) = _unify(x, y)
    if cx.shape[-1] == AFFINE:
        raise TracingError(f"a product of two values that depend on rho is not affine. {_HELP}")
    return Traced(tracer, np.concatenate((cx[..., :3] * cy[..., :3], cx[..., 3:] + cy[..., 3:]), axis=-1))


def _scale(x: Traced, factor: Any, by: Any) -> Traced:
    """Multiply or divide by plain numbers."""
    if x.affine:
        return Traced(x.tracer, by(x.c, factor[..., None]))
    k = by(x.c[..., 0], factor)
    c = np.empty((*np.shape(k), POWER))
    c[...] = x.c
    c[..., 0] = k
    return Traced(x.tracer, c)


def _divide(x: Any, y: Any) -> Any:
    if not isinstance(y, Traced):
        return _scale(x, np.asarray(y, dtype=float), np.true_divide)
    y = plain(y)
    if not isinstance(y, Traced):
        return x / y
    if y.affine:
        raise TracingError(f"a quotient by an affine value of rho is not affine. {_HELP}")
    inverse = np.empty_like(y.c)
    inverse[..., 0], inverse[..., 1], inverse[..., 2] = 1.0 / y.c[..., 0], y.c[..., 2], y.c[..., 1]
    inverse[..., 3:] = -y.c[..., 3:]
    if isinstance(x, Traced):
        return _multiply(x, Traced(y.tracer, inverse))
    c = np.empty((*np.broadcast_shapes(np.shape(x), y.shape), POWER))
    c[...] = inverse
    c[..., 0] = np.asarray(x, dtype=float) / y.c[..., 0]
    return Traced(y.tracer, c)


def _power(x: Any, y: Any) -> Any:
    y = plain(y)
    if isinstance(y, Traced):
        base = plain(x)
        if isinstance(base, Traced) or not y.affine:
            raise TracingError(f"a power whose base and exponent depend on rho is not traced. {_HELP}")
        return _exponential(np.asarray(base, dtype=float), y)
    exponent = np.asarray(y, dtype=float)
    if (exponent == 1.0).all():
        return x.copy()
    if x.affine:
        raise TracingError(f"a power of an affine value of rho is not affine. {_HELP}")
    e = exponent[..., None]
    return Traced(x.tracer, np.concatenate((x.c[..., :3] ** e, x.c[..., 3:] * e), axis=-1))


def _exponential(base: Any, y: Traced) -> Traced:
    """Return base**y for an affine y; exact coefficients for the exponents ρ and -ρ."""
    if not (base > 0.0).all():
        raise TracingError("the base of a power of rho must be positive")
    a, b = y.c[..., 0], y.c[..., 1]
    c = np.empty((*np.broadcast_shapes(base.shape, y.shape), POWER))
    c[...] = _ONE
    if (a == 0.0).all() and (np.abs(b) == 1.0).all():
        c[..., 1], c[..., 2] = np.where(b > 0.0, base, 1.0), np.where(b > 0.0, 1.0, base)
    else:
        c[..., 3], c[..., 4] = a * np.log(base), b * np.log(base)
    return Traced(y.tracer, c)


def _exp(x: Traced) -> Traced:
    if not x.affine:
        raise TracingError(f"the exponential of a power of rho is not traced. {_HELP}")
    c = np.empty((*x.shape, POWER))
    c[...] = _ONE
    c[..., 3:] = x.c
    return Traced(x.tracer, c)


def _log(x: Any, base: float = 1.0) -> Any:
    x = plain(x)
    if not isinstance(x, Traced):
        return np.log(x) / base
    if x.affine:
        raise TracingError(f"the logarithm of an affine value of rho is not affine. {_HELP}")
    k, p, q, a, b = np.moveaxis(x.c, -1, 0)
    if not (k > 0.0).all():
        raise TracingError("the logarithm needs positive values")
    return Traced(x.tracer, np.stack((np.log(k) + a, np.log(p) - np.log(q) + b), axis=-1) / base)


# -- decisions -------------------------------------------------------------------------------------------


def _rows(c: Any) -> Any:
    rows = np.ascontiguousarray(c).reshape(-1, c.shape[-1])
    if np.isnan(rows).any():
        raise TracingError("a comparison with nan")
    return rows


def _compare(x: Any, y: Any) -> Any:
    """Return the signs of x - y just right of ρ; narrow the interval."""
    tracer, (cx, cy) = _unify(x, y)
    if cx.shape != cy.shape:
        cx, cy = np.broadcast_arrays(cx, cy)
    return _kernels().signs(_rows(cx), _rows(cy), tracer.bounds).reshape(cx.shape[:-1])


def _relation(test: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def relation(x: Any, y: Any) -> Any:
        found = test(_compare(x, y), 0.0)
        return found if found.ndim else bool(found)

    return relation


def _select(chosen: Any, x: Any, y: Any) -> Any:
    """Return x where `chosen`, else y."""
    if isinstance(chosen, Traced):
        chosen = _compare(chosen, 0.0) != 0.0
    if not isinstance(x, Traced) and not isinstance(y, Traced):
        return np.where(chosen, x, y)
    tracer, (cx, cy) = _unify(x, y)
    return Traced(tracer, np.where(np.asarray(chosen)[..., None], cx, cy))


def _minimum(x: Any, y: Any) -> Any:
    return _select(_compare(x, y) <= 0.0, x, y)


def _maximum(x: Any, y: Any) -> Any:
    return _select(_compare(x, y) >= 0.0, x, y)


def _clip(x: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Any:
    low, high = (a_min if min is None else min), (a_max if max is None else max)
    x = x if low is None else np.maximum(x, low)
    return x if high is None else np.minimum(x, high)


def _floor(x: Any) -> Any:
    """Return the largest integers at most x just right of ρ."""
    c, rho = x.c, x.tracer.bounds[0]
    logs = c[..., 3] + rho * (c[..., 4] + np.log(c[..., 1]) - np.log(c[..., 2])) if not x.affine else 0.0
    found = np.floor(c[..., 0] + rho * c[..., 1] if x.affine else c[..., 0] * np.exp(logs))
    aside = Tracer(rho, rho, rho)  # a guess may be wrong by one; the wrong ones must not narrow the interval
    trial = Traced(aside, c)
    found = found - (_compare(trial, found) < 0.0)
    found = found + (_compare(trial, found + 1.0) >= 0.0)
    _compare(x, found)
    _compare(x, found + 1.0)
    return found


def _trunc(x: Any) -> Any:
    negative = _compare(x, 0.0) < 0.0
    return np.where(negative, -1.0, 1.0) * _floor(_select(negative, -x, x))


def _round(x: Any, decimals: int = 0) -> Any:
    scale = 10.0**decimals
    return _floor(x * scale + 0.5) / scale


def _floor_divide(x: Any, y: Any) -> Any:
    return _floor(x / y)


def _remainder(x: Any, y: Any) -> Any:
    return x - y * _floor(x / y)


# -- orders ----------------------------------------------------------------------------------------------


def _lanes(x: Any, axis: int | None) -> tuple[Any, Any, tuple[int, ...]]:
    """Return the coefficients with the axis last, as rows of lanes, and the shape of the lanes."""
    c = x.c.reshape(-1, x.c.shape[-1]) if axis is None else np.moveaxis(x.c, axis if axis < 0 else axis, -2) \
        if axis is not None and axis >= 0 else np.moveaxis(x.c, axis - 1, -2)
    if np.isnan(c).any():
        raise TracingError("an order of values with nan")
    lanes = np.ascontiguousarray(c).reshape(-1, *c.shape[-2:])
    return c, lanes, c.shape[:-2]


def _order(rows: Any, tracer: Tracer) -> Any:
    """Return the stable ascending order of the rows of one lane; narrow the interval."""
    k = _kernels()
    keys = k.scores(rows, tracer.bounds[0])
    if rows.shape[1] == POWER:
        signs = np.sign(rows[:, 0])
        mixed = signs.size and (signs != signs[0]).any()
        first = np.lexsort((keys, signs)) if mixed else np.argsort(keys, kind="stable")
    else:
        first = np.argsort(keys, kind="stable")
    return k.settle(rows, first, tracer.bounds)


def _argsort(x: Any, axis: int | None = -1, kind: Any = None, order: Any = None, **_: Any) -> Any:
    c, lanes, shape = _lanes(x, axis)
    if len(lanes) == 1 and not shape:
        return _order(lanes[0], x.tracer)
    found = np.array([_order(rows, x.tracer) for rows in lanes]).reshape(c.shape[:-1])
    return np.moveaxis(found, -1, axis or 0)


def _along(x: Any, order: Any, axis: int | None) -> Traced:
    """Return the values at an order along the axis."""
    if axis is None:
        return Traced(x.tracer, x.c.reshape(-1, x.c.shape[-1])[order])
    axis = axis % x.ndim
    return Traced(x.tracer, np.take_along_axis(x.c, np.asarray(order)[..., None], axis))


def _sort(x: Any, axis: int | None = -1, kind: Any = None, order: Any = None, **_: Any) -> Traced:
    return _along(x, _argsort(x, axis), axis)


def _extreme(direction: float, x: Any, axis: int | None = None, out: Any = None, keepdims: Any = False) -> Any:
    if not x.size:
        raise ValueError("an extreme of no values")
    _, lanes, shape = _lanes(x, axis)
    found = [_kernels().extreme(rows, direction, x.tracer.bounds) for rows in lanes]
    if not shape and not keepdims:
        return found[0]
    array = np.array(found).reshape(shape)
    if not keepdims:
        return array
    return array.reshape((1,) * x.ndim) if axis is None else np.expand_dims(array, axis)


def _extremum(direction: float, x: Any, axis: int | None = None, out: Any = None, keepdims: Any = False,
              **_: Any) -> Any:
    where = _extreme(direction, x, axis)
    if axis is None:
        found = Traced(x.tracer, x.c.reshape(-1, x.c.shape[-1])[where])
        return found.reshape((1,) * x.ndim) if keepdims else found
    found = _along(x, np.expand_dims(where, axis), axis)
    return found if keepdims else np.squeeze(found, axis=axis)  # type: ignore[call-overload]


def _argpartition(x: Any, kth: int, axis: int | None = -1, kind: Any = None, order: Any = None) -> Any:
    """Return the elements below the kth, the kth, and those above it, each by index."""
    c, lanes, _ = _lanes(x, axis)
    found = []
    for rows in lanes:
        aside = Tracer(x.tracer.bounds[0], *(x.tracer.bounds[0],) * 2)
        pivot = int(_order(rows, aside)[kth])
        signs = _kernels().split(rows, pivot, x.tracer.bounds)
        place = np.arange(len(rows))
        groups = np.where((signs < 0.0) | ((signs == 0.0) & (place < pivot)), 0, 2)
        groups[pivot] = 1
        found.append(np.argsort(groups, kind="stable"))
    return np.moveaxis(np.array(found).reshape(c.shape[:-1]), -1, axis or 0)


def _partition(x: Any, kth: int, axis: int | None = -1, **_: Any) -> Traced:
    return _along(x, _argpartition(x, kth, axis), axis)


def _searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    a = a if sorter is None else a[sorter]
    column = v[..., None] if np.ndim(v) else v
    before = np.less(a, column) if side == "left" else np.less_equal(a, column)
    return np.sum(before, axis=-1)


# -- functions that move or add elements -----------------------------------------------------------------


def _each(function: Any, linear: bool, x: Any, *args: Any, **options: Any) -> Any:
    """Apply a function of one array to each coefficient."""
    if isinstance(x, list | tuple):  # concatenate, stack
        tracer, parts = _unify(*x)
        columns = [function([p[..., i] for p in parts], *args, **options) for i in range(parts[0].shape[-1])]
        return Traced(tracer, np.stack(columns, axis=-1))
    if linear and not x.affine:
        raise TracingError(f"a sum of powers of rho is neither affine nor a power. {_HELP}")
    columns = [function(x.c[..., i], *args, **options) for i in range(x.c.shape[-1])]
    return Traced(x.tracer, np.stack(columns, axis=-1))


def _bilinear(function: Any, x: Any, y: Any, **options: Any) -> Any:
    """Apply a product of two arrays, of which one is plain."""
    x, y = plain(x), plain(y)
    if isinstance(x, Traced) and isinstance(y, Traced):
        raise TracingError(f"a product of two values that depend on rho is not affine. {_HELP}")
    if isinstance(x, Traced):
        return _each(lambda c: function(c, y, **options), True, x)
    if isinstance(y, Traced):
        return _each(lambda c: function(x, c, **options), True, y)
    return function(x, y, **options)


_UFUNCS: dict[str, Callable[..., Any]] = {
    "add": _add, "subtract": _subtract, "multiply": _multiply, "divide": _divide, "true_divide": _divide,
    "negative": lambda x: _scale(x, np.asarray(-1.0), np.multiply), "positive": lambda x: x.copy(),
    "power": _power, "float_power": _power, "sqrt": lambda x: _power(x, 0.5),
    "square": lambda x: _power(x, 2.0), "exp": _exp, "log": _log,
    "log2": lambda x: _log(x, float(np.log(2.0))), "log10": lambda x: _log(x, float(np.log(10.0))),
    "exp2": lambda x: _power(2.0, x),
    "less": _relation(np.less), "less_equal": _relation(np.less_equal), "greater": _relation(np.greater),
    "greater_equal": _relation(np.greater_equal), "equal": _relation(np.equal),
    "not_equal": _relation(np.not_equal), "minimum": _minimum, "maximum": _maximum, "fmin": _minimum,
    "fmax": _maximum, "clip": _clip, "absolute": lambda x: _select(_compare(x, 0.0) < 0.0, -x, x),
    "fabs": lambda x: _select(_compare(x, 0.0) < 0.0, -x, x), "sign": lambda x: _compare(x, 0.0),
    "floor": _floor, "ceil": lambda x: -_floor(-x), "trunc": _trunc, "rint": _round,
    "floor_divide": _floor_divide, "remainder": _remainder,
    "matmul": partial(_bilinear, np.matmul),
    "isnan": lambda x: np.isnan(x.c).any(-1), "isfinite": lambda x: np.isfinite(x.c).all(-1),
}  # fmt: skip
_REDUCTIONS = {"add": "sum", "minimum": "min", "maximum": "max"}
_METHODS = (
    "sum mean min max argmin argmax argsort argpartition clip cumsum dot round ravel transpose squeeze take "
    "repeat searchsorted"
).split()

_FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.argsort: _argsort, np.sort: _sort, np.argmin: partial(_extreme, -1.0),
    np.argmax: partial(_extreme, 1.0), np.min: partial(_extremum, -1.0), np.max: partial(_extremum, 1.0),
    np.amin: partial(_extremum, -1.0), np.amax: partial(_extremum, 1.0), np.where: _select, np.clip: _clip,
    np.round: _round, np.partition: _partition, np.argpartition: _argpartition,
    np.searchsorted: _searchsorted, np.copy: lambda x, *_, **__: x.copy(), np.shape: lambda x: x.shape,
    np.ndim: lambda x: x.ndim, np.size: lambda x: x.size, np.zeros_like: lambda x, *_, **__: x * 0.0,
}  # fmt: skip
for _f in (np.concatenate, np.stack, np.vstack, np.hstack, np.column_stack, np.reshape, np.ravel, np.transpose,
           np.squeeze, np.expand_dims, np.take, np.repeat, np.tile, np.flip, np.roll, np.broadcast_to,
           np.swapaxes, np.moveaxis, np.take_along_axis, np.atleast_1d):  # fmt: skip
    _FUNCTIONS[_f] = partial(_each, _f, False)
for _f in (np.sum, np.mean, np.cumsum, np.diff, np.trace, np.average):
    _FUNCTIONS[_f] = partial(_each, _f, True)
for _f in (np.dot, np.inner, np.outer, np.tensordot, np.vdot, np.kron):
    _FUNCTIONS[_f] = partial(_bilinear, _f)
