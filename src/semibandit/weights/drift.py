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
_SURE = 0.5  # the probability of the short memory from which on the world is taken to move
# Where less is seen two of three explanations may look alike, and what has fallen behind comes back slowly.
_LEAST_SHARE_IN_PART, _SURE_IN_PART = 2.0**-16, 0.2
_MOVED, _JUMPED = 0.1, 0.3  # the prior probabilities that the short memory is right, or the long one raised
_FAST = 0.01  # forgetting that counts as fast
_MEMORY_PER_SHARE = 16.0

_JUMP_AT = 0, 0, 0  # trees begin at node 1: the probability of a jump has the place before the first


class Drift(NamedTuple):
    """What is believed of the movement of the best parameter; it does not change, a step returns a new one.

    Two trees of cells remember losses, one for ever and one for some 64 rounds. Three may predict the losses
    paid: the long memory; the long one raised by the difference of the mean losses that the two remember, as
    if the level of all losses had jumped, which is no movement; and the short one. Bayes' rule says which is
    right: if it is the short one, the world moves. Predictions of what was seen need no importance weights,
    and are much less noisy than weights would be.
    """

    share_given: float  # nan: to be found out
    memory: FloatArray  # long and short × count and total × nodes of the tree, see `_JUMP_AT`
    belief: float = _MOVED  # the probability of the short memory
    error: float = 0.0  # a running sum of squared errors of prediction, and its weight
    weight: float = 0.0
    whole: bool = False  # whether the last round has shown the whole function

    @classmethod
    def of(cls, share: float | None, n_nodes: int) -> Drift:
        """Nothing seen yet."""
        memory = np.zeros((2, 2, n_nodes))
        memory[_JUMP_AT] = _JUMPED
        return cls(math.nan if share is None else share, memory)

    @property
    def speed(self) -> float:
        """How sure it is that the world moves, from 0 to 1."""
        if math.isnan(self.share_given):
            sure = _SURE if self.whole else _SURE_IN_PART
            return max(0.0, (self.belief - sure) / (1.0 - sure))
        return min(_MEMORY_PER_SHARE * self.share_given / _FAST, 1.0)

    @property
    def share(self) -> float:
        """The share of the mass that is spread in a round."""
        if not math.isnan(self.share_given):
            return self.share_given
        return max(_SHARE * self.speed, _LEAST_SHARE if self.whole else _LEAST_SHARE_IN_PART)

    @property
    def forgetting(self) -> float:
        """The part of its statistics that the baseline forgets in a round."""
        if math.isnan(self.share_given):
            return _FORGETTING * self.speed
        return min(_MEMORY_PER_SHARE * self.share_given, 0.5)

    def told(self, leaf: int, paid: float, whole: bool) -> Drift:
        """After a loss was paid in a cell: predictions are weighed by what they had expected.

        Where whole functions are seen the levels are certain, and the long memory is raised always.
        """
        if not math.isnan(self.share_given):
            return self
        memory = self.memory.copy()
        belief, memory[_JUMP_AT], error, weight = _weigh(memory, *self[2:5], leaf, paid, whole)
        return self._replace(memory=memory, belief=belief, error=error, weight=weight, whole=whole)

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
) -> tuple[float, float, float, float]:
    """Bayes' rule for Gaussian errors, at half speed; beliefs are pulled back a little to their priors.

    Returns the probabilities of the short memory and of a jump, the error, and its weight.
    """
    means = memory[:, 1, 1] / (memory[:, 0, 1] + 1e-9)
    errors = np.empty(3)  # of the long memory, of the short one, and of the long one raised
    for which in range(2):
        halvings = 0
        while leaf >> (halvings + 1) >= 1:
            halvings += 1
        expected = means[which]
        for depth in range(halvings - 1, -1, -1):
            node = leaf >> depth
            expected = (memory[which, 1, node] + expected) / (memory[which, 0, node] + 1.0)
        errors[which] = paid - expected
    errors[2] = errors[0] - (means[1] - means[0])
    if whole:
        errors[0] = errors[2]
    jumped = memory[_JUMP_AT]
    likely = np.array([1.0 - belief - jumped, belief, jumped])
    if weight > 5.0:
        least = min(errors[0] ** 2, errors[1] ** 2, errors[2] ** 2)
        total = 0.0
        for i in range(3):
            evidence = 0.5 * (errors[i] ** 2 - least) / (2.0 * error / weight + 1e-12)
            likely[i] *= math.exp(-min(evidence, 50.0))
            total += likely[i]
        belief = (1.0 - 1e-3) * likely[1] / total + 1e-3 * _MOVED
        jumped = (1.0 - 1e-3) * likely[2] / total + 1e-3 * _JUMPED
    error *= 0.998
    error += (1.0 - belief - jumped) * errors[0] ** 2 + belief * errors[1] ** 2 + jumped * errors[2] ** 2
    return belief, jumped, error, 0.998 * weight + 1.0
