"""One contract for SQLite and PostgreSQL; foreign databases are refused."""

import os
import sqlite3
import threading
from contextlib import suppress

import pytest

from semibandit.studies.log.stores import open_store, sqlite


@pytest.fixture
def store(storage):
    store = open_store(storage)
    yield store
    store.close()


def test_creating_a_name_twice_returns_the_same_study(store, storage):
    study = store.create("a", "first")
    assert store.create("a", "other") == study
    other = open_store(storage)
    assert other.find("a") == study
    assert other.create("b", "first") != study
    assert list(store.studies().values()) == ["a", "b"]
    assert store.read(study, 1) == [(1, "first")]
    other.close()


def test_a_turn_is_a_transaction(store, storage):
    study = store.create("a", "first")
    with store.turn(study, 1) as turn:
        assert turn.rows == [(1, "first")]
        turn.append("second")
        turn.append("third")
    with suppress(KeyError), store.turn(study, 3) as turn:
        assert turn.rows == [(3, "third")]
        turn.append("never")
        raise KeyError
    with store.turn(study, 2) as turn:
        assert turn.rows == [(2, "second"), (3, "third")]
    other = open_store(storage)
    assert other.read(study, 1, 2) == [(1, "first"), (2, "second")]
    assert other.read(study, 4) == []
    other.close()


def test_concurrent_turns_are_serialized(store, storage):
    study = store.create("a", "0")

    def work():
        own = open_store(storage)
        for _ in range(20):
            with own.turn(study, 1) as turn:
                turn.append(str(len(turn.rows)))
        own.close()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [line for _, line in store.read(study, 1)] == [str(i) for i in range(81)]


def test_studies_are_separate(store):
    a, b = store.create("a", "a1"), store.create("b", "b1")
    for study, line in ((a, "a2"), (b, "b2")):
        with store.turn(study, 1) as turn:
            turn.append(line)
        store.save_snapshot(study, "summary", 2, line.encode())
        store.save_snapshot(study, "replica", 2, line.encode())
    store.delete(a)
    assert store.find("a") is None
    assert store.read(a, 1) == []
    assert (store.snapshots(a, "summary"), store.last_snapshot(a, "replica")) == ([], None)
    assert store.read(b, 2) == [(2, "b2")]
    assert (store.snapshots(b, "summary"), store.last_snapshot(b, "replica")) == ([b"b2"], b"b2")
    assert store.create("a", "again") not in (a, b)


def test_snapshots_are_found_by_event(store):
    study = store.create("a", "first")
    for event in (10, 20, 30):
        store.save_snapshot(study, "replica", event, b"\x00%d" % event)
    assert store.last_snapshot(study, "replica", 9) is None
    assert store.last_snapshot(study, "replica", 29) == b"\x0020"
    assert store.last_snapshot(study, "replica") == b"\x0030"
    assert store.snapshot_sizes(study, "replica") == [(10, 3), (20, 3), (30, 3)]
    store.drop_snapshots(study, "replica", [10, 20])
    assert store.snapshots(study, "replica") == [b"\x0030"]


def test_names_are_not_interpreted_as_sql(store):
    names = ["'; DROP TABLE studies; --", "%s", "?", "naïve \N{GREEK SMALL LETTER RHO}", '"', "a/b"]
    numbers = [store.create(name, "first") for name in names]
    assert [store.find(name) for name in names] == numbers
    assert list(store.studies().values()) == names


# -- foreign databases are not changed -----------------------------------------------------------------


def _unchanged(path, message):
    before = path.read_bytes()
    with pytest.raises(ValueError, match=message):
        open_store(f"sqlite:///{path}")
    assert path.read_bytes() == before


def test_a_newer_file_is_refused(tmp_path):
    path = tmp_path / "newer.db"
    open_store(f"sqlite:///{path}").close()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.execute("PRAGMA journal_mode = DELETE")
    connection.close()
    _unchanged(path, "has format 99, this program knows format 2")


def test_threads_create_the_same_store_at_once(tmp_path):
    errors = []

    def make(url, barrier):
        barrier.wait()
        try:
            open_store(url).close()
        except ValueError as error:
            errors.append(error)

    for i in range(20):
        shared = f"sqlite:///{tmp_path}/{i}.db", threading.Barrier(6)
        threads = [threading.Thread(target=make, args=shared) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert errors == []


def test_a_foreign_file_is_refused(tmp_path):
    path = tmp_path / "foreign.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE events (x)")
    connection.close()
    _unchanged(path, "another program")
    path = tmp_path / "text.db"
    path.write_text("not a database, but long enough to be looked at" * 10)
    _unchanged(path, "cannot be used as a database of studies")
    with pytest.raises(ValueError, match="no folder"):
        open_store(f"sqlite:///{tmp_path}/nowhere/x.db")


