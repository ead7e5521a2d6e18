"""The greedy order: items by decreasing v / s^ρ, and the critical values of ρ at which two items swap.

An item is a row (log v, log s, v, s) with v > 0: the line log v - ρ·log s, its score. Items i and j have
equal scores at c = log(v_i / v_j) / log(s_i / s_j) (Lemma 7 of the paper). A c computed in double
precision has an error of a few units in the last place. Then three lines that meet in one point seem to meet
in three, and "i before j where ρ >= c" is not transitive. Therefore c is correctly rounded to 43 significant
bits (a relative error of at most 2^-43 = 1.2e-13). Correct rounding is monotone in the exact c, so:

- the order at a double ρ is the exact order at a real number just right of it, so it is transitive;
- critical values that are equal in exact arithmetic are equal in the program;
- a run, a sweep and a sort agree about each pair to the bit.

Double precision decides nearly all roundings, double-double arithmetic the rest. Its error is near 2^-100: a
random c is practically never that close to a rounding boundary, and a short dyadic c (0, 1/2, 1, 2, ...) is
never near one.

Scores in double precision order items whose scores differ by more than `margin`, which covers rounding errors
and the rounding of critical values; otherwise `before` decides.
"""

import math
from typing import Any

import numpy as np

from semibandit import _numerics as dd
from semibandit._jit import inner, kernel
from semibandit._validate import FloatArray, IntArray

# c * (2^10 + 1) splits off the lowest 10 of 53 bits (Veltkamp).
_SPLITTER = 1025.0
# The double-precision quotient of two logarithms is within 2^-49 of the exact one, relatively (about 6 ulp).
_QUOTIENT_ERROR = 2.0**-49

# Insertion sort is replaced by merging after this many moves per item.
_MOST_MOVES = 16
# A numpy integer: numba would compile kernels again for a Python constant.
_FIRST: Any = np.int64(0)

_LN2 = (0.6931471805599453, 2.3190468138462996e-17)
# 1 / (2k + 1) as double-doubles: the series of artanh, cut where z^2 <= 0.0295 leaves less than 2^-106.
_ODD = np.arange(1.0, 45.0, 2.0)
_SERIES = np.stack([1.0 / _ODD, np.zeros_like(_ODD)], axis=1)
for _k, _odd in enumerate(_ODD):
    _nearest = int(math.ldexp(1.0 / _odd, 60))
    _SERIES[_k, 1] = ((1 << 60) - _nearest * int(_odd)) / _odd * 2.0**-60


@kernel
def critical(vi: float, si: float, vj: float, sj: float) -> float:
    """Return the ρ at which two items of different sizes swap, rounded to 43 bits. Symmetric in the items."""
    if vi == vj:
        return 0.0
    rough = _log_ratio(vi, vj) / _log_ratio(si, sj)
    error = abs(rough) * _QUOTIENT_ERROR
    below, above = rounded(rough - error), rounded(rough + error)
    if below == above:
        return below
    high, low = dd.divide(*_log_ratio_exact(vi, vj), *_log_ratio_exact(si, sj))
    return nearer(high, low, below, above)


@inner
def leads(vi: float, si: float, i: int, vj: float, sj: float, j: int, rho: float) -> bool:
    """Return whether item i comes before item j at rho; ties are broken right of rho, then by index."""
    if si == sj:
        return bool(vi > vj or (vi == vj and i < j))
    swap = critical(vi, si, vj, sj)
    return bool(rho >= swap) if si < sj else bool(rho < swap)


@inner
def before(items: FloatArray, i: int, j: int, rho: float) -> bool:
    """Return whether the item in row i comes before the one in row j at rho."""
    return leads(items[i, 2], items[i, 3], i, items[j, 2], items[j, 3], j, rho)


@inner
def nearer(high: float, low: float, below: float, above: float) -> float:
    """Return the one of two neighbours of 43 bits that is nearer to the double-double high + low."""
    return above if (high - 0.5 * (below + above)) + low > 0.0 else below


@inner
def rounded(c: float) -> float:
    """Round c to 43 significant bits, to nearest."""
    shifted = c * _SPLITTER
    return shifted - (shifted - c)


