"""One tree across rows: every interval of ρ, in row after row, that is connected to where we stand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from semibandit._validate import FloatArray
from semibandit.families.linkage._kernels.certificate import merge_order
from semibandit.families.linkage._kernels.rows import new_rows, pool_size
from semibandit.families.linkage.pieces import END, Run, _Reducible, maximal_piece, snap
from semibandit.families.metric_linkage._kernels import Tree, new_tree, tree_lines, wrong_until

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
        self._engine = _Reducible(self._rows)
        self._here = -1
        self.visited = 0  # the pieces whose ends were found

    def connected(self, row: int, rho: float) -> tuple[Run, list[Piece]]:
        """The tree at (rho, row), and all pieces with it that are connected to that point.

        Pieces of neighbouring rows are connected where they overlap. O(n²) for each piece, and for each time
        that the tree is found to be wrong in the reach of a piece.
        """
        self._go(row)
        run = self._engine.run(rho)
        tree = new_tree(run.into, run.size)
        found = [Piece(row, *maximal_piece(self._engine, run, rho))]
        looked = {row: [found[0][1:]]}  # by row: where all pieces with the tree are known
        lines = {row: run.lines}
        todo = list(found)
        while todo:
            piece = todo.pop()
            for neighbour in (piece.row - 1, piece.row + 1):
                if not 0 <= neighbour < len(self._alphas):
                    continue
                known = looked.setdefault(neighbour, [])
                for lo, hi in _minus(piece.lo, piece.hi, known):
                    for new in self._pieces(neighbour, tree, run, lines, lo, hi):
                        found.append(new)
                        todo.append(new)
                        known.append((new.lo, new.hi))
                known.append((piece.lo, piece.hi))
        self.visited = len(found)
        return run, found

    def _go(self, row: int) -> None:
        if row != self._here:
            mixed(*self._ends, self._alphas[row], out=self._rows.D)
            self._here = row

    def _pieces(
        self, row: int, tree: Tree, run: Run, lines: dict[int, FloatArray], lo: float, hi: float
    ) -> Iterator[Piece]:
        """The maximal pieces with this tree in a row that overlap [lo, hi)."""
        self._go(row)
        if row not in lines:
            lines[row] = tree_lines(self._rows, tree)
        while lo < hi:
            rho = snap(lo)
            order = merge_order(tree.into, lines[row], rho)
            until = wrong_until(self._rows, tree, lines[row], order, rho, hi)
            if until == rho:
                here = Run(run.into, run.part, run.size, lines[row], order)
                piece = Piece(row, *maximal_piece(self._engine, here, rho))
                yield piece
                until = piece.hi
            lo = until


def _minus(lo: float, hi: float, known: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """[lo, hi) without the known intervals."""
    rest = []
    for a, b in sorted(known):
        if b <= lo or a >= hi:
            continue
        if lo < a:
            rest.append((lo, a))
        lo = b
    if lo < hi:
        rest.append((lo, hi))
    return rest
