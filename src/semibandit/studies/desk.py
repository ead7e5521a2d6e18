"""The studies of a service: a desk for each, at which the requests of many clients are served together."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from semibandit.studies.operations import Operation
from semibandit.studies.settings import Settings, read_space
from semibandit.studies.stores import UnknownStudyError, open_store
from semibandit.studies.study import Study
from semibandit.studies.timeline import Timeline

__all__ = ["Desk", "Office"]

_MOST_CELLS = 100_000


class Desk:
    """One study of a service.

    What is wanted while a transaction is under way is done in the next one, all together: so the cost of a
    commit is shared by the clients that wait for it.
    """

    def __init__(self, storage: str, name: str) -> None:
        self.study = Study(storage, name)
        self.timeline = Timeline(Study(storage, name), self.study)
        self._thread = ThreadPoolExecutor(1, f"study {self.study.id}")
        self._viewer = ThreadPoolExecutor(1, f"view of study {self.study.id}")
        self._waiting: list[tuple[Operation, asyncio.Future[Any]]] = []
        self._working: asyncio.Task[None] | None = None
        self._changed = asyncio.Event()

    async def do(self, operation: Operation) -> Any:
        """Do an operation in its turn."""
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
                try:
                    outcomes = await loop.run_in_executor(
                        self._thread, self.study.do_all, [operation for operation, _ in batch]
                    )
                except Exception as error:
                    outcomes = [error] * len(batch)
                for (_, future), outcome in zip(batch, outcomes, strict=True):
                    _settle(future, outcome)
                self.notify()
        finally:
            self._working = None

    async def look(self, question: Any, *arguments: Any) -> Any:
        """Ask something of the study between two transactions."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, question, *arguments)

    async def view(self, question: Any, *arguments: Any) -> Any:
        """Ask something of the timeline, which keeps no worker waiting."""
        return await asyncio.get_running_loop().run_in_executor(self._viewer, question, *arguments)

    def notify(self) -> None:
        """Wake those who wait for events."""
        self._changed.set()
        self._changed = asyncio.Event()

    async def changed(self, seconds: float) -> None:
        """Wait until this service has written an event, or for so many seconds: others may have."""
        try:
            await asyncio.wait_for(self._changed.wait(), seconds)
        except TimeoutError:
            return

    def close(self) -> None:
        """Close the study."""
        self._thread.shutdown(cancel_futures=True)
        self._viewer.shutdown(cancel_futures=True)
        self.study.close()
        self.timeline.study.close()


class Office:
    """All studies of a store, each opened when it is first wanted."""

    def __init__(self, storage: str) -> None:
        self.storage = storage
        self._store = open_store(storage)
        self._lock = threading.Lock()
        self._desks: dict[int, Desk] = {}

    def begin(
        self, name: str, space: dict[str, Any] | None, seed: int | None, learner: str, options: dict[str, Any]
    ) -> int:
        """Begin or join a study; its number."""
        settings = None
        if space is not None:
            settings = Settings.of(read_space(space), learner, seed, options)
            _require_modest(settings)
        elif options or seed is not None:
            raise ValueError("options and a seed need a space")
        with Study.of_settings(self.storage, name, settings) as study:
            return study.id

    def open_desk(self, number: int) -> Desk | None:
        """The desk of a study if it is open already."""
        return self._desks.get(number)

    def desk(self, number: int) -> Desk:
        """The desk of a study."""
        with self._lock:
            if number not in self._desks:
                names = {entry.id: entry.name for entry in self._store.studies()}
                if number not in names:
                    raise UnknownStudyError(f"there is no study with the number {number}")
                self._desks[number] = Desk(self.storage, names[number])
            return self._desks[number]

    def numbers(self) -> list[int]:
        """The numbers of all studies."""
        with self._lock:
            return [entry.id for entry in self._store.studies()]

    def drop(self, number: int) -> None:
        """Close the desk of a study that is gone."""
        with self._lock:
            desk = self._desks.pop(number, None)
        if desk is not None:
            desk.close()

    def close(self) -> None:
        """Close all studies."""
        with self._lock:
            for desk in self._desks.values():
                desk.close()
            self._store.close()


def _require_modest(settings: Settings) -> None:
    """What a client asks for must not fill the memory of all."""
    rows = settings.space.get("n_rows", 1)
    sizes = [settings.options.get("n_arms", 1), *(rows if isinstance(rows, list) else [rows])]
    if any(isinstance(size, int) and size > _MOST_CELLS for size in sizes):
        raise ValueError(f"a study over the service has at most {_MOST_CELLS} arms or rows, got {max(sizes)}")


def _settle(future: asyncio.Future[Any], outcome: Any) -> None:
    if future.cancelled():  # the client has gone
        return
    if isinstance(outcome, Exception):
        future.set_exception(outcome)
    else:
        future.set_result(outcome)
