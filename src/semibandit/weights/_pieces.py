"""Kernels on the pieces of weights with a local baseline, which lie in one array and change in place.

The array has a column for each of n pieces, one for the end of the line, and spare columns. Its rows:

    EDGE      left end of the piece
    PRIOR     mass before the first round
    SUM       sum of the estimates of the loss; the weight is prior · exp(-rate · sum)
    RAISED    amount by which clips, joins and averages made SUM larger than an unbiased estimate
    COUNT     number of rounds that observed the piece
    LOSS      sum of the losses that they observed there
    MASS      prior · exp(-rate · (sum - level)); the level, the least sum, is stored in column n of SUM,
              the total in column n of MASS
"""

import math
from typing import Any

import numpy as np

from semibandit._jit import inner, kernel

EDGE, PRIOR, SUM, RAISED, COUNT, LOSS, MASS = range(7)
ROWS = 7

# ln 2 in two parts, the first with zeros at its end: the product with an exponent is exact.
_LN2, _LN2_REST = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_LOWEST = -708.0  # exponentials of lower numbers are subnormal
_WHOLE = 1.5 * 2.0**52  # adding it to a number rounds that to an integer


@kernel
def weigh(a: Any, n: int, rate: float) -> None:
    """Compute all masses. O(P)."""
    least, mass = least_of(a[SUM], n), a[MASS]
    for i in range(n):
        mass[i] = rate * (least - a[SUM, i])
    exponentials(mass, n)
    for i in range(n):
        mass[i] *= a[PRIOR, i]
    a[SUM, n], mass[n] = least, sum_of(mass, n)


@inner
def exponentials(x: Any, n: int) -> None:
    """Replace the first n numbers, none above 0, by their exponentials, to the last bit or so.

    exp(x) = 2^k · exp(r) with |r| ≤ ln 2 / 2. Unlike math.exp, the compiler vectorises this loop, which
    takes a fifth of the time.
    """
    powers = np.empty(n)
    for i in range(n):
        t = max(x[i], _LOWEST)
        powers[i] = t * 1.4426950408889634 + _WHOLE
        k = powers[i] - _WHOLE
        r = (t - k * _LN2) - k * _LN2_REST
        s = 1.0 / 6227020800.0
        s = s * r + 1.0 / 479001600.0
        s = s * r + 1.0 / 39916800.0
        s = s * r + 1.0 / 3628800.0
        s = s * r + 1.0 / 362880.0
        s = s * r + 1.0 / 40320.0
        s = s * r + 1.0 / 5040.0
        s = s * r + 1.0 / 720.0
        s = s * r + 1.0 / 120.0
        s = s * r + 1.0 / 24.0
        s = s * r + 1.0 / 6.0
        s = s * r + 0.5
        s = s * r + 1.0
        s = s * r + 1.0
        x[i] = s if x[i] >= _LOWEST else 0.0
    bits = powers.view(np.int64)
    for i in range(n):  # k is in the last bits; shifted to the exponent it makes 2^k
        bits[i] = (bits[i] + 1023) << 52
    for i in range(n):
        x[i] *= powers[i]


@inner
def dot(x: Any, y: Any, n: int) -> float:
    """Return the sum of the products, in four independent sums for the processor's pipeline."""
    s0 = s1 = s2 = s3 = 0.0
    for i in range(0, n - 3, 4):
        s0 += x[i] * y[i]
        s1 += x[i + 1] * y[i + 1]
        s2 += x[i + 2] * y[i + 2]
        s3 += x[i + 3] * y[i + 3]
    for i in range(n - n % 4, n):
        s0 += x[i] * y[i]
    return (s0 + s1) + (s2 + s3)


@inner
def sum_of(x: Any, n: int) -> float:
    """Return the sum, in four independent sums."""
    s0 = s1 = s2 = s3 = 0.0
    for i in range(0, n - 3, 4):
        s0 += x[i]
        s1 += x[i + 1]
        s2 += x[i + 2]
        s3 += x[i + 3]
    for i in range(n - n % 4, n):
        s0 += x[i]
    return (s0 + s1) + (s2 + s3)


