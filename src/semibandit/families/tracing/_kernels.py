"""Comparisons of traced values, and the interval of ρ on which they come out the same.

A row holds the coefficients of one value. Two columns: the affine value a + bρ. Five columns (k, p, q, a, b):
the power k·(p/q)^ρ·exp(a + bρ), whose logarithm is affine for k > 0.

Two rows cross at c = (difference of constants) / (difference of slopes). As in the greedy order of knapsack
(`families.greedy.order`), c is correctly rounded to 43 significant bits, from differences in double-double
arithmetic. A comparison at ρ is decided by ρ >= c, never by rounded values, so that all ρ agree on c, and
lines that meet in one point swap at one double.
"""

import math
from typing import Any

import numpy as np

from semibandit import _numerics as dd
from semibandit._jit import inner, kernel
from semibandit._validate import FloatArray, IntArray
from semibandit.families.greedy.order import _log_ratio_exact, _round

# Scores that differ by more than this share of their terms have the order of their values: the share covers
# rounding errors and the rounding of crossings to 43 bits.
_CLOSE = 2.0**-40
# Differences of double-double sums below this share of their terms are zero: errors are near 2^-100.
_ZERO = 2.0**-92


@inner
def _line(row: Any) -> tuple[float, float]:
    """Return constant and slope of a row, or of the logarithm of its absolute value."""
    if row.size == 2:
        return row[0], row[1]
    constant = row[3] + (math.log(abs(row[0])) if row[0] != 0.0 else 0.0)
    slope = row[4]
    if row[1] != 1.0:
        slope += math.log(row[1])
    if row[2] != 1.0:
        slope -= math.log(row[2])
    return constant, slope


@inner
def _settled(high: float, low: float, size: float) -> tuple[float, float]:
    """Return a double-double difference, or zero if it is a rounding error of terms of this size."""
    if abs(high) <= _ZERO * size:
        return 0.0, 0.0
    return high, low


@inner
def _difference(x: Any, y: Any, scale: int) -> tuple[float, float]:
    """Return the difference of the constants (scale = 0) or of the slopes (1) of two rows, double-double."""
    if x.size == 2:
        return dd.two_sum(x[scale], -y[scale])
    high, low = dd.two_sum(x[3 + scale], -y[3 + scale])
    size = max(abs(x[3 + scale]), abs(y[3 + scale]))
    if scale == 0:
        h, l = _log_ratio_exact(abs(x[0]), abs(y[0]))
        size += abs(h)
        high, low = dd.add(high, low, h, l)
    else:
        for column in range(1, 3):
            if x[column] != y[column]:
                h, l = _log_ratio_exact(x[column], y[column])
                if column == 2:
                    h, l = -h, -l
                size += abs(h)
                high, low = dd.add(high, low, h, l)
    return _settled(high, low, size)


@inner
def _cross(x: Any, y: Any) -> tuple[float, float, float]:
    """Return the rounded crossing of two rows of one sign, and the signs of x - y left and right of it."""
    ah, al = _difference(x, y, 0)
    bh, bl = _difference(x, y, 1)
    if bh == 0.0:
        sign = 1.0 if ah > 0.0 else (-1.0 if ah < 0.0 else 0.0)
        return -np.inf, sign, sign
    sign = 1.0 if bh > 0.0 else -1.0
    if ah == 0.0:
        return 0.0, -sign, sign
    high, low = dd.divide(-ah, -al, bh, bl)
    below = _round(high)
    # The second part decides where the first lies on the boundary between two roundings.
    if low != 0.0 and abs(high - below) > 0.0:
        step = math.ldexp(1.0, math.frexp(high)[1] - 43)
        if abs(abs(high - below) - 0.5 * step) == 0.0:
            below = high + math.copysign(0.5 * step, low)
    return below, -sign, sign


