"""Engines that work on chunks: in this process, in processes of joblib, or on a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from itertools import chain, islice
from threading import Semaphore
from typing import Any

from semibandit import _validate

__all__ = ["WorkEngine", "engine_for", "merged_in_tree"]

#: Number of killed worker processes after which the next one raises the error.
MOST_DEATHS = 3

_FAN = 8  # results that are merged at a time

Work = Callable[[Any], Any]
Merge = Callable[[list[Any]], Any]


class WorkEngine:
    """Applies a function to chunks, in this process, and merges the results.

    Attributes
    ----------
    workers
        Number of chunks that are worked on at the same time.
    """

    def __init__(self, workers: int = 1) -> None:
        self.workers = workers

    def reduce(self, work: Work, merge: Merge, chunks: Iterable[Any]) -> Any:
        """Return merge([work(chunk), ...]), or None without chunks. Results are merged a few at a time.

        At most 2·workers chunks are in progress at a time.
        """
        return merged_in_tree(self.map(work, chunks), merge)

    def map(self, work: Work, chunks: Iterable[Any]) -> Iterator[Any]:
        """Yield the results in the order of completion."""
        return map(work, chunks)


class ProcessEngine(WorkEngine):
    """Works in processes of joblib, and merges in this one. Chunks of a killed process are repeated."""

    def map(self, work: Work, chunks: Iterable[Any]) -> Iterator[Any]:
        """Yield the results in the order of completion."""
        from joblib.externals.loky import get_reusable_executor

        executor, fresh, deaths = get_reusable_executor(self.workers), iter(chunks), 0
        running: dict[Future[Any], Any] = {}
        try:
            while True:
                for chunk in islice(fresh, 2 * self.workers - len(running)):
                    running[executor.submit(work, chunk)] = chunk
                if not running:
                    return
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                try:
                    for future in done:
                        result = future.result()
                        del running[future]
                        yield result
                except BrokenExecutor:
                    deaths += 1
                    if deaths > MOST_DEATHS:
                        _raise_for_deadly(work, list(running.values()))
                        raise
                    executor = get_reusable_executor(self.workers)
                    running = {executor.submit(work, chunk): chunk for chunk in running.values()}
        finally:
            for future in running:
                future.cancel()


def _raise_for_deadly(work: Work, chunks: Iterable[Any]) -> None:
    """Rerun the unfinished chunks item by item; raise an error that names the item that kills a worker."""
    from joblib.externals.loky import get_reusable_executor

    for chunk in chunks:
        for item in getattr(chunk, "singles", lambda: ())():
            try:
                get_reusable_executor(1).submit(work, item).result()
            except BrokenExecutor as error:
                raise BrokenProcessPool(
                    f"problem {item.start}: a worker is killed whenever it works on it, as the system does "
                    "if the memory is full"
                ) from error


class ClusterEngine(WorkEngine):
    """Works and merges on a Dask cluster. The scheduler repeats what a dead worker has done."""

    def __init__(self, client: Any) -> None:
        super().__init__(max(sum(client.nthreads().values()), 1))
        self.client = client

    def reduce(self, work: Work, merge: Merge, chunks: Iterable[Any]) -> Any:
        """Return the merged results; only the last merge is sent to this process."""
        submit = partial(self.client.submit, pure=False)
        last = merged_in_tree(self._submitted(partial(submit, work), chunks), partial(submit, merge))
        return None if last is None else last.result()

    def _submitted(self, submit: Callable[[Any], Any], chunks: Iterable[Any]) -> Iterator[Any]:
        """Yield the futures of the chunks; raise the error of a chunk before the next one is submitted."""
        free, failed = Semaphore(2 * self.workers), []

        def finish(future: Any) -> None:
            if future.status == "error":
                failed.append(future)
            free.release()

        for chunk in chunks:
            free.acquire()
            if failed:
                failed[0].result()
            future = submit(chunk)
            future.add_done_callback(finish)
            yield future


def merged_in_tree(results: Iterable[Any], merge: Merge) -> Any:
    """Merge results, _FAN of similar size at a time, so that each is merged O(log n) times; None if none."""
    levels: list[list[Any]] = []
    for result in results:
        for level in levels:
            level.append(result)
            if len(level) < _FAN:
                break
            result = merge(level[:])
            level.clear()
        else:
            levels.append([result])
    left = list(chain.from_iterable(levels))
    return merge(left) if left else None


def engine_for(n_jobs: int | None, client: Any) -> WorkEngine:
    """Return the engine for the arguments `n_jobs` and `client` of a public function."""
    if client is not None:
        if n_jobs is not None:
            raise ValueError(f"give n_jobs or client, not both, got n_jobs = {n_jobs!r} and {client!r}")
        if not all(callable(getattr(client, name, None)) for name in ("submit", "nthreads")):
            raise TypeError(f"client must be a dask.distributed.Client, got {client!r}")
        return ClusterEngine(client)
    n = 1 if n_jobs is None else _validate.integer("n_jobs", n_jobs, low=-1)
    if n == 0:
        raise ValueError("n_jobs must be at least 1, or -1 for all processors, got 0")
    if n == 1:
        return WorkEngine()
    from joblib import effective_n_jobs

    return ProcessEngine(effective_n_jobs(n))
