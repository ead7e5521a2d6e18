"""Rules that turn the outcome of a run into a loss, and abort tuning after equal failures."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from semibandit import _validate
from semibandit.tuning.command import Outcome
from semibandit.tuning.record import RunRecord, printable

__all__ = ["AbortRule", "Rules", "range_of"]

_RANGE_FACTOR = 2.0  # an automatic range is this many times the largest loss of the first runs

_ABORT_ROUNDS = 10
_ABORT_INSTANCES = 3


@dataclass(frozen=True)
class Rules:
    """Turn the outcome of a run into a loss.

    A loss above `high`, or a run killed at the timeout, counts as the worst loss. A run that failed otherwise
    teaches nothing, as the parameter may not be the reason, or counts as `failed`.

    Parameters
    ----------
    high
        Largest loss.
    maximize
        Higher values are better; the worst is 0.
    failed
        "skip" (no loss), "high" (the worst loss), or a loss in [0, high].

    Examples
    --------
    >>> late = Outcome(None, None, None, 5.0, late="no end after 5 seconds")
    >>> Rules(20.0).judge(late).loss
    20.0
    >>> Rules(20.0).judge(Outcome(30.0, None, b"", 1.0)).clipped
    'over 20: 30.0'
    """

    high: float
    maximize: bool = False
    failed: str | float = "skip"

    def __post_init__(self) -> None:
        _validate.number("high", self.high, low=0.0, open=True)
        if isinstance(self.failed, str):
            _validate.choice("failed", self.failed, ("skip", "high"))
        else:
            loss = _validate.number("failed", self.failed, low=0.0, high=self.high)
            object.__setattr__(self, "failed", loss)

    @property
    def worst(self) -> float:
        """Loss of the worst run."""
        return 0.0 if self.maximize else self.high

    def judge(self, outcome: Outcome) -> Outcome:
        """Return the outcome with the loss that it counts as."""
        if outcome.late is not None:
            loss = outcome.loss if self.maximize and outcome.loss is not None else self.worst
            return replace(outcome, loss=min(loss, self.high), clipped=outcome.late)
        if outcome.failure is not None:
            return replace(outcome, loss=self._of_a_failure())
        assert outcome.loss is not None
        if outcome.loss <= self.high:
            return outcome
        return replace(outcome, loss=self.high, clipped=f"over {self.high:g}: {outcome.loss!r}")

    def _of_a_failure(self) -> float | None:
        if isinstance(self.failed, str):
            return None if self.failed == "skip" else self.worst
        return self.failed


def range_of(losses: Iterable[float]) -> float:
    """Return the assumed largest loss: twice the largest of the first ones, 1 if all are 0.

    >>> range_of([3.0, 12.5])
    25.0
    """
    return min(_RANGE_FACTOR * max(losses, default=0.0), math.nextafter(math.inf, 0.0)) or 1.0


class AbortRule:
    """Abort tuning if the first ten rounds failed in the same way, or were above the limit.

    A race starts with many values on one instance. If the ten rounds have seen fewer than three instances,
    the last round is made again on others: one broken instance alone must not abort a race.

    Parameters
    ----------
    rules
        Rules of the losses.
    instances
        All instances.
    again
        Makes a round again on another instance.
    """

    def __init__(
        self, rules: Rules, instances: Sequence[str], again: Callable[[RunRecord, str], Outcome]
    ) -> None:
        self._rules, self._instances, self._again = rules, instances, again
        self._alike: list[RunRecord] = []
        self._over = False  # a round was different

    def reason(self, record: RunRecord) -> str | None:
        """Return why to abort after this round, or None."""
        first = self._alike[0] if self._alike else record
        self._over = self._over or _kind(record) is None or _kind(record) != _kind(first)
        if self._over:
            return None
        self._alike.append(record)
        if len(self._alike) < _ABORT_ROUNDS:
            return None
        self._over = True
        if first.failure is not None and self._rules.failed != "skip":
            return None
        seen = {each.instance for each in self._alike}
        others = [name for name in dict.fromkeys(self._instances) if printable(name) not in seen]
        for name in others[: max(_ABORT_INSTANCES - len(seen), 0)]:
            if _kind(self._again(record, name)) != _kind(first):
                return None
        if first.failure is None:
            return f"the first {_ABORT_ROUNDS} losses were all {first.clipped}. Give --high, or --high auto"
        return f"the first {_ABORT_ROUNDS} rounds have failed in the same way: {first.failure}"


def _kind(record: RunRecord | Outcome) -> list[str] | None:
    """Return the first words of a failure, such as "exit status 3"; the rest may depend on the instance."""
    if record.failure is not None:
        return record.failure.replace(":", " ").split()[:3]
    return ["over"] if record.clipped is not None and record.clipped.startswith("over") else None
