"""Folding: the oldest events of a study are replaced by a snapshot."""

import os

import pytest

import semibandit as sb
from semibandit.studies import DamagedStudyError
from semibandit.studies.log.stores import open_store
from study_workers import SPACE, bits, play


@pytest.fixture
def study(storage):
    with sb.Study(storage, "knob", space=SPACE, seed=7) as study:
        play(study, 40, 0)
        yield study


def test_a_folded_study_goes_on_as_the_whole_one(study):
    other = sb.Study(study.storage, "knob")  # at an event that is kept
    early, late = study.ask(), [study.ask() for _ in range(2)]
    play(study, 5, 1)
    summaries = study.summaries()
    n, before, counts, rounds = study.n_events, bits(study.learner), study.summary().counts, study.history()
    assert study.fold(keep=6) == 7
    assert (study.n_events, study.summary().counts, bits(study.learner)) == (n, counts, before)
    assert bits(sb.Study(study.storage, "knob").learner) == before
    assert [number for number, _ in study.events()] == list(range(n - 6, n + 1))
    assert study.history().data == rounds[-3:].data
    assert study.summaries() == summaries != []
    assert study.tell(early, 0.25)  # asked before
    assert other.tell(late[0], 0.5)
    assert [each.trial for each in study.history()[-2:]] == [early.id, late[0].id]
    assert bits(study.learner) == bits(other.learner)
    with pytest.raises(ValueError, match=rf"event must be in {n - 6} to {n + 2}, got 5"):
        study.at(5)
    with pytest.raises(ValueError, match=f"the first {n - 6} events were folded"):
        study.replay(sb.Exp3Set(SPACE, seed=0))
    assert study.fold() == 1
    assert study.history().data == []
    assert bits(study.learner) == bits(other.learner)
    play(other, 3, 2)
    assert bits(study.learner) == bits(other.learner)


def test_a_damaged_fold_is_named(study):
    study.fold(keep=4)
    store, n = open_store(study.storage), study.n_events
    store._run("UPDATE events SET line = replace(line, 'told', 'tald') WHERE event = ?", n)
    with pytest.raises(DamagedStudyError, match=f"event {n} is damaged"):
        sb.Study(study.storage, "knob").recommend()
    store.close()


def test_folding_shrinks_a_file(tmp_path):
    with sb.Study(f"sqlite:///{tmp_path}/x.db", "knob", space=SPACE, seed=7) as study:
        play(study, 400, 0)
        open_store(study.storage)._run("PRAGMA wal_checkpoint(TRUNCATE)")
        size = os.path.getsize(tmp_path / "x.db")
        assert study.fold(keep=10) == 11
        assert os.path.getsize(tmp_path / "x.db") < 0.6 * size
