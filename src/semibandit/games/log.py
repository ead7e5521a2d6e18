"""A log of problems: read chunk by chunk, once or several times, and never held whole."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

from semibandit import _validate
from semibandit.games.engines import Chunk

__all__ = ["Log", "Reader", "Unreadable"]

_CHUNKS_PER_WORKER = 32  # so that workers are done at about the same time
_LARGEST_CHUNK = 10_000
_UNKNOWN_LENGTH_CHUNK = 100


@dataclass(frozen=True)
class Unreadable:
    """A problem that could not be read: its place in the log, and what was wrong."""

    index: int
    reason: str

    def __str__(self) -> str:
        return f"problem {self.index}: {self.reason}"


class Log:
    """The problems that a user gave: a sequence, whose parts workers read, or anything to iterate over.

    Only what is not an iterator can be read several times.
    """

    def __init__(self, problems: Iterable[Any]) -> None:
        self._problems: Iterable[Any] = _validate.iterable("problems", problems, "a collection of problems")
        self.repeatable = not isinstance(problems, Iterator)
        self.length = len(problems) if isinstance(problems, Sequence) else None
        self._left: Iterator[Any] = iter(())

    def first(self, reader: Reader) -> Any:
        """The first problem that can be read; None if there is none."""
        if self.length is None:
            head = list(islice(self._problems, 1))
            if not self.repeatable:
                self._problems = chain(head, self._problems)
            return head[0] if head else None
        for start in range(self.length):
            for _, problem in reader.read(self._chunk(start, start + 1), []):
                return problem
        return None

    def chunks(
        self, size: int | None, workers: int, start: int = 0, stop: int | None = None
    ) -> Iterator[Chunk]:
        """The problems from `start` to `stop`; where there is no length, `start` is 0 or the last `stop`."""
        if self.length is not None:
            stop = self.length if stop is None else stop
            size = size or max(
                1, min(math.ceil((stop - start) / (_CHUNKS_PER_WORKER * workers)), _LARGEST_CHUNK)
            )
            for a in range(start, stop, size):
                yield self._chunk(a, min(a + size, stop))
            return
        if start == 0:
            self._left = iter(self._problems)
        size = size or _UNKNOWN_LENGTH_CHUNK
        while items := list(islice(self._left, size if stop is None else min(size, stop - start))):
            yield Chunk(start, items)
            start += len(items)

    def _chunk(self, start: int, stop: int) -> Chunk:
        # A stream goes to a worker as a recipe; other sequences are cut.
        part = getattr(self._problems, "part", None)
        assert isinstance(self._problems, Sequence)
        return Chunk(start, self._problems[start:stop] if part is None else part(start, stop))


@dataclass(frozen=True)
class Reader:
    """How problems are read: what happens to those that cannot be, and which are held out.

    Held out are `holdout` of all, evenly spread through the log: the i-th if ⌊(i + 1)·holdout⌋ > ⌊i·holdout⌋.
    """

    skip: bool = False
    holdout: float = 0.0
    held: bool = False  # read those held out, and not the others

    def wanted(self, i: int) -> bool:
        """Whether the i-th problem is one to read."""
        return (math.floor((i + 1) * self.holdout) > math.floor(i * self.holdout)) == self.held

    def read(self, chunk: Chunk, bad: list[Unreadable]) -> Iterator[tuple[int, Any]]:
        """The problems of a chunk with their places; those that cannot be read raise, or go to `bad`."""
        for k in range(len(chunk.items)):
            if not self.wanted(chunk.start + k):
                continue
            try:
                problem = chunk.items[k]
            except Exception as error:
                if not self.skip:
                    raise
                bad.append(Unreadable(chunk.start + k, f"{error}" or type(error).__name__))
                continue
            yield chunk.start + k, problem
