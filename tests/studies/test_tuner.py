"""`semibandit tune` on a study: each instance is run once, by whoever is there."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter

import pytest
from typer.testing import CliRunner

import semibandit as sb
from semibandit.cli import app
from semibandit.studies import tuner as shared
from semibandit.studies.tuner import SharedTuner
from semibandit.tuning import Command, Tuner

SPACE = sb.Interval(0, 1)
ECHO = "sh -c 'echo {rho} # {instance}'"


@pytest.fixture
def storage(tmp_path):
    return f"sqlite:///{tmp_path}/studies.db"


def names(n):
    return [f"{i}.txt" for i in range(n)]


def make(storage, command=ECHO, **options):
    return SharedTuner(Command(command, compare="loss"), SPACE, storage, "knob", **{"horizon": 20, **options})


def instances(storage):
    with sb.Study(storage, "knob") as study:
        return Counter(record.info["instance"] for record in study.history() if not record.forgotten)


@pytest.mark.parametrize("options", [{"default": 0.5}, {"feedback": "black-box", "tolerance": 0.1}])
def test_alone_it_is_the_tuner_with_a_state_file(tmp_path, storage, options):
    command = Command(ECHO, compare="loss")
    with Tuner(command, SPACE, tmp_path / "knob.json", horizon=20, **options) as tuner:
        expected = [(r.instance, r.rho, r.loss, r.default_loss) for r in tuner.rounds(names(12))]
        density = tuner.learner.density()
    with make(storage, **options) as study:
        rounds = list(study.rounds(names(12)))
        assert [(r.instance, r.rho, r.loss, r.default_loss) for r in rounds] == expected
        assert study.learner.density() == density
        assert study.summary().n_rounds == 12
        assert list(study.rounds(names(12))) == []
        assert [record.instance for record in study.rounds(names(14))] == ["12.txt", "13.txt"]
        assert len(list(study.rounds(names(2), again=True))) == 2
        assert "the study 'knob' in sqlite://" in study.where


def test_many_share_the_work(storage):
    done = []

    def work():
        with make(storage) as tuner:
            done.extend(record.instance for record in tuner.rounds(names(24)))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(done) == sorted(names(24))
    assert instances(storage) == Counter(names(24))


def interrupted(instance, rho):
    raise KeyboardInterrupt


def test_an_interrupted_round_is_given_back(storage, monkeypatch):
    with make(storage) as tuner:
        next(iter(tuner.rounds(names(3))))
        with monkeypatch.context() as patch:
            patch.setattr(
                tuner.command, "run", lambda instance, rho: (_ for _ in ()).throw(KeyboardInterrupt)
            )
            with pytest.raises(KeyboardInterrupt):
                list(tuner.rounds(names(3)))
        assert tuner.study.pending == []
        assert [record.instance for record in tuner.rounds(names(3))] == ["1.txt", "2.txt"]


def test_the_dead_lose_their_instance(storage, monkeypatch):
    monkeypatch.setattr(shared, "_PAUSE", 0.02)
    with make(storage) as tuner:
        tuner.study.ask(lease=0.2, info={"instance": "0.txt"})  # and never heard of again
        start = time.monotonic()
        assert [record.instance for record in tuner.rounds(names(2))] == ["1.txt", "0.txt"]
        assert time.monotonic() - start >= 0.15


def test_a_lease_is_renewed_while_the_command_runs(storage, monkeypatch):
    monkeypatch.setattr(shared, "_LEASE", 0.3)
    with make(storage, "sh -c 'sleep 0.8; echo {rho} # {instance}'") as tuner:
        assert len(list(tuner.rounds(names(1)))) == 1
        assert instances(storage) == Counter(names(1))


def test_failures_are_told_with_their_reason(storage):
    with make(storage, "sh -c 'echo {rho} {instance}; exit 3'") as tuner:
        assert [record.failure for record in tuner.rounds(names(2))] == ["exit status 3"] * 2
        assert tuner.summary().failures == Counter({"exit status 3": 2})
    with make(storage, "sh -c 'echo {rho} {instance}; exit 3'", failed=1.0) as tuner:
        assert [record.loss for record in tuner.rounds(names(3))] == [1.0]
        assert tuner.summary().n_failed == 3


def test_settings_must_agree_but_for_the_horizon(storage):
    make(storage).close()
    make(storage, horizon=99).close()
    with pytest.raises(ValueError, match="was created with other settings: seed = 5"):
        make(storage, seed=5)
    with pytest.raises(ValueError, match="jobs must be at least 1"):
        make(storage, jobs=0)


def run(*arguments):
    return CliRunner().invoke(app, ["tune", "--space", "0:1", *arguments, ECHO, "a", "b"])


def test_the_command_line_asks_for_one_place(tmp_path, storage):
    state = str(tmp_path / "knob.json")
    for arguments in (
        [],
        ["--storage", storage],
        ["--study", "x"],
        ["--state", state, "--storage", storage, "--study", "x"],
    ):
        assert "give either --state, or --storage and --study" in str(run(*arguments).exception)
    assert "--jobs needs --storage" in str(run("--online", "--state", state, "--jobs", "2").exception)
    done = run("--storage", storage, "--study", "knob", "--jobs", "2")
    assert done.exit_code == 0, (done.output, done.exception)
    assert "2 rounds, 2 runs" in done.output
    assert instances(storage) == Counter(["a", "b"])


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
def test_stopping_several_jobs(storage):
    """Asked to stop, all processes end their commands and give their trials back."""
    command = [sys.executable, "-c", "from semibandit.cli import main; main()", "tune", "--space", "0:1"]
    slow = "sh -c 'sleep 60; echo {rho} # {instance}'"
    process = subprocess.Popen(
        [*command, "--storage", storage, "--study", "knob", "--jobs", "2", slow, *names(4)],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    with sb.Study(
        storage, "knob", space=SPACE, seed=0, learner="Exp3Grid", horizon=4, high=1.0, maximize=False
    ) as s:
        while len(s.pending) < 2:
            assert process.poll() is None
            time.sleep(0.05)
        os.kill(process.pid, signal.SIGTERM)
        output, _ = process.communicate(timeout=60)
        assert process.returncode == 130
        assert "Interrupted. 0 rounds are in the study 'knob'" in output
        assert s.pending == []
