"""Traced values: numbers and arrays that depend on ρ, and record on which interval decisions are the same.

`Traced` behaves like a float or an array by Python's operators and numpy's protocols. Each element is a line
a + bρ or a power k·(p/q)^ρ·exp(a + bρ). The rules are in `arithmetic`, `decisions` and `functions`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from semibandit.families.tracing.conversions import Conversions
from semibandit.families.tracing.errors import TracingError
from semibandit.families.tracing.operands import number, room, shape_of
from semibandit.families.tracing.protocols import FUNCTIONS, HELP, UFUNCS, call, call_ufunc, require_float

__all__ = ["ONE", "Traced", "Tracer", "plain", "stacked", "unify"]

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


class Traced(Conversions):
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
            n, shape = len(self.parts), self.shape
            full = np.empty((n, *shape)) if len(shape) < 2 else room(self.parts, shape)
            for i, part in enumerate(self.parts):
                full[i] = part
            self.parts = full
        return self.parts

    def columns(self) -> Any:
        """Return the coefficients for the kernels: a column for each element."""
        if type(self.parts) is tuple and len(self.shape) == 1:
            return self.full()
        full = self.full()
        return full if full.ndim == 2 and full.flags.c_contiguous else full.reshape(len(full), -1)

    def plain(self) -> Any:
        """Return the plain number or array if the value does not depend on ρ, else the value itself."""
        if self.affine:
            a, b = self.parts
            if b if type(b) is float else np.any(b):
                return self
            return np.broadcast_to(a, self.shape).copy()[()]
        k, p, q, a, b = self.parts
        if np.any(np.not_equal(k, 0.0) & (np.not_equal(b, 0.0) | np.not_equal(p, q))):
            return self
        return np.broadcast_to(k * np.exp(a), self.shape).copy()[()]

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

    def __deepcopy__(self, memo: Any) -> Traced:
        return self.copy()

    __copy__ = copy

    def __repr__(self) -> str:
        kind = "line" if self.affine else "power"
        return f"<traced {kind} of shape {self.shape} at rho = {self.tracer.rho!r}>"

    # -- numpy's protocols ---------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **options: Any) -> Any:
        if method == "__call__" and out is None and not options and (rule := UFUNCS.get(ufunc)) is not None:
            return rule(*inputs)
        return call_ufunc(ufunc, method, inputs, out, options)

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        if len(args) == 1 and not options and (rule := FUNCTIONS.get(function)) is not None:
            return rule(*args)
        return call(function, *args, **options)


def stacked(tracer: Tracer, parts: Any) -> Traced:
    """Return traced values with copies of the coefficients."""
    full = room(parts, parts[0].shape)
    full[...] = parts
    return Traced(tracer, full, parts[0].shape)


def plain(value: Any) -> Any:
    """Return the plain number or array of a value that does not depend on ρ; others as they are."""
    return value.plain() if isinstance(value, Traced) else value


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
