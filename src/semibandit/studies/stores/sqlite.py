"""Studies in an SQLite file, in write-ahead mode: readers and the one writer do not wait for each other."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType

from semibandit.studies.stores import Entry
from semibandit.studies.stores._thinning import superfluous

__all__ = ["SQLiteStore"]

VERSION = 1
_CHECKPOINT = (
    4000  # pages of the write-ahead log, after which they move into the file; that waits for the disk
)
APPLICATION = 0x73656D69  # "semi", in the header of the file

_SCHEMA = """
CREATE TABLE studies (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE);
CREATE TABLE events (
    study INTEGER NOT NULL, event INTEGER NOT NULL, line TEXT NOT NULL, PRIMARY KEY (study, event)
) WITHOUT ROWID;
CREATE TABLE portraits (
    study INTEGER NOT NULL, event INTEGER NOT NULL, portrait BLOB NOT NULL, PRIMARY KEY (study, event)
);
CREATE TABLE snapshots (
    study INTEGER NOT NULL, event INTEGER NOT NULL, replica BLOB NOT NULL, PRIMARY KEY (study, event)
);
"""
_TABLES = ("events", "portraits", "snapshots")
_WHOSE = """
SELECT application_id, user_version, (SELECT count(*) FROM sqlite_master)
FROM pragma_application_id, pragma_user_version
"""


class SQLiteTurn:
    """See `Turn`. All or nothing, and no other writer meanwhile."""

    def __init__(self, connection: sqlite3.Connection, study: int, since: int) -> None:
        self._connection, self._study, self._next = connection, study, since
        self.rows: list[tuple[int, str]] = []
        self.now = 0.0

    def __enter__(self) -> SQLiteTurn:
        _begin(self._connection)
        self.rows = self._connection.execute(
            "SELECT event, line FROM events WHERE study = ? AND event >= ? ORDER BY event",
            (self._study, self._next),
        ).fetchall()
        self._next = self.rows[-1][0] + 1 if self.rows else self._next
        self.now = time.time()
        return self

    def append(self, line: str) -> None:
        self._connection.execute("INSERT INTO events VALUES (?, ?, ?)", (self._study, self._next, line))
        self._next += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _end(self._connection, undo=kind is not None)


class SQLiteStore:
    """See `Store`.

    Parameters
    ----------
    path
        The file. What is no database of studies is refused, and left as it is.
    synchronous
        "normal": a commit waits for no disk; a power failure may take the last of them with it, but never
        leaves half of one, and a process that is killed loses nothing. "full": a commit is on the disk.
    timeout
        Seconds to wait for other processes that write.
    """

    keeps_leases = True

    def __init__(self, url: str, path: str, synchronous: str, timeout: float) -> None:
        self.url, self.path = url, path
        self._synchronous, self._timeout = synchronous, timeout
        self._process = -1
        self._connection: sqlite3.Connection | None = None
        self._abandoned: list[sqlite3.Connection] = []
        self._open()

    def _open(self) -> sqlite3.Connection:
        """The connection of this process: one that came through a fork must not be used, nor closed."""
        if self._connection is not None and self._process == os.getpid():
            return self._connection
        if self._connection is not None:
            self._abandoned.append(self._connection)
        self._connection, self._process = self._connect(), os.getpid()
        return self._connection

    def _connect(self) -> sqlite3.Connection:
        folder = Path(self.path).absolute().parent
        if not folder.is_dir():
            raise ValueError(f"{self.path}: there is no folder {folder}")
        try:
            connection = sqlite3.connect(
                self.path, timeout=self._timeout, isolation_level=None, check_same_thread=False
            )
        except sqlite3.Error as error:
            raise ValueError(f"{self.path}: cannot be opened ({error})") from None
        try:
            self._require_ours(connection)
            self._use_write_ahead_log(connection)
            connection.execute(f"PRAGMA synchronous = {self._synchronous}")
            connection.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT}")
        except sqlite3.DatabaseError as error:
            connection.close()
            raise ValueError(f"{self.path}: cannot be used as a database of studies ({error})") from None
        except BaseException:
            connection.close()
            raise
        return connection

    def _use_write_ahead_log(self, connection: sqlite3.Connection) -> None:
        """SQLite itself does not wait for others that are just doing the same to a new file."""
        deadline = time.monotonic() + self._timeout
        while True:
            try:
                connection.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                    raise
            time.sleep(0.005)

    def _require_ours(self, connection: sqlite3.Connection) -> None:
        """Check whose database it is before anything is written; make the tables in an empty one."""
        if self._is_ours(connection):
            return
        with _transaction(connection):
            if self._is_ours(connection):  # another process was quicker
                return
            for statement in _SCHEMA.split(";"):
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(f"PRAGMA user_version = {VERSION}")

    def _is_ours(self, connection: sqlite3.Connection) -> bool:
        """False for an empty database."""
        # In one statement, which sees one state: another process may be making the tables just now.
        application, version, tables = connection.execute(_WHOSE).fetchone()
        if application == APPLICATION:
            if version != VERSION:
                raise ValueError(f"{self.path}: has format {version}, this program knows format {VERSION}")
            return True
        if application or version or tables:
            raise ValueError(f"{self.path}: is a database of another program")
        return False

    # -- studies -----------------------------------------------------------------------------------

    def create(self, name: str, line: str) -> int:
        connection = self._open()
        with _transaction(connection):
            row = connection.execute("SELECT id FROM studies WHERE name = ?", (name,)).fetchone()
            if row is not None:
                return int(row[0])
            study = connection.execute("INSERT INTO studies (name) VALUES (?)", (name,)).lastrowid
            assert study is not None
            connection.execute("INSERT INTO events VALUES (?, 1, ?)", (study, line))
        return study

    def studies(self) -> list[Entry]:
        rows = self._open().execute(
            "SELECT id, name, (SELECT max(event) FROM events WHERE study = id) FROM studies ORDER BY id"
        )
        return [Entry(*row) for row in rows]

    def find(self, name: str) -> int | None:
        row = self._open().execute("SELECT id FROM studies WHERE name = ?", (name,)).fetchone()
        return None if row is None else int(row[0])

    def delete(self, study: int) -> None:
        connection = self._open()
        with _transaction(connection):
            connection.execute("DELETE FROM studies WHERE id = ?", (study,))
            for table in _TABLES:
                connection.execute(f"DELETE FROM {table} WHERE study = ?", (study,))

    # -- events ------------------------------------------------------------------------------------

    def turn(self, study: int, since: int) -> SQLiteTurn:
        return SQLiteTurn(self._open(), study, since)

    def read(self, study: int, since: int, limit: int | None = None) -> list[tuple[int, str]]:
        rows: list[tuple[int, str]] = (
            self._open()
            .execute(
                "SELECT event, line FROM events WHERE study = ? AND event >= ? ORDER BY event LIMIT ?",
                (study, since, -1 if limit is None else limit),
            )
            .fetchall()
        )
        return rows

    # -- snapshots ---------------------------------------------------------------------------------

    def save_portrait(self, study: int, event: int, portrait: bytes) -> None:
        self._open().execute("INSERT OR REPLACE INTO portraits VALUES (?, ?, ?)", (study, event, portrait))

    def portraits(self, study: int, since: int = 1) -> list[bytes]:
        rows = self._open().execute(
            "SELECT portrait FROM portraits WHERE study = ? AND event >= ? ORDER BY event", (study, since)
        )
        return [portrait for (portrait,) in rows]

    def save_snapshot(self, study: int, event: int, replica: bytes) -> None:
        connection = self._open()
        with _transaction(connection):
            connection.execute("INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?)", (study, event, replica))
            sizes = connection.execute(
                "SELECT event, length(replica) FROM snapshots WHERE study = ? ORDER BY event", (study,)
            ).fetchall()
            self._drop(connection, study, superfluous(sizes))

    def snapshot(self, study: int, event: int | None = None) -> bytes | None:
        row = (
            self._open()
            .execute(
                "SELECT replica FROM snapshots WHERE study = ? AND event <= ? ORDER BY event DESC LIMIT 1",
                (study, 2**62 if event is None else event),
            )
            .fetchone()
        )
        return None if row is None else bytes(row[0])

    def prune(self, study: int) -> None:
        connection = self._open()
        with _transaction(connection):
            rows = connection.execute(
                "SELECT event FROM snapshots WHERE study = ? ORDER BY event", (study,)
            ).fetchall()
            self._drop(connection, study, [event for (event,) in rows[:-1]])
        connection.execute("VACUUM")

    def _drop(self, connection: sqlite3.Connection, study: int, events: list[int]) -> None:
        connection.executemany(
            "DELETE FROM snapshots WHERE study = ? AND event = ?", [(study, event) for event in events]
        )

    def close(self) -> None:
        if self._connection is not None and self._process == os.getpid():
            self._connection.close()
        self._connection = None


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All or nothing, and no other writer meanwhile."""
    _begin(connection)
    try:
        yield
    except BaseException:
        _end(connection, undo=True)
        raise
    _end(connection, undo=False)


def _begin(connection: sqlite3.Connection) -> None:
    try:
        connection.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError as error:
        raise TimeoutError(f"the database cannot be written to: {error}") from None


def _end(connection: sqlite3.Connection, undo: bool) -> None:
    try:
        if not undo:
            connection.execute("COMMIT")
    except sqlite3.Error as error:
        raise OSError(f"what happened could not be written: {error}") from None
    finally:
        if connection.in_transaction:
            with suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
