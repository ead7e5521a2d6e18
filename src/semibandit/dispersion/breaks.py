"""Breaks of loss functions: read from problems, functions, samples or lists, and counted exactly."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from semibandit import _validate
from semibandit._cached import cached_property
from semibandit._validate import FloatArray, IntArray
from semibandit.functions import Piecewise
from semibandit.spaces import Interval, Space

__all__ = ["Breaks", "BreaksOfStream", "Samples", "collect"]

_ROUNDING = 1e-6  # relative error of the slopes of narrow pieces


@dataclass(frozen=True, eq=False)
class Samples:
    """A function of which only the values y at the points x are known.

    Two neighbouring samples that differ by more than the Lipschitz constant allows have a break between
    them. It is placed at their midpoint, so its place is wrong by at most half their distance.

    >>> Samples([0, 0.5, 1], [0.1, 0.2, 0.9]).breaks(lipschitz=1.0)
    array([0.75])
    """

    x: FloatArray
    y: FloatArray

    def __post_init__(self) -> None:
        x = _validate.vector("x", self.x)
        object.__setattr__(self, "x", x)
        object.__setattr__(self, "y", _validate.vector("y", self.y, length=x.size))
        if x.size == 0 or (np.diff(x) <= 0.0).any():
            raise ValueError(f"x must be strictly increasing and not empty, got {x}")

    def breaks(self, lipschitz: float) -> FloatArray:
        """Return the midpoints of the neighbouring samples that violate the Lipschitz condition."""
        violated = np.abs(np.diff(self.y)) > lipschitz * np.diff(self.x)
        return np.asarray((0.5 * self.x[:-1] + 0.5 * self.x[1:])[violated])


@dataclass(frozen=True, eq=False)
class Breaks:
    """Breaks of T functions in increasing order: the place x of each, and the index of its function.

    A function counts in a closed interval that contains one of its breaks (Theorem 5).
    """

    x: FloatArray
    owner: IntArray
    T: int

    def __len__(self) -> int:
        return self.x.size

    def prefix(self, T: int) -> Breaks:
        """Return the breaks of the first T functions. O(N)."""
        if T >= self.T:
            return self
        keep = self.owner < T
        return Breaks(self.x[keep], self.owner[keep], T)

    @property
    def functions(self) -> int:
        """Number of functions that break at least once."""
        return int(np.count_nonzero(np.bincount(self.owner, minlength=1)))

    @cached_property
    def _sweep(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        from semibandit.dispersion import _kernels

        return self.x, *_kernels.neighbours(self.x, self.owner, self.T)

    def worst(self, eps: float) -> tuple[int, float]:
        """Return the most functions that break in an interval of length ε, and its left end. O(N)."""
        from semibandit.dispersion import _kernels

        if len(self) == 0:
            return 0, math.nan
        count, at = _kernels.worst_window(*self._sweep, eps)
        return int(count), float(self.x[at])

    def smallest_span(self, k: int) -> tuple[float, float]:
        """Return the length and the left end of the shortest interval in which k functions break. O(N)."""
        from semibandit.dispersion import _kernels

        if len(self) == 0:
            return math.inf, math.nan
        span, at = _kernels.smallest_span(*self._sweep, k)
        return float(span), float(self.x[at])

    def most_breaks(self, length: float) -> int:
        """Return the most breaks, counted with multiplicity, in an interval of this length. O(N)."""
        return Breaks(self.x, np.arange(len(self)), len(self)).worst(length)[0]


# -- reading ---------------------------------------------------------------------------------------------


class BreaksOfStream(NamedTuple):
    """Breaks of a stream along each row of its space, and the other constants of a regret bound.

    `space` is the range of ρ, `pieces` the number of pieces of all functions on all rows, `lipschitz` the
    constant between breaks, `high` the H of the regret bound: the largest `high` that a problem states. Items
    that state none count as 1, or as their largest loss if that is larger.
    """

    rows: tuple[Breaks, ...]
    space: Interval
    pieces: int
    lipschitz: float
    high: float


class _Reading(NamedTuple):
    """Breaks and other properties of one function along one row."""

    x: FloatArray
    silent: FloatArray  # edges without a jump
    span: FloatArray  # both ends of the function
    slope: float
    largest: float  # largest loss, at least 1


def collect(functions: Any, space: Space | None, lipschitz: float | None) -> BreaksOfStream:
    """Read the breaks inside the space, sorted, along each of its rows; an interval is one row.

    Without a space, it is the smallest interval that contains everything. An edge without a jump is no
    break, but separates two feedback sets.
    """
    if lipschitz is not None:
        lipschitz = _validate.number("lipschitz", lipschitz, low=0.0)
    if space is not None and not isinstance(space, Space):
        raise TypeError(f"space must be an Interval or Strips, got {space!r}")
    rows, T, high = _read(functions, space, lipschitz or 0.0)
    if T == 0:
        raise ValueError("functions must hold at least one function, got none")
    slope = max((reading.slope for row in rows for reading in row), default=0.0)
    if lipschitz is None:
        lipschitz = slope
    elif slope > lipschitz * (1.0 + _ROUNDING):
        raise ValueError(
            f"lipschitz must be at least the largest slope of the functions, {slope:g}, got {lipschitz:g}"
        )
    interval = _hull(rows) if space is None else space.interval
    found, pieces = [], 0
    for row in rows:
        breaks, edges = _inside(row, T, None if space is None else interval)
        found.append(breaks)
        pieces += T + len(breaks) + edges
    return BreaksOfStream(tuple(found), interval, pieces, lipschitz, high)


def _read(
    functions: Any, space: Space | None, lipschitz: float
) -> tuple[list[Sequence[_Reading]], int, float]:
    """Return the readings of all functions by row, their number, and H."""
    _validate.iterable("functions", functions, "a sequence of functions")
    read: list[list[_Reading]] = []
    high = 0.0
    for i, item in enumerate(functions):
        read.append([_reading(i, part, lipschitz) for part in _along_rows(i, item, space)])
        stated = getattr(item, "high", None) if hasattr(item, "losses") else None
        high = max(high, *([part.largest for part in read[i]] if stated is None else [float(stated)]))
        if len(read[i]) != len(read[0]):
            raise ValueError(
                f"every function must have the same number of rows, got {len(read[0])} in functions[0] "
                f"and {len(read[i])} in functions[{i}]"
            )
    return list(zip(*read, strict=True)), len(read), high or 1.0


def _along_rows(i: int, item: Any, space: Space | None) -> list[Any]:
    """Return a function, or the loss of a problem, along each row of its space."""
    if hasattr(item, "losses"):
        space, item = getattr(item, "space", space), item.losses()
        if not isinstance(item, Piecewise):
            raise TypeError(
                f"`losses` must return the loss as a PiecewiseConstant (or a PiecewiseLinear), "
                f"got {item!r} from functions[{i}]"
            )
    on_rows = isinstance(item, Piecewise) and space is not None and space.line.n_rows > 1
    return space.line.rows(item) if on_rows and space is not None else [item]


def _reading(i: int, item: Any, lipschitz: float) -> _Reading:
    nothing = np.zeros(0)
    if isinstance(item, Piecewise):
        left, right = item.ends
        before, after, inner = right[:-1], left[1:], item.edges[1:-1]
        # nan, where the function is not seen, differs from everything.
        jumps = (before != after) & ~np.isnan(before) & ~np.isnan(after)
        largest = max(float(np.nanmax(end, initial=1.0)) for end in item.ends)
        return _Reading(inner[jumps], inner[~jumps], item.edges[[0, -1]], item.lipschitz(), largest)
    if not isinstance(item, Samples):
        return _Reading(_places(i, item), nothing, nothing, 0.0, 1.0)
    return _Reading(item.breaks(lipschitz), nothing, item.x[[0, -1]], 0.0, max(float(item.y.max()), 1.0))


def _inside(readings: Sequence[_Reading], T: int, space: Interval | None) -> tuple[Breaks, int]:
    """Return the breaks strictly inside the space, sorted, and the number of edges there without a jump."""
    x = np.concatenate([reading.x for reading in readings])
    silent = np.concatenate([reading.silent for reading in readings])
    owner = np.repeat(np.arange(T), [reading.x.size for reading in readings])
    order = np.argsort(x)
    if space is not None:
        order = order[((x > space.lo) & (x < space.hi))[order]]
        silent = silent[(silent > space.lo) & (silent < space.hi)]
    return Breaks(x[order], owner[order], T), silent.size


def _places(i: int, item: Any) -> FloatArray:
    """Return a list of discontinuities as an array."""
    _validate.unmasked(f"functions[{i}]", item)
    try:
        array = np.asarray(item, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        array = np.zeros((0, 0))
    if array.ndim != 1:
        raise TypeError(
            f"functions[{i}] must be a problem, a piecewise function, Samples, or a list of discontinuities, "
            f"got {item!r}"
        )
    if not np.isfinite(array).all():
        bad = array[~np.isfinite(array)][0]
        raise ValueError(f"discontinuities must be finite, got {bad} in functions[{i}]")
    return array


def _hull(rows: Iterable[Sequence[_Reading]]) -> Interval:
    values = np.concatenate([part for row in rows for reading in row for part in (reading.span, reading.x)])
    lo, hi = (float(values.min()), float(values.max())) if values.size else (0.0, 1.0)
    return Interval(lo, hi) if lo < hi else Interval(lo - 0.5, hi + 0.5)
