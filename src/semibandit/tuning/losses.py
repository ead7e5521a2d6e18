"""What counts as a loss: limits, failures, and the range where nobody has said what it is."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import NamedTuple

from semibandit import _validate
from semibandit.tuning.command import Outcome
from semibandit.tuning.journal import Round

__all__ = ["FIRST_ROUNDS", "Cluster", "Hopeless", "Rules", "cluster", "range_of"]

FIRST_ROUNDS = 10  # with a loss, by which an automatic range is set
_WIDER = 2.0  # the range is so much wider than what these have shown

# What fails so often from the start, and always alike, is not worth all instances.
_FAILURES_AT_START = 10
_INSTANCES_AT_START = 3  # one that is broken alone shall not end a race

_CELLS = 10  # in which failures are counted
_LEVEL = 0.01  # of the test whether they cluster


@dataclass(frozen=True)
class Rules:
    """How the outcome of a run becomes a loss.

    Over `high`, or killed at the timeout: the largest loss, for that is what such a run is worth. A run that
    failed otherwise: nothing, as it may not be the parameter's fault, or `failed`.

    Parameters
    ----------
    high
        The largest loss; None where it is not known yet.
    maximize
        What is read is to be large, so that the worst is 0.
    failed
        "skip", "high" (the worst there is), or a loss in [0, high].

    Examples
    --------
    >>> late = Outcome(None, None, None, 5.0, late="no end after 5 seconds")
    >>> Rules(20.0).judge(late).loss
    20.0
    >>> Rules(20.0).judge(Outcome(30.0, None, b"", 1.0)).clipped
    'over 20: 30.0'
    """

    high: float | None
    maximize: bool = False
    failed: str | float = "skip"

    def __post_init__(self) -> None:
        if self.high is not None:
            _validate.number("high", self.high, low=0.0, open=True)
        if isinstance(self.failed, str):
            _validate.choice("failed", self.failed, ("skip", "high"))
        else:
            limit = math.inf if self.high is None else self.high
            object.__setattr__(self, "failed", _validate.number("failed", self.failed, low=0.0, high=limit))

    @property
    def worst(self) -> float | None:
        """What the worst run is worth; None while the range is not known."""
        return 0.0 if self.maximize else self.high

    def judge(self, outcome: Outcome) -> Outcome:
        """The same outcome with the loss that it counts as."""
        if outcome.late is not None:
            loss = outcome.loss if self.maximize and outcome.loss is not None else self.worst
            return replace(outcome, loss=loss, clipped=outcome.late)
        if outcome.failure is not None:
            return replace(outcome, loss=self._of_a_failure())
        assert outcome.loss is not None
        if self.high is None or outcome.loss <= self.high:
            return outcome
        return replace(outcome, loss=self.high, clipped=f"over {self.high:g}: {outcome.loss!r}")

    def _of_a_failure(self) -> float | None:
        if isinstance(self.failed, str):
            return None if self.failed == "skip" else self.worst
        return self.failed

    def of(self, record: Round) -> float | None:
        """What is learned from a round that was recorded when the range may not have been known."""
        if record.loss is None:
            return self.worst if record.clipped is not None else None
        return record.loss if self.high is None else min(record.loss, self.high)


def range_of(losses: Iterable[float]) -> float:
    """The largest loss to expect after the first ones: twice the largest of them.

    >>> range_of([3.0, 12.5])
    25.0
    """
    return _WIDER * max(losses, default=0.0) or 1.0


class Hopeless:
    """Counts runs from the start that are all alike: failed, or over the limit."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._alike: list[Round] | None = []

    def verdict(self, record: Round) -> str | None:
        """Why going on is pointless, if this round shows that it is."""
        if self._alike is None:
            return None
        if (kind := _kind(record)) is None or (self._alike and kind != _kind(self._alike[0])):
            self._alike = None
            return None
        self._alike.append(record)
        first, n = self._alike[0], len(self._alike)
        instances = {each.instance for each in self._alike}
        if n < _FAILURES_AT_START or len(instances) < _INSTANCES_AT_START:
            return None
        if first.failure is None:
            return f"the first {n} losses were all {first.clipped}. Give --high, or --high auto"
        if self._rules.failed != "skip":
            return None
        return f"the first {n} rounds have failed in the same way: {first.failure}"


def _kind(record: Round) -> list[str] | None:
    """What is the same in failures alike, such as "exit status 3"; what follows may tell of the instance."""
    if record.failure is not None:
        return record.failure.replace(":", " ").split()[:3]
    return ["over"] if record.clipped is not None and record.clipped.startswith("over") else None


class Cluster(NamedTuple):
    """Values at which runs fail more often than elsewhere."""

    lo: float
    hi: float
    failed: int
    runs: int
    failed_elsewhere: int
    runs_elsewhere: int


def cluster(runs: Sequence[tuple[float, bool]], lo: float, hi: float) -> Cluster | None:
    """Where in [lo, hi] failures are most surprising, if they are: Fisher's exact test, at 1 %.

    `runs` are pairs of a parameter and whether the run failed. Looks at the tenths of the interval, and at
    neighbours taken together; the level is that of all these tests. O(n).

    >>> cluster([(i / 100, i >= 85) for i in range(100)], 0.0, 1.0)
    Cluster(lo=0.8, hi=1.0, failed=15, runs=20, failed_elsewhere=0, runs_elsewhere=80)
    >>> cluster([(i / 100, i % 10 == 0) for i in range(100)], 0.0, 1.0) is None
    True
    """
    counts, bad = [0] * _CELLS, [0] * _CELLS
    for rho, failed in runs:
        cell = min(max(int((rho - lo) / (hi - lo) * _CELLS), 0), _CELLS - 1)
        counts[cell] += 1
        bad[cell] += failed
    n, n_bad = sum(counts), sum(bad)
    spans = list(combinations(range(_CELLS + 1), 2))
    chance, i, j = min((_at_least(sum(bad[i:j]), sum(counts[i:j]), n_bad, n), i, j) for i, j in spans)
    if chance * len(spans) > _LEVEL:
        return None
    inside, inside_bad = sum(counts[i:j]), sum(bad[i:j])
    left, right = (lo + (hi - lo) * edge / _CELLS for edge in (i, j))
    return Cluster(left, right, inside_bad, inside, n_bad - inside_bad, n - inside)


def _at_least(k: int, drawn: int, bad: int, n: int) -> float:
    """The chance of k or more bad ones among `drawn` of n, of which `bad` are bad."""
    ways = sum(
        math.comb(bad, i) * math.comb(n - bad, drawn - i)
        for i in range(k, min(drawn, bad) + 1)
        if drawn - i <= n - bad
    )
    return ways / math.comb(n, drawn)
