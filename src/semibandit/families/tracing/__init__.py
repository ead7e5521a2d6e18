"""Any numpy code as a family: `traced` records the interval on which a run makes the same decisions."""

from semibandit.families.tracing.errors import TracingError
from semibandit.families.tracing.problem import TracedFunction, TracedProblem, traced

__all__ = ["TracedFunction", "TracedProblem", "TracingError", "traced"]
