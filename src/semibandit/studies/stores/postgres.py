"""Studies on a PostgreSQL server, in a schema of their own; an advisory lock orders the writers of each."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Any

from semibandit._extras import needed
from semibandit.studies.stores import Entry
from semibandit.studies.stores._thinning import superfluous

with needed("PostgreSQL", "postgres"):
    import psycopg

__all__ = ["PostgresStore"]

VERSION = 1

# Advisory locks have two numbers: this one, and that of the study; 0 is for all of the schema.
_LOCKS = 0x73656D69

_SCHEMA = """
CREATE SCHEMA semibandit;
CREATE TABLE semibandit.format (version integer NOT NULL);
CREATE TABLE semibandit.studies (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL UNIQUE
);
CREATE TABLE semibandit.events (
    study integer NOT NULL, event bigint NOT NULL, line text NOT NULL, PRIMARY KEY (study, event)
);
CREATE TABLE semibandit.portraits (
    study integer NOT NULL, event bigint NOT NULL, portrait bytea NOT NULL, PRIMARY KEY (study, event)
);
CREATE TABLE semibandit.snapshots (
    study integer NOT NULL, event bigint NOT NULL, replica bytea NOT NULL, PRIMARY KEY (study, event)
);
"""
_TABLES = ("events", "portraits", "snapshots")

# Connections of a parent process: closed here, they would end there.
_abandoned: list[Any] = []

Connection = psycopg.Connection[Any]


class PostgresTurn:
    """See `Turn`. Two round trips: begin, lock and read; write and commit."""

    def __init__(self, connection: Connection, study: int, since: int) -> None:
        self._connection, self._study, self._next = connection, study, since
        # Values are quoted here and not on the server: only so do several statements travel together.
        self._cursor = psycopg.ClientCursor(connection)
        self._lines: list[str] = []
        self.rows: list[tuple[int, str]] = []
        self.now = 0.0

    def __enter__(self) -> PostgresTurn:
        with _errors(self._connection):
            # Statements of their own see what was committed while we waited for the lock.
            cursor = self._cursor.execute(
                "BEGIN ISOLATION LEVEL READ COMMITTED;"
                "SELECT pg_advisory_xact_lock(%s, %s), extract(epoch FROM clock_timestamp())::float8;"
                "SELECT event, line FROM semibandit.events WHERE study = %s AND event >= %s ORDER BY event",
                (_LOCKS, self._study, self._study, self._next),
            )
            cursor.nextset()
            self.now = cursor.fetchone()[1]  # type: ignore[index]
            cursor.nextset()
            self.rows = cursor.fetchall()
        self._next = self.rows[-1][0] + 1 if self.rows else self._next
        return self

    def append(self, line: str) -> None:
        self._lines.append(line)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None or not self._lines:
            with suppress(psycopg.Error):
                self._cursor.execute("ROLLBACK")
            return
        values = [(self._study, number, line) for number, line in enumerate(self._lines, start=self._next)]
        rows = ", ".join(["(%s, %s, %s)"] * len(values))
        with _errors(self._connection):
            self._cursor.execute(
                f"INSERT INTO semibandit.events VALUES {rows}; COMMIT",
                [value for row in values for value in row],
            )


class PostgresStore:
    """See `Store`.

    Parameters
    ----------
    address
        What libpq takes.
    synchronous
        "normal": a commit waits for no disk; if the database server itself crashes, the last half second may
        be missing, but never half of a commit, and replicas that are ahead find out. "full": a commit is on
        the disk.
    timeout
        Seconds to wait for other processes that write.
    """

    keeps_leases = True

    def __init__(self, url: str, address: str, synchronous: str, timeout: float) -> None:
        self.url = url
        self._address, self._synchronous, self._timeout = address, synchronous, timeout
        self._process = -1
        self._connection: Connection | None = None
        self._open()

    def _open(self) -> Connection:
        """The connection of this process, made again where the server has gone away."""
        if self._connection is not None and self._process != os.getpid():
            _abandoned.append(self._connection)
            self._connection = None
        if self._connection is None or self._connection.closed:
            self._connection, self._process = self._connect(), os.getpid()
        return self._connection

    def _connect(self) -> Connection:
        try:
            connection = psycopg.connect(self._address, autocommit=True)
        except psycopg.ProgrammingError as error:
            raise ValueError(f"storage is no address of a PostgreSQL database: {error}") from None
        except psycopg.OperationalError as error:
            raise ConnectionError(f"the database cannot be reached: {error}") from None
        try:
            connection.execute(f"SET lock_timeout = '{self._timeout:g}s'")
            if self._synchronous == "normal":
                connection.execute("SET synchronous_commit = off")
            self._require_ours(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _require_ours(self, connection: Connection) -> None:
        """Check whose schema it is; make it where there is none."""
        if self._is_ours(connection):
            return
        with _transaction(connection, 0):
            if not self._is_ours(connection):  # no other process was quicker
                connection.execute(_SCHEMA)
                connection.execute("INSERT INTO semibandit.format VALUES (%s)", (VERSION,))

    def _is_ours(self, connection: Connection) -> bool:
        """False where there is no schema of this name."""
        row = connection.execute(
            "SELECT to_regclass('semibandit.format') IS NOT NULL "
            "FROM pg_namespace WHERE nspname = 'semibandit'"
        ).fetchone()
        if row is None:
            return False
        if not row[0]:
            raise ValueError("the schema 'semibandit' of this database belongs to another program")
        versions = [version for (version,) in connection.execute("SELECT version FROM semibandit.format")]
        if versions != [VERSION]:
            raise ValueError(
                f"the schema 'semibandit' has format {versions}, this program knows format {VERSION}"
            )
        return True

    # -- studies -----------------------------------------------------------------------------------

    def create(self, name: str, line: str) -> int:
        connection = self._open()
        with _transaction(connection, 0):
            row = connection.execute("SELECT id FROM semibandit.studies WHERE name = %s", (name,)).fetchone()
            if row is None:
                row = connection.execute(
                    "INSERT INTO semibandit.studies (name) VALUES (%s) RETURNING id", (name,)
                ).fetchone()
                assert row is not None
                connection.execute("INSERT INTO semibandit.events VALUES (%s, 1, %s)", (row[0], line))
        return int(row[0])

    def studies(self) -> list[Entry]:
        rows = self._query(
            "SELECT id, name, (SELECT max(event) FROM semibandit.events WHERE study = id) "
            "FROM semibandit.studies ORDER BY id"
        )
        return [Entry(*row) for row in rows]

    def find(self, name: str) -> int | None:
        rows = self._query("SELECT id FROM semibandit.studies WHERE name = %s", name)
        return int(rows[0][0]) if rows else None

    def delete(self, study: int) -> None:
        connection = self._open()
        with _transaction(connection, study):
            connection.execute("DELETE FROM semibandit.studies WHERE id = %s", (study,))
            for table in _TABLES:
                connection.execute(f"DELETE FROM semibandit.{table} WHERE study = %s", (study,))

    # -- events ------------------------------------------------------------------------------------

    def turn(self, study: int, since: int) -> PostgresTurn:
        return PostgresTurn(self._open(), study, since)

    def read(self, study: int, since: int, limit: int | None = None) -> list[tuple[int, str]]:
        return self._query(
            "SELECT event, line FROM semibandit.events WHERE study = %s AND event >= %s "
            "ORDER BY event LIMIT %s",
            study, since, limit,
        )  # fmt: skip

    def _query(self, query: str, *values: Any) -> list[Any]:
        connection = self._open()
        with _errors(connection):
            return connection.execute(query, values).fetchall()

    # -- snapshots ---------------------------------------------------------------------------------

    def save_portrait(self, study: int, event: int, portrait: bytes) -> None:
        connection = self._open()
        with _errors(connection):
            connection.execute(
                "INSERT INTO semibandit.portraits VALUES (%s, %s, %s) ON CONFLICT DO NOTHING",
                (study, event, portrait),
            )

    def portraits(self, study: int, since: int = 1) -> list[bytes]:
        rows = self._query(
            "SELECT portrait FROM semibandit.portraits WHERE study = %s AND event >= %s ORDER BY event",
            study, since,
        )  # fmt: skip
        return [portrait for (portrait,) in rows]

    def save_snapshot(self, study: int, event: int, replica: bytes) -> None:
        connection = self._open()
        with _transaction(connection, study):
            connection.execute(
                "INSERT INTO semibandit.snapshots VALUES (%s, %s, %s) ON CONFLICT DO NOTHING",
                (study, event, replica),
            )
            sizes = connection.execute(
                "SELECT event, length(replica) FROM semibandit.snapshots WHERE study = %s ORDER BY event",
                (study,),
            ).fetchall()
            self._drop(connection, study, superfluous(sizes))

    def snapshot(self, study: int, event: int | None = None) -> bytes | None:
        rows = self._query(
            "SELECT replica FROM semibandit.snapshots WHERE study = %s AND event <= %s "
            "ORDER BY event DESC LIMIT 1",
            study, 2**62 if event is None else event,
        )  # fmt: skip
        return bytes(rows[0][0]) if rows else None

    def prune(self, study: int) -> None:
        connection = self._open()
        with _transaction(connection, study):
            rows = connection.execute(
                "SELECT event FROM semibandit.snapshots WHERE study = %s ORDER BY event", (study,)
            ).fetchall()
            self._drop(connection, study, [event for (event,) in rows[:-1]])
        with _errors(connection):
            connection.execute("VACUUM semibandit.snapshots")

    def _drop(self, connection: Connection, study: int, events: list[int]) -> None:
        connection.execute(
            "DELETE FROM semibandit.snapshots WHERE study = %s AND event = ANY(%s)", (study, events)
        )

    def close(self) -> None:
        if self._connection is not None and self._process == os.getpid():
            self._connection.close()
        self._connection = None


@contextmanager
def _transaction(connection: Connection, study: int) -> Iterator[None]:
    """All or nothing, and no other writer of the study meanwhile."""
    with _errors(connection), connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s, %s)", (_LOCKS, study))
        yield


@contextmanager
def _errors(connection: Connection) -> Iterator[None]:
    """What psycopg raises, as errors that say what it means for a study."""
    try:
        yield
    except psycopg.errors.LockNotAvailable:
        with suppress(psycopg.Error):
            connection.execute("ROLLBACK")
        raise TimeoutError("the study stayed busy with other writers") from None
    except psycopg.OperationalError as error:
        connection.close()
        raise ConnectionError(f"the database went away: {error}") from None
