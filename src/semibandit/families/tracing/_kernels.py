"""Comparisons of functions of ρ, and the interval on which their results stay the same.

An array of functions has a row per coefficient and a column per function. Two rows (a, b): lines a + bρ. Five
rows (k, p, q, a, b): powers k·(p/q)^ρ·exp(a + bρ), with p, q > 0.

Two functions are equal at one ρ at most. This crossing is a pure function of both, correctly rounded to 43
significant bits; a comparison at ρ is "ρ >= crossing", never one of rounded values. So all ρ agree on every
crossing, the order at a ρ is transitive, and functions that meet in one point swap at one double (see
`families.greedy.order`). At the crossing the order just right of it holds.

`bounds` holds (ρ, lo, hi): all comparisons so far have the same results on [lo, hi).
"""

import math

import numpy as np

from semibandit import _numerics as dd
from semibandit._jit import inner, kernel
from semibandit._validate import FloatArray, IntArray
from semibandit.families.greedy.order import _log_ratio_exact, critical, nearer, rounded
from semibandit.families.lines import FARTHEST, NEAREST, crossing, quotient

# Values that differ by more than this share of their terms have the order of their values: the share covers
# rounding errors and the rounding of crossings to 43 bits.
_CLOSE = 2.0**-40
# Differences in double-double arithmetic below this share of their terms are rounding errors.
_ZERO = 2.0**-92
_QUOTIENT_ERROR = 2.0**-50
# Sums and differences of larger coefficients may overflow.
_LARGEST = 1e300
# Crossings within `lines.NEAREST` of 0 count as 0; this matters for |ρ| < _NEAR only. Differences below _TINY
# may be rounding errors of subnormal numbers.
_NEAR = 1e-180
_TINY = 1e-300
# Insertion sort is replaced by merging after this many moves per element.
_MOST_MOVES = 16


@inner
def _lines(c: FloatArray) -> FloatArray:
    """Return a row for each function: constant and slope of a line, sign, and the sizes of both.

    The line is the value of the function, or the logarithm of its absolute value. A size is the sum of the
    absolute terms, to which rounding errors are relative.
    """
    n = c.shape[1]
    x = np.empty((n, 5))
    for i in range(n):
        if c.shape[0] == 2:
            x[i, 0], x[i, 1], x[i, 2] = c[0, i], c[1, i], 1.0
            x[i, 3], x[i, 4] = abs(c[0, i]), abs(c[1, i])
        else:
            k, p, q = c[0, i], c[1, i], c[2, i]
            log_k = math.log(abs(k)) if abs(k) != 1.0 and k != 0.0 else 0.0
            log_p = math.log(p) if p != 1.0 else 0.0
            log_q = math.log(q) if q != 1.0 else 0.0
            x[i, 0], x[i, 1], x[i, 2] = c[3, i] + log_k, c[4, i] + log_p - log_q, np.sign(k)
            x[i, 3], x[i, 4] = abs(c[3, i]) + abs(log_k), abs(c[4, i]) + abs(log_p) + abs(log_q)
        infinite = math.isinf(x[i, 0])
        if math.isnan(x[i, 2]) or not x[i, 4] <= _LARGEST or not (infinite or x[i, 3] <= _LARGEST):
            raise ValueError("not a number")
    return x


@inner
def _apart(x: FloatArray, i: int, y: FloatArray, j: int, lo: float, hi: float) -> float:
    """Return the sign of line x_i minus line y_j if double precision shows it on all of [lo, hi], else 0."""
    reach = max(abs(lo), abs(hi), _NEAR)
    size = _CLOSE * (x[i, 3] + y[j, 3] + reach * (x[i, 4] + y[j, 4])) + _TINY
    a, b = x[i, 0] - y[j, 0], x[i, 1] - y[j, 1]
    left = a + lo * b
    right = left if lo == hi else a + hi * b
    if left > size and right > size:
        return 1.0
    if left < -size and right < -size:
        return -1.0
    return 0.0


@inner
def _rises(x: FloatArray, i: int, j: int, lo: float, hi: float) -> bool:
    """Return whether double precision shows that function i is below function j on all of [lo, hi]."""
    if x[i, 2] != x[j, 2] or x[i, 2] == 0.0:
        return bool(x[i, 2] < x[j, 2])
    return bool(_apart(x, j, x, i, lo, hi) == x[i, 2])


