"""The weights of a learner that is told piecewise linear losses: a piecewise exponential function."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from semibandit import _validate
from semibandit._validate import FloatArray
from semibandit.functions import Piecewise, PiecewiseLinear
from semibandit.spaces import Line
from semibandit.weights import _exponential_kernels as k
from semibandit.weights import _scaled as scaled
from semibandit.weights._told import chances
from semibandit.weights.cells import Cells
from semibandit.weights.splitting import split_log
from semibandit.weights.steps import Learned, Rule, Seen, Step

__all__ = ["ExponentialDensity", "ExponentialPieces"]


class ExponentialPieces:
    """exp of a piecewise linear function on [lo, hi), with draws and integrals in closed form.

    The sibling of `IntervalTree`. A factor with a slope changes the mass of every piece below it by a factor
    of its own, so that no tree of lazy factors can carry it: pieces lie side by side here, and a draw or
    an update costs O(P). Objects do not change; an update returns a new one.

    Parameters
    ----------
    edges
        Increasing, one more than pieces.
    left, right
        The logarithm of the weight at both ends of each piece.

    Examples
    --------
    >>> weights = ExponentialPieces([0, 1], [0], [-1000])
    >>> weights.integrate(0, 1), weights.share(0.5, 1)
    (-6.907755278982137, 7.124576406741286e-218)
    >>> weights.draw(0.5)
    0.0006931471805599453
    """

    def __init__(self, edges: npt.ArrayLike, left: npt.ArrayLike, right: npt.ArrayLike) -> None:
        edges = _validate.vector("edges", edges)
        if edges.size < 2 or not (edges[1:] > edges[:-1]).all():
            raise ValueError("edges must be strictly increasing, at least two")
        n = edges.size - 1
        self._pieces = k.Pieces(
            edges,
            np.maximum(_validate.vector("left", left, length=n), k.LOWEST),
            np.maximum(_validate.vector("right", right, length=n), k.LOWEST),
            np.empty(n),
            np.empty(n, np.int64),
        )
        k.weigh(self._pieces)

    @classmethod
    def _of(cls, pieces: k.Pieces) -> ExponentialPieces:
        weights = cls.__new__(cls)
        weights._pieces = pieces
        return weights

    # -- draw, integrate, update -----------------------------------------------------------------

    def draw(self, u: float) -> float:
        """The point that has a share u in [0, 1) of the mass to its left. O(P)."""
        u = float(u)
        if not 0.0 <= u < 1.0:
            raise ValueError(f"u must be in [0, 1), got {u!r}")
        return k.draw(self._pieces, u)

    def integrate(self, lo: Any, hi: Any) -> float:
        """The logarithm of the integral over [lo, hi), or over a union of intervals given as arrays."""
        return scaled.log(*k.total(*k.integrate_all(self._pieces, *self._intervals(lo, hi))))

    def share(self, lo: Any, hi: Any) -> float:
        """The integral over [lo, hi), or a union of intervals, relative to the whole."""
        part = k.total(*k.integrate_all(self._pieces, *self._intervals(lo, hi)))
        return min(scaled.ratio(*part, *self._total()), 1.0)

    def apart(self) -> ExponentialPieces:
        """The weights themselves: a step makes new ones."""
        return self

    def learn(self, seen: Seen | Step, rule: Rule) -> Learned:
        """One step of Algorithm 1: new weights, multiplied by exp(-rate · estimate). O(P)."""
        seen = seen.in_arrays()
        told = seen.sets >= 0
        shares, p = seen.late_shares(), seen.chances()
        if not shares.size:
            shares = np.zeros(told.size)
            mant, expo = k.integrate_all(self._pieces, seen.edges[:-1][told], seen.edges[1:][told])
            shares[told] = k.ratios(mant, expo, *self._total())
        chances(seen.sets, shares, int(seen.times.sum()), p)
        exact = (np.column_stack(seen.losses) - rule.shift()) / (p[seen.sets] + rule.explore)[:, None]
        exact[~told] = np.nan
        pieces, mean = k.learn(self._pieces, *_raised(seen.edges, exact, rule.floor), rule.rate)
        after = ExponentialPieces._of(pieces)
        gap = mean + (after.log_total() - self.log_total()) / rule.rate
        clipped = max(float(rule.floor - np.nanmin(exact)), 0.0)
        return Learned(after, tuple(p.tolist()), max(float(gap), 0.0), most_clipped=clipped)

    def _intervals(self, lo: Any, hi: Any) -> tuple[FloatArray, FloatArray]:
        lo = np.atleast_1d(np.asarray(lo, dtype=np.float64))
        hi = np.atleast_1d(np.asarray(hi, dtype=np.float64))
        a, b = self.ends
        if not (lo.shape == hi.shape and ((a <= lo) & (lo < hi) & (hi <= b)).all()):
            raise ValueError(f"intervals must satisfy {a:g} <= lo < hi <= {b:g}, got lo = {lo}, hi = {hi}")
        return lo, hi

    # -- the whole function ----------------------------------------------------------------------

    def __len__(self) -> int:
        """The number of pieces."""
        return self._pieces.left.size

    @property
    def ends(self) -> tuple[float, float]:
        """The ends of the line."""
        return float(self._pieces.edges[0]), float(self._pieces.edges[-1])

    @property
    def nbytes(self) -> int:
        """Memory of the structure."""
        return sum(array.nbytes for array in self._pieces)

    def _total(self) -> tuple[float, int]:
        return k.total(self._pieces.mant, self._pieces.expo)

    def log_total(self) -> float:
        """The logarithm of the integral over the line."""
        return scaled.log(*self._total())

    def lead(self) -> float:
        """Clips are not kept account of here: the learner adds up what each step reports."""
        return 0.0

    def warmed(self, total: Piecewise, count: int, weight: float, rate: float) -> ExponentialPieces:
        """As if so many whole functions had been seen, given by their sum, each for `weight` rounds."""
        pieces, _ = k.learn(self._pieces, np.array(total.edges), np.column_stack(total.ends), rate * weight)
        return ExponentialPieces._of(pieces)

    def log(self) -> PiecewiseLinear:
        """The logarithm of the weight, relative to the largest one."""
        p = self._pieces
        top = max(p.left.max(), p.right.max())
        return PiecewiseLinear(p.edges, p.left - top, p.right - top)

    def density(self) -> ExponentialDensity:
        """The function, normalised to a density."""
        return ExponentialDensity(self)

    @property
    def alike(self) -> float:
        """Logarithms of the weight this close are equal but for rounding."""
        return 1e-9

    @property
    def finest_rate_step(self) -> float:
        """The rate moves by powers of two: another rate costs O(P)."""
        return 0.5

    def raised_to(self, power: float) -> ExponentialPieces:
        """The function to a positive power, for a change of the learning rate. O(P)."""
        power = _validate.number("power", power, low=0.0, open=True)
        logs = self.log()
        with np.errstate(over="ignore"):
            left, right = (np.maximum(ends * power, k.LOWEST) for ends in (logs.left, logs.right))
        return ExponentialPieces(logs.edges, left, right)

    def split(self, parents: Sequence[int], line: Line, cells: Cells, budget: int) -> ExponentialPieces:
        """The function on a line with further rows; a parent and its parts share its mass evenly. O(P)."""
        log = split_log(self.log(), parents, line)
        return ExponentialPieces(log.edges, *log.ends)

    def joined(self, n_pieces: int) -> tuple[ExponentialPieces, float]:
        """At most `n_pieces` pieces, made by joining neighbours, and the error δ of that.

        Masses are kept, so that the normalised function has changed nowhere by more than a factor between
        exp(-δ) and exp(δ). Neighbours are joined while a line stays within reach of their logarithms; the
        reach is the smallest that will do. O(P) times the 60 steps of a bisection.
        """
        n_pieces = _validate.integer("n_pieces", n_pieces, low=1)
        if len(self) <= n_pieces:
            return self, 0.0
        p = self._pieces
        low, high = 0.0, float(max(p.left.max(), p.right.max()) - min(p.left.min(), p.right.min()))
        for _ in range(60):
            middle = 0.5 * (low + high)
            low, high = (low, middle) if k.fit(p, middle)[1].size <= n_pieces else (middle, high)
        first, slopes = k.fit(p, high)
        edges = p.edges[first]
        left = p.left[first[:-1]]
        right = left + slopes * np.diff(edges)
        shift = self.log_shares(edges) - ExponentialPieces(edges, left, right).log_shares(edges)
        # Shares of different wholes: bring both to the same total.
        joined = ExponentialPieces(edges, left + shift, right + shift)
        line = PiecewiseLinear(edges, joined._pieces.left, joined._pieces.right)
        offset = joined.log_total() - self.log_total()
        new_left, new_right = line.spread(p.edges)
        change = max(np.abs(new_left - offset - p.left).max(), np.abs(new_right - offset - p.right).max())
        return joined, float(change)

    def log_shares(self, edges: FloatArray) -> FloatArray:
        """The logarithm of the share of the mass between consecutive edges."""
        mant, expo = k.integrate_all(self._pieces, *self._intervals(edges[:-1], edges[1:]))
        m, e = self._total()
        return np.asarray(np.log(mant / m) + (expo - e) * scaled.LN2)

    # -- saving ----------------------------------------------------------------------------------

    def state(self) -> FloatArray:
        """Three rows: edges, left, right; `from_state` restores the weights to the bit."""
        p = self._pieces
        return np.stack((p.edges, np.append(p.left, 0.0), np.append(p.right, 0.0)))

    @classmethod
    def from_state(cls, state: FloatArray) -> ExponentialPieces:
        """Undo `state`; raises ValueError where the rows are not those of weights."""
        if state.dtype != np.float64 or state.ndim != 2 or state.shape[0] != 3:
            raise ValueError("piecewise exponential weights are broken: rows")
        return cls(state[0], state[1, :-1], state[2, :-1])


class ExponentialDensity:
    """A density that is exp of a piecewise linear function: what `density()` of such weights returns.

    Examples
    --------
    >>> density = ExponentialDensity(ExponentialPieces([0, 1], [0], [-2]))
    >>> round(density(0.0), 6), round(density.integral(0, 0.5), 6)
    (2.313035, 0.731059)
    """

    def __init__(self, weights: ExponentialPieces) -> None:
        self._weights = weights
        p = weights._pieces
        self.edges = p.edges
        top = float(max(p.left.max(), p.right.max()))
        log = weights.log()
        norm = weights.log_total() - top
        self.log = PiecewiseLinear(log.edges, log.left - norm, log.right - norm)

    @overload
    def __call__(self, x: float) -> float: ...
    @overload
    def __call__(self, x: npt.NDArray[Any] | list[float]) -> FloatArray: ...
    def __call__(self, x: Any) -> Any:
        """The density at x (a number or an array)."""
        logs = self.log(x)
        return math.exp(logs) if isinstance(logs, float) else np.exp(logs)

    def integral(self, lo: float | None = None, hi: float | None = None) -> float:
        """The probability of [lo, hi); of everything by default."""
        a, b = self._weights.ends
        return self._weights.share(a if lo is None else lo, b if hi is None else hi)

    def between(self, edges: FloatArray) -> FloatArray:
        """The probability between consecutive edges."""
        return np.exp(self._weights.log_shares(edges))

    def __len__(self) -> int:
        """The number of pieces."""
        return len(self._weights)

    def __repr__(self) -> str:
        return f"<Exponential density on [{self.edges[0]:g}, {self.edges[-1]:g}]: {len(self)} pieces>"


def _raised(edges: FloatArray, ends: FloatArray, floor: float) -> tuple[FloatArray, FloatArray]:
    """The larger of a piecewise linear function and a number: lines that cross it get a kink there.

    >>> _raised(np.array([0.0, 4.0]), np.array([[-1.0, 3.0]]), 0.0)
    (array([0., 1., 4.]), array([[0., 0.],
           [0., 3.]]))
    """
    left, right = ends[:, 0], ends[:, 1]
    crossing = np.flatnonzero((left - floor) * (right - floor) < 0.0)
    if crossing.size:
        share = (floor - left[crossing]) / (right[crossing] - left[crossing])
        kinks = edges[crossing] + share * np.diff(edges)[crossing]
        inside = (edges[crossing] < kinks) & (kinks < edges[crossing + 1])
        crossing, kinks = crossing[inside], kinks[inside]
        edges = np.insert(edges, crossing + 1, kinks)
        left = np.insert(left, crossing + 1, floor)
        right = np.insert(right, crossing, floor)
    return edges, np.maximum(np.column_stack((left, right)), floor)
