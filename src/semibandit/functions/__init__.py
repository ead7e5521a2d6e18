"""Loss functions of the parameter, possibly observed only in part; they carry all feedback."""

from semibandit.functions.constant import PiecewiseConstant
from semibandit.functions.linear import PiecewiseLinear
from semibandit.functions.piecewise import Piecewise

__all__ = ["Piecewise", "PiecewiseConstant", "PiecewiseLinear"]
