"""State of a learner for a cell of contexts."""

from __future__ import annotations

import math
from typing import Any

from msgspec.structs import replace

from semibandit._jit import kernel
from semibandit._validate import FloatArray
from semibandit.learners.statistics import PlayStats
from semibandit.weights import Feedback, Rule, Weights

__all__ = ["Cell", "next_test"]

FIRST_TEST = 16  # rounds in a cell before a split is considered
_NEXT_TEST = 1.25, 1.5  # factors between the rounds at which splits are considered: at first, later on
_EARLY = 256  # rounds with the first factor; a late build costs more and changes less
_TRUST = 4.0  # log-odds of a new cell against all contexts
_STEP = 2.0  # factor of the rate of these odds
_GUARD = 0.1  # both play a share of min(0.05, 0.1/√n) at least


class Cell:
    """Weights and statistics of the contexts of a cell.

    `ahead` is the sum of the estimated losses by which the density of all contexts was worse than the own
    one, and `squares` that of their squares.
    """

    def __init__(self, number: int, weights: Weights, stats: PlayStats, n: int, last: int) -> None:
        self.number, self.weights, self.stats = number, weights, stats
        self.n, self.last = n, last  # rounds told, and the last one
        self.next_test = next_test(n)
        self.ahead = self.squares = 0.0

    def share(self, reach: float) -> float:
        """Return the share of the own density in the play, by a Hedge of two."""
        least = min(0.5 * _GUARD, _GUARD / math.sqrt(self.n + 1.0))
        scale = math.sqrt(self.squares + reach * reach)
        odds = _TRUST + (_STEP * self.ahead / scale if scale > 0.0 else 0.0)
        return min(max(1.0 / (1.0 + math.exp(-min(max(odds, -50.0), 50.0))), least), 1.0 - least)

    def learn(self, feedback: Feedback, rule: Rule, asked: Weights | None = None, alone: bool = True) -> None:
        """Learn from feedback with recorded probabilities.

        `asked` are the own weights at the ask. If the round is not `alone`, other pending trials need the
        weights as they are.
        """
        if asked is not None and asked is not self.weights:
            feedback = replace(feedback, shares_at_ask=asked.shares)
        weights = self.weights if alone else self.weights.detached()
        self.weights = weights.learn(feedback, rule).weights
        self.stats.add(feedback.position, feedback.paid)

    def compare(self, lead: FloatArray, feedback: Feedback, level: float) -> None:
        """Add an estimate of the difference of the losses of two densities; `lead` is that of shares."""
        ahead = advantage(lead, feedback.losses, feedback.sets, feedback.looks, feedback.recorded, level)
        self.ahead += ahead
        self.squares += ahead * ahead

    def spread(self, share: float, kept: float, gaps: float, speed: float) -> None:
        """Mix a share of the prior into the weights, and forget a part of the statistics."""
        self.weights = self.weights.detached().spread(share, kept, gaps, speed)
        self.stats.keep(kept)
        self.ahead, self.squares = kept * self.ahead, kept * self.squares


def next_test(n: int) -> float:
    """Return the number of rounds at which splits are considered again, after n rounds."""
    return max(_NEXT_TEST[n >= _EARLY] * n, float(FIRST_TEST))


@kernel
def advantage(difference: Any, losses: Any, sets: Any, looks: Any, p: Any, level: float) -> float:
    """Return the unbiased estimate of the difference of the expected losses of two densities."""
    draws, total = 0, 0.0
    for i in range(looks.size):
        draws += looks[i]
    for j in range(sets.size):
        if sets[j] >= 0:
            total += difference[j] * (losses[j] - level) * looks[sets[j]] / (draws * p[sets[j]])
    return total
