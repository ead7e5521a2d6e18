"""Tune the real-valued knob of an algorithm online, with a regret guarantee.

    instance --reveal(rho)--> PiecewiseConstant --tell--> learner --ask--> rho

Names load on first use, so that importing the package costs next to nothing.
"""

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    "PiecewiseConstant": "piecewise",
    "PiecewiseLinear": "piecewise_linear",
    "Interval": "spaces",
    "Strips": "strips",
    "Problem": "families.problem",
    "Explicit": "families.problem",
    "BlackBox": "families.black_box",
    "Knapsack": "families.knapsack",
    "Linkage": "families.linkage.problem",
    "MetricLinkage": "families.metric_linkage",
    "IndependentSet": "families.independent_set",
    "PostedPrice": "families.auctions",
    "SecondPrice": "families.auctions",
    "Seeding": "families.seeding",
    "Exp3Set": "learners.exp3_set",
    "Exp3Grid": "learners.exp3_grid",
    "AdaptiveRate": "learners.rates",
    "FixedRate": "learners.rates",
    "TheoremRate": "learners.rates",
    "Recommendation": "learners.base",
    "Trial": "learners.base",
    "load": "learners.storage",
    "History": "game",
    "play": "game",
    "rounds": "game",
    "best_in_hindsight": "hindsight",
    "Study": "studies.study",
    "Client": "studies.client",
}
_MODULES = ("clustering", "dispersion", "plots", "sklearn", "streams", "testing")

__all__ = [*_HOME, *_MODULES, "__version__"]

if TYPE_CHECKING:
    from semibandit import clustering as clustering
    from semibandit import dispersion as dispersion
    from semibandit import plots as plots
    from semibandit import sklearn as sklearn
    from semibandit import streams as streams
    from semibandit import testing as testing
    from semibandit.families.auctions import PostedPrice as PostedPrice
    from semibandit.families.auctions import SecondPrice as SecondPrice
    from semibandit.families.black_box import BlackBox as BlackBox
    from semibandit.families.independent_set import IndependentSet as IndependentSet
    from semibandit.families.knapsack import Knapsack as Knapsack
    from semibandit.families.linkage.problem import Linkage as Linkage
    from semibandit.families.metric_linkage import MetricLinkage as MetricLinkage
    from semibandit.families.problem import Explicit as Explicit
    from semibandit.families.problem import Problem as Problem
    from semibandit.families.seeding import Seeding as Seeding
    from semibandit.game import History as History
    from semibandit.game import play as play
    from semibandit.game import rounds as rounds
    from semibandit.hindsight import best_in_hindsight as best_in_hindsight
    from semibandit.learners.base import Recommendation as Recommendation
    from semibandit.learners.base import Trial as Trial
    from semibandit.learners.exp3_grid import Exp3Grid as Exp3Grid
    from semibandit.learners.exp3_set import Exp3Set as Exp3Set
    from semibandit.learners.rates import AdaptiveRate as AdaptiveRate
    from semibandit.learners.rates import FixedRate as FixedRate
    from semibandit.learners.rates import TheoremRate as TheoremRate
    from semibandit.learners.storage import load as load
    from semibandit.piecewise import PiecewiseConstant as PiecewiseConstant
    from semibandit.piecewise_linear import PiecewiseLinear as PiecewiseLinear
    from semibandit.spaces import Interval as Interval
    from semibandit.strips import Strips as Strips
    from semibandit.studies.client import Client as Client
    from semibandit.studies.study import Study as Study


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
