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
    out_edges, out_values = sweep(steps, order_of(edges), sizes.size, unit)
    if 2 * out_edges.size < edges.size:  # release unused memory
        return out_edges.copy(), out_values.copy()
    return out_edges, out_values


def order_of(edges: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Return the order that sorts the edges.

    Sorting integers that contain a coarse position and the index is several times faster than argsort. One
    pass of insertions corrects the order; if that takes too long, argsort is used.
    """
    index_bits = max(int(edges.size - 1).bit_length(), 1)
    keys = np.empty(edges.size, np.int64)
    pack(edges, index_bits, keys)
    keys.sort()
    return keys if settle(edges, keys, index_bits) else np.argsort(edges, kind="stable")


@kernel
def pack(edges: Any, index_bits: int, keys: Any) -> None:
    """keys[i] = (coarse position of edges[i], i)."""
    low = high = edges[0]
    for edge in edges:  # np.min takes a second to compile
        low, high = min(low, edge), max(high, edge)
    half = 0.5 * high - 0.5 * low
    steps = 2.0 ** (62 - index_bits) / half if half > 1e-280 else 0.0  # narrower: as if all in one place
    for i in range(edges.size):
        keys[i] = (np.int64((0.5 * edges[i] - 0.5 * low) * steps) << index_bits) | i


@kernel
def settle(edges: Any, keys: Any, index_bits: int) -> bool:
    """Turn sorted keys into exactly sorted indices, in place; False if that takes too long."""
    mask = (1 << index_bits) - 1
    patience = 8 * edges.size
    previous = -1
    for i in range(keys.size):
        place = keys[i] >> index_bits
        index = keys[i] & mask
        j = i
        if place == previous:
            edge = edges[index]
            while j > 0 and edges[keys[j - 1]] > edge:
                keys[j] = keys[j - 1]
                j -= 1
                patience -= 1
                if patience < 0:
                    return False
        keys[j] = index
        previous = place
    return True


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
