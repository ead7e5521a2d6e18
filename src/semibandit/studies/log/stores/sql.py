"""Statements that all SQL databases share."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from semibandit.studies.log.stores import Entry

__all__ = ["SqlStore"]

_NO_LIMIT = 2**62
_TABLES = ("events", "snapshots")


class SqlStore:
    """Studies in the tables studies, events and snapshots. Subclasses connect and begin transactions.

    `_mark` is the placeholder of a value, `_schema` the prefix of a table.
    """

    _mark = "?"
    _schema = ""

    def _run(self, statement: str, *values: Any) -> list[Any]:
        """Execute a statement, with ? for each value, and return its rows."""
        raise NotImplementedError

    def _transaction(self, study: int) -> AbstractContextManager[None]:
        """Begin a transaction; no other process writes to the study (0: to any) meanwhile."""
        raise NotImplementedError

    def _sql(self, statement: str) -> str:
        for table in ("studies", *_TABLES):
            statement = statement.replace(f" {table} ", f" {self._schema}{table} ")
        return statement.replace("?", self._mark)

    # -- studies -----------------------------------------------------------------------------------

    def create(self, name: str, line: str) -> int:
        with self._transaction(0):
            study = self.find(name)
            if study is None:
                study = int(self._run("INSERT INTO studies (name) VALUES (?) RETURNING id", name)[0][0])
                self._run("INSERT INTO events VALUES (?, 1, ?)", study, line)
        return study

    def studies(self) -> list[Entry]:
        rows = self._run(
            "SELECT id, name, (SELECT max(event) FROM events WHERE study = id) FROM studies ORDER BY id"
        )
        return [Entry(*row) for row in rows]

    def find(self, name: str) -> int | None:
        rows = self._run("SELECT id FROM studies WHERE name = ?", name)
        return int(rows[0][0]) if rows else None

    def delete(self, study: int) -> None:
        with self._transaction(study):
            self._run("DELETE FROM studies WHERE id = ?", study)
            for table in _TABLES:
                self._run(f"DELETE FROM {table} WHERE study = ?", study)

    # -- events and snapshots ----------------------------------------------------------------------

    def read(self, study: int, since: int, limit: int | None = None) -> list[tuple[int, str]]:
        return self._run(
            "SELECT event, line FROM events WHERE study = ? AND event >= ? ORDER BY event LIMIT ?",
            study, min(since, _NO_LIMIT), min(_NO_LIMIT if limit is None else limit, _NO_LIMIT),
        )  # fmt: skip

    def save_snapshot(self, study: int, kind: str, event: int, data: bytes) -> None:
        self._run(
            "INSERT INTO snapshots VALUES (?, ?, ?, ?) "
            "ON CONFLICT (study, kind, event) DO UPDATE SET data = excluded.data",
            study, kind, event, data,
        )  # fmt: skip

    def snapshots(self, study: int, kind: str, since: int = 1) -> list[bytes]:
        rows = self._run(
            "SELECT data FROM snapshots WHERE study = ? AND kind = ? AND event >= ? ORDER BY event",
            study, kind, min(since, _NO_LIMIT),
        )  # fmt: skip
        return [bytes(data) for (data,) in rows]

    def last_snapshot(self, study: int, kind: str, event: int | None = None) -> bytes | None:
        rows = self._run(
            "SELECT data FROM snapshots WHERE study = ? AND kind = ? AND event <= ? "
            "ORDER BY event DESC LIMIT 1",
            study, kind, _NO_LIMIT if event is None else event,
        )  # fmt: skip
        return bytes(rows[0][0]) if rows else None

    def snapshot_sizes(self, study: int, kind: str) -> list[tuple[int, int]]:
        return self._run(
            "SELECT event, length(data) FROM snapshots WHERE study = ? AND kind = ? ORDER BY event",
            study, kind,
        )  # fmt: skip

    def drop_snapshots(self, study: int, kind: str, events: list[int]) -> None:
        for event in events:
            self._run("DELETE FROM snapshots WHERE study = ? AND kind = ? AND event = ?", study, kind, event)
