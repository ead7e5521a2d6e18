"""A log of problems, read chunk by chunk, once or several times."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

from semibandit import _validate
from semibandit.fitting.engines import Chunk

__all__ = ["Log", "Reader", "Unreadable"]

_CHUNKS_PER_WORKER = 32  # so that all workers finish at about the same time
_LARGEST_CHUNK = 10_000
_UNKNOWN_LENGTH_CHUNK = 100


@dataclass(frozen=True)
class Unreadable:
    """A problem that could not be read: its index in the log, and the error message."""

    index: int
    reason: str

    def __str__(self) -> str:
        return f"problem {self.index}: {self.reason}"


class Log:
    """A sequence of problems, which workers read in parts, or any iterable.

    An iterator can be read only once (`repeatable` is False).
    """

    def __init__(self, problems: Iterable[Any]) -> None:
        self._problems: Iterable[Any] = _validate.iterable("problems", problems, "a sequence of problems")
        self.repeatable = not isinstance(problems, Iterator)
        self.length = len(problems) if isinstance(problems, Sequence) else None

    def first(self, reader: Reader) -> Any:
        """Return the first problem that can be read; None if there is none."""
        if self.length is None:
            head = list(islice(self._problems, 1))
            if not self.repeatable:
                self._problems = chain(head, self._problems)
            return head[0] if head else None
        for start in range(self.length):
            for _, problem in reader.read(self._chunk(start, start + 1), []):
                return problem
        return None

    def chunks(self, size: int | None, workers: int) -> Iterator[Chunk]:
        """Cut the log into chunks of `size` problems; by default, enough of them for all workers."""
        if self.length is None:
            start, problems = 0, iter(self._problems)
            while items := list(islice(problems, size or _UNKNOWN_LENGTH_CHUNK)):
                yield Chunk(start, items)
                start += len(items)
            return
        size = size or max(1, min(math.ceil(self.length / (_CHUNKS_PER_WORKER * workers)), _LARGEST_CHUNK))
        for start in range(0, self.length, size):
            yield self._chunk(start, min(start + size, self.length))

    def _chunk(self, start: int, stop: int) -> Chunk:
        # Workers generate or read the problems of a stream themselves; parts of a list are sent to them.
        part = getattr(self._problems, "part", None)
        assert isinstance(self._problems, Sequence)
        return Chunk(start, self._problems[start:stop] if part is None else part(start, stop))


@dataclass(frozen=True)
class Reader:
    """Which problems are read, and whether those that cannot be read are skipped.

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
