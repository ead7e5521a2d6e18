"""PostgreSQL: the process that writes to a study runs the requests of those that wait."""

import threading

import numpy as np
import pytest

import semibandit as sb
from semibandit.studies.log import backend
from semibandit.studies.log.operations import (
    Ask,
    Change,
    ForgottenError,
    Tell,
    decode_operations,
    decode_outcomes,
    encode_operations,
    encode_outcomes,
)
from semibandit.studies.log.stores import open_store, postgres
from study_workers import SPACE, bits, play

WAITING = "SELECT count(*) FROM semibandit.requests WHERE body IS NOT NULL"


@pytest.fixture
def study(database):
    with sb.Study(database, "knob", space=SPACE, seed=7) as study:
        play(study, 5, 0)
        yield study


def test_operations_and_outcomes_survive_as_text(study):
    given = [Ask("w", info={"a": 1.5}), Tell(3, seen=0.1 + 0.2), Change(note="x")]
    assert decode_operations(encode_operations(given)) == given
    for other in (lambda replica, turn: None, Ask(""), Ask("w", values={"rho": np.int64(1)})):
        assert encode_operations([Ask("w"), other]) is None
    trial = study.ask()
    text = encode_outcomes([trial, ForgottenError("gone"), True])
    again, error, done = decode_outcomes(text, given, type(trial))
    assert (again.id, again.rho, again.position, done) == (trial.id, trial.rho, trial.position, True)
    assert (type(error), str(error)) == (ForgottenError, "gone")


def test_waiting_requests_are_run_by_one_turn(study):
    store = open_store(study.storage)
    others = [sb.Study(study.storage, "knob", worker=f"worker {i}") for i in range(4)]
    lost = study.ask()
    study.forget(lost)
    outcomes = {}
    wanted = [
        lambda s: s.ask(probes=300),
        lambda s: s.ask(),
        lambda s: s.tell(lost, 0.5),
        lambda s: s.tell(99, 0.5),
    ]

    def work(i):
        try:
            outcomes[i] = wanted[i](others[i])
        except ValueError as error:
            outcomes[i] = error

    for other in others:
        other._backend._shared = True
    with store.turn(study.id, 1):  # all of them wait
        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        while store._run(WAITING) != [(4,)]:
            pass
    for thread in threads:
        thread.join()
    assert {outcomes[0].id, outcomes[1].id} == {6, 7}
    assert len(outcomes[0].probes) == 300  # more than fits in one notification
    assert isinstance(outcomes[2], ForgottenError)
    assert "trial 99 is unknown" in str(outcomes[3])
    assert store._run(WAITING) == [(0,)]
    assert {each.worker for each in study.pending} == {"worker 0", "worker 1"}
    # One of the four has run all requests; the others have not even read the log.
    assert sorted(other._backend._replica.event < study.n_events for other in others) == [False, *3 * [True]]
    for i in range(2):
        assert others[1 - i].tell(outcomes[i], [0.25] + 300 * [None] if i == 0 else 0.25)
    assert len({bits(other.learner) for other in [study, *others]}) == 1
    store.close()


def test_who_is_not_answered_goes_on_alone(study, monkeypatch):
    monkeypatch.setattr(backend, "MAX_LAG", 10)
    monkeypatch.setattr(postgres, "MAX_LAG", 10)
    other = sb.Study(study.storage, "knob")
    play(study, 20, 0)
    other._backend._shared = True
    other._backend._store._followed.add(other.id)
    assert other.tell(other.ask(), 0.5)  # far behind: it reads the log before it writes
    assert bits(other.learner) == bits(study.learner)


def test_an_error_of_the_write_frees_the_lock(study):
    import psycopg

    store, n = open_store(study.storage), study.n_events

    def write():
        with store.turn(study.id, n) as turn:
            psycopg.connect(study.storage, autocommit=True).execute(  # around the lock
                "INSERT INTO semibandit.events VALUES (%s, %s, 'x', 0)", (study.id, n + 1)
            )
            turn.append("y")

    with pytest.raises(psycopg.IntegrityError, match="duplicate key"):
        write()
    store._run("DELETE FROM events WHERE study = ? AND event = ?", study.id, n + 1)
    assert study.tell(study.ask(), 0.5)
    store.close()


def test_a_request_that_cannot_be_run_harms_nobody(study):
    store = open_store(study.storage)
    study._backend._shared = True
    store._run("INSERT INTO semibandit.requests (id, study, body) VALUES (1, ?, 'nonsense')", study.id)
    assert store._run(WAITING) == [(1,)]
    trial = study.ask()
    assert study.tell(trial, 0.5)
    assert store._run(WAITING) == [(0,)]
    assert bits(sb.Study(study.storage, "knob").learner) == bits(study.learner)
    store.close()
