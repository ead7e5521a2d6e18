"""A study in a store, read and written by this process."""

from __future__ import annotations

import math
import os
import threading
import time
import warnings
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

import msgspec

from semibandit.studies.log.operations import (
    creation,
    decode_operations,
    decode_outcomes,
    encode_operations,
    encode_outcomes,
)
from semibandit.studies.log.replica import UNREADABLE, Replica
from semibandit.studies.log.stores import (
    MAX_LAG,
    DamagedStudyError,
    Store,
    Turn,
    UnknownStudyError,
    open_store,
    public,
)
from semibandit.studies.log.summary import StudySummary
from semibandit.studies.settings import StudySettings

__all__ = ["LocalBackend", "Transaction"]

Transaction = Callable[[Replica, Turn], Any]
T = TypeVar("T")

_CHUNK = 20_000  # events that are read at once
_PATIENCE = 10.0  # seconds
_MIN_STRIDE = 32  # events between two summaries, at least
_MAX_SNAPSHOTS = 32
_MAX_SNAPSHOT_BYTES = 256_000_000
_REFUSED = (ValueError, TypeError)  # raised by operations before the learner has changed

_backends: weakref.WeakSet[LocalBackend] = weakref.WeakSet()


class LocalBackend:
    """Store, replica and transactions of one study. Threads may share it; a forked child may use it.

    Parameters
    ----------
    storage, name
        Address of the store, and name of the study.
    given
        Settings with which the study is created, or must agree; None joins an existing study.
    """

    def __init__(self, storage: str, name: str, given: StudySettings | None) -> None:
        self.storage, self.name = storage, name
        if given is not None:
            given.make()  # wrong settings raise before a store is created
        self._lock = threading.RLock()
        self._replica: Replica | None = None
        self._compiled = False
        self._shared = False  # other processes have written since our last turn
        self._store = self._open(create=given is not None)
        try:
            self.id = self._find_or_create(given)
            self.settings = self._current().settings  # replays the log: damage is found at once
            if given is not None and (differences := ", ".join(self.settings.differences(given))):
                raise ValueError(f"the study {name!r} was created with other settings: {differences}")
        except BaseException:
            self.close()
            raise
        _backends.add(self)

    def _open(self, create: bool) -> Store:
        try:
            return open_store(self.storage, create)
        except FileNotFoundError as error:
            raise UnknownStudyError(
                f"{error}, so no study {self.name!r}; creating one needs a space"
            ) from None

    def _find_or_create(self, given: StudySettings | None) -> int:
        study = self._store.find(self.name)
        if study is not None:
            return study
        if given is None:
            raise UnknownStudyError(
                f"there is no {self} (`semibandit study list` shows all); creating one needs a space"
            )
        return self._store.create(self.name, creation(given, time.time()))

    def __str__(self) -> str:
        return f"study {self.name!r} in {public(self.storage)}"

    def after_fork(self) -> None:
        """Use a new lock and a new replica: another thread of the parent may have held the old ones."""
        self._lock = threading.RLock()
        self._replica = None

    def close(self) -> None:
        """Close the connection to the store."""
        with self._lock:
            self._store.close()

    # -- transactions ------------------------------------------------------------------------------

    def do_all(self, operations: Sequence[Transaction]) -> list[Any]:
        """Run operations in one transaction; return the outcome of each, or the error that refused it.

        Any other error undoes all of them. The replica may have changed then, and is read again. If the
        connection is lost during the commit, operations that may run twice are tried again for 10 seconds.
        """
        idempotent = all(getattr(operation, "idempotent", False) for operation in operations)
        give_up, pause = time.monotonic() + _PATIENCE, 0.05
        while True:
            try:
                return self._do_all(operations)
            except ConnectionError:
                self._store.close()  # the other idle connections are probably lost, too
                if not idempotent or time.monotonic() + pause > give_up:
                    raise
            time.sleep(pause)
            pause *= 2.0

    def _do_all(self, operations: Sequence[Transaction]) -> list[Any]:
        with self._lock:
            shared = self._shared and self._store.shares
            request = encode_operations(operations) if shared else None
            outcomes: list[Any] | None = None
            while outcomes is None:
                replica = self._replica or self._rebuilt()
                self._replica = None
                if not self._compiled:
                    replica.compile()
                    self._compiled = True
                before = replica.event
                with suppress(_OtherRequestError), self._store.turn(self.id, before, request) as turn:
                    if turn.answer is not None:
                        self._replica = replica
                    if turn.answer:
                        return decode_outcomes(turn.answer, operations, replica.settings.kind.trial)
                    if replica.follows(turn.rows) and len(turn.rows) < MAX_LAG:
                        self._shared = len(turn.rows) > 1
                        self._apply(replica, turn.rows[1:])
                        before = replica.event
                        found = [_attempt(operation, replica, turn) for operation in operations]
                        for number, body in turn.requests:
                            turn.answers[number] = _answer(body, replica, turn)
                        outcomes = found
                request = None  # if anything went wrong
            self._replica = replica
            with suppress(OSError):  # the events are written; the next snapshots come later
                self._save_snapshots(replica, before)
            return outcomes

    def _save_snapshots(self, replica: Replica, before: int) -> None:
        """Save summary and replica if an event at which one is due was written."""
        event = replica.event
        if not _crossed(before, event, _MIN_STRIDE):
            return
        n_pieces = replica.learner.n_pieces
        if _crossed(before, event, summary_stride(event, n_pieces)):
            summary = msgspec.msgpack.encode(replica.summary())
            self._store.save_snapshot(self.id, "summary", event, summary)
        if _crossed(before, event, snapshot_stride(n_pieces)):
            self._store.save_snapshot(self.id, "replica", event, replica.dumps())
            sizes = self._store.snapshot_sizes(self.id, "replica")
            self._store.drop_snapshots(self.id, "replica", superfluous(sizes))

    # -- the replica -------------------------------------------------------------------------------

    def _current(self) -> Replica:
        """Return the replica after all events of the log."""
        replica, self._replica = self._replica, None
        rows = [] if replica is None else self.read(replica.event)
        if replica is not None and replica.follows(rows):
            self._apply(replica, rows[1:])
        else:
            replica = self._rebuilt()
        self._replica = replica
        return replica

    def _rebuilt(self, event: int | None = None) -> Replica:
        """Load the last snapshot at or before an event, and apply the log from there on."""
        replica = self._from_snapshot(event) or self._from_first_event()
        last = math.inf if event is None else event
        while rows := self.read(replica.event + 1, _CHUNK):
            self._apply(replica, [row for row in rows if row[0] <= last])
            if rows[-1][0] >= last:
                break
        return replica

    def _from_snapshot(self, event: int | None) -> Replica | None:
        """Return the replica of a snapshot; None if there is none that fits the log."""
        try:
            with self._lock:
                snapshot = self._store.last_snapshot(self.id, "replica", event)
            if snapshot is None:
                return None
            replica = Replica.loads(snapshot)
        except UNREADABLE as error:
            warnings.warn(f"{self}: a damaged snapshot was ignored ({error!r})", RuntimeWarning, stacklevel=2)
            return None
        return replica if replica.follows(self.read(replica.event, 1)) else None

    def _from_first_event(self) -> Replica:
        first = self.read(1, 1)
        if not first:
            raise UnknownStudyError(f"{self} does not exist any longer")
        (number, line), *_ = first
        try:
            replica = Replica.created_by(line)
        except UNREADABLE as error:
            raise DamagedStudyError(f"{self}: event {number} is damaged ({error})") from error
        if replica.event != number:
            raise DamagedStudyError(f"{self}: event {replica.event} is missing")
        return replica

    def fold(self, keep: int) -> int:
        """Replace all events but the last ones by a snapshot; return how many are left."""
        with self._lock:
            last = self._current().event
            if last - keep > self.read(1, 1)[0][0]:
                replica = self._rebuilt(last - keep)
                if not self._store.fold(self.id, replica.event, replica.last, replica.folded()):
                    raise ValueError(f"{self} has changed: it was folded elsewhere, or a backup was restored")
            return last - self.read(1, 1)[0][0] + 1

    def _apply(self, replica: Replica, rows: Sequence[tuple[int, str]]) -> None:
        if rows and rows[0][0] != replica.event + 1:
            raise DamagedStudyError(f"{self}: event {replica.event + 1} is missing")
        try:
            replica.apply_all(line for _, line in rows)
        except ValueError as error:
            raise DamagedStudyError(f"{self}: {error}") from error

    # -- reading -----------------------------------------------------------------------------------

    def inspect(self, function: Callable[[Replica], T], event: int | None = None) -> T:
        """Call a function with the replica as it is, or with one as it was after an event."""
        with self._lock:
            replica = self._current()
            if event is None:
                return function(replica)
            first = self.read(1, 1)[0][0]
            if not first <= event <= replica.event:
                raise ValueError(f"event must be in {first} to {replica.event}, got {event}")
        return function(self._rebuilt(event))

    def summaries(self, since: int) -> list[StudySummary]:
        """Return the saved summaries from an event on; damaged ones are left out."""
        with self._lock:
            saved = self._store.snapshots(self.id, "summary", since)
        summaries = []
        for data in saved:
            with suppress(msgspec.DecodeError):
                summaries.append(msgspec.msgpack.decode(data, type=StudySummary))
        return summaries

    def read(self, since: int, limit: int | None = None) -> list[tuple[int, str]]:
        """Return events with their numbers."""
        with self._lock:
            return self._store.read(self.id, since, limit)