@inner
def _log_difference(c: FloatArray, i: int, d: FloatArray, j: int, slope: bool) -> tuple[float, float]:
    """Return the difference of the constants, or of the slopes, of log |c_i| and log |d_j|."""
    row = 4 if slope else 3
    high, low = dd.two_sum(c[row, i], -d[row, j])
    size = max(abs(c[row, i]), abs(d[row, j]))
    for source in range(1 if slope else 0, 3 if slope else 1):
        u, v = abs(c[source, i]), abs(d[source, j])
        if u != v:
            h, l = _log_ratio_exact(v, u) if source == 2 else _log_ratio_exact(u, v)
            size = max(size, abs(h))
            high, low = dd.add(high, low, h, l)
    if abs(high) <= _ZERO * size:
        return 0.0, 0.0
    return high, low


@inner
def _cross_powers(c: FloatArray, i: int, d: FloatArray, j: int) -> tuple[float, float]:
    """Return the crossing of |c_i| and |d_j|, and the sign of |c_i| - |d_j| right of it."""
    ki, kj, same_p, same_q = abs(c[0, i]), abs(d[0, j]), c[1, i] == d[1, j], c[2, i] == d[2, j]
    if c[3, i] == d[3, j] and c[4, i] == d[4, j] and (same_p or same_q):
        if same_p and same_q:
            return -np.inf, float(np.sign(ki - kj))
        if same_p:
            return critical(ki, c[2, i], kj, d[2, j]), (1.0 if c[2, i] < d[2, j] else -1.0)
        return -critical(ki, c[1, i], kj, d[1, j]) + 0.0, (1.0 if c[1, i] > d[1, j] else -1.0)
    ah, al = _log_difference(c, i, d, j, False)
    bh, bl = _log_difference(c, i, d, j, True)
    if bh == 0.0:
        return -np.inf, float(np.sign(ah))
    after = float(np.sign(bh))
    if ah == 0.0:
        return 0.0, after
    rough = -ah / bh
    if abs(rough) > FARTHEST:
        return (FARTHEST if rough > 0.0 else -FARTHEST), after
    if abs(rough) < NEAREST:
        return 0.0, after
    high, low = quotient(-ah, -al, bh, bl)
    error = abs(high) * _QUOTIENT_ERROR
    return nearer(high, low, rounded(high - error), rounded(high + error)), after


@inner
def _cross(c: FloatArray, x: FloatArray, i: int, d: FloatArray, y: FloatArray, j: int) -> tuple[float, float]:
    """Return the crossing of c_i and d_j, and the sign of c_i - d_j right of it; -inf if they never cross."""
    if x[i, 2] != y[j, 2] or x[i, 2] == 0.0:
        return -np.inf, float(np.sign(x[i, 2] - y[j, 2]))
    if math.isinf(x[i, 0]) or math.isinf(y[j, 0]):
        sign = 1.0 if x[i, 0] > y[j, 0] else (-1.0 if x[i, 0] < y[j, 0] else 0.0)
        return -np.inf, sign * x[i, 2]
    if c.shape[0] == 2:
        if c[1, i] == d[1, j]:
            return -np.inf, float(np.sign(c[0, i] - d[0, j]))
        return crossing(c[0, i], c[1, i], d[0, j], d[1, j]), (1.0 if c[1, i] > d[1, j] else -1.0)
    at, after = _cross_powers(c, i, d, j)
    return at, after * x[i, 2]


@inner
def _sign(c: FloatArray, x: FloatArray, i: int, d: FloatArray, y: FloatArray, j: int, rho: float) -> float:
    """Return the sign of c_i - d_j just right of rho."""
    if x[i, 2] == y[j, 2]:
        found = _apart(x, i, y, j, rho, rho)
        if found != 0.0:
            return float(found * x[i, 2])
    at, after = _cross(c, x, i, d, y, j)
    return after if rho >= at else -after


@inner
def _compare(
    c: FloatArray, x: FloatArray, i: int, d: FloatArray, y: FloatArray, j: int, bounds: FloatArray
) -> float:
    """Return the sign of c_i - d_j just right of ρ, and narrow the interval to where it is the same."""
    if x[i, 2] == y[j, 2]:
        found = _apart(x, i, y, j, bounds[1], bounds[2])
        if found != 0.0:
            return float(found * x[i, 2])
    at, after = _cross(c, x, i, d, y, j)
    if bounds[0] >= at:
        bounds[1] = max(bounds[1], at)
        return after
    bounds[2] = min(bounds[2], at)
    return -after


