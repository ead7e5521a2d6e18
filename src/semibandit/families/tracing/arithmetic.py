"""Arithmetic of traced values: lines stay lines, powers stay powers, and all else raises an error."""

from __future__ import annotations

from typing import Any

import numpy as np

from semibandit.families.tracing.errors import TracingError
from semibandit.families.tracing.operands import common_shape, fixed, number, shape_of
from semibandit.families.tracing.protocols import HELP, UFUNCS
from semibandit.families.tracing.values import Traced, plain, unify

__all__: list[str] = []


def _times(u: Any, v: Any) -> Any:
    """Return u·v; factors of exactly 1.0 and a scalar 0.0 cost nothing."""
    if type(u) is float:
        if u == 1.0:
            return fixed(v)
        if u == 0.0:
            return u
    if type(v) is float and v == 1.0:
        return u
    return u * v


def _plus(u: Any, v: Any) -> Any:
    if type(u) is float and u == 0.0:
        return fixed(v)
    if type(v) is float and v == 0.0:
        return u
    return u + v


def _over(u: Any, v: Any) -> Any:
    return u if type(u) is float and u == 0.0 else u / v


def _of(value: Any, parts: tuple[Any, ...], shape: Any) -> Traced:
    return Traced(value.tracer, parts, shape)


def _add(x: Any, y: Any) -> Any:
    if not isinstance(x, Traced):
        x, y = y, x
    if x.affine and not isinstance(y, Traced):
        y, (a, b) = number(y), x.terms()
        return _of(x, (_plus(a, y), b), common_shape(x.shape, shape_of(y)))
    x, y = (each if isinstance(each, Traced) and each.affine else plain(each) for each in (x, y))
    if not (isinstance(x, Traced) or isinstance(y, Traced)):
        return x + y
    x, y = unify(x, y)
    if not x.affine:
        raise TracingError(f"a sum of powers of rho is neither a line nor a power: {HELP}")
    (a, b), (c, d) = x.terms(), y.terms()
    return _of(x, (_plus(a, c), _plus(b, d)), common_shape(x.shape, y.shape))


def _negative(x: Any) -> Any:
    if x.affine:
        a, b = x.terms()
        return Traced(x.tracer, (-a, -b), x.shape)
    k, p, q, a, b = x.terms()
    return Traced(x.tracer, (-k, p, q, a, b), x.shape)


def _subtract(x: Any, y: Any) -> Any:
    return _add(x, _negative(y) if isinstance(y, Traced) else -number(y))


def _multiply(x: Any, y: Any) -> Any:
    if not isinstance(x, Traced):
        x, y = y, x
    if not isinstance(y, Traced):
        y = number(y)
        shape = common_shape(x.shape, shape_of(y))
        if x.affine:
            a, b = x.terms()
            return Traced(x.tracer, (_times(a, y), _times(b, y)), shape)
        k, p, q, a, b = x.terms()
        return Traced(x.tracer, (_times(k, y), p, q, a, b), shape)
    if x.affine or y.affine:
        x, y = plain(x), plain(y)
        if isinstance(x, Traced) and isinstance(y, Traced):
            raise TracingError(f"a product of two values that depend on rho is not a line: {HELP}")
        return x * y
    x, y = unify(x, y)
    (k, p, q, a, b), (l, r, s, c, d) = x.terms(), y.terms()
    product = (_times(k, l), _times(p, r), _times(q, s), _plus(a, c), _plus(b, d))
    return _of(x, product, common_shape(x.shape, y.shape))


def _divide(x: Any, y: Any) -> Any:
    if not isinstance(y, Traced):
        y = number(y)
        shape = common_shape(x.shape, shape_of(y))
        first, *others = x.terms()
        return _of(x, (_over(first, y), *((_over(others[0], y),) if x.affine else others)), shape)
    if y.affine or (isinstance(x, Traced) and x.affine):
        x, y = plain(x), plain(y)
        if isinstance(y, Traced):
            raise TracingError(
                f"a quotient by a value that depends on rho is neither a line nor a power: {HELP}"
            )
        return x / y
    if not isinstance(x, Traced):
        x, (k, p, q, a, b) = number(x), y.terms()
        return _of(y, (_over(x, k), q, p, -a, -b), common_shape(y.shape, shape_of(x)))
    x, y = unify(x, y)
    (k, p, q, a, b), (l, r, s, c, d) = x.terms(), y.terms()
    quotient = (_over(k, l), _times(p, s), _times(q, r), _plus(a, -c), _plus(b, -d))
    return _of(x, quotient, common_shape(x.shape, y.shape))


