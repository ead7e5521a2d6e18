"""The minimum of the mean loss of a log, exactly, by work on chunks of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from semibandit.functions import Piecewise
from semibandit.functions.exact import ExactSum
from semibandit.game.cells import Cells, Outline
from semibandit.game.engines import Advance, Chunk, Engine, Tree
from semibandit.game.log import Log, Reader, Unreadable
from semibandit.game.losses import require_whole, whole_loss

__all__ = ["Found", "Search", "Tally", "Watch", "add_up"]

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
        The sum of the losses at one parameter, if one was asked for.
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

    def plus(self, function: Piecewise, i: int, at: float | None) -> Tally:
        """With the function of problem i counted; sums are another matter."""
        left, right = function.ends
        return replace(
            self,
            count=self.count + 1,
            breaks=self.breaks + len(function) - 1,
            ends=require_whole(function, i, self.ends),
            least=min(self.least, float(left.min()), float(right.min())),
            most=max(self.most, float(left.max()), float(right.max())),
            at=self.at if at is None else self.at + Fraction(function(at)),
        )


@dataclass(frozen=True)
class Pass:
    """The work of one pass over the log: on a chunk, and on what came out of several.

    Functions are summed up: whole, within the open ones of some cells, or, `outlined`, as bounds on cells.
    """

    reader: Reader
    maximize: bool
    at: float | None
    max_pieces: float = math.inf
    cells: Cells | None = None
    outlined: bool = False

    def __call__(self, chunk: Chunk) -> Tally:
        """What is in a chunk. Holds the problem at hand, and the functions of a batch."""
        bad: list[Unreadable] = []
        tally = Tally()

        def functions() -> Iterator[Piecewise]:
            nonlocal tally
            for i, problem in self.reader.read(chunk, bad):
                function = whole_loss(problem)
                tally = tally.plus(function, i, self.at)
                yield function * -1.0 if self.maximize else function

        total, outline = None, None
        if self.outlined:
            assert self.cells is not None
            cells = self.cells
            outline = _reduced(functions(), lambda batch: Outline.of(batch, cells), Outline.merge)
        else:
            total = add_up(functions() if self.cells is None else map(self.cells.restrict, functions()))
        return self._capped(replace(tally, total=total, outline=outline, bad=tuple(bad)))

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


def add_up(functions: Iterable[Piecewise]) -> ExactSum | None:
    """The sum of functions on one span, added in batches; None if there are none."""
    total: ExactSum | None = _reduced(functions, ExactSum.of, ExactSum.merge)
    return total


def _reduced(functions: Iterable[Piecewise], of: Callable[[Any], Any], merge: Callable[[Any], Any]) -> Any:
    """merge([of(batch), ...]) for batches of functions."""
    tree = Tree(merge)
    batch: list[Piecewise] = []
    pieces = 0
    for function in functions:
        batch.append(function)
        pieces += len(function)
        if pieces > _BATCH:
            tree.add(of(batch))
            batch, pieces = [], 0
    if batch:
        tree.add(of(batch))
    return tree.result()


@dataclass(frozen=True)
class Found:
    """The sum of all functions, nan where its minimum was ruled out; its tally, and the passes it took."""

    function: Piecewise
    tally: Tally
    passes: int


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
        whole = Pass(self.reader, self.maximize, self.at, cap)
        tally = head = self._pass(whole, "first look", stop=_FIRST_LOOK)
        if self._predicted(head) <= cap:
            if self.log.length is None or self.log.length > _FIRST_LOOK:
                tally = whole.merge([head, self._pass(whole, "adding up", start=_FIRST_LOOK)])
            if tally.count == 0:
                raise ValueError(_nothing(tally))
            if tally.total is not None:
                return Found(tally.total.function().compress(), tally, passes=1)
        lo, hi = (head if head.count else tally).ends or (0.0, 0.0)
        starts = np.linspace(lo, hi, _CELLS, endpoint=False) if head.total is None else head.total.starts
        return self._narrowed(Cells.even(starts, hi, _CELLS))

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
                Pass(self.reader, self.maximize, self.at, cells=cells, outlined=True),
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
        return Found((tally.total.function() + cells.mask()).compress(), tally, passes + 1)

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
