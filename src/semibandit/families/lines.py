"""Lines a + b·ρ as scores: their exact order, and the interval on which a choice stays the same.

Two lines cross at c = (a_j - a_i) / (b_i - b_j). As in `greedy.order`, c is a pure function of the pair,
correctly rounded to 43 significant bits. So the order at a double ρ is the exact order at a real number just
right of it: it is transitive, and neighbouring intervals agree on their common end.
"""

import numpy as np

from semibandit import _numerics as dd
from semibandit._jit import inner, kernel
from semibandit._validate import FloatArray, IntArray
from semibandit.families.greedy.order import nearer, rounded

# Two rounded differences and a rounded quotient: at most 1.5 · 2^-52, relatively.
_QUOTIENT_ERROR = 2.0**-50
LARGEST = 1e100
"""Largest coefficient of a line; differences and quotients of such numbers stay finite."""
_FARTHEST = 1e250
_NEAREST = 1e-200  # smaller crossings count as 0: double-double arithmetic would underflow


@kernel
def crossing(ai: float, bi: float, aj: float, bj: float) -> float:
    """Return the ρ at which two lines of different slopes cross. Symmetric in the lines."""
    if ai == aj:
        return 0.0
    rough = (aj - ai) / (bi - bj)
    if abs(rough) > _FARTHEST:
        return _FARTHEST if rough > 0.0 else -_FARTHEST
    if abs(rough) < _NEAREST:
        return 0.0
    error = abs(rough) * _QUOTIENT_ERROR
    below, above = rounded(rough - error), rounded(rough + error)
    if below == above:
        return below
    high, low = dd.divide(*dd.two_sum(aj, -ai), *dd.two_sum(bi, -bj))
    return nearer(high, low, below, above)


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
    n = a.size
    left = np.arange(n)
    for p in range(k):
        best = p
        for q in range(p + 1, n):
            if is_above(a, b, left[q], left[best], rho):
                best = q
        left[p], left[best] = left[best], left[p]
        for q in range(p + 1, n):
            lo, hi = narrow(a, b, left[p], left[q], lo, hi)
    return left[:k].copy(), lo, hi
