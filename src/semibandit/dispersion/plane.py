"""Dispersion in two parameters: functions counted along rows and columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from semibandit import _validate
from semibandit._validate import FloatArray
from semibandit.dispersion.measuring import Dispersion, measure
from semibandit.spaces.interval import Interval

__all__ = ["PlaneDispersion", "WorstSegment", "measure_plane"]


class WorstSegment(NamedTuple):
    """The axis-aligned segment on which the most functions break."""

    axis: str
    line: int
    lo: float
    hi: float
    functions: int


@dataclass(frozen=True, eq=False)
class PlaneDispersion:
    """What `measure_plane` found: the dispersion along each row and each column."""

    rows: tuple[Dispersion, ...]
    columns: tuple[Dispersion, ...]
    eps: FloatArray

    @property
    def counts(self) -> npt.NDArray[np.int64]:
        """The most functions that break on an axis-aligned segment of length ε, on the grid of ε."""
        return np.asarray(np.max([line.counts for line in (*self.rows, *self.columns)], axis=0))

    def D(self, eps: float) -> int:  # noqa: N802
        """The same for any ε, exactly."""
        return self.worst(eps).functions

    def between(self, eps: float) -> int:
        """The most functions that break between two points ε apart, at most: one segment along each axis."""
        best = [max((line.D(eps) for line in lines), default=0) for lines in (self.rows, self.columns)]
        return best[0] + best[1]

    def worst(self, eps: float) -> WorstSegment:
        """The segment of length ε on which the most functions break."""
        found = [
            (axis, i, line.worst(eps))
            for axis, lines in (("row", self.rows), ("column", self.columns))
            for i, line in enumerate(lines)
        ]
        axis, i, worst = max(found, key=lambda entry: entry[2].functions)
        return WorstSegment(axis, i, worst.lo, worst.hi, worst.functions)

    def verdict(self) -> str:
        """The finding in plain words: that of the line with the lowest β."""
        lines = [(line.beta, "row", i, line) for i, line in enumerate(self.rows)]
        lines += [(line.beta, "column", i, line) for i, line in enumerate(self.columns)]
        _, axis, i, line = min(lines, key=lambda entry: entry[0])
        return f"worst along {axis} {i}: {line.verdict()}"


def measure_plane(
    rows: Sequence[Sequence[Any]],
    columns: Sequence[Sequence[Any]] = (),
    space: Interval | None = None,
    *,
    column_space: Interval | None = None,
    lipschitz: float | None = None,
    eps: npt.ArrayLike | None = None,
) -> PlaneDispersion:
    """How many functions of two parameters break on the worst axis-aligned segment (Theorem 7).

    Parameters
    ----------
    rows
        rows[i] is what `measure` takes: the functions restricted to the i-th row, one item per round. For the
        family with two metrics this is the loss in ρ at the i-th value of α.
    columns
        Likewise for columns; may be left out.
    space, column_space
        The ranges of the parameters along rows and along columns.
    lipschitz, eps
        As for `measure`; the grid of the first line is used for all.

    Returns
    -------
    PlaneDispersion
        Counts over all the lines that were given. Segments elsewhere are not seen.

    Notes
    -----
    Two points ε apart are joined by a segment along each axis, so that D_rows(ε) + D_columns(ε) bounds what
    happens between them, on the lines given.

    Examples
    --------
    >>> plane = measure_plane([[[0.1], [0.2]], [[0.5], [0.5]]], [[[0.3], [0.9]]], Interval(0, 1))
    >>> plane.D(0.05), plane.worst(0.05)
    (2, WorstSegment(axis='row', line=1, lo=0.5, hi=0.55, functions=2))
    >>> plane.between(0.05)
    3
    """
    rows = list(_validate.iterable("rows", rows, "a sequence of lines"))
    columns = list(_validate.iterable("columns", columns, "a sequence of lines"))
    for name, lines_of in (("rows", rows), ("columns", columns)):
        for line in lines_of:
            _validate.iterable(name, line, "sequences of functions")
    if len(rows) + len(columns) == 0:
        raise ValueError("rows and columns must hold at least one line, got none")
    column_space = space if column_space is None else column_space
    lines = [(line, space) for line in rows] + [(line, column_space) for line in columns]
    found: list[Dispersion] = []
    for line, along in lines:
        found.append(measure(line, along, lipschitz, eps=eps))
        eps = found[0].eps  # one grid for all
    rounds = {line.T for line in found}
    if len(rounds) > 1:
        raise ValueError(f"every line must have the same number of functions, got {sorted(rounds)}")
    return PlaneDispersion(tuple(found[: len(rows)]), tuple(found[len(rows) :]), found[0].eps)