def _after_fork() -> None:
    for backend in list(_backends):
        backend.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def summary_stride(event: int, n_pieces: int) -> int:
    """Return the events between two summaries: 32 to 64 of them per doubling of the log."""
    return max(_MIN_STRIDE, 1 << event.bit_length() >> 6, 1 << (n_pieces // 16).bit_length())


def snapshot_stride(n_pieces: int) -> int:
    """Return the events between two snapshots: more for larger learners, up to a second of replay."""
    return min(max(2048, 1 << (n_pieces // 50).bit_length()), 32_768)


def superfluous(snapshots: list[tuple[int, int]]) -> list[int]:
    """Return the events whose snapshots to drop, given (event, size) in order. The last always stays.

    Drops the snapshot with the most bytes per event of the gap that it leaves, until 32 snapshots of
    together 256 MB are left.
    """
    kept = list(snapshots)
    dropped = []
    while len(kept) > 1 and (
        len(kept) > _MAX_SNAPSHOTS or sum(size for _, size in kept) > _MAX_SNAPSHOT_BYTES
    ):
        before = [0, *(event for event, _ in kept)]
        costs = [kept[i][1] / (kept[i + 1][0] - before[i]) for i in range(len(kept) - 1)]
        dropped.append(kept.pop(costs.index(max(costs)))[0])
    return dropped


def _crossed(before: int, after: int, stride: int) -> bool:
    return before // stride != after // stride


class _OtherRequestError(Exception):
    """The request of another process failed, so that nothing is written."""


def _answer(request: str, replica: Replica, turn: Turn) -> str:
    """Run the request of another process."""
    try:
        return encode_outcomes([_attempt(each, replica, turn) for each in decode_operations(request)])
    except Exception as error:
        raise _OtherRequestError from error


def _attempt(operation: Transaction, replica: Replica, turn: Turn) -> Any:
    try:
        return operation(replica, turn)
    except _REFUSED as error:
        if replica.changed:
            raise
        return error
