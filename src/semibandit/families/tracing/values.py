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

__all__ = ["FUNCTIONS", "UFUNCS", "Traced", "Tracer", "compare", "plain", "unify"]

UFUNCS: dict[Any, Callable[..., Any]] = {}
"""numpy's universal functions on traced values; `operations` fills both tables."""
FUNCTIONS: dict[Any, Callable[..., Any]] = {}
"""numpy's other functions on traced values."""

HELP = "take logarithms, multiply out, or use sb.BlackBox"
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

    @property
    def interval(self) -> tuple[float, float]:
        """Ends of the interval."""
        return float(self.bounds[1]), float(self.bounds[2])

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
        Coefficients, each a number or an array that broadcasts to the shape: two of a line, five of a power.
    shape
        Shape of the array.
    """

    __slots__ = ("affine", "parts", "shape", "tracer")
    __array_priority__ = 1000.0
    __hash__ = None  # type: ignore[assignment]
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

    def full(self) -> Any:
        """Return the coefficients as one array, the first axis of which numbers the coefficients."""
        if type(self.parts) is tuple:
            full = np.empty((len(self.parts), *self.shape))
            for i, part in enumerate(self.parts):
                full[i] = part
            self.parts = full
        return self.parts

    def columns(self) -> Any:
        """Return the coefficients for the kernels: a column for each element."""
        full = self.full()
        return full if full.ndim == 2 and full.flags.c_contiguous else full.reshape(len(full), -1)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a traced number has no length")
        return self.shape[0]

    def __iter__(self) -> Iterator[Traced]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index: Any) -> Traced:
        full = self.full()
        if not isinstance(index, tuple):
            found = full[:, index]
        elif any(isinstance(each, list | np.ndarray) for each in index):
            found = np.array([part[index] for part in full])
        else:
            found = full[(slice(None), *index)]
        return Traced(self.tracer, found, found.shape[1:])

    def __setitem__(self, index: Any, value: Any) -> None:
        mine, other = unify(self, value)
        if mine.affine != self.affine:
            raise TracingError(f"a line and a power of rho cannot be stored in one array: {HELP}")
        for part, new in zip(self.full(), other.parts, strict=True):
            part[index] = new

    def copy(self) -> Traced:
        """Return a copy."""
        return Traced(self.tracer, self.full().copy(), self.shape)

    def astype(self, dtype: Any, **_: Any) -> Traced:
        """Return a copy; the only type is float."""
        if np.dtype(dtype).kind != "f":
            raise TracingError(f"a value that depends on rho cannot become {dtype}: use np.floor or np.round")
        return self.copy()

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
            return partial(FUNCTIONS[getattr(np, name)], self)
        if name.startswith("__"):
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

    # -- numpy's protocols ---------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **options: Any) -> Any:
        rule = UFUNCS.get(ufunc) if method == "__call__" and not options else None
        if rule is not None and out is None:
            return rule(*inputs)
        if method == "reduce":
            rule, options = _REDUCTIONS.get(ufunc), {"axis": 0} | options
        if rule is None:
            name = ufunc.__name__ + ("" if method == "__call__" else f".{method}")
            raise TracingError(f"np.{name} of a value that depends on rho is not traced: {HELP}")
        result = rule(*inputs, **options)
        if out is None:
            return result
        if not isinstance(out[0], Traced):
            raise TracingError(
                "a plain array cannot be changed in place to depend on rho: write x = x + y for x += y"
            )
        out[0][...] = result
        return out[0]

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        rule = FUNCTIONS.get(function)
        if rule is None:
            raise TracingError(f"np.{function.__name__} of a value that depends on rho is not traced: {HELP}")
        return rule(*args, **options)


_REDUCTIONS: dict[Any, Any] = {
    np.add: lambda x, **options: FUNCTIONS[np.sum](x, **options),
    np.minimum: lambda x, **options: FUNCTIONS[np.min](x, **options),
    np.maximum: lambda x, **options: FUNCTIONS[np.max](x, **options),
}


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
    if np.any(b) or np.any(np.not_equal(p, q)):
        return value
    return np.broadcast_to(k * np.exp(a), value.shape).copy()[()]


def number(value: Any) -> Any:
    """Return a plain operand: a number or an array of real numbers."""
    if type(value) is float or type(value) is int:
        return value
    array = value if isinstance(value, np.ndarray | np.generic) else np.asarray(value)
    if array.dtype.kind not in "fiub":
        raise TracingError(f"a value that depends on rho meets {value!r}: only real numbers are traced")
    return array


def shape_of(value: Any) -> Any:
    """Return the shape of a number or an array."""
    return getattr(value, "shape", ())


def unify(*values: Any) -> list[Traced]:
    """Return values as traced ones of the same kind; plain ones are constants."""
    traced = [value for value in values if isinstance(value, Traced)]
    tracer, affine = traced[0].tracer, traced[0].affine
    for value in traced:
        if value.tracer is not tracer:
            raise TracingError("a value of another run was kept, such as in a global variable or a cache")
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
    return Traced(x.tracer, tuple(x.parts), shape), Traced(y.tracer, tuple(y.parts), shape)


def compare(x: Any, y: Any) -> Any:
    """Return the signs of x - y just right of ρ, and narrow the interval to where they are the same."""
    x, y = paired(x, y)
    return decide(_kernels.signs, x.columns(), y.columns(), x.tracer.bounds).reshape(x.shape)


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
            "a comparison of values with nan, an infinite slope, or a power beyond the range of floats: "
            "leave infinities out, or put them in after the values were computed"
        ) from None


def joined(parts: Sequence[Any], function: Callable[..., Any], *args: Any, **options: Any) -> Traced:
    """Return traced values after a function that joins arrays."""
    values = unify(*parts)
    columns = [value.full() for value in values]
    found = np.array(
        [function([each[i] for each in columns], *args, **options) for i in range(len(columns[0]))]
    )
    return Traced(values[0].tracer, found, found.shape[1:])
