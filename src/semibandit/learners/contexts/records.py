"""Recent rounds: how the losses of contexts differ, and what a new cell learns first."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from msgspec.structs import replace

from semibandit._jit import kernel
from semibandit._validate import FloatArray, IntArray
from semibandit.learners.contexts.tree import Place
from semibandit.weights import Cells, Feedback

__all__ = ["CAPACITY", "Coarse", "Records"]

CAPACITY = 2048  # rounds that are kept
_LOOK = 16.0  # an observation with probability p counts min(1/p, 16) times, as in the local baseline
_EMPTY = -2  # no round
_FINE = 64  # feedback with more pieces is kept by its means on groups


class Coarse(NamedTuple):
    """At most 32 groups of cells, in which the losses of contexts are compared."""

    edges: FloatArray
    group: IntArray  # of each cell
    n: int

    @classmethod
    def of(cls, cells: Cells) -> Coarse:
        """Return the groups: the nodes at depth 5 of the tree of cells."""
        depth = np.frexp(cells.leaf.astype(np.float64))[1] - 1
        nodes = cells.leaf >> np.maximum(depth - 5, 0)
        distinct, group = np.unique(nodes, return_inverse=True)
        return cls(cells.edges, group, distinct.size)

    def means(self, feedback: Feedback) -> FloatArray:
        """Return the mean loss observed in each group; nan where nothing was observed."""
        return np.asarray(
            group_means(self.edges, self.group, self.n, feedback.edges, feedback.losses, feedback.sets)
        )

    def compact(self, feedback: Feedback) -> Feedback:
        """Return the feedback as it is kept: with few pieces."""
        kept = replace(feedback, shares_at_ask=None, beside=None, rises=None)
        if feedback.losses.size <= _FINE or feedback.looks.size > 1:
            return kept
        starts = np.flatnonzero(np.diff(self.group, prepend=-1))
        losses = self.means(feedback)[self.group[starts]]
        edges = np.append(self.edges[starts], self.edges[-1])
        return replace(kept, edges=edges, losses=losses, sets=np.where(np.isnan(losses), -1, 0))


@kernel
def group_means(cells: Any, group: Any, n: int, edges: Any, losses: Any, sets: Any) -> Any:
    """Return the mean loss observed in each group of cells; nan where nothing was observed."""
    widths, totals = np.zeros(n), np.zeros(n)
    i = 0
    for j in range(sets.size):
        while i < group.size - 1 and cells[i + 1] <= edges[j]:
            i += 1
        while sets[j] >= 0 and i < group.size:
            width = min(cells[i + 1], edges[j + 1]) - max(cells[i], edges[j])
            if width > 0.0:
                widths[group[i]] += width
                totals[group[i]] += width * losses[j]
            if cells[i + 1] >= edges[j + 1]:
                break
            i += 1
        i = min(i, group.size - 1)
    for k in range(n):
        totals[k] = totals[k] / widths[k] if widths[k] > 0.0 else np.nan
    return totals


class Records:
    """The last 2,048 rounds with their feedback, contexts and cells. A round costs O(C)."""

    def __init__(self, cells: Cells, n_columns: int) -> None:
        self.coarse = Coarse.of(cells)
        self.columns = np.zeros((CAPACITY, n_columns))
        self.losses = np.full((CAPACITY, self.coarse.n), np.nan)
        self.weights = np.zeros(CAPACITY)
        self.cell = np.full(CAPACITY, _EMPTY)  # number of the cell; -1: there were no splits
        self.clear()

    def clear(self) -> None:
        """Forget all rounds."""
        self.n = 0  # rounds so far
        self.feedback: list[Any] = [None] * CAPACITY
        self.places: list[Any] = [None] * CAPACITY
        self.cell[:] = _EMPTY

    def add(self, feedback: Feedback, place: Place, cell: int) -> FloatArray:
        """Add a round with recorded probabilities; return its losses on the groups."""
        at = self.n % CAPACITY
        self.feedback[at] = kept = self.coarse.compact(feedback)
        self.places[at] = place
        p = 1.0 if feedback.recorded is None else float(feedback.recorded[0])
        self.losses[at] = losses = self.coarse.means(kept)
        self.columns[at], self.weights[at], self.cell[at] = place.columns, min(1.0 / p, _LOOK), cell
        self.n += 1
        return losses

    def of(self, cell: int) -> IntArray:
        """Return the indices of the rounds of a cell, oldest first."""
        return np.asarray(self.all[self.cell[self.all] == cell])

    @property
    def all(self) -> IntArray:
        """Indices of all rounds, oldest first."""
        return np.arange(max(self.n - CAPACITY, 0), self.n) % CAPACITY
