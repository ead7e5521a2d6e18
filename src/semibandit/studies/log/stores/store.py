"""The methods of a store, in SQL that SQLite and PostgreSQL share."""

from __future__ import annotations

import os
import threading
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, NamedTuple

__all__ = ["MAX_LAG", "TIMEOUT", "DamagedStudyError", "Store", "StudyRow", "Turn", "UnknownStudyError"]

TIMEOUT = 60.0  # seconds to wait for other writers, or for a connection
CONNECTIONS = 8  # that a process opens to a store
MAX_LAG = 5000  # events that a turn reads, so that others do not wait while many are replayed
_NO_LIMIT = 2**62

# With the event before the first one, whose checksum continues.
LOG = "SELECT event, line, crc FROM events WHERE study = ? AND event >= ? ORDER BY event LIMIT ?"

# Connections of a parent process: a child must neither use nor close them.
_abandoned: list[Any] = []


class UnknownStudyError(ValueError):
    """The store has no such study, or no longer."""


class DamagedStudyError(ValueError):
    """A store, or the log of a study in it, cannot be read."""


class StudyRow(NamedTuple):
    """A study in a list: its last event with its number, and its last saved summary, if there is one."""

    id: int
    name: str
    archived: bool
    event: int
    line: str
    summary: bytes | None


class Turn:
    """A transaction in which one process alone writes to a study.

    `rows` are the events from the requested one on, `now` is the time by the clock of the store, and
    `steady` the time for leases, which passes evenly if the store can tell. Appended lines are written when
    the transaction ends without an exception. If another process has run the request of this one, `answer`
    is its answer ("" if that failed) and there is no transaction; else `requests` are those of others, by
    number.
    """

    def __init__(self, now: float, log: Log, steady: float | None = None) -> None:
        self.now, self.rows, self._log = now, log.rows, log
        self.steady = now if steady is None else steady
        self.lines: list[str] = []
        self.answer: str | None = None
        self.requests: list[tuple[int, str]] = []
        self.answers: dict[int, str] = {}

    def append(self, line: str) -> None:
        """Add an event."""
        self.lines.append(line)

    def new_rows(self, study: int) -> list[tuple[int, int, str, int]]:
        """Return the appended events as rows of the table."""
        first, check = (self.rows[-1][0] + 1 if self.rows else 1), self._log.check
        made = []
        for number, line in enumerate(self.lines, first):
            check = chained(line, check)
            made.append((study, number, line, check))
        return made


class Log:
    """Events that were read, after their checksums were compared.

    The checksum of an event is that of its line and of the checksum before it, so a changed, missing or
    exchanged event is noticed.
    """

    def __init__(self, place: str, since: int, read: Sequence[tuple[int, str, int]]) -> None:
        self.check, next_one = 0, read[0][0] if read else 1
        for number, line, check in read:
            if number != next_one:
                raise DamagedStudyError(f"{place}: event {next_one} is missing")
            if (number == 1 or number >= since) and check != chained(line, self.check):
                raise DamagedStudyError(f"{place}: event {number} is damaged (its checksum differs)")
            self.check, next_one = check, number + 1
        self.rows = [(number, line) for number, line, _ in read if number >= since]


def chained(line: str, before: int) -> int:
    """Return the checksum of a line after that of the event before."""
    return zlib.crc32(line.encode(), before)


class _Pool:
    """Idle connections of one process."""

    def __init__(self) -> None:
        self.process = os.getpid()
        self.idle: list[Any] = []
        self.free = threading.BoundedSemaphore(CONNECTIONS)
        self.stopped = 0  # permits that a fork holds
        self.writing = threading.Lock()


