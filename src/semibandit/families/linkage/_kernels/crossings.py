"""Exact comparison of lines, and the exact places where they cross.

Sums and products of doubles are split into a rounded part and its error, both doubles. A sum of such parts
is kept as an expansion, doubles of growing size that do not overlap, whose last entry has its sign. This is
exact unless something underflows, which the scaling of the distances prevents. A rounded evaluation with an
error bound decides first, so the exact one runs near ties only.
"""

from typing import Any

import numpy as np

from semibandit._jit import inner, kernel
from semibandit._numerics import two_product, two_sum
from semibandit._validate import FloatArray

# Relative difference above which rounded values decide; their error is about ten roundings of 2^-53.
SLACK = 2.0**-48
# Number of doubles between two values that differ relatively by SLACK, rounded up.
CLOSE: Any = np.int64(64)
# The doubles from LAST on count as 1.
LAST = 1.0 - 2.0**-53
# End of an interval that contains 1.
END = 2.0


@inner
def _grow(e: FloatArray, m: int, x: float) -> int:
    """Add x to the expansion e[:m]; return its new length."""
    k = 0
    for i in range(m):
        x, rest = two_sum(x, e[i])
        if rest != 0.0:
            e[k] = rest
            k += 1
    if x != 0.0:
        e[k] = x
        k += 1
    return k


@inner
def _grow_product(e: FloatArray, m: int, x: float, y: float) -> int:
    p, q = two_product(x, y)
    if q != 0.0:
        m = _grow(e, m, q)
    if p != 0.0:
        m = _grow(e, m, p)
    return m


@inner
def _grow_line(e: FloatArray, m: int, line: FloatArray, factor: float, value: bool, rho: float) -> int:
    """Add factor · count · (a + rho · (b - a)) of a line to an expansion; omit the first a unless `value`."""
    for j in range(4):
        if line[j] == 0.0:
            continue
        p, q = two_product(line[j], factor)
        for part in (q, p):
            if part == 0.0:
                continue
            if j < 2:
                if value:
                    m = _grow(e, m, part)
                m = _grow_product(e, m, part, -rho)
            else:
                m = _grow_product(e, m, part, rho)
    return m


@inner
def _exact_sign(p: FloatArray, q: FloatArray, value: bool, rho: float, e: FloatArray) -> int:
    m = _grow_line(e, 0, p, q[4], value, rho)
    m = _grow_line(e, m, q, -p[4], value, rho)
    return 0 if m == 0 else (1 if e[m - 1] > 0.0 else -1)


@inner
def copy_line(line: FloatArray, to: FloatArray) -> None:
    """Copy a line; slice assignment takes numba longer to compile."""
    for k in range(5):
        to[k] = line[k]


@inner
def same(p: FloatArray, q: FloatArray) -> bool:
    """Return whether all five numbers of two lines are equal; equal lines may still differ in them."""
    return bool(p[0] == q[0] and p[1] == q[1] and p[2] == q[2] and p[3] == q[3] and p[4] == q[4])


@inner
def slope_sign(p: FloatArray, q: FloatArray, e: FloatArray) -> int:
    """Return the sign of the slope of p minus that of q, exactly."""
    return 0 if same(p, q) else _exact_sign(p, q, False, 1.0, e)


@inner
def value_at(line: FloatArray, rho: float) -> float:
    """Return the value of a line at rho, rounded."""
    return float(((1.0 - rho) * (line[0] + line[1]) + rho * (line[2] + line[3])) / line[4])


@inner
def _quotient(high: float, low: float, count: float) -> float:
    """Return (high + low) / count with the error of the division corrected: a double is returned exactly."""
    x = high / count
    p, e = two_product(x, count)
    return x + (((high - p) - e) + low) / count


@kernel
def values_at(lines: FloatArray, rho: float) -> FloatArray:
    """Return the values of many lines at rho, with the ends correctly rounded."""
    out = np.empty(lines.shape[0])
    for i in range(out.size):
        line = lines[i]
        a = _quotient(line[0], line[1], line[4])
        b = _quotient(line[2], line[3], line[4])
        out[i] = (1.0 - rho) * a + rho * b
    return out


@inner
def pair_index(x: int, y: int, n: int) -> int:
    """Return a number that orders pairs of slots, by the smaller slot, then by the larger."""
    return min(x, y) * n + max(x, y)


@inner
def before(rho: float, p: FloatArray, p_index: int, q: FloatArray, q_index: int, e: FloatArray) -> bool:
    """Return whether p comes before q at rho: by value, then right of rho (at 1: left), then by index.

    `e` is working memory for an expansion: 64 doubles.
    """
    rho = 1.0 if rho >= LAST else rho
    vp, vq = value_at(p, rho), value_at(q, rho)
    if abs(vp - vq) > SLACK * (vp + vq):
        return vp < vq
    if same(p, q):
        return p_index < q_index
    sign = _exact_sign(p, q, True, rho, e)
    if sign == 0:
        sign = slope_sign(p, q, e)
        if rho == 1.0:
            sign = -sign
    return p_index < q_index if sign == 0 else sign < 0


@inner
def _first(
    flat: FloatArray,
    flat_index: int,
    steep: FloatArray,
    steep_index: int,
    lo: float,
    hi: float,
    e: FloatArray,
) -> float:
    """Return the smallest double in (lo, hi] at which the flatter line comes first; it does at hi, not at lo.

    Steps of growing length from the rounded crossing bracket it; bisection over the doubles finds it.
    """
    da = steep[0] / steep[4] - flat[0] / flat[4]
    db = steep[2] / steep[4] - flat[2] / flat[4]
    guess = da / (da - db) if da < 0.0 < db else hi
    # Non-negative doubles are ordered as their bits.
    first, last = np.float64(lo).view(np.int64), np.float64(hi).view(np.int64)
    low, high, middle = first, last, np.float64(min(max(guess, lo), hi)).view(np.int64)
    step = np.int64(1)
    bracketed = False
    while high - low > 1:
        if middle <= low:
            middle = low + 1
        elif middle >= high:
            middle = high - 1
        if before(np.int64(middle).view(np.float64), flat, flat_index, steep, steep_index, e):
            bracketed = bracketed or low != first
            high = middle
        else:
            bracketed = bracketed or high != last
            low = middle
        if bracketed:
            middle = low + (high - low) // 2
        else:
            middle = high - step if high == middle else low + step
            step *= 2
    return float(np.int64(high).view(np.float64))


@inner
def top(hi: float) -> float:
    """Return the largest parameter below hi; 1 for END."""
    return 1.0 if hi > 1.0 else np.nextafter(min(hi, LAST), 0.0)


@inner
def narrow(
    winner: FloatArray,
    w_index: int,
    other: FloatArray,
    o_index: int,
    rho: float,
    lo: float,
    hi: float,
    e: FloatArray,
) -> tuple[bool, float, float]:
    """Shrink [lo, hi) around rho to where the winner comes before the other line; False if not at rho.

    Lines cross at most once, so the result is an interval; its ends are exact.
    """
    if not before(rho, winner, w_index, other, o_index, e):
        return False, lo, hi
    sign = slope_sign(other, winner, e)
    if sign < 0:
        last = top(hi)
        if before(last, other, o_index, winner, w_index, e):
            hi = min(_first(other, o_index, winner, w_index, rho, last, e), LAST)
    elif sign > 0 and before(lo, other, o_index, winner, w_index, e):
        lo = min(_first(winner, w_index, other, o_index, lo, rho, e), LAST)
    return True, lo, hi
