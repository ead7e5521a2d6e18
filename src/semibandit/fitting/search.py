"""The minimum of the sum of the loss functions of a log, found exactly in bounded memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from semibandit._validate import FloatArray, IntArray
from semibandit.fitting.engines import Chunk, Watch, WorkEngine
from semibandit.fitting.log import Log, Reader, Unreadable
from semibandit.fitting.losses import on_one_span, space_of, whole_loss
from semibandit.fitting.partial import Partial
from semibandit.functions import Piecewise
from semibandit.functions.dyadic import Dyadic
from semibandit.functions.exact import ExactSum

__all__ = ["Search", "SearchResult", "merged_in_tree"]

_BATCH = 1 << 17  # pieces that are added at a time
_CELLS = 4096
_FAN = 8  # results that are merged at a time


@dataclass(frozen=True, eq=False)
class SearchCells:
    """Intervals between consecutive edges; the minimum can only be in cells that are `open`."""

    edges: FloatArray
    open: npt.NDArray[np.bool_]

    @classmethod
    def even(cls, lo: float, hi: float, extra: list[float]) -> SearchCells:
        """Cut [lo, hi] into equal cells, all open, and also at the `extra` points."""
        edges = np.unique(np.concatenate((np.linspace(lo, hi, _CELLS + 1), extra)))
        return cls(edges, np.ones(edges.size - 1, np.bool_))

    def thinned(self, total: ExactSum, keep_open: bool = True) -> ExactSum:
        """Move changes inside closed cells (inside all cells, without `keep_open`) to the cell's end.

        The sum does not change on open cells and at the edges of cells.
        """
        places = total.places
        moved = self.edges[np.searchsorted(self.edges, places, side="left")]
        if keep_open:
            cell = np.minimum(np.searchsorted(self.edges, places, side="right"), self.open.size) - 1
            moved = np.where(self.open[cell], places, moved)
        return total.moved(moved)

    def narrowed(self, possible: npt.NDArray[np.bool_], breaks: IntArray) -> SearchCells:
        """Close cells, join closed ones, and cut open ones into about _CELLS cells by their breaks."""
        still_open = self.open & possible
        share = np.where(still_open, breaks, 0)
        parts = np.maximum(np.ceil(_CELLS * (share / max(share.sum(), 1))).astype(np.int64), 1)
        which = np.repeat(np.arange(parts.size), parts)
        step = np.arange(which.size) - np.repeat(np.cumsum(parts) - parts, parts)
        lo, hi = self.edges[:-1][which], self.edges[1:][which]
        starts = lo + (hi - lo) * (step / parts[which])
        opened = still_open[which]
        # A cell may have fewer doubles than parts.
        begins = np.append(True, (starts[1:] > starts[:-1]) & (opened[1:] | opened[:-1]))
        return SearchCells(np.append(starts[begins], self.edges[-1]), opened[begins])

    def function(self, total: ExactSum) -> Piecewise:
        """Return the sum on open cells, nan elsewhere."""
        if self.open.all():
            return total.function().compress()
        function = total.cut(self.edges).function()
        closed = ~self.open[np.searchsorted(self.edges, function.edges[:-1], side="right") - 1]
        ends = (np.where(closed, np.nan, end) for end in function.ends)
        return function.of_ends(function.edges, *ends).compress()


@dataclass(frozen=True, eq=False)
class PassResult:
    """Sums over a chunk in one pass.

    `complete` is False if the sum has too many pieces: then it is right only at the edges of cells.
    `falls` bounds how far the sum falls below its line at the start of each cell (`ExactSum.with_falls`).
    `breaks` counts the breaks per cell.
    """

    partial: Partial
    complete: bool
    falls: ExactSum | None
    breaks: IntArray


@dataclass(frozen=True)
class Pass:
    """One pass over the log: sums the functions of a chunk, and merges such sums."""

    reader: Reader
    maximize: bool
    cells: SearchCells
    max_pieces: float

    def __call__(self, chunk: Chunk) -> PassResult:
        """Sum a chunk; holds one batch of functions at a time."""
        unreadable: list[Unreadable] = []
        high = [-math.inf]
        space: list[Any] = []

        def functions() -> Iterator[tuple[int, Piecewise]]:
            for i, problem in self.reader.read(chunk, unreadable):
                space[:] = space or [space_of(problem)]
                high[0] = max(high[0], float(getattr(problem, "high", 1.0)))
                yield i, whole_loss(problem)

        result: PassResult | None = merged_in_tree(
            map(self._summed, _batches(on_one_span(functions()))), self.merge
        )
        if result is None:
            result = PassResult(Partial(), True, None, np.zeros(self.cells.open.size, np.int64))
        partial = replace(
            result.partial, high=high[0], space=space[0] if space else None, unreadable=tuple(unreadable)
        )
        return replace(result, partial=partial)

    def _summed(self, batch: list[Piecewise]) -> PassResult:
        values = np.concatenate([end for f in batch for end in f.ends[: 1 + f.degree]])
        inner = np.concatenate([f.edges[1:-1] for f in batch])
        span = batch[0].edges[[0, -1]]
        if (span != self.cells.edges[[0, -1]]).any():
            raise ValueError(
                f"problems must be on one space, got {tuple(span.tolist())} and "
                f"{tuple(self.cells.edges[[0, -1]].tolist())}"
            )
        falls = None
        if self.max_pieces == math.inf:
            total = ExactSum.of(batch)
        else:
            total, falls = ExactSum.with_falls(batch, self.maximize)
            places = np.searchsorted(self.cells.edges, falls.places, side="right") - 1
            falls = falls.moved(self.cells.edges[places])
        cell = np.searchsorted(self.cells.edges, inner, side="right") - 1
        ends = float(values.min()), float(values.max())
        partial = Partial(len(batch), inner.size, *ends, maximize=self.maximize, total=total)
        breaks = np.bincount(cell, minlength=self.cells.open.size)
        return self._limited(PassResult(partial, True, falls, breaks))

    def merge(self, results: list[PassResult]) -> PassResult:
        """Add results."""
        all_falls = [each.falls for each in results if each.falls is not None]
        return self._limited(
            PassResult(
                Partial.merge([each.partial for each in results]),
                all(each.complete for each in results),
                ExactSum.merge(all_falls) if all_falls else None,
                np.sum([each.breaks for each in results], axis=0),
            )
        )

    def _limited(self, result: PassResult) -> PassResult:
        """Thin the sum: to open cells, and to the edges of cells if it has too many pieces."""
        total = result.partial.total
        if total is None or (self.cells.open.all() and result.complete and len(total) <= self.max_pieces):
            return result
        total = self.cells.thinned(total, keep_open=result.complete)
        complete = result.complete and len(total) <= self.max_pieces
        if result.complete and not complete:
            total = self.cells.thinned(total, keep_open=False)
        return replace(result, complete=complete, partial=replace(result.partial, total=total))


@dataclass(frozen=True)
class SearchResult:
    """Result of a search: the sum (nan where the minimum was ruled out), its partial, and the passes.

    `at` is the sum at the parameter of interest.
    """

    function: Piecewise
    partial: Partial
    passes: int
    at: float | None


@dataclass(frozen=True)
class Search:
    """Search for the minimum of the sum of the loss functions of a log.

    One pass adds the functions, while the sum has at most `max_pieces` pieces. Otherwise, if the log can be
    read again, each pass bounds the sum from below on cells of the space: by its line at the start of the
    cell, less all decreases of value and slope in the cell. SearchCells that cannot contain the minimum are
    closed, the others are cut. The last pass adds the functions on open cells, when these have at most
    `max_pieces` breaks, or a pass did not halve their number. All sums are exact, so the result depends on
    the log alone, not on chunks or workers.
    """

    log: Log
    engine: WorkEngine
    watch: Watch
    reader: Reader
    maximize: bool = False
    max_pieces: float = math.inf
    chunk: int | None = None
    at: float | None = None

    def run(self, first: Any) -> SearchResult:
        """Search, given the first problem; ValueError if there is no problem."""
        limit = self.max_pieces if self.log.repeatable else math.inf
        edges = np.array([0.0, 1.0]) if first is None else whole_loss(first).edges
        cells = SearchCells.even(float(edges[0]), float(edges[-1]), [] if self.at is None else [self.at])
        at, left, passes = None, math.inf, 0
        while True:
            passes += 1
            result = self._pass(Pass(self.reader, self.maximize, cells, limit), f"pass {passes}")
            total = result.partial.total
            if total is None:
                raise ValueError(_nothing(result.partial.unreadable))
            if self.at is not None and passes == 1:
                at = float(total.at(np.array([self.at]))[0])
            if result.complete:
                return SearchResult(cells.function(total), result.partial, passes, at)
            possible = _possible(result, cells, self.maximize)
            held = int(result.breaks[cells.open & possible].sum())
            if held <= limit or held > 0.5 * left:  # hold these in the next pass
                limit = math.inf
            left = held
            cells = cells.narrowed(possible, result.breaks)

    def _pass(self, work: Pass, what: str) -> PassResult:
        chunks = self.log.chunks(self.chunk, self.engine.workers)
        results = self.engine.map(work, chunks, self.watch(what, self.log.length))
        result: PassResult | None = merged_in_tree(results, work.merge)
        return work(Chunk(0, [])) if result is None else result


def _possible(result: PassResult, cells: SearchCells, maximize: bool) -> npt.NDArray[np.bool_]:
    """Return which cells can contain the minimum. Rounding is monotone, so bounds may be rounded."""
    total, falls = result.partial.total, result.falls
    assert total is not None
    assert falls is not None
    starts, ends = cells.edges[:-1], cells.edges[1:]
    value, line_end = total.exact_at(starts), total.exact_at(ends, of=starts)
    if maximize:
        value, line_end = (replace(each, digits=-each.digits) for each in (value, line_end))
    falls = falls.cut(starts)
    fall = falls.constants[: starts.size]
    if falls.slopes is not None:
        fall = fall + falls.slopes[: starts.size] * Dyadic.of(ends)
    low = [(each - fall).to_floats(total.quantum) for each in (value, line_end)]
    return np.asarray(np.minimum(*low) <= value[cells.open].to_floats(total.quantum).min())


def merged_in_tree(results: Iterable[Any], merge: Callable[[list[Any]], Any]) -> Any:
    """Merge results, _FAN of similar size at a time: each takes part in O(log n) merges. None if none."""
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


def _batches(functions: Iterable[tuple[int, Piecewise]]) -> Iterator[list[Piecewise]]:
    """Collect functions into batches of about _BATCH pieces."""
    batch: list[Piecewise] = []
    pieces = 0
    for _, function in functions:
        batch.append(function)
        pieces += len(function)
        if pieces > _BATCH:
            yield batch
            batch, pieces = [], 0
    if batch:
        yield batch


def _nothing(unreadable: tuple[Unreadable, ...]) -> str:
    if not unreadable:
        return "problems must hold at least one problem, got none"
    first = min(unreadable, key=lambda each: each.index)
    return f"none of {len(unreadable)} problems could be read; {first}"
