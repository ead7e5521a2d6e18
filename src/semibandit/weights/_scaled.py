"""Scaled numbers: m·2^e with a float mantissa and an integer exponent of its own.

Sums and products of weights keep full relative precision at any magnitude, and nothing overflows or is
flushed to zero. Numbers that are multiplied repeatedly also have a `tail`, the part of the mantissa that does
not fit into a float: the rounding errors of a repeated factor all have the same sign. Readers ignore tails.
"""

import math

import numpy as np

from semibandit._jit import inner, kernel
from semibandit._numerics import two_product

LN2 = math.log(2.0)
LN2_TAIL = 2.3190468138462996e-17  # ln 2 is LN2 + LN2_TAIL to 107 bits
# Terms 2^-128 below the largest cannot change a float sum; they are left out of sums, and kept otherwise.
DEEPEST = 128
# Logarithms of factors stay below this: exponents then have room for millions of the largest ones.
LARGEST_LOG = 2.0**40
POWERS = np.ldexp(1.0, -np.arange(DEEPEST))


@inner
def normal(m: float, e: int) -> tuple[float, int]:
    """Return the same number with its mantissa in [0.5, 1)."""
    mantissa, shift = math.frexp(m)
    return mantissa, e + shift


@inner
def plus(m: float, e: int, m2: float, e2: int) -> tuple[float, int]:
    """Return the sum of two scaled numbers, not normalised; zero has mantissa 0.

    Mantissas may be sums of thousands; only mantissas near zero would make exponents incomparable.
    """
    if m == 0.0:
        return m2, e2
    if m2 == 0.0:
        return m, e
    if e >= e2:
        return (m + m2 * POWERS[e - e2], e) if e - e2 < DEEPEST else (m, e)
    return (m2 + m * POWERS[e2 - e], e2) if e2 - e < DEEPEST else (m2, e2)


@inner
def part_of(m: float, e: int, part: float, whole: float) -> tuple[float, int]:
    """Return m·2^e times part / whole, two lengths whose quotient alone might underflow."""
    m1, e1 = math.frexp(part)
    m2, e2 = math.frexp(whole)
    return normal(m * (m1 / m2), e + e1 - e2)


@inner
def exact_sum(a: float, b: float) -> tuple[float, float]:
    """Return a + b as a float and its rounding error, for |b| below |a|."""
    total = a + b
    return total, b - (total - a)


@inner
def times(m: float, tail: float, e: int, m2: float, tail2: float, e2: int) -> tuple[float, float, int]:
    """Return the product of two scaled numbers with tails."""
    p, rest = two_product(m, m2)
    m, tail = exact_sum(p, rest + (m * tail2 + tail * m2))
    e += e2
    # By comparison: frexp would take longer than all of the above.
    if m < 0.5:
        m, tail, e = 2.0 * m, 2.0 * tail, e - 1
    elif m >= 1.0:
        m, tail, e = 0.5 * m, 0.5 * tail, e + 1
    return m, tail, e


@inner
def scaled_exp(x: float) -> tuple[float, float, int]:
    """exp(x) as a scaled number with a tail, right to 2^-70, for x up to LARGEST_LOG in size."""
    e = round(x / LN2)
    p, rest = two_product(e, LN2)
    r, rest = exact_sum(x - p, -rest - e * LN2_TAIL)
    # exp(r / 32) - 1 in two floats: the series, with an exact square where it matters.
    s = r / 32.0
    q, q_rest = two_product(s, s)
    series = 0.0
    for i in range(11, 2, -1):
        series = (series + 1.0) * s / i
    high, low = exact_sum(s, 0.5 * q)
    high, low = exact_sum(high, low + 0.5 * (q_rest + q * series) + (1.0 + s) * (rest / 32.0))
    # Back to r: exp(2s) - 1 = 2·(exp(s) - 1) + (exp(s) - 1)².
    for _ in range(5):
        q, q_rest = two_product(high, high)
        rest = 2.0 * (low + high * low) + q_rest
        high, low = exact_sum(2.0 * high, q)
        high, low = exact_sum(high, low + rest)
    m, rest = exact_sum(1.0, high)
    return times(m, rest + low, int(e), 0.5, 0.0, 1)


@kernel
def log(m: float, e: int) -> float:
    """Return the natural logarithm; -inf for zero."""
    return math.log(m) + e * LN2 if m > 0.0 else -math.inf


@kernel
def ratio(m: float, e: int, m2: float, e2: int) -> float:
    """Return the quotient as a float (0 if it underflows)."""
    return float(math.ldexp(m / m2, int(max(min(e - e2, 2000), -2000))))
