"""Traced values: numbers and arrays that depend on ρ, and record on which interval decisions are the same.

`Traced` behaves like a float or an array by Python's operators and numpy's protocols. Each element is a line
a + bρ or a power k·(p/q)^ρ·exp(a + bρ). Comparisons, and all that rests on them, return plain values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from semibandit.families.tracing import _kernels
from semibandit.families.tracing.errors import TracingError
from semibandit.families.tracing.protocols import FUNCTIONS, HELP, UFUNCS, call, call_ufunc, require_float

__all__ = ["Traced", "Tracer", "compare", "fixed", "number", "plain", "stacked", "unify"]

_KEPT = "a value of another run was kept, such as in a global variable or a cache"
ONE = (1.0, 1.0, 1.0, 0.0, 0.0)
"""Coefficients of the power 1."""
_METHODS = {
    "sum", "mean", "min", "max", "argmin", "argmax", "argsort", "argpartition", "clip", "cumsum", "dot",
    "round", "ravel", "transpose", "squeeze", "take", "repeat", "searchsorted", "any", "all", "nonzero",
    "swapaxes", "diagonal", "trace",
}  # fmt: skip


class Tracer:
    """One run: ρ, and the interval [lo, hi) on which all decisions so far are the same."""

    def __init__(self, rho: float, lo: float, hi: float) -> None:
        self.rho = rho
        self.bounds = np.array([rho, lo, hi])

    def close(self) -> tuple[float, float]:
        """Return the ends of the interval; later comparisons raise an error."""
        _, lo, hi = self.bounds.tolist()
        del self.bounds
        return lo, hi

    def __getattr__(self, name: str) -> Any:
        if name == "bounds":
            raise TracingError(_KEPT)
        raise AttributeError(name)

    def variable(self) -> Traced:
        """Return ρ as a traced number."""
        return Traced(self, (0.0, 1.0), ())


class Traced:
    """A number or an array that depends on ρ.

    Parameters
    ----------
    tracer
        The run that the value belongs to.
    parts
        Coefficients: two of a line, five of a power. A tuple of numbers and arrays that broadcast to the
        shape, none of which ever changes; or one array, in which elements can be stored, also by views.
    shape
        Shape of the array.
    """

    __slots__ = ("affine", "parts", "shape", "tracer")
    __array_priority__ = 1000.0
    __pandas_priority__ = 5000  # data frames leave operators to this class, which refuses them
    dtype = np.dtype(float)

    def __init__(self, tracer: Tracer, parts: Any, shape: tuple[int, ...]) -> None:
        self.tracer, self.parts, self.shape = tracer, parts, shape
        self.affine = len(parts) == 2  # lines, not powers

    # -- arrays --------------------------------------------------------------------------------------

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def T(self) -> Any:  # noqa: N802 - numpy's name
        """The transposed array."""
        return FUNCTIONS[np.transpose](self)

    def terms(self) -> tuple[Any, ...]:
        """Return the coefficients as numbers and arrays that never change."""
        if type(self.parts) is tuple:
            return self.parts
        return tuple(self.parts.copy("K"))

    def full(self) -> Any:
        """Return the coefficients as one array, the first axis of which numbers the coefficients."""
        if type(self.parts) is tuple:
            full = room(self.parts, self.shape)
            if self.affine:
                full[0], full[1] = self.parts
            else:
                full[0], full[1], full[2], full[3], full[4] = self.parts
            self.parts = full
        return self.parts

    def columns(self) -> Any:
        """Return the coefficients for the kernels: a column for each element."""
        if type(self.parts) is tuple and len(self.shape) == 1:
            return self.full()
        full = self.full()
        return full if full.ndim == 2 and full.flags.c_contiguous else full.reshape(len(full), -1)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a traced number has no length")
        return self.shape[0]

    def __iter__(self) -> Iterator[Traced]:
        return map(self.__getitem__, range(len(self)))

    def __getitem__(self, index: Any) -> Traced:
        full = self.full()
        if not isinstance(index, tuple):
            found = full[:, index]
        elif any(isinstance(each, list | np.ndarray) for each in index):
            found = np.array([part[index] for part in full])
        else:
            found = full[(slice(None), *index)]
        if found.ndim == 1:  # a number is no view of the array
            return Traced(self.tracer, tuple(found.tolist()), ())
        return Traced(self.tracer, found, found.shape[1:])

    def __setitem__(self, index: Any, value: Any) -> None:
        mine, other = unify(self, value)
        if mine.affine != self.affine:
            raise TracingError(f"a line and a power of rho cannot be stored in one array: {HELP}")
        for part, new in zip(self.full(), other.terms(), strict=True):
            part[index] = new

    def assign(self, value: Any) -> Traced:
        """Replace all elements, also those that views show; a number is replaced by another object."""
        if not self.shape:
            return value  # type: ignore[no-any-return]
        same = isinstance(value, Traced) and value.shape == self.shape and value.affine == self.affine
        if same and type(self.parts) is tuple:
            self.parts = value.terms()
        else:
            self[...] = value
        return self

    def copy(self) -> Traced:
        """Return a copy."""
        return Traced(self.tracer, self.full().copy("K"), self.shape)

    def astype(self, dtype: Any, **_: Any) -> Traced:
        """Return a copy; the only type is float."""
        require_float(dtype)
        return self.copy()

    def in_order_of(self, other: Traced) -> Traced:
        """Return the same values in the memory order of an array of the same shape."""
        if len(self.shape) < 2 or self.shape != other.shape:
            return self
        full = room(tuple(other.full()), self.shape)
        full[...] = self.full()
        return Traced(self.tracer, full, self.shape)

    def tolist(self) -> Any:
        """Return nested lists of traced numbers."""
        return [x.tolist() for x in self] if self.shape else self

    def item(self, *index: Any) -> Any:
        """Return one element."""
        return self.reshape(-1)[index[0]] if index else self.reshape(())

    def reshape(self, *shape: Any) -> Any:
        """Return the values in another shape."""
        return FUNCTIONS[np.reshape](self, shape[0] if len(shape) == 1 else shape)

    def flatten(self) -> Any:
        """Return a copy with one axis."""
        return self.copy().reshape(-1)

    def sort(self, axis: int = -1, **_: Any) -> None:
        """Sort in place."""
        self[...] = FUNCTIONS[np.sort](self, axis=axis)

    def __getattr__(self, name: str) -> Any:
        if name in _METHODS:
            return partial(call, getattr(np, name), self)
        if name.startswith("_"):
            raise AttributeError(name)
        raise TracingError(f"the attribute {name!r} of a value that depends on rho is not traced: {HELP}")

    # -- plain values --------------------------------------------------------------------------------

    def __bool__(self) -> bool:
        if self.size != 1:
            raise ValueError("the truth value of an array with several elements is ambiguous")
        return bool(compare(self, 0.0).reshape(()) != 0.0)

    def __int__(self) -> int:
        return int(UFUNCS[np.trunc](self))

    __trunc__ = __int__

    def __floor__(self) -> int:
        return int(UFUNCS[np.floor](self))

    def __ceil__(self) -> int:
        return int(UFUNCS[np.ceil](self))

    def __round__(self, digits: int | None = None) -> Any:
        rounded = float(FUNCTIONS[np.round](self, digits or 0))
        return int(rounded) if digits is None else rounded

    def __float__(self) -> float:
        found = plain(self)
        if isinstance(found, Traced):
            raise TracingError(
                "a value that depends on rho is used as a plain float: use numpy's functions instead of "
                "math's, and to store it in an array, make this one traced by `array = array + 0 * rho`"
            )
        return float(found)

    def __array__(self, *args: Any, **options: Any) -> Any:
        found = plain(self)
        if isinstance(found, Traced):
            raise TracingError(
                "a plain array cannot hold values that depend on rho: use np.stack, np.concatenate or "
                "np.where, or make the array traced by `array = array + 0 * rho`"
            )
        return np.array(found, *args, **options)

    def __hash__(self) -> int:
        raise TracingError("a value that depends on rho cannot be in a set or the key of a dict or a cache")

    def __format__(self, spec: str) -> str:
        raise TracingError(
            "the text of a value that depends on rho is not traced: use repr(x), or round(x, 3)"
        )

    def __str__(self) -> str:
        return self.__format__("")

    def __reduce__(self) -> Any:
        raise TracingError("a value that depends on rho lives during its run only: it cannot be pickled")

    def __deepcopy__(self, memo: Any) -> Traced:
        return self.copy()

    __copy__ = copy

    def __repr__(self) -> str:
        kind = "line" if self.affine else "power"
        return f"<traced {kind} of shape {self.shape} at rho = {self.tracer.rho!r}>"

    def __matmul__(self, other: Any) -> Any:
        return UFUNCS[np.matmul](self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return UFUNCS[np.matmul](other, self)

    def __divmod__(self, other: Any) -> Any:
        return UFUNCS[np.floor_divide](self, other), UFUNCS[np.remainder](self, other)

    def __rdivmod__(self, other: Any) -> Any:
        return UFUNCS[np.floor_divide](other, self), UFUNCS[np.remainder](other, self)

    # -- numpy's protocols ---------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **options: Any) -> Any:
        return call_ufunc(ufunc, method, inputs, out, options)

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        if len(args) == 1 and not options and (rule := FUNCTIONS.get(function)) is not None:
            return rule(*args)
        return call(function, *args, **options)


def room(parts: Any, shape: tuple[int, ...]) -> Any:
    """Return an empty array for coefficients, in the memory order that numpy gives the plain array.

    That decides whether `reshape` and `ravel` return views.
    """
    arrays = [p for p in parts if type(p) is np.ndarray and p.shape == shape] if len(shape) > 1 else ()
    if not arrays or any(array.flags.c_contiguous for array in arrays):
        return np.empty((len(parts), *shape))
    axes = np.argsort([-abs(stride) for stride in arrays[0].strides], kind="stable")
    full = np.empty((len(parts), *(shape[axis] for axis in axes)))
    return full.transpose(0, *(1 + np.argsort(axes)))


def stacked(tracer: Tracer, parts: Any) -> Traced:
    """Return traced values with copies of the coefficients."""
    full = room(parts, parts[0].shape)
    full[...] = parts
    return Traced(tracer, full, parts[0].shape)


def plain(value: Any) -> Any:
    """Return the plain number or array of a value that does not depend on ρ; others as they are."""
    if not isinstance(value, Traced):
        return value
    if value.affine:
        a, b = value.parts
        if b if type(b) is float else np.any(b):
            return value
        return np.broadcast_to(a, value.shape).copy()[()]
    k, p, q, a, b = value.parts
    if np.any(np.not_equal(k, 0.0) & (np.not_equal(b, 0.0) | np.not_equal(p, q))):
        return value
    return np.broadcast_to(k * np.exp(a), value.shape).copy()[()]


def number(value: Any) -> Any:
    """Return a plain operand as a float or an array of floats, which may be the user's: see `fixed`."""
    if type(value) is float or (type(value) is np.ndarray and value.dtype is _FLOAT):
        return value
    if type(value) is int:
        return float(value)
    if isinstance(value, _WITH_RULES) or not isinstance(value, _PLAIN):
        raise TracingError(
            f"a value that depends on rho meets {_shown(value)}: only real numbers and numpy's plain arrays "
            f"are traced; for pandas use x.to_numpy()"
        )
    array = np.asarray(value)
    if array.dtype.kind not in "fiub":
        raise TracingError(f"a value that depends on rho meets {_shown(value)}: only real numbers are traced")
    return array.astype(float) if array.ndim else float(array)


