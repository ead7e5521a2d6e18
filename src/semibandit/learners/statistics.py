"""Statistics of the losses paid in each cell: evidence for recommendations."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from semibandit._validate import FloatArray, IntArray
from semibandit.weights import Cells, n_nodes

__all__ = ["FEWEST", "NOTHING", "Evidence", "PlayStats", "stretches"]

BoolArray = npt.NDArray[np.bool_]

FEWEST = 4  # rounds for a comparison of means
_ROUNDING = 1e-12  # means of equal losses differ by less, relative to their size
_ERRORS = 2.0  # standard errors by which two means must differ


class Evidence(NamedTuple):
    """Mean of the losses (or utilities) paid, its standard error, and the number of rounds.

    The error is nan for fewer than two rounds, the mean for none.
    """

    mean: float
    error: float
    rounds: float  # a fraction if the past is forgotten

    @classmethod
    def of(cls, n: float, total: float, squares: float) -> Evidence:
        """Return the evidence of n losses with this sum, and this sum of squares."""
        if n < 0.5:
            return NOTHING
        mean = total / n
        variance = max(squares / n - mean * mean, 0.0)
        return cls(mean, math.sqrt(variance / (n - 1.0)) if n > 1.5 else math.nan, n)

    def beats(self, other: Evidence, maximize: bool) -> bool:
        """Return whether the mean is better than another by two standard errors of each, in four rounds."""
        gain = self.mean - other.mean if maximize else other.mean - self.mean
        enough = min(self.rounds, other.rounds) >= FEWEST - 0.5
        return enough and gain > _ERRORS * (self.error + other.error) + 2.0 * _ROUNDING * abs(other.mean)

    def __str__(self) -> str:
        if self.rounds < 0.5:
            return "never played"
        error = "" if math.isnan(self.error) else f" ± {self.error:.2g}"
        return f"{self.mean:.4g}{error} in {self.rounds:.0f} round{'' if round(self.rounds) == 1 else 's'}"


NOTHING = Evidence(math.nan, math.nan, 0.0)


class PlayStats:
    """Number of rounds played in each cell, the sum of the losses paid there, and the sum of their squares.

    Only losses of played parameters count. Observed losses are a biased sample: easy instances may have wide
    intervals, and are then observed more often. A round costs O(log C) for C cells.

    >>> cells = Cells(np.array([0.0, 0.5, 1.0]), np.array([2, 3]), False)
    >>> stats = PlayStats(cells)
    >>> for t in range(100):
    ...     stats.add(0.25, 0.2 + 0.1 * (t % 2))
    ...     stats.add(0.75, 0.6 + 0.1 * (t % 2))
    >>> stats.not_worse().tolist(), str(stats.between(0.1, 0.2))
    ([True, False], '0.25 ± 0.005 in 100 rounds')
    """

    def __init__(self, cells: Cells) -> None:
        self.cells = cells
        self._inner: list[float] = cells.edges[1:-1].tolist()
        self.sums = [[0.0] * cells.leaf.size for _ in range(3)]
        self.own: dict[
            Any, tuple[float, float, float]
        ] = {}  # the same sums, for each value of the user's own

    def add(self, position: float, loss: float) -> None:
        """Add a round."""
        count, total, squares = self.sums
        cell = bisect_right(self._inner, position)
        count[cell] += 1.0
        total[cell] += loss
        squares[cell] += loss * loss

    def add_own(self, key: Any, loss: float) -> None:
        """Add a round of a value of the user's own."""
        n, total, squares = self.own.get(key, (0.0, 0.0, 0.0))
        self.own[key] = n + 1.0, total + loss, squares + loss * loss

    def best_own(self) -> tuple[Any, Evidence] | None:
        """Return the own value with the least mean loss, of those with four rounds or else of all."""
        found = {key: Evidence.of(*sums) for key, sums in self.own.items() if sums[0] >= 0.5}
        sure = {key: evidence for key, evidence in found.items() if evidence.rounds >= FEWEST - 0.5} or found
        return min(sure.items(), key=lambda item: item[1].mean, default=None)

    def keep(self, part: float) -> None:
        """Multiply all sums, to forget the past."""
        if part < 1.0:
            self.sums = [[part * x for x in row] for row in self.sums]
            self.own = {key: (part * n, part * s, part * q) for key, (n, s, q) in self.own.items()}

    def restore(self, sums: list[list[float]]) -> None:
        """Restore saved sums; ValueError if they do not fit the cells."""
        sizes = [len(row) for row in sums] == [len(row) for row in self.sums]
        if not (sizes and all(math.isfinite(x) for row in sums for x in row)):
            raise ValueError("play statistics are broken")
        self.sums = sums

    def between(self, lo: float, hi: float) -> Evidence:
        """Return the evidence of the cells that intersect [lo, hi]."""
        first = bisect_right(self._inner, lo)
        last = max(bisect_right(self._inner, math.nextafter(hi, -math.inf)), first) + 1
        return Evidence.of(*(math.fsum(row[first:last]) for row in self.sums))

    def not_worse(self) -> BoolArray:
        """Return for each cell whether it may be as good as the best, within two standard errors. O(C).

        Nodes of the tree of cells are compared, so that cells with few rounds are judged together. A node
        that is worse makes its descendants worse, unless the mean of a descendant is not worse.
        """
        count, total, squares = self._on_the_tree()
        played = count >= FEWEST
        if not played[1]:
            return np.ones(self.cells.leaf.size, np.bool_)
        # One standard deviation for all nodes: that of few losses is unreliable.
        mean = total[1] / count[1]
        deviation = math.sqrt(max(squares[1] / count[1] - mean * mean, 0.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            means, errors = total / count, _ERRORS * deviation / np.sqrt(count)
        best = (means + errors)[played].min() + 2.0 * _ROUNDING * math.sqrt(squares[1] / count[1])
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
    """Return the maximal [i, j) in which all are kept, without a break inside."""
    ends = set(breaks.tolist())
    i = 0
    while i < kept.size:
        j = i + 1
        if kept[i]:
            while j < kept.size and kept[j] and j not in ends:
                j += 1
            yield i, j
        i = j
