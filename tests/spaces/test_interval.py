"""Interval: membership, the line with its margin, feedback on the line."""

import math

import numpy as np
import pytest

from semibandit import Interval, PiecewiseConstant

NAN = math.nan


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((1, 0), ValueError, "lo must be below hi, got lo = 1.0 and hi = 0.0"),
        ((1, 1), ValueError, "lo must be below hi"),
        ((NAN, 1), ValueError, "lo must be finite, got nan"),
        ((0, 1, -0.1), ValueError, "margin must be finite and >= 0, got -0.1"),
        ((-1e308, 1e308), ValueError, "length of the space"),
        ((0, 1, 1e308), ValueError, "length of the space"),
        (("0", 1), TypeError, "lo must be a number, got '0'"),
        ((0, 1, 1j), TypeError, "margin must be a number"),
    ],
)
def test_bad_spaces_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        Interval(*arguments)


@pytest.mark.parametrize("rho", [-1e-300, np.nextafter(10, 11), NAN, math.inf, "5", None, 5j])
def test_other_numbers_and_things_are_outside(rho):
    space = Interval(0, 10, margin=5)  # the margin is no part of the space
    assert rho not in space
    with pytest.raises((TypeError, ValueError), match=r"knob must be (in \[0, 10\]|a number), got"):
        space.check(rho, "knob")


def test_points_in_the_margin_stand_for_the_nearer_end():
    space = Interval(0, 1, margin=0.25)
    assert space.line.ends == (-0.25, 1.25)
    assert [space.line.read(x) for x in (-0.25, 0.3, 1.2)] == [(0, 0.0), (0, 0.3), (0, 1.0)]
    assert Interval(2, 3).line.ends == (2.0, 3.0)


def test_feedback_at_an_end_covers_the_margin():
    space = Interval(0, 1, margin=0.25)

    def laid(edges):
        seen = PiecewiseConstant(edges, np.arange(len(edges) - 1.0))
        got = space.line.lay(seen)
        assert seen.edges.tolist() == edges  # not written to
        assert got.values.tolist() == seen.values.tolist()
        return got.edges.tolist()

    assert laid([0, 0.5, 1]) == [-0.25, 0.5, 1.25]
    assert laid([0, 0.5]) == [-0.25, 0.5]
    assert laid([0.5, 1]) == [0.5, 1.25]
    assert laid([0.1, 0.9]) == [0.1, 0.9]
    plain = PiecewiseConstant([0, 1], [1])
    assert Interval(0, 1).line.lay(plain) is plain


@pytest.mark.parametrize("edges", [[-0.1, 0.5], [0.5, 1.1], [-1, 2], [1, 2], [-1, 0]])
@pytest.mark.parametrize("margin", [0.0, 3.0])
def test_feedback_outside_the_space_is_refused(edges, margin):
    with pytest.raises(ValueError, match=r"the function told must lie inside \[0, 1\], got one on"):
        Interval(0, 1, margin=margin).line.lay(PiecewiseConstant(edges, [1]))
