"""numpy's functions on traced values: orders, sums, and those that move elements."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from semibandit.families.tracing import _kernels
from semibandit.families.tracing.errors import TracingError
from semibandit.families.tracing.operations import select
from semibandit.families.tracing.values import (
    FUNCTIONS,
    HELP,
    UFUNCS,
    Traced,
    compare,
    decide,
    joined,
    plain,
)

__all__: list[str] = []

# -- orders ------------------------------------------------------------------------------------------


def _exact_order(c: Any, rho: float) -> tuple[Any, Any]:
    """Return the lines of functions, and their stable ascending order just right of ρ."""
    lines, keys, mixed = decide(_kernels.keys, c, rho)
    order = np.lexsort((keys, lines[2])) if mixed else np.argsort(keys, kind="stable")
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


def _argsort(x: Any, axis: int | None = -1, *_: Any, **__: Any) -> Any:
    return _by_lane(x, axis, _sorted)


def _sort(x: Any, axis: int | None = -1, *_: Any, **__: Any) -> Any:
    return _at(x, _argsort(x, axis), axis)


def _argpartition(x: Any, kth: Any, axis: int | None = -1, *_: Any, **__: Any) -> Any:
    return _by_lane(x, axis, _parted, kth)


def _partition(x: Any, kth: Any, axis: int | None = -1, *_: Any, **__: Any) -> Any:
    return _at(x, _argpartition(x, kth, axis), axis)


def _lexsort(keys: Any, axis: int = -1) -> Any:
    order = np.arange(np.shape(keys[0])[-1])
    for key in keys:
        order = order[np.argsort(key[order], kind="stable")]
    return order


def _positions(direction: float, x: Any, axis: Any = None, out: Any = None, keepdims: Any = False) -> Any:
    """Return the first largest (direction = 1) or smallest (-1) elements along the axis."""
    n = x.size
    if not n:
        raise ValueError("there is no smallest or largest element of an empty array")
    if axis is None or len(x.shape) <= 1:
        found = decide(_kernels.extremes, x.columns(), n, direction, x.tracer.bounds)
        return found.reshape((1,) * x.ndim) if keepdims else int(found[0])
    moved = np.moveaxis(x.full(), range(1, x.ndim + 1)[axis], -1)
    c, n = np.ascontiguousarray(moved).reshape(len(moved), -1), moved.shape[-1]
    found = decide(_kernels.extremes, c, n, direction, x.tracer.bounds).reshape(moved.shape[1:-1])
    return np.expand_dims(found, axis) if keepdims else found


def _extreme(direction: float, x: Any, axis: Any = None, out: Any = None, keepdims: Any = False) -> Any:
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


def _round(x: Any, decimals: int = 0, out: Any = None) -> Any:
    return UFUNCS[np.rint](x * 10.0**decimals) / 10.0**decimals if decimals else UFUNCS[np.rint](x)


def _median(x: Any, axis: int | None = None, **_: Any) -> Any:
    x = _moved(np.moveaxis)(x, axis, -1) if axis is not None else x.reshape(-1)
    n = x.shape[-1]
    parts = _partition(x, [(n - 1) // 2, n // 2])
    return parts[..., n // 2] if n % 2 else 0.5 * (parts[..., n // 2 - 1] + parts[..., n // 2])


# -- sums and moves ----------------------------------------------------------------------------------


def _moved(function: Any) -> Callable[..., Any]:
    """Return a function of one array on traced values, coefficient by coefficient."""

    def apply(x: Any, *args: Any, **options: Any) -> Any:
        if isinstance(x, list | tuple):
            return joined(x, function, *args, **options)
        found = [function(part, *args, **options) for part in x.full()]
        if isinstance(found[0], list | tuple):  # such as np.split
            return [_traced(x, [part[i] for part in found]) for i in range(len(found[0]))]
        return _traced(x, found)

    return apply


def _traced(x: Traced, parts: Any) -> Traced:
    full = np.array(parts)
    return Traced(x.tracer, full, full.shape[1:])


def _linear(function: Any) -> Callable[..., Any]:
    """Return a function that is linear in each argument, for one traced argument that is a line."""

    def apply(*args: Any, **options: Any) -> Any:
        args = tuple(map(plain, args))
        traced = [i for i, each in enumerate(args) if isinstance(each, Traced)]
        if not traced:
            return function(*args, **options)
        if len(traced) > 1:
            raise TracingError(f"a product of two values that depend on rho is not a line: {HELP}")
        at, x = traced[0], args[traced[0]]
        if not x.affine:
            raise TracingError(f"a sum of powers of rho is neither a line nor a power: {HELP}")
        return _traced(x, [function(*args[:at], part, *args[at + 1 :], **options) for part in x.full()])

    return apply


def _fill_diagonal(x: Traced, value: Any, wrap: bool = False) -> None:
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
    np.zeros_like: lambda x, *_, **__: np.zeros(x.shape), np.ones_like: lambda x, *_, **__: np.ones(x.shape),
    np.full_like: lambda x, value, *_, **__: np.full(x.shape, value),
    np.empty_like: lambda x, *_, **__: np.zeros(x.shape) + 0.0 * x,
}  # fmt: skip
FUNCTIONS |= {
    f: _moved(f)
    for f in (
        np.concatenate, np.stack, np.vstack, np.hstack, np.dstack, np.column_stack, np.reshape, np.ravel,
        np.transpose, np.squeeze, np.expand_dims, np.take, np.repeat, np.tile, np.flip, np.fliplr, np.flipud,
        np.roll, np.rot90, np.broadcast_to, np.swapaxes, np.moveaxis, np.take_along_axis, np.atleast_1d,
        np.atleast_2d, np.delete, np.diagonal, np.split, np.array_split, np.compress, np.rollaxis,
    )
}  # fmt: skip
FUNCTIONS |= {
    f: _linear(f)
    for f in (
        np.sum, np.mean, np.cumsum, np.diff, np.trace, np.dot, np.inner, np.outer, np.vdot, np.tensordot,
        np.kron, np.einsum, np.convolve, np.diag, np.tril, np.triu,
    )
}  # fmt: skip
UFUNCS[np.matmul] = _linear(np.matmul)
FUNCTIONS |= {f: _on_truth(f) for f in (np.any, np.all, np.nonzero, np.flatnonzero, np.count_nonzero)}