def _power(x: Any, y: Any) -> Any:
    if isinstance(y, Traced):
        x, y = plain(x), plain(y)
        if not isinstance(y, Traced):
            return x**y
        if isinstance(x, Traced) or not y.affine:
            raise TracingError(f"a power whose base and exponent depend on rho is not traced: {HELP}")
        return _exponential(number(x), y)
    y = number(y)
    if x.affine:
        x = plain(x)
        if isinstance(x, Traced) and np.all(np.equal(y, 1)):
            return x.copy()
        if isinstance(x, Traced):
            raise TracingError(f"a power of a line in rho is not a line: {HELP}")
        return x**y
    k, p, q, a, b = x.terms()
    if np.any(np.less_equal(k, 0.0)):
        raise TracingError("a power of a value that depends on rho needs positive values: use np.abs")
    slope = _plus(b, np.log(p) - np.log(q))
    return _of(x, (k**y, 1.0, 1.0, a * y, slope * y), common_shape(x.shape, shape_of(y)))


def _exponential(base: Any, y: Traced) -> Traced:
    """Return base**y for a line y; the base is kept as it is for the exponents ρ + c and c - ρ."""
    if np.size(base) and not (base.min() if isinstance(base, np.ndarray) else base) > 0.0:
        raise TracingError("a power of rho needs a positive base: leave out what is 0 or negative")
    a, b = y.terms()
    shape, base = common_shape(shape_of(base), y.shape), fixed(base)
    if np.ndim(b) == 0 and abs(b) == 1.0:
        k = 1.0 if type(a) is float and a == 0.0 else base**a
        return _of(y, (k, base, 1.0, 0.0, 0.0) if b > 0.0 else (k, 1.0, base, 0.0, 0.0), shape)
    log = np.log(base)
    return _of(y, (1.0, 1.0, 1.0, _times(a, log), b * log), shape)


def _exp(x: Any) -> Any:
    if not x.affine:
        raise TracingError(f"the exponential of a power of rho is not traced: {HELP}")
    a, b = x.terms()
    return _of(x, (1.0, 1.0, 1.0, a, b), x.shape)


def _log(x: Any) -> Any:
    if x.affine:
        found = plain(x)
        if isinstance(found, Traced):
            raise TracingError("the logarithm of a line in rho is not a line: compare the values themselves")
        return np.log(found)
    k, p, q, a, b = x.terms()
    if np.any(np.less_equal(k, 0.0)):
        raise TracingError("the logarithm of a value that depends on rho needs positive values: use np.abs")
    return _of(x, (_plus(a, np.log(k)), _plus(b, np.log(p) - np.log(q))), x.shape)


UFUNCS |= {
    np.add: _add, np.subtract: _subtract, np.multiply: _multiply, np.true_divide: _divide,
    np.negative: _negative, np.positive: lambda x: x.copy(), np.power: _power, np.float_power: _power,
    np.sqrt: lambda x: _power(x, 0.5), np.square: lambda x: _power(x, 2.0),
    np.reciprocal: lambda x: _divide(1.0, x), np.exp: _exp, np.exp2: lambda x: _power(2.0, x), np.log: _log,
    np.log2: lambda x: _log(x) / np.log(2.0), np.log10: lambda x: _log(x) / np.log(10.0),
    np.isnan: lambda x: np.isnan(x.full()).any(0), np.isfinite: lambda x: np.isfinite(x.full()).all(0),
    np.isinf: lambda x: np.isinf(x.full()).any(0),
}  # fmt: skip
