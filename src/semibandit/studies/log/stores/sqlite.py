"""Studies in an SQLite file in write-ahead mode: readers do not wait for the writer, nor it for them."""

from __future__ import annotations

import os
import random
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from semibandit.studies.log.stores import store
from semibandit.studies.log.stores.store import MAX_LAG, DamagedStudyError, Store, Turn

try:
    import fcntl
except ImportError:  # Windows: the order of the processes is left to chance
    fcntl = None  # type: ignore[assignment]

__all__ = ["SQLiteStore"]

VERSION = 2
APPLICATION = 0x73656D69  # "semi", in the header of the file
_READ_TIMEOUT = 5.0  # seconds, in the rare moments in which SQLite lets readers wait
_PAUSE = 0.002  # seconds between two attempts to begin a transaction, at most
_MAX_WAIT = 0.25  # seconds after which a process that waits for others goes first
_CLOCK = "clock"  # kind of a snapshot of no study
_CHECKPOINT = 4000  # pages of the write-ahead log before they move into the file, which waits for the disk

_SCHEMA = """
CREATE TABLE studies (
    id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, archived INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE events (
    study INTEGER NOT NULL, event INTEGER NOT NULL, line TEXT NOT NULL, crc INTEGER NOT NULL,
    PRIMARY KEY (study, event)
) WITHOUT ROWID;
CREATE TABLE snapshots (
    study INTEGER NOT NULL, kind TEXT NOT NULL, event INTEGER NOT NULL, data BLOB NOT NULL,
    crc INTEGER NOT NULL,
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
        self.path = self.place = path
        self._synchronous = synchronous
        super().__init__()
        self._started = self._start_of_machine()

    def _connect(self) -> sqlite3.Connection:
        folder = Path(self.path).absolute().parent
        if not folder.is_dir():
            raise ValueError(f"{self.path}: there is no folder {folder}")
        try:
            connection = sqlite3.connect(
                self.path, timeout=_READ_TIMEOUT, isolation_level=None, check_same_thread=False
            )
        except (sqlite3.Error, ValueError) as error:
            raise self._problem("cannot be opened", error) from None
        try:
            self._require_ours(connection)
            _use_write_ahead_log(connection)
            connection.execute(f"PRAGMA synchronous = {self._synchronous}")
            connection.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT}")
        except sqlite3.DatabaseError as error:
            connection.close()
            raise self._problem("cannot be used as a database of studies", error) from None
        except BaseException:
            connection.close()
            raise
        return connection

    def _problem(self, what: str, error: Exception) -> Exception:
        """Return OSError for what may pass, such as too many open files; ValueError for another file."""
        kind = OSError if isinstance(error, sqlite3.OperationalError) else ValueError
        return kind(f"{self.path}: {what} ({error})")

    def _require_ours(self, connection: sqlite3.Connection) -> None:
        """Check the header before anything is written; create the tables if there are none."""
        if self._format(connection) == VERSION:
            return
        with _transaction(connection, self.path):
            if self._format(connection) == VERSION:  # another process was faster
                return
            for statement in _SCHEMA.split(";"):
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(f"PRAGMA user_version = {VERSION}")

    def _format(self, connection: sqlite3.Connection) -> int:
        """Return the format of the tables; 0 for an empty database."""
        # One statement sees one state: another process may be creating the tables.
        application, version, tables = connection.execute(_HEADER).fetchone()
        if application == APPLICATION:
            if version != VERSION:
                raise ValueError(f"{self.path}: has format {version}, this program knows format {VERSION}")
            return VERSION
        if application or version or tables:
            raise ValueError(f"{self.path}: is a database of another program")
        return 0

    def _run(self, statement: str, *values: Any) -> list[Any]:
        with self._connected() as connection:
            try:
                rows: list[Any] = connection.execute(statement, values).fetchall()
            except sqlite3.OperationalError as error:
                raise OSError(f"{self.path}: cannot be used ({error})") from None
            except sqlite3.DatabaseError as error:
                raise DamagedStudyError(f"{self.path}: damaged ({error})") from None
        return rows

    @contextmanager
    def _transaction(self, study: int) -> Iterator[None]:
        # Threads of this process wait for each other; only one of them competes with other processes.
        writing = self._own_pool().writing
        if not writing.acquire(timeout=store.TIMEOUT):
            raise TimeoutError(f"{self.path}: cannot be written to (database is locked by this process)")
        try:
            with self._connected() as connection, _transaction(connection, self.path):
                yield
        finally:
            writing.release()

    @contextmanager
    def turn(self, study: int, since: int, request: str | None = None) -> Iterator[Turn]:
        with self._transaction(study):
            turn = Turn(time.time(), self._log(study, since, MAX_LAG), self._started + _elapsed())
            yield turn
            for row in turn.new_rows(study):
                self._run("INSERT INTO events VALUES (?, ?, ?, ?)", *row)

    # A transaction waits its turn, which a single statement does not.

    def save_snapshot(self, study: int, kind: str, event: int, data: bytes) -> None:
        with self._transaction(study):
            super().save_snapshot(study, kind, event, data)

    def drop_snapshots(self, study: int, kind: str, events: list[int]) -> None:
        with self._transaction(study):
            super().drop_snapshots(study, kind, events)

    def _start_of_machine(self) -> float:
        """Return when the machine was started, by its clock at the first use of this file since then.

        All processes agree on it, so setting the clock of the machine does not change the ends of leases.
        """
        boot, started = _boot(), time.time() - _elapsed()
        saved = self._saved_start(boot)
        if boot and saved is None:
            with self._transaction(0):
                saved = self._saved_start(boot)
                if saved is None:
                    super().save_snapshot(0, _CLOCK, 0, f"{boot} {started!r}".encode())
        return started if saved is None else saved

    def _saved_start(self, boot: str) -> float | None:
        data = self.snapshots(0, _CLOCK, 0)
        known, _, started = data[0].decode().partition(" ") if data else ("", "", "")
        return float(started) if boot and known == boot else None

    def _shrink(self) -> None:
        with suppress(OSError):  # others are reading: the space is used again, or freed later
            self._run("VACUUM")
            self._run("PRAGMA wal_checkpoint(TRUNCATE)")


def _elapsed() -> float:
    """Return the seconds since the machine was started, sleep included where the system counts it."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


