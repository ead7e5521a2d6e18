"""The studies that a service has open."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from semibandit.studies.api import Begin
from semibandit.studies.log.operations import Operation
from semibandit.studies.log.stores import UnknownStudyError, open_store
from semibandit.studies.settings import StudySettings, read_space
from semibandit.studies.study import Study

__all__ = ["StudyRegistry", "StudyWorker"]

_MAX_SIZE = 100_000  # arms or rows of a learner


class StudyWorker:
    """One study of a service.

    Operations that arrive during a transaction run together in the next one, so the clients that wait share
    the cost of a commit.
    """

    def __init__(self, storage: str, name: str) -> None:
        self.study = Study(storage, name)
        # A thread of its own, so that operations do not wait for slow reads of other studies.
        self._thread = ThreadPoolExecutor(1, f"study {self.study.id}")
        self._waiting: list[tuple[Operation, asyncio.Future[Any]]] = []
        self._working: asyncio.Task[None] | None = None

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
                    outcomes = await loop.run_in_executor(self._thread, self.study.do_all, operations)
                except Exception as error:
                    outcomes = [error] * len(batch)
                for (_, future), outcome in zip(batch, outcomes, strict=True):
                    _settle(future, outcome)
        finally:
            self._working = None

    def close(self) -> None:
        """Close the study."""
        self._thread.shutdown(cancel_futures=True)
        self.study.close()


class StudyRegistry:
    """All studies of a store; each is opened at its first request."""

    def __init__(self, storage: str) -> None:
        self.storage = storage
        self._store = open_store(storage)
        self._lock = threading.Lock()
        self._workers: dict[int, StudyWorker] = {}

    def begin(self, begin: Begin) -> int:
        """Create or join a study; return its number."""
        settings = begin.settings
        if settings is not None:
            space = read_space(settings.space)
            settings = StudySettings.of(space, settings.learner, settings.seed, settings.options)
            _require_small(settings)
        with Study.of_settings(self.storage, begin.name, settings) as study:
            return study.id

    def opened(self, number: int) -> StudyWorker | None:
        """Return the worker of a study that is open already."""
        return self._workers.get(number)

    def worker(self, number: int) -> StudyWorker:
        """Return the worker of a study."""
        with self._lock:
            if number not in self._workers:
                names = self._store.studies()
                if number not in names:
                    raise UnknownStudyError(f"there is no study with the number {number}")
                self._workers[number] = StudyWorker(self.storage, names[number])
            return self._workers[number]

    def numbers(self) -> list[int]:
        """Return the numbers of all studies."""
        with self._lock:
            return list(self._store.studies())

    def close(self) -> None:
        """Close all studies."""
        with self._lock:
            for worker in self._workers.values():
                worker.close()
            self._store.close()


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
