"""PiecewiseConstant against exact rational arithmetic, and against everything one should not pass to it."""

import copy
import itertools
import json
import math
import pickle
import warnings
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference import linear_functions as reference
from semibandit import PiecewiseConstant

NAN = math.nan

finite = st.floats(-1e6, 1e6)
# A small set of values and edges makes ties and shared edges common.
tied = st.sampled_from([0.0, -0.0, 0.1, 0.2, 0.3, 0.30000000000000004, 1.0, NAN])
any_value = st.one_of(finite, tied)
any_edge = st.one_of(finite, st.integers(0, 8).map(float))


@st.composite
def functions(draw, values=any_value, edges=any_edge):
    ends = sorted(draw(st.sets(edges.map(lambda x: x + 0.0), min_size=2, max_size=9)))
    return PiecewiseConstant(ends, draw(st.lists(values, min_size=len(ends) - 1, max_size=len(ends) - 1)))


def assert_same(f, pieces, fixed_point=Fraction(0)):
    """Same edges; values rounded from the exact ones, within one unit in the last place or a fixed point."""
    assert [Fraction(x) for x in f.edges.tolist()] == [lo for lo, *_ in pieces] + [pieces[-1][1]]
    for got, (_, _, want, _) in zip(f.values.tolist(), pieces, strict=True):
        if want is None:
            assert math.isnan(got)
        else:
            assert abs(Fraction(got) - want) <= max(Fraction(math.ulp(got)), fixed_point)


# -- construction ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("edges", "values", "error", "message"),
    [
        ([0, 1], [], ValueError, "values must have at least one entry"),
        ([0], [1.0], ValueError, "edges must have one entry more than values, got 1 edges and 1 values"),
        ([1, 0], [1.0], ValueError, r"edges must be .* apart, got edges\[0\] = 1.0, edges\[1\] = 0.0"),
        ([-0.0, 0.0], [1.0], ValueError, "increasing"),
        ([0, NAN], [1.0], ValueError, r"edges\[1\] = nan"),
        ([0, math.inf], [1.0], ValueError, r"edges\[1\] = inf"),
        ([0, 1, 2], [1.0, math.inf], ValueError, r"values\[1\] = inf"),
        ([[0, 1]], [1.0], ValueError, "edges must be one-dimensional"),
        ([0, 1], 1.0, ValueError, "values must be one-dimensional"),
        (["0", "1"], [1.0], TypeError, "edges must be a sequence of numbers"),
        ([0, 1], ["x"], TypeError, "values must be a sequence of numbers"),
        ([0, 10**400], [1], TypeError, "edges must be a sequence of numbers"),
        # The length would overflow, and with it every mean and integral.
        ([-1.7e308, 1.7e308], [1.0], ValueError, "edges must .* a finite distance apart"),
    ],
)
def test_bad_functions_are_refused(edges, values, error, message):
    with pytest.raises(error, match=message):
        PiecewiseConstant(edges, values)


def test_constant_is_the_one_piece_function():
    assert PiecewiseConstant.constant(0, 2, 0.5) == PiecewiseConstant([0, 2], [0.5])
    assert PiecewiseConstant.constant(0, 2, NAN).domain == ()


def test_functions_cannot_be_changed():
    edges, values = np.array([0.0, 1.0, 2.0]), np.array([0.25, 0.75])
    f = PiecewiseConstant(edges, values)
    edges[1], values[0] = 1.5, 9.0  # the arrays of the caller are copied
    assert f.edges.tolist() == [0, 1, 2]
    assert f.values.tolist() == [0.25, 0.75]
    derived = [f.compress(), f.restrict(0.5, 2), f + f, f + 1, 2 * f, PiecewiseConstant.sum([f]), f]
    for function in [*derived, PiecewiseConstant.constant(0, 1, 1), pickle.loads(pickle.dumps(f))]:
        with pytest.raises(ValueError, match="read-only"):
            function.edges[0] = -1
        with pytest.raises(ValueError, match="read-only"):
            function.values[0] = -1
        with pytest.raises(AttributeError, match="immutable"):
            function.edges = edges
        with pytest.raises(AttributeError, match="immutable"):
            function.other = 1
        with pytest.raises(AttributeError, match="immutable"):
            del function.values
    f += 1  # a new object under the old name
    assert derived[-1].values.tolist() == [0.25, 0.75]


