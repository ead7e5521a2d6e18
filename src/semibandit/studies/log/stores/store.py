"""The methods of a store, in SQL that SQLite and PostgreSQL share."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from typing import Any

__all__ = ["TIMEOUT", "DamagedStudyError", "Store", "Turn", "UnknownStudyError"]

TIMEOUT = 60.0  # seconds to wait for other writers
_NO_LIMIT = 2**62

# Connections of a parent process: a child must neither use nor close them.
_abandoned: list[Any] = []


class UnknownStudyError(ValueError):
    """The store has no such study, or no longer."""


class DamagedStudyError(ValueError):
    """A store, or the log of a study in it, cannot be read."""


class Turn:
    """A transaction in which one process alone writes to a study.

    `rows` are the events from the requested one on, `now` is the time by the clock of the store. Appended
    lines are written when the transaction ends without an exception.
    """

    def __init__(self, now: float, rows: list[tuple[int, str]]) -> None:
        self.now, self.rows = now, rows
        self.lines: list[str] = []

    def append(self, line: str) -> None:
        """Add an event."""
        self.lines.append(line)

    def new_rows(self, study: int) -> list[tuple[int, int, str]]:
        """Return the appended events as rows of the table."""
        first = self.rows[-1][0] + 1 if self.rows else 1
        return [(study, number, line) for number, line in enumerate(self.lines, first)]


class Store:
    """An open store. One thread at a time may use it; in a forked process it reconnects.

    Subclasses connect, run statements and begin transactions.
    """

    def __init__(self) -> None:
        self._process, self._connection = os.getpid(), self._connect()

    def _open(self) -> Any:
        """Return the connection of this process."""
        if self._process != os.getpid():
            _abandoned.append(self._connection)
            self._connection = None
        if self._connection is None:
            self._process, self._connection = os.getpid(), self._connect()
        return self._connection

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None and self._process == os.getpid():
            self._connection.close()
            self._connection = None

    def _connect(self) -> Any:
        raise NotImplementedError

    def _run(self, statement: str, *values: Any) -> list[Any]:
        """Execute a statement, with ? for each value, and return its rows."""
        raise NotImplementedError

    def _transaction(self, study: int) -> AbstractContextManager[None]:
        """Begin a transaction; no other process writes to the study (0: to any) meanwhile."""
        raise NotImplementedError

    def turn(self, study: int, since: int) -> AbstractContextManager[Turn]:
        """Wait for other writers, and begin a transaction that has read the events from `since` on."""
        raise NotImplementedError

    # -- studies -----------------------------------------------------------------------------------

    def create(self, name: str, line: str) -> int:
        """Create a study with its first event, unless there is one of this name; return its number."""
        with self._transaction(0):
            study = self.find(name)
            if study is None:
                study = int(self._run("INSERT INTO studies (name) VALUES (?) RETURNING id", name)[0][0])
                self._run("INSERT INTO events VALUES (?, 1, ?)", study, line)
        return study

    def studies(self) -> dict[int, str]:
        """Return the names of all studies by their numbers, which are never reused."""
        return dict(self._run("SELECT id, name FROM studies ORDER BY id"))

    def find(self, name: str) -> int | None:
        """Return the number of the study of this name."""
        rows = self._run("SELECT id FROM studies WHERE name = ?", name)
        return int(rows[0][0]) if rows else None

    def delete(self, study: int) -> None:
        """Delete a study with all its events."""
        with self._transaction(study):
            self._run("DELETE FROM studies WHERE id = ?", study)
            self._run("DELETE FROM events WHERE study = ?", study)
            self._run("DELETE FROM snapshots WHERE study = ?", study)

    # -- events ------------------------------------------------------------------------------------

    def read(self, study: int, since: int, limit: int | None = None) -> list[tuple[int, str]]:
        """Return the events from number `since` on, without waiting for writers."""
        return self._run(
            "SELECT event, line FROM events WHERE study = ? AND event >= ? ORDER BY event LIMIT ?",
            study, min(since, _NO_LIMIT), min(_NO_LIMIT if limit is None else limit, _NO_LIMIT),
        )  # fmt: skip

    # -- snapshots, of the kind "replica" or "summary" ---------------------------------------------

    def save_snapshot(self, study: int, kind: str, event: int, data: bytes) -> None:
        """Keep a snapshot of the study after an event."""
        self._run(
            "INSERT INTO snapshots VALUES (?, ?, ?, ?) "
            "ON CONFLICT (study, kind, event) DO UPDATE SET data = excluded.data",
            study, kind, event, data,
        )  # fmt: skip

    def snapshots(self, study: int, kind: str, since: int = 1) -> list[bytes]:
        """Return the snapshots from an event on, oldest first."""
        rows = self._run(
            "SELECT data FROM snapshots WHERE study = ? AND kind = ? AND event >= ? ORDER BY event",
            study, kind, min(since, _NO_LIMIT),
        )  # fmt: skip
        return [bytes(data) for (data,) in rows]

    def last_snapshot(self, study: int, kind: str, event: int | None = None) -> bytes | None:
        """Return the last snapshot, or the last at or before an event."""
        rows = self._run(
            "SELECT data FROM snapshots WHERE study = ? AND kind = ? AND event <= ? "
            "ORDER BY event DESC LIMIT 1",
            study, kind, _NO_LIMIT if event is None else event,
        )  # fmt: skip
        return bytes(rows[0][0]) if rows else None

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
