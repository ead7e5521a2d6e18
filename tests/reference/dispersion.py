"""Dispersion counted by brute force."""

import math


def worst_count(functions, eps):
    """Return the most functions with a discontinuity in a closed interval of length eps."""
    best = 0
    for points in functions:
        for left in points:
            best = max(best, sum(any(0 <= x - left <= eps for x in other) for other in functions))
    return best


def worst_points(functions, eps):
    """Return the most discontinuities (not functions) in such an interval."""
    points = [x for function in functions for x in function]
    return max((sum(0 <= x - left <= eps for x in points) for left in points), default=0)


def smallest_span(functions, k):
    """Return the length of the shortest closed interval in which k functions have a discontinuity."""
    points = sorted(x for function in functions for x in function)
    best = math.inf
    for left in points:
        for right in points:
            if right >= left and right - left < best:
                inside = sum(any(left <= x <= right for x in function) for function in functions)
                if inside >= k:
                    best = right - left
    return best
