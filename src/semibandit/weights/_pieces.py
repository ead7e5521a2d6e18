"""Kernels on the pieces of weights with a local baseline, which lie in one array and change in place.

The array has a column for each of n pieces, one for the end of the line, and spare columns. Its rows:

    EDGE      left end of the piece
    PRIOR     mass before the first round
    FAST      sum of the estimates of the fast learner; its weight is prior · exp(-rate · sum)
    SAFE      sum of the unbiased estimates of the safe learner
    RAISED    amount by which joins and slopes made SAFE larger than an unbiased estimate
    COUNT     weighted number of rounds that observed the piece
    LOSS      weighted sum of the losses that they observed there
    OF_FAST   prior · exp(-rate · (sum - level)) of the fast learner; the level, the least sum, is stored in
              column n of FAST, the total in column n of OF_FAST
    OF_SAFE   the same for the safe learner
    MASS      share of the piece in the mixture of both, from which parameters are drawn; the total is 1
"""

import math
from typing import Any

import numpy as np

from semibandit._jit import inner, kernel

EDGE, PRIOR, FAST, SAFE, RAISED, COUNT, LOSS, OF_FAST, OF_SAFE, MASS = range(10)
ROWS = 10

# ln 2 in two parts, the first with zeros at its end: the product with an exponent is exact.
_LN2, _LN2_REST = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_LOWEST = -708.0  # exponentials of lower numbers are subnormal
_WHOLE = 1.5 * 2.0**52  # adding it to a number rounds that to an integer


@kernel
def weigh(a: Any, n: int, rates: tuple[float, float], share: float) -> None:
    """Compute all masses; `share` is that of the safe learner in the mixture. O(P)."""
    weigh_one(a, n, FAST, OF_FAST, rates[0])
    weigh_one(a, n, SAFE, OF_SAFE, rates[1])
    mix(a, n, share)


@inner
def weigh_one(a: Any, n: int, sums: int, masses: int, rate: float) -> None:
    """Compute the masses of one learner, its level and its total."""
    total, mass = a[sums], a[masses]
    least = least_of(total, n)
    for i in range(n):
        mass[i] = rate * (least - total[i])
    exponentials(mass, n)
    for i in range(n):
        mass[i] *= a[PRIOR, i]
    total[n], mass[n] = least, sum_of(mass, n)


@inner
def mix(a: Any, n: int, share: float) -> None:
    """Compute the shares of the mixture."""
    fast, safe, out = a[OF_FAST], a[OF_SAFE], a[MASS]
    of_fast, of_safe = (1.0 - share) / fast[n], share / safe[n]
    for i in range(n):
        out[i] = of_fast * fast[i] + of_safe * safe[i]
    out[n] = sum_of(out, n)


@inner
def soft_minimum(a: Any, n: int, rate: float) -> float:
    """Return -ln(mean of exp(-rate · sum) by the prior) / rate, for the sums of the safe learner."""
    return float(a[SAFE, n] - math.log(a[OF_SAFE, n] / sum_of(a[PRIOR], n)) / rate)


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
def shares(a: Any, n: int, row: int, edges: Any) -> Any:
    """Return the share between consecutive edges of the masses in a row. O(log P + pieces + edges)."""
    out = np.zeros(edges.size - 1)
    ends, mass = a[EDGE], a[row]
    i = last_at(ends, 0, n, edges[0]) if edges[0] > ends[0] else 0
    for j in range(out.size):
        while i < n and ends[i] < edges[j + 1]:
            lo, hi = max(ends[i], edges[j]), min(ends[i + 1], edges[j + 1])
            if lo > ends[i] or hi < ends[i + 1]:
                out[j] += mass[i] * (max(hi - lo, 0.0) / (ends[i + 1] - ends[i]))
            else:
                out[j] += mass[i]
            if ends[i + 1] > edges[j + 1]:
                break  # the rest of the piece belongs to the next share
            i += 1
    for j in range(out.size):
        out[j] /= mass[n]
    return out


