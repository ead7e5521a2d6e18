"""Knobs as users have them: several, with names, on scales of their own."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from semibandit._validate import FloatArray
from semibandit.spaces import bands
from semibandit.spaces.axes import Axis
from semibandit.spaces.interval import Interval
from semibandit.spaces.kinds import Choice, Integer, Kind, Real, read_kind
from semibandit.spaces.knob_line import KnobLine

__all__ = ["Knobs"]

# Found by experiment, as the number of rows to begin with (benchmarks/knobs.py).
_HEAVY = 6.0  # a row is split that has so many times the mean weight of a row, or half of all


class Knobs:
    """One or several knobs with names: `Real`, `Integer` and `Choice`.

    One of them, the knob `along` the rows, runs along a line: what a run shows of it on an interval is
    learned exactly. The others make the rows: one for each choice, and for some bands of numbers, of which a
    row plays the value in the middle. A learner splits the rows that its weight goes to, up to single whole
    numbers, and 2,000 rows at most. With a single `Real` this is `Interval(lo, hi)`.

    Problems are called with the values by name, `loss(**values)`. What they show, and what a learner is
    told, are functions of the *values* of the knob along the rows, seen in the row that was played; or
    `Boxes`, where more rows were seen. On an `Integer`, or a `Real` with a step, an interval [lo, hi) counts
    for every value in it, and the end of the knob is closed.

    Parameters
    ----------
    along
        The name of the knob along the rows; by default the first `Real`, or else the largest `Integer`.
    knobs
        The knobs, by name.

    Examples
    --------
    >>> knobs = Knobs(alpha=Real(1e-4, 1, log=True), depth=Integer(1, 12), mode=Choice("fast", "good"))
    >>> knobs.along, len(knobs.alphas)
    ('alpha', 8)
    >>> knobs.parameters(5, knobs.line.lo)
    {'alpha': 0.0001, 'depth': 8, 'mode': 'good'}
    """

    def __init__(self, *, along: str | None = None, **knobs: Kind) -> None:
        self._begin(knobs, along)

    def _begin(
        self,
        knobs: dict[str, Kind],
        along: str | None,
        rows: Sequence[bands.Row] | None = None,
        odds: Sequence[int] | None = None,
    ) -> None:
        if not knobs:
            raise ValueError("Knobs must have at least one knob, got none")
        for name, kind in knobs.items():
            if not isinstance(kind, Real | Integer | Choice):
                raise TypeError(f"{name} must be a Real, an Integer or a Choice, got {kind!r}")
        self.knobs = dict(knobs)
        self.along: str = _chosen(self.knobs) if along is None else along
        if (
            not isinstance(self.along, str)
            or self.along not in self.knobs
            or not self.knobs[self.along].ordered
        ):
            numbers = ", ".join(name for name, kind in self.knobs.items() if kind.ordered)
            raise ValueError(f"along must be the name of a Real or an Integer ({numbers}), got {along!r}")
        self._others = {name: kind for name, kind in self.knobs.items() if name != self.along}
        self.names = (self.along, *self._others)
        self._rows = self._grid(bands.FIRST_ROWS) if rows is None else tuple(rows)
        # Which part of a row of the beginning each row is: 1, or the product of all that it was split into.
        self.odds = (1,) * len(self._rows) if odds is None else tuple(odds)
        if len(self.odds) != len(self._rows) or min(self.odds) < 1:
            raise ValueError(f"odds must be {len(self._rows)} numbers from 1 on, got {self.odds!r}")
        KnobLine.require_room(self.scale, len(self._rows))

    # -- rows --------------------------------------------------------------------------------------

    def _grid(self, most: int) -> tuple[bands.Row, ...]:
        kinds = self._others.values()
        return bands.grid([kind.ruler for kind in kinds], [kind.ordered for kind in kinds], most)

    @cached_property
    def finest(self) -> Knobs:
        """The same knobs with as many rows as there may be: what the best in hindsight is looked for on."""
        rows = self._grid(bands.MOST_ROWS)
        return self if rows == self._rows else self._with(rows)

    def _with(self, rows: Sequence[bands.Row], odds: Sequence[int] | None = None) -> Knobs:
        knobs = Knobs.__new__(Knobs)
        knobs._begin(self.knobs, self.along, rows, odds)
        return knobs

    @property
    def interval(self) -> Interval:
        """Where the values of the knob along the rows live."""
        kind: Any = self.knobs[self.along]
        return Interval(kind.lo, kind.hi)

    @cached_property
    def alphas(self) -> tuple[Any, ...]:
        """What the other knobs play in each row, in order; (None,) where there are none."""
        if not self._others:
            return (None,)
        kinds = list(self._others.values())
        return tuple(
            tuple(kind.pick(kind.ruler.middle(band)) for kind, band in zip(kinds, row, strict=True))
            for row in self._rows
        )

    @cached_property
    def directions(self) -> tuple[Axis, ...]:
        """Where the rows lie along each of the other knobs."""
        found = []
        for i, kind in enumerate(self._others.values()):
            places = np.array([kind.ruler.place(kind.ruler.middle(row[i])) for row in self._rows])
            found.append(Axis(places, float(kind.count), not kind.ordered))
        return tuple(found)

    @cached_property
    def line(self) -> KnobLine:
        """The line that a learner works on: it carries the scale of the knob along it, row after row."""
        return KnobLine(self)

    @property
    def scale(self) -> Any:
        """How the values of the knob along the rows lie on the line."""
        kind: Any = self.knobs[self.along]
        return kind.scale

    def __len__(self) -> int:
        """The number of rows."""
        return len(self._rows)

    def rows_in(self, where: dict[str, Any]) -> list[int]:
        """The rows that play values inside of a box; see `Boxes`."""
        for name in where:
            if name not in self._others:
                known = ", ".join(self._others) or "none"
                raise ValueError(f"a box is one of the other knobs ({known}), got {name!r}")
        sides = [
            (i, kind, kind.inside(name, where[name]))
            for i, (name, kind) in enumerate(self._others.items())
            if name in where
        ]
        return [
            row
            for row, alpha in enumerate(self.alphas)
            if all(kind.holds(side, alpha[i]) for i, kind, side in sides)
        ]

    # -- values ------------------------------------------------------------------------------------

    def check(self, **values: Any) -> dict[str, Any]:
        """The values of all knobs, checked, or an error that names the knob."""
        for name in values:
            if name not in self.knobs:
                raise ValueError(f"there is no knob {name!r}, but {', '.join(self.knobs)}")
        missing = [name for name in self.knobs if name not in values]
        if missing:
            raise ValueError(f"a value is missing for {', '.join(missing)}")
        return {name: kind.check(name, values[name]) for name, kind in self.knobs.items()}

    def place(self, **values: Any) -> float:
        """The point of the line which stands for the values."""
        checked = self.check(**values)
        row = self._row_of([kind.index(checked[name]) for name, kind in self._others.items()])
        return self.line.at(row, self.scale.cut(checked[self.along]))

    def parameters(self, row: int, x: float) -> dict[str, Any]:
        """The values by name, for the place x of a row: what the methods of a problem take."""
        alpha = self.alphas[row] or ()
        return dict(zip(self.names, (self.scale.value(x), *alpha), strict=True))

    # -- splitting ---------------------------------------------------------------------------------

    def finer(self, shares: FloatArray) -> tuple[Knobs, list[int]] | None:
        """The same knobs with the rows split that have much of the weight, and of which row the new ones are.

        Rows keep their places and what they play; new ones follow. None where there is nothing to split.
        """
        rulers = [kind.ruler for kind in self._others.values()]
        rows, odds, parents = list(self._rows), list(self.odds), list[int]()
        for i in np.argsort(-shares, kind="stable").tolist():
            if shares[i] <= min(_HEAVY / len(self), 0.5) or len(rows) + 2 > bands.MOST_ROWS:
                break
            rows[i], *new = bands.split(rows[i], rulers)
            odds[i] *= 1 + len(new)
            rows += new
            odds += [odds[i]] * len(new)
            parents += [i] * len(new)
        if not parents:
            return None
        return self._with(rows, odds), parents

    @cached_property
    def origins(self) -> npt.NDArray[np.int64]:
        """Of which row each row is a part, of those that there were to begin with."""
        first = Knobs(along=self.along, **self.knobs)
        return np.array([first._row_of([a for a, _ in row]) for row in self._rows])

    def _row_of(self, numbers: list[int]) -> int:
        """The row that stands for the values with these numbers."""
        return next(
            i
            for i, row in enumerate(self._rows)
            if all(a <= n < b for n, (a, b) in zip(numbers, row, strict=True))
        )

    # -- writing -----------------------------------------------------------------------------------

    def describe(self) -> str:
        """What a learner and its problems must agree on: rows are the learner's own."""
        return repr(self)

    def __repr__(self) -> str:
        along = "" if self.along == _chosen(self.knobs) else f", along={self.along!r}"
        return f"Knobs({', '.join(f'{name}={kind!r}' for name, kind in self.knobs.items())}{along})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Knobs) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash((repr(self), self._rows))

    def to_dict(self) -> dict[str, Any]:
        """Plain data; `spaces.restore` undoes it."""
        data: dict[str, Any] = {
            "knobs": [{"name": name} | kind.to_dict() for name, kind in self.knobs.items()],
            "along": self.along,
        }
        if self._rows != self._grid(bands.FIRST_ROWS):
            data["rows"] = [[list(band) for band in row] for row in self._rows]
            data["odds"] = list(self.odds)
        return data

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Knobs:
        """Undo `to_dict`."""
        if not (isinstance(data, dict) and data.keys() >= {"knobs", "along"}):
            raise ValueError(f"data must be a dict with 'knobs' and 'along', got {data!r}")
        knobs: dict[str, Kind] = {}
        for entry in data["knobs"]:
            kind = dict(entry)
            name = kind.pop("name")
            if name in knobs:
                raise ValueError(f"two knobs are called {name!r}")
            knobs[name] = read_kind(kind)
        rows = [tuple((int(a), int(b)) for a, b in row) for row in data.get("rows", ())]
        again = cls.__new__(cls)
        again._begin(knobs, data["along"], rows or None, data.get("odds"))
        return again


def _chosen(knobs: dict[str, Kind]) -> str:
    """The knob along the rows where none was named."""
    numbers = {name: kind for name, kind in knobs.items() if kind.ordered}
    if not numbers:
        raise ValueError(f"Knobs must have a Real or an Integer, got {', '.join(knobs)}, all choices")
    real = [name for name, kind in numbers.items() if isinstance(kind, Real)]
    return real[0] if real else max(numbers, key=lambda name: numbers[name].count)
