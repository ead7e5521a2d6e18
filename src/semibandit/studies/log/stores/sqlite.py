"""Studies in an SQLite file in write-ahead mode: readers do not wait for the writer, nor it for them."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from semibandit.studies.log.stores.store import DamagedStudyError, Store, Turn

__all__ = ["SQLiteStore"]

VERSION = 1
APPLICATION = 0x73656D69  # "semi", in the header of the file
_CHECKPOINT = 4000  # pages of the write-ahead log before they move into the file, which waits for the disk

_SCHEMA = """
CREATE TABLE studies (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE);
CREATE TABLE events (
    study INTEGER NOT NULL, event INTEGER NOT NULL, line TEXT NOT NULL, PRIMARY KEY (study, event)
) WITHOUT ROWID;
CREATE TABLE snapshots (
    study INTEGER NOT NULL, kind TEXT NOT NULL, event INTEGER NOT NULL, data BLOB NOT NULL,
    PRIMARY KEY (study, kind, event)
);
"""
_HEADER = """
SELECT application_id, user_version, (SELECT count(*) FROM sqlite_master)
FROM pragma_application_id, pragma_user_version
"""

# Connections of a parent process: a child must neither use nor close them.
_abandoned: list[sqlite3.Connection] = []


class SQLiteStore(Store):
    """See `Store`.

    Parameters
    ----------
    path
        The file. A file that is not a database of studies is refused and left as it is.
    synchronous
        "normal": commits do not wait for the disk. A power failure may lose the last commits, but never a
        part of one; a killed process loses nothing. "full": a commit is on the disk.
    timeout
        Seconds to wait for other writers.
    """

    def __init__(self, path: str, synchronous: str, timeout: float) -> None:
        self.path = path
        self._synchronous, self._timeout = synchronous, timeout
        self._process = -1
        self._connection: sqlite3.Connection | None = None
        self._open()

    def _open(self) -> sqlite3.Connection:
        """Return the connection of this process."""
        if self._connection is not None and self._process == os.getpid():
            return self._connection
        if self._connection is not None:
            _abandoned.append(self._connection)
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
        except (sqlite3.Error, ValueError) as error:
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
        """Set the mode; SQLite itself does not wait for processes that do the same to a new file."""
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
        """Check the header before anything is written; create the tables in an empty database."""
        if self._is_ours(connection):
            return
        with _transaction(connection, self.path):
            if self._is_ours(connection):  # another process was faster
                return
            for statement in _SCHEMA.split(";"):
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(f"PRAGMA user_version = {VERSION}")

    def _is_ours(self, connection: sqlite3.Connection) -> bool:
        """Return False for an empty database."""
        # One statement sees one state: another process may be creating the tables.
        application, version, tables = connection.execute(_HEADER).fetchone()
        if application == APPLICATION:
            if version != VERSION:
                raise ValueError(f"{self.path}: has format {version}, this program knows format {VERSION}")
            return True
        if application or version or tables:
            raise ValueError(f"{self.path}: is a database of another program")
        return False

    def _run(self, statement: str, *values: Any) -> list[Any]:
        connection = self._open()
        with _errors(self.path):
            return connection.execute(statement, values).fetchall()

    @contextmanager
    def _transaction(self, study: int) -> Iterator[None]:
        with _errors(self.path), _transaction(self._open(), self.path):
            yield

    @contextmanager
    def turn(self, study: int, since: int) -> Iterator[Turn]:
        connection = self._open()
        with _transaction(connection, self.path):
            rows = self.read(study, since)
            turn = Turn(time.time(), rows)
            yield turn
            first = rows[-1][0] + 1 if rows else since
            with _errors(self.path):
                connection.executemany(
                    "INSERT INTO events VALUES (?, ?, ?)",
                    [(study, number, line) for number, line in enumerate(turn.lines, first)],
                )

    def vacuum(self) -> None:
        self._run("VACUUM")

    def close(self) -> None:
        if self._connection is not None and self._process == os.getpid():
            self._connection.close()
        self._connection = None


@contextmanager
def _transaction(connection: sqlite3.Connection, path: str) -> Iterator[None]:
    """Commit all or nothing; no other process writes meanwhile."""
    try:
        connection.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError as error:
        raise TimeoutError(f"{path}: cannot be written to ({error})") from None
    try:
        yield
        try:
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            raise OSError(f"{path}: the commit failed ({error})") from None
    finally:
        if connection.in_transaction:
            with suppress(sqlite3.Error):
                connection.execute("ROLLBACK")


@contextmanager
def _errors(path: str) -> Iterator[None]:
    """Name the file in errors of SQLite."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise OSError(f"{path}: cannot be used ({error})") from None
    except sqlite3.DatabaseError as error:
        raise DamagedStudyError(f"{path}: damaged ({error})") from None
