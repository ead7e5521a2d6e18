"""Sweeps over sorted breaks that count how many functions break inside a sliding window.

A break is a place x. The sweeps read the breaks in increasing order, each with the `previous` and the `next`
break of the same function. A function begins to count when one of its breaks enters the window while its
previous one is outside; it ceases to count when one leaves and its next one has not entered. So no sweep
needs a counter per function.
"""

import numpy as np

from semibandit._jit import inner, kernel
from semibandit._numerics import two_sum
from semibandit._validate import FloatArray, IntArray


@kernel
def neighbours(x: FloatArray, owner: IntArray, n_functions: int) -> tuple[FloatArray, FloatArray]:
    """Return the previous and the next break of the same function; -inf and inf where there is none."""
    last = np.full(n_functions, -1)
    before, after = np.full(x.size, -np.inf), np.full(x.size, np.inf)
    for i in range(x.size):
        j = last[owner[i]]
        if j >= 0:
            before[i], after[j] = x[j], x[i]
        last[owner[i]] = i
    return before, after


@inner
def within(left: float, right: float, eps: float) -> bool:
    """Return whether right - left <= eps, exactly.

    Rounding is monotone, so only a rounded difference equal to eps is in doubt; the rounding error decides.
    """
    difference = right - left
    return difference < eps or (difference == eps and two_sum(right, -left)[1] <= 0.0)


@kernel
def worst_window(x: FloatArray, previous: FloatArray, following: FloatArray, eps: float) -> tuple[int, int]:
    """Return the most functions in a closed window of length eps, and the index of its first break. O(N).

    From each break the window grows until it holds more functions than any window before; only then its
    length is compared with eps. The branches are predictable: three times as fast as a window that is always
    kept as long as eps allows.
    """
    most, where, count, entered, right = 0, 0, 0, 0, -np.inf
    n = x.size
    for i in range(n):
        left = x[i]
        if i == 0 or left > x[i - 1]:
            # Ties enter together, so that a break is inside exactly if it is <= right.
            while entered < n and (count <= most or x[entered] == right):
                right = x[entered]
                if previous[entered] < left:
                    count += 1
                entered += 1
            if count <= most:
                break
            if within(left, right, eps):
                while entered < n and within(left, x[entered], eps):
                    right = x[entered]
                    if previous[entered] < left:
                        count += 1
                    entered += 1
                most, where = count, i
        if right < following[i]:
            count -= 1
    return most, where


@kernel
def smallest_span(x: FloatArray, previous: FloatArray, following: FloatArray, k: int) -> tuple[float, int]:
    """Return the rounded length of the shortest window in which k functions break, and its first index."""
    best, where, count, entered, right = np.inf, 0, 0, 0, -np.inf
    n = x.size
    for i in range(n):
        left = x[i]
        if i == 0 or left > x[i - 1]:
            while entered < n and (count < k or x[entered] == right):
                right = x[entered]
                if previous[entered] < left:
                    count += 1
                entered += 1
            if count < k:
                break
            if right - left < best:
                best, where = right - left, i
        if right < following[i]:
            count -= 1
    return best, where
