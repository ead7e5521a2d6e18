"""Piecewise constant and linear functions in rational arithmetic, and exp of them to 60 digits."""

import itertools
import math
from fractions import Fraction

import mpmath as mp

mp.mp.dps = 60


def pieces(function):
    """[(lo, hi, left, right), ...]; ends are None where nothing was seen."""
    edges = [Fraction(x) for x in function.edges.tolist()]
    ends = [
        (None, None) if math.isnan(a) else (Fraction(a), Fraction(b))
        for a, b in zip(*(end.tolist() for end in function.ends), strict=True)
    ]
    return [(lo, hi, *pair) for lo, hi, pair in zip(edges[:-1], edges[1:], ends, strict=True)]


def on_line(piece, x):
    lo, hi, left, right = piece
    return None if left is None else left + (right - left) * (x - lo) / (hi - lo)


def value(function, x):
    """Right-continuous, the last end closed."""
    for piece in function:
        if piece[0] <= x < piece[1]:
            return on_line(piece, x)
    assert x == function[-1][1]
    return on_line(function[-1], x)


def total(functions):
    """The pointwise sum on the common refinement, seen where all functions are."""
    ends = sorted({end for function in functions for piece in function for end in piece[:2]})
    result = []
    for lo, hi in itertools.pairwise(ends):
        lines = [next((p for p in function if p[0] <= lo < p[1]), None) for function in functions]
        if all(line is not None and line[2] is not None for line in lines):
            result.append((lo, hi, sum(on_line(p, lo) for p in lines), sum(on_line(p, hi) for p in lines)))
        else:
            result.append((lo, hi, None, None))
    return result


def integral(function):
    return sum(((hi - lo) * (a + b) / 2 for lo, hi, a, b in function if a is not None), Fraction(0))


def domain(function):
    """The stretches where it is seen."""
    return joined([(lo, hi, None if a is None else 0, None) for lo, hi, a, _ in function])


def joined(steps):
    """The stretches (lo, hi) of neighbours with equal values; those not seen are left out."""
    found = []
    for lo, hi, step, _ in steps:
        if found and found[-1][2] == step:
            lo = found.pop()[0]
        found.append((lo, hi, step))
    return [(lo, hi) for lo, hi, step in found if step is not None]


def argmin(steps):
    """The widest stretch on which a step function attains its minimum, the leftmost of equals."""
    lowest = min(step for _, _, step, _ in steps if step is not None)
    best = joined([(lo, hi, step if step == lowest else None, None) for lo, hi, step, _ in steps])
    return max(best, key=lambda stretch: stretch[1] - stretch[0])


def exponential_integral(function, lo, hi):
    """∫ exp(function) over [lo, hi], to 60 digits."""
    result = mp.mpf(0)
    for piece in function:
        a, b = max(piece[0], Fraction(lo)), min(piece[1], Fraction(hi))
        if a < b:
            left, right = (_mp(on_line(piece, x)) for x in (a, b))
            width = _mp(b - a)
            if left == right:
                result += width * mp.exp(left)
            else:
                result += width * mp.exp(left) * mp.expm1(right - left) / (right - left)
    return result


def _mp(x):
    return mp.mpf(x.numerator) / mp.mpf(x.denominator)
