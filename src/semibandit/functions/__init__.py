"""Functions of the parameter, seen in part: what every algorithm family reveals and every learner is told."""

from semibandit.functions.constant import PiecewiseConstant
from semibandit.functions.linear import PiecewiseLinear
from semibandit.functions.piecewise import Piecewise

__all__ = ["Piecewise", "PiecewiseConstant", "PiecewiseLinear"]