# -- reading --------------------------------------------------------------------------------------


@settings(derandomize=True, max_examples=100)
@given(functions(), st.data())
def test_evaluation_is_right_continuous_with_a_closed_end(f, data):
    inner = st.floats(f.edges[0], f.edges[-1])
    points = [*f.edges.tolist(), *data.draw(st.lists(inner, max_size=5))]
    points += [np.nextafter(edge, -np.inf) for edge in f.edges[1:].tolist()]
    pieces = reference.pieces(f)
    wants = [reference.value(pieces, Fraction(x)) for x in points]
    for x, got, want in zip(points, f(np.array(points)).tolist(), wants, strict=True):
        assert math.isnan(got) if want is None else Fraction(got) == want
        np.testing.assert_equal(f(x), got)
        piece = f.piece(x)
        lo, hi, value = *piece.edges.tolist(), *piece.values.tolist()
        assert lo <= x < hi or x == hi == f.edges[-1]
        np.testing.assert_equal(value, got)


@settings(derandomize=True, max_examples=150)
@given(functions())
def test_properties_against_exact_arithmetic(f):
    pieces = reference.pieces(f)
    assert [(Fraction(lo), Fraction(hi)) for lo, hi in f.domain] == reference.domain(pieces)
    small = f.compress()
    assert (small.edges[0], small.edges[-1]) == (f.edges[0], f.edges[-1])
    np.testing.assert_equal(small(f.edges), f(f.edges))
    assert all(a != b and not np.isnan([a, b]).all() for a, b in itertools.pairwise(small.values))
    if f.domain:
        steps = [step for _, _, step, _ in pieces if step is not None]
        scale = max(abs(step) for step in steps)
        assert Fraction(f.min()) == min(steps)
        smallest = len(f) * Fraction(5e-324)  # products below it vanish
        length = sum(hi - lo for lo, hi in reference.domain(pieces))
        mean = reference.integral(pieces) / length
        assert abs(Fraction(f.mean()) - mean) <= scale * Fraction(1, 10**13) + smallest
        error = abs(Fraction(f.integral()) - reference.integral(pieces))
        assert error <= scale * length * Fraction(1, 10**13) + smallest
    else:
        assert f.integral() == 0.0


@settings(derandomize=True, max_examples=150)
@given(functions(values=tied, edges=st.integers(0, 40).map(float)))
def test_argmin_is_exact(f):
    if f.domain:
        lo, hi = f.argmin()
        assert (Fraction(lo), Fraction(hi)) == reference.argmin(reference.pieces(f))
        lo, hi = f.argmax()
        assert (Fraction(lo), Fraction(hi)) == reference.argmin(reference.pieces(f * -1))
        assert f.max() == f(lo) == np.nanmax(f.values)


@pytest.mark.parametrize("what", ["mean", "min", "argmin", "max", "argmax"])
def test_nothing_seen_has_no_extremes(what):
    f = PiecewiseConstant([0, 1, 2], [NAN, NAN])
    with pytest.raises(ValueError, match="seen nowhere"):
        getattr(f, what)()


# -- deriving -------------------------------------------------------------------------------------


@settings(derandomize=True, max_examples=100)
@given(st.lists(functions(), min_size=1, max_size=6))
def test_sum_against_exact_arithmetic(fs):
    want = reference.total([reference.pieces(f) for f in fs])
    # Values are cut off 92 bits below the largest one.
    largest = max((abs(x) for f in fs for _, _, x, _ in reference.pieces(f) if x is not None), default=0)
    assert_same(PiecewiseConstant.sum(fs), want, len(fs) * largest * Fraction(1, 2**90))
    assert PiecewiseConstant.sum(reversed(fs)) == PiecewiseConstant.sum(fs)
    if len(fs) == 2:
        assert_same(fs[0] + fs[1], want)


