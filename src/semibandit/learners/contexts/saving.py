"""Cells of contexts as plain data, for saved learners."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from semibandit.learners.contexts.cell import Cell
from semibandit.learners.contexts.context_cells import ContextAtAsk, ContextCells
from semibandit.learners.contexts.labels import Direction
from semibandit.learners.contexts.tree import Node, Split, leaves
from semibandit.learners.packing import Array, pack, unpack
from semibandit.learners.statistics import PlayStats
from semibandit.weights import KINDS, Cells, Feedback, Weights

__all__ = ["SavedContexts", "restored", "saved"]

# Fields of `Feedback` that are kept, and the numbers of a cell.
_ARRAYS = "edges", "losses", "sets", "looks", "recorded"
_PLAIN = "paid", "position", "whole", "single", "averaged"
_NUMBERS = "next_test", "ahead", "squares"


class SavedCell(msgspec.Struct, tag=True):
    """A cell; `weights` is an index of the list of weights."""

    cell: tuple[int, int, int]  # number, rounds, last round
    weights: int
    stats: list[list[float]]
    numbers: list[float]


class SavedSplit(msgspec.Struct, tag=True):
    """An inner node; a direction is its mean, shape, noise and level."""

    column: int
    at: float
    direction: tuple[Array, Array, float, float] | None
    sides: list[SavedCell | SavedSplit]


class SavedContexts(msgspec.Struct):
    """Complete state of `ContextCells`, and the contexts of pending trials."""

    root: SavedCell | SavedSplit | None
    weights: list[tuple[str, dict[str, Array]]]  # the first are those of a new cell
    numbers: tuple[int, float, int]  # cells made, next build, rounds recorded
    rounds: list[tuple[list[Any], list[Array], list[Any], int]]  # point, feedback, cell; oldest first
    labels: list[tuple[list[str], Array]]  # with their curves, the least recently used first
    asked: dict[int, tuple[list[Any], int, int, float]]  # point, cell or -1, weights or -1, share


def saved(contexts: ContextCells) -> SavedContexts:
    """Return the state; the same weights are listed once."""
    pool: dict[int, tuple[int, Weights]] = {}

    def index(weights: Weights) -> int:
        return pool.setdefault(id(weights), (len(pool), weights))[0]

    def node(each: Node) -> SavedCell | SavedSplit:
        if isinstance(each, Cell):
            numbers = [float(getattr(each, name)) for name in _NUMBERS]
            return SavedCell((each.number, each.n, each.last), index(each.weights), each.stats.sums, numbers)
        shape = each.direction
        direction = None
        if shape is not None:
            direction = (pack(shape.mean), pack(shape.shape), float(shape.noise), shape.level)
        return SavedSplit(each.column, each.at, direction, [node(side) for side in each.sides])

    index(contexts.start)
    records = contexts.records
    return SavedContexts(
        root=None if contexts.root is None else node(contexts.root),
        asked={
            trial: (
                list(a.place.point),
                -1 if a.cell is None else a.cell.number,
                -1 if a.weights is None else index(a.weights),
                a.share,
            )
            for trial, a in contexts.asked.items()
        },
        weights=[
            (w.kind, {name: pack(array) for name, array in w.state().items()}) for _, w in pool.values()
        ],
        numbers=(contexts.n_made, contexts.next_build, records.n),
        rounds=[
            (
                list(records.places[i].point),
                [pack(getattr(records.feedback[i], name)) for name in _ARRAYS],
                [getattr(records.feedback[i], name) for name in _PLAIN],
                int(records.cell[i]),
            )
            for i in records.all.tolist()
        ],
        labels=[(list(each.curves), pack(np.array(list(each.curves.values())))) for each in contexts.curves],
    )


def restored(contexts: ContextCells, state: SavedContexts, line_cells: Cells) -> None:
    """Restore the state of new `ContextCells`; ValueError or LookupError if it does not fit."""
    pool = [
        KINDS[kind].from_state({name: unpack(array) for name, array in arrays.items()}, line_cells)
        for kind, arrays in state.weights
    ]

    def node(each: SavedCell | SavedSplit) -> Node:
        if isinstance(each, SavedCell):
            stats = PlayStats(line_cells)
            stats.restore(each.stats)
            number, n, last = each.cell
            cell = Cell(number, pool[each.weights], stats, n, last)
            for name, value in zip(_NUMBERS, each.numbers, strict=True):
                setattr(cell, name, value)
            return cell
        direction = None
        if each.direction is not None:
            mean, shape, noise, level = each.direction
            direction = Direction(unpack(mean), unpack(shape), noise, level)
        return Split(each.column, each.at, direction, [node(side) for side in each.sides])

    contexts.start = pool[0]
    contexts.root = None if state.root is None else node(state.root)
    contexts.n_made, contexts.next_build, contexts.records.n = state.numbers
    contexts.records.n -= len(state.rounds)
    for point, arrays, plain, number in state.rounds:
        fields: dict[str, Any] = dict(zip(_ARRAYS, map(unpack, arrays), strict=True))
        feedback = Feedback(**fields, **dict(zip(_PLAIN, plain, strict=True)))
        contexts.records.add(feedback, contexts.place(tuple(point)), number)
    for curves, (keys, sums) in zip(contexts.curves, state.labels, strict=True):
        curves.curves.update(zip(keys, unpack(sums), strict=True))
    cells = {cell.number: cell for cell, _ in leaves(contexts.root)}
    for trial, (point, number, weights, share) in state.asked.items():
        drawn = None if weights < 0 else pool[weights]
        contexts.asked[trial] = ContextAtAsk(contexts.place(tuple(point)), cells.get(number), drawn, share)