@kernel
def signs(c: FloatArray, d: FloatArray, bounds: FloatArray) -> FloatArray:
    """Return the signs of c - d; narrow the interval."""
    n = c.shape[1]
    x, y, out = _lines(c), _lines(d), np.empty(n)
    for i in range(n):
        out[i] = _compare(c, x, i, d, y, i, bounds)
    return out


@kernel
def signs_at(c: FloatArray, d: FloatArray, rho: float) -> FloatArray:
    """Return the signs of c - d just right of rho."""
    n = c.shape[1]
    x, y, out = _lines(c), _lines(d), np.empty(n)
    for i in range(n):
        out[i] = _sign(c, x, i, d, y, i, rho)
    return out


@inner
def _clear(x: FloatArray, i: int, best: int, direction: float, lo: float, hi: float) -> bool:
    """Return whether double precision shows that `best` is beyond i in the direction on all of [lo, hi]."""
    return _rises(x, i, best, lo, hi) if direction > 0.0 else _rises(x, best, i, lo, hi)


@kernel
def extremes(c: FloatArray, n: int, direction: float, bounds: FloatArray) -> IntArray:
    """Return the first largest (direction = 1) or smallest (-1) of each run of n functions; narrow."""
    x, rho = _lines(c), bounds[0]
    out = np.empty(c.shape[1] // n, np.int64)
    for lane in range(out.size):
        start = lane * n
        best = start
        for i in range(start + 1, start + n):
            if (
                not _clear(x, i, best, direction, rho, rho)
                and direction * _sign(c, x, i, c, x, best, rho) > 0.0
            ):
                best = i
        for i in range(start, start + n):
            if i != best and not _clear(x, i, best, direction, bounds[1], bounds[2]):
                _compare(c, x, i, c, x, best, bounds)
        out[lane] = best - start
    return out


# -- orders ----------------------------------------------------------------------------------------------


@kernel
def keys(c: FloatArray, rho: float) -> tuple[FloatArray, FloatArray, bool]:
    """Return the lines, sort keys at rho with rounding errors, and whether there are several signs."""
    x, n = _lines(c), c.shape[1]
    out, mixed = np.empty(n), False
    for i in range(n):
        out[i] = x[i, 2] * (x[i, 0] + rho * x[i, 1]) if x[i, 2] != 0.0 else 0.0
        mixed = mixed or x[i, 2] != x[0, 2]
    return x, out, mixed


@kernel
def arrange(c: FloatArray, x: FloatArray, order: IntArray, rho: float) -> None:
    """Bring a nearly sorted order into the exact ascending order just right of rho; equal ones by index.

    Insertion, O(n) where the order is nearly right already; once that has moved too much, O(n log n).
    """
    n, moves = order.size, 0
    for p in range(1, n):
        item, q = order[p], p
        if _rises(x, order[p - 1], item, rho, rho):
            continue
        while q > 0 and _before(c, x, item, order[q - 1], rho):
            order[q] = order[q - 1]
            q -= 1
        order[q] = item
        moves += p - q
        if moves > _MOST_MOVES * n:
            _merge_sort(c, x, order, rho)
            return


@inner
def _before(c: FloatArray, x: FloatArray, i: int, j: int, rho: float) -> bool:
    sign = _sign(c, x, i, c, x, j, rho)
    return bool(sign < 0.0 or (sign == 0.0 and i < j))


@inner
def _merge_sort(c: FloatArray, x: FloatArray, order: IntArray, rho: float) -> None:
    """Sort bottom up."""
    n, width = order.size, 1
    while width < n:
        source = order.copy()
        for start in range(0, n, 2 * width):
            mid, stop = min(start + width, n), min(start + 2 * width, n)
            i, j = start, mid
            for out in range(start, stop):
                if i == mid or (j < stop and _before(c, x, source[j], source[i], rho)):
                    order[out] = source[j]
                    j += 1
                else:
                    order[out] = source[i]
                    i += 1
        width *= 2


@kernel
def keep_order(c: FloatArray, x: FloatArray, order: IntArray, bounds: FloatArray) -> None:
    """Narrow the interval to where the order is the same: the next two functions to swap are neighbours."""
    for p in range(1, order.size):
        if not _rises(x, order[p - 1], order[p], bounds[1], bounds[2]):
            _compare(c, x, order[p], c, x, order[p - 1], bounds)


@kernel
def keep_sides(c: FloatArray, x: FloatArray, pivot: int, bounds: FloatArray) -> None:
    """Narrow the interval to where the same functions are below and above the pivot."""
    for i in range(c.shape[1]):
        _compare(c, x, i, c, x, pivot, bounds)