@inner
def _log_ratio(x: float, y: float) -> float:
    """Return log(x / y) to a few units in the last place, also where x and y are close."""
    if x < y:
        return -_log_ratio_up(y, x)
    return _log_ratio_up(x, y)


@inner
def _log_ratio_up(x: float, y: float) -> float:
    excess = (x - y) / y
    if excess < 1e300:
        return math.log1p(excess)
    high, _ = _log_ratio_exact(x, y)
    return high


@inner
def _log_ratio_exact(x: float, y: float) -> tuple[float, float]:
    """Return log(x / y) as a double-double: log(x / y) = k log 2 + 2 artanh((x' - y) / (x' + y))."""
    mx, ex = math.frexp(x)
    my, ey = math.frexp(y)
    k = float(ex - ey)
    if mx > 1.4142135623730951 * my:
        mx *= 0.5
        k += 1.0
    elif mx * 1.4142135623730951 < my:
        mx *= 2.0
        k -= 1.0
    zh, zl = dd.divide(*dd.two_sum(mx, -my), *dd.two_sum(mx, my))
    qh, ql = dd.multiply(zh, zl, zh, zl)
    sh, sl = 0.0, 0.0
    for n in range(len(_SERIES) - 1, -1, -1):
        sh, sl = dd.multiply(sh, sl, qh, ql)
        sh, sl = dd.add(sh, sl, _SERIES[n, 0], _SERIES[n, 1])
    sh, sl = dd.multiply(2.0 * zh, 2.0 * zl, sh, sl)
    kh, kl = dd.multiply(k, 0.0, _LN2[0], _LN2[1])
    return dd.add(kh, kl, sh, sl)


# -- sorting ------------------------------------------------------------------------------------------


@inner
def ahead(items: FloatArray, i: int, zi: float, j: int, zj: float, rho: float, margin: float) -> bool:
    """Return whether item i with score zi comes before item j with score zj."""
    if abs(zi - zj) > margin:
        return zi > zj
    return before(items, i, j, rho)


@inner
def arrange(items: FloatArray, order: IntArray, scores: FloatArray, rho: float, margin: float) -> None:
    """Bring `order`, and the scores by position, into the exact order at rho.

    Insertion, O(n) where the order is nearly right already; once that has moved too much, O(n log n).
    """
    n = order.size
    moves = 0
    for p in range(1, n):
        if scores[p - 1] - scores[p] > margin:
            continue
        item, score = order[p], scores[p]
        q = p
        while q > 0 and ahead(items, item, score, order[q - 1], scores[q - 1], rho, margin):
            order[q], scores[q] = order[q - 1], scores[q - 1]
            q -= 1
        order[q], scores[q] = item, score
        moves += p - q
        if moves > _MOST_MOVES * n:
            _merge_sort(items, order, scores, p + 1, rho, margin)
            return


@inner
def _merge_sort(
    items: FloatArray, order: IntArray, scores: FloatArray, done: int, rho: float, margin: float
) -> None:
    """Sort the positions from `done` on, bottom up, then merge both parts."""
    n = order.size
    width = 1
    while width < n - done:
        for start in range(done, n - width, 2 * width):
            _merge(items, order, scores, start, start + width, min(start + 2 * width, n), rho, margin)
        width *= 2
    if done < n:
        _merge(items, order, scores, _FIRST, done, n, rho, margin)


@inner
def _merge(
    items: FloatArray, order: Any, scores: Any, start: int, mid: int, stop: int, rho: float, margin: float
) -> None:
    """Merge the sorted stretches [start, mid) and [mid, stop), touching only where they overlap."""
    a = mid
    while a > start and ahead(items, order[mid], scores[mid], order[a - 1], scores[a - 1], rho, margin):
        a -= 1
    if a == mid:
        return
    left, left_scores = order[a:mid].copy(), scores[a:mid].copy()
    i, j, out = 0, mid, a
    while i < left.size:
        if j < stop and ahead(items, order[j], scores[j], left[i], left_scores[i], rho, margin):
            order[out], scores[out] = order[j], scores[j]
            j += 1
        else:
            order[out], scores[out] = left[i], left_scores[i]
            i += 1
        out += 1
