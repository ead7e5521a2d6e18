"""Kernels that add many step functions in one sorted merge."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from semibandit._jit import kernel

# Values are added as integers: a high part in units of scale·2^-30 (scale: the power of two above the
# largest value), a low part in units of scale·2^-91.
HIGH_BITS = 30
LOW_BITS = 61
HALF_LOW = 1 << (LOW_BITS - 1)
EDGE, VALUE = 0, 1


def add_up(edges: Any, values: Any, sizes: Any) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return edges and values of the sum of functions, given end to end with their numbers of edges."""
    steps = np.empty((edges.size, 2))
    largest = close(edges, values, sizes, steps)
    exponent = math.frexp(largest)[1]
    if exponent < -900:  # 1/unit would overflow
        out_edges, out_values = add_up(edges, np.ldexp(values, 900), sizes)
        return out_edges, np.ldexp(out_values, -900)
    unit = math.ldexp(1.0, exponent - HIGH_BITS)
    out_edges, out_values = sweep(steps, np.argsort(edges), sizes.size, unit)
    if 2 * out_edges.size < edges.size:  # release unused memory
        return out_edges.copy(), out_values.copy()
    return out_edges, out_values


@kernel
def close(edges: Any, values: Any, sizes: Any, steps: Any) -> float:
    """Pair each edge with the value to its right, nan behind the last; return the largest |value|.

    Edge and value are in one cache line, as the sweep reads them in random order.
    """
    at = first = 0
    largest = 0.0
    for size in sizes:
        for i in range(size):
            value = values[first + i] if i < size - 1 else np.nan
            steps[at + i, EDGE] = edges[at + i]
            steps[at + i, VALUE] = value
            largest = max(largest, abs(value)) if value == value else largest
        at += size
        first += size - 1
    return largest


@kernel
def parts(value: float, per_unit: float) -> tuple[int, int, int]:
    """Return (high, low, seen) of a value; zeros for nan."""
    if np.isnan(value):
        return 0, 0, 0
    scaled = value * per_unit
    high = int(scaled)
    return high, int((scaled - high) * 2.0**LOW_BITS), 1


@kernel
def sweep(steps: Any, order: Any, n_functions: int, unit: float) -> Any:
    """Sweep over the edges from left to right; at each, one function changes its value."""
    out_edges = np.empty(order.size)
    out_values = np.empty(order.size)
    high = low = seen = 0
    per_unit = 1.0 / unit
    n = -1
    last = np.nan
    for index in order:
        edge = steps[index, EDGE]
        if edge != last:
            n += 1
            out_edges[n] = edge
            last = edge
        h, l, s = parts(steps[index - 1, VALUE] if index > 0 else np.nan, per_unit)
        h2, l2, s2 = parts(steps[index, VALUE], per_unit)
        high += h2 - h
        low += l2 - l
        seen += s2 - s
        # Carrying makes the two parts unique, so that equal sums are equal floats.
        carry = (low + HALF_LOW) >> LOW_BITS
        low -= carry << LOW_BITS
        high += carry
        out_values[n] = (high + low * 2.0**-LOW_BITS) * unit if seen == n_functions else np.nan
    return out_edges[: n + 1], out_values[:n]
