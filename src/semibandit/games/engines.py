"""Who does the work: this process, several on this machine (joblib), or a cluster (Dask).

Work on a long log is done chunk by chunk, and what comes out is merged in a tree. Merging must not depend on
the order, as chunks are done when they are done.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from itertools import chain, islice
from threading import Lock
from typing import Any, Protocol

from semibandit import _validate

__all__ = ["Chunk", "Engine", "Tree", "engine_for"]

#: So many results are merged at a time.
FAN = 8
#: Workers that may die before the work is given up.
MOST_DEATHS = 3


@dataclass(frozen=True)
class Chunk:
    """Consecutive items of a log, and the place of the first."""

    start: int
    items: Any


Work = Callable[[Chunk], Any]
Merge = Callable[[list[Any]], Any]
Advance = Callable[[int], None]


class Engine(Protocol):
    """Does work on chunks and merges what comes out."""

    #: How many chunks are worked on at the same time.
    workers: int

    def reduce(self, work: Work, chunks: Iterable[Chunk], merge: Merge, advance: Advance) -> Any:
        """merge([work(chunk), ...]) in some order and grouping; None without chunks.

        Chunks are taken as they are needed, and advance(n) is called whenever n more items are done.
        """
        ...


def engine_for(n_jobs: int | None, client: Any) -> Engine:
    """The engine that a user has asked for."""
    if client is not None:
        if n_jobs is not None:
            raise ValueError(f"give n_jobs or client, not both, got n_jobs = {n_jobs!r} and {client!r}")
        if not (callable(getattr(client, "submit", None)) and callable(getattr(client, "nthreads", None))):
            raise TypeError(f"client must be a dask.distributed.Client, got {client!r}")
        return _Cluster(client)
    n = 1 if n_jobs is None else _validate.integer("n_jobs", n_jobs, low=-1)
    if n == 0:
        raise ValueError("n_jobs must be at least 1, or -1 for all processors, got 0")
    return _Here() if n == 1 else _Processes(n)


class Tree:
    """Results that are merged whenever there are enough of one size: each is merged O(log) times."""

    def __init__(self, merge: Merge) -> None:
        self._merge = merge
        self._levels: list[list[Any]] = []

    def add(self, result: Any) -> None:
        for level in self._levels:
            level.append(result)
            if len(level) < FAN:
                return
            result = self._merge(level[:])
            level.clear()
        self._levels.append([result])

    def result(self) -> Any:
        """All that was added, merged; None if nothing was."""
        left = list(chain.from_iterable(self._levels))
        return self._merge(left) if left else None


class _Here:
    workers = 1

    def reduce(self, work: Work, chunks: Iterable[Chunk], merge: Merge, advance: Advance) -> Any:
        tree = Tree(merge)
        for chunk in chunks:
            tree.add(work(chunk))
            advance(len(chunk.items))
        return tree.result()


class _Processes:
    """Processes on this machine; what they find is merged in this one.

    joblib gives up when a process is killed. So the chunks that were under way are taken again.
    """

    def __init__(self, n_jobs: int) -> None:
        import joblib

        self._n_jobs = n_jobs
        self.workers = joblib.effective_n_jobs(n_jobs)

    def reduce(self, work: Work, chunks: Iterable[Chunk], merge: Merge, advance: Advance) -> Any:
        from joblib import Parallel, delayed

        tree, queue, deaths = Tree(merge), _Queue(chunks), 0
        while queue:
            run = Parallel(self._n_jobs, return_as="generator_unordered", batch_size=1)
            try:
                for number, result in run(delayed(_numbered)(work, *item) for item in queue):
                    advance(len(queue.done(number).items))
                    tree.add(result)
            except BrokenProcessPool:
                deaths += 1
                if deaths > MOST_DEATHS:
                    raise
            queue.again()
        return tree.result()


def _numbered(work: Work, number: int, chunk: Chunk) -> tuple[int, Any]:
    return number, work(chunk)


class _Queue:
    """Numbered chunks to work on; those that were taken and not done can be had again.

    Taken from by a thread of joblib, hence the lock.
    """

    def __init__(self, chunks: Iterable[Chunk]) -> None:
        self._fresh = enumerate(chunks)
        self._lost: list[tuple[int, Chunk]] = []
        self._taken: dict[int, Chunk] = {}
        self._exhausted = False
        self._lock = Lock()

    def __bool__(self) -> bool:
        """Whether there is anything left, taken or not."""
        with self._lock:
            return not self._exhausted or bool(self._lost or self._taken)

    def __iter__(self) -> Iterator[tuple[int, Chunk]]:
        while (item := self._take()) is not None:
            yield item

    def _take(self) -> tuple[int, Chunk] | None:
        with self._lock:
            item = self._lost.pop() if self._lost else next(self._fresh, None)
            if item is None:
                self._exhausted = True
            else:
                self._taken[item[0]] = item[1]
            return item

    def done(self, number: int) -> Chunk:
        with self._lock:
            return self._taken.pop(number)

    def again(self) -> None:
        """Whoever has taken chunks is dead: they are to be had again."""
        with self._lock:
            self._lost += self._taken.items()
            self._taken.clear()


class _Cluster:
    """The workers of a Dask cluster, which merge as well; the scheduler repeats what a dead worker had."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self.workers = max(sum(client.nthreads().values()), 1)

    def reduce(self, work: Work, chunks: Iterable[Chunk], merge: Merge, advance: Advance) -> Any:
        from distributed import as_completed

        fresh = iter(chunks)
        running = as_completed()
        level: dict[str, int] = {}  # of what is running: 0 for a chunk, else how often it was merged
        size: dict[str, int] = {}
        finished: dict[int, list[Any]] = defaultdict(list)

        def start(at: int, task: Callable[[Any], Any], argument: Any) -> Any:
            future = self._client.submit(task, argument, pure=False)
            level[future.key] = at
            running.add(future)
            return future

        def start_chunks(n: int) -> None:
            for chunk in islice(fresh, n):
                size[start(0, work, chunk).key] = len(chunk.items)

        start_chunks(2 * self.workers)
        for future in running:
            if future.status == "error":
                future.result()
            at = level.pop(future.key)
            if at == 0:
                advance(size.pop(future.key))
                start_chunks(1)
            finished[at].append(future)
            if len(finished[at]) == FAN:
                start(at + 1, merge, finished.pop(at))
        left = list(chain.from_iterable(finished.values()))
        return self._client.submit(merge, left, pure=False).result() if left else None
