"""The line of `Knobs`: rows that carry the scale of a knob."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from semibandit._validate import FloatArray
from semibandit.functions import Piecewise
from semibandit.spaces.boxes import Boxes
from semibandit.spaces.line import Line
from semibandit.spaces.scales import Scale

if TYPE_CHECKING:
    from semibandit.spaces.knobs import Knobs

__all__ = ["KnobLine"]


class KnobLine(Line):
    """Rows of `Knobs`, laid end to end; places in a row are those of the scale, such as logarithms.

    Functions are laid by their edges, which the scale maps monotonically: no piece is lost, and the ends of
    the knob are the ends of the row.
    """

    def __init__(self, knobs: Knobs) -> None:
        self._knobs = knobs
        self._scale: Scale = knobs.scale
        lo, hi = self._scale.ends
        super().__init__(lo, hi, n_rows=len(knobs))
        self.bare = False

    @staticmethod
    def require_room(scale: Scale, n_rows: int) -> None:
        """Raise where so many rows are too long for doubles."""
        lo, hi = scale.ends
        starts = Line(lo, hi, n_rows=n_rows).starts
        if not ((np.diff(starts) > 0.0).all() and math.isfinite(starts[-1] - starts[0])):
            raise ValueError(f"{n_rows} rows over {scale.span} do not fit on a line of doubles")

    def value(self, x: float) -> Any:
        """The value of the knob at the place x of a row."""
        return self._scale.value(x)

    def stretch(self, lo: float, hi: float) -> tuple[Any, tuple[Any, Any]]:
        """The value in the middle of the stretch [lo, hi) of a row, and the values at its ends."""
        return self._scale.stretch(lo, hi)

    @property
    def size(self) -> float:
        """Into how many parts a row can be cut at most."""
        return self._scale.size

    def cuts(self, n: int) -> FloatArray:
        """Where to cut a row into n parts of about the same length, no single value in two."""
        snapped = np.unique([self._scale.snap(x) for x in super().cuts(n).tolist()])
        return snapped[(snapped > self.lo) & (snapped < self.hi)]

    @property
    def log(self) -> bool:
        """Whether places are logarithms of values: a picture then has an axis to match."""
        return bool(self._scale.log)

    def halfway(self, lo: float, hi: float) -> float:
        """Where on the line to cut [lo, hi) in two; an end where it is a single value."""
        middle = 0.5 * (lo + hi)
        if math.isinf(self.size):
            return middle
        row, x = self.read(middle)
        return float(self.place(np.array([row]), np.array([self._scale.snap(x)]))[0])

    def home(self, x: float) -> float:
        """The point where the value that x stands for lies, by which what is seen of it is laid."""
        row, place = self.read(x)
        return self.at(row, self._scale.cut(self._scale.value(place)))

    @property
    def extent(self) -> float:
        """The length of the line, if all rows were as likely to begin with as the least likely one."""
        odds = np.array(self._knobs.odds, np.float64)
        return float((self.hi - self.lo) * (1.0 / odds).sum() * odds.max())

    def level(self, log: Piecewise) -> Piecewise:
        """The same for parameters: a part of a row has as much of the line, but stands for less."""
        more = np.log(self._knobs.odds)
        if not more.any():
            return log
        rows = np.searchsorted(self.starts, log.edges[:-1], side="right") - 1
        return log.of_ends(log.edges, *(end + more[rows] for end in log.ends))

    @property
    def origins(self) -> npt.NDArray[np.int64]:
        """Of which row each row is a part, of those that there were to begin with."""
        return self._knobs.origins

    # -- functions of values -----------------------------------------------------------------------

    def on_rows(self, function: Any, at: float | None = None) -> Piecewise:
        """A function of the values as one on the line, in the row of the point `at`; or `Boxes`."""
        if isinstance(function, Boxes):
            parts = [(part, self._knobs.rows_in(where)) for part, where in function.parts]
        elif at is None and self.n_rows > 1:
            raise TypeError(
                f"a function of several knobs must be `Boxes`, got {function!r} for {self._knobs!r}"
            )
        else:
            parts = [(function, [0 if at is None else self.read(at)[0]])]
        return self._laid([(self._on_scale(part), rows) for part, rows in parts])

    def _on_scale(self, function: Piecewise) -> tuple[Piecewise, FloatArray]:
        """The function, and where its edges lie."""
        lo, hi = self._scale.span
        if function.edges[0] < lo or function.edges[-1] > hi:
            raise ValueError(
                f"the function told must lie inside [{lo:g}, {hi:g}], "
                f"got one on [{float(function.edges[0])!r}, {float(function.edges[-1])!r}]"
            )
        function = self._scale.steps(function)
        cuts = np.array([self._scale.cut(edge) for edge in function.edges.tolist()])
        if function.edges[-1] >= self._knobs.interval.hi:  # where the knob ends, intervals are closed
            cuts[-1] = self.hi
        return function, cuts

    def _laid(self, parts: list[tuple[tuple[Piecewise, FloatArray], list[int]]]) -> Piecewise:
        """Functions with the places of their edges, in rows."""
        rows, lo, hi, numbers = [], [], [], []
        left, right, count = [], [], 0
        for (function, cuts), among in parts:
            kept = ~function.unseen
            if math.isfinite(self.size):  # pieces without a single value
                kept &= cuts[1:] > cuts[:-1]
            number = count + np.arange(int(kept.sum()), dtype=np.float64)
            for row in among:
                rows.append(np.full(number.size, row))
                lo.append(cuts[:-1][kept])
                hi.append(cuts[1:][kept])
                numbers.append(number)
            left.append(function.ends[0][kept])
            right.append(function.ends[1][kept])
            count += number.size
        if not any(number.size for number in numbers):
            raise ValueError(f"the function told holds no value of {self._knobs!r}")
        laid = self.pieces(*map(np.concatenate, (rows, lo, hi, numbers)))
        return _looked_up(laid, [part for (part, _), _ in parts], np.concatenate(left), np.concatenate(right))


def _looked_up(laid: Any, parts: list[Piecewise], left: FloatArray, right: FloatArray) -> Piecewise:
    """The numbers of pieces, replaced by the pieces."""
    which = np.where(np.isnan(laid.values), -1.0, laid.values).astype(np.int64)
    ends = [np.where(which < 0, math.nan, values[which]) for values in (left, right)]
    kind = max(parts, key=lambda part: part.degree)
    return kind.of_ends(np.array(laid.edges), *ends)
