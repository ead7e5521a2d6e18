"""Knobs: one or several named parameters, each on its own scale."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from semibandit._validate import FloatArray
from semibandit.functions import Piecewise
from semibandit.spaces.boxes import Boxes
from semibandit.spaces.interval import Interval
from semibandit.spaces.kinds import Kind, Number, Real, read_kind
from semibandit.spaces.line import Axis, Line
from semibandit.spaces.rows import Rows, make_rows
from semibandit.spaces.scales import Scale

__all__ = ["Knobs"]


class Knobs:
    """One or several knobs with names: `Real`, `Integer` and `Choice`.

    The knob `along` runs along a line: an interval of its values that a run reveals is learned exactly. The
    other knobs make the rows, a fixed grid of about 24 combinations of their values (up to 256 if three or
    more are numbers): every choice, every integer if there are few, else values that are evenly spread on
    the scale. If a grid had less than two values per number, the rows are a Latin hypercube. Many choices
    make up to 1,024 rows; choices with more combinations raise an error. With a single `Real` the space is
    `Interval(lo, hi)`.

    Problems are called with the values by name, `loss(**values)`. They return, and a learner is told,
    functions of the *values* of the knob along the rows, in the row that was played; or `Boxes` for several
    rows. On an `Integer`, or a `Real` with a step, an interval [lo, hi) holds for every value in it, and the
    end of the knob is closed.

    Parameters
    ----------
    along
        Name of the knob along the rows; default: the first `Real`, or else the largest `Integer`.
    knobs
        The knobs, by name.

    Examples
    --------
    >>> from semibandit import Choice, Integer
    >>> knobs = Knobs(alpha=Real(1e-4, 1, log=True), depth=Integer(1, 12), mode=Choice("fast", "good"))
    >>> knobs.along, len(knobs.alphas)
    ('alpha', 24)
    >>> knobs.parameters(5, knobs.line.lo)
    {'alpha': 0.0001, 'depth': 3, 'mode': 'good'}
    """

    def __init__(self, /, *, along: str | None = None, **knobs: Kind) -> None:
        if not knobs:
            raise ValueError("Knobs must have at least one knob, got none")
        for name, kind in knobs.items():
            if not isinstance(kind, Kind):
                raise TypeError(f"{name} must be a Real, an Integer or a Choice, got {kind!r}")
        self.knobs = dict(knobs)
        self.along: str = _default_along(knobs) if along is None else along
        kind_along = knobs.get(self.along) if isinstance(self.along, str) else None
        if not isinstance(kind_along, Number):
            numbers = ", ".join(name for name, kind in knobs.items() if kind.ordered)
            raise ValueError(f"along must be the name of a Real or an Integer ({numbers}), got {along!r}")
        self.scale: Scale = kind_along.scale
        self._others = {name: kind for name, kind in knobs.items() if name != self.along}
        self.names = (self.along, *self._others)
        self._rows: Rows = make_rows(list(self._others.values()))
        if not self.line.fits:
            raise ValueError(f"{len(self)} rows over {self.scale.span} do not fit on a line of doubles")

    # -- rows --------------------------------------------------------------------------------------

    @cached_property
    def interval(self) -> Interval:
        """Range of the values of the knob along the rows."""
        kind: Any = self.knobs[self.along]
        return Interval(kind.lo, kind.hi)

    @property
    def alphas(self) -> tuple[Any, ...]:
        """Values of the other knobs in each row; (None,) if there are no other knobs."""
        return self._rows.values if self._others else (None,)

    @property
    def directions(self) -> tuple[Axis, ...]:
        """Positions of the rows along each axis of the grid."""
        return self._rows.axes

    @cached_property
    def line(self) -> KnobLine:
        """Line of a learner's weights; each row has the scale of the knob along it."""
        return KnobLine(self)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self._rows.values)

    def rows_in(self, where: dict[str, Any]) -> list[int]:
        """Return the rows whose values lie in a box; see `Boxes`."""
        for name in where:
            if name not in self._others:
                known = ", ".join(self._others) or "none"
                raise ValueError(f"a box has ranges of the other knobs ({known}), got {name!r}")
        sides = [
            (i, kind, kind.side(name, where[name]))
            for i, (name, kind) in enumerate(self._others.items())
            if name in where
        ]
        return [
            row
            for row, values in enumerate(self._rows.values)
            if all(kind.holds(side, values[i]) for i, kind, side in sides)
        ]

    @cached_property
    def _shares(self) -> FloatArray:
        """Positions in [0, 1) of the rows' values, one column per knob."""
        kinds = list(self._others.values())
        rows = [
            [kind.share(value) for kind, value in zip(kinds, row, strict=True)] for row in self._rows.values
        ]
        return np.array(rows, np.float64).reshape(len(rows), len(kinds))

    def _nearest_row(self, alpha: tuple[Any, ...]) -> int:
        """Return the row with the same choices whose numbers are nearest, in the Euclidean distance."""
        kinds = list(self._others.values())
        differences = self._shares - [kind.share(value) for kind, value in zip(kinds, alpha, strict=True)]
        # A choice that differs outweighs the distance of all numbers.
        weights = [1.0 if kind.ordered else (1.0 + len(kinds)) * kind.count**2 for kind in kinds]
        return int((differences**2 @ np.array(weights, np.float64)).argmin())

    # -- values ------------------------------------------------------------------------------------

    def check(self, **values: Any) -> dict[str, Any]:
        """Return the values of all knobs, each in its own type; raise an error that names the knob."""
        for name in values:
            if name not in self.knobs:
                raise ValueError(f"there is no knob {name!r}, but {', '.join(self.knobs)}")
        missing = [name for name in self.knobs if name not in values]
        if missing:
            raise ValueError(f"a value is missing for {', '.join(missing)}")
        return {name: kind.check(name, values[name]) for name, kind in self.knobs.items()}

    def coordinates(self, **values: Any) -> tuple[Any, tuple[Any, ...] | None]:
        """Return the value of the knob along the rows and those of the other knobs, checked."""
        checked = self.check(**values)
        return checked[self.along], tuple(checked[name] for name in self._others) or None

    def place(self, **values: Any) -> float:
        """Return the point of the line for the values, in the row nearest to those of the other knobs."""
        value, alpha = self.coordinates(**values)
        return self.line.at(self._nearest_row(alpha or ()), self.scale.place(value))

    def parameters(self, row: int, x: float) -> dict[str, Any]:
        """Return the values by name, for position x of a row: the arguments of a problem's methods."""
        return dict(zip(self.names, (self.scale.value(x), *self._rows.values[row]), strict=True))

    def from_rows(self, functions: Sequence[Piecewise]) -> Boxes:
        """Return a function of all knobs, given one function of the values along each row."""
        others = self.names[1:]
        pairs = zip(functions, self._rows.values, strict=True)
        return Boxes([(function, dict(zip(others, row, strict=True))) for function, row in pairs])

    # -- plain data --------------------------------------------------------------------------------

    def describe(self) -> str:
        """Return what a learner and its problems must agree on."""
        return repr(self)

    def __repr__(self) -> str:
        along = "" if self.along == _default_along(self.knobs) else f", along={self.along!r}"
        return f"Knobs({', '.join(f'{name}={kind!r}' for name, kind in self.knobs.items())}{along})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Knobs) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for `spaces.restore`."""
        return {
            "knobs": [{"name": name} | kind.to_dict() for name, kind in self.knobs.items()],
            "along": self.along,
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Knobs:
        """Return the knobs from their `to_dict`."""
        if not (isinstance(data, dict) and data.keys() >= {"knobs", "along"}):
            raise ValueError(f"data must be a dict with 'knobs' and 'along', got {data!r}")
        knobs: dict[str, Kind] = {}
        for entry in data["knobs"]:
            kind = dict(entry)
            name = kind.pop("name")
            if name in knobs:
                raise ValueError(f"two knobs are called {name!r}")
            knobs[name] = read_kind(kind)
        return cls(along=data["along"], **knobs)


def _default_along(knobs: dict[str, Kind]) -> str:
    """Return the name of the first `Real`, or else of the largest `Integer`."""
    numbers = {name: kind.count for name, kind in knobs.items() if kind.ordered}
    if not numbers:
        raise ValueError(f"Knobs must have a Real or an Integer, got only choices: {', '.join(knobs)}")
    real = [name for name, kind in knobs.items() if isinstance(kind, Real)]
    return real[0] if real else max(numbers, key=lambda name: numbers[name])


class KnobLine(Line):
    """Line of `Knobs`: functions of values become functions on the line by moving their edges.

    The scale maps edges monotonically, so no piece is lost, and the ends of the knob are the ends of a row.
    """

    def __init__(self, knobs: Knobs) -> None:
        super().__init__(*knobs.scale.ends, n_rows=len(knobs), scale=knobs.scale)
        self._knobs = knobs

    def on_rows(self, function: Any, at: float | None = None) -> Piecewise:
        """Return a function of values in the row of the point `at`, or `Boxes`, as one on the line."""
        if isinstance(function, Boxes):
            parts = [(part, self._knobs.rows_in(where)) for part, where in function.parts]
        elif at is None and self.n_rows > 1:
            raise TypeError(
                f"a function of several knobs must be `Boxes`, got {function!r} for {self._knobs!r}"
            )
        else:
            parts = [(function, [0 if at is None else self.read(at)[0]])]
        return self._laid([(*self._on_scale(part), rows) for part, rows in parts])

    def _on_scale(self, function: Piecewise) -> tuple[Piecewise, FloatArray]:
        """Return the function and the positions of its edges."""
        lo, hi = self.scale.span
        if function.edges[0] < lo or function.edges[-1] > hi:
            raise ValueError(
                f"the function told must lie inside [{lo:g}, {hi:g}], "
                f"got one on [{float(function.edges[0])!r}, {float(function.edges[-1])!r}]"
            )
        function = self.scale.steps(function)
        places = np.array([self.scale.place(edge) for edge in function.edges.tolist()])
        if function.edges[-1] >= self._knobs.interval.hi:  # the end of the knob is closed
            places[-1] = self.hi
        return function, places

    def _laid(self, parts: list[tuple[Piecewise, FloatArray, list[int]]]) -> Piecewise:
        """Return functions, with the positions of their edges, on their rows."""
        lo, hi, left, right, rows = [], [], [], [], []
        for function, places, among in parts:
            kept = ~function.unseen
            if math.isfinite(self.size):  # drop pieces that contain no value
                kept &= places[1:] > places[:-1]
            for row in among:
                rows.append(np.full(int(kept.sum()), row))
                lo.append(places[:-1][kept])
                hi.append(places[1:][kept])
                left.append(function.ends[0][kept])
                right.append(function.ends[1][kept])
        if not any(row.size for row in rows):
            raise ValueError(f"the function told must contain a value of {self._knobs!r}")
        # `pieces` sorts by position: it gets the indices of the pieces in place of their values.
        index = np.arange(sum(row.size for row in rows), dtype=np.float64)
        laid = self.pieces(np.concatenate(rows), np.concatenate(lo), np.concatenate(hi), index)
        which = np.where(np.isnan(laid.values), -1.0, laid.values).astype(np.int64)
        ends = [np.where(which < 0, math.nan, np.concatenate(side)[which]) for side in (left, right)]
        kind = max((part for part, _, _ in parts), key=lambda part: part.degree)
        return kind.of_ends(np.array(laid.edges), *ends)