def test_a_foreign_schema_is_refused(database):
    import psycopg

    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA semibandit; CREATE TABLE semibandit.events (x integer)")
        with pytest.raises(ValueError, match="belongs to another program"):
            open_store(database)
        connection.execute("CREATE TABLE semibandit.format (version integer); ")
        connection.execute("INSERT INTO semibandit.format VALUES (99)")
        with pytest.raises(ValueError, match=r"has format \[99\], this program knows format 4"):
            open_store(database)
        tables = connection.execute(
            "SELECT count(*) FROM pg_tables WHERE schemaname = 'semibandit'"
        ).fetchone()
        assert tables == (2,)


@pytest.mark.parametrize(
    ("url", "error", "message"),
    [
        (3, TypeError, "storage must be an address"),
        ("mysql://x", ValueError, "must be sqlite:///path"),
        ("sqlite://x.db", ValueError, "must be sqlite:///path"),
        ("sqlite:///", ValueError, "must be sqlite:///path"),
        ("sqlite:///x.db?mode=ro", ValueError, "no option 'mode'"),
        ("sqlite:///x.db?synchronous=off", ValueError, "one of normal, full"),
        ("postgresql://x?synchronous=off", ValueError, "one of normal, full"),
    ],
)
def test_bad_addresses_are_refused(url, error, message):
    with pytest.raises(error, match=message):
        open_store(url)


def test_an_unreachable_server_raises_connection_error():
    pytest.importorskip("psycopg")
    with pytest.raises(ConnectionError, match="cannot be reached"):
        open_store("postgresql://127.0.0.1:1/none")


def test_synchronous_full_reaches_the_database(tmp_path, database):
    store = open_store(f"sqlite:///{tmp_path}/x.db?synchronous=full")
    assert store._run("PRAGMA synchronous") == [(2,)]
    store.close()
    for setting, commit in (("full", "on"), ("normal", "off")):
        store = open_store(f"{database}&synchronous={setting}")
        assert store._run("SHOW synchronous_commit") == [(commit,)]
        store.close()


def test_a_broken_connection_is_replaced(database):
    import psycopg

    store = open_store(database)
    study = store.create("a", "first")
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    with store.turn(study, 1) as turn:
        turn.append("second")
    assert store.read(study, 2) == [(2, "second")]
    store.close()


def test_a_server_that_crashes_while_a_store_opens_raises_connection_error(database, monkeypatch):
    import psycopg

    from semibandit.studies.log.stores.postgres import PostgresStore

    def crash(self, connection):
        raise psycopg.errors.AdminShutdown("terminating connection due to crash of another server process")

    monkeypatch.setattr(PostgresStore, "_require_ours", crash)
    with pytest.raises(ConnectionError, match="the database went away: terminating"):
        open_store(database)


def test_a_busy_database_raises_timeout_error(tmp_path, monkeypatch):
    monkeypatch.setattr("semibandit.studies.log.stores.store.TIMEOUT", 0.05)
    url = f"sqlite:///{tmp_path}/x.db"
    first, second = open_store(url), open_store(url)
    study = first.create("a", "first")
    with (
        first.turn(study, 1),
        pytest.raises(TimeoutError, match="cannot be written to"),
        second.turn(study, 1),
    ):
        pass


def test_a_process_that_has_waited_goes_first(tmp_path, monkeypatch):
    pytest.importorskip("fcntl")
    store, pauses = open_store(f"sqlite:///{tmp_path}/x.db"), []
    waiting = sqlite._lock(tmp_path, "LOCK_EX")  # of a process that has waited for long
    assert sqlite._lock(tmp_path, "LOCK_SH") is None

    def pause(seconds):
        assert store.find("a") is None  # nothing was written meanwhile
        pauses.append(seconds)
        if len(pauses) == 3:
            os.close(waiting)

    monkeypatch.setattr(sqlite.time, "sleep", pause)
    store.create("a", "first")
    assert len(pauses) == 3
    store.close()
