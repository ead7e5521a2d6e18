"""Copy of a study in one process: the learner after all events that were read, and its counters."""

from __future__ import annotations

import heapq
from typing import Any

import msgspec

from semibandit.learners import Learner, Trial
from semibandit.studies.log import events
from semibandit.studies.log.events import (
    Asked,
    Changed,
    Created,
    Event,
    Extended,
    Failed,
    Forgotten,
    Renewed,
    Told,
)
from semibandit.studies.log.summary import StudyCounts, StudySummary, summarize
from semibandit.studies.settings import StudySettings

__all__ = ["Lease", "Replica"]


class Lease(msgspec.Struct):
    """A pending trial: the worker that has it, since when, and until when (None: forever)."""

    trial: int
    rho: int | float
    worker: str
    since: float
    until: float | None = None
    alpha: float | list[Any] | None = None
    key: str | None = None
    info: events.Info | None = None


class _Snapshot(msgspec.Struct):
    """A saved replica."""

    event: int
    last: str
    created: Created
    counts: StudyCounts
    leases: list[Lease]
    learner: bytes


class Replica:
    """State of a study after a number of events. Deterministic: equal logs give identical replicas.

    `event` is the number of the last event and `last` its text, by which `follows` detects that the log was
    replaced. `changed` is true while the learner is ahead of the log.
    """

    def __init__(self, line: str) -> None:
        created = events.decode(line)
        if not isinstance(created, Created):
            raise ValueError("the log does not begin with the creation of a study")
        self._set(1, line, created, created.learner, StudyCounts(created.at, created.at), [])

    def _set(
        self,
        event: int,
        last: str,
        created: Created,
        learner: bytes,
        counts: StudyCounts,
        leases: list[Lease],
    ) -> None:
        self.event, self.last, self.created = event, last, created
        self.changed = False
        self.settings = msgspec.convert(created.settings, StudySettings)
        self.learner: Learner = self.settings.kind.loads(learner, "the saved learner")
        self.counts = counts
        self.leases = {lease.trial: lease for lease in leases}
        self.keys = {lease.key: lease.trial for lease in leases if lease.key is not None}
        self.trials: dict[int, Trial] = {trial.id: trial for trial in self.learner.pending}
        self._ends = [(lease.until, lease.trial) for lease in leases if lease.until is not None]
        heapq.heapify(self._ends)

    # -- events ------------------------------------------------------------------------------------

    def follows(self, rows: list[tuple[int, str]]) -> bool:
        """Return whether the first row is our last event; if not, the log was replaced (by a backup)."""
        return bool(rows) and rows[0] == (self.event, self.last)

    def apply(self, line: str) -> None:
        """Apply the next event of the log."""
        event = events.decode(line)
        match event:
            case Asked():
                self._ask(event)
            case Told():
                seen = events.unpack(event.seen)
                self.learner.tell(self._pending(event.trial), seen, probability=event.probability)
            case Failed():
                self.learner.tell(self._pending(event.trial), None)
            case Forgotten():
                self.learner.forget(self._pending(event.trial))
            case Extended():
                self.race.extend(event.instances, event.runs, event.retry_failed)
        self.record(event, line)

    def _ask(self, event: Asked) -> None:
        trial = self.learner.ask(position=[event.position, *(event.probes or ())])
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
                self._lease(event)
            case Told():
                self._release(event.trial)
                self.counts.add_told(event)
            case Failed():
                self._release(event.trial)
                self.counts.add_failed(event)
            case Forgotten():
                self._release(event.trial)
                self.counts.forgotten.add(event.trial)
            case Renewed():
                self._pending(event.trial)
                self.leases[event.trial].until = event.until
                self._await(event.trial, event.until)
            case Changed():
                for name, value in event.settings.items():
                    setattr(self.counts, name, value)
        self.counts.at = event.at
        self.event += 1
        self.last = line

    def _lease(self, event: Asked) -> None:
        self.counts.learner = self.trials[event.trial].learner
        self.leases[event.trial] = Lease(
            event.trial, event.rho, event.worker, event.at, event.until, event.alpha, event.key, event.info
        )
        if event.key is not None:
            self.keys[event.key] = event.trial
        self._await(event.trial, event.until)

    def _await(self, trial: int, until: float | None) -> None:
        if until is not None:
            heapq.heappush(self._ends, (until, trial))

    def _release(self, trial: int) -> None:
        lease = self.leases.pop(trial)
        del self.trials[trial]
        if lease.key is not None:
            del self.keys[lease.key]

    def overdue(self, now: float) -> list[int]:
        """Return the trials whose lease has expired, oldest first. O(1) if there are none."""
        late: list[int] = []
        while self._ends and self._ends[0][0] < now:
            until, trial = heapq.heappop(self._ends)
            lease = self.leases.get(trial)
            if lease is not None and lease.until == until and trial not in late:
                late.append(trial)
        # They stay overdue until the log says that they are forgotten.
        for trial in late:
            self._await(trial, self.leases[trial].until)
        return late

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

    # -- snapshots ---------------------------------------------------------------------------------

    def dumps(self) -> bytes:
        """Return a snapshot."""
        learner = self.settings.kind.dumps(self.learner)
        leases = list(self.leases.values())
        snapshot = _Snapshot(self.event, self.last, self.created, self.counts, leases, learner)
        return msgspec.msgpack.encode(snapshot)

    @classmethod
    def loads(cls, data: bytes) -> Replica:
        """Return the replica from a snapshot."""
        saved = msgspec.msgpack.decode(data, type=_Snapshot)
        replica = cls.__new__(cls)
        replica._set(saved.event, saved.last, saved.created, saved.learner, saved.counts, saved.leases)
        return replica
