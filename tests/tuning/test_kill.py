"""Killed at any moment, `semibandit tune` loses at most the round in flight."""

import os
import signal
import sys
import time

import numpy as np
import pytest

from semibandit.cli import app
from semibandit.tuning import Journal
from semibandit.tuning import journal as journal_module

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

# Two outputs, split at 0.5; every seventh instance fails. A shell needs about a millisecond.
SCRIPT = """case $2 in *7) exit 3;; esac
case $1 in 0.[0-4]*) echo left; echo 0.9;; *) echo right; echo 0.2;; esac
"""


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "solver.sh"
    path.write_text(SCRIPT)
    return path


def tune(state, script, instances, *options):
    mode = [] if "--race" in options else ["--online"]
    arguments = ["tune", "--space", "0:1", "--state", str(state), *mode, *options]
    app([*arguments, f"/bin/sh {script} {{rho}} {{instance}}", *instances], standalone_mode=False)


def forked(work):
    """Run work() in a process of its own, silently; its process id."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            quiet = os.open(os.devnull, os.O_WRONLY)
            os.dup2(quiet, 1)
            os.dup2(quiet, 2)
            sys.stdout, sys.stderr = open(1, "w"), open(2, "w")  # noqa: SIM115
            work()
            status = 0
        finally:
            os._exit(status)
    return pid


def finished(state):
    if not state.exists():
        return []
    with Journal(state) as journal:
        return [(r.instance, r.rho, r.loss, r.failure, r.lo, r.hi, r.default_loss) for r in journal.rounds]


@pytest.mark.slow
@pytest.mark.parametrize(("feedback", "kills"), [("bandit", 30), ("black-box", 12)])
def test_killed_at_random_moments(tmp_path, script, monkeypatch, feedback, kills):
    instances = [str(i) for i in range(3000)]
    options = ["--feedback", feedback, "--default", "0.75", "--default-share", "0.1", "--seed", "4"]
    options += ["--tolerance", "0.1"] if feedback == "black-box" else []
    state, told = tmp_path / "killed", tmp_path / "told"
    append = Journal.append

    def append_and_tell(self, record):
        append(self, record)
        with told.open("ab", buffering=0) as file:  # what a user could have seen as finished
            file.write(b".")

    monkeypatch.setattr(Journal, "append", append_and_tell)
    told.touch()
    tune(tmp_path / "warm", script, ["0"], *options)  # what loads on first use is then there in every child
    told.write_bytes(b"")
    moments = np.random.default_rng(0).uniform(0.0, 0.06, kills).tolist()
    history, kept_untold = [], 0
    for number, moment in enumerate(moments):
        before = told.stat().st_size
        pid = forked(lambda: tune(state, script, instances, *options))
        while number % 2 and told.stat().st_size == before:  # every other one gets to finish a round first
            time.sleep(0.001)
        time.sleep(moment)
        os.kill(pid, signal.SIGKILL)
        assert os.WIFSIGNALED(os.waitpid(pid, 0)[1]), "it finished: give it more instances"
        rounds = finished(state)
        assert rounds[: len(history)] == history, "what was in the file stays"
        # At most one round was saved and not told yet when the process died.
        assert kept_untold <= len(rounds) - told.stat().st_size <= kept_untold + 1
        history, kept_untold = rounds, len(rounds) - told.stat().st_size
    assert len(history) >= kills // 2

    # Killed or not, the rounds are the same: those of one session that nobody disturbs.
    undisturbed = tmp_path / "undisturbed"
    more = len(history) + 10
    tune(state, script, instances[:more], *options)
    monkeypatch.undo()
    pid = forked(lambda: tune_and_stop(undisturbed, script, instances, options, more))
    assert os.waitpid(pid, 0)[1] == 0
    assert finished(state) == finished(undisturbed)


def tune_and_stop(state, script, instances, options, more):
    """One session with the same horizon, stopped after some rounds as by Ctrl-C."""
    append = Journal.append

    def append_until(self, record):
        append(self, record)
        if len(self.rounds) == more:
            raise KeyboardInterrupt

    Journal.append = append_until
    tune(state, script, instances, *options)


@pytest.mark.parametrize("part", ["before", "torn", "written", "synced"])
def test_killed_during_the_save(tmp_path, script, monkeypatch, part):
    """The process kills itself inside of the call that saves the fifth round."""
    state = tmp_path / "state"
    instances = [str(i) for i in range(12)]
    write, sync = os.write, os.fsync
    lines = 0

    def deadly_write(handle, line):
        nonlocal lines
        lines += line.startswith(b'{"instance"')
        if lines == 5 and part in ("before", "torn"):
            if part == "torn":
                write(handle, line[: len(line) // 2])
            os.kill(os.getpid(), signal.SIGKILL)
        return write(handle, line)

    def deadly_sync(handle):
        if lines == 5 and part == "synced":
            sync(handle)
        if lines == 5:
            os.kill(os.getpid(), signal.SIGKILL)
        sync(handle)

    monkeypatch.setattr(journal_module.os, "write", deadly_write)
    monkeypatch.setattr(journal_module.os, "fsync", deadly_sync)
    pid = forked(lambda: tune(state, script, instances))
    assert os.WTERMSIG(os.waitpid(pid, 0)[1]) == signal.SIGKILL
    monkeypatch.undo()
    assert len(finished(state)) == (4 if part in ("before", "torn") else 5)
    tune(state, script, instances)
    whole = tmp_path / "whole"
    tune(whole, script, instances)
    assert finished(state) == finished(whole)
    assert [row[0] for row in finished(state)] == instances


@pytest.mark.parametrize("jobs", [1, 3])
def test_a_race_killed_at_random_moments(tmp_path, script, jobs):
    """It loses what runs alone: in the end the runs are those of a race that nobody disturbed."""
    instances = [str(i) for i in range(60)]
    options = ["--race", "--runs", "240", "--default", "0.75", "--seed", "4"]
    whole, state = tmp_path / "whole", tmp_path / "killed"
    tune(whole, script, instances, *options)
    history = set()
    for moment in np.random.default_rng(jobs).uniform(0.0, 0.4, 12).tolist():
        pid = forked(lambda: tune(state, script, instances, *options, "--jobs", str(jobs)))
        time.sleep(moment)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        runs = finished(state)
        assert len(set(runs)) == len(runs), "no run is made twice"
        assert history <= set(runs), "what was in the file stays"
        history = set(runs)
    tune(state, script, instances, *options, "--jobs", str(jobs))
    assert set(finished(state)) == set(finished(whole))
