"""The studies that a service has open."""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from semibandit.studies.api import Archive, Begin, Delete, Rename
from semibandit.studies.listing import StudyEntry, list_studies
from semibandit.studies.log.operations import Operation
from semibandit.studies.log.replica import Replica
from semibandit.studies.log.stores import CONNECTIONS, open_store
from semibandit.studies.log.summary import StudySummary
from semibandit.studies.settings import StudySettings, check_name, read_space
from semibandit.studies.study import Study

__all__ = ["StudyRegistry", "StudyWorker"]

_MAX_OPEN = 1000  # studies
_MAX_SIZE = 100_000  # arms or rows of a learner


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
        """Run an operation in the next transaction."""
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
            space = read_space(settings.space)
            settings = StudySettings.of(space, settings.learner, settings.seed, settings.options)
            _require_small(settings)
        return Study.of_settings(self.storage, begin.name, settings).id

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

    def change(self, number: int, change: Rename | Archive | Delete) -> bool:
        """Rename, archive or delete a study."""
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
        return list_studies(self.store, self._summary, search, after, limit, archived)

    def recent(self, limit: int) -> list[tuple[str, Replica]]:
        """Return names and replicas of the studies that were used last."""
        with self._lock:
            workers = sorted(self._workers.values(), key=lambda worker: -worker.used)[:limit]
        return [(worker.study.name, worker.study.inspect(lambda replica: replica)) for worker in workers]

    def _summary(self, number: int) -> StudySummary | None:
        worker = self._workers.get(number)
        return None if worker is None else worker.study.summary()

    def close(self) -> None:
        """Wait for running operations, then close the store."""
        self._threads.shutdown()
        self.store.close()


def _require_small(settings: StudySettings) -> None:
    """Refuse learners that would fill the memory of the service."""
    rows = settings.space.get("n_rows", 1)
    sizes = [settings.options.get("n_arms", 1), *(rows if isinstance(rows, list) else [rows])]
    if any(isinstance(size, int) and size > _MAX_SIZE for size in sizes):
        raise ValueError(f"a study over the service has at most {_MAX_SIZE} arms or rows, got {max(sizes)}")


def _settle(future: asyncio.Future[Any], outcome: Any) -> None:
    if future.cancelled():  # the client has disconnected
        return
    if isinstance(outcome, Exception):
        future.set_exception(outcome)
    else:
        future.set_result(outcome)
