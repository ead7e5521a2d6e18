"""What a learner keeps: a positive function on a line, under Draw, Integrate and Update."""

from semibandit.weights.interval_tree import IntervalTree
from semibandit.weights.linear_pieces import Exponential, LinearPieces

__all__ = ["Exponential", "IntervalTree", "LinearPieces"]
