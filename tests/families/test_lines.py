"""Crossings and order of lines, against rational arithmetic."""

import math

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from reference import lines as reference
from semibandit.families.lines import crossing, top

numbers = st.one_of(
    st.integers(-4, 4).map(float),
    st.floats(-1e3, 1e3, allow_subnormal=False),
    st.floats(-1e100, 1e100, allow_subnormal=False),
    st.integers(-9, 9).map(lambda i: 1.0 + i * 2.0**-52),
)


def moderate(x):
    return x == 0.0 or 1e-100 <= abs(x) <= 1e200


@settings(max_examples=200)
@given(numbers, numbers, numbers, numbers)
@example(0.0, 1.0, 2.0**-43 + 1.0, 0.0)  # half-way between two numbers of 43 bits
@example(0.0, -1.0, -(2.0**-43) - 1.0, 0.0)
@example(0.0, 3.0, 1.0, 0.0)
def test_crossings_are_rounded_correctly(ai, bi, aj, bj):
    if bi == bj or not all(map(moderate, (ai, bi, aj, bj, aj - ai, bi - bj))):
        return
    c = reference.crossing((ai, bi), (aj, bj))
    if moderate(c):
        assert crossing(ai, bi, aj, bj) == crossing(aj, bj, ai, bi) == c


def test_crossings_of_extreme_lines_are_finite_and_in_order():
    far = crossing(-1e100, 0.0, 1e100, -5e-324)
    assert crossing(-1e100, 0.0, 1e100, 5e-324) == -far
    assert 1e200 < far < math.inf
    assert crossing(0.0, 1e100, 5e-324, -1e100) == 0.0


@settings(max_examples=80)
@given(
    st.lists(st.tuples(numbers, numbers), min_size=1, max_size=7),
    st.integers(1, 7),
    st.one_of(st.integers(-3, 3).map(float), st.floats(-10, 10)),
)
def test_the_top_lines_and_their_interval_are_those_of_exact_arithmetic(lines, k, rho):
    if not all(moderate(x) for line in lines for x in line):
        return
    a, b = map(np.array, zip(*lines, strict=True))
    k = min(k, len(lines))
    found, lo, hi = top(a, b, k, rho, -math.inf, math.inf)
    expected = reference.order(lines, rho)
    assert found.tolist() == expected[:k]
    edges = [
        reference.crossing(lines[i], lines[j]) for n, i in enumerate(expected[:k]) for j in expected[n + 1 :]
    ]
    edges = [c for c in edges if c is not None]
    assert lo == max((c for c in edges if c <= rho), default=-math.inf)
    assert hi == min((c for c in edges if c > rho), default=math.inf)
