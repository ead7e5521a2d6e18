"""Learners: choose a parameter before an instance arrives, and learn from its feedback."""

from semibandit.learners.exp3_grid import Exp3Grid
from semibandit.learners.exp3_set import Exp3Set
from semibandit.learners.learner import Learner
from semibandit.learners.rates import AdaptiveRate, FixedRate, TheoremRate
from semibandit.learners.recommendation import Recommendation
from semibandit.learners.statistics import Evidence
from semibandit.learners.storage import load
from semibandit.learners.trials import Trial

__all__ = [
    "AdaptiveRate",
    "Evidence",
    "Exp3Grid",
    "Exp3Set",
    "FixedRate",
    "Learner",
    "Recommendation",
    "TheoremRate",
    "Trial",
    "load",
]