@kernel
def all_shares(a: Any, n: int, edges: Any) -> Any:
    """Return `shares` of the mixture, the fast learner and the safe learner. O(log P + pieces + edges)."""
    out = np.empty((3, edges.size - 1))
    out[0] = shares(a, n, MASS, edges)
    out[1] = shares(a, n, OF_FAST, edges)
    out[2] = shares(a, n, OF_SAFE, edges)
    return out


@kernel
def shares_beside(a: Any, n: int, other: Any, m: int, part: float) -> Any:
    """Return `all_shares` of the n pieces, the first row mixed with a part of the m other pieces. O(P)."""
    out = np.empty((3, n))
    beside = shares(other, m, MASS, a[EDGE, : n + 1])
    for i in range(n):
        out[0, i] = (1.0 - part) * (a[MASS, i] / a[MASS, n]) + part * beside[i]
    for i in range(n):
        out[1, i] = a[OF_FAST, i] / a[OF_FAST, n]
    for i in range(n):
        out[2, i] = a[OF_SAFE, i] / a[OF_SAFE, n]
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
    for row in (PRIOR, OF_FAST, OF_SAFE, MASS):
        a[row, left] *= below
        a[row, right] *= above


@kernel
def spread(a: Any, n: int, share: float, rates: tuple[float, float]) -> None:
    """Mix a share of the prior into the weights of both learners (Balcan, Dick, Sharma 2020). O(P)."""
    for sums, masses, rate in ((FAST, OF_FAST, rates[0]), (SAFE, OF_SAFE, rates[1])):
        even = share * a[masses, n] / sum_of(a[PRIOR], n)
        level = a[sums, n]
        for i in range(n):
            weight = (1.0 - share) * math.exp(-rate * (a[sums, i] - level)) + even
            a[sums, i] = level - math.log(weight) / rate


@kernel
def join(a: Any, n: int, target: int, cell_edges: Any, rates: tuple[float, float]) -> tuple[int, float]:
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
                moved = max(moved, merge(a, i, at, rates))
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
def merge(a: Any, i: int, at: int, rates: tuple[float, float]) -> float:
    """Write pieces i and i + 1 as one to column `at`; return the largest change of a log-weight.

    The masses of both learners are kept.
    """
    both = a[PRIOR, i] + a[PRIOR, i + 1]
    part = a[PRIOR, i] / both if both > 0.0 else 0.5
    fast = joined_sum(a[FAST, i], a[FAST, i + 1], part, rates[0])
    safe = joined_sum(a[SAFE, i], a[SAFE, i + 1], part, rates[1])
    moved = max(
        rates[0] * max(abs(a[FAST, i] - fast), abs(a[FAST, i + 1] - fast)),
        rates[1] * max(abs(a[SAFE, i] - safe), abs(a[SAFE, i + 1] - safe)),
    )
    # safe - raised must not exceed the unbiased sum of either part.
    unbiased = min(a[SAFE, i] - a[RAISED, i], a[SAFE, i + 1] - a[RAISED, i + 1])
    for row in (COUNT, LOSS):
        a[row, at] = part * a[row, i] + (1.0 - part) * a[row, i + 1]
    for row in (OF_FAST, OF_SAFE, MASS):
        a[row, at] = a[row, i] + a[row, i + 1]
    a[EDGE, at], a[PRIOR, at] = a[EDGE, i], both
    a[FAST, at], a[SAFE, at], a[RAISED, at] = fast, safe, safe - unbiased
    return float(moved)


@inner
def joined_sum(x: float, y: float, part: float, rate: float) -> float:
    """Return the sum of a joined piece: exp(-rate · sum) is the mean of those of both, by their parts."""
    least = min(x, y)
    if rate <= 0.0:
        return part * x + (1.0 - part) * y
    mean = part * math.exp(-rate * (x - least)) + (1.0 - part) * math.exp(-rate * (y - least))
    return least - math.log(mean) / rate
