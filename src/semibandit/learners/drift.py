"""Drift: a fixed share of the weight, or restarts when Page's test detects a change of the losses."""

from __future__ import annotations

import math
from typing import NamedTuple

from semibandit import _validate

__all__ = ["Drift", "PageTest", "Restart"]

_RISE = 0.125  # standard deviations by which losses may exceed their mean
_FALL = 1.5  # by which they may fall below it: losses also fall because the learner learns
_LARGEST = 3.0  # standard deviations; a single loss counts for no more
_FIRST = 100  # rounds before the mean is used

_FORGET_PER_SHARE = 16.0  # statistics are forgotten so much faster than weight is spread
_FAST = 0.01  # forgetting that counts as fast drift


class PageTest:
    """Page's test (1954) for a change of the mean of a sequence.

    A running sum, bounded below by 0, adds up by how much losses exceed their mean plus a slack of 1/8
    standard deviation. exp(sum / 4) is the likelihood ratio of a rise by 1/4 standard deviation against no
    rise. It raises an alarm when it exceeds the number of rounds since the last alarm, so that false alarms
    become rarer. A second sum does the same for falls, with a slack of 1.5.

    >>> test = PageTest()
    >>> any(test.update(0.1 * (t % 3)) for t in range(300))
    False
    >>> [t for t in range(50) if test.update(0.6)][:1]
    [7]
    """

    def __init__(self) -> None:
        self._reset()

    def _reset(self) -> None:
        self.rounds, self.mean, self.squares, self.excess, self.shortfall = 0, 0.0, 0.0, 0.0, 0.0

    def update(self, loss: float) -> bool:
        """Add a loss; return whether it raises an alarm, after which the test starts again."""
        above = loss - self.mean
        if self.rounds >= _FIRST and self.squares > 0.0:
            deviations = above / math.sqrt(self.squares / self.rounds)
            deviations = max(min(deviations, _LARGEST), -_LARGEST)
            self.excess = max(self.excess + deviations - _RISE, 0.0)
            self.shortfall = max(self.shortfall - deviations - _FALL, 0.0)
        self.rounds += 1
        self.mean += above / self.rounds
        self.squares += above * (loss - self.mean)
        alarm = 2.0 * _RISE * max(self.excess, self.shortfall) > math.log(self.rounds)
        if alarm:
            self._reset()
        return alarm

    @property
    def state(self) -> list[float]:
        """Numbers of the test, for saving."""
        return [self.rounds, self.mean, self.squares, self.excess, self.shortfall]

    @state.setter
    def state(self, numbers: list[float]) -> None:
        if len(numbers) != 5 or not all(map(math.isfinite, numbers)) or numbers[0] < 0 or numbers[2] < 0.0:
            raise ValueError(f"the state of Page's test is broken: {numbers}")
        rounds, self.mean, self.squares, self.excess, self.shortfall = numbers
        self.rounds = int(rounds)


class Restart(NamedTuple):
    """Changes after a round: the share of the prior to mix in, and what is kept of the past."""

    share: float
    statistics: float  # part of the statistics that is kept
    gaps: float  # part of the sum of mixability gaps that is kept
    speed: float  # from 0 to 1: how fast the best parameter moves; above 0 the rate may rise


# Chosen on the streams of benchmarks/drift.py.
_ALARM = Restart(0.25, 0.03, 0.1, 1e-4)
_READY, _FADING, _CALM = 0.5, 1e-3, 1e-4  # readiness after an alarm, how it fades, and when it ends
_SHARE, _FORGETTING = 2.0**-10, 2.0**-6  # in each round, for a readiness of 1
_FULL_SHARE = 2.0**-16  # in each round with full information


class Drift:
    """Restarts of a learner whose best parameter moves.

    Parameters
    ----------
    share
        Fixed share (Balcan, Dick, Sharma 2020): mix this share of the prior into the weights in each round.
        None: mix in a quarter when `PageTest` raises an alarm. In about a thousand rounds after it a small
        share follows, as further changes are likely. With full information, 2^-16 is mixed in each round.
    """

    def __init__(self, share: float | None) -> None:
        self.share = share
        self.readiness = 0.0
        self.test = PageTest()

    def after(self, loss: float, whole: bool = False) -> Restart:
        """Return the changes after a round with this loss."""
        if self.share is not None:
            forgotten = min(_FORGET_PER_SHARE * self.share, 0.5)
            return Restart(self.share, 1.0 - forgotten, 1.0 - self.share, min(forgotten / _FAST, 1.0))
        if self.test.update(loss):
            self.readiness = _READY
            return _ALARM
        faded = (1.0 - _FADING) * self.readiness
        self.readiness = faded if faded > _CALM else 0.0
        share = max(_SHARE * self.readiness, _FULL_SHARE if whole else 0.0)
        kept = 1.0 - _FORGETTING * self.readiness
        return Restart(share, kept, kept, min(self.readiness, _CALM))

    @property
    def state(self) -> list[float]:
        """Numbers that change, for saving."""
        return [self.readiness, *self.test.state]

    @state.setter
    def state(self, numbers: list[float]) -> None:
        self.test.state = numbers[1:]
        self.readiness = _validate.number("readiness", numbers[0], low=0.0, high=1.0)