@inner
def least_of(x: Any, n: int) -> float:
    """Return the least entry, by four independent minima."""
    s0 = s1 = s2 = s3 = x[0]
    for i in range(0, n - 3, 4):
        s0 = min(s0, x[i])
        s1 = min(s1, x[i + 1])
        s2 = min(s2, x[i + 2])
        s3 = min(s3, x[i + 3])
    for i in range(n - n % 4, n):
        s0 = min(s0, x[i])
    return float(min(min(s0, s1), min(s2, s3)))


@kernel
def draw(a: Any, n: int, u: float) -> float:
    """Return the point with a share u of the mass to its left. O(P)."""
    rest = u * a[MASS, n]
    chosen, part, inside = 0, 1.0, 0.0
    for i in range(n):
        if a[MASS, i] > 0.0:
            chosen, part, inside = i, a[MASS, i], rest
            if rest < a[MASS, i]:
                break
            rest -= a[MASS, i]
    lo, hi = a[EDGE, chosen], a[EDGE, chosen + 1]
    x = lo + (hi - lo) * min(inside / part, 1.0)
    return float(min(x, np.nextafter(hi, lo)))


@kernel
def shares(a: Any, n: int, edges: Any) -> Any:
    """Return the share of the mass between consecutive edges. O(P + edges)."""
    out = np.zeros(edges.size - 1)
    total = a[MASS, n]
    i = 0
    for j in range(out.size):
        while i > 0 and a[EDGE, i] > edges[j]:
            i -= 1
        while i < n - 1 and a[EDGE, i + 1] <= edges[j]:
            i += 1
        while i < n and a[EDGE, i] < edges[j + 1]:
            lo, hi = max(a[EDGE, i], edges[j]), min(a[EDGE, i + 1], edges[j + 1])
            out[j] += a[MASS, i] * ((hi - lo) / (a[EDGE, i + 1] - a[EDGE, i]))
            i += 1
        i = max(i - 1, 0)
        out[j] = out[j] / total
    return out


@kernel
def cut(a: Any, n: int, edges: Any, sets: Any, first: Any) -> int:
    """Cut the pieces at the ends of observed pieces of feedback; return the number of pieces.

    Writes to `first` the piece that begins at each edge. The array must have room for a piece at each.
    O(P + edges · log P).
    """
    cuts = i = 0
    for j in range(edges.size):
        if (j == sets.size or sets[j] < 0) and (j == 0 or sets[j - 1] < 0):
            first[j] = 0  # not observed on either side
            continue
        i = last_at(a[EDGE], i, n, edges[j])
        first[j] = i + cuts
        if a[EDGE, i] < edges[j]:
            cuts += 1
            first[j] = -(i + cuts)  # marks a cut still to be made
    after, end = n + cuts, n
    for j in range(edges.size - 1, -1, -1):
        if first[j] < 0:
            first[j] = -first[j]
            i = first[j] - cuts
            move(a, i, end + 1, cuts)
            divide(a, i, i + cuts, edges[j])
            end, cuts = i, cuts - 1
    return after


@inner
def move(a: Any, start: int, stop: int, by: int) -> None:
    """Copy columns to the right, by way of a buffer because source and target overlap.

    Slices, unlike indices that may be negative, let the compiler vectorise the copies.
    """
    kept = np.empty(stop - start)
    for row in range(ROWS):
        old, new = a[row, start:stop], a[row, start + by : stop + by]
        for i in range(kept.size):
            kept[i] = old[i]
        for i in range(kept.size):
            new[i] = kept[i]


@inner
def last_at(edges: Any, i: int, beyond: int, x: float) -> int:
    """Return the last of the edges i to `beyond` that is not above x."""
    if edges[beyond] <= x:
        return beyond
    while beyond - i > 1:
        middle = (i + beyond) // 2
        if edges[middle] <= x:
            i = middle
        else:
            beyond = middle
    return i


@inner
def divide(a: Any, left: int, right: int, x: float) -> None:
    """Turn two copies of a piece into its parts below and above x; prior and mass are split by width."""
    lo, hi = a[EDGE, left], a[EDGE, right + 1]
    below, above = (x - lo) / (hi - lo), (hi - x) / (hi - lo)
    a[EDGE, right] = x
    for row in (PRIOR, MASS):
        a[row, left] *= below
        a[row, right] *= above


