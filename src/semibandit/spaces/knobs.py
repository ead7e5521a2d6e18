"""Knobs: one or several named parameters, each on its own scale."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from semibandit._cached import cached_property
from semibandit._validate import FloatArray
from semibandit.functions import Piecewise
from semibandit.spaces.boxes import Boxes
from semibandit.spaces.interval import Interval
from semibandit.spaces.kinds import Choice, Kind, Number, Real, When, read_kind
from semibandit.spaces.line import Line
from semibandit.spaces.parameters import values_of
from semibandit.spaces.row_grid import make_rows
from semibandit.spaces.scales import DiscreteScale, Scale

__all__ = ["Knobs"]


class Knobs:
    """One or several knobs with names: `Real`, `Integer` and `Choice`.

    The knob `along` runs along a line: an interval of its values that a run reveals is learned exactly. The
    other knobs make the rows, a fixed grid of up to 64 combinations of their values: every choice, every
    integer if there are few, else values that are evenly spread on the scale. If a grid had less than two
    values per number, the rows are a Latin hypercube. Many choices make up to 1,024 rows; choices with more
    combinations raise an error. With a single `Real` the space is `Interval(lo, hi)`. If all knobs are
    choices, nothing runs along the rows (`along` is None, rho is 0), and each combination is a row.

    A knob in `When` has an effect for some values of a `Choice` only; for the others it has its lowest value
    (a choice its first), so that combinations that differ in it alone are one.

    Problems are called with the values by name, `loss(**values)`. Feedback is a function of the *values* of
    the knob along the rows, for the row that was played, or `Boxes` for several rows.
    On an `Integer`, or a `Real` with a step, an interval [lo, hi) holds for every value in it, and the
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

    def __init__(self, /, *, along: str | None = None, **knobs: Kind | When) -> None:
        if not knobs:
            raise ValueError("Knobs must have at least one knob, got none")
        self.conditions = {name: kind for name, kind in knobs.items() if isinstance(kind, When)}
        self.knobs: dict[str, Kind] = {}
        for name, kind in knobs.items():
            kind = kind.kind if isinstance(kind, When) else kind
            if not isinstance(kind, Kind):
                raise TypeError(f"{name} must be a Real, an Integer or a Choice, got {kind!r}")
            self.knobs[name] = kind
        for name, condition in self.conditions.items():
            self._check_condition(name, condition)
        self.along = self._default_along() if along is None else along
        self.scale: Scale = DiscreteScale(0, 0, 1)
        self.interval = Interval(0, 1)
        if self.along is not None:
            kind_along = self.knobs.get(self.along) if isinstance(self.along, str) else None
            if not isinstance(kind_along, Number):
                numbers = ", ".join(name for name, kind in self.knobs.items() if kind.ordered) or "none"
                raise ValueError(f"along must be the name of a Real or an Integer ({numbers}), got {along!r}")
            self.scale, self.interval = kind_along.scale, Interval(kind_along.lo, kind_along.hi)
        self._others = {name: kind for name, kind in self.knobs.items() if name != self.along}
        self.names = tuple(self._others) if self.along is None else (self.along, *self._others)
        self._rows, self.directions = make_rows(list(self._others.values()), self._settled_row)
        # Values of the other knobs in each row; (None,) if there are no other knobs.
        self.alphas: tuple[Any, ...] = self._rows if self._others else (None,)
        self.line.require_doubles()

    def _check_condition(self, name: str, condition: When) -> None:
        other = self.knobs.get(condition.on)
        if not isinstance(other, Choice) or condition.on in self.conditions:
            raise ValueError(f"{name} must depend on a Choice that has no condition, got {condition!r}")
        for value in condition.values:
            other.check(f"the condition of {name}", value)

    def _default_along(self) -> str | None:
        """Return the name of the first `Real`, else of the largest `Integer`; one without condition first."""
        sizes = {name: kind.count for name, kind in self.knobs.items() if isinstance(kind, Number)}
        real = [name for name in sizes if isinstance(self.knobs[name], Real)]
        order = [*real, *sorted(sizes, key=lambda name: -sizes[name])]
        return min(order, key=lambda name: name in self.conditions, default=None)

    def _settled(self, values: dict[str, Any]) -> dict[str, Any]:
        """Return values with the lowest one of each knob whose condition does not hold."""
        lowest = {
            name: _lowest(self.knobs[name])
            for name, condition in self.conditions.items()
            if condition.on in values and values[condition.on] not in condition.values
        }
        return values | lowest

    def _settled_row(self, row: tuple[Any, ...]) -> tuple[Any, ...]:
        settled = self._settled(dict(zip(self._others, row, strict=True)))
        return tuple(settled[name] for name in self._others)

    @cached_property
    def line(self) -> KnobLine:
        """Line of a learner's weights; each row has the scale of the knob along it."""
        return KnobLine(self)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self._rows)

    def rows_in(self, where: dict[str, Any]) -> list[int]:
        """Return the rows whose values lie in a box; see `Boxes`."""
        tests = []
        for name, wanted in where.items():
            if name not in self._others:
                known = ", ".join(self._others) or "none"
                raise ValueError(f"a box has ranges of the other knobs ({known}), got {name!r}")
            tests.append((list(self._others).index(name), self._others[name].within(name, wanted)))
        return [row for row, values in enumerate(self._rows) if all(test(values[i]) for i, test in tests)]

    # -- values ------------------------------------------------------------------------------------

    def check(self, **values: Any) -> dict[str, Any]:
        """Return the values of all knobs, each in its own type; raise an error that names the knob.

        Knobs without effect (`When`) may be left out.
        """
        for name in values:
            if name not in self.knobs:
                raise ValueError(f"there is no knob {name!r}, but {', '.join(self.knobs)}")
        given = ((name, kind) for name, kind in self.knobs.items() if name in values)
        checked = self._settled({name: kind.check(name, values[name]) for name, kind in given})
        missing = [name for name in self.knobs if name not in checked]
        if missing:
            raise ValueError(f"a value is missing for {', '.join(missing)}")
        return {name: checked[name] for name in self.knobs}

    def coordinates(self, **values: Any) -> tuple[Any, tuple[Any, ...] | None]:
        """Return the value of the knob along the rows and those of the other knobs, checked."""
        checked = self.check(**values)
        rho = 0 if self.along is None else checked[self.along]
        return rho, tuple(checked[name] for name in self._others) or None

    def place(self, **values: Any) -> float:
        """Return the point of the line for the values, in the row nearest to those of the other knobs.

        This row has the same choices; its numbers are nearest in the Euclidean distance on their scales.
        """
        value, alpha = self.coordinates(**values)
        distances = ((self._coordinates - self._vector(alpha or ())) ** 2).sum(axis=1)
        return self.line.at(int(distances.argmin()), self.scale.place(value))

    @cached_property
    def _coordinates(self) -> FloatArray:
        return np.array([self._vector(row) for row in self._rows])

    def _vector(self, alpha: tuple[Any, ...]) -> FloatArray:
        kinds = self._others.values()
        return np.array([kind.coordinate(value) for kind, value in zip(kinds, alpha, strict=True)])

    def parameters(self, row: int, x: float) -> dict[str, Any]:
        """Return the values by name, for position x of a row: the arguments of a problem's methods."""
        return dict(values_of(self.names, self.scale.value(x), self._rows[row]))

    def from_rows(self, functions: Sequence[Piecewise]) -> Boxes:
        """Return a function of all knobs, given one function of the values along each row."""
        boxes = (dict(zip(self._others, row, strict=True)) for row in self._rows)
        return Boxes(zip(functions, boxes, strict=True))

    # -- plain data --------------------------------------------------------------------------------

    def describe(self) -> str:
        """Return the description that must be the same for a learner and its problems."""
        return repr(self)

    def __repr__(self) -> str:
        along = "" if self.along == self._default_along() else f", along={self.along!r}"
        kinds = (self.knobs | self.conditions).items()
        return f"Knobs({', '.join(f'{name}={kind!r}' for name, kind in kinds)}{along})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Knobs) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for `spaces.restore`."""
        knobs: list[dict[str, Any]] = [{"name": name} | kind.to_dict() for name, kind in self.knobs.items()]
        for knob in knobs:
            if (condition := self.conditions.get(knob["name"])) is not None:
                knob["when"] = {condition.on: list(condition.values)}
        return {"knobs": knobs, "along": self.along}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Knobs:
        """Return the knobs from their `to_dict`."""
        if not (isinstance(data, dict) and data.keys() >= {"knobs", "along"}):
            raise ValueError(f"data must be a dict with 'knobs' and 'along', got {data!r}")
        knobs: dict[str, Kind | When] = {}
        for entry in data["knobs"]:
            kind = dict(entry)
            name = kind.pop("name")
            if name in knobs:
                raise ValueError(f"two knobs are called {name!r}")
            when = kind.pop("when", None)
            knobs[name] = When(read_kind(kind), **when) if when else read_kind(kind)
        return cls(along=data["along"], **knobs)


