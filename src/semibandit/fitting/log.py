"""A log of problems, read chunk by chunk."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from semibandit import _validate

__all__ = ["Chunk", "ProblemLog", "Reader", "Unreadable"]

_CHUNKS_PER_WORKER = 32  # so that all workers finish at about the same time
_LARGEST_CHUNK = 1000
_UNKNOWN_LENGTH_CHUNK = 100


@dataclass(frozen=True)
class Unreadable:
    """A problem that could not be read: its index in the log, and the error message."""

    index: int
    reason: str

    def __str__(self) -> str:
        return f"problem {self.index}: {self.reason}"


@dataclass(frozen=True)
class Chunk:
    """Consecutive items of a log, and the index of the first."""

    start: int
    items: Any

    def singles(self) -> Iterator[Chunk]:
        """Yield a chunk for each item."""
        for k in range(len(self.items)):
            yield Chunk(self.start + k, _part(self.items, k, k + 1).items)


class ProblemLog:
    """Problems, cut into chunks of `size`. Default: a size at which all workers have enough chunks."""

    def __init__(
        self, problems: Iterable[Any], size: int | None = None, workers: int = 1, progress: bool = False
    ) -> None:
        self.problems = _validate.iterable("problems", problems, "a sequence of problems")
        self.size, self.workers, self.progress = size, workers, progress

    @property
    def cut(self) -> int:
        """Number of problems in a chunk."""
        if self.size is not None:
            return self.size
        if not isinstance(self.problems, Sequence):
            return _UNKNOWN_LENGTH_CHUNK
        return max(
            1, min(math.ceil(len(self.problems) / (_CHUNKS_PER_WORKER * self.workers)), _LARGEST_CHUNK)
        )

    def chunks(self, what: str) -> Iterable[Chunk]:
        """Cut the log into chunks, and show a progress bar with this title if wanted."""
        size = self.cut
        chunks, total = _of_unknown_length(self.problems, size), None
        if isinstance(self.problems, Sequence):
            n = len(self.problems)
            chunks = (_part(self.problems, start, min(start + size, n)) for start in range(0, n, size))
            total = math.ceil(n / size)
        if not self.progress:
            return chunks
        from rich.progress import track

        return track(chunks, what, total=total, transient=True)


def _part(problems: Sequence[Any], start: int, stop: int) -> Chunk:
    """Return a chunk; workers generate the problems of a stream themselves, those of a list are sent."""
    part = getattr(problems, "part", None)
    return Chunk(start, problems[start:stop] if part is None else part(start, stop))


def _of_unknown_length(problems: Iterable[Any], size: int) -> Iterator[Chunk]:
    start, problems = 0, iter(problems)
    while items := list(islice(problems, size)):
        yield Chunk(start, items)
        start += len(items)


@dataclass(frozen=True)
class Reader:
    """Reads the problems of a chunk, and on request skips those that cannot be read.

    A share `holdout` of the log is held out: problem i if ⌊(i + 1)·holdout⌋ > ⌊i·holdout⌋.
    """

    skip: bool = False
    holdout: float = 0.0
    held_out: bool = False  # read the problems that are held out, instead of the others

    def read(self, chunk: Chunk, unreadable: list[Unreadable]) -> Iterator[tuple[int, Any]]:
        """Yield problems with their indices; one that cannot be read raises, or is added to `unreadable`."""
        for k in range(len(chunk.items)):
            i = chunk.start + k
            if (math.floor((i + 1) * self.holdout) > math.floor(i * self.holdout)) != self.held_out:
                continue
            try:
                problem = chunk.items[k]
            except Exception as error:
                if not self.skip:
                    raise
                unreadable.append(Unreadable(i, f"{error}" or type(error).__name__))
                continue
            yield i, problem
