"""Sums without rounding, against fractions."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import semibandit as sb
from semibandit.functions.dyadic import Dyadic
from semibandit.functions.exact import ExactSum

DOUBLES = st.floats(allow_nan=False, allow_infinity=False, width=64)
NASTY = [0.0, -0.0, 5e-324, -5e-324, 2.2e-308, 1e-300, 1.0, 2.0**53, 2.0**53 + 2, 1e300, -1e300, 0.1]


def nearest(fraction):
    try:
        return float(fraction)  # Python rounds correctly
    except OverflowError:
        return math.inf if fraction > 0 else -math.inf


@given(st.lists(st.one_of(DOUBLES, st.sampled_from(NASTY)), min_size=1, max_size=40))
def test_running_sums_are_rounded_correctly(values):
    expected = [nearest(total) for total in itertools.accumulate(map(Fraction, values))]
    sums = Dyadic.of(np.array(values)).running_sums()
    if math.inf in map(abs, expected):
        with pytest.raises(ValueError, match="finite"):
            sums.to_floats()
    else:
        assert sums.to_floats().tolist() == expected


# -- functions -----------------------------------------------------------------------------------------

EDGES = st.lists(st.sampled_from([k / 8 for k in range(1, 8)]), max_size=4, unique=True).map(sorted)
VALUES = st.one_of(
    st.floats(0, 1), st.sampled_from([0.1, 0.2, 0.3, 1e-17, 1e16, -1e16]), st.floats(-1e250, 1e250)
)


@st.composite
def steps(draw, values=VALUES):
    edges = [0.0, *draw(EDGES), 1.0]
    return sb.PiecewiseConstant(edges, [draw(values) for _ in edges[1:]])


@st.composite
def lines(draw, values=VALUES):
    edges = [0.0, *draw(EDGES), 1.0]
    left, right = ([draw(values) for _ in edges[1:]] for _ in range(2))
    return sb.PiecewiseLinear(edges, left, right)


def split(functions, cuts):
    """Sums of consecutive parts."""
    bounds = [0, *sorted(cuts), len(functions)]
    return [ExactSum.of(functions[a:b]) for a, b in itertools.pairwise(bounds) if a < b]


def regrouped(functions, data):
    """The sum of sums of random parts, in random order."""
    cuts = data.draw(st.lists(st.integers(0, len(functions)), max_size=4))
    parts = data.draw(st.permutations(split(functions, cuts)))
    middle = data.draw(st.integers(1, len(parts)))
    return ExactSum.merge([ExactSum.merge(parts[:middle]), *parts[middle:]])


@given(st.lists(steps(), min_size=1, max_size=12), st.data())
def test_steps_are_added_exactly_in_every_grouping(functions, data):
    total = regrouped(functions, data)
    result = total.function()
    assert result == ExactSum.of(functions).function()
    assert total.count == len(functions)
    for x, value in zip(result.edges, result.values, strict=False):
        assert value == nearest(sum(Fraction(f(float(x))) for f in functions))


@given(st.lists(st.one_of(steps(), lines()), min_size=1, max_size=8), st.data())
def test_sums_of_lines_are_the_same_in_every_grouping(functions, data):
    assert regrouped(functions, data).function() == ExactSum.of(functions).function()


@given(st.lists(lines(st.floats(0, 1)), min_size=1, max_size=8))
def test_sums_of_losses_are_not_negative(functions):
    total = ExactSum.of(functions).function()
    assert total.min() >= 0.0
    ends = [f.right[-1] for f in functions]
    assert total(1.0) == pytest.approx(math.fsum(ends), rel=1e-15, abs=1e-30)


def line_at(function, x, side):
    """The value at an edge of another function from the right (0) or from the left (1), as a fraction."""
    edges = [Fraction(e) for e in function.edges.tolist()]
    i = max(k for k, e in enumerate(edges[:-1]) if (e < x if side else e <= x))
    left, right = (Fraction(float(end[i])) for end in function.ends)
    return left + (right - left) * (x - edges[i]) / (edges[i + 1] - edges[i])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_lines_are_right_to_rounding(seed):
    random = np.random.default_rng(seed)
    functions = []
    for _ in range(30):
        edges = np.r_[0, np.sort(random.random(4)), 1]
        functions.append(sb.PiecewiseLinear(edges, *(random.random((2, 5)) * 10.0 ** random.integers(-3, 4))))
    functions += [sb.PiecewiseConstant([0, 0.3, 1], [0.1, 0.7])] * 2
    total = ExactSum.of(functions).function()
    for i, (a, b) in enumerate(itertools.pairwise(map(Fraction, total.edges.tolist()))):
        left = sum(line_at(f, a, 0) for f in functions)
        right = sum(line_at(f, b, 1) for f in functions)
        assert abs(Fraction(float(total.left[i])) - left) <= 2**-52 * abs(left)
        assert abs(Fraction(float(total.right[i])) - right) <= 2**-52 * abs(right)


def test_sums_beyond_doubles_are_an_error():
    with pytest.raises(ValueError, match="finite"):
        ExactSum.of([sb.PiecewiseConstant([0, 1], [1.7e308])] * 2).function()
