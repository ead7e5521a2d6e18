"""One tree across rows: every interval of ρ, in row after row, that is connected to where we stand."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from semibandit._validate import FloatArray
from semibandit.families.linkage._kernels.certificate import merge_order
from semibandit.families.linkage._kernels.refutation import Tree, new_tree, refuted, tree_lines
from semibandit.families.linkage._kernels.rows import new_rows, pool_size
from semibandit.families.linkage.pieces import Reducible, Run, maximal_piece, snap

__all__ = ["Piece", "Search", "mixed"]


class Piece(NamedTuple):
    """A maximal interval [lo, hi) of a row with one tree; hi is END where it reaches 1."""

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


class Search:
    """The rows of one instance: the same points, with the distances mixed by α.

    It stands in one row at a time and holds the distances of that one alone.
    """

    def __init__(self, d0: FloatArray, d1: FloatArray, alphas: tuple[float, ...], kind: int) -> None:
        n = d0.shape[0]
        self._ends = d0, d1
        self._alphas = alphas
        self._rows = new_rows(np.empty((n, n)), kind, np.empty(pool_size(n, kind)))
        self._engine = Reducible(self._rows)
        self._here = -1
        self.missed = 0  # visits of a row in which the tree was not found

    def connected(self, row: int, rho: float) -> tuple[Run, list[Piece]]:
        """The tree at (rho, row), and all pieces with it that are connected to that point.

        Pieces of neighbouring rows are connected where they overlap. O(n²) for each piece, and for each time
        that the tree is found to be wrong in the reach of a piece.
        """
        self._go(row)
        self.missed = 0
        run = self._engine.run(rho)
        tree = new_tree(run.into, run.size)
        found = [Piece(row, *maximal_piece(self._engine, run, rho))]
        looked: dict[int, _Intervals] = {row: [found[0][1:]]}  # by row: where it is known what is the tree
        lines = {row: run.lines}
        todo = list(found)
        while todo:
            piece = todo.pop()
            for neighbour in (piece.row - 1, piece.row + 1):
                if not 0 <= neighbour < len(self._alphas):
                    continue
                known = looked.setdefault(neighbour, [])
                before = len(known)
                new = self._pieces(neighbour, tree, run, lines, piece, known)
                self.missed += not new and len(known) > before
                found += new
                todo += new
        return run, found

    def _go(self, row: int) -> None:
        if row != self._here:
            mixed(*self._ends, self._alphas[row], out=self._rows.D)
            self._here = row

    def _pieces(
        self, row: int, tree: Tree, run: Run, lines: dict[int, FloatArray], reach: Piece, known: _Intervals
    ) -> list[Piece]:
        """The maximal pieces with this tree in a row that overlap `reach` and are not known; now they are."""
        found = []
        gap = _first_gap(reach.lo, reach.hi, known)
        while gap is not None:
            self._go(row)
            if row not in lines:
                lines[row] = tree_lines(self._rows, tree)
            rho = snap(gap)
            order = merge_order(tree.into, lines[row], rho)
            wrong, lo, hi = refuted(self._rows, tree, lines[row], order, rho)
            if not wrong:
                here = Run(run.into, run.part, run.size, lines[row], order)
                lo, hi = maximal_piece(self._engine, here, rho)
                found.append(Piece(row, lo, hi))
            known.append((lo, hi))
            gap = _first_gap(gap, reach.hi, known)
        return found


_Intervals = list[tuple[float, float]]


def _first_gap(lo: float, hi: float, known: _Intervals) -> float | None:
    """The first point of [lo, hi) that lies in no known interval."""
    known.sort()
    for a, b in known:
        if a <= lo < b:
            lo = b
    return lo if lo < hi else None
