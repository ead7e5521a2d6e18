"""Several processes on one study. `test_kills` kills them."""

import faulthandler
import json
import multiprocessing
import os
import sys
import threading

import pytest

import semibandit as sb
from study_workers import SPACE, bits, play

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"),
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded"),
]

fork = multiprocessing.get_context("fork") if hasattr(os, "fork") else multiprocessing


def work(storage, seed, rounds, results):
    """Play rounds; return the told trials and the learner."""
    with sb.Study(storage, "knob", worker=f"worker {seed}") as study:
        told = play(study, rounds, seed)
        # Learner and event at the same moment.
        event, learner = study._backend.inspect(lambda replica: (replica.event, bits(replica.learner)))
        results.put((told, event, learner))


def check_log(study):
    """Check that trials are asked once and end at most once, without gaps, in order of time."""
    rows = study.events()
    assert [number for number, _ in rows] == list(range(1, len(rows) + 1))
    asked, ended, at = [], [], 0.0
    for _, line in rows[1:]:
        event = json.loads(line)
        assert event["at"] >= at
        at = event["at"]
        if event["event"] == "asked":
            asked.append(event["trial"])
        elif event["event"] in ("told", "failed", "forgotten"):
            assert event["trial"] in asked
            ended.append(event["trial"])
    assert asked == list(range(len(asked)))
    assert len(set(ended)) == len(ended)
    return asked, ended


@pytest.mark.slow
def test_eight_processes_agree_to_the_bit(storage):
    with sb.Study(storage, "knob", space=SPACE, seed=0) as study:
        results = fork.Queue()
        processes = [fork.Process(target=work, args=(storage, seed, 40, results)) for seed in range(8)]
        for process in processes:
            process.start()
        outcomes = [results.get(timeout=120) for _ in processes]
        for process in processes:
            process.join()
        assert [process.exitcode for process in processes] == [0] * 8
        asked, ended = check_log(study)
        told = sorted(trial for trials, _, _ in outcomes for trial in trials)
        assert told == asked == sorted(ended) == list(range(320))
        # The learner of each worker is that of the log at its last event.
        for _, event, learner in outcomes:
            assert bits(study.at(event)) == learner
        assert max(event for _, event, _ in outcomes) == study.n_events == 641


def child_plays(storage, study, seed, go, results):
    faulthandler.dump_traceback_later(100, exit=True, file=sys.__stderr__)  # says where a child hangs
    told = play(study, 5, seed)
    go.wait()
    results.put(told + play(study, 5, seed))
    faulthandler.cancel_dump_traceback_later()


@pytest.mark.slow
def test_forks_of_a_busy_process_lose_no_round(storage):
    """SQLite must not be used across a fork: the last of two could delete the log of the other."""
    with sb.Study(storage, "knob", space=SPACE, seed=0) as study:
        stop, told = threading.Event(), []

        def work(seed):
            while not stop.is_set():
                told.extend(play(study, 3, seed))

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        go, results = fork.Event(), fork.Queue()
        children = [fork.Process(target=child_plays, args=(storage, study, i, go, results)) for i in range(6)]
        for child in children:
            child.start()
        stop.set()
        for thread in threads:
            thread.join()
        study.close()
        go.set()
        for _ in children:
            told += results.get(timeout=120)
        for child in children:
            child.join()
    with sb.Study(storage, "knob") as study:
        assert sorted(told) == list(range(study.learner.n_asked))
        check_log(study)
