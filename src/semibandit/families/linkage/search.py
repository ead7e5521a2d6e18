"""Across rows: every interval of ρ with one tree, or one cost, that is connected to where we stand."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from semibandit._validate import FloatArray
from semibandit.families.linkage._kernels.certificate import merge_order
from semibandit.families.linkage._kernels.refutation import new_tree, refuted, tree_lines
from semibandit.families.linkage._kernels.rows import new_rows, pool_size
from semibandit.families.linkage.pieces import END, Reducible, Run, level_piece, maximal_piece, snap

__all__ = ["LossSearch", "Piece", "TreeSearch", "mixed"]


class Piece(NamedTuple):
    """A maximal interval [lo, hi) of a row with one tree, or one cost; hi is END where it reaches 1."""

    row: int
    lo: float
    hi: float


def mixed(d0: FloatArray, d1: FloatArray, alpha: float, out: FloatArray | None = None) -> FloatArray:
    """(1 - α)·d0 + α·d1, rounded so that it is exact at both ends and where d0 = d1."""
    near, far, step = (d0, d1, alpha) if alpha < 0.5 else (d1, d0, 1.0 - alpha)
    result = np.subtract(far, near, out=out)
    result *= step
    result += near
    return result


class _Search(ABC):
    """The rows of one instance: the same points, with the distances mixed by α.

    It stands in one row at a time and holds the distances of that one alone.

    Attributes
    ----------
    missed
        How often a row was looked at in vain since the last search began.
    """

    def __init__(self, d0: FloatArray, d1: FloatArray, alphas: tuple[float, ...], kind: int) -> None:
        n = d0.shape[0]
        self._ends = d0, d1
        self._alphas = alphas
        self._rows = new_rows(np.empty((n, n)), kind, np.empty(pool_size(n, kind)))
        self._engine = Reducible(self._rows)
        self._here = -1
        self.missed = 0

    @property
    def n_trees(self) -> int:
        """How many trees were built so far."""
        return self._engine.n_trees

    def connected(self, row: int, rho: float) -> tuple[Run, list[Piece]]:
        """The tree at (rho, row), and all pieces of what it stands for that are connected to that point.

        Pieces of neighbouring rows are connected where they overlap.
        """
        self._go(row)
        self.missed = 0
        run = self._engine.run(rho)
        found = [Piece(row, *self._begin(run, rho))]
        looked: dict[int, _Intervals] = {row: [found[0][1:]]}  # by row: where it is known what is there
        todo = list(found)
        while todo:
            piece = todo.pop()
            for neighbour in (piece.row - 1, piece.row + 1):
                if not 0 <= neighbour < len(self._alphas):
                    continue
                known = looked.setdefault(neighbour, [])
                before = len(known)
                new = self._pieces(neighbour, piece, known)
                self.missed += not new and len(known) > before
                found += new
                todo += new
        return run, found

    @abstractmethod
    def _begin(self, run: Run, rho: float) -> tuple[float, float]:
        """Look for what this run stands for from now on; its maximal interval around rho in this row."""

    @abstractmethod
    def _look(self, rho: float) -> tuple[bool, float, float]:
        """Whether what we look for is at rho in this row.

        With the maximal interval of it, or some interval around rho without it.
        """

    def _go(self, row: int) -> None:
        if row != self._here:
            mixed(*self._ends, self._alphas[row], out=self._rows.D)
            self._here = row

    def _pieces(self, row: int, reach: Piece, known: _Intervals) -> list[Piece]:
        """The maximal pieces in a row that overlap `reach` and are not known; now they are."""
        found = []
        gap = _first_gap(reach.lo, reach.hi, known)
        while gap is not None:
            self._go(row)
            is_there, lo, hi = self._look(snap(gap))
            if is_there:
                found.append(Piece(row, lo, hi))
            known.append((lo, hi))
            gap = _first_gap(gap, reach.hi, known)
        return found


class TreeSearch(_Search):
    """What has the same tree. O(n²) for each piece, and for each time that it is not in a piece's reach."""

    def _begin(self, run: Run, rho: float) -> tuple[float, float]:
        self._run, self._tree = run, new_tree(run.into, run.size)
        self._lines = {self._here: run.lines}
        return maximal_piece(self._engine, run, rho)

    def _look(self, rho: float) -> tuple[bool, float, float]:
        run, tree = self._run, self._tree
        if self._here not in self._lines:
            self._lines[self._here] = tree_lines(self._rows, tree)
        lines = self._lines[self._here]
        order = merge_order(tree.into, lines, rho)
        wrong, lo, hi = refuted(self._rows, tree, lines, order, rho)
        if not wrong:
            here = Run(run.into, run.part, run.size, lines, order)
            lo, hi = maximal_piece(self._engine, here, rho)
        return not wrong, lo, hi


class LossSearch(_Search):
    """What has the same cost. O(n²) for each tree of the pieces, and for the others in their reach.

    Parameters
    ----------
    cost
        The cost of a run, called with the row that it is in.
    """

    def __init__(
        self,
        d0: FloatArray,
        d1: FloatArray,
        alphas: tuple[float, ...],
        kind: int,
        cost: Callable[[Run, int], float],
    ) -> None:
        super().__init__(d0, d1, alphas, kind)
        self._cost = cost

    def _begin(self, run: Run, rho: float) -> tuple[float, float]:
        self._sought = self._cost(run, self._here)
        return level_piece(self._engine, run, rho, self._same)

    def _look(self, rho: float) -> tuple[bool, float, float]:
        run = self._engine.run(rho)
        if self._same(run):
            return True, *level_piece(self._engine, run, rho, self._same)
        return False, *self._engine.certificate(run, rho, 0.0, END)[:2]

    def _same(self, run: Run) -> bool:
        return self._cost(run, self._here) == self._sought


_Intervals = list[tuple[float, float]]


def _first_gap(lo: float, hi: float, known: _Intervals) -> float | None:
    """The first point of [lo, hi) that lies in no known interval."""
    known.sort()
    for a, b in known:
        if a <= lo < b:
            lo = b
    return lo if lo < hi else None
