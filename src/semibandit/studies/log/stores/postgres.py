"""Studies on a PostgreSQL server, in the schema `semibandit`; an advisory lock orders the writers of each."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

from semibandit._extras import needed
from semibandit.studies.log.stores.address import public
from semibandit.studies.log.stores.store import TIMEOUT, Log, Store, Turn

with needed("PostgreSQL", "postgres"):
    import psycopg

__all__ = ["PostgresStore"]

VERSION = 3

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
CREATE UNLOGGED TABLE semibandit.requests (
    id bigint PRIMARY KEY, study integer NOT NULL, at timestamptz NOT NULL DEFAULT now(),
    body text NOT NULL, answer text
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

    shares = True

    @contextmanager
    def turn(self, study: int, since: int, request: str | None = None) -> Iterator[Turn]:
        """Two round trips: lock and read; write and unlock. One if another process runs the request.

        Waiting for the lock of a busy study takes longer than an operation. So a process first leaves its
        request in a table; whoever gets the lock runs all requests that it finds there.
        """
        number = secrets.randbits(62)  # different also if all workers seed `random` alike
        with ExitStack() as stack:
            connection = stack.enter_context(self._connected())
            try:
                turn = self._locked(connection, study, since, number, request)
            except ConnectionError:  # the server closed it while it was idle: try once more
                stack.close()
                connection = stack.enter_context(self._connected())
                turn = self._locked(connection, study, since, number, request)
            if turn.answer is not None:
                yield turn
                return
            try:
                yield turn
            except BaseException:
                with suppress(psycopg.Error):  # whoever waits tries again alone
                    self._send(connection, _ABANDON, study, _LOCKS, study)
                raise
            values = turn.new_rows(study)
            statements, arguments = ["BEGIN"], []
            if values:
                rows = ", ".join(["(%s, %s, %s, %s)"] * len(values))
                statements.append(f"INSERT INTO semibandit.events VALUES {rows}")
                arguments += [value for row in values for value in row]
            for each, answer in turn.answers.items():
                statements.append("UPDATE semibandit.requests SET answer = %s WHERE id = %s")
                arguments += [answer, each]
            if request is not None:
                statements.append(_FORGET)
                arguments.append(number)
            statements.append("COMMIT; SELECT pg_advisory_unlock(%s, %s)")
            with _errors(connection), _closed_on_error(connection):
                self._send(connection, "; ".join(statements), *arguments, _LOCKS, study)

    def _locked(
        self, connection: Connection, study: int, since: int, number: int, request: str | None
    ) -> Turn:
        """Leave a request, take the lock of the study, and read the answer, or events and requests."""
        with _errors(connection), _closed_on_error(connection):
            # Each statement sees the commits that were made while we waited for the lock.
            leave = "" if request is None else _LEAVE
            given = () if request is None else (number, study, request)
            cursor = self._send(
                connection, leave + _LOCK + _READ, *given, _LOCKS, study, number, _LOCKS, study,
                study, since - 1, request is not None, number, study, number,
            )  # fmt: skip
            found: list[list[Any]] = []
            while True:
                if cursor.description:
                    found.append(cursor.fetchall())
                if not cursor.nextset():
                    break
        (((_, now),), answers, rows, requests) = found
        if answers:
            turn = Turn(now, Log("", 1, []))
            turn.answer = answers[0][0]
        else:
            turn = Turn(now, Log(f"{self.place}, study {study}", since, rows))
            turn.requests = requests
        return turn

    def _send(self, connection: Connection, statements: str, *values: Any) -> Any:
        """Send statements together; the client inserts the values."""
        return psycopg.ClientCursor(connection).execute(statements, values)


_LEAVE = (
    "BEGIN; INSERT INTO semibandit.requests (id, study, body) VALUES (%s, %s, %s) "
    "ON CONFLICT DO NOTHING; COMMIT; "
)
_LOCK = """
SELECT pg_advisory_lock(%s, %s), extract(epoch FROM clock_timestamp())::float8;
DELETE FROM semibandit.requests WHERE id = %s AND answer IS NOT NULL
RETURNING answer, pg_advisory_unlock(%s, %s);
"""
# Nothing is read if the request was answered.
_READ = """
SELECT event, line, crc FROM semibandit.events WHERE study = %s AND event >= %s
AND (NOT %s OR EXISTS (SELECT FROM semibandit.requests WHERE id = %s)) ORDER BY event;
SELECT id, body FROM semibandit.requests WHERE study = %s AND answer IS NULL AND id <> %s;
"""
_FORGET = "DELETE FROM semibandit.requests WHERE id = %s OR at < now() - interval '10 minutes'"
_ABANDON = "DELETE FROM semibandit.requests WHERE study = %s; SELECT pg_advisory_unlock(%s, %s)"


@contextmanager
def _transaction(connection: Connection, study: int) -> Iterator[None]:
    """Commit all or nothing; no other process writes to the study meanwhile."""
    with _errors(connection), connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s, %s)", (_LOCKS, study))
        yield


@contextmanager
def _closed_on_error(connection: Connection) -> Iterator[None]:
    """Close the connection, which may hold a lock, after any error or interrupt."""
    try:
        yield
    except BaseException:
        connection.close()
        raise


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