def test_equal_sums_are_equal_far_apart():
    # The same values in other orders on either half: float sums differ, exact ones do not.
    rng = np.random.default_rng(0)
    left = rng.random(2000)
    right = rng.permutation(left)
    fs = [PiecewiseConstant([0, 0.4, 1], pair) for pair in zip(left, right, strict=True)]
    assert len(PiecewiseConstant.sum(fs).compress()) == 1
    steps = [PiecewiseConstant([0, x, 1], [0.1, 0.3]) for x in rng.permutation(np.linspace(0.1, 0.9, 999))]
    back = [PiecewiseConstant([0, x, 1], [0.3, 0.1]) for x in rng.permutation(np.linspace(0.1, 0.9, 999))]
    assert len(PiecewiseConstant.sum(steps + back).compress()) == 1


@pytest.mark.parametrize("size", [1.1e308, 1e300, 1e-300, 1e-310, 5e-324])
def test_sums_at_the_ends_of_the_float_range(size):
    f = PiecewiseConstant([0, 1, 3], [size, -size])
    g = PiecewiseConstant([0, 2, 3], [-size / 2, size])
    assert PiecewiseConstant.sum([f, g, 0 * g]).values.tolist() == [size - size / 2, -size - size / 2, 0.0]


def test_sums_that_overflow_are_errors():
    f = PiecewiseConstant([0, 1], [1.5e308])
    for add in (lambda: f + f, lambda: PiecewiseConstant.sum([f, f]), lambda: f + 1e308, lambda: f * 2):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(ValueError, match="values must be finite"):
                add()


# -- identity and exchange ------------------------------------------------------------------------


@settings(derandomize=True, max_examples=150)
@given(functions())
def test_copies_are_equal_and_hash_alike(f):
    data = json.loads(json.dumps(f.to_dict(), allow_nan=False))
    for g in (PiecewiseConstant.from_dict(data), pickle.loads(pickle.dumps(f)), copy.copy(f)):
        assert g == f
        assert hash(g) == hash(f)
        assert g.values.tobytes() == f.values.tobytes() or np.isnan(f.values).any()


def test_equality():
    f = PiecewiseConstant([0, 1, 2], [0.0, NAN])
    assert f == PiecewiseConstant([-0.0, 1, 2], [-0.0, NAN])
    assert hash(f) == hash(PiecewiseConstant([-0.0, 1, 2], [-0.0, NAN]))
    assert f != PiecewiseConstant([0, 1, 2], [0.0, 0.0])
    assert f != PiecewiseConstant([0, 1.5, 2], [0.0, NAN])
    assert f != PiecewiseConstant([0, 2], [0.0])
    assert f != "f"
    assert len({f, f + 0, f + 1}) == 2


def test_short_functions_print_in_full():
    f = PiecewiseConstant([0, 0.1, 2, 3], [1 / 3, NAN, 2])
    assert repr(f) == f"PiecewiseConstant([0.0, 0.1, 2.0, 3.0], [{1 / 3!r}, nan, 2.0])"
    assert eval(repr(f), {"PiecewiseConstant": PiecewiseConstant, "nan": NAN}) == f


def test_long_functions_print_a_summary():
    f = PiecewiseConstant(range(11), [*range(9), NAN])
    assert repr(f) == "<PiecewiseConstant on [0, 10]: 10 pieces, values 0 to 8, 10.0% not seen>"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert repr(PiecewiseConstant(range(7), [NAN] * 6)).endswith("not seen anywhere>")
    # Seen, if only just.
    assert "values 1 to 1" in repr(PiecewiseConstant([0, 1e-20, 1, 2, 3, 4], [1, NAN, NAN, NAN, NAN]))
