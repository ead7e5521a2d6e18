"""Killed at any moment, `semibandit tune` loses at most the rounds under way and counts none twice."""

import os
import signal
import sys
import time

import numpy as np
import pytest

import semibandit as sb
from semibandit.cli import app
from semibandit.studies.log.operations import Tell
from semibandit.tuning.tuner import STUDY, storage_of

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
    """Run work() in a separate process, silently; return its process id."""
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
    """The finished rounds: instance, value, loss, failure, loss of the default."""
    if not state.exists():
        return []
    try:
        with sb.Study(storage_of(state), STUDY) as study:
            rows = [row for row in study.history() if not row.forgotten]
    except ValueError:  # killed before the study was begun
        return []
    return [(r.info["instance"], r.rho, r.loss, r.failure, r.info.get("default_loss")) for r in rows]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "kills"),
    [([], 30), (["--feedback", "black-box", "--tolerance", "0.1"], 12), (["--jobs", "3"], 12)],
)
def test_killed_at_random_moments_online(tmp_path, script, monkeypatch, options, kills):
    instances = [str(i) for i in range(3000)]
    options = [*options, "--default", "0.75", "--default-share", "0.1", "--seed", "4"]
    state, shown = tmp_path / "killed", tmp_path / "shown"
    tell = sb.Study.tell

    def tell_and_show(self, *arguments, **named):
        tell(self, *arguments, **named)
        with shown.open("ab", buffering=0) as file:  # what a user could have seen as finished
            file.write(b".")

    monkeypatch.setattr(sb.Study, "tell", tell_and_show)
    tune(tmp_path / "warm", script, ["0"], *options)  # children inherit what is loaded on first use
    shown.write_bytes(b"")
    history = []
    for number, moment in enumerate(np.random.default_rng(0).uniform(0.0, 0.06, kills).tolist()):
        before = shown.stat().st_size
        pid = forked(lambda: tune(state, script, instances, *options))
        while number % 2 and shown.stat().st_size == before:  # every other one may finish a round first
            time.sleep(0.001)
        time.sleep(moment)
        os.kill(pid, signal.SIGKILL)
        assert os.WIFSIGNALED(os.waitpid(pid, 0)[1]), "it finished: give it more instances"
        rounds = finished(state)
        assert rounds[: len(history)] == history, "finished rounds stay"
        assert len({row[0] for row in rounds}) == len(rounds), "no instance counts twice"
        assert len(rounds) >= shown.stat().st_size, "rounds are durable before they are shown"
        history = rounds
    assert len(history) >= kills // 2
    monkeypatch.undo()
    more = len(history) + 10
    tune(state, script, instances[:more], *options)
    assert {row[0] for row in finished(state)} == set(instances[:more]), "lost rounds were run again"


@pytest.mark.parametrize("part", ["before", "within", "after"])
def test_killed_while_a_round_is_saved(tmp_path, script, monkeypatch, part):
    """The process kills itself before, within or after the transaction of the fifth round."""
    state = tmp_path / "state"
    instances = [str(i) for i in range(12)]
    tell, inner = sb.Study.tell, Tell.apply
    calls = 0

    def die_at(wanted):
        if calls == 5 and part == wanted:
            os.kill(os.getpid(), signal.SIGKILL)

    def deadly_tell(self, *arguments, **named):
        nonlocal calls
        calls += 1
        die_at("before")
        tell(self, *arguments, **named)
        die_at("after")

    def deadly_operation(*arguments):
        inner(*arguments)
        die_at("within")
        return True

    monkeypatch.setattr(sb.Study, "tell", deadly_tell)
    monkeypatch.setattr(Tell, "apply", deadly_operation)
    pid = forked(lambda: tune(state, script, instances))
    assert os.WTERMSIG(os.waitpid(pid, 0)[1]) == signal.SIGKILL
    monkeypatch.undo()
    assert len(finished(state)) == (5 if part == "after" else 4)
    start = time.monotonic()
    tune(state, script, instances)
    assert time.monotonic() - start < 30, "the lease of a dead process is not waited for"
    assert [row[0] for row in finished(state)] == instances


@pytest.mark.parametrize("jobs", [1, 3])
def test_a_race_killed_at_random_moments(tmp_path, script, jobs):
    """In the end the runs are those of a race that was never interrupted."""
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
        assert history <= set(runs), "finished runs stay"
        history = set(runs)
    tune(state, script, instances, *options, "--jobs", str(jobs))
    assert set(finished(state)) == set(finished(whole))
