"""Lines a + b·ρ as scores: their exact order, and the interval on which a choice stays the same.

Two lines cross at c = (a_j - a_i) / (b_i - b_j). As in `greedy.order`, c is a pure function of the pair,
correctly rounded to 43 significant bits. So the order at a double ρ is the exact order at a real number just
right of it: it is transitive, and neighbouring intervals agree on their common end.
"""

import math

import numpy as np

from semibandit import _numerics as dd
from semibandit._jit import inner, kernel
from semibandit._validate import FloatArray, IntArray
from semibandit.families.greedy.order import nearer, rounded

# Two rounded differences and a rounded quotient: at most 1.5 · 2^-52, relatively.
_QUOTIENT_ERROR = 2.0**-50
LARGEST = 1e100
"""Largest coefficient of a line; differences and quotients of such numbers stay finite."""
FARTHEST = 1e250
NEAREST = 1e-200  # smaller crossings count as 0


@kernel
def crossing(ai: float, bi: float, aj: float, bj: float) -> float:
    """Return the ρ at which two lines of different slopes cross. Symmetric in the lines."""
    if ai == aj:
        return 0.0
    rough = (aj - ai) / (bi - bj)
    if abs(rough) > FARTHEST:
        return FARTHEST if rough > 0.0 else -FARTHEST
    if abs(rough) < NEAREST:
        return 0.0
    error = abs(rough) * _QUOTIENT_ERROR
    below, above = rounded(rough - error), rounded(rough + error)
    if below == above:
        return below
    (ah, al), (bh, bl) = dd.two_sum(aj, -ai), dd.two_sum(bi, -bj)
    return nearer(*quotient(ah, al, bh, bl), below, above)


@inner
def quotient(ah: float, al: float, bh: float, bl: float) -> tuple[float, float]:
    """Return the quotient of two double-double numbers, scaled so that no product of theirs underflows."""
    _, e = math.frexp(ah)
    _, f = math.frexp(bh)
    high, low = dd.divide(math.ldexp(ah, -e), math.ldexp(al, -e), math.ldexp(bh, -f), math.ldexp(bl, -f))
    return math.ldexp(high, e - f), math.ldexp(low, e - f)


@inner
def is_above(a: FloatArray, b: FloatArray, i: int, j: int, rho: float) -> bool:
    """Return whether line i is above line j just right of rho; equal lines go by index."""
    if b[i] == b[j]:
        return bool(a[i] > a[j] or (a[i] == a[j] and i < j))
    swap = crossing(a[i], b[i], a[j], b[j])
    return bool(rho >= swap) if b[i] > b[j] else bool(rho < swap)


@inner
def narrow(a: FloatArray, b: FloatArray, i: int, j: int, lo: float, hi: float) -> tuple[float, float]:
    """Return the part of [lo, hi) on which line i is above line j; not empty if it is so somewhere."""
    if b[i] > b[j]:
        return max(lo, crossing(a[i], b[i], a[j], b[j])), hi
    if b[i] < b[j]:
        return lo, min(hi, crossing(a[i], b[i], a[j], b[j]))
    return lo, hi


@kernel
def top(
    a: FloatArray, b: FloatArray, k: int, rho: float, lo: float, hi: float
) -> tuple[IntArray, float, float]:
    """Return the k highest lines at rho, in order, and the part of [lo, hi) with the same ones. O(k·n)."""
    left, scores = np.arange(a.size), a + b * rho
    # Scores that differ by more are in the right order: rounding moves a crossing by 2^-43, relatively.
    margin = 2.0**-41 * (np.abs(a).max() + abs(rho) * np.abs(b).max())
    for p in range(k):
        best = p
        for q in range(p + 1, a.size):
            gap = scores[left[q]] - scores[left[best]]
            if gap > margin or (gap >= -margin and is_above(a, b, left[q], left[best], rho)):
                best = q
        left[p], left[best] = left[best], left[p]
    for p in range(k - 1):
        lo, hi = narrow(a, b, left[p], left[p + 1], lo, hi)
    for q in range(k, a.size):
        lo, hi = narrow(a, b, left[k - 1], left[q], lo, hi)
    return left[:k].copy(), lo, hi