@inner
def compare(x: Any, y: Any, bounds: FloatArray) -> float:
    """Return the sign of x - y just right of ρ, and narrow the interval in bounds = (ρ, lo, hi) to it."""
    rho, lo, hi = bounds[0], bounds[1], bounds[2]
    flip = 1.0
    if x.size == 5:
        sx, sy = np.sign(x[0]), np.sign(y[0])
        if sx != sy or sx == 0.0:
            return float(np.sign(sx - sy))
        flip = sx
    if math.isinf(x[0]) or math.isinf(y[0]):
        return 1.0 if x[0] > y[0] else (-1.0 if x[0] < y[0] else 0.0)
    xa, xb = _line(x)
    ya, yb = _line(y)
    size = _CLOSE * (abs(xa) + abs(ya) + max(abs(lo), abs(hi)) * (abs(xb) + abs(yb)))
    left, right = (xa - ya) + lo * (xb - yb), (xa - ya) + hi * (xb - yb)
    if left > size and right > size:  # one sign on the whole interval
        return flip
    if left < -size and right < -size:
        return -flip
    at, before, after = _cross(x, y)
    if rho >= at:
        bounds[1] = max(lo, at)
        return flip * after
    bounds[2] = min(hi, at)
    return flip * before


@inner
def _sign(x: Any, y: Any, rho: float, scratch: FloatArray) -> float:
    """Return the sign of x - y just right of rho."""
    scratch[0] = scratch[1] = scratch[2] = rho
    return compare(x, y, scratch)


@kernel
def signs(x: FloatArray, y: FloatArray, bounds: FloatArray) -> FloatArray:
    """Return the signs of x - y row by row; narrow the interval."""
    out = np.empty(len(x))
    for i in range(len(x)):
        out[i] = compare(x[i], y[i], bounds)
    return out


@kernel
def scores(rows: FloatArray, rho: float) -> FloatArray:
    """Return numbers in the order of the values at rho, up to rounding, for values of one sign."""
    out = np.empty(len(rows))
    for i in range(len(rows)):
        constant, slope = _line(rows[i])
        out[i] = constant + rho * slope
        if rows.shape[1] == 5:
            if rows[i, 0] <= 0.0:
                out[i] = -out[i] if rows[i, 0] < 0.0 else 0.0
    return out


@kernel
def settle(rows: FloatArray, order: IntArray, bounds: FloatArray) -> IntArray:
    """Bring a nearly sorted order into the exact order just right of ρ, stable; narrow the interval.

    O(n) if the order is right already, otherwise a merge sort. Neighbours alone limit the interval: the next
    two values to swap are neighbours.
    """
    n = order.size
    rho, scratch = bounds[0], np.empty(3)
    for p in range(n - 1):
        sign = _sign(rows[order[p]], rows[order[p + 1]], rho, scratch)
        if sign > 0.0 or (sign == 0.0 and order[p] > order[p + 1]):
            order = _merge_sort(rows, rho, scratch)
            break
    for p in range(n - 1):
        compare(rows[order[p]], rows[order[p + 1]], bounds)
    return order


@inner
def _merge_sort(rows: FloatArray, rho: float, scratch: FloatArray) -> IntArray:
    """Return the stable order of all rows, bottom up."""
    n = len(rows)
    order, other = np.arange(n), np.empty(n, np.int64)
    width = 1
    while width < n:
        for start in range(0, n, 2 * width):
            mid, stop = min(start + width, n), min(start + 2 * width, n)
            i, j = start, mid
            for out in range(start, stop):
                if j == stop or (i < mid and _sign(rows[order[i]], rows[order[j]], rho, scratch) <= 0.0):
                    other[out] = order[i]
                    i += 1
                else:
                    other[out] = order[j]
                    j += 1
        order, other = other, order
        width *= 2
    return order


@kernel
def extreme(rows: FloatArray, direction: float, bounds: FloatArray) -> int:
    """Return the first of the largest (direction = 1) or smallest (-1) rows; narrow the interval."""
    best, scratch = 0, np.empty(3)
    for i in range(1, len(rows)):
        if direction * _sign(rows[i], rows[best], bounds[0], scratch) > 0.0:
            best = i
    split(rows, best, bounds)
    return best


@kernel
def split(rows: FloatArray, pivot: int, bounds: FloatArray) -> FloatArray:
    """Return the sign of each row minus the pivot; narrow the interval."""
    out = np.empty(len(rows))
    for i in range(len(rows)):
        out[i] = compare(rows[i], rows[pivot], bounds)
    return out
