"""Any numpy code as a family: `traced` records the interval on which a run makes the same decisions."""

from semibandit.families.tracing import functions as _functions  # noqa: F401 - fills the tables of functions
from semibandit.families.tracing.errors import TracingError
from semibandit.families.tracing.problem import TracedFamily, TracedProblem, traced

__all__ = ["TracedFamily", "TracedProblem", "TracingError", "traced"]
