"""numpy's functions on traced values: orders, sums, and those that move elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from semibandit.families.tracing import _kernels
from semibandit.families.tracing.decisions import compare, decide, select
from semibandit.families.tracing.errors import TracingError
from semibandit.families.tracing.operands import number
from semibandit.families.tracing.protocols import FUNCTIONS, HELP, UFUNCS, refuse
from semibandit.families.tracing.values import ONE, Traced, plain, stacked, unify

__all__: list[str] = []

# -- orders ------------------------------------------------------------------------------------------


def _exact_order(c: Any, rho: float) -> tuple[Any, Any]:
    """Return the lines of functions, and their stable ascending order just right of ρ."""
    lines, keys, mixed = decide(_kernels.keys, c, rho)
    order = np.lexsort((keys, lines[:, 2])) if mixed else np.argsort(keys, kind="stable")
    _kernels.arrange(c, lines, order, rho)
    return lines, order


def _sorted(c: Any, tracer: Any) -> Any:
    lines, order = _exact_order(c, tracer.rho)
    _kernels.keep_order(c, lines, order, tracer.bounds)
    return order


def _parted(c: Any, tracer: Any, kth: Any) -> Any:
    """Return the positions below each kth smallest function, it, and those above, by index in between."""
    lines, order = _exact_order(c, tracer.rho)
    cuts = sorted({range(order.size)[k] for k in np.atleast_1d(kth).tolist()})
    groups, start = [], 0
    for cut in cuts:
        _kernels.keep_sides(c, lines, order[cut], tracer.bounds)
        groups += [np.sort(order[start:cut]), order[cut : cut + 1]]
        start = cut + 1
    return np.concatenate((*groups, np.sort(order[start:])))


def _by_lane(x: Any, axis: int | None, rule: Callable[..., Any], *args: Any) -> Any:
    """Return the positions that a rule finds in each lane along the axis."""
    if axis is None or len(x.shape) == 1:
        return rule(x.columns(), x.tracer, *args)
    moved = np.moveaxis(x.full(), range(1, x.ndim + 1)[axis], -1)
    lanes = moved.reshape(len(moved), -1, moved.shape[-1])
    found = [rule(np.ascontiguousarray(lanes[:, i]), x.tracer, *args) for i in range(lanes.shape[1])]
    return np.moveaxis(np.array(found, dtype=np.int64).reshape(moved.shape[1:]), -1, axis)


def _at(x: Any, positions: Any, axis: int | None) -> Any:
    """Return the elements at positions along the axis."""
    if axis is None:
        return _moved(np.ravel)(x)[positions]
    return _moved(np.take_along_axis)(x, positions, axis)


def _argsort(x: Any, axis: int | None = -1, kind: Any = None, order: None = None, stable: Any = None) -> Any:
    return _by_lane(x, axis, _sorted)


def _sort(x: Any, axis: int | None = -1, kind: Any = None, order: None = None, stable: Any = None) -> Any:
    return _at(x, _argsort(x, axis), axis).in_order_of(x)


def _argpartition(x: Any, kth: Any, axis: int | None = -1, kind: Any = None, order: None = None) -> Any:
    return _by_lane(x, axis, _parted, kth)


def _partition(x: Any, kth: Any, axis: int | None = -1, kind: Any = None, order: None = None) -> Any:
    return _at(x, _argpartition(x, kth, axis), axis).in_order_of(x)


def _lexsort(keys: Any, axis: int = -1) -> Any:
    keys = [key if isinstance(key, Traced) else np.asarray(key) for key in keys]
    if any(key.ndim != 1 for key in keys):
        raise TracingError("np.lexsort of values that depend on rho takes keys of one axis")
    order = np.arange(len(keys[0]))
    for key in keys:
        order = order[np.argsort(key[order], kind="stable")]
    return order


def _positions(direction: float, x: Any, axis: Any = None, keepdims: Any = False) -> Any:
    """Return the first largest (direction = 1) or smallest (-1) elements along the axis."""
    c = x.columns()
    if not c.size:
        raise ValueError("there is no smallest or largest element of an empty array")
    if axis is None or len(x.shape) <= 1:
        found = decide(_kernels.extremes, c, c.shape[1], direction, x.tracer.bounds)
        return found.reshape((1,) * x.ndim) if keepdims else int(found[0])
    moved = np.moveaxis(x.full(), range(1, x.ndim + 1)[axis], -1)
    c, n = np.ascontiguousarray(moved).reshape(len(moved), -1), moved.shape[-1]
    found = decide(_kernels.extremes, c, n, direction, x.tracer.bounds).reshape(moved.shape[1:-1])
    return np.expand_dims(found, axis) if keepdims else found


def _extreme(direction: float, x: Any, axis: Any = None, keepdims: Any = False, **options: Any) -> Any:
    refuse("max" if direction > 0 else "min", options)
    if isinstance(axis, tuple):
        for each in axis:
            x = _extreme(direction, x, each, keepdims=True)
        return x if keepdims else _moved(np.squeeze)(x, axis=axis)
    if axis is None:
        found = x.reshape(-1)[_positions(direction, x)]
        return found.reshape((1,) * x.ndim) if keepdims else found
    found = _at(x, _positions(direction, x, axis, keepdims=True), axis)
    return found if keepdims else _moved(np.squeeze)(found, axis=axis)


def _searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    a = a if sorter is None else a[sorter]
    signs = compare(a, np.reshape(v, (*np.shape(v), 1)))
    return np.sum(signs < 0.0 if side == "left" else signs <= 0.0, axis=-1)


def _where(chosen: Any, *branches: Any) -> Any:
    return select(chosen, *branches) if branches else np.nonzero(chosen != 0.0)


def _round(x: Any, decimals: int = 0) -> Any:
    if decimals < 0:
        return UFUNCS[np.rint](x / 10.0**-decimals) * 10.0**-decimals
    return UFUNCS[np.rint](x * 10.0**decimals) / 10.0**decimals if decimals else UFUNCS[np.rint](x)


def _median(x: Any, axis: int | None = None, **options: Any) -> Any:
    refuse("median", options)
    x = _moved(np.moveaxis)(x, axis, -1) if axis is not None else x.reshape(-1)
    n = x.shape[-1]
    parts = _partition(x, [(n - 1) // 2, n // 2])
    return parts[..., n // 2] if n % 2 else 0.5 * (parts[..., n // 2 - 1] + parts[..., n // 2])


# -- sums and moves ----------------------------------------------------------------------------------


def _moved(function: Any) -> Callable[..., Any]:
    """Return a function of one array on traced values, coefficient by coefficient."""

    def apply(x: Any, *args: Any, **options: Any) -> Any:
        if isinstance(x, list | tuple):
            return _joined(x, function, *args, **options)
        if not isinstance(x, Traced):
            raise TracingError(
                f"np.{function.__name__} depends on rho by more than its array: it is not traced"
            )
        found = [function(part, *args, **options) for part in x.full()]
        if isinstance(found[0], list | tuple):  # such as np.split
            return [_arranged(x, parts) for parts in zip(*found, strict=True)]
        return _arranged(x, found)

    return apply


def _joined(parts: Sequence[Any], function: Callable[..., Any], *args: Any, **options: Any) -> Traced:
    """Return traced values after a function that joins arrays."""
    values = unify(*parts)
    columns = [value.full() for value in values]
    found = [function([each[i] for each in columns], *args, **options) for i in range(len(columns[0]))]
    return stacked(values[0].tracer, found)


def _arranged(x: Traced, parts: Any) -> Traced:
    """Return the moved elements: a view of `x` if they are views of its coefficients."""
    first, full = parts[0], x.full()
    if first.size and first.ndim and np.may_share_memory(first, full):
        strides = full.strides[0], *first.strides
        writeable = first.flags.writeable
        view = as_strided(first, (len(full), *first.shape), strides, writeable=writeable)
        return Traced(x.tracer, view, first.shape)
    return _traced(x, parts)


def _traced(x: Traced, parts: Any) -> Traced:
    return stacked(x.tracer, [np.asarray(part) for part in parts])


def _like(filled: Any, x: Any, dtype: Any = None, shape: Any = None, **_: Any) -> Any:
    """Return an array in which values that depend on ρ can be stored; of another type, a plain one."""
    shape = np.empty(x.shape if shape is None else shape).shape
    if dtype is not None and np.dtype(dtype) != np.float64:
        return np.full(shape, filled, dtype)
    if isinstance(filled, Traced):
        return np.broadcast_to(filled, shape).copy()
    return Traced(x.tracer, (number(filled), *((0.0,) if x.affine else ONE[1:])), shape)


def _append(x: Any, values: Any, axis: int | None = None) -> Any:
    return np.concatenate([np.ravel(x), np.ravel(values)] if axis is None else [x, values], axis=axis or 0)


def _linear(function: Any) -> Callable[..., Any]:
    """Return a function that is linear in each argument, for one traced argument that is a line."""

    def apply(*args: Any, **options: Any) -> Any:
        args = tuple(map(plain, args))
        traced = [i for i, each in enumerate(args) if isinstance(each, Traced)]
        if any(isinstance(each, Traced) for each in options.values()):
            raise TracingError(f"np.{function.__name__} takes a value that depends on rho by position only")
        if not traced:
            return function(*args, **options)
        if len(traced) > 1:
            raise TracingError(f"a product of two values that depend on rho is not a line: {HELP}")
        at, x = traced[0], args[traced[0]]
        if not x.affine:
            raise TracingError(f"a sum of powers of rho is neither a line nor a power: {HELP}")
        return _traced(x, [function(*args[:at], part, *args[at + 1 :], **options) for part in x.full()])

    return apply


_ADDED, _DIFFERENCES = _linear(np.sum), _linear(np.diff)


def _sum(x: Any, *args: Any, initial: Any = 0.0, **options: Any) -> Any:
    found = _ADDED(x, *args, **options)
    return found if type(initial) is float and initial == 0.0 else found + initial


def _diff(x: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    ends = [end for end in (prepend, append) if end is not None]
    if ends and np.ndim(x) != 1:
        raise TracingError("np.diff with prepend or append takes values of one axis if they depend on rho")
    if ends:
        first, last = ([] if end is None else [np.atleast_1d(end)] for end in (prepend, append))
        x = np.concatenate([*first, x, *last])
    return _DIFFERENCES(x, n, axis)


def _fill_diagonal(x: Any, value: Any) -> None:
    if not isinstance(x, Traced):
        raise TracingError("a plain array cannot be changed in place to depend on rho: use np.where")
    x[np.diag_indices(min(x.shape), x.ndim)] = value


def _on_truth(function: Any) -> Callable[..., Any]:
    return lambda x, *args, **options: function(x != 0.0, *args, **options)


FUNCTIONS |= {
    np.argsort: _argsort, np.sort: _sort, np.argpartition: _argpartition, np.partition: _partition,
    np.lexsort: _lexsort, np.argmin: partial(_positions, -1.0), np.argmax: partial(_positions, 1.0),
    np.min: partial(_extreme, -1.0), np.max: partial(_extreme, 1.0), np.amin: partial(_extreme, -1.0),
    np.amax: partial(_extreme, 1.0), np.searchsorted: _searchsorted, np.where: _where,
    np.clip: UFUNCS[np.clip], np.round: _round, np.around: _round, np.median: _median,
    np.fill_diagonal: _fill_diagonal, np.copy: lambda x, *_, **__: x.copy(), np.shape: lambda x: x.shape,
    np.ndim: lambda x: x.ndim, np.size: lambda x, axis=None: x.size if axis is None else x.shape[axis],
    np.zeros_like: partial(_like, 0.0), np.ones_like: partial(_like, 1.0), np.empty_like: partial(_like, 0.0),
    np.full_like: lambda x, value, *args, **options: _like(value, x, *args, **options), np.append: _append,
    np.compress: lambda condition, x, axis=None: np.take(x, np.flatnonzero(condition), axis),
    np.sum: _sum, np.diff: _diff,
}  # fmt: skip
FUNCTIONS |= {
    f: _moved(f)
    for f in (
        np.concatenate, np.stack, np.vstack, np.hstack, np.dstack, np.column_stack, np.reshape, np.ravel,
        np.transpose, np.squeeze, np.expand_dims, np.take, np.repeat, np.tile, np.flip, np.fliplr, np.flipud,
        np.roll, np.rot90, np.broadcast_to, np.swapaxes, np.moveaxis, np.take_along_axis, np.atleast_1d,
        np.atleast_2d, np.delete, np.diagonal, np.split, np.array_split, np.rollaxis,
    )
}  # fmt: skip
FUNCTIONS |= {
    f: _linear(f)
    for f in (
        np.mean, np.cumsum, np.trace, np.dot, np.inner, np.outer, np.vdot, np.tensordot,
        np.kron, np.einsum, np.convolve, np.diag, np.tril, np.triu,
    )
}  # fmt: skip
FUNCTIONS |= {f: _on_truth(f) for f in (np.any, np.all, np.nonzero, np.flatnonzero, np.count_nonzero)}
UFUNCS[np.matmul] = _linear(np.matmul)


# -- Python's operators ------------------------------------------------------------------------------


def _reflected(rule: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda x, y: rule(y, x)


def _in_place(rule: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda x, y: x.assign(rule(x, y))


_BINARY: dict[str, Any] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.true_divide, "pow": np.power,
    "floordiv": np.floor_divide, "mod": np.remainder, "divmod": np.divmod, "matmul": np.matmul,
}  # fmt: skip
_OTHER: dict[str, Any] = {
    "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "eq": np.equal,
    "ne": np.not_equal, "neg": np.negative, "pos": np.positive, "abs": np.absolute,
}  # fmt: skip
for _name, _ufunc in (_BINARY | _OTHER).items():
    setattr(Traced, f"__{_name}__", UFUNCS[_ufunc])
for _name, _ufunc in _BINARY.items():
    setattr(Traced, f"__r{_name}__", _reflected(UFUNCS[_ufunc]))
    setattr(Traced, f"__i{_name}__", _in_place(UFUNCS[_ufunc]))
