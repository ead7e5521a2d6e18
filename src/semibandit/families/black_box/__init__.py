"""Any algorithm as a family: `BlackBox` finds the interval of a run by bisection (Algorithm 5)."""

from semibandit.families.black_box.black_box import BlackBox
from semibandit.families.black_box.outputs import same_output

__all__ = ["BlackBox", "same_output"]