def _boot() -> str:
    """Identify this run of the machine; empty where the system has no name for it."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return boot + os.readlink("/proc/self/ns/time")  # containers may have a clock of their own
    except OSError:
        return ""


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
    _begin(connection, path)
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


def _begin(connection: sqlite3.Connection, path: str) -> None:
    """Begin a transaction as soon as no other process has one.

    All processes try equally often, since SQLite's own waiting becomes rarer the longer it takes. Processes
    that write one transaction after the other are quick, but a process that has waited for 0.25 s goes first.
    """
    began, folder = time.monotonic(), Path(path).absolute().parent
    first = None
    connection.execute("PRAGMA busy_timeout = 0")
    try:
        while True:
            waited = time.monotonic() - began
            if first is None and waited > _MAX_WAIT:
                first = _lock(folder, "LOCK_EX")
            turn = _lock(folder, "LOCK_SH") if first is None else first
            if first is None and turn is not None:
                os.close(turn)  # at once, so that others can claim to go first
            try:
                if turn is not None:
                    connection.execute("BEGIN IMMEDIATE")
                    return
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                    raise TimeoutError(f"{path}: cannot be written to ({error})") from None
            if waited > store.TIMEOUT:
                raise TimeoutError(f"{path}: cannot be written to (database is locked)")
            time.sleep(_PAUSE * random.random())
    finally:
        if first is not None:
            os.close(first)
        connection.execute(f"PRAGMA busy_timeout = {1000 * _READ_TIMEOUT:.0f}")


def _lock(folder: Path, kind: str) -> int | None:
    """Lock the folder of a store until the returned descriptor is closed; None if another process has it."""
    if fcntl is None:
        return os.open(os.devnull, os.O_RDONLY)
    turn = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(turn, getattr(fcntl, kind) | fcntl.LOCK_NB)
    except OSError:
        os.close(turn)
        return None
    return turn
