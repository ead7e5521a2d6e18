"""How fast the world moves: a share that is given, or one that the losses bear witness to."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from semibandit._jit import kernel
from semibandit._validate import FloatArray

__all__ = ["Drift", "PageTest"]

# Found by experiment (docs/learner.md).
_FORGETTING = 2.0**-6  # of the short memory, in each round
_SHARE = 2.0**-10  # of the mass, in each round, where the world is sure to move
_LEAST_SHARE = 2.0**-20  # where whole functions are seen
_MOVED = 0.1  # the prior probability that the short memory is right
_SURE = 0.5  # the probability of the short memory from which on the world is taken to move
_FAST = 0.01  # forgetting that counts as fast
_MEMORY_PER_SHARE = 16.0
# After an alarm: at once, this share is spread, and so much of statistics and of the gaps is kept; then the
# world is taken to move at some speed, which fades.
_SHARE_AT_ALARM, _KEPT_AT_ALARM, _GAPS_AT_ALARM = 0.25, 0.03, 0.1
_SPEED_AFTER, _FADING = 0.5, 1e-3
_CALM = 1e-4  # a speed that counts as none: a share must not fade until rounding makes it none
_RISE, _FALL = 0.125, 1.5  # deviations by which losses may exceed their mean, and fall below it
_LARGEST = 3.0  # deviations for which a single loss counts
_FEWEST = 100  # rounds, before which a mean says little


class PageTest(NamedTuple):
    """Page's test (1954) whether losses are no longer what they were on average since the last alarm.

    A running sum counts, in deviations, by how much losses exceed their mean and a slack of an eighth of a
    deviation; it does not fall below 0. exp(sum / 4) is then the likelihood of a rise by a quarter of a
    deviation some rounds ago, over that of none, and must exceed the number of rounds: the more of them there
    were, the more sums had the chance to be large. False alarms so become rarer as time goes on.

    Another sum, of which the same is asked, counts by how much losses fall below their mean. Its slack is
    large: losses also fall as a learner learns, and where the level of all losses does.
    """

    rounds: float = 0.0
    mean: float = 0.0
    squares: float = 0.0  # of deviations from the mean, in sum
    excess: float = 0.0
    shortfall: float = 0.0

    @property
    def alarm(self) -> bool:
        """Whether the last loss has given one; with the next loss the test begins anew."""
        most = max(self.excess, self.shortfall)
        return self.rounds >= _FEWEST and 2.0 * _RISE * most > math.log(self.rounds)

    def after(self, loss: float) -> PageTest:
        """The test after another loss was paid."""
        if self.alarm:
            return PageTest().after(loss)
        rounds, above = self.rounds + 1.0, loss - self.mean
        excess = shortfall = 0.0
        if rounds > _FEWEST and self.squares > 0.0:
            deviations = above / math.sqrt(self.squares / self.rounds)
            deviations = max(min(deviations, _LARGEST), -_LARGEST)
            excess = max(self.excess + deviations - _RISE, 0.0)
            shortfall = max(self.shortfall - deviations - _FALL, 0.0)
        mean = self.mean + above / rounds
        return PageTest(rounds, mean, self.squares + above * (loss - mean), excess, shortfall)


class Drift(NamedTuple):
    """What is believed of the movement of the best parameter; it does not change, a step returns a new one.

    Where whole functions are seen, two trees of cells remember losses, one for ever and one for some 64
    rounds. Both predict the losses paid, the long one moved by the difference of the mean losses that the two
    remember: a jump of the level of all losses is no movement. Bayes' rule says which is right: if it is the
    short one, the world moves.

    Where a part is seen, nobody knows what would have been paid elsewhere, and `PageTest` watches what was
    paid. Until it gives an alarm nothing is different from a world that stands still. At an alarm the learner
    begins anew with a part of the mass, and is ready for more to come for some thousand rounds.
    """

    share_given: float  # nan: to be found out
    memory: FloatArray  # of whole functions: long and short × count and total × nodes of the tree
    belief: float = _MOVED  # the probability of the short memory
    error: float = 0.0  # a running sum of squared errors of prediction, and its weight
    weight: float = 0.0
    test: PageTest = PageTest()
    alarmed: float = 0.0  # the speed since the last alarm
    whole: bool = False  # whether the last round has shown the whole function

    @classmethod
    def of(cls, share: float | None, n_nodes: int) -> Drift:
        """Nothing seen yet."""
        return cls(math.nan if share is None else share, np.zeros((2, 2, n_nodes)))

    @property
    def _given(self) -> bool:
        return not math.isnan(self.share_given)

    @property
    def _anew(self) -> bool:
        """Whether the last round has given an alarm."""
        return not (self._given or self.whole) and self.test.alarm

    @property
    def speed(self) -> float:
        """How sure it is that the world moves, from 0 to 1."""
        if self._given:
            return min(_MEMORY_PER_SHARE * self.share_given / _FAST, 1.0)
        return max(0.0, (self.belief - _SURE) / (1.0 - _SURE)) if self.whole else self.alarmed

    @property
    def urgency(self) -> float:
        """The speed that the rate is told: after an alarm it may rise with forgotten gaps, but no further."""
        return self.speed if self._given or self.whole else min(self.speed, _CALM)

    @property
    def share(self) -> float:
        """The share of the mass that is spread in a round."""
        if self._given:
            return self.share_given
        return _SHARE_AT_ALARM if self._anew else max(_SHARE * self.speed, _LEAST_SHARE * self.whole)

    @property
    def kept(self) -> float:
        """The part of the past's mixability gaps that still counts for the rate."""
        if self._anew:
            return _GAPS_AT_ALARM
        # After an alarm gaps are forgotten with the statistics: the rate is that of a game as short.
        return 1.0 - self.share if self._given or self.whole else self.remembered

    @property
    def remembered(self) -> float:
        """The part of its statistics that the baseline keeps in a round."""
        if self._given:
            return 1.0 - min(_MEMORY_PER_SHARE * self.share_given, 0.5)
        return _KEPT_AT_ALARM if self._anew else 1.0 - _FORGETTING * self.speed

    def told(self, leaf: int, paid: float, whole: bool) -> Drift:
        """After a loss was paid in a cell, before the memories have got it."""
        if self._given:
            return self
        if whole:
            belief, error, weight = _weigh(self.memory, self.belief, self.error, self.weight, leaf, paid)
            return self._replace(belief=belief, error=error, weight=weight, whole=True)
        test = self.test.after(paid)
        faded = (1.0 - _FADING) * self.alarmed
        alarmed = _SPEED_AFTER if test.alarm else faded if faded > _CALM else 0.0
        return self._replace(test=test, alarmed=alarmed, whole=False)

    def remembering(self, increments: FloatArray) -> Drift:
        """After the counts and losses of a round were added to the nodes of the tree."""
        if self._given or not self.whole:
            return self
        memory = self.memory + increments
        memory[1] -= _FORGETTING * self.memory[1]
        return self._replace(memory=memory)


