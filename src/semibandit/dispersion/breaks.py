"""Where functions break: read from problems, step functions, samples or plain lists; counted by sweeps."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from semibandit import _validate
from semibandit._validate import FloatArray
from semibandit.functions.constant import PiecewiseConstant
from semibandit.spaces.interval import Interval

__all__ = ["Breaks", "Jumps", "Samples", "collect"]

IntArray = npt.NDArray[np.int64]
_Sorted = tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]


@dataclass(frozen=True, eq=False)
class Samples:
    """A function known at the points x, where it has the values y: for losses not constant in pieces.

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


def collect(functions: Any, space: Interval | None, lipschitz: float) -> tuple[Breaks, Interval, int]:
    """The breaks inside the space, sorted; the space (the hull if none is given); the pieces of all.

    An edge of a step function without a change of its value is no break, but parts two feedback sets.
    """
    read = _read_table if isinstance(functions, np.ndarray) and functions.ndim == 2 else _read_each
    start, end, owner, jumps, spans, silent, T = read(functions, lipschitz)
    if T == 0:
        raise ValueError("functions must hold at least one function, got none")
    if not np.isfinite(start).all():
        bad = int(np.flatnonzero(~np.isfinite(start))[0])
        raise ValueError(f"discontinuities must be finite, got {start[bad]} in functions[{owner[bad]}]")
    if space is None:
        space, order = _hull(np.concatenate([spans, start, end])), np.argsort(start)
    else:  # an end of the space is no discontinuity inside it, but a pair of samples may reach up to it
        inside = (start > space.lo) & (end < space.hi)
        inside |= (start < end) & (start >= space.lo) & (end <= space.hi)
        order = np.argsort(start)
        order = order[inside[order]]
    pieces = T + order.size + int(((silent > space.lo) & (silent < space.hi)).sum())
    at, owner = start[order], owner[order]
    if jumps is not None:
        return Jumps(at, at, owner, T, jumps[0][order], jumps[1][order], lipschitz), space, pieces
    return Breaks(at, at if (start == end).all() else end[order], owner, T), space, pieces


_Read = tuple[FloatArray, FloatArray, IntArray, FloatArray | None, FloatArray, FloatArray, int]


def _read_table(table: npt.NDArray[Any], lipschitz: float) -> _Read:
    """A row of discontinuities for each function."""
    T, K = table.shape
    start = _floats(0, table.ravel())
    return start, start, np.repeat(np.arange(T), K), None, np.zeros(0), np.zeros(0), T


def _read_each(functions: Iterable[Any], lipschitz: float) -> _Read:
    """One item after another; jumps are kept where pairs will be counted."""
    if not isinstance(functions, Iterable):
        raise TypeError(f"functions must be a sequence of functions, got {functions!r}")
    starts, ends, spans, jumps, silent, kinds = [], [], [], [], [], set()
    for i, item in enumerate(functions):
        if hasattr(item, "losses"):
            item = item.losses()
        if isinstance(item, PiecewiseConstant):
            at, levels, unchanged = _steps(item)
            silent.append(unchanged)
            starts.append(at)
            ends.append(at)
            jumps.append(levels)
            spans += [item.edges[0], item.edges[-1]]
        elif isinstance(item, Samples):
            start, end = item.breaks(lipschitz)
            starts.append(start)
            ends.append(end)
            spans += [item.x[0], item.x[-1]]
        else:
            starts.append(_floats(i, item))
            ends.append(starts[-1])
        kinds.add(isinstance(item, PiecewiseConstant))
    if lipschitz > 0.0 and len(kinds) > 1:
        raise TypeError("with lipschitz > 0, step functions cannot be mixed with other kinds of functions")
    empty = np.zeros(0)
    owner = np.repeat(np.arange(len(starts)), [part.size for part in starts])
    return (
        np.concatenate([empty, *starts]),
        np.concatenate([empty, *ends]),
        owner,
        np.concatenate(jumps, axis=1) if jumps and lipschitz > 0.0 else None,
        np.array(spans, dtype=np.float64),
        np.concatenate([empty, *silent]),
        len(starts),
    )


def _steps(function: PiecewiseConstant) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The edges at which the value changes, from one that is seen to another; the two values; other edges."""
    v, inner = function.values, function.edges[1:-1]
    changes = (v[1:] != v[:-1]) & ~np.isnan(v[1:]) & ~np.isnan(v[:-1])
    return inner[changes], np.stack([v[:-1][changes], v[1:][changes]]), inner[~changes]


def _floats(i: int, item: Any) -> FloatArray:
    try:
        array = np.asarray(item, dtype=np.float64)
    except (TypeError, ValueError):
        array = np.zeros((0, 0))
    if array.ndim != 1:
        raise TypeError(
            f"functions[{i}] must be a problem, a PiecewiseConstant, Samples, or a list of discontinuities, "
            f"got {item!r}"
        )
    return array


def _hull(values: FloatArray) -> Interval:
    lo, hi = (float(values.min()), float(values.max())) if values.size else (0.0, 1.0)
    return Interval(lo, hi) if lo < hi else Interval(lo - 0.5, hi + 0.5)
