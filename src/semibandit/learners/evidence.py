"""What was paid where: which parts of the line are known to be worse, and how good the others are."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from semibandit._validate import FloatArray, IntArray
from semibandit.weights import Cells, n_nodes

__all__ = ["NOTHING", "Evidence", "Paid", "stretches"]

BoolArray = npt.NDArray[np.bool_]

_FEWEST = 4  # rounds from which on a mean says something
_ROUNDING = 1e-12  # means of equal losses in [0, 1] differ by less
_ERRORS = 2.0  # standard errors by which two means must differ


class Evidence(NamedTuple):
    """The mean of the losses (or utilities) paid in some rounds, its standard error, and their number.

    The error is nan for fewer than two rounds, the mean for none.
    """

    mean: float
    error: float
    rounds: float  # not whole where the past is forgotten

    def __str__(self) -> str:
        if self.rounds < 0.5:
            return "never played"
        error = "" if math.isnan(self.error) else f" ± {self.error:.2g}"
        return f"{self.mean:.4g}{error} in {self.rounds:.0f} round{'' if round(self.rounds) == 1 else 's'}"


NOTHING = Evidence(math.nan, math.nan, 0.0)


class Paid:
    """The number of rounds played in each cell, and the losses paid there: their sum, and that of squares.

    What is *seen* at a place is seen more often on instances of some kind: wide intervals belong to easy
    ones. What is *played* is drawn without knowing the instance, so that these means are fair. A round costs
    O(log C) for C cells.

    >>> cells = Cells(np.array([0.0, 0.5, 1.0]), np.array([2, 3]), False)
    >>> paid = Paid(cells)
    >>> for t in range(100):
    ...     paid.add(0.25, 0.2 + 0.1 * (t % 2))
    ...     paid.add(0.75, 0.6 + 0.1 * (t % 2))
    >>> paid.not_worse().tolist(), str(paid.between(0.1, 0.2))
    ([True, False], '0.25 ± 0.005 in 100 rounds')
    """

    def __init__(self, cells: Cells) -> None:
        self.cells = cells
        self._inner: list[float] = cells.edges[1:-1].tolist()
        self.sums = [[0.0] * cells.leaf.size for _ in range(3)]

    def add(self, home: float, loss: float, kept: float = 1.0) -> None:
        """Count a round; before it, keep so much of what was counted."""
        if kept < 1.0:
            self.sums = [[kept * x for x in row] for row in self.sums]
        count, total, squares = self.sums
        cell = bisect_right(self._inner, home)
        count[cell] += 1.0
        total[cell] += loss
        squares[cell] += loss * loss

    def with_rows(self, cells: Cells) -> Paid:
        """The same on a line with further rows behind the others, where nothing was played yet."""
        paid = Paid(cells)
        new = [0.0] * (cells.leaf.size - self.cells.leaf.size)
        paid.sums = [row + new for row in self.sums]
        return paid

    def restore(self, sums: list[list[float]]) -> None:
        """Take the sums of another one on the same cells."""
        sizes = [len(row) for row in sums] == [len(row) for row in self.sums]
        if not (sizes and all(math.isfinite(x) for row in sums for x in row)):
            raise ValueError("what was paid is broken")
        self.sums = sums

    def between(self, lo: float, hi: float) -> Evidence:
        """What was paid in the cells that [lo, hi] touches, for losses in [0, 1]."""
        first = bisect_right(self._inner, lo)
        last = max(bisect_right(self._inner, math.nextafter(hi, -math.inf)), first) + 1
        n, total, squares = (math.fsum(row[first:last]) for row in self.sums)
        if n < 0.5:
            return NOTHING
        mean = total / n
        variance = max(squares / n - mean * mean, 0.0)
        return Evidence(mean, math.sqrt(variance / (n - 1.0)) if n > 1.5 else math.nan, n)

    def not_worse(self) -> BoolArray:
        """For each cell whether it may be as good as the best, by two standard errors. O(C).

        Cells are judged with their neighbours in the tree of cells, so that a plain of which each cell was
        played once or twice is known to be one. A part that is worse stays so in its halves, unless one of
        them has a mean that is not worse.
        """
        count, total, squares = self._on_the_tree()
        played = count >= _FEWEST
        if not played[1]:
            return np.ones(self.cells.leaf.size, np.bool_)
        # One deviation for all: that of few losses, which may be all alike by chance, says too little.
        mean = total[1] / count[1]
        deviation = math.sqrt(max(squares[1] / count[1] - mean * mean, 0.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            means, errors = total / count, _ERRORS * deviation / np.sqrt(count)
        best = (means + errors)[played].min() + _ROUNDING
        worse = played & (means - errors > best)
        fine = played & (means <= best)
        for node in range(2, worse.size):
            worse[node] |= worse[node >> 1] and not fine[node]
        return np.asarray(~worse[self.cells.leaf])

    def _on_the_tree(self) -> FloatArray:
        nodes = np.zeros((3, n_nodes(self.cells)))
        for row, sums in zip(nodes, self.sums, strict=True):
            np.add.at(row, self.cells.leaf, sums)
        for node in range(nodes.shape[1] - 1, 1, -1):
            nodes[:, node >> 1] += nodes[:, node]
        return nodes


def stretches(kept: BoolArray, breaks: IntArray) -> Iterator[tuple[int, int]]:
    """The longest [i, j) in which all are kept and which hold none of the breaks inside."""
    apart = set(breaks.tolist())
    i = 0
    while i < kept.size:
        j = i + 1
        if kept[i]:
            while j < kept.size and kept[j] and j not in apart:
                j += 1
            yield i, j
        i = j
