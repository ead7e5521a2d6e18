"""How fast the world moves: a share that is given, or one that two memories of the losses bear witness to."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from semibandit._jit import kernel
from semibandit._validate import FloatArray

__all__ = ["Drift"]

# Found by experiment (docs/learner.md).
_FORGETTING = 2.0**-6  # of the short memory, in each round
_SHARE = 2.0**-10  # of the mass, in each round, where the world is sure to move
_LEAST_SHARE = 2.0**-20
_DOUBT = 0.1  # the prior probability that the short memory is the better one
_FAST = 0.01  # forgetting that counts as fast
_MEMORY_PER_SHARE = 16.0


class Drift(NamedTuple):
    """What is believed of the movement of the best parameter; it does not change, a step returns a new one.

    Two trees of cells remember losses, one for ever and one for some 64 rounds. Whichever has predicted the
    losses paid better is believed: if that is the short one, the world moves. Predictions of what was seen
    need no importance weights, and are much less noisy than weights would be.
    """

    share_given: float  # nan: to be found out
    memory: FloatArray  # long and short × count and total × nodes of the tree
    belief: float = _DOUBT  # the probability of the short memory
    error: float = 0.0  # a running sum of squared errors of prediction, and its weight
    weight: float = 0.0

    @classmethod
    def of(cls, share: float | None, n_nodes: int) -> Drift:
        """Nothing seen yet."""
        return cls(math.nan if share is None else share, np.zeros((2, 2, n_nodes)))

    @property
    def speed(self) -> float:
        """How sure it is that the world moves, from 0 to 1."""
        if math.isnan(self.share_given):
            return max(0.0, 2.0 * self.belief - 1.0)
        return min(_MEMORY_PER_SHARE * self.share_given / _FAST, 1.0)

    @property
    def share(self) -> float:
        """The share of the mass that is spread in a round."""
        return max(_SHARE * self.speed, _LEAST_SHARE) if math.isnan(self.share_given) else self.share_given

    @property
    def forgetting(self) -> float:
        """The part of its statistics that the baseline forgets in a round."""
        if math.isnan(self.share_given):
            return _FORGETTING * self.speed
        return min(_MEMORY_PER_SHARE * self.share_given, 0.5)

    def told(self, leaf: int, paid: float, whole: bool) -> Drift:
        """After a loss was paid in a cell: the memories are weighed by what they had expected.

        If the level of all losses jumps, nothing has moved. So what the long one expects is moved by the
        difference of the levels that the two remember: always where whole functions are seen, which makes
        levels certain, else where it is then closer.
        """
        if not math.isnan(self.share_given):
            return self
        belief, error, weight = _weigh(*self[1:], leaf, paid, whole)
        return self._replace(belief=belief, error=error, weight=weight)

    def remembering(self, increments: FloatArray) -> Drift:
        """After counts and losses were added to the nodes of the tree."""
        if not math.isnan(self.share_given):
            return self
        memory = self.memory + increments
        memory[1] -= _FORGETTING * self.memory[1]
        return self._replace(memory=memory)


@kernel
def _weigh(
    memory: FloatArray, belief: float, error: float, weight: float, leaf: int, paid: float, whole: bool
) -> tuple[float, float, float]:
    """Bayes' rule for Gaussian errors, at half speed; the belief is pulled back a little to its prior."""
    squares, means = np.empty(2), memory[:, 1, 1] / (memory[:, 0, 1] + 1e-9)
    for which in range(2):
        halvings = 0
        while leaf >> (halvings + 1) >= 1:
            halvings += 1
        expected = means[which]
        for depth in range(halvings - 1, -1, -1):
            node = leaf >> depth
            expected = (memory[which, 1, node] + expected) / (memory[which, 0, node] + 1.0)
        jump = means[1] - means[which]
        squares[which] = (paid - expected - jump) ** 2
        if not whole:
            squares[which] = min(squares[which], (paid - expected) ** 2)
    if weight > 5.0:
        evidence = 0.5 * (squares[0] - squares[1]) / (2.0 * error / weight + 1e-12)
        odds = belief * math.exp(min(max(evidence, -50.0), 50.0))
        belief = odds / (odds + 1.0 - belief)
        belief = (1.0 - 1e-3) * belief + 1e-3 * _DOUBT
    error = 0.998 * error + (1.0 - belief) * squares[0] + belief * squares[1]
    return belief, error, 0.998 * weight + 1.0