def fixed(value: Any) -> Any:
    """Return coefficients that do not change with the user's array."""
    return value.copy() if type(value) is np.ndarray else value


_FLOAT = np.dtype(float)
_PLAIN = (np.ndarray, np.generic, bool, int, list, tuple)
_WITH_RULES = (np.ma.MaskedArray, np.matrix)


def _shown(value: Any) -> str:
    return f"{str(value)[:40]!r} of type {type(value).__name__}"


def shape_of(value: Any) -> Any:
    """Return the shape of a number or an array."""
    return () if type(value) is float else value.shape


def unify(*values: Any) -> list[Traced]:
    """Return values as traced ones of the same kind; plain ones are constants."""
    traced = [value for value in values if isinstance(value, Traced)]
    tracer, affine = traced[0].tracer, traced[0].affine
    for value in traced:
        if value.tracer is not tracer:
            raise TracingError(_KEPT)
    if any(value.affine != affine for value in traced):
        values = tuple(plain(value) for value in values)
        kinds = {value.affine for value in values if isinstance(value, Traced)}
        if len(kinds) > 1:
            raise TracingError(f"a line and a power of rho meet: {HELP}")
        affine = kinds.pop() if kinds else True
    return [value if isinstance(value, Traced) else _constant(tracer, affine, value) for value in values]


