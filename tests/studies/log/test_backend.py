"""Damaged stores, mistyped paths, forks, and the choice of snapshots."""

import os
import signal
import threading
import time
from itertools import pairwise

import numpy as np
import pytest

import semibandit as sb
from semibandit.studies import DamagedStudyError, UnknownStudyError
from semibandit.studies.log.backend import superfluous
from semibandit.studies.log.stores import open_store
from semibandit.studies.log.stores.store import chained
from study_workers import SPACE, bits, play


@pytest.fixture
def study(tmp_path):
    with sb.Study(f"sqlite:///{tmp_path}/studies.db", "knob", space=SPACE, seed=7) as study:
        play(study, 10, 0)
        yield study


def damage(study, statement, *values):
    store = open_store(study.storage)
    store._run(statement, *values)
    store.close()


@pytest.mark.parametrize(
    ("line", "event"),
    [
        ("{", 5),
        ('{"event":"told","at":1.0,"trial":389,"seen":0.5,"loss":0.5,"probability":1.0}', 5),
        ('{"event":"lost","at":1.0}', 5),
        ('{"event":"asked","at":1.0,"trial":1,"position":"x","rho":1,"worker":"w"}', 5),
        ('{"event":"asked","at":1.0,"trial":77,"position":0.5,"rho":1,"worker":"w"}', 5),
        ('{"event":"renewed","at":1.0,"trial":389}', 5),
        ('{"event":"created","at":1.0,"settings":{},"learner":""}', 1),
        ("", 1),
    ],
)
def test_a_damaged_event_is_named(study, line, event):
    lines = [old if number != event else line for number, old in study.events()]
    check = 0
    for number, text in enumerate(lines, 1):  # with checksums that fit
        check = chained(text, check)
        damage(study, "UPDATE events SET line = ?, crc = ? WHERE event = ?", text, check, number)
    with pytest.raises(DamagedStudyError, match=rf"'knob' in sqlite:.*studies.db: event {event} is damaged"):
        sb.Study(study.storage, "knob").recommend()


def test_a_missing_event_is_named(study):
    damage(study, "DELETE FROM events WHERE event = 5")
    with pytest.raises(DamagedStudyError, match="event 5 is missing"):
        sb.Study(study.storage, "knob").recommend()


def test_a_history_names_damaged_and_missing_events(study):
    damage(study, "UPDATE events SET line = '{' WHERE event = 3")
    with pytest.raises(DamagedStudyError, match=r"studies.db, study 1: event 3 is damaged"):
        study.history()
    damage(study, "DELETE FROM events WHERE event = 2")
    with pytest.raises(DamagedStudyError, match="event 2 is missing"):
        study.history()


def test_a_flipped_bit_in_the_log_is_found(study):
    rng = np.random.default_rng(3)
    for _ in range(100):
        event = int(rng.integers(1, study.n_events + 1))
        ((line, crc),) = open_store(study.storage)._run("SELECT line, crc FROM events WHERE event = ?", event)
        changed = bytearray(line.encode())
        changed[rng.integers(len(changed))] ^= 1 << int(rng.integers(7))
        set_line = "UPDATE events SET line = ?, crc = ? WHERE event = ?"
        damage(study, set_line, changed.decode(), crc, event)
        with pytest.raises(DamagedStudyError, match=f"event {event} is damaged"):
            study.events()
        damage(study, set_line, line, crc ^ 1, event)
        with pytest.raises(DamagedStudyError, match="is damaged"):
            sb.Study(study.storage, "knob")
        damage(study, set_line, line, crc, event)
    assert len(study.events()) == study.n_events


def test_exchanged_events_are_found(study):
    for new, old in ((99, 4), (4, 6), (6, 99)):
        damage(study, "UPDATE events SET event = ? WHERE event = ?", new, old)
    with pytest.raises(DamagedStudyError, match="event 4 is damaged"):
        study.events()


def test_a_flipped_bit_in_a_snapshot_is_found(study):
    store = open_store(study.storage)
    store.save_snapshot(study.id, "replica", study.n_events, study.snapshot())
    damage(study, "UPDATE snapshots SET crc = crc + 1")
    with pytest.warns(RuntimeWarning, match="a damaged snapshot was ignored"):
        other = sb.Study(study.storage, "knob").learner
    assert bits(other) == bits(study.learner)


def test_a_damaged_snapshot_is_replaced_by_a_replay(study):
    store = open_store(study.storage)
    store.save_snapshot(study.id, "replica", 8, b"\x00\x01")
    store.save_snapshot(study.id, "summary", 8, b"\x00\x01")
    store.close()
    with pytest.warns(RuntimeWarning, match="a damaged snapshot was ignored"):
        other = sb.Study(study.storage, "knob").learner
    assert bits(other) == bits(study.learner)
    assert 8 not in [summary.event for summary in study.summaries()]


def test_a_damaged_file_is_named(study):
    path = study.storage.removeprefix("sqlite:///")
    study.close()
    with open(path, "r+b") as file:
        size = file.seek(0, 2)
        file.seek(4096)
        file.write(b"\xff" * (size - 4096))
    with pytest.raises(ValueError, match=r"studies\.db: "):
        sb.Study(study.storage, "knob").recommend()


@pytest.mark.parametrize("name", ["mistyped.db", "mistyped.db?synchronous=full", "mis#typed.db"])
def test_a_mistyped_path_leaves_no_file(tmp_path, name):
    with pytest.raises(UnknownStudyError, match=r"no file .*mis"):
        sb.Study(f"sqlite:///{tmp_path}/{name}", "a")
    with pytest.raises(ValueError, match="high must be"):
        sb.Study(f"sqlite:///{tmp_path}/{name}", "a", space=SPACE, high=-1.0)
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")
def test_a_child_forked_during_a_transaction_does_not_hang(study):
    inside, leave = threading.Event(), threading.Event()

    def hold(replica, turn):
        inside.set()
        leave.wait(30)

    thread = threading.Thread(target=study.do, args=(hold,))
    thread.start()
    inside.wait()
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if study.n_events == 21 else 2)
        except BaseException:
            os._exit(1)
    deadline = time.monotonic() + 20
    while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0) and time.monotonic() < deadline:
        time.sleep(0.05)
    if ended == (0, 0):
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    leave.set()
    thread.join()
    assert ended == (child, 0)


def test_dropped_snapshots_leave_even_gaps_and_the_last():
    assert superfluous([(10, 1), (20, 1)]) == []
    many = [(2048 * i, 10) for i in range(1, 100)]
    kept = [event for event, _ in many if event not in superfluous(many)]
    assert len(kept) == 32
    assert kept[-1] == many[-1][0]
    gaps = [b - a for a, b in pairwise(kept)]
    assert max(gaps) <= 4 * 2048
    assert superfluous([(1, 150_000_000), (2, 150_000_000)]) == [1]
    growing = [(1000 * i, 10_000_000 * i) for i in range(1, 10)]  # the small ones at the beginning stay
    assert superfluous(growing) == [8000, 6000, 4000, 7000]
    assert superfluous([(2, 500_000_000)]) == []
