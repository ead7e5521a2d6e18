"""Client: a study over HTTP, also when the service is killed."""

import math
import os
import pickle
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest

import semibandit as sb
from semibandit.studies.api import StudyInfo
from semibandit.studies.log.operations import Extend, ForgottenError
from semibandit.studies.log.stores import UnknownStudyError
from study_workers import SPACE, bits, play, seen_around

pytest.importorskip("starlette")


@pytest.fixture
def storage(tmp_path):
    return f"sqlite:///{tmp_path}/studies.db"


@pytest.fixture
def server(serve, storage):
    return serve(storage)


def test_a_client_and_a_study_agree_to_the_bit(server, storage):
    settings = {"space": SPACE, "seed": 3, "rate": sb.FixedRate(0.2)}
    with (
        sb.Client(server.url, study="a / b?", **settings) as client,
        sb.Study(storage, "a / b?", **settings) as study,
    ):
        play(client, 10, 0)
        play(study, 10, 1)
        play(client, 10, 2)
        assert bits(client.learner) == bits(study.learner)
        assert client.density() == study.density()
        assert client.recommend() == study.recommend()
        assert client.history() == study.history()
        assert client.history(since=9, limit=3) == study.history(since=9, limit=3)
        assert client.events() == study.events()
        assert client.summary() == study.summary()
        assert [each.event for each in client.summaries()] == [each.event for each in study.summaries()]
        assert client.certificate() == study.certificate()
        assert client.n_events == study.n_events
        assert client.prune() == 0
        assert client.settings == study.settings
        assert bits(client.at(20)) == bits(study.at(20))
        trial = client.ask(lease=math.inf, info={"instance": "x"})
        client.renew(trial, lease=20)
        client.change(lease=7, note="seen")
        assert client.pending == study.pending
        assert client.forget(trial) is True
        assert client.forget(trial) is False
        with pytest.raises(ForgottenError, match="was forgotten"):
            client.tell(trial, seen_around(trial.rho, random.Random(0)))
        assert study.summary().counts.note == "seen"
        assert [info.name for info in client.studies()] == ["a / b?"]
        by_page = sb.Client(f"{server.url}/studies/{study.id}")
        assert by_page.name == sb.Client(server.url).name == "a / b?"
        copy = pickle.loads(pickle.dumps(client))
        assert repr(copy) == repr(client) == f"Client({server.url!r}, study='a / b?')"


def test_trials_on_strips_have_alpha(server):
    strips = sb.Strips(4, SPACE)
    with sb.Client(server.url, study="rows", space=strips, seed=0) as client:
        trial = client.ask()
        assert trial.alpha in strips.alphas
        row = strips.row_of(trial.alpha)
        client.tell(trial, strips.lay_rows({row: sb.PiecewiseConstant([0, 1], [0.5])}))
        assert client.recommend() == client.learner.recommend()


def test_wrong_arguments_are_refused(server):
    with pytest.raises(ValueError, match="the service has none"):
        sb.Client(server.url)
    with pytest.raises(UnknownStudyError, match="no study 'x'"):
        sb.Client(server.url, study="x")
    with pytest.raises(UnknownStudyError, match="number 7"):
        sb.Client(f"{server.url}/studies/7")
    with pytest.raises(ValueError, match="need a space"):
        sb.Client(server.url, study="x", seed=3)
    with pytest.raises(ValueError, match="a space needs the name"):
        sb.Client(server.url, space=SPACE)
    with pytest.raises(ValueError, match="url must be"):
        sb.Client("localhost:8080")
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        with pytest.raises(ConnectionError, match="does not answer"):
            sb.Client(f"http://127.0.0.1:{unused.getsockname()[1]}", patience=0.1)


def start(storage, port):
    """Start the service in another process."""
    command = [sys.executable, "-c", "from semibandit.cli import main; main()"]
    process = subprocess.Popen(
        [*command, "serve", "--storage", storage, "--port", str(port)], stdout=subprocess.PIPE, text=True
    )
    line = process.stdout.readline()
    found = re.fullmatch(r"semibandit serves .* at (http://127.0.0.1:(\d+))\n", line)
    assert found, line
    return process, found[1], int(found[2])


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_no_round_is_lost_or_doubled_when_the_service_is_killed(storage):
    process, url, port = start(storage, 0)
    told, stop = [], threading.Event()
    with sb.Client(url, study="knob", space=SPACE, seed=0):
        pass

    def work(number):
        with sb.Client(url, study="knob", worker=str(number), patience=120.0) as client:
            while not stop.is_set():
                trial = client.ask()
                client.tell(trial, seen_around(trial.rho, random.Random(number)))
                told.append(trial.id)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(2):
            before = len(told)
            while len(told) < before + 40:
                time.sleep(0.01)
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
            process.stdout.close()
            process, *_ = start(storage, port)
        before = len(told)
        while len(told) < before + 40:
            time.sleep(0.01)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
        process.terminate()
        process.wait()
        process.stdout.close()
    with sb.Study(storage, "knob") as study:
        # Every told round is in the log once, and no ask was drawn twice.
        assert sorted(record.trial for record in study.history()) == sorted(told)
        assert study.pending == []
        assert study.learner.n_asked == len(told)
        assert bits(study.at(study.n_events)) == bits(study.learner)


def test_a_race_over_http_names_the_instances(server, storage):
    with sb.Client(server.url, study="race", space=SPACE, seed=0, learner="Race") as client:
        client.do(Extend([str(i) for i in range(20)], 60))
        trials = [client.ask() for _ in range(3)]
        assert all(trial.instance.isdigit() for trial in trials)
        for trial in trials:
            assert client.tell(trial, abs(trial.rho - 0.3))
        assert client.recommend() == client.learner.recommend()
        (entry,) = client.studies()
        assert entry.told == 3
        assert client._backend.get("", StudyInfo).certificate == "a race: no bound on the regret"


def test_predictions_and_explore_travel_over_http(server, storage):
    with (
        sb.Client(server.url, study="hard", space=SPACE, seed=3) as client,
        sb.Study(storage, "hard", space=SPACE, seed=3) as study,
    ):
        whole = sb.PiecewiseConstant([0, 1], [0.5])
        for t in range(12):
            shared = client if t % 2 else study
            trial = shared.ask(explore=0.5)
            assert trial.explore == 0.5
            shared.tell(trial, 0.4 + 0.1 * (t % 3), predicted=whole if t % 4 == 3 else 0.1 * (t % 3))
        assert study.learner._forecast.rounds == study.learner.n_mixed == 12
        assert bits(client.learner) == bits(study.learner)
        with pytest.raises(ValueError, match="explore must be in"):
            client.ask(explore=2.0)
        trial = client.ask()
        with pytest.raises(ValueError, match="predicted must be known on the whole space"):
            client.tell(trial, 0.5, predicted=sb.PiecewiseConstant([0, 0.5], [0.1]))
