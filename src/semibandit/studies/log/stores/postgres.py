"""Studies on a PostgreSQL server, in the schema `semibandit`; an advisory lock orders the writers of each."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

from semibandit._extras import needed
from semibandit.studies.log.stores.address import public
from semibandit.studies.log.stores.store import TIMEOUT, Log, Store, Turn

with needed("PostgreSQL", "postgres"):
    import psycopg

__all__ = ["PostgresStore"]

VERSION = 2

# Advisory locks have two numbers: this one, and that of the study; 0 locks the whole schema.
_LOCKS = 0x73656D69

_SCHEMA = """
CREATE SCHEMA semibandit;
CREATE TABLE semibandit.format (version integer NOT NULL);
CREATE TABLE semibandit.studies (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL UNIQUE,
    archived boolean NOT NULL DEFAULT false
);
CREATE TABLE semibandit.events (
    study integer NOT NULL, event bigint NOT NULL, line text NOT NULL, crc bigint NOT NULL,
    PRIMARY KEY (study, event)
);
CREATE TABLE semibandit.snapshots (
    study integer NOT NULL, kind text NOT NULL, event bigint NOT NULL, data bytea NOT NULL,
    crc bigint NOT NULL,
    PRIMARY KEY (study, kind, event)
);
"""

Connection = psycopg.Connection[Any]


class PostgresStore(Store):
    """See `Store`.

    Parameters
    ----------
    address
        Address of the database, in the form of libpq.
    synchronous
        "normal": commits do not wait for the disk. If the database server crashes, the commits of the last
        half second may be lost, but never a part of one, and replicas that are ahead notice it. "full": a
        commit is on the disk.
    """

    def __init__(self, address: str, synchronous: str) -> None:
        self._address, self._synchronous = address, synchronous
        self.place = public(address)
        super().__init__()

    def _usable(self, connection: Connection) -> bool:
        return not connection.closed

    def _connect(self) -> Connection:
        try:
            connection = psycopg.connect(self._address, autocommit=True)
        except psycopg.ProgrammingError:  # its message may quote the password
            raise ValueError(f"libpq cannot read the address {self.place} with its options") from None
        except psycopg.OperationalError as error:
            raise ConnectionError(f"the database cannot be reached: {error}") from None
        try:
            with _errors(connection):  # the server may crash now, too
                connection.execute(f"SET lock_timeout = '{TIMEOUT:g}s'; SET search_path = semibandit")
                if self._synchronous == "normal":
                    connection.execute("SET synchronous_commit = off")
                self._require_ours(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _require_ours(self, connection: Connection) -> None:
        """Check the schema; create it if there is none."""
        if self._format(connection) == VERSION:
            return
        with _transaction(connection, 0):
            if self._format(connection) == 0:  # no other process was faster
                connection.execute(_SCHEMA)
                connection.execute("INSERT INTO semibandit.format VALUES (%s)", (VERSION,))

    def _format(self, connection: Connection) -> int:
        """Return the format of the tables; 0 if there is no schema of this name."""
        row = connection.execute(
            "SELECT to_regclass('semibandit.format') IS NOT NULL "
            "FROM pg_namespace WHERE nspname = 'semibandit'"
        ).fetchone()
        if row is None:
            return 0
        if not row[0]:
            raise ValueError("the schema 'semibandit' of this database belongs to another program")
        versions = [version for (version,) in connection.execute("SELECT version FROM semibandit.format")]
        if versions != [VERSION]:
            raise ValueError(
                f"the schema 'semibandit' has format {versions}, this program knows format {VERSION}"
            )
        return VERSION

    def _run(self, statement: str, *values: Any) -> list[Any]:
        with self._connected() as connection, _errors(connection):
            cursor = connection.execute(statement.replace("?", "%s"), values)
            return cursor.fetchall() if cursor.description else []

    @contextmanager
    def _transaction(self, study: int) -> Iterator[None]:
        with self._connected() as connection, _transaction(connection, study):
            yield

    @contextmanager
    def turn(self, study: int, since: int) -> Iterator[Turn]:
        """Two round trips: begin, lock and read; write and commit."""
        with self._begun(study, since) as (connection, cursor, turn):
            try:
                yield turn
            except BaseException:
                with suppress(psycopg.Error):
                    cursor.execute("ROLLBACK")
                raise
            values = turn.new_rows(study)
            rows = ", ".join(["(%s, %s, %s, %s)"] * len(values))
            insert = f"INSERT INTO semibandit.events VALUES {rows};" if values else ""
            with _errors(connection):
                cursor.execute(insert + "COMMIT", [value for row in values for value in row])

    @contextmanager
    def _begun(self, study: int, since: int) -> Iterator[tuple[Connection, Any, Turn]]:
        """Begin a transaction, take the lock of the study and read its events."""
        with ExitStack() as stack:
            connection = stack.enter_context(self._connected())
            try:
                cursor, turn = self._locked(connection, study, since)
            except ConnectionError:  # the server closed it while it was idle: nothing has happened yet
                stack.close()
                connection = stack.enter_context(self._connected())
                cursor, turn = self._locked(connection, study, since)
            yield connection, cursor, turn

    def _locked(self, connection: Connection, study: int, since: int) -> tuple[Any, Turn]:
        # Values are quoted by the client, so that several statements can be sent together.
        cursor = psycopg.ClientCursor(connection)
        with _errors(connection):
            # Each statement sees the commits that were made while we waited for the lock.
            cursor.execute(
                "BEGIN ISOLATION LEVEL READ COMMITTED;"
                "SELECT pg_advisory_xact_lock(%s, %s), extract(epoch FROM clock_timestamp())::float8;"
                "SELECT event, line, crc FROM semibandit.events WHERE study = %s AND event >= %s "
                "ORDER BY event",
                (_LOCKS, study, study, since - 1),
            )
            cursor.nextset()
            row: Any = cursor.fetchone()
            cursor.nextset()
            rows: list[Any] = cursor.fetchall()
        return cursor, Turn(row[1], Log(f"{self.place}, study {study}", since, rows))


@contextmanager
def _transaction(connection: Connection, study: int) -> Iterator[None]:
    """Commit all or nothing; no other process writes to the study meanwhile."""
    with _errors(connection), connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s, %s)", (_LOCKS, study))
        yield


@contextmanager
def _errors(connection: Connection) -> Iterator[None]:
    """Translate errors of the server and of the connection to TimeoutError and ConnectionError."""
    try:
        yield
    except psycopg.errors.LockNotAvailable:
        with suppress(psycopg.Error):
            connection.execute("ROLLBACK")
        raise TimeoutError("the study stayed busy with other writers") from None
    except (psycopg.OperationalError, psycopg.InterfaceError, psycopg.InternalError) as error:
        connection.close()
        raise ConnectionError(f"the database went away: {error}") from None