class Store:
    """An open store. Threads share a few connections; in a forked process it connects again.

    Subclasses connect, run statements and begin transactions.
    """

    place: str  # named by errors

    def __init__(self) -> None:
        self._pool = _Pool()
        self._held = threading.local()
        with self._connected():
            pass

    @contextmanager
    def _connected(self) -> Iterator[Any]:
        """Lend a connection to this thread; within a transaction it is the same one."""
        pool = self._own_pool()
        held = getattr(self._held, "connection", None)
        if held is not None:
            yield held
            return
        if not pool.free.acquire(timeout=TIMEOUT):
            raise TimeoutError(f"{self.place}: all {CONNECTIONS} connections of this process stayed busy")
        try:
            connection = pool.idle.pop() if pool.idle else self._connect()
            self._held.connection = connection
            try:
                yield connection
            finally:
                self._held.connection = None
                if self._usable(connection):
                    pool.idle.append(connection)
        finally:
            pool.free.release()

    def _own_pool(self) -> _Pool:
        """Return the pool of this process."""
        if self._pool.process != os.getpid():
            _abandoned.append((self._pool, self._held))
            self._pool, self._held = _Pool(), threading.local()
        return self._pool

    def close(self) -> None:
        """Close the connections that are not in use."""
        if self._pool.process == os.getpid():
            while self._pool.idle:
                self._pool.idle.pop().close()

    def quiesce(self) -> None:
        """Wait until no other thread uses a connection, close all, and lend none until `resume`."""
        held = getattr(self._held, "connection", None)
        pool = self._own_pool()
        waited = [pool.free.acquire(timeout=TIMEOUT) for _ in range(CONNECTIONS - (held is not None))]
        pool.stopped = sum(waited)
        self.close()

    def resume(self) -> None:
        """Undo `quiesce`; a forked child gets a new pool."""
        if self._pool.process == os.getpid():
            for _ in range(self._pool.stopped):
                self._pool.free.release()
        else:
            self._own_pool()

    def _connect(self) -> Any:
        raise NotImplementedError

    def _usable(self, connection: Any) -> bool:
        """Return whether a connection can be used again."""
        return True

    def _run(self, statement: str, *values: Any) -> list[Any]:
        """Execute a statement, with ? for each value, and return its rows."""
        raise NotImplementedError

    def _transaction(self, study: int) -> AbstractContextManager[None]:
        """Begin a transaction; no other process writes to the study (0: to any) meanwhile."""
        raise NotImplementedError

    shares = False  # whether a process may run the requests of those that wait

    def turn(self, study: int, since: int, request: str | None = None) -> AbstractContextManager[Turn]:
        """Wait for other writers, and begin a transaction that has read the events from `since` on.

        At most `MAX_LAG` of them are read. If the store `shares`, the process that writes meanwhile may run
        a request and answer it.
        """
        raise NotImplementedError

    # -- studies -----------------------------------------------------------------------------------

    def create(self, name: str, line: str) -> int:
        """Create a study with its first event, unless there is one of this name; return its number."""
        with self._transaction(0):
            study = self.find(name)
            if study is None:
                study = int(self._run("INSERT INTO studies (name) VALUES (?) RETURNING id", name)[0][0])
                self._run("INSERT INTO events VALUES (?, 1, ?, ?)", study, line, chained(line, 0))
        return study

    def studies(self) -> dict[int, str]:
        """Return the names of all studies by their numbers, which are never reused."""
        return dict(self._run("SELECT id, name FROM studies ORDER BY id"))

    def page(
        self, search: str = "", after: int = 0, limit: int = 100, archived: bool = False
    ) -> list[StudyRow]:
        """Return the studies whose names contain a text, with numbers above `after`, in one query."""
        pattern = "".join("!" + x if x in "%_!" else x for x in search.lower())
        rows = self._run(
            "SELECT s.id, s.name, s.archived, e.event, e.line, p.data, p.crc "
            "FROM studies s JOIN events e ON e.study = s.id "
            "AND e.event = (SELECT max(event) FROM events WHERE study = s.id) "
            "LEFT JOIN snapshots p ON p.study = s.id AND p.kind = 'summary' AND p.event = "
            "(SELECT max(event) FROM snapshots WHERE study = s.id AND kind = 'summary') "
            "WHERE s.id > ? AND s.archived = ? AND lower(s.name) LIKE ? ESCAPE '!' ORDER BY s.id LIMIT ?",
            after, archived, f"%{pattern}%", limit,
        )  # fmt: skip
        return [
            StudyRow(number, name, bool(away), event, line, _summary(data, check))
            for number, name, away, event, line, data, check in rows
        ]

    def name(self, study: int) -> str:
        """Return the name of a study."""
        rows = self._run("SELECT name FROM studies WHERE id = ?", study)
        if not rows:
            raise UnknownStudyError(f"there is no study with the number {study}")
        return str(rows[0][0])

    def find(self, name: str) -> int | None:
        """Return the number of the study of this name."""
        rows = self._run("SELECT id FROM studies WHERE name = ?", name)
        return int(rows[0][0]) if rows else None

    def rename(self, study: int, name: str) -> None:
        """Give a study another name; raises ValueError if another study has it."""
        with self._transaction(0):
            if self.find(name) not in (None, study):
                raise ValueError(f"{self.place}: there is a study {name!r} already")
            self._run("UPDATE studies SET name = ? WHERE id = ?", name, study)

    def archive(self, study: int, archived: bool) -> None:
        """Leave a study out of lists, or show it again."""
        with self._transaction(0):
            self._run("UPDATE studies SET archived = ? WHERE id = ?", archived, study)

    def delete(self, study: int) -> None:
        """Delete a study with all its events."""
        with self._transaction(study):
            self._run("DELETE FROM studies WHERE id = ?", study)
            self._run("DELETE FROM events WHERE study = ?", study)
            self._run("DELETE FROM snapshots WHERE study = ?", study)
        self._shrink()

    def _shrink(self) -> None:
        """Give space that is no longer used back to the system."""

    def load(self, name: str, lines: Iterable[str], first: int = 1) -> int:
        """Create a study from all its events, of which `first` is the number of the first.

        Raises ValueError if there is a study of this name.
        """
        with self._transaction(0):
            if self.find(name) is not None:
                raise ValueError(f"{self.place}: there is a study {name!r} already")
            study = int(self._run("INSERT INTO studies (name) VALUES (?) RETURNING id", name)[0][0])
            self._insert(study, enumerate(lines, first))
        return study

    def fold(self, study: int, event: int, old: str, new: str) -> bool:
        """Replace all events up to one, `old`, by another line; return False if `old` is not that event."""
        with self._transaction(study):
            rows = self._run("SELECT line FROM events WHERE study = ? AND event = ?", study, event)
            if rows != [(old,)]:
                return False
            kept = self._log(study, event + 1).rows  # compares their checksums
            self._run("DELETE FROM events WHERE study = ?", study)
            self._run(
                "DELETE FROM snapshots WHERE study = ? AND kind = 'replica' AND event <= ?", study, event
            )
            self._insert(study, [(event, new), *kept])
        self._shrink()
        return True

    def _insert(self, study: int, rows: Iterable[tuple[int, str]]) -> None:
        """Write the first events of a study."""
        check = 0
        for number, line in rows:
            check = chained(line, check)
            self._run("INSERT INTO events VALUES (?, ?, ?, ?)", study, number, line, check)

    # -- events ------------------------------------------------------------------------------------

    def read(self, study: int, since: int, limit: int | None = None) -> list[tuple[int, str]]:
        """Return the events from number `since` on, without waiting for writers."""
        return self._log(study, since, limit).rows

    def _log(self, study: int, since: int, limit: int | None = None) -> Log:
        most = _NO_LIMIT if limit is None else min(limit + (since > 1), _NO_LIMIT)
        rows = self._run(LOG, study, min(since, _NO_LIMIT) - 1, most)
        return Log(f"{self.place}, study {study}", since, rows)

    # -- snapshots, of the kind "replica" or "summary" ---------------------------------------------

    def save_snapshot(self, study: int, kind: str, event: int, data: bytes) -> None:
        """Keep a snapshot of the study after an event."""
        self._run(
            "INSERT INTO snapshots VALUES (?, ?, ?, ?, ?) "
            "ON CONFLICT (study, kind, event) DO UPDATE SET data = excluded.data, crc = excluded.crc",
            study, kind, event, data, zlib.crc32(data),
        )  # fmt: skip

    def snapshots(self, study: int, kind: str, since: int = 1) -> list[bytes]:
        """Return the snapshots from an event on, oldest first; damaged ones are left out."""
        rows = self._run(
            "SELECT data, crc FROM snapshots WHERE study = ? AND kind = ? AND event >= ? ORDER BY event",
            study, kind, min(since, _NO_LIMIT),
        )  # fmt: skip
        return [bytes(data) for data, check in rows if check == zlib.crc32(data)]

    def last_snapshot(self, study: int, kind: str, event: int | None = None) -> bytes | None:
        """Return the last snapshot, or the last at or before an event."""
        rows = self._run(
            "SELECT data, crc FROM snapshots WHERE study = ? AND kind = ? AND event <= ? "
            "ORDER BY event DESC LIMIT 1",
            study, kind, _NO_LIMIT if event is None else event,
        )  # fmt: skip
        if not rows:
            return None
        data, check = rows[0]
        if check != zlib.crc32(data):
            raise DamagedStudyError(f"{self.place}, study {study}: the checksum of a snapshot differs")
        return bytes(data)

    def snapshot_sizes(self, study: int, kind: str) -> list[tuple[int, int]]:
        """Return event and size in bytes of each snapshot, oldest first."""
        return self._run(
            "SELECT event, length(data) FROM snapshots WHERE study = ? AND kind = ? ORDER BY event",
            study, kind,
        )  # fmt: skip

    def drop_snapshots(self, study: int, kind: str, events: list[int]) -> None:
        """Delete the snapshots at these events."""
        for event in events:
            self._run("DELETE FROM snapshots WHERE study = ? AND kind = ? AND event = ?", study, kind, event)


def _summary(data: bytes | None, check: int | None) -> bytes | None:
    """Return a saved summary; None if there is none, or a damaged one."""
    return bytes(data) if data is not None and check == zlib.crc32(data) else None
