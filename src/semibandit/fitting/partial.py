"""Exact sums of the loss functions of parts of a log; such sums can be added."""

from __future__ import annotations

import math
import os
import pickle
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from semibandit._cached import cached_property
from semibandit.fitting.best import Hindsight, best_of, position
from semibandit.fitting.engines import WorkEngine
from semibandit.fitting.log import Chunk, ProblemLog, Reader, Unreadable
from semibandit.fitting.losses import space_of, whole_losses
from semibandit.functions import Piecewise
from semibandit.functions.exact import ExactSum
from semibandit.spaces import Parameters

__all__ = ["Adder", "Checkpoint", "Partial"]

_SAVE_EVERY = 30.0  # seconds

_MIXED = "problems must all have losses or all utilities (`maximize`), got both"


@dataclass(frozen=True, eq=False)
class Partial:
    """Exact sum of the loss functions of a part of a log.

    Partials can be pickled and added. The sum of partials is the same to the bit for every grouping and
    order; `Fit.of(partial)` is the fit of all their problems.

    Attributes
    ----------
    count, breaks
        Number of problems, and of the breaks of all their loss functions.
    least, most, high
        Smallest and largest loss, and the largest bound that a problem states (1 for bare functions).
    maximize, space
        Whether losses are utilities, and the space of the parameters (None for bare functions).
    total
        Sum of the loss functions; None if there are none.
    unreadable
        Problems that were skipped, with their indices in their own log.

    Examples
    --------
    >>> import semibandit as sb
    >>> log = sb.streams.knapsack("mixed", rounds=60, n=10)
    >>> monday, tuesday = sb.fit(log[:40]), sb.fit(log[40:])
    >>> both = sb.Fit.of(monday.partial + tuesday.partial)
    >>> both.to_dict() == sb.fit(log).to_dict()
    True
    """

    count: int = 0
    breaks: int = 0
    least: float = math.inf
    most: float = -math.inf
    high: float = -math.inf
    maximize: bool = False
    space: Any = None
    total: ExactSum | None = None
    unreadable: tuple[Unreadable, ...] = ()

    @classmethod
    def of(
        cls,
        rows: Iterable[tuple[Any, Piecewise]],
        *,
        maximize: bool | None = None,
        default: Parameters | None = None,
    ) -> Partial:
        """Add the loss functions of problems; an empty partial if there are none.

        With `maximize=None` the problems state it. `default` must be in their space.
        """
        functions: list[Piecewise] = []
        high, space, stated = -math.inf, None, set()
        for problem, function in rows:
            if not functions:
                space = space_of(problem)
                if default is not None:
                    position(default, space, function)
            high = max(high, float(getattr(problem, "high", 1.0)))
            stated.add(bool(getattr(problem, "maximize", False)) if maximize is None else maximize)
            functions.append(function)
        if not functions:
            return cls()
        if len(stated) > 1:
            raise ValueError(_MIXED)
        ends = np.concatenate([end for each in functions for end in each.ends[: 1 + each.degree]])
        return cls(
            len(functions),
            sum(len(each) - 1 for each in functions),
            float(ends.min()),
            float(ends.max()),
            high,
            stated.pop(),
            space,
            ExactSum.of(functions),
        )

    def __add__(self, other: Partial) -> Partial:
        if not isinstance(other, Partial):
            return NotImplemented
        return self.merge([self, other])

    @staticmethod
    def merge(parts: Sequence[Partial]) -> Partial:
        """Add partials."""
        full = [part for part in parts if part.total is not None]
        sums = [part.total for part in full if part.total is not None]
        spans = {(float(each.places[0]), float(each.places[-1])) for each in sums}
        if len(spans) > 1:
            raise ValueError(f"problems must be on one space, got the spans {sorted(spans)}")
        if len({part.maximize for part in full}) > 1:
            raise ValueError(_MIXED)
        return Partial(
            sum(part.count for part in parts),
            sum(part.breaks for part in parts),
            min(part.least for part in parts),
            max(part.most for part in parts),
            max(part.high for part in parts),
            any(part.maximize for part in full),
            next((part.space for part in full if part.space is not None), None),
            ExactSum.merge(sums) if sums else None,
            tuple(each for part in parts for each in part.unreadable),
        )

    @cached_property
    def function(self) -> Piecewise:
        """Sum of the loss functions; each value is rounded once."""
        if self.total is None:
            raise ValueError("partial must hold at least one problem, got none")
        return self.total.function().compress()

    @property
    def mean(self) -> Piecewise:
        """Mean of the loss functions."""
        total = self.function
        return total.of_ends(total.edges, *(end / self.count for end in total.ends))

    @property
    def best(self) -> Hindsight:
        """The best fixed parameter."""
        return best_of(self.function, self.count, self.space, self.maximize)


