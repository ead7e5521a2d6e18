"""Rules that turn the outcome of a run into a loss, and abort tuning after equal failures."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from semibandit import _validate
from semibandit.tuning.command import Outcome
from semibandit.tuning.record import RunRecord

__all__ = ["AbortRule", "Rules"]

_ABORT_ROUNDS = 10
_ABORT_INSTANCES = 2
_MORE_INSTANCES = 5  # if the command has worked before


@dataclass(frozen=True)
class Rules:
    """Turn the outcome of a run into a loss.

    A loss above `high`, or a run killed at the timeout, counts as the worst loss. A run that failed otherwise
    teaches nothing, as the parameter may not be the reason, or counts as `failed`. Without `high`, losses are
    any finite numbers, and the worst loss is as far beyond the worst one so far as this is from the best one.

    Parameters
    ----------
    high
        Largest loss, if one is known: losses lie in [0, high].
    maximize
        Higher values are better; with `high`, the worst is 0.
    failed
        "skip" (no loss), "high" (the worst loss), or a loss.
    seen
        Smallest and largest loss so far.

    Examples
    --------
    >>> late = Outcome(None, None, None, 5.0, late="no end after 5 seconds")
    >>> Rules(20.0).judge(late).loss
    20.0
    >>> Rules(20.0).judge(Outcome(30.0, None, b"", 1.0)).clipped
    'over 20: 30.0'
    >>> Rules(seen=(3.0, 10.0)).judge(late).loss
    17.0
    """

    high: float | None = None
    maximize: bool = False
    failed: str | float = "skip"
    seen: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        if self.high is not None:
            _validate.number("high", self.high, low=0.0, open=True)
        if isinstance(self.failed, str):
            _validate.choice("failed", self.failed, ("skip", "high"))
        else:
            low, high = (-math.inf, math.inf) if self.high is None else (0.0, self.high)
            object.__setattr__(self, "failed", _validate.number("failed", self.failed, low=low, high=high))

    @property
    def worst(self) -> float | None:
        """Loss of the worst run; None if it is unknown."""
        if self.high is not None:
            return 0.0 if self.maximize else self.high
        if self.seen is None:
            return None
        low, high = self.seen
        if self.maximize:
            return low - (high - low or abs(low) or 1.0)
        return high + (high - low or abs(high) or 1.0)

    def after(self, record: RunRecord) -> Rules:
        """Return the rules after a round: a loss that was read extends the range of the losses so far."""
        loss = record.loss
        if loss is None or record.clipped is not None or record.failure is not None:
            return self
        low, high = self.seen or (loss, loss)
        return replace(self, seen=(min(low, loss), max(high, loss)))

    def judge(self, outcome: Outcome) -> Outcome:
        """Return the outcome with the loss that it counts as."""
        if outcome.late is not None:
            return self._judge_late(outcome, outcome.late)
        if outcome.failure is not None:
            return replace(outcome, loss=self._of_a_failure())
        loss = outcome.loss
        assert loss is not None
        if self.high is None or 0.0 <= loss <= self.high:
            return outcome
        if loss < 0.0:
            failure = f"the loss must be at least 0, got {loss!r}"
            return replace(outcome, loss=self._of_a_failure(), failure=failure)
        return replace(outcome, loss=self.high, clipped=f"over {self.high:g}: {loss!r}")

    def _judge_late(self, outcome: Outcome, reason: str) -> Outcome:
        """Return the outcome of a run killed at the timeout; it failed if the worst loss is unknown."""
        known = self.maximize or self.high is None
        loss = outcome.loss if known and outcome.loss is not None else self.worst
        if loss is None:
            return replace(outcome, failure=reason, late=None)
        return replace(outcome, loss=loss if self.high is None else min(loss, self.high), clipped=reason)

    def _of_a_failure(self) -> float | None:
        if isinstance(self.failed, str):
            return None if self.failed == "skip" else self.worst
        return self.failed


class AbortRule:
    """Abort tuning if the first ten rounds or more failed in the same way, or were above the limit.

    They must be on two instances, unless there is one only: a broken instance alone is no reason. If the
    command has worked before, they must be on five.

    Parameters
    ----------
    rules
        Rules of the losses.
    n_instances
        Number of all instances.
    has_worked
        Earlier rounds had losses.
    """

    def __init__(self, rules: Rules, n_instances: int, has_worked: bool = False) -> None:
        self._rules = rules
        self._least = min(_MORE_INSTANCES if has_worked else _ABORT_INSTANCES, n_instances)
        self._alike: list[RunRecord] = []
        self._over = False  # a round was different

    def reason(self, record: RunRecord) -> str | None:
        """Return why to abort after this round, or None."""
        if self._over:
            return None
        self._alike.append(record)
        first = self._alike[0]
        counts = first.failure is not None and self._rules.failed != "skip"  # as a loss
        self._over = counts or _kind(record) is None or _kind(record) != _kind(first)
        few = len({each.instance for each in self._alike}) < self._least
        if self._over or few or len(self._alike) < _ABORT_ROUNDS:
            return None
        if first.failure is None:
            return (
                f"the first {len(self._alike)} losses were all {first.clipped}. Give a larger --high, or none"
            )
        return f"the first {len(self._alike)} rounds have failed in the same way: {first.failure}"


def _kind(record: RunRecord) -> list[str] | None:
    """Return the first words of a failure, such as "exit status 3"; the rest may depend on the instance."""
    if record.failure is not None:
        return record.failure.replace(":", " ").split()[:3]
    return ["over"] if record.clipped is not None and record.clipped.startswith("over") else None
