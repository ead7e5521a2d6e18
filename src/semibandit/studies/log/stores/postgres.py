"""Studies on a PostgreSQL server, in the schema `semibandit`; an advisory lock orders the writers of each."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any
from weakref import WeakKeyDictionary

from semibandit._extras import needed
from semibandit.studies.log.stores.address import public
from semibandit.studies.log.stores.store import MAX_LAG, TIMEOUT, Log, Store, Turn

with needed("PostgreSQL", "postgres"):
    import psycopg

__all__ = ["PostgresStore"]

VERSION = 4

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
    id bigint PRIMARY KEY, study integer NOT NULL, at timestamptz NOT NULL DEFAULT now(), body text
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
        self._followed: set[int] = set()  # studies whose last request was run by another process
        self._mailboxes: WeakKeyDictionary[Connection, int] = WeakKeyDictionary()
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
        request in a table; whoever gets the lock runs all requests that it finds there, and notifies the
        processes of the answers. Who was answered waits for the next answer before it locks. So one process
        stays in charge, and the others need not read its events.
        """
        with ExitStack() as stack:
            connection = stack.enter_context(self._connected())
            try:
                turn, number = self._begun(connection, study, since, request)
            except ConnectionError:  # the server closed it while it was idle: try once more
                stack.close()
                connection = stack.enter_context(self._connected())
                turn, number = self._begun(connection, study, since, request)
            if turn.answer is not None:
                self._followed.add(study)
                yield turn
                return
            self._followed.discard(study)
            try:
                yield turn
            except BaseException:
                with suppress(psycopg.Error):  # whoever waits tries again alone
                    self._send(connection, _ABANDON, study, number, _LOCKS, study)
                raise
            values = turn.new_rows(study)
            statements = ["BEGIN"]
            arguments: list[Any] = []
            if values:
                rows = ", ".join(["(%s, %s, %s, %s)"] * len(values))
                statements.append(f"INSERT INTO semibandit.events VALUES {rows}")
                arguments += [value for row in values for value in row]
            if number or turn.answers:
                statements.append("UPDATE semibandit.requests SET body = NULL WHERE id = ANY(%s)")
                arguments.append([number, *turn.answers])
            for each, answer in turn.answers.items():
                for part in _parts(answer):
                    statements.append("SELECT pg_notify(%s, %s)")
                    arguments += [f"{_CHANNEL}{each}", part]
            statements.append("COMMIT; SELECT pg_advisory_unlock(%s, %s)")
            with _errors(connection), _closed_on_error(connection):
                self._send(connection, "; ".join(statements), *arguments, _LOCKS, study)

    def _begun(self, connection: Connection, study: int, since: int, request: str | None) -> tuple[Turn, int]:
        """Return an answer, or take the lock of the study and read events and requests.

        Returns the number of our request, too, or 0.
        """
        turn, number, leave = Turn(0.0, Log("", 1, [])), 0, ""
        given: tuple[Any, ...] = ()
        with _errors(connection), _closed_on_error(connection):
            if request is not None:
                number = self._mailbox(connection)
                leave, given = _LEAVE, (number, study, request)
            if request is not None and study in self._followed:
                self._send(connection, leave, *given)
                leave, given = "", ()
                turn.answer = _received(connection, _FOLLOW)
            if turn.answer is None:
                # Each statement sees the commits that were made while we waited for the lock.
                cursor = self._send(
                    connection, leave + _LOCK_AND_READ, *given, _LOCKS, study,
                    _LOCKS, study, number, study, since - 1, number, MAX_LAG + 1, study, number,
                )  # fmt: skip
                found = [result.fetchall() for result in cursor.results() if result.description]
                (((_, now),), answered, rows, requests) = found
                if answered:
                    turn.answer = _received(connection, TIMEOUT) or ""
                else:
                    turn = Turn(now, Log(f"{self.place}, study {study}", since, rows))
                    turn.requests = requests
        return turn, number

    def _mailbox(self, connection: Connection) -> int:
        """Return the number under which a connection leaves requests and gets answers."""
        if connection not in self._mailboxes:
            number = self._mailboxes[connection] = secrets.randbits(62)
            connection.execute(f"LISTEN {_CHANNEL}{number}")
            connection.execute("DELETE FROM semibandit.requests WHERE at < now() - interval '1 day'")
        return self._mailboxes[connection]

    def _send(self, connection: Connection, statements: str, *values: Any) -> Any:
        """Send statements together; the client inserts the values."""
        return psycopg.ClientCursor(connection).execute(statements, values)


_FOLLOW = 0.03  # seconds to wait for the process that has run our last request
_CHANNEL = "semibandit_"  # with the number of a mailbox
_PART = 1900  # characters of an answer in one notification, which has at most 8,000 bytes
_LEAVE = """
BEGIN; INSERT INTO semibandit.requests (id, study, body) VALUES (%s, %s, %s)
ON CONFLICT (id) DO UPDATE SET study = excluded.study, at = now(), body = excluded.body; COMMIT;
"""
# If the request was answered, the lock is given back, and nothing is read.
_LOCK_AND_READ = """
SELECT pg_advisory_lock(%s, %s), extract(epoch FROM clock_timestamp())::float8;
SELECT pg_advisory_unlock(%s, %s) FROM semibandit.requests WHERE id = %s AND body IS NULL;
SELECT event, line, crc FROM semibandit.events WHERE study = %s AND event >= %s
AND NOT EXISTS (SELECT FROM semibandit.requests WHERE id = %s AND body IS NULL) ORDER BY event LIMIT %s;
SELECT id, body FROM semibandit.requests WHERE study = %s AND body IS NOT NULL AND id <> %s;
"""
_ABANDON = f"""
WITH given_back AS (
    UPDATE semibandit.requests SET body = NULL WHERE study = %s AND body IS NOT NULL RETURNING id
) SELECT pg_notify('{_CHANNEL}' || id, '0 ') FROM given_back WHERE id <> %s;
SELECT pg_advisory_unlock(%s, %s)
"""


def _parts(answer: str) -> list[str]:
    """Return the notifications of an answer; each begins with the number of those that follow."""
    parts = [answer[i : i + _PART] for i in range(0, len(answer), _PART)]
    return [f"{left} {part}" for left, part in zip(reversed(range(len(parts))), parts, strict=True)]


def _received(connection: Connection, patience: float) -> str | None:
    """Return the answer that notifications bring; None if there is none after some seconds."""
    answer = ""
    while notes := list(connection.notifies(timeout=patience, stop_after=1)):
        for note in notes:
            left, _, part = note.payload.partition(" ")
            answer += part
            if left == "0":
                return answer
        patience = TIMEOUT  # for the other parts
    return None


@contextmanager
def _transaction(connection: Connection, study: int) -> Iterator[None]:
    """Commit all or nothing; no other process writes to the study meanwhile."""
    with _errors(connection), connection.transaction():
        connection.execute("SET LOCAL synchronous_commit = on")  # new studies, and other rare changes
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
