"""Several processes on one study; processes that are killed."""

import json
import multiprocessing
import os
import random
import signal
import time
from contextlib import suppress

import pytest

import semibandit as sb
from semibandit.studies.log.operations import ForgottenError
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


def work_for_ever(storage, seed):
    with sb.Study(storage, "knob", worker=f"worker {seed}") as study:
        while True:
            with suppress(ForgottenError):  # if a busy machine was too slow to tell in time
                play(study, 20, seed, lease=1.0)
            seed += 1


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


@pytest.mark.slow
def test_killed_processes_leave_a_complete_log(storage):
    random_ = random.Random(0)
    with sb.Study(storage, "knob", space=SPACE, seed=0) as study:
        workers = {}
        for kill in range(20):
            while len(workers) < 4:
                seed = 1000 * (len(workers) + 1) + kill
                process = fork.Process(target=work_for_ever, args=(storage, seed))
                process.start()
                workers[process.pid] = process
            time.sleep(0.1 * random_.random())
            victim = random_.choice(list(workers))
            os.kill(victim, signal.SIGKILL)
            workers.pop(victim).join()
            if kill % 10 == 0:
                play(study, 5, kill)  # survivors are not affected
        for pid, process in workers.items():
            os.kill(pid, signal.SIGKILL)
            process.join()
        asked, ended = check_log(study)
        assert bits(study.at(study.n_events)) == bits(study.learner)
        left = [lease.trial for lease in study.pending]
        assert set(left) == set(asked) - set(ended)
        time.sleep(1.1)
        study.prune()  # all leases of killed processes have expired
        assert study.pending == []
        with sb.Study(storage, "knob") as other:
            assert bits(other.learner) == bits(study.learner)
