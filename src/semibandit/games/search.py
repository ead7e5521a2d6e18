"""The minimum of the mean loss of a log, exactly, by work on chunks of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from semibandit.functions import Piecewise
from semibandit.functions.exact import ExactSum
from semibandit.games.cells import Cells, Outline
from semibandit.games.engines import Advance, Chunk, Engine, Tree
from semibandit.games.log import Log, Reader, Unreadable
from semibandit.games.losses import require_span, require_whole, whole_loss

__all__ = ["Found", "Search", "Tally", "Watch"]

# Functions wait until there are this many pieces to add, so that adding pays.
_BATCH = 1 << 17
# Problems that are looked at before it is decided how to search, and the number of cells to search in.
_FIRST_LOOK = 1000
_CELLS = 4096
# Passes over the log that may fail to halve what is left, before it is held nevertheless.
_PATIENCE = 2

Watch = Callable[[str, int | None], Advance]


@dataclass(frozen=True)
class Tally:
    """What was found in some problems. However these are grouped, merged it is the same to the bit.

    Attributes
    ----------
    count, breaks
        How many problems were read, and the number of breaks of their functions, all together.
    ends
        The span of the functions.
    least, most
        The smallest and the largest loss.
    at
        The sum of the losses at one parameter, where that was asked for.
    total
        The sum of the functions; None where it has more pieces than may be held.
    outline
        Bounds on the sum in cells of the line, where these were asked for instead.
    bad
        What could not be read.
    """

    count: int = 0
    breaks: int = 0
    ends: tuple[float, float] | None = None
    least: float = math.inf
    most: float = -math.inf
    at: Fraction = Fraction(0)
    total: ExactSum | None = None
    outline: Outline | None = None
    bad: tuple[Unreadable, ...] = ()

    def plus(self, batch: list[tuple[int, Piecewise]], at: float | None) -> Tally:
        """With some functions counted, each given with its place; sums are another matter."""
        values = np.concatenate([end for _, f in batch for end in f.ends[: 1 + f.degree]])
        if np.isnan(values).any():
            for i, function in batch:
                require_whole(function, i)
        ends = self.ends
        for i, function in batch:
            ends = require_span(function, i, ends)
        return replace(
            self,
            count=self.count + len(batch),
            breaks=self.breaks + sum(len(function) - 1 for _, function in batch),
            ends=ends,
            least=min(self.least, float(values.min())),
            most=max(self.most, float(values.max())),
            at=self.at if at is None else sum((Fraction(f(at)) for _, f in batch), self.at),
        )


@dataclass(frozen=True)
class Pass:
    """The work of one pass over the log: on a chunk, and on what came out of several.

    Functions are summed up: whole, within the open ones of some cells, or, `outlined`, as bounds on cells.
    """

    reader: Reader
    maximize: bool
    at: float | None = None
    max_pieces: float = math.inf
    cells: Cells | None = None
    outlined: bool = False

    def __call__(self, chunk: Chunk) -> Tally:
        """What is in a chunk. Holds the problem at hand, and the functions of a batch."""
        bad: list[Unreadable] = []
        tally, tree = Tally(), Tree((Outline if self.outlined else ExactSum).merge)
        problems = self.reader.read(chunk, bad)
        for batch in _batches((i, whole_loss(problem)) for i, problem in problems):
            tally = tally.plus(batch, self.at)
            tree.add(self._sum([f * -1.0 if self.maximize else f for _, f in batch]))
        found = "outline" if self.outlined else "total"
        return self._capped(replace(tally, bad=tuple(bad), **{found: tree.result()}))

    def _sum(self, functions: list[Piecewise]) -> ExactSum | Outline:
        if self.cells is None:
            return ExactSum.of(functions)
        if self.outlined:
            return Outline.of(functions, self.cells)
        return ExactSum.of(map(self.cells.restrict, functions))

    def merge(self, tallies: list[Tally]) -> Tally:
        """All of them as one."""
        full = [tally for tally in tallies if tally.count]
        for tally in full:
            if tally.ends != full[0].ends:
                raise ValueError(f"problems must be on one space, got {tally.ends} and {full[0].ends}")
        totals = [tally.total for tally in full if tally.total is not None]
        outlines = [tally.outline for tally in full if tally.outline is not None]
        merged = Tally(
            count=sum(tally.count for tally in full),
            breaks=sum(tally.breaks for tally in full),
            ends=full[0].ends if full else None,
            least=min((tally.least for tally in full), default=math.inf),
            most=max((tally.most for tally in full), default=-math.inf),
            at=sum((tally.at for tally in full), Fraction(0)),
            total=ExactSum.merge(totals) if totals and len(totals) == len(full) else None,
            outline=Outline.merge(outlines) if outlines else None,
            bad=tuple(each for tally in tallies for each in tally.bad),
        )
        return self._capped(merged)

    def _capped(self, tally: Tally) -> Tally:
        """Without a sum that is too large to be held."""
        too_large = tally.total is not None and len(tally.total) > self.max_pieces
        return replace(tally, total=None) if too_large else tally


def _batches(functions: Iterable[tuple[int, Piecewise]]) -> Iterator[list[tuple[int, Piecewise]]]:
    """Functions in batches of enough pieces."""
    batch: list[tuple[int, Piecewise]] = []
    pieces = 0
    for i, function in functions:
        batch.append((i, function))
        pieces += len(function)
        if pieces > _BATCH:
            yield batch
            batch, pieces = [], 0
    if batch:
        yield batch


@dataclass(frozen=True)
class Found:
    """The sum of all functions, nan where its minimum was ruled out; its tally, and the passes it took.

    With `at`, the sum there.
    """

    function: Piecewise
    tally: Tally
    passes: int
    at: float | None


@dataclass(frozen=True)
class Search:
    """A search for the minimum of the sum of the loss functions of a log.

    One pass adds the functions up, if the sum has at most `max_pieces` pieces. Otherwise, where the log can
    be read again, passes bound the sum in cells of the line and make those cells finer that may hold the
    minimum, until at most so many breaks are in them, or it is no use; a last pass adds up the functions
    there. What is decided depends on the log alone, not on chunks or workers: so does the result, to the bit.
    """

    log: Log
    engine: Engine
    watch: Watch
    reader: Reader
    maximize: bool = False
    max_pieces: float = math.inf
    chunk: int | None = None
    at: float | None = None

    def run(self) -> Found:
        """Search; ValueError if there is nothing to search."""
        cap = self.max_pieces if self.log.repeatable else math.inf
        whole = Pass(self.reader, self.maximize, max_pieces=cap)
        tally = head = self._pass(whole, "first look", stop=_FIRST_LOOK)
        if self._predicted(head) <= cap:
            if self.log.length is None or self.log.length > _FIRST_LOOK:
                tally = whole.merge([head, self._pass(whole, "adding up", start=_FIRST_LOOK)])
            if tally.count == 0:
                raise ValueError(_nothing(tally))
            if tally.total is not None:
                total = tally.total.function().compress()
                return Found(total, tally, 1, None if self.at is None else self._sign * total(self.at))
        lo, hi = (head if head.count else tally).ends or (0.0, 0.0)
        starts = np.linspace(lo, hi, _CELLS, endpoint=False) if head.total is None else head.total.starts
        return self._narrowed(Cells.even(starts, hi, _CELLS))

    @property
    def _sign(self) -> float:
        return -1.0 if self.maximize else 1.0

    def _predicted(self, head: Tally) -> float:
        """The number of pieces of the whole sum, from that of a first look."""
        if head.total is None:
            return math.inf if head.count else 0.0
        return len(head.total) * max((self.log.length or 0) / _FIRST_LOOK, 1.0)

    def _narrowed(self, cells: Cells) -> Found:
        left, patience, passes = math.inf, _PATIENCE, 1
        while True:
            passes += 1
            tally = self._pass(
                Pass(self.reader, self.maximize, cells=cells, outlined=True),
                f"narrowing, pass {passes}",
            )
            assert tally.outline is not None
            cells = cells.keep(tally.outline.possible(cells))
            held = int(tally.outline.breaks[cells.open].sum())
            patience -= held > 0.5 * left
            if held <= self.max_pieces or not patience:
                break
            left = held
            cells = cells.refined(tally.outline.breaks, _CELLS)
        cells = cells.joined()
        tally = self._pass(
            Pass(self.reader, self.maximize, self.at, cells=cells), f"adding up, pass {passes + 1}"
        )
        assert tally.total is not None
        total = (tally.total.function() + cells.mask()).compress()
        return Found(total, tally, passes + 1, None if self.at is None else float(tally.at))

    def _pass(self, work: Pass, what: str, start: int = 0, stop: int | None = None) -> Tally:
        length = self.log.length
        if length is not None:
            stop = length if stop is None else min(stop, length)
        advance = self.watch(what, None if stop is None else stop - start)
        chunks = self.log.chunks(self.chunk, self.engine.workers, start, stop)
        tally: Tally | None = self.engine.reduce(work, chunks, work.merge, advance)
        return Tally() if tally is None else tally


def _nothing(tally: Tally) -> str:
    if not tally.bad:
        return "problems must hold at least one problem, got none"
    return f"none of {len(tally.bad)} problems could be read; {min(tally.bad, key=lambda each: each.index)}"
