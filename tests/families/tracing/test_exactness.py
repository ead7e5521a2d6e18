"""Crossings of lines and powers on extreme scales, against rational and 200-bit arithmetic."""

import math
from fractions import Fraction
from itertools import pairwise

import mpmath
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import semibandit as sb

LO, HI = 0.0, 8.0


def rounded(x):
    """Round a rational number to 43 significant bits, ties to even."""
    if x == 0:
        return 0.0
    e = math.floor(math.log2(abs(x.numerator)) - math.log2(x.denominator)) - 43
    e += abs(x) >= Fraction(2) ** (e + 44)
    e -= abs(x) < Fraction(2) ** (e + 43)
    return float(round(x / Fraction(2) ** (e + 1)) * Fraction(2) ** (e + 1))


def revealed(values, rho):
    """Interval and order of a sort of the functions that `values` returns."""
    orders = []

    @sb.traced(sb.Interval(LO, HI))
    def run(rho):
        orders.append(np.argsort(values(rho)).tolist())
        return 0.0

    return run().reveal(rho).domain[0], orders[0]


scales = st.sampled_from([1.0, 1e-300, 1e-305, 5e-324, 1e-160, 1e150, 1e299, 2.0**-1030])
small = st.one_of(st.integers(-6, 6).map(float), st.floats(-5, 5))


@given(
    lines=st.lists(st.tuples(small, small), min_size=2, max_size=5),
    scale=scales,
    rho=st.one_of(st.sampled_from([0.0, 0.5, 1.0, 2.0]), st.floats(0, 7.9)),
)
def test_order_of_lines_is_exact_on_every_scale(lines, scale, rho):
    a, b = (np.array(each) * scale for each in zip(*lines, strict=True))
    (lo, hi), order = revealed(lambda r: a + r * b, rho)
    exact = [(Fraction(float(x)), Fraction(float(y))) for x, y in zip(a, b, strict=True)]
    edges = {
        0.0 if abs(at) < Fraction(1, 10**200) else rounded(at)
        for i, (x, y) in enumerate(exact)
        for u, v in exact[:i]
        if v != y and -1 < (at := (x - u) / (v - y)) < 10
    }
    assert lo == LO or lo in edges
    assert hi == HI or hi in edges
    inner = sorted({lo, hi, *(x for x in edges if lo < x < hi)})
    for left, right in pairwise(inner):
        middle = (Fraction(left) + Fraction(right)) / 2
        assert order == sorted(range(len(a)), key=lambda i: (exact[i][0] + middle * exact[i][1], i))


base = st.one_of(st.integers(1, 9).map(float), st.floats(0.1, 10), st.floats(1, 1 + 1e-6))
factor = st.sampled_from([1.0, 1e-300, 1e300, 1e6, 1e-12])


@given(
    items=st.lists(st.tuples(base, base, base, st.integers(-3, 3)), min_size=2, max_size=4),
    scale=factor,
    shift=st.sampled_from([0.0, 600.0, -600.0]),
    rho=st.one_of(st.sampled_from([0.0, 0.5, 1.0, 2.0]), st.floats(0, 7.9)),
)
def test_order_of_powers_is_exact_on_every_scale(items, scale, shift, rho):
    k, p, q, c = map(np.array, zip(*items, strict=True))
    k = k * math.exp(-shift / 2)
    c = c + shift
    (lo, hi), order = revealed(lambda r: k * (p * scale) ** r / (q * scale) ** r * np.exp(0 * r + c), rho)
    with mpmath.workdps(80):

        def log(i, x):
            k_, p_, q_ = (mpmath.mpf(float(each)) for each in (k[i], p[i] * scale, q[i] * scale))
            return mpmath.log(k_) + float(c[i]) + x * (mpmath.log(p_) - mpmath.log(q_))

        for x in (lo + (hi - lo) * u for u in (1e-3, 0.3, 0.7, 1 - 1e-3)):
            for i, j in pairwise(order):
                gap = log(j, mpmath.mpf(x)) - log(i, mpmath.mpf(x))
                assert gap > -(mpmath.mpf(10) ** -28)
        for end in (lo, hi):  # two neighbours are equal there
            if LO < end < HI:
                gaps = [
                    abs(log(i, x) - log(j, x))
                    for x in [mpmath.mpf(end)]
                    for i in order
                    for j in order
                    if i < j
                ]
                assert min(gap for gap in gaps) < 1e-9


@given(st.integers(0, 10**6), st.sampled_from([1.0, 3.0, 1 / 3, 1e6]))
def test_knapsacks_have_the_edges_of_the_exact_family(seed, scale):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 12))
    values, sizes = rng.integers(1, 6, (2, n)) * scale

    @sb.traced(sb.Interval(0, 10), high=1e9)
    def order(rho, values, sizes):
        return float(np.dot(np.argsort(-values / sizes**rho), np.arange(n)))

    exact = sb.Knapsack(values, sizes, sizes.sum(), partition="order").losses("order")
    np.testing.assert_array_equal(order(values, sizes).losses().edges, exact.edges)
