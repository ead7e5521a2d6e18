"""The studies that a service has open."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from semibandit.studies.api import Archive, Begin, Delete, Fold, Rename
from semibandit.studies.listing import StudyEntry, list_studies
from semibandit.studies.log.operations import Operation
from semibandit.studies.log.replica import Replica
from semibandit.studies.log.stores import CONNECTIONS, DamagedStudyError, UnknownStudyError, open_store
from semibandit.studies.log.summary import StudySummary
from semibandit.studies.settings import StudySettings, check_name, read_space
from semibandit.studies.study import Study

__all__ = ["StudyRegistry", "StudyWorker"]

_MAX_OPEN = 1000  # studies
_MAX_REFRESHED = 10  # studies that are opened for one list, because their saved summaries are old
_MAX_SIZE = 10_000  # arms or rows of a learner, which take some seconds to make
_MAX_PIECES = 1_000_000
_MAX_WAITING = 5_000  # operations on one study; further ones are to come again later


class StudyWorker:
    """One study of a service.

    Operations that arrive during a transaction run together in the next one, so the clients that wait share
    the cost of a commit.
    """

    def __init__(self, study: Study, threads: ThreadPoolExecutor) -> None:
        self.study, self._threads = study, threads
        self.used = time.monotonic()
        self._waiting: list[tuple[Operation, asyncio.Future[Any]]] = []
        self._working: asyncio.Task[None] | None = None

    @property
    def idle(self) -> bool:
        """Whether no operation waits or runs."""
        return self._working is None

    async def do(self, operation: Operation) -> Any:
        """Run an operation in the next transaction; raises TimeoutError if too many wait."""
        if len(self._waiting) >= _MAX_WAITING:
            raise TimeoutError(f"{_MAX_WAITING} operations on this study are waiting")
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting.append((operation, future))
        if self._working is None:
            self._working = asyncio.create_task(self._work())
        return await future

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            while self._waiting:
                batch, self._waiting = self._waiting, []
                operations = [operation for operation, _ in batch]
                try:
                    outcomes = await loop.run_in_executor(self._threads, self.study.do_all, operations)
                except Exception as error:
                    outcomes = [error] * len(batch)
                for (_, future), outcome in zip(batch, outcomes, strict=True):
                    _settle(future, outcome)
        finally:
            self._working = None


class StudyRegistry:
    """All studies of a store. A study is opened at its first request; the least recently used is dropped."""

    def __init__(self, storage: str) -> None:
        self.storage = storage
        self.store = open_store(storage)  # all studies share its connections
        # Threads of their own, so that operations do not wait for slow reads.
        self._threads = ThreadPoolExecutor(CONNECTIONS, "operations")
        self._lock = threading.Lock()
        self._workers: dict[int, StudyWorker] = {}

    def begin(self, begin: Begin) -> int:
        """Create or join a study; return its number."""
        settings = begin.settings
        if settings is not None:
            _require_small(settings)
            space = read_space(settings.space)
            settings = StudySettings.of(space, settings.learner, settings.seed, settings.options)
        study = Study.of_settings(self.storage, begin.name, settings)
        with self._lock:
            self._workers.setdefault(study.id, StudyWorker(study, self._threads))
            self._drop_idle()
        return study.id

    def opened(self, number: int) -> StudyWorker | None:
        """Return the worker of a study that is open already."""
        worker = self._workers.get(number)
        if worker is not None:
            worker.used = time.monotonic()
        return worker

    def worker(self, number: int) -> StudyWorker:
        """Return the worker of a study."""
        with self._lock:
            if number not in self._workers:
                study = Study(self.storage, self.store.name(number))
                self._workers[number] = StudyWorker(study, self._threads)
                self._drop_idle()
            return self._workers[number]

    def _drop_idle(self) -> None:
        surplus = len(self._workers) - _MAX_OPEN
        if surplus > 0:
            oldest = sorted(self._workers, key=lambda number: self._workers[number].used)[:-1]
            for number in [number for number in oldest if self._workers[number].idle][:surplus]:
                del self._workers[number]

    def change(self, number: int, change: Rename | Archive | Fold | Delete) -> bool | int:
        """Rename, archive, fold or delete a study."""
        if isinstance(change, Fold):
            return self.worker(number).study.fold(change.keep)
        name = self.store.name(number)
        if isinstance(change, Rename):
            self.store.rename(number, check_name(change.name))
        elif isinstance(change, Archive):
            self.store.archive(number, change.archived)
        elif change.name != name:
            raise ValueError(f"to delete the study, give its name {name!r}, got {change.name!r}")
        else:
            self.store.delete(number)
        with self._lock:  # opened again with its new name
            self._workers.pop(number, None)
        return True

    def entries(self, search: str, after: int, limit: int, archived: bool) -> list[StudyEntry]:
        """Return a page of the list of studies."""
        fresh = iter(range(_MAX_REFRESHED))

        def summary_of(number: int, stale: bool) -> StudySummary | None:
            worker = self._workers.get(number)
            if worker is None and stale and next(fresh, None) is not None:
                with suppress(DamagedStudyError, UnknownStudyError):
                    worker = self.worker(number)
            return None if worker is None else worker.study.summary()

        return list_studies(self.store, summary_of, search, after, limit, archived)

    def recent(self, limit: int) -> list[tuple[str, Replica]]:
        """Return names and replicas of the studies that were used last."""
        with self._lock:
            workers = sorted(self._workers.values(), key=lambda worker: -worker.used)[:limit]
        found = []
        with suppress(OSError):  # without the store there are none
            for worker in workers:
                with suppress(DamagedStudyError, UnknownStudyError):
                    found.append((worker.study.name, worker.study.inspect(lambda replica: replica)))
        return found

    def close(self) -> None:
        """Wait for running operations, then close the store."""
        self._threads.shutdown()
        self.store.close()


def _require_small(settings: StudySettings) -> None:
    """Refuse learners that would fill the memory of the service, before anything is built."""
    rows = _product(settings.space.get("n_rows", 1))
    arms, horizon = settings.options.get("n_arms"), settings.options.get("horizon")
    if arms is None and settings.learner == "Exp3Grid" and isinstance(horizon, int):
        arms = rows * max(horizon / rows, 1.0) ** (1 / 3)
    size = max(rows, arms if isinstance(arms, int | float) else 1)
    pieces = settings.options.get("max_pieces")
    if isinstance(pieces, int) and pieces > _MAX_PIECES:
        raise ValueError(f"a study over the service has at most {_MAX_PIECES} pieces, got {pieces}")
    if size > _MAX_SIZE:
        raise ValueError(f"a study over the service has at most {_MAX_SIZE} arms or rows, got {size:.0f}")


def _product(sizes: Any) -> int:
    return math.prod(n for n in (sizes if isinstance(sizes, list) else [sizes]) if isinstance(n, int))


def _settle(future: asyncio.Future[Any], outcome: Any) -> None:
    if future.cancelled():  # the client has disconnected
        return
    if isinstance(outcome, Exception):
        future.set_exception(outcome)
    else:
        future.set_result(outcome)