@kernel
def spread(a: Any, n: int, share: float, rate: float) -> None:
    """Mix a share of the prior into the weights (fixed share; Balcan, Dick, Sharma 2020). O(P)."""
    prior = 0.0
    for i in range(n):
        prior += a[PRIOR, i]
    even = share * a[MASS, n] / prior
    level = a[SUM, n]
    for i in range(n):
        if a[PRIOR, i] > 0.0:
            weight = (1.0 - share) * math.exp(-rate * (a[SUM, i] - level)) + even
            a[SUM, i] = level - math.log(weight) / rate
            a[MASS, i] = a[PRIOR, i] * weight


@kernel
def join(a: Any, n: int, target: int, cell_edges: Any, rate: float) -> tuple[int, float]:
    """Join neighbours within a cell, first those whose joining moves the least mass.

    Goes over disjoint pairs in passes. Masses are kept. Returns the number of pieces, and the largest change
    of the logarithm of a weight.
    """
    moved = 0.0
    while n > target:
        score = scores(a, n, cell_edges)
        limit = kth_smallest(score.copy(), n - target)
        before = n
        at = i = 0
        while i < n:
            if score[i] <= limit and score[i] < math.inf:
                moved = max(moved, rate * merge(a, i, at, rate))
                i += 2
            else:
                for row in range(ROWS):
                    a[row, at] = a[row, i]
                i += 1
            at += 1
        for row in range(ROWS):
            a[row, at] = a[row, n]
        n = at
        if n == before:
            break
    return n, moved


@kernel
def kth_smallest(x: Any, k: int) -> float:
    """Return the k-th smallest entry, k from 0; reorders `x`. O(n) in the mean (Hoare's selection).

    np.partition would take ten seconds to compile.
    """
    lo, hi = 0, x.size - 1
    while lo < hi:
        pivot = x[(lo + hi) >> 1]
        i, j = lo, hi
        while i <= j:
            while x[i] < pivot:
                i += 1
            while x[j] > pivot:
                j -= 1
            if i <= j:
                x[i], x[j] = x[j], x[i]
                i += 1
                j -= 1
        if k <= j:
            hi = j
        elif k >= i:
            lo = i
        else:
            break
    return float(x[k])


@inner
def scores(a: Any, n: int, cell_edges: Any) -> Any:
    """Return the mass that moves if a piece is joined with the next; infinite across the end of a cell."""
    score = np.full(n, math.inf)
    c = 0
    for i in range(n - 1):
        while cell_edges[c] < a[EDGE, i + 1]:
            c += 1
        if cell_edges[c] != a[EDGE, i + 1]:
            both = a[PRIOR, i] + a[PRIOR, i + 1]
            part = a[PRIOR, i] / both if both > 0.0 else 0.5
            score[i] = abs(a[MASS, i] - part * (a[MASS, i] + a[MASS, i + 1]))
    return score


@inner
def merge(a: Any, i: int, at: int, rate: float) -> float:
    """Write pieces i and i + 1 as one to column `at`; return the largest change of a sum."""
    both = a[PRIOR, i] + a[PRIOR, i + 1]
    part = a[PRIOR, i] / both if both > 0.0 else 0.5
    s, s2 = a[SUM, i], a[SUM, i + 1]
    least = min(s, s2)
    # The joined sum keeps the mass: exp(-rate · sum) is the mean of both.
    joined = (
        least
        - math.log(part * math.exp(-rate * (s - least)) + (1.0 - part) * math.exp(-rate * (s2 - least)))
        / rate
    )
    # sum - raised must not exceed the unbiased sum of either part.
    unbiased = min(s - a[RAISED, i], s2 - a[RAISED, i + 1])
    for row in (COUNT, LOSS):
        a[row, at] = part * a[row, i] + (1.0 - part) * a[row, i + 1]
    mass = a[MASS, i] + a[MASS, i + 1]
    a[EDGE, at], a[PRIOR, at], a[MASS, at] = a[EDGE, i], both, mass
    a[SUM, at], a[RAISED, at] = joined, joined - unbiased
    return float(max(abs(s - joined), abs(s2 - joined)))
