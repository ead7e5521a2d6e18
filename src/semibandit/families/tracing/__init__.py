"""Any numpy code as a family: `traced` records the interval on which a run makes the same decisions."""

from semibandit.families.tracing import arithmetic, decisions, functions  # noqa: F401 - fill the tables of rules
from semibandit.families.tracing.errors import TracingError
from semibandit.families.tracing.problem import TracedFamily, TracedProblem, traced

__all__ = ["TracedFamily", "TracedProblem", "TracingError", "traced"]
