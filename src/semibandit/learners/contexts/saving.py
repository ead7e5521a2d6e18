"""Cells of contexts as plain data, for saved learners."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from semibandit.learners.contexts.cells import Cell, ContextAtAsk, ContextCells, Leaf, Node, Split
from semibandit.learners.contexts.labels import Direction
from semibandit.learners.contexts.records import Record
from semibandit.learners.packing import Array, pack, unpack
from semibandit.learners.statistics import PlayStats
from semibandit.weights import KINDS, Cells, Feedback, Weights

__all__ = ["SavedContexts", "restored", "saved"]


class SavedNode(msgspec.Struct):
    """A node of the tree: a split with both sides, or a leaf with its cell."""

    cell: int = -1
    column: int = 0
    at: float = 0.0
    mean: Array | None = None
    shape: Array | None = None
    noise: float = 0.0
    level: float = 1.0
    sides: list[SavedNode] = []


class SavedCell(msgspec.Struct):
    """A cell; `weights` is an index of the list of weights."""

    number: int
    weights: int
    stats: list[list[float]]
    n: int
    last: int
    next_test: float
    ahead: float
    squares: float


class SavedRecord(msgspec.Struct):
    """A round, and the cell that it belongs to."""

    point: list[Any]
    edges: Array
    losses: Array
    sets: Array
    looks: Array
    recorded: Array
    paid: float
    position: float
    flags: tuple[bool, bool, bool]
    cell: int
    keys: list[int]


class SavedLabels(msgspec.Struct):
    """Curves of the labels of a feature, the least recently used first."""

    keys: list[str]
    ids: list[int]
    n_ids: int
    curves: Array


class SavedContexts(msgspec.Struct):
    """Complete state of `ContextCells`, and the contexts of pending trials."""

    root: SavedNode
    cells: list[SavedCell]
    weights: list[tuple[str, dict[str, Array]]]
    numbers: tuple[int, int, float, int]  # cells made, rounds, next build, start of the records
    records: list[SavedRecord]
    labels: list[SavedLabels]
    asked: dict[int, tuple[list[Any], int, int, float]]  # point, cell, weights or -1, share


def saved(contexts: ContextCells) -> SavedContexts:
    """Return the state."""
    pool: list[Weights] = [contexts.start]
    known = {id(contexts.start): 0}

    def index(weights: Weights) -> int:
        if id(weights) not in known:
            known[id(weights)] = len(pool)
            pool.append(weights)
        return known[id(weights)]

    cells = [
        SavedCell(c.number, index(c.weights), c.stats.sums, c.n, c.last, c.next_test, c.ahead, c.squares)
        for c in contexts.cells.values()
    ]
    asked = {
        trial: (list(a.point), a.cell, -1 if a.weights is None else index(a.weights), a.share)
        for trial, a in contexts.asked.items()
    }
    records = contexts.records
    return SavedContexts(
        root=_saved_node(contexts.root),
        cells=cells,
        weights=[(w.kind, {name: pack(array) for name, array in w.state().items()}) for w in pool],
        numbers=(contexts.n_made, contexts.rounds, contexts.next_build, records.n),
        records=[
            _saved_record(r, int(records.cell[i]), records.keys[i].tolist())
            for i, r in enumerate(records.rounds)
        ],
        labels=[
            SavedLabels(
                list(each.curves),
                [each.ids[key] for key in each.curves],
                each.n_ids,
                pack(np.array(list(each.curves.values()))),
            )
            for each in contexts.curves
        ],
        asked=asked,
    )


def restored(contexts: ContextCells, state: SavedContexts, cells: Cells) -> None:
    """Restore the state of new `ContextCells`; ValueError or LookupError if it does not fit."""
    pool = [
        KINDS[kind].from_state({name: unpack(array) for name, array in arrays.items()}, cells)
        for kind, arrays in state.weights
    ]
    contexts.start = pool[0]
    for each in state.cells:
        stats = PlayStats(cells)
        stats.restore(each.stats)
        cell = Cell(each.number, pool[each.weights], stats)
        cell.n, cell.last, cell.next_test = each.n, each.last, each.next_test
        cell.ahead, cell.squares = each.ahead, each.squares
        contexts.cells[cell.number] = cell
    contexts.root = _node(state.root)
    for curves, labels in zip(contexts.curves, state.labels, strict=True):
        arrays = unpack(labels.curves)
        for key, number, curve in zip(labels.keys, labels.ids, arrays, strict=True):
            curves.curves[key], curves.ids[key] = curve, number
        curves.n_ids = labels.n_ids
    _restore_records(contexts, state)
    contexts.n_made, contexts.rounds, contexts.next_build, _ = state.numbers
    for trial, (values, number, weights, share) in state.asked.items():
        point = tuple(values)
        drawn = None if weights < 0 else pool[weights]
        contexts.asked[trial] = ContextAtAsk(point, contexts.place(point), number, drawn, share)


def _restore_records(contexts: ContextCells, state: SavedContexts) -> None:
    """Add the rounds in their order, at their places."""
    records, n = contexts.records, len(state.records)
    first = state.numbers[3] - n
    records.n = first
    records.rounds = [_record(each) for each in state.records]
    for place in ((first + np.arange(n)) % n if n else np.arange(0)).tolist():
        record, saved_record = records.rounds[place], state.records[place]
        columns = contexts.context.coordinates(record.point)
        records.put(place, record, columns, saved_record.keys, saved_record.cell)
    records.n = state.numbers[3]


def _saved_node(node: Node) -> SavedNode:
    if isinstance(node, Leaf):
        return SavedNode(cell=node.cell)
    sides = [_saved_node(node.left), _saved_node(node.right)]
    if node.direction is None:
        return SavedNode(column=node.column, at=node.at, sides=sides)
    shape = node.direction
    return SavedNode(
        -1, node.column, node.at, pack(shape.mean), pack(shape.shape), shape.noise, shape.level, sides
    )


def _node(state: SavedNode) -> Node:
    if not state.sides:
        return Leaf(state.cell)
    direction = None
    if state.mean is not None and state.shape is not None:
        direction = Direction(unpack(state.mean), unpack(state.shape), state.noise, state.level)
    split = Split(state.column, state.at, direction)
    split.left, split.right = map(_node, state.sides)
    return split


def _saved_record(record: Record, cell: int, keys: list[int]) -> SavedRecord:
    told = record.feedback
    assert told.recorded is not None
    return SavedRecord(
        point=list(record.point),
        edges=pack(told.edges),
        losses=pack(told.losses),
        sets=pack(told.sets),
        looks=pack(told.looks),
        recorded=pack(told.recorded),
        paid=told.paid,
        position=told.position,
        flags=(told.whole, told.single, told.averaged),
        cell=cell,
        keys=keys,
    )


def _record(state: SavedRecord) -> Record:
    whole, single, averaged = state.flags
    told = Feedback(
        edges=unpack(state.edges),
        losses=unpack(state.losses),
        sets=unpack(state.sets),
        paid=state.paid,
        position=state.position,
        whole=whole,
        single=single,
        looks=unpack(state.looks),
        recorded=unpack(state.recorded),
        averaged=averaged,
    )
    return Record(tuple(state.point), told)
