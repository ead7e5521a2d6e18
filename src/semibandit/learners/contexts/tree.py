"""Tree of cells over the features of contexts, and its cells in the user's terms."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from semibandit._validate import FloatArray
from semibandit.learners.contexts.cell import Cell
from semibandit.learners.contexts.labels import Direction, LabelCurves
from semibandit.learners.recommendation import Recommendation
from semibandit.spaces import Context, Point

__all__ = ["Bound", "ContextCell", "Node", "Place", "Split", "described", "leaves", "splits"]


class Place(NamedTuple):
    """A context, its coordinates, and its labels."""

    point: Point
    columns: FloatArray
    keys: tuple[str, ...]


class Split:
    """An inner node: contexts whose coordinate is below `at` are on the first side.

    With a direction, the coordinate is the place of the label on it.
    """

    def __init__(self, column: int, at: float, direction: Direction | None, sides: list[Node]) -> None:
        self.column, self.at, self.direction, self.sides = column, at, direction, sides

    def side(self, place: Place, curves: list[LabelCurves]) -> Node:
        """Return the side of a context."""
        if self.direction is None:
            below = place.columns[self.column] < self.at
        else:
            below = curves[self.column].place(place.keys[self.column], self.direction) < self.at
        return self.sides[0 if below else 1]


Node = Cell | Split


class Bound(NamedTuple):
    """Condition on the path to a cell: the split, and whether the coordinate is below the cut."""

    split: Split
    below: bool


def leaves(node: Node | None, path: tuple[Bound, ...] = ()) -> Iterator[tuple[Cell, tuple[Bound, ...]]]:
    """Yield the cells below a node, and the conditions on the path to each."""
    if isinstance(node, Split):
        yield from leaves(node.sides[0], (*path, Bound(node, True)))
        yield from leaves(node.sides[1], (*path, Bound(node, False)))
    elif node is not None:
        yield node, path


def splits(node: Node | None) -> Iterator[Split]:
    """Yield the inner nodes below a node."""
    if isinstance(node, Split):
        yield node
        for side in node.sides:
            yield from splits(side)


class ContextCell(NamedTuple):
    """A cell of contexts, and what is recommended there.

    Parameters
    ----------
    where
        Conditions by feature: (lo, hi) of a number, with lo <= value < hi; the values of a choice; the labels
        that are in the cell at present. None stands for an unknown value. Features without a condition are
        missing.
    recommendation
        The parameter for these contexts, with its interval and evidence.
    rounds
        Rounds told in these contexts, as far back as the cell remembers.
    share
        Probability with which a draw comes from the density of the cell; otherwise from that of all contexts.
    """

    where: dict[str, Any]
    recommendation: Recommendation
    rounds: int
    share: float


def described(context: Context, curves: list[LabelCurves], path: tuple[Bound, ...]) -> dict[str, Any]:
    """Return the conditions on a path by feature."""
    ranges: dict[int, tuple[float, float]] = {}
    groups: dict[int, list[Bound]] = {}
    for bound in path:
        split = bound.split
        if split.direction is not None:
            groups.setdefault(split.column, []).append(bound)
            continue
        lo, hi = ranges.get(split.column, (-math.inf, math.inf))
        ranges[split.column] = (lo, min(hi, split.at)) if bound.below else (max(lo, split.at), hi)
    where: dict[str, Any] = {}
    for column, (lo, hi) in ranges.items():
        feature, number, _ = context.columns[column]
        if number is not None:
            where[context.names[feature]] = _range(number, lo, hi)
    for feature, name in enumerate(context.names):
        values = [
            (i, c.value) for i, c in enumerate(context.columns) if c.feature == feature and not c.number
        ]
        if any(i in ranges for i, _ in values):
            where[name] = _values(values, ranges)
    for i, bounds in groups.items():
        inside = sorted(key for key in curves[i].curves if _inside(curves[i], key, bounds))
        where[context.names[context.labels[i]]] = tuple(key or None for key in inside)
    return where


def _range(number: Any, lo: float, hi: float) -> Any:
    """Return the range of a number between two coordinates; None if only an unknown one lies there."""
    if hi <= 0.0:
        return None
    start, end = number.scale.ends
    ends = (
        number.scale.value(start + (end - start) * min(max(x, 0.0), 1.0)) if math.isfinite(x) else default
        for x, default in ((lo, number.lo), (hi, number.hi))
    )
    return tuple(ends)


def _values(values: list[tuple[int, Any]], ranges: dict[int, tuple[float, float]]) -> tuple[Any, ...]:
    """Return the values of a choice, and None, for which all columns are in range."""

    def inside(value: Any, known: bool) -> bool:
        for i, each in values:
            lo, hi = ranges.get(i, (-math.inf, math.inf))
            if not lo <= float(known and each is value) < hi:
                return False
        return True

    found = tuple(value for _, value in values if inside(value, True))
    return (*found, None) if inside(None, False) else found


def _inside(curves: LabelCurves, key: str, bounds: list[Bound]) -> bool:
    return all(
        (curves.place(key, bound.split.direction) < bound.split.at) == bound.below
        for bound in bounds
        if bound.split.direction is not None
    )
