"""Explicit: an instance whose loss function is given."""

import math

import pytest

from semibandit import Explicit, PiecewiseConstant

FUNCTION = PiecewiseConstant([0, 0.25, 0.4, 1], [0.9, 0.1, 0.1])


@pytest.mark.parametrize("rho", [-0.1, 1.1, math.nan, math.inf, -math.inf])
def test_parameters_outside_are_refused(rho):
    for run in (Explicit(FUNCTION).loss, Explicit(FUNCTION).reveal):
        with pytest.raises(ValueError, match=r"rho must be in \[0, 1\], got"):
            run(rho)


@pytest.mark.parametrize("rho", ["0.5", None, [0.5, 0.6]])
def test_parameters_must_be_numbers(rho):
    for run in (Explicit(FUNCTION).loss, Explicit(FUNCTION).reveal):
        with pytest.raises(TypeError, match="rho must be a number"):
            run(rho)


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
