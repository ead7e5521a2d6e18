"""Lists of studies: pages, search, archived ones, and few connections whatever their number."""

import gc
import os
import threading
import time

import pytest

import semibandit as sb
from semibandit.studies.log.stores import CONNECTIONS, open_store, public
from study_workers import SPACE, play


@pytest.fixture
def store(storage):
    store = open_store(storage)
    yield store
    store.close()


def names(rows):
    return [row.name for row in rows]


def test_a_list_has_pages_and_a_search(store):
    for i in range(30):
        store.create(f"Study {i:02}", "first")
    store.create("100%_!", "first")
    first = store.page("study", limit=20)
    assert names(first) == [f"Study {i:02}" for i in range(20)]
    assert names(store.page("study", after=first[-1].id, limit=20)) == [f"Study {i}" for i in range(20, 30)]
    assert names(store.page("DY 2")) == [f"Study {i}" for i in range(20, 30)]
    assert names(store.page("%_!")) == ["100%_!"]
    assert names(store.page("_1")) == []


def test_archived_studies_are_listed_apart(store):
    a, b = store.create("a", "first"), store.create("b", "first")
    store.archive(a, True)
    assert (names(store.page()), names(store.page(archived=True))) == (["b"], ["a"])
    store.archive(a, False)
    assert [row.id for row in store.page()] == [a, b]


def test_a_renamed_study_keeps_its_rounds(storage):
    with sb.Study(storage, "a", space=SPACE, seed=0) as study:
        play(study, 5, 0)
        store, events = open_store(storage), study.events()
    store.rename(study.id, "b")
    store.create("c", "first")
    with sb.Study(storage, "b") as study:
        assert study.events() == events
    with pytest.raises(ValueError, match="there is a study 'c' already"):
        store.rename(study.id, "c")
    store.rename(study.id, "b")
    store.close()


def test_loaded_lines_make_the_same_study(storage, store):
    with sb.Study(storage, "a", space=SPACE, seed=0) as study:
        play(study, 20, 0)
        store.load("copy", (line for _, line in study.events()))
        with sb.Study(storage, "copy") as copy:
            assert copy.events() == study.events()
            assert copy.recommend() == study.recommend()
        with pytest.raises(ValueError, match="there is a study 'copy' already"):
            store.load("copy", iter(()))


def test_deleting_a_study_shrinks_the_file(tmp_path):
    path = tmp_path / "x.db"
    store = open_store(f"sqlite:///{path}")
    small, large = store.create("small", "first"), store.create("large", "first")
    with store.turn(large, 1) as turn:
        for _ in range(2000):
            turn.append("x" * 1000)
    store.delete(large)
    store.close()
    assert path.stat().st_size < 100_000
    assert store.read(small, 1) == [(1, "first")]


@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="needs the list of open files")
def test_many_open_studies_share_few_files(tmp_path):
    url = f"sqlite:///{tmp_path}/x.db"
    gc.collect()  # closes what earlier tests have left open
    before = len(os.listdir("/proc/self/fd"))
    studies = [sb.Study(url, str(i), space=SPACE, seed=i) for i in range(100)]
    for study in studies:
        study.ask()
    assert len(os.listdir("/proc/self/fd")) < before + 50
    for study in studies:
        study.close()


def test_many_studies_share_few_connections_to_a_server(database):
    studies = [sb.Study(database, str(i), space=SPACE, seed=i) for i in range(60)]
    for study in studies:
        study.ask()
    store = open_store(database)
    ((n,),) = store._run("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()")
    assert n <= CONNECTIONS
    store.close()


def test_a_told_loss_survives_a_lost_connection(database):
    import psycopg

    with sb.Study(database, "a", space=SPACE, seed=0) as study:
        trial = study.ask()
        with psycopg.connect(database, autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        assert study.tell(trial, 0.5)
        assert study.ask().id == 1


def test_a_told_loss_survives_the_loss_of_all_connections(database):
    import psycopg

    with sb.Study(database, "a", space=SPACE, seed=0) as study:
        trial = study.ask()
        store = open_store(database)
        together = threading.Barrier(CONNECTIONS)

        def connect():
            with store._connected():
                together.wait()

        threads = [threading.Thread(target=connect) for _ in range(CONNECTIONS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(store._pool.idle) == CONNECTIONS
        with psycopg.connect(database, autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        start = time.monotonic()
        assert study.tell(trial, 0.5)
        assert time.monotonic() - start < 5
        assert study.history()[0].loss == 0.5


SECRET = "s3cr3t"


@pytest.mark.parametrize(
    "address",
    [
        f"postgresql://u:{SECRET}@h/db",
        f"postgresql://u:{SECRET}?x@h/db",
        f"postgresql://u:x/{SECRET}@h/db",
        f"postgresql://u:x@{SECRET}@h/db",
        f"postgresql://u:x#{SECRET}@h/db",
        f"postgresql://u:x {SECRET}@h/db",
        f"postgresql://u:{SECRET}:x@h/db",
        f"postgresql:/u:{SECRET}@h/db",
        f"postgresql:u:{SECRET}@h/db",
        f"postgres://h/db?password={SECRET}",
        f"mysql://u:{SECRET}@h/db",
        f"u:{SECRET}@h",
        f"http://u:{SECRET}@h:1/studies/1",
        f"postgresql://u:{SECRET}@[::1/db",
        f"postgresql://u:{SECRET}@h:x/db",
        f"postgresql://u:{SECRET}/db",
        f"sqlite://u:{SECRET}@h/db",
        f"http://u:{SECRET}",
        f"https://u:{SECRET}@h:x",
    ],
)
@pytest.mark.parametrize("opened", [open_store, lambda address: sb.Client(address, patience=0)])
def test_a_password_is_in_no_message(address, opened):
    pytest.importorskip("psycopg")
    assert SECRET not in public(address)
    with pytest.raises((ValueError, ConnectionError)) as caught:
        opened(address)
    error = caught.value
    while error is not None:
        assert SECRET not in str(error)
        error = None if error.__suppress_context__ else error.__cause__ or error.__context__
