"""Where functions break: read from problems, functions, samples or plain lists; counted by sweeps."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from semibandit import _validate
from semibandit._validate import FloatArray
from semibandit.functions import Piecewise
from semibandit.spaces import Interval, Space

__all__ = ["Breaks", "Found", "Jumps", "Samples", "collect"]

_ROUNDING = 1e-6  # by which the slopes of narrow pieces may be off

IntArray = npt.NDArray[np.int64]
_Sorted = tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]


@dataclass(frozen=True, eq=False)
class Samples:
    """A function known at the points x alone, where it has the values y.

    Where two neighbouring samples differ by more than the Lipschitz constant allows, there is a break
    between them. (If any two samples do, some two neighbours between them do as well.)

    >>> Samples([0, 0.5, 1], [0.1, 0.2, 0.9]).breaks(lipschitz=1.0)
    (array([0.5]), array([1.]))
    """

    x: FloatArray
    y: FloatArray

    def __post_init__(self) -> None:
        x = _validate.vector("x", self.x)
        object.__setattr__(self, "x", x)
        object.__setattr__(self, "y", _validate.vector("y", self.y, length=x.size))
        if x.size == 0 or (np.diff(x) <= 0.0).any():
            raise ValueError(f"x must be strictly increasing and not empty, got {x}")

    def breaks(self, lipschitz: float) -> tuple[FloatArray, FloatArray]:
        """The starts and ends of the neighbouring samples that violate the Lipschitz condition."""
        bad = np.abs(np.diff(self.y)) > lipschitz * np.diff(self.x)
        return self.x[:-1][bad], self.x[1:][bad]


@dataclass(frozen=True, eq=False)
class Breaks:
    """The breaks of T functions: [start, end] each (equal for a discontinuity), and whose it is.

    Counting is by window: a function counts where a closed interval of length ε contains one of its breaks.
    """

    start: FloatArray
    end: FloatArray
    owner: IntArray
    T: int

    def __len__(self) -> int:
        return self.start.size

    def prefix(self, T: int) -> Breaks:
        """The breaks of the first T functions. O(N)."""
        if T >= self.T:
            return self
        keep = self.owner < T
        start = self.start[keep]
        end = start if self.end is self.start else self.end[keep]
        return Breaks(start, end, self.owner[keep], T)

    @property
    def functions(self) -> int:
        """How many functions break at all."""
        return int(np.count_nonzero(np.bincount(self.owner, minlength=1)))

    @cached_property
    def _sorted(self) -> _Sorted:
        """The arrays that the sweeps ask for; `start` is sorted already."""
        from semibandit.dispersion import _kernels

        next_end = _kernels.following(self.end, self.owner, self.T)
        if self.end is self.start:
            prev_start = _kernels.previous(self.start, self.owner, self.T)
            return self.start, self.start, next_end, self.start, self.start, prev_start
        order = np.argsort(self.end, kind="stable")
        start, owner = self.start[order], self.owner[order]
        prev_start = _kernels.previous(start, owner, self.T)
        return self.start, self.end, next_end, self.end[order], start, prev_start

    def worst(self, eps: float) -> tuple[int, float]:
        """The most functions that break in a window of length ε, and where it begins. O(N) once sorted."""
        from semibandit.dispersion import _kernels

        if len(self) == 0:
            return 0, math.nan
        count, at = _kernels.worst_window(*self._sorted, eps)
        return int(count), float(self.start[at])

    def smallest_span(self, k: int) -> tuple[float, float]:
        """The length of the shortest interval in which k functions break, and where it begins. O(N)."""
        from semibandit.dispersion import _kernels

        if len(self) == 0:
            return math.inf, math.nan
        span, at = _kernels.smallest_span(*self._sorted, k)
        return float(span), float(self.start[at])

    def most_breaks(self, length: float) -> int:
        """The most breaks, whosever they are, that start in a window of this length. O(N)."""
        from semibandit.dispersion import _kernels

        return int(_kernels.most_breaks(self.start, length))


@dataclass(frozen=True, eq=False)
class Jumps(Breaks):
    """The jumps of T step functions, counted by pairs of points: Definition 3 with L > 0, to the letter."""

    before: FloatArray = field(default_factory=lambda: np.zeros(0))
    after: FloatArray = field(default_factory=lambda: np.zeros(0))
    lipschitz: float = 0.0

    def prefix(self, T: int) -> Jumps:
        """The jumps of the first T functions. O(N)."""
        if T >= self.T:
            return self
        keep = self.owner < T
        start = self.start[keep]
        parts = start, start, self.owner[keep], T, self.before[keep], self.after[keep], self.lipschitz
        return Jumps(*parts)

    def worst(self, eps: float) -> tuple[int, float]:
        """The most functions that violate the condition between two points at most ε apart."""
        from semibandit.dispersion import _kernels

        if len(self) == 0:
            return 0, math.nan
        count, at = _kernels.worst_pair(
            self.start, self.before, self.after, self.owner, self.T, eps, self.lipschitz
        )
        return int(count), float(self.start[at])

    def smallest_span(self, k: int) -> tuple[float, float]:
        """As for `Breaks`, by bisection: O(log) sweeps."""
        lo, hi = 0.0, float(self.start[-1] - self.start[0]) if len(self) else 0.0
        if self.worst(hi)[0] < k:
            return math.inf, math.nan
        if self.worst(lo)[0] >= k:
            return lo, self.worst(lo)[1]
        while lo < (middle := (lo + hi) / 2.0) < hi:
            lo, hi = (lo, middle) if self.worst(middle)[0] >= k else (middle, hi)
        return hi, self.worst(hi)[1]


# -- reading ---------------------------------------------------------------------------------------------


class Found(NamedTuple):
    """What `collect` has read from a stream: its breaks along each row, and what a regret bound asks for.

    `space` is the range of rho, `pieces` the number of pieces of all functions on all rows, `lipschitz` the
    constant between breaks, `high` the upper end of the losses.
    """

    rows: tuple[Breaks, ...]
    space: Interval
    pieces: int
    lipschitz: float
    high: float


def collect(functions: Any, space: Space | None, lipschitz: float | None) -> Found:
    """The breaks inside the space, sorted, along each of its rows; an interval is one row.

    Where no space is given, it is the smallest interval that holds everything. An edge without a jump is no
    break, but parts two feedback sets.
    """
    if isinstance(functions, np.ndarray) and functions.ndim == 2:
        T, K = functions.shape
        start = _floats(0, functions.ravel())
        rows, slope, high = [_Row(start, start, np.repeat(np.arange(T), K))], 0.0, 1.0
    else:
        rows, T, slope, high = _read_each(functions, space, lipschitz or 0.0)
    if T == 0:
        raise ValueError("functions must hold at least one function, got none")
    if lipschitz is None:
        lipschitz = slope
    elif slope > lipschitz * (1.0 + _ROUNDING):
        raise ValueError(
            f"lipschitz must be at least the largest slope of the functions, {slope:g}, got {lipschitz:g}"
        )
    interval = _hull(rows) if space is None else space.interval
    inside = [row.inside(None if space is None else interval) for row in rows]
    pieces = sum(T + row.start.size + row.silent.size for row in inside)
    # Between jumps of flat functions nothing changes, so that pairs of points can be compared exactly.
    pairs = lipschitz > 0.0 and slope == 0.0
    return Found(
        tuple(row.breaks(T, lipschitz if pairs else 0.0) for row in inside), interval, pieces, lipschitz, high
    )


@dataclass
class _Row:
    """The breaks of all functions along a row, in the order in which they were read."""

    start: FloatArray
    end: FloatArray
    owner: IntArray
    levels: FloatArray | None = None  # before and after each jump, where every function is piecewise
    silent: FloatArray = field(default_factory=lambda: np.zeros(0))  # edges without a jump
    spans: FloatArray = field(default_factory=lambda: np.zeros(0))  # the ends of the functions

    def __post_init__(self) -> None:
        if not np.isfinite(self.start).all():
            bad = int(np.flatnonzero(~np.isfinite(self.start))[0])
            raise ValueError(
                f"discontinuities must be finite, got {self.start[bad]} in functions[{self.owner[bad]}]"
            )

    def inside(self, space: Interval | None) -> _Row:
        """The breaks in the space, sorted; all of them where there is none."""
        order, silent = np.argsort(self.start), self.silent
        if space is not None:
            # An end of the space is no break inside it, but a pair of samples may reach up to it.
            keep = (self.start > space.lo) & (self.end < space.hi)
            keep |= (self.start < self.end) & (self.start >= space.lo) & (self.end <= space.hi)
            order = order[keep[order]]
            silent = silent[(silent > space.lo) & (silent < space.hi)]
        start = self.start[order]
        end = start if (self.start is self.end) or (self.start == self.end).all() else self.end[order]
        levels = None if self.levels is None else self.levels[:, order]
        return _Row(start, end, self.owner[order], levels, silent)

    def breaks(self, T: int, lipschitz: float) -> Breaks:
        """As `Breaks`, or as `Jumps` for a Lipschitz constant above 0 where the levels are known."""
        if lipschitz > 0.0 and self.levels is not None:
            before, after = self.levels
            return Jumps(self.start, self.start, self.owner, T, before, after, lipschitz)
        return Breaks(self.start, self.end, self.owner, T)


class _Part(NamedTuple):
    """What one function adds to a row."""

    start: FloatArray
    end: FloatArray
    levels: FloatArray | None
    silent: FloatArray
    span: FloatArray
    slope: float


def _read_each(
    functions: Iterable[Any], space: Space | None, lipschitz: float
) -> tuple[list[_Row], int, float, float]:
    """One item after another: the rows, the number of functions, the largest slope and the largest loss."""
    _validate.iterable("functions", functions, "a sequence of functions")
    read: list[list[_Part]] = []
    high = 0.0
    for i, item in enumerate(functions):
        own = space
        if hasattr(item, "losses"):
            own = getattr(item, "space", space)
            high = max(high, float(getattr(item, "high", 1.0)))
            item = item.losses()
            if not isinstance(item, Piecewise):
                raise TypeError(
                    f"`losses` must return the loss as a PiecewiseConstant (or a PiecewiseLinear), "
                    f"got {item!r} from functions[{i}]"
                )
        read.append([_part(i, part, lipschitz) for part in _rows(own, item)])
        if len(read[i]) != len(read[0]):
            raise ValueError(
                f"every function must have the same number of rows, got {len(read[0])} in functions[0] "
                f"and {len(read[i])} in functions[{i}]"
            )
    kinds = {part.levels is None for parts in read for part in parts}
    if lipschitz > 0.0 and len(kinds) > 1:
        raise TypeError("with lipschitz > 0, piecewise functions cannot be mixed with samples or lists")
    rows = [_joined(parts) for parts in zip(*read, strict=True)]
    slope = max((part.slope for parts in read for part in parts), default=0.0)
    return rows, len(read), slope, high or 1.0


def _rows(space: Space | None, item: Any) -> list[Any]:
    """A function on the line of a space as one function of rho for each row."""
    if space is None or space.line.n_rows == 1 or not isinstance(item, Piecewise):
        return [item]
    return list(space.line.rows(item))


def _part(i: int, item: Any, lipschitz: float) -> _Part:
    nothing = np.zeros(0)
    if isinstance(item, Piecewise):
        left, right = item.ends
        before, after, inner = right[:-1], left[1:], item.edges[1:-1]
        # nan, where the function is not seen, differs from everything.
        jumps = (before != after) & ~np.isnan(before) & ~np.isnan(after)
        at, levels = inner[jumps], np.stack([before[jumps], after[jumps]])
        return _Part(at, at, levels, inner[~jumps], item.edges[[0, -1]], item.lipschitz())
    if isinstance(item, Samples):
        return _Part(*item.breaks(lipschitz), None, nothing, item.x[[0, -1]], 0.0)
    at = _floats(i, item)
    return _Part(at, at, None, nothing, nothing, 0.0)


def _joined(parts: Iterable[_Part]) -> _Row:
    start, end, levels, silent, span, _ = zip(*parts, strict=True)
    owner = np.repeat(np.arange(len(start)), [at.size for at in start])
    known = None if any(level is None for level in levels) else np.concatenate(levels, axis=1)
    return _Row(
        np.concatenate(start), np.concatenate(end), owner, known, np.concatenate(silent), np.concatenate(span)
    )


def _floats(i: int, item: Any) -> FloatArray:
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
    return array


def _hull(rows: Iterable[_Row]) -> Interval:
    values = np.concatenate([part for row in rows for part in (row.spans, row.start, row.end)])
    lo, hi = (float(values.min()), float(values.max())) if values.size else (0.0, 1.0)
    return Interval(lo, hi) if lo < hi else Interval(lo - 0.5, hi + 0.5)
