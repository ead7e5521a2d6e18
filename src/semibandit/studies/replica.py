"""A process' copy of a study: the learner that has lived through the log, and what is counted on the way."""

from __future__ import annotations

import heapq
from typing import Any

import msgspec
import numpy as np

from semibandit._validate import FloatArray
from semibandit.learners import Learner, Trial
from semibandit.spaces import call
from semibandit.studies import events
from semibandit.studies.events import (
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
from semibandit.studies.settings import Settings

__all__ = ["CELLS", "Lease", "Portrait", "Replica", "Tally"]

# A picture of the density has this many cells.
CELLS = 128

_MOST_KINDS = 50  # kinds of failure that are counted one by one


class Lease(msgspec.Struct):
    """A trial that a worker has: since when, and until when (None: for ever)."""

    trial: int
    rho: int | float
    worker: str
    since: float
    until: float | None = None
    alpha: float | list[Any] | None = None
    key: str | None = None
    info: events.Info | None = None


class Tally(msgspec.Struct):
    """What adds up along the log."""

    began: float
    at: float
    told: int = 0
    failed: int = 0
    loss: float = 0.0
    n_losses: int = 0
    widths: float = 0.0
    n_widths: int = 0
    defaults: float = 0.0  # losses of the default, where they were told too, and the learner's on the same
    paired: float = 0.0
    n_defaults: int = 0
    failures: dict[str, int] = {}
    forgotten: set[int] = set()
    learner: str = ""  # as its trials call it
    lease: float = 300.0
    note: str = ""


class Portrait(msgspec.Struct):
    """A replica as it is drawn: small, whatever the size of the learner."""

    event: int
    tally: Tally
    rho: int | float
    interval: tuple[float, float]
    line: tuple[float, float]  # the ends of the line that carries the density
    place: float  # of rho on that line
    cells: bytes  # the mass of each of the equal cells of the line, float32
    alpha: float | list[Any] | None = None

    def masses(self) -> list[float]:
        """The share of the density in each cell."""
        return list(np.frombuffer(self.cells, "<f4").astype(float).tolist())


class _State(msgspec.Struct):
    """A replica in a snapshot."""

    event: int
    last: str
    created: Created
    tally: Tally
    leases: list[Lease]
    learner: bytes


class Replica:
    """The state of a study after some events. Deterministic: the same events give the same bits.

    `last` is the text of the last event, by which a replica finds out that the log beneath it was replaced.
    """

    def __init__(self, line: str) -> None:
        created = events.decode(line)
        if not isinstance(created, Created):
            raise ValueError("the log does not begin with the creation of a study")
        learner = msgspec.convert(created.settings, Settings).kind.loads(
            created.learner, "the study's learner"
        )
        self._set(1, line, created, learner, Tally(created.at, created.at), [])

    def _set(
        self, event: int, last: str, created: Created, learner: Learner, tally: Tally, leases: list[Lease]
    ) -> None:
        self.event, self.last, self.created = event, last, created
        self.moved = False  # the learner has done what the log does not say yet
        self.learner, self.tally = learner, tally
        self.settings = msgspec.convert(created.settings, Settings)
        self.leases = {lease.trial: lease for lease in leases}
        self.keys = {lease.key: lease.trial for lease in leases if lease.key is not None}
        self.trials: dict[int, Trial] = {trial.id: trial for trial in learner.pending}
        self._ends = [(lease.until, lease.trial) for lease in leases if lease.until is not None]
        heapq.heapify(self._ends)

    # -- going on ----------------------------------------------------------------------------------

    def follow(self, rows: list[tuple[int, str]]) -> bool:
        """Live through the events after the first of these, which must be our last.

        False where it is not: the log was replaced under us (a backup was put back, say).
        """
        if not rows or rows[0] != (self.event, self.last):
            return False
        for _, line in rows[1:]:
            self.apply(line)
        return True

    def apply(self, line: str) -> None:
        """Live through the next event of the log."""
        event = events.decode(line)
        match event:
            case Asked():
                self._ask(event)
            case Told():
                self.learner.tell(
                    self.trials[event.trial], events.unpack(event.seen), probability=event.probability
                )
            case Failed():
                self.learner.tell(self.trials[event.trial], None)
            case Forgotten():
                self.learner.forget(self.trials[event.trial])
            case Extended():
                self.race.extend(event.instances, event.runs, event.retry_failed)
        self.record(event, line)

    def _ask(self, event: Asked) -> None:
        trial = self.learner.ask(position=[event.position, *(event.probes or ())])
        if trial.id != event.trial:
            raise ValueError(f"the log is damaged: trial {event.trial} where {trial.id} comes next")
        self.trials[trial.id] = trial

    def record(self, event: Event, line: str) -> None:
        """Count an event that the learner has lived through already."""
        tally = self.tally
        match event:
            case Asked():
                self._lease(event)
            case Told():
                self._release(event.trial)
                tally.told += 1
                if event.loss is not None:
                    tally.loss += event.loss
                    tally.n_losses += 1
                if event.width is not None:
                    tally.widths += event.width
                    tally.n_widths += 1
                default = (event.info or {}).get("default_loss")
                if isinstance(default, int | float) and event.loss is not None:
                    tally.n_defaults += 1
                    tally.defaults += default
                    tally.paired += event.loss
            case Failed():
                self._release(event.trial)
                tally.failed += 1
                known = event.failure in tally.failures or len(tally.failures) < _MOST_KINDS
                kind = event.failure if known else "other"
                tally.failures[kind] = tally.failures.get(kind, 0) + 1
            case Forgotten():
                self._release(event.trial)
                tally.forgotten.add(event.trial)
            case Renewed():
                self.leases[event.trial].until = event.until
                self._await(event.trial, event.until)
            case Changed():
                for name, value in event.settings.items():
                    setattr(tally, name, value)
        tally.at = event.at
        self.event += 1
        self.last = line

    def _lease(self, event: Asked) -> None:
        self.tally.learner = self.trials[event.trial].learner
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
        """The trials whose lease has run out, oldest first. O(1) where there are none."""
        late: list[int] = []
        while self._ends and self._ends[0][0] < now:
            until, trial = heapq.heappop(self._ends)
            lease = self.leases.get(trial)
            if lease is not None and lease.until == until and trial not in late:
                late.append(trial)
        # Until the log says that they are forgotten, they stay due.
        for trial in late:
            self._await(trial, self.leases[trial].until)
        return late

    def rehearse(self) -> None:
        """Have another learner play a round, where ours was never told anything: what it needs is compiled.

        In a process that has just begun this may take half a minute, which no lease should have to cover,
        and for which nobody should have to wait for the store.
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

    # -- looking -----------------------------------------------------------------------------------

    def portrait(self) -> Portrait:
        """What a page shows of this moment. O(P)."""
        best, density = self.learner.recommend(), self.learner.density()
        alpha = best.alpha
        return Portrait(
            event=self.event,
            tally=msgspec.structs.replace(self.tally, failures=dict(self.tally.failures), forgotten=set()),
            rho=best.rho,
            interval=best.interval,
            line=(float(density.edges[0]), float(density.edges[-1])),
            place=call(self.learner.space.place, best.parameters),
            cells=cell_masses(density).astype("<f4").tobytes(),
            alpha=list(alpha) if isinstance(alpha, tuple) else alpha,
        )

    # -- snapshots ---------------------------------------------------------------------------------

    def dumps(self) -> bytes:
        """Everything, for `loads`."""
        state = _State(
            event=self.event,
            last=self.last,
            created=self.created,
            tally=self.tally,
            leases=list(self.leases.values()),
            learner=self.settings.kind.dumps(self.learner),
        )
        return msgspec.msgpack.encode(state)

    @classmethod
    def loads(cls, data: bytes) -> Replica:
        """Undo `dumps`."""
        state = msgspec.msgpack.decode(data, type=_State)
        replica = cls.__new__(cls)
        kind = msgspec.convert(state.created.settings, Settings).kind
        learner = kind.loads(state.learner, "a snapshot's learner")
        replica._set(state.event, state.last, state.created, learner, state.tally, state.leases)
        return replica


def cell_masses(density: Any) -> FloatArray:
    """The share of a density in each of `CELLS` equal cells of its line."""
    masses: FloatArray = density.between(np.linspace(density.edges[0], density.edges[-1], CELLS + 1))
    total = float(masses.sum())
    return masses / total
