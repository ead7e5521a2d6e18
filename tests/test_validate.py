"""Checks of arguments: what is accepted, and errors that name the argument."""

import math
from decimal import Decimal

import numpy as np
import pytest

import semibandit as sb
from semibandit import _validate


def test_decimals_are_numbers():
    assert sb.Interval(Decimal("0.5"), Decimal(2)) == sb.Interval(0.5, 2)
    assert sb.PiecewiseConstant([Decimal(0), Decimal(1)], [Decimal("0.5")]) == sb.PiecewiseConstant(
        [0, 1], [0.5]
    )
    assert sb.Strips(3, sb.Interval(0, 1)).place(Decimal("0.25"), Decimal("0.5")) == 1.25


def test_null_characters_in_paths_are_named():
    for call in (sb.Exp3Set(sb.Interval(0, 1)).save, sb.load):
        with pytest.raises(ValueError, match="path must not contain a null character"):
            call("\x00")


@pytest.mark.parametrize(
    ("check", "value", "error", "message"),
    [
        (_validate.number, Decimal("sNaN"), TypeError, "x must be a number"),
        (_validate.number, Decimal("1e400"), ValueError, "x must be finite, got inf"),
        (_validate.number, math.nan, ValueError, "x must be finite, got nan"),
        (_validate.number, np.array([0.5, 1.0]), TypeError, "x must be a number"),
        (_validate.number, "1", TypeError, "x must be a number"),
        (_validate.integer, Decimal(1), TypeError, "x must be an integer"),
        (_validate.integer, True, TypeError, "x must be an integer"),
        (_validate.integer, 2**64, ValueError, "x must be at most"),
        (_validate.vector, [[1.0]], ValueError, r"x must be one-dimensional, got shape \(1, 1\)"),
        (_validate.vector, [1.0, math.nan], ValueError, r"x must be finite, got x\[1\] = nan"),
        (_validate.vector, [1.0, "a"], TypeError, "x must be a sequence of numbers"),
        (_validate.vector, np.ma.masked_equal([1.0, 2.0], 2.0), ValueError, "x must not have masked entries"),
        (_validate.path, "a\0b", ValueError, "x must not contain a null character"),
        (_validate.path, b"a", TypeError, "x must be the path of a file"),
        (_validate.function, 3, TypeError, "x must be a callable, got 3"),
    ],
)
def test_errors_name_the_argument(check, value, error, message):
    with pytest.raises(error, match=message):
        check("x", value)
