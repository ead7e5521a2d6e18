"""PiecewiseLinear against exact rational arithmetic, and against what one should not pass to it."""

import copy
import json
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference import linear_functions as reference
from semibandit import PiecewiseConstant, PiecewiseLinear

NAN = math.nan

values = st.one_of(st.floats(-1e6, 1e6), st.sampled_from([0.0, -0.0, 0.1, 0.2, 0.3, 1.0, NAN]))
places = st.one_of(st.floats(-1e6, 1e6).map(lambda x: round(x, 12)), st.integers(0, 8).map(float))


@st.composite
def functions(draw, values=values, places=places):
    edges = sorted(draw(st.sets(places.map(lambda x: x + 0.0), min_size=2, max_size=7)))
    n = len(edges) - 1
    left = np.array(draw(st.lists(values, min_size=n, max_size=n)))
    right = np.array(draw(st.lists(values, min_size=n, max_size=n)))
    unseen = np.isnan(left) | np.isnan(right)
    return PiecewiseLinear(edges, np.where(unseen, NAN, left), np.where(unseen, NAN, right))


def close(got, want, scale):
    if want is None:
        return math.isnan(got)
    return abs(Fraction(got) - want) <= Fraction(scale) * Fraction(2) ** -50


def largest(*functions):
    return max(np.nanmax(np.abs([f.left, f.right]), initial=0.0) for f in functions)


@settings(max_examples=80, derandomize=True, deadline=None)
@given(functions(), st.floats(0, 1))
def test_evaluation(f, share):
    exact = reference.pieces(f)
    lo, hi = float(f.edges[0]), float(f.edges[-1])
    points = [lo, hi, min(max(lo + share * (hi - lo), lo), hi), *f.edges.tolist()]
    for x in points:
        assert close(f(x), reference.value(exact, Fraction(x)), largest(f))
    np.testing.assert_array_equal(f(np.array(points)), [f(x) for x in points])
    # Exactly the given values at the ends of pieces.
    np.testing.assert_array_equal(f(f.edges[:-1]), f.left)
    assert f(hi) == f.right[-1] or math.isnan(f.right[-1])


@settings(max_examples=80, derandomize=True, deadline=None)
@given(st.lists(functions(), min_size=1, max_size=5))
def test_sum(parts):
    exact = reference.total([reference.pieces(f) for f in parts])
    total = PiecewiseLinear.sum(parts)
    assert [Fraction(x) for x in total.edges.tolist()] == [p[0] for p in exact] + [exact[-1][1]]
    for function in (total, parts[0] + parts[1]) if len(parts) == 2 else (total,):
        for left, right, (_, _, a, b) in zip(function.left, function.right, exact, strict=True):
            assert close(left, a, 4 * largest(*parts))
            assert close(right, b, 4 * largest(*parts))


def test_sum_keeps_slopes_above_1e200():
    steep = PiecewiseLinear([0, 1e-250, 1], [0, 1], [1, 1])
    total = PiecewiseLinear.sum([steep, PiecewiseLinear([0, 1], [0], [1])])
    assert (total.left[0], total.right[0]) == (0.0, 1.0)
    assert total(5e-251) == pytest.approx(0.5)


@settings(max_examples=80, derandomize=True, deadline=None)
@given(functions())
def test_mean_min_argmin(f):
    exact = [p for p in reference.pieces(f) if p[2] is not None]
    if not exact:
        for method in (f.mean, f.min, f.argmin):
            with pytest.raises(ValueError, match="seen nowhere"):
                method()
        return
    length = sum(p[1] - p[0] for p in exact)
    assert close(f.mean(), reference.integral(exact) / length, 8 * largest(f))
    lowest = min(min(p[2], p[3]) for p in exact)
    assert Fraction(f.min()) == lowest
    assert Fraction(f.max()) == max(max(p[2], p[3]) for p in exact)
    lo, hi = f.argmin()
    flat = [p for p in exact if p[2] == p[3] == lowest]
    if flat:
        assert Fraction(hi) - Fraction(lo) >= max(p[1] - p[0] for p in flat)
        assert f(lo) == f(0.5 * lo + 0.5 * hi) == lowest
    else:
        assert lo == hi
        if lowest in [*f.left, f.right[-1]]:
            assert f(lo) == lowest
        else:  # the limit at a jump
            assert float(lowest) in f.right[f.edges[1:] == math.nextafter(lo, math.inf)]


