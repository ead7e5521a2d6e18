"""Killed workers, servers and services lose no finished round and count none twice.

SEMIBANDIT_SOAK=n kills n times as often.
"""

import multiprocessing
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress

import pytest

import semibandit as sb
from semibandit.studies.log.operations import ForgottenError
from study_workers import SPACE, bits, play, seen_around

KILLS = 5 * int(os.environ.get("SEMIBANDIT_SOAK", "1"))
WORKERS = 4
pytestmark = [pytest.mark.slow, pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")]


def start_study(storage):
    with sb.Study(storage, "knob", space=SPACE, seed=0) as study:
        play(study, 50, 0)


def check_study(storage, told):
    """Compare the log with the rounds that workers saw as finished."""
    with sb.Study(storage, "knob") as study:
        assert [number for number, _ in study.events()] == list(range(1, study.n_events + 1))
        ended = [record.trial for record in study.history()]
        assert len(set(ended)) == len(ended)
        assert set(told) <= set(ended)
        assert bits(study.at(study.n_events)) == bits(study.learner)
        deadline = time.monotonic() + 10
        while study.pending and time.monotonic() < deadline:
            time.sleep(0.2)
            study.prune()
        assert not study.pending


def work_for_ever(storage, seed, path):
    """Play on a study, and append each trial to a file after it was told."""
    with path.open("a", buffering=1) as shown:
        while True:
            seed += 1
            with suppress(ForgottenError, ConnectionError), sb.Study(storage, "knob") as study:
                random_ = random.Random(seed)
                while True:
                    trial = study.ask(lease=1.0)
                    study.tell(trial, seen_around(trial.rho, random_))
                    shown.write(f"{trial.id}\n")
            time.sleep(0.02)


def kill_one_of(workers):
    worker = workers.pop(random.randrange(len(workers)))
    worker.kill()
    worker.join()


def kill_again_and_again(storage, folder, kill):
    """Let four workers play, and call kill(workers) at random moments; a killed worker is replaced."""
    random.seed(0)
    start_study(storage)
    fork, workers, paths = multiprocessing.get_context("fork"), [], []
    for _ in range(KILLS):
        while len(workers) < WORKERS:
            paths.append(folder / f"{len(paths)}.told")
            arguments = storage, 1000 * len(paths), paths[-1]
            workers.append(fork.Process(target=work_for_ever, args=arguments))
            workers[-1].start()
        time.sleep(0.1 + 0.2 * random.random())
        kill(workers)
        assert all(worker.is_alive() for worker in workers), "an error other than ConnectionError"
    while workers:
        kill_one_of(workers)
    check_study(storage, [int(line) for path in paths for line in path.read_text().split("\n")[:-1]])


def test_killed_workers_lose_no_round(storage, tmp_path):
    kill_again_and_again(storage, tmp_path, kill_one_of)


def test_a_killed_database_server_loses_no_round(database, tmp_path):
    """The server ends all its processes, and recovers from its log."""
    import psycopg

    def connect():
        for _ in range(1200):
            with suppress(psycopg.OperationalError):
                return psycopg.connect(database, autocommit=True)
            time.sleep(0.05)
        raise TimeoutError("the database does not recover")

    def kill_server(_):
        query = "SELECT pid FROM pg_stat_activity WHERE client_port = -1 AND pid <> pg_backend_pid()"
        with suppress(psycopg.OperationalError), connect() as connection:
            for (pid,) in connection.execute(query).fetchall()[:1]:
                os.kill(pid, signal.SIGKILL)
                time.sleep(0.2)
        connect().close()

    kill_again_and_again(f"{database}&synchronous=full", tmp_path, kill_server)


def test_clients_of_a_killed_service_lose_no_round(tmp_path):
    storage, told, stop = f"sqlite:///{tmp_path}/studies.db", [], threading.Event()
    start_study(storage)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "semibandit", "serve", "--storage", storage, "--port", str(port)]

    def work(number):
        with sb.Client(f"http://127.0.0.1:{port}", study="knob", patience=120.0) as client:
            while not stop.is_set():
                told.extend(play(client, 5, number))

    clients = [threading.Thread(target=work, args=(number,)) for number in range(WORKERS)]
    for client in clients:
        client.start()
    for kill in range(KILLS + 1):
        before, service = len(told), subprocess.Popen(command, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while len(told) < before + 5 and time.monotonic() < deadline:
            time.sleep(0.01)
        if kill == KILLS:
            stop.set()
            for client in clients:
                client.join()
        service.kill()
        service.wait()
        assert len(told) >= before + 5, "no client finished a round within a minute"
    check_study(storage, told)