def _constant(tracer: Tracer, affine: bool, value: Any) -> Traced:
    value = number(value)
    return Traced(tracer, (value, 0.0) if affine else (value, *ONE[1:]), shape_of(value))


def common_shape(x: Any, y: Any) -> tuple[int, ...]:
    """Return the shape of the result of two operands."""
    if not y or x == y:
        return x  # type: ignore[no-any-return]
    return np.broadcast_shapes(x, y) if x else y


def paired(x: Any, y: Any) -> tuple[Traced, Traced]:
    """Return two operands of the same kind and shape."""
    x, y = unify(x, y)
    if x.shape == y.shape:
        return x, y
    shape = common_shape(x.shape, y.shape)
    return Traced(x.tracer, x.terms(), shape), Traced(y.tracer, y.terms(), shape)


def compare(x: Any, y: Any) -> Any:
    """Return the signs of x - y just right of ρ, and narrow the interval to where they are the same."""
    x, y = paired(x, y)
    parts = (*x.parts, *y.parts) if len(x.shape) > 1 else ()
    found = decide(_kernels.signs, x.columns(), y.columns(), x.tracer.bounds).reshape(x.shape)
    if len(x.shape) < 2:
        return found
    ordered = room(parts, x.shape)[0]
    ordered[...] = found
    return ordered


def compare_at(x: Any, y: Any) -> Any:
    """Return the signs of x - y just right of ρ; the interval stays as it is."""
    x, y = paired(x, y)
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


def joined(parts: Sequence[Any], function: Callable[..., Any], *args: Any, **options: Any) -> Traced:
    """Return traced values after a function that joins arrays."""
    values = unify(*parts)
    columns = [value.full() for value in values]
    found = [function([each[i] for each in columns], *args, **options) for i in range(len(columns[0]))]
    return stacked(values[0].tracer, found)