def test_argmin_is_where_the_function_is_low():
    sale = PiecewiseLinear([0, 0.3, 1], [0, 0], [0.3, 0])  # the price, while it sells
    lo, hi = (sale * -1).argmin()
    assert lo == hi == math.nextafter(0.3, 0)
    assert sale(lo) == pytest.approx(0.3, rel=1e-15)
    assert PiecewiseLinear([0, 1], [1], [0]).argmin() == (1.0, 1.0)
    assert PiecewiseLinear([0, 1], [0], [1]).argmin() == (0.0, 0.0)
    assert PiecewiseLinear([0, 1, 2, 4, 5], [1, 0, 1, 0], [0, 0, 0, 1]).argmin() == (1.0, 2.0)
    assert sale.argmax() == (lo, hi)
    # A minimum that is attained comes before a limit.
    assert PiecewiseLinear([0, 0.3, 1], [0.5, 0.75], [0, 0]).argmin() == (1.0, 1.0)
    # Two flat pieces side by side are one interval.
    assert PiecewiseLinear([0, 1, 2, 3.5], [0, 0, 1], [0, 0, 0]).argmin() == (0.0, 2.0)


@settings(max_examples=100, derandomize=True, deadline=None)
@given(functions(), st.floats(0, 1), st.floats(0, 1))
def test_restrict(f, a, b):
    lo, hi = (float(f.edges[0]) * (1 - s) + float(f.edges[-1]) * s for s in sorted((a, b)))
    if not f.edges[0] <= lo < hi <= f.edges[-1]:
        return
    part = f.restrict(lo, hi)
    assert (part.edges[0], part.edges[-1]) == (lo, hi)
    points = np.linspace(lo, hi, 9)[:-1]
    np.testing.assert_allclose(part(points), f(points), atol=1e-9 * max(largest(f), 1), rtol=0)


def test_compress():
    f = PiecewiseLinear([0, 1, 2, 3, 4, 5, 6], [0, 0.5, 1, 2, NAN, NAN], [0.5, 1, 1, 2, NAN, NAN])
    assert f.compress() == PiecewiseLinear([0, 2, 3, 4, 6], [0, 1, 2, NAN], [1, 1, 2, NAN])
    # A jump stays, with equal slopes as well.
    jump = PiecewiseLinear([0, 1, 2], [0, 0.2], [1, 1.2])
    assert jump.compress() == jump


def test_exchange():
    f = PiecewiseLinear([0, 1, 2], [0.1, NAN], [0.3, NAN])
    for g in (pickle.loads(pickle.dumps(f)), copy.deepcopy(f)):
        assert g == f
        assert hash(g) == hash(f)
    assert PiecewiseLinear.from_dict(json.loads(json.dumps(f.to_dict()))) == f
    assert f != PiecewiseLinear([0, 1, 2], [0.1, NAN], [0.2, NAN])
    assert f != PiecewiseConstant([0, 1], [0.1])
    assert eval(repr(PiecewiseLinear([0, 1], [0.1], [0.2]))) == PiecewiseLinear([0, 1], [0.1], [0.2])
    assert "9 pieces, values 0 to 2" in repr(PiecewiseLinear(range(10), [0] * 9, [2] * 9))
    assert "not seen anywhere" in repr(PiecewiseLinear(range(10), [NAN] * 9, [NAN] * 9))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0, 1], [], []), "left must have at least one entry"),
        (([0, 1], [1], [1, 2]), "got 2 edges, 1 left and 2 right"),
        (([0, 1], [math.inf], [1]), r"left must be finite or nan .* left\[0\] = inf"),
        (([0, 1], [1], [-math.inf]), r"right must be finite or nan .* right\[0\] = -inf"),
        (([0, 1], [1], [NAN]), "seen at both ends or at none, got 1.0 and nan for piece 0"),
        (([0, 1], [[1]], [[1]]), r"left must be one-dimensional, got shape \(1, 1\)"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        PiecewiseLinear(*arguments)


def test_limit_of_a_piece_with_one_double_is_no_minimum():
    needle = PiecewiseLinear([0, 1, math.nextafter(1, 2), 2], [1, 1, 0.5], [1, 0, 0.5])
    lo, hi = needle.argmin()
    assert (lo, hi) == (math.nextafter(1, 2), 2.0)
    assert needle(lo) == needle.min() == 0.5
