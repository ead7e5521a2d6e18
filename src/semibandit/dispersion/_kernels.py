"""Sweeps over sorted breaks: how many functions break inside a sliding window.

A break is an interval [start, end] that a window must contain for its function to count (start = end for a
discontinuity). Breaks of one function do not overlap, so they have the same order by start and by end. The
sweeps see each break twice:

- by start: `starts`, with the `own_end` of the same break and the `next_end` of the function's next one;
- by end: `ends`, with the `own_start` of the same break and the `prev_start` of the function's previous one.

A function begins to count when one of its breaks enters the window and the previous one is no longer inside;
it ceases to count when one leaves and the next one has not entered. So the sweep only streams through the
arrays: no per-function counters, no random access.
"""

import numpy as np
import numpy.typing as npt

from semibandit._jit import kernel
from semibandit._numerics import two_sum
from semibandit._validate import FloatArray

IntArray = npt.NDArray[np.int64]


@kernel
def previous(values: FloatArray, owner: IntArray, n_functions: int) -> FloatArray:
    """For each entry the last earlier value of the same owner, -inf if there is none."""
    last = np.full(n_functions, -np.inf)
    result = np.empty(values.size)
    for i in range(values.size):
        result[i] = last[owner[i]]
        last[owner[i]] = values[i]
    return result


@kernel
def following(values: FloatArray, owner: IntArray, n_functions: int) -> FloatArray:
    """For each entry the first later value of the same owner, inf if there is none."""
    last = np.full(n_functions, np.inf)
    result = np.empty(values.size)
    for i in range(values.size - 1, -1, -1):
        result[i] = last[owner[i]]
        last[owner[i]] = values[i]
    return result


@kernel
def within(left: float, right: float, eps: float) -> bool:
    """Whether right - left <= eps, exactly.

    Rounding keeps the order: only a rounded difference of eps leaves a doubt, and what was lost settles it.
    """
    difference = right - left
    return difference < eps or (difference == eps and two_sum(right, -left)[1] <= 0.0)


@kernel
def worst_window(
    starts: FloatArray,
    own_end: FloatArray,
    next_end: FloatArray,
    ends: FloatArray,
    own_start: FloatArray,
    prev_start: FloatArray,
    eps: float,
) -> tuple[int, int]:
    """The most functions in a closed window of length eps, and the index of the start where it begins.

    From each start the window grows until it holds more functions than any before; that it is short enough
    is then rare. So nearly every branch goes as it went before, and the processor guesses it: three times
    as fast as the textbook window that is kept as long as allowed.
    """
    most, where, count, entered, right = 0, 0, 0, 0, -np.inf
    n = starts.size
    for i in range(n):
        left = starts[i]
        if i == 0 or left > starts[i - 1]:
            # Ties of the last one enter with it, so that inside means: end <= right.
            while entered < n and (count <= most or ends[entered] == right):
                right = ends[entered]
                # What starts before the window does not lie inside it.
                if prev_start[entered] < left <= own_start[entered]:
                    count += 1
                entered += 1
            if count <= most:
                break
            if within(left, right, eps):
                while entered < n and within(left, ends[entered], eps):
                    right = ends[entered]
                    if prev_start[entered] < left <= own_start[entered]:
                        count += 1
                    entered += 1
                most, where = count, i
        if own_end[i] <= right < next_end[i]:
            count -= 1
    return most, where


@kernel
def most_breaks(starts: FloatArray, length: float) -> int:
    """The most breaks (not functions) that start in a closed window of this length."""
    most, left = 0, 0
    for right in range(starts.size):
        while not within(starts[left], starts[right], length):
            left += 1
        most = max(most, right - left + 1)
    return most


@kernel
def smallest_span(
    starts: FloatArray,
    own_end: FloatArray,
    next_end: FloatArray,
    ends: FloatArray,
    own_start: FloatArray,
    prev_start: FloatArray,
    k: int,
) -> tuple[float, int]:
    """The length, rounded, of the shortest window in which k functions break, and the index of its start."""
    best, where, count, entered, right = np.inf, 0, 0, 0, -np.inf
    n = starts.size
    for i in range(n):
        left = starts[i]
        if i == 0 or left > starts[i - 1]:
            # Enter what it takes to reach k, and ties of the last one: inside means that end <= right.
            while entered < n and (count < k or ends[entered] == right):
                right = ends[entered]
                if prev_start[entered] < left <= own_start[entered]:
                    count += 1
                entered += 1
            if count < k:
                break
            if right - left < best:
                best, where = right - left, i
        if own_end[i] <= right < next_end[i]:
            count -= 1
    return best, where


@kernel
def worst_pair(
    x: FloatArray,
    before: FloatArray,
    after: FloatArray,
    owner: IntArray,
    n_functions: int,
    eps: float,
    lipschitz: float,
) -> tuple[int, int]:
    """The most step functions that change by more than L times the distance between two points.

    The first point lies just left of the jump x[i], the second at a jump within eps of it. A function that
    has changed by c since x[i] violates the condition up to the distance |c|/L; these stretches are added up
    in a difference array. O(W log W) for the W jumps in the window of each i.
    """
    n = x.size
    difference = np.zeros(n + 1, dtype=np.int64)
    base = np.zeros(n_functions)
    until = np.zeros(n_functions, dtype=np.int64)
    seen = np.full(n_functions, -1, dtype=np.int64)
    most, where, stop = 0, 0, 0
    for i in range(n):
        while stop < n and within(x[i], x[stop], eps):
            stop += 1
        if i > 0 and x[i] == x[i - 1]:
            continue
        for j in range(i, stop):
            t = owner[j]
            if seen[t] != i:
                seen[t], base[t], until[t] = i, before[j], j
            elif until[t] > j:  # this jump ends the stretch begun by the previous one
                difference[j] -= 1
                difference[until[t]] += 1
            change = abs(after[j] - base[t])
            low, high = j, stop  # the first index at which the change is no longer too large
            while low < high:
                middle = (low + high) // 2
                if change > lipschitz * (x[middle] - x[i]):
                    low = middle + 1
                else:
                    high = middle
            until[t] = low
            if low > j:
                difference[j] += 1
                difference[low] -= 1
        count = 0
        for j in range(i, stop):
            count += difference[j]
            difference[j] = 0
            if count > most and (j + 1 == n or x[j + 1] > x[j]):
                most, where = count, i
        difference[stop] = 0
    return most, where