def _lowest(kind: Kind) -> Any:
    return kind.lo if isinstance(kind, Number) else kind.values[0]


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
        pieces = [self._pieces(part, rows) for part, rows in parts]
        rows, lo, hi, left, right = (np.concatenate(column) for column in zip(*pieces, strict=True))
        if not rows.size:
            raise ValueError(f"the function told must contain a value of {self._knobs!r}")
        edges, index = self.arrange(rows, lo, hi)
        kind = max((part for part, _ in parts), key=lambda part: part.degree)
        return kind.of_ends(edges, *(np.append(values, math.nan)[index] for values in (left, right)))

    def _pieces(self, function: Piecewise, rows: list[int]) -> tuple[Any, ...]:
        """Return the seen pieces of a function on each row: rows, ends on the scale, values at the ends."""
        lo, hi = self.scale.span
        if function.edges[0] < lo or function.edges[-1] > hi:
            raise ValueError(
                f"the function told must lie inside [{lo:g}, {hi:g}], "
                f"got one on [{float(function.edges[0])!r}, {float(function.edges[-1])!r}]"
            )
        if function.degree > 0 and (self.log or math.isfinite(self.size)):
            raise TypeError(
                f"on a log scale, or with steps, a function must be a PiecewiseConstant, got {function!r}"
            )
        places = np.array([self.scale.place(edge) for edge in function.edges.tolist()])
        if function.edges[-1] >= self._knobs.interval.hi:  # the end of the knob is closed
            places[-1] = self.hi
        kept = ~function.unseen
        if math.isfinite(self.size):  # drop pieces that contain no value
            kept &= places[1:] > places[:-1]
        columns = (places[:-1][kept], places[1:][kept], *(values[kept] for values in function.ends))
        which = np.repeat(np.array(rows, np.int64), int(kept.sum()))
        return which, *(np.tile(column, len(rows)) for column in columns)