@dataclass(frozen=True)
class _Numbered:
    """Work on a chunk, with the index of its first problem in the result."""

    work: Any

    def __call__(self, chunk: Chunk) -> tuple[int, Partial]:
        return chunk.start, self.work(chunk)


class Checkpoint:
    """A file with the sum of the chunks that are done, so that a fit continues after a stop.

    Parameters
    ----------
    path
        The file; it is written every 30 seconds and at the end, atomically.
    about
        Arguments on which the sum depends. A file of other arguments is refused.
    """

    def __init__(self, path: str, about: dict[str, Any]) -> None:
        self.path, self._about = path, about
        self._done: set[int] = set()
        self._partial = Partial()
        if os.path.exists(path):
            try:
                with open(path, "rb") as file:
                    about, self._done, self._partial = pickle.load(file)
            except (pickle.UnpicklingError, EOFError, TypeError, ValueError, AttributeError) as error:
                raise ValueError(f"{path} is not a checkpoint of a fit ({error})") from None
            if about != self._about:
                raise ValueError(f"{path} is the checkpoint of another fit: {about}, not {self._about}")

    def add(self, work: _Numbered, engine: WorkEngine, chunks: Iterable[Chunk]) -> Partial:
        """Add the chunks that are missing."""
        saved, fresh = time.monotonic(), []
        missing = (chunk for chunk in chunks if chunk.start not in self._done)
        try:
            for start, partial in engine.map(work, missing):
                fresh.append(partial)
                self._done.add(start)
                if time.monotonic() > saved + _SAVE_EVERY:
                    self._save(fresh)
                    saved = time.monotonic()
        finally:
            self._save(fresh)
        return self._partial

    def _save(self, fresh: list[Partial]) -> None:
        self._partial = Partial.merge([self._partial, *fresh])
        fresh.clear()
        temporary = f"{self.path}.new"
        with open(temporary, "wb") as file:
            pickle.dump((self._about, self._done, self._partial), file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, self.path)


@dataclass(frozen=True)
class Adder:
    """Adds the loss functions of the problems of a log. With `maximize=None` the problems state it."""

    reader: Reader = field(default_factory=Reader)
    maximize: bool | None = None
    default: Parameters | None = None  # checked in each chunk: an error comes early

    def add(self, log: ProblemLog, engine: WorkEngine, checkpoint: Checkpoint | None = None) -> Partial:
        """Add all problems of a log; ValueError if there is none."""
        chunks = log.chunks("adding")
        if checkpoint is None:
            partial: Partial = engine.reduce(self, Partial.merge, chunks) or Partial()
        else:
            partial = checkpoint.add(_Numbered(self), engine, chunks)
        if partial.total is not None:
            return partial
        if not partial.unreadable:
            raise ValueError("problems must hold at least one problem, got none")
        first = min(partial.unreadable, key=lambda each: each.index)
        raise ValueError(f"none of {len(partial.unreadable)} problems could be read; {first}")

    def __call__(self, chunk: Chunk) -> Partial:
        """Add the problems of a chunk."""
        unreadable: list[Unreadable] = []
        rows = whole_losses(self.reader.read(chunk, unreadable))
        partial = Partial.of(rows, maximize=self.maximize, default=self.default)
        return replace(partial, unreadable=tuple(unreadable))
