"""Cells of contexts in the user's terms."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

from semibandit.learners.contexts.labels import Direction, LabelCurves
from semibandit.learners.recommendation import Recommendation
from semibandit.spaces import Context

__all__ = ["Bound", "ContextCell", "described"]


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


class Bound(NamedTuple):
    """Condition on the path to a cell: the coordinate is below `at`, or not."""

    column: int
    at: float
    below: bool
    direction: Direction | None = None


def described(context: Context, curves: list[LabelCurves], path: Iterable[Bound]) -> dict[str, Any]:
    """Return the conditions of a cell by feature."""
    ranges: dict[int, tuple[float, float]] = {}
    groups: dict[int, list[Bound]] = {}
    for bound in path:
        if bound.direction is not None:
            groups.setdefault(bound.column, []).append(bound)
            continue
        lo, hi = ranges.get(bound.column, (-math.inf, math.inf))
        ranges[bound.column] = (lo, min(hi, bound.at)) if bound.below else (max(lo, bound.at), hi)
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
        where[context.names[context.labels[i]]] = tuple(
            sorted(key or None for key in curves[i].curves if _inside(curves[i], key, bounds))
        )
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
        (curves.place(key, bound.direction) < bound.at) == bound.below
        for bound in bounds
        if bound.direction is not None
    )
