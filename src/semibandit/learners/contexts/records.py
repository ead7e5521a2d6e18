"""Recent rounds: how the losses of contexts differ, and what a new cell learns first."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec
import numpy as np

from semibandit._jit import kernel
from semibandit._validate import FloatArray, IntArray
from semibandit.weights import Cells, Feedback

__all__ = ["CAPACITY", "Coarse", "Record", "Records"]

CAPACITY = 2048  # rounds that are kept
_LOOK = 16.0  # an observation with probability p counts min(1/p, 16) times, as in the local baseline
_EMPTY = -2  # no round
_FINE = 64  # feedback with more pieces is kept by its means on the cells


class Record(msgspec.Struct, frozen=True, gc=False):
    """A round: its context, and the feedback with its probabilities."""

    point: tuple[str | int | float | bool | None, ...]
    feedback: Feedback


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
    """The last 2,048 rounds with their coordinates, coarse losses and cells. A round costs O(C)."""

    def __init__(self, cells: Cells, n_columns: int, n_labels: int) -> None:
        self.coarse = Coarse.of(cells)
        self._cells = cells
        self.n = 0  # rounds so far
        self.rounds: list[Record] = []
        self.columns = np.zeros((CAPACITY, n_columns))
        self.keys = np.zeros((CAPACITY, n_labels), np.int64)
        self.losses = np.full((CAPACITY, self.coarse.n), np.nan)
        self.weights = np.zeros(CAPACITY)
        self.cell = np.full(CAPACITY, _EMPTY)

    def add(self, record: Record, columns: FloatArray, keys: list[int], cell: int) -> FloatArray:
        """Add a round; return its coarse losses."""
        at = self.n % CAPACITY
        if len(self.rounds) < CAPACITY:
            self.rounds.append(record)
        else:
            self.rounds[at] = record
        self.put(at, record, columns, keys, cell)
        self.n += 1
        return np.asarray(self.losses[at])

    def put(self, at: int, record: Record, columns: FloatArray, keys: list[int], cell: int) -> None:
        """Fill the row of a round."""
        feedback = record.feedback
        p = 1.0 if feedback.recorded is None else float(feedback.recorded[0])
        self.losses[at] = self.coarse.means(feedback)
        self.columns[at], self.keys[at], self.cell[at] = columns, keys, cell
        self.weights[at] = min(1.0 / p, _LOOK)

    def of(self, cell: int) -> IntArray:
        """Return the places of the rounds of a cell, oldest first."""
        places = np.flatnonzero(self.cell == cell)
        start = self.n % CAPACITY if self.n > CAPACITY else 0
        return np.concatenate((places[places >= start], places[places < start]))

    @property
    def all(self) -> IntArray:
        """Places of all rounds, oldest first."""
        n = len(self.rounds)
        return (self.n + np.arange(n)) % n if n else np.arange(0)

    def clear(self) -> None:
        """Forget all rounds."""
        self.n, self.rounds = 0, []
        self.cell[:] = _EMPTY

    def compact(self, feedback: Feedback, p: tuple[float, ...]) -> Feedback:
        """Return the feedback as it is kept: with the probabilities, and with few pieces."""
        looks = feedback.looks.copy()
        kept = msgspec.structs.replace(
            feedback, recorded=np.array(p), shares_at_ask=None, beside=None, rises=None, looks=looks
        )
        if feedback.losses.size <= _FINE or feedback.looks.size > 1:
            return kept
        edges = self._cells.edges
        inner = np.unique(np.concatenate(np.clip(edges, feedback.edges[0], feedback.edges[-1])))
        seen = feedback.sets >= 0
        width, total = (
            np.diff(np.interp(inner, feedback.edges, np.append(0.0, np.cumsum(part))))
            for part in (
                np.where(seen, np.diff(feedback.edges), 0.0),
                np.where(seen, feedback.losses * np.diff(feedback.edges), 0.0),
            )
        )
        some = width > 0.0
        losses = np.where(some, total / np.where(some, width, 1.0), np.nan)
        return msgspec.structs.replace(kept, edges=inner, losses=losses, sets=np.where(some, 0, -1))
