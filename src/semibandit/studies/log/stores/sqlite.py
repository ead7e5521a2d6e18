"""Studies in an SQLite file in write-ahead mode: readers do not wait for the writer, nor it for them."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any

from semibandit.studies.log.stores import store
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


class SQLiteStore(Store):
    """See `Store`.

    Parameters
    ----------
    path
        The file. A file that is not a database of studies is refused and left as it is.
    synchronous
        "normal": commits do not wait for the disk. A power failure may lose the last commits, but never a
        part of one; a killed process loses nothing. "full": a commit is on the disk.
    """

    def __init__(self, path: str, synchronous: str) -> None:
        self.path, self._synchronous = path, synchronous
        super().__init__()

    def _connect(self) -> sqlite3.Connection:
        folder = Path(self.path).absolute().parent
        if not folder.is_dir():
            raise ValueError(f"{self.path}: there is no folder {folder}")
        try:
            connection = sqlite3.connect(
                self.path, timeout=store.TIMEOUT, isolation_level=None, check_same_thread=False
            )
        except (sqlite3.Error, ValueError) as error:
            raise ValueError(f"{self.path}: cannot be opened ({error})") from None
        try:
            self._require_ours(connection)
            _use_write_ahead_log(connection)
            connection.execute(f"PRAGMA synchronous = {self._synchronous}")
            connection.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT}")
        except sqlite3.DatabaseError as error:
            connection.close()
            raise ValueError(f"{self.path}: cannot be used as a database of studies ({error})") from None
        except BaseException:
            connection.close()
            raise
        return connection

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
        try:
            rows: list[Any] = connection.execute(statement, values).fetchall()
        except sqlite3.OperationalError as error:
            raise OSError(f"{self.path}: cannot be used ({error})") from None
        except sqlite3.DatabaseError as error:
            raise DamagedStudyError(f"{self.path}: damaged ({error})") from None
        return rows

    def _transaction(self, study: int) -> AbstractContextManager[None]:
        return _transaction(self._open(), self.path)

    @contextmanager
    def turn(self, study: int, since: int) -> Iterator[Turn]:
        with _transaction(self._open(), self.path):
            turn = Turn(time.time(), self.read(study, since))
            yield turn
            for row in turn.new_rows(study):
                self._run("INSERT INTO events VALUES (?, ?, ?)", *row)


def _use_write_ahead_log(connection: sqlite3.Connection) -> None:
    """Set the mode; SQLite itself does not wait for processes that do the same to a new file."""
    deadline = time.monotonic() + store.TIMEOUT
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
        time.sleep(0.005)


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
