"""Where chunks of work are done: in this process, in processes of joblib, or on a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

from semibandit import _validate

__all__ = ["Advance", "Chunk", "Watch", "WorkEngine", "engine_for", "watching"]

#: Times that a worker process may be killed before the error is raised.
MOST_DEATHS = 3

Advance = Callable[[int], None]
Watch = Callable[[str, int | None], Advance]


@dataclass(frozen=True)
class Chunk:
    """Consecutive items of a log, and the index of the first."""

    start: int
    items: Any


@dataclass(frozen=True)
class WorkEngine:
    """Applies a function to chunks.

    Attributes
    ----------
    workers
        Number of chunks that are worked on at the same time.
    executor
        Returns an executor; called again after a worker was killed. None: work in this process.
    """

    workers: int = 1
    executor: Callable[[], Executor] | None = None

    def map(self, work: Callable[[Chunk], Any], chunks: Iterable[Chunk], advance: Advance) -> Iterator[Any]:
        """Yield the results in the order of completion; at most 2·workers chunks are held at a time.

        advance(n) is called after each chunk of n items. Chunks of a killed worker are done again.
        """
        if self.executor is None:
            for chunk in chunks:
                yield work(chunk)
                advance(len(chunk.items))
            return
        executor, fresh, deaths = self.executor(), iter(chunks), 0
        running: dict[Future[Any], Chunk] = {}
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
                        advance(len(running.pop(future).items))
                        yield result
                except BrokenExecutor:
                    deaths += 1
                    if deaths > MOST_DEATHS:
                        raise
                    executor = self.executor()
                    running = {executor.submit(work, chunk): chunk for chunk in running.values()}
        finally:
            for future in running:
                future.cancel()


def engine_for(n_jobs: int | None, client: Any) -> WorkEngine:
    """Return the engine for the arguments `n_jobs` and `client` of a public function."""
    if client is not None:
        if n_jobs is not None:
            raise ValueError(f"give n_jobs or client, not both, got n_jobs = {n_jobs!r} and {client!r}")
        if not all(callable(getattr(client, name, None)) for name in ("get_executor", "nthreads")):
            raise TypeError(f"client must be a dask.distributed.Client, got {client!r}")
        return WorkEngine(max(sum(client.nthreads().values()), 1), partial(client.get_executor, pure=False))
    n = 1 if n_jobs is None else _validate.integer("n_jobs", n_jobs, low=-1)
    if n == 0:
        raise ValueError("n_jobs must be at least 1, or -1 for all processors, got 0")
    if n == 1:
        return WorkEngine()
    from joblib import effective_n_jobs
    from joblib.externals.loky import get_reusable_executor

    workers = effective_n_jobs(n)
    return WorkEngine(workers, partial(get_reusable_executor, workers))


@contextmanager
def watching(progress: bool) -> Iterator[Watch]:
    """Give a function that shows a progress bar for each pass; without `progress` it shows nothing."""
    if not progress:
        yield lambda what, total: lambda done: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, transient=True) as bars:
        yield lambda what, total: partial(bars.advance, bars.add_task(what, total=total))