@kernel
def _weigh(
    memory: FloatArray, belief: float, error: float, weight: float, leaf: int, paid: float
) -> tuple[float, float, float]:
    """Bayes' rule for Gaussian errors, at half speed; the belief is pulled back a little to its prior.

    Returns the probability of the short memory, the error, and its weight.
    """
    means = memory[:, 1, 1] / (memory[:, 0, 1] + 1e-9)
    errors = np.empty(2)  # of the long memory, and of the short one
    for which in range(2):
        halvings = 0
        while leaf >> (halvings + 1) >= 1:
            halvings += 1
        expected = means[which]
        for depth in range(halvings - 1, -1, -1):
            node = leaf >> depth
            expected = (memory[which, 1, node] + expected) / (memory[which, 0, node] + 1.0)
        errors[which] = paid - expected
    errors[0] -= means[1] - means[0]
    if weight > 5.0:
        evidence = 0.25 * (errors[0] ** 2 - errors[1] ** 2) / (error / weight + 1e-12)
        odds = belief / (1.0 - belief) * math.exp(min(max(evidence, -50.0), 50.0))
        belief = (1.0 - 1e-3) * odds / (1.0 + odds) + 1e-3 * _MOVED
    error = 0.998 * error + (1.0 - belief) * errors[0] ** 2 + belief * errors[1] ** 2
    return belief, error, 0.998 * weight + 1.0
