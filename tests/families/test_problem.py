"""Explicit: an instance whose loss function is given."""

import math

import pytest

import semibandit as sb
from semibandit import Explicit, PiecewiseConstant

FUNCTION = PiecewiseConstant([0, 0.25, 0.4, 1], [0.9, 0.1, 0.1])


@pytest.mark.parametrize(
    ("function", "error"),
    [
        (PiecewiseConstant([0, 1], [math.nan]), ValueError),
        (PiecewiseConstant([0, 1, 2], [1, math.nan]), ValueError),
        (PiecewiseConstant([0, 1, 2, 3], [1, math.nan, 1]), ValueError),
        (None, TypeError),
        (0.5, TypeError),
        (abs, TypeError),
    ],
)
def test_bad_functions_are_refused(function, error):
    with pytest.raises(error, match="function must be"):
        Explicit(function)


def test_high_is_at_least_the_largest_loss():
    assert Explicit(FUNCTION).high == 1.0
    assert Explicit(PiecewiseConstant([0, 0.4, 1], [-3, 50])).high == 50.0
    assert Explicit(sb.PiecewiseLinear([0, 0.4, 1], [0, 7], [9, 5])).high == 9.0
    assert sb.dispersion.measure([Explicit(PiecewiseConstant([0, 0.4, 1], [0, 50]))]).high == 50.0
