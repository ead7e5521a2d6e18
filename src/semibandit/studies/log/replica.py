"""Copy of a study in one process: the learner after all events that were read, and its counters."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import msgspec

from semibandit.learners import Learner, Trial
from semibandit.studies.log import events
from semibandit.studies.log.events import Asked, Created, Enqueued, Event
from semibandit.studies.log.summary import StudyCounts, StudySummary, summarize
from semibandit.studies.settings import StudySettings

__all__ = ["UNREADABLE", "Replica", "pending_in"]

UNREADABLE = (ValueError, TypeError, LookupError, ArithmeticError, AttributeError)  # by a damaged event
_REMEMBERED = 1000  # finished trials


class _Snapshot(msgspec.Struct):
    """A saved replica."""

    event: int
    last: str
    created: Created
    counts: StudyCounts
    leases: list[Asked]
    learner: bytes
    queue: list[Enqueued] = []


def pending_in(data: bytes) -> dict[int, Asked]:
    """Return the pending trials of a saved replica."""
    return {lease.trial: lease for lease in msgspec.msgpack.decode(data, type=_Snapshot).leases}


class Replica:
    """State of a study after a number of events. Deterministic: equal logs give identical replicas.

    `event` is the number of the last event and `last` its text, by which `follows` detects that the log was
    replaced. `leases` are the pending trials, as the events that asked them. `changed` is true while the
    learner is ahead of the log. `queue` holds the user's own values that wait for an ask.
    """

    def __init__(self, saved: _Snapshot) -> None:
        self.event, self.last, self.created, self.counts = (
            saved.event,
            saved.last,
            saved.created,
            saved.counts,
        )
        self.changed = False
        self.queue = list(saved.queue)  # values of the user's own that wait for an ask
        self.settings = msgspec.convert(saved.created.settings, StudySettings)
        self.learner: Learner = self.settings.kind.loads(saved.learner, "the saved learner")
        self.leases = {lease.trial: lease for lease in saved.leases}
        self.keys = {lease.key: lease.trial for lease in saved.leases if lease.key is not None}
        self.trials: dict[int, Trial] = {trial.id: trial for trial in self.learner.pending}
        self.finished: dict[int, float] = {}  # positions of the last finished trials
        self._next_end = -math.inf  # no lease ends before

    @classmethod
    def created_by(cls, line: str) -> Replica:
        """Return the replica after the first event of a log."""
        event = events.decode(line)
        if isinstance(event, events.Folded):
            folded = msgspec.msgpack.decode(event.replica, type=_Snapshot)
            return cls(msgspec.structs.replace(folded, last=line))
        if not isinstance(event, Created):
            raise ValueError("the log does not begin with the creation of a study")
        return cls(_Snapshot(1, line, event, StudyCounts(event.at, event.at), [], event.learner))

    @classmethod
    def after(cls, lines: Iterable[str], learner: Learner | None = None) -> Replica:
        """Return the replica after all events of a log, with another learner if one is given."""
        first, *others = lines
        replica = cls.created_by(first)
        replica.learner = replica.learner if learner is None else learner
        replica.apply_all(others)
        return replica

    @classmethod
    def loads(cls, data: bytes) -> Replica:
        """Return the replica that `dumps` has saved."""
        return cls(msgspec.msgpack.decode(data, type=_Snapshot))

    def dumps(self) -> bytes:
        """Return a snapshot."""
        learner = self.settings.kind.dumps(self.learner)
        leases = list(self.leases.values())
        return msgspec.msgpack.encode(
            _Snapshot(self.event, self.last, self.created, self.counts, leases, learner, self.queue)
        )

    def folded(self) -> str:
        """Return the event that replaces all events so far."""
        return events.encode(events.Folded(self.counts.at, self.event, self.dumps()))

    # -- events ------------------------------------------------------------------------------------

    def follows(self, rows: list[tuple[int, str]]) -> bool:
        """Return whether the first row is our last event; if not, the log was replaced (by a backup)."""
        return bool(rows) and rows[0] == (self.event, self.last)

    def apply_all(self, lines: Iterable[str]) -> None:
        """Apply the next events of the log; raises ValueError with the number of one that is damaged."""
        for line in lines:
            try:
                self.apply(line)
            except UNREADABLE as error:
                raise ValueError(f"event {self.event + 1} is damaged ({error})") from error

    def apply(self, line: str) -> None:
        """Apply the next event of the log."""
        event = events.decode(line)
        match event:
            case Asked():
                self._ask(event)
            case events.Told():
                self.learner.tell(
                    self._pending(event.trial),
                    events.unpack(event.seen),
                    predicted=None if event.predicted is None else events.unpack(event.predicted),
                    probability=event.probability,
                )
            case events.Failed():
                self.learner.tell(self._pending(event.trial), None)
            case events.Forgotten():
                self.learner.forget(self._pending(event.trial))
            case events.Extended():
                self.race.extend(event.instances, event.runs, event.retry_failed)
        self.record(event, line)

    def _ask(self, event: Asked) -> None:
        given: dict[str, Any] = {} if event.context is None else {"context": event.context}
        if event.own:
            trial = self.learner.ask(values=event.given(self.learner.space.names), **given)
        else:
            positions = [event.position, *(event.probes or ())]
            trial = self.learner.ask(explore=event.explore, position=positions, **given)
        if trial.id != event.trial:
            raise ValueError(f"trial {event.trial} was asked where trial {trial.id} comes next")
        self.trials[trial.id] = trial

    def _pending(self, number: int) -> Trial:
        if number not in self.trials:
            raise ValueError(f"trial {number} is not pending")
        return self.trials[number]

    def record(self, event: Event, line: str) -> None:
        """Count an event that the learner has processed already."""
        match event:
            case Asked():
                self.counts.learner = self.trials[event.trial].learner
                if event.key is not None:
                    self.keys[event.key] = event.trial
                self._lease(event)
                self.queue = [each for each in self.queue if each.key != event.enqueued]
            case Enqueued():
                self.queue.append(event)
                self.counts.enqueued.add(event.key)
            case events.Told():
                self._release(event.trial)
                self.counts.add_told(event)
            case events.Failed():
                self._release(event.trial)
                self.counts.add_failed(event)
            case events.Forgotten():
                asked = self.leases[event.trial]
                if asked.enqueued is not None:  # the values wait again
                    values = asked.given(self.learner.space.names) or {}
                    self.queue.insert(0, Enqueued(asked.at, values, asked.enqueued))
                self._release(event.trial)
                self.counts.forgotten.add(event.trial)
                self.counts.expired += event.failure == events.EXPIRED
            case events.Renewed():
                self._pending(event.trial)
                self._lease(msgspec.structs.replace(self.leases[event.trial], until=event.until))
            case events.Changed():
                for name, value in event.settings.items():
                    setattr(self.counts, name, value)
        self.counts.at = event.at
        self.event += 1
        self.last = line

    def _lease(self, event: Asked) -> None:
        self.leases[event.trial] = event
        if event.until is not None:
            self._next_end = min(self._next_end, event.until)

    def _release(self, trial: int) -> None:
        lease = self.leases.pop(trial)
        del self.trials[trial]
        self.finished[trial] = lease.position
        if len(self.finished) > _REMEMBERED:
            del self.finished[next(iter(self.finished))]
        if lease.key is not None:
            del self.keys[lease.key]

    def overdue(self, now: float) -> list[int]:
        """Return the trials whose lease has expired, oldest first. O(1) until the next lease ends."""
        if now <= self._next_end:
            return []
        leases = self.leases.values()
        ends = sorted((lease.until, lease.trial) for lease in leases if lease.until is not None)
        self._next_end = ends[0][0] if ends else math.inf
        return [trial for until, trial in ends if until < now]

    def compile(self) -> None:
        """Play one round on another learner if ours was never told anything: this compiles the kernels.

        In a new process that may take half a minute, which should not happen while the store is locked.
        """
        if self.settings.kind.compiled and self.learner.n_told == 0:
            learner = self.settings.make()
            learner.tell(learner.ask(), 0.0)

    @property
    def race(self) -> Any:
        """The learner of a study that is a race."""
        if self.settings.learner != "Race":
            raise ValueError(f"the study must be a race, got the learner {self.settings.learner}")
        return self.learner

    def summary(self) -> StudySummary:
        """Return the summary of this moment. O(P)."""
        return summarize(self.event, self.counts, self.learner)
