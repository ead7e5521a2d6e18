"""Tree of cells over the features of contexts, and its cells in the user's terms."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from semibandit._validate import FloatArray
from semibandit.learners.contexts.cell import Cell
from semibandit.learners.contexts.labels import Direction, LabelCurves
from semibandit.learners.recommendation import Recommendation
from semibandit.spaces import Choice, Context, Point
from semibandit.spaces.kinds import Number

__all__ = ["Bound", "ContextCell", "Node", "Place", "Split", "described", "leaves", "splits"]


class Place(NamedTuple):
    """A context, its coordinates, and its labels."""

    point: Point
    columns: FloatArray
    keys: tuple[str, ...]

    @classmethod
    def of(cls, context: Context, point: Point) -> Place:
        """Return the place of a context that was checked."""
        return cls(point, context.coordinates(point), context.keys(point))


class Split:
    """An inner node: contexts whose coordinate is below `at` are on the first side.

    With a direction, the coordinate is the place of the label on it.
    """

    def __init__(self, column: int, at: float, direction: Direction | None, sides: list[Node]) -> None:
        self.column, self.at, self.direction, self.sides = column, at, direction, sides

    def is_below(self, place: Place, curves: list[LabelCurves]) -> bool:
        """Return whether a context is on the first side."""
        if self.direction is None:
            return bool(place.columns[self.column] < self.at)
        return curves[self.column].place(place.keys[self.column], self.direction) < self.at

    def feature(self, context: Context) -> int:
        """Return the index of the feature."""
        return context.columns[self.column].feature if self.direction is None else context.labels[self.column]


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
    where: dict[str, Any] = {}
    for i, (name, kind) in enumerate(context.features.items()):
        bounds = [bound for bound in path if bound.split.feature(context) == i]
        if not bounds:
            continue
        if isinstance(kind, Number):
            where[name] = _range(kind, bounds)
            continue
        labels = [] if isinstance(kind, Choice) else curves[context.labels.index(i)].curves
        known = kind.values if isinstance(kind, Choice) else sorted(filter(None, labels))
        places = {
            x: Place.of(context, tuple(x if j == i else None for j in range(len(context.names))))
            for x in (*known, None)
        }
        where[name] = tuple(
            x
            for x, place in places.items()
            if all(bound.split.is_below(place, curves) == bound.below for bound in bounds)
        )
    return where


def _range(number: Number, bounds: list[Bound]) -> tuple[float, float] | None:
    """Return the range of a number; None if only an unknown one lies there."""
    lo = max((bound.split.at for bound in bounds if not bound.below), default=0.0)
    hi = min((bound.split.at for bound in bounds if bound.below), default=1.0)
    if hi <= 0.0:
        return None
    start, end = number.scale.ends
    first, last = (number.scale.value(start + (end - start) * x) for x in (max(lo, 0.0), hi))
    return first if lo > 0.0 else number.lo, last if hi < 1.0 else number.hi
