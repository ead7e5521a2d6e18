"""Tune the real-valued knob of an algorithm online, with a regret guarantee.

    instance --reveal(rho)--> PiecewiseConstant --tell--> learner --ask--> rho

Names load on first use, so that importing the package costs next to nothing.
"""

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    "PiecewiseConstant": "piecewise",
    "Interval": "spaces",
    "Problem": "families.problem",
    "Explicit": "families.problem",
    "Knapsack": "families.knapsack",
}
_MODULES: frozenset[str] = frozenset()

__all__ = [*_HOME, *_MODULES, "__version__"]

if TYPE_CHECKING:
    from semibandit.families.knapsack import Knapsack as Knapsack
    from semibandit.families.problem import Explicit as Explicit
    from semibandit.families.problem import Problem as Problem
    from semibandit.piecewise import PiecewiseConstant as PiecewiseConstant
    from semibandit.spaces import Interval as Interval


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(importlib.import_module(f"semibandit.{_HOME[name]}"), name)
    elif name in _MODULES:
        value = importlib.import_module(f"semibandit.{name}")
    else:
        raise AttributeError(f"module 'semibandit' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
