"""Search across the rows of two metrics for the connected set with one tree, or one cost."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from semibandit._validate import FloatArray
from semibandit.families.linkage._kernels.certificate import merge_order, tree_interval
from semibandit.families.linkage._kernels.linkage_rows import new_rows
from semibandit.families.linkage._kernels.refutation import refuted_interval, tree_lines
from semibandit.families.linkage.pieces import END, Reducible, Run, level_piece, maximal_piece

__all__ = ["LossSearch", "MixedDistances", "Piece", "TreeSearch", "mixed"]

_Intervals = list[tuple[float, float]]


class Piece(NamedTuple):
    """A maximal interval [lo, hi) of a row with one tree, or one cost; hi is END if it holds 1."""

    row: int
    lo: float
    hi: float


class MixedDistances(NamedTuple):
    """The distances of all rows: (1 - α)·d0 + α·d1 for each α of a row."""

    d0: FloatArray
    d1: FloatArray
    alphas: tuple[float, ...]


def mixed(d0: FloatArray, d1: FloatArray, alpha: float, out: FloatArray | None = None) -> FloatArray:
    """Return (1 - α)·d0 + α·d1, rounded so that it is exact at both ends and where d0 = d1."""
    near, far, step = (d0, d1, alpha) if alpha < 0.5 else (d1, d0, 1.0 - alpha)
    result = np.subtract(far, near, out=out)
    result *= step
    result += near
    return result


class _Search(ABC):
    """Searches the rows of one instance. It holds the distances of one row at a time.

    Parameters
    ----------
    distances
        The distances of the rows.
    kind
        0 for single-complete linkage, 1 for average-complete.
    unit
        The spacing of parameters, the same in all rows.

    Attributes
    ----------
    missed
        Number of visits of a row without the target, since the last search began.
    """

    def __init__(self, distances: MixedDistances, kind: int, unit: float) -> None:
        self._distances = distances
        self._engine = Reducible(new_rows(np.empty(distances.d0.shape), kind), unit)
        self._row = -1
        self.missed = 0

    @property
    def n_trees(self) -> int:
        """Number of trees built so far."""
        return self._engine.n_trees

    def connected(self, row: int, rho: float) -> tuple[Run, list[Piece]]:
        """Return the tree at (rho, row), and all pieces with this tree (cost) that are connected to it.

        Pieces of neighbouring rows are connected where they overlap.
        """
        self._go(row)
        self.missed = 0
        rho = self._engine.parameter(rho)
        run = self._engine.run(rho)
        found = [Piece(row, *self._begin(run, rho))]
        known: dict[int, _Intervals] = {row: [found[0][1:]]}  # where a row was searched
        todo = list(found)
        while todo:
            piece = todo.pop()
            for neighbour in (piece.row - 1, piece.row + 1):
                if 0 <= neighbour < len(self._distances.alphas):
                    new = self._pieces(neighbour, piece, known.setdefault(neighbour, []))
                    found += new
                    todo += new
        return run, found

    @abstractmethod
    def _begin(self, run: Run, rho: float) -> tuple[float, float]:
        """Take the run at rho for the target; return its maximal interval around rho in this row."""

    @abstractmethod
    def _look(self, rho: float) -> tuple[bool, float, float]:
        """Return whether the target is at rho in this row, and an interval around rho.

        This is the maximal interval with the target, or else any interval without it.
        """

    def _go(self, row: int) -> None:
        if row != self._row:
            d0, d1, alphas = self._distances
            mixed(d0, d1, alphas[row], out=self._engine.rows.D)
            self._row = row

    def _pieces(self, row: int, reach: Piece, known: _Intervals) -> list[Piece]:
        """Return the maximal pieces in a row that overlap `reach`, and add them to the known ones."""
        found = []
        visited = False
        while (gap := _first_gap(reach.lo, reach.hi, known)) is not None:
            self._go(row)
            visited = True
            is_there, lo, hi = self._look(self._engine.parameter(gap))
            if is_there:
                found.append(Piece(row, lo, hi))
            known.append((lo, hi))
        self.missed += visited and not found
        return found


class TreeSearch(_Search):
    """Search for a tree. O(n²) for each piece, and for each visit of a row without it."""

    def _begin(self, run: Run, rho: float) -> tuple[float, float]:
        self._target, self._by_size = run, np.argsort(run.size, kind="stable")
        self._lines = {self._row: run.lines}
        return maximal_piece(self._engine, run, rho)

    def _look(self, rho: float) -> tuple[bool, float, float]:
        engine, target = self._engine, self._target
        if self._row not in self._lines:
            self._lines[self._row] = tree_lines(engine.rows, target.into, self._by_size)
        lines = self._lines[self._row]
        run = Run(target.into, target.part, target.size, lines, merge_order(target.into, lines, rho))
        beyond = END if rho == 1.0 else np.nextafter(rho, END)
        right, _, _, doubts = tree_interval(engine.rows, run.tree, run.order, rho, rho, beyond)
        if right:
            return True, *maximal_piece(engine, run, rho)
        lo, hi = refuted_interval(run.tree, doubts[0], rho)
        return False, engine.end(lo), engine.end(hi)


class LossSearch(_Search):
    """Search for a cost, a function of a run and its row. O(n²) for each tree of all visited pieces."""

    def __init__(
        self, distances: MixedDistances, kind: int, unit: float, cost: Callable[[Run, int], float]
    ) -> None:
        super().__init__(distances, kind, unit)
        self._cost = cost

    def _begin(self, run: Run, rho: float) -> tuple[float, float]:
        self._target = self._cost(run, self._row)
        return level_piece(self._engine, run, rho, self._same)

    def _look(self, rho: float) -> tuple[bool, float, float]:
        run = self._engine.run(rho)
        if self._same(run):
            return True, *level_piece(self._engine, run, rho, self._same)
        return False, *self._engine.certificate(run, rho, 0.0, END)[:2]

    def _same(self, run: Run) -> bool:
        return self._cost(run, self._row) == self._target


def _first_gap(lo: float, hi: float, known: _Intervals) -> float | None:
    """Return the first point of [lo, hi) that lies in no known interval."""
    known.sort()
    for a, b in known:
        if a <= lo < b:
            lo = b
    return lo if lo < hi else None
