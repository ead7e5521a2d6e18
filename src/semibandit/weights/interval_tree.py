"""The weights of a learner: a piecewise constant function under Draw, Integrate and Update."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from semibandit import _validate
from semibandit._validate import FloatArray
from semibandit.functions import Piecewise, PiecewiseConstant
from semibandit.spaces import Line
from semibandit.weights import _scaled as scaled
from semibandit.weights import _tree_kernels as k
from semibandit.weights._invariants import FAULTS, first_fault
from semibandit.weights._step import learn
from semibandit.weights._told import FACTOR
from semibandit.weights.cells import Cells
from semibandit.weights.exponential import ExponentialPieces
from semibandit.weights.splitting import split_log
from semibandit.weights.steps import Learned, Rule, Seen, Step

__all__ = ["IntervalTree"]

# New trees fill their nodes to two thirds, as random insertions would in the long run.
_FILL = 2 * k.FANOUT // 3
_AT_ONCE = 16  # intervals that room is made for, if only one is told


class IntervalTree:
    """A positive step function on [lo, hi), initially 1 (appendix A.2 of the paper).

    `draw`, `integrate` and `update` cost O(log P) for P pieces; an update makes at most two new pieces.
    Weights are kept as m·2^e (scaled numbers), so that their logarithms may lie any distance apart.

    Examples
    --------
    >>> tree = IntervalTree(0, 1)
    >>> tree.update(0.5, 1, -1000)
    >>> tree.share(0, 0.5), tree.integrate(0.5, 1)
    (1.0, -1000.6931471805599)
    >>> tree.draw(0.5)
    0.25
    """

    finest_rate_step = 0.5  # the rate moves by powers of two: another one costs O(P)
    _spare = 0  # intervals that there is room for, at least

    def __init__(self, lo: float, hi: float) -> None:
        lo = _validate.number("lo", lo)
        hi = _validate.number("hi", hi)
        if not (lo < hi and math.isfinite(hi - lo)):
            raise ValueError(f"lo must be below hi, a finite distance apart, got {lo!r} and {hi!r}")
        mant, expo = math.frexp(hi - lo)
        self._build(np.array([lo]), np.array([mant]), np.array([expo]), hi)

    @classmethod
    def from_pieces(cls, edges: FloatArray, log_weights: FloatArray) -> IntervalTree:
        """A tree with the given weights exp(log_weights) on [edges[i], edges[i + 1]). O(P)."""
        edges = _validate.vector("edges", edges)
        if edges.size < 2 or not (edges[1:] > edges[:-1]).all():
            raise ValueError(f"edges must be strictly increasing, at least two, got {edges}")
        if not math.isfinite(float(edges[-1]) - float(edges[0])):
            raise ValueError(f"edges must be a finite distance apart, got {edges[0]!s} and {edges[-1]!s}")
        log_weights = _validate.vector("log_weights", log_weights, length=edges.size - 1)
        _limit("log_weights", log_weights)
        mant, shift = np.frexp(np.diff(edges))
        expo = shift.astype(np.int64)
        k.multiply_each(mant, expo, log_weights)
        tree = cls.__new__(cls)
        tree._build(edges[:-1], mant, expo, float(edges[-1]))
        return tree

    def _build(self, key: FloatArray, mant: FloatArray, expo: npt.NDArray[Any], hi: float) -> None:
        leaves = math.ceil(key.size / _FILL)
        # Leaves, the levels above them, and room to grow.
        self._nodes = _allocate(2 * leaves + 16)
        self._nodes.real[k.HEAD, k.LO], self._nodes.real[k.HEAD, k.HI] = key[0], hi
        k.build(self._nodes, key, mant, expo.astype(np.int64), _FILL)

    def _reserve(self, n_intervals: int) -> None:
        """Make room for two cuts per interval, each of which may split a node per level and the root."""
        self._spare -= n_intervals
        if self._spare < 0:
            # For some more at once, in which the root is split once at most, to look at the tree less often.
            at_once = max(n_intervals, _AT_ONCE)
            self._reserve_nodes(at_once)
            self._spare = at_once - n_intervals

    def _reserve_nodes(self, n_intervals: int) -> None:
        whole = self._nodes.whole
        used = whole.item(k.HEAD, k.N_NODES)
        needed = used + 2 * n_intervals * (whole.item(k.HEAD, k.HEIGHT) + 3)
        # All nodes but the root have 11 slots or more: `build` leaves that many, a split leaves 16. So there
        # are at most P/11 leaves, P/11² nodes above them and so on.
        needed = min(needed, (len(self) + 2 * n_intervals) // 10 + 3)
        if needed > len(whole):
            self._nodes = _allocate(max(needed, 2 * len(whole)))
            self._nodes.whole[:used] = whole[:used]

    # -- the three operations --------------------------------------------------------------------

    def draw(self, u: float) -> float:
        """The point that has a share u in [0, 1) of the mass to its left."""
        if not (type(u) is float and 0.0 <= u < 1.0):  # the usual case at the least cost
            u = _validate.number("u", u)
            if not 0.0 <= u < 1.0:
                raise ValueError(f"u must be in [0, 1), got {u!r}")
        return k.draw(self._nodes.whole, u)

    def integrate(self, lo: Any, hi: Any) -> float:
        """The logarithm of the integral over [lo, hi), or over a union of intervals given as arrays."""
        return scaled.log(*k.integrate_all(self._nodes, *self._intervals(lo, hi)))

    def share(self, lo: Any, hi: Any) -> float:
        """The integral over [lo, hi), or a union of intervals, relative to the whole."""
        part = k.integrate_all(self._nodes, *self._intervals(lo, hi))
        return min(scaled.ratio(*part, *k.grand_total(self._nodes)), 1.0)

    def update(self, lo: Any, hi: Any, log_factor: Any) -> None:
        """Multiply by exp(log_factor) on [lo, hi), or on each of a union of intervals."""
        lo, hi = self._intervals(lo, hi)
        factors = _validate.floats("log_factor", log_factor, "a number or one for each interval")
        if factors.ndim and factors.shape != lo.shape:
            raise ValueError(
                f"log_factor must be one number, or one for each of {lo.size} intervals, "
                f"got shape {factors.shape}"
            )
        _limit("log_factor", factors)
        factors = np.broadcast_to(factors, lo.shape)
        self._reserve(lo.size)
        k.update_all(self._nodes, lo, hi, factors)

    def _intervals(self, lo: Any, hi: Any) -> tuple[FloatArray, FloatArray]:
        lo = np.atleast_1d(_validate.floats("lo", lo, "a number or a sequence of numbers"))
        hi = np.atleast_1d(_validate.floats("hi", hi, "a number or a sequence of numbers"))
        a, b = self.ends
        if lo.shape != hi.shape or lo.ndim != 1:
            raise ValueError(f"lo and hi must have the same length, got shapes {lo.shape} and {hi.shape}")
        if not ((a <= lo) & (lo < hi) & (hi <= b)).all():
            raise ValueError(f"lo and hi must satisfy {a:g} <= lo < hi <= {b:g}, got lo = {lo}, hi = {hi}")
        if (lo[1:] < hi[:-1]).any():
            raise ValueError("lo and hi must be those of disjoint intervals in increasing order")
        return lo, hi

    def apart(self) -> IntervalTree:
        """The tree itself: its steps can be undone."""
        return self

    def learn(self, seen: Seen | Step, rule: Rule) -> Learned:
        """One step of Algorithm 1, in place: multiply by exp(-rate · estimate). O(m log P) for m pieces.

        Losses with a slope turn the weights into `ExponentialPieces`.
        """
        if seen.sloped:
            steps, logs = self.pieces()
            return ExponentialPieces(steps, logs, logs).learn(seen, rule)
        told = seen.table()
        self._reserve(seen.n_edges - 1)
        gap, clipped, p, factor = learn(
            self._nodes.whole, seen.lo, seen.hi, seen.paid, told, seen.late_shares(),
            rule.shift(), rule.explore, rule.floor, rule.rate, seen.whole,
        )  # fmt: skip
        factors = told[FACTOR, :-1] if told.size else (factor,)
        return Learned(self, seen.chances_in(told, p), gap, factors, most_clipped=clipped)

    # -- the whole function ----------------------------------------------------------------------

    def __len__(self) -> int:
        """The number of pieces."""
        return self._nodes.whole.item(k.HEAD, k.N_PIECES)

    @property
    def ends(self) -> tuple[float, float]:
        """The ends of the line."""
        return self._nodes.real.item(k.HEAD, k.LO), self._nodes.real.item(k.HEAD, k.HI)

    @property
    def nbytes(self) -> int:
        """Memory of the structure."""
        return self._nodes.whole.nbytes

    def log_total(self) -> float:
        """The logarithm of the integral over the line."""
        return scaled.log(*k.grand_total(self._nodes))

    def _collect(self) -> tuple[FloatArray, FloatArray, npt.NDArray[np.int64]]:
        n = len(self)
        key, mant, expo = np.empty(n), np.empty(n), np.empty(n, np.int64)
        k.collect(self._nodes, key, mant, expo)
        return key, mant, expo

    def pieces(self) -> tuple[FloatArray, FloatArray]:
        """The edges, and the logarithm of the weight relative to the largest one, on each piece. O(P)."""
        key, mant, expo = self._collect()
        edges = np.append(key, self.ends[1])
        width, width_expo = np.frexp(np.diff(edges))
        mant, shift = np.frexp(mant / width)
        expo += shift - width_expo
        # Relative to the top before taking logarithms: small differences survive large magnitudes.
        top = np.lexsort((mant, expo))[-1]
        return edges, np.log(mant / mant[top]) + (expo - expo[top]) * scaled.LN2

    def lead(self) -> float:
        """Clips are not kept account of here: the learner adds up what each step reports."""
        return 0.0

    def warmed(self, total: Piecewise, count: int, weight: float, rate: float) -> Any:
        """As if so many whole functions had been seen, given by their sum, each for `weight` rounds."""
        tree = self.raised_to(1.0)
        tree.update(total.edges[:-1], total.edges[1:], -rate * weight * total.middles)
        return tree

    def log(self) -> PiecewiseConstant:
        """The logarithm of the weight, relative to the largest one. O(P)."""
        return PiecewiseConstant.trusted(*self.pieces())

    def density(self) -> PiecewiseConstant:
        """The function, normalised to a density. O(P)."""
        edges, logs = self.pieces()
        weights = np.exp(logs)
        return PiecewiseConstant(edges, weights / np.dot(weights, np.diff(edges)))

    @property
    def alike(self) -> float:
        """Logarithms of the weight this close are equal but for rounding."""
        return 1e-9

    def raised_to(self, power: float) -> IntervalTree:
        """A new tree with the function to a positive power, for a change of the learning rate. O(P)."""
        power = _validate.number("power", power, low=0.0, open=True)
        key, mant, expo = self._collect()
        k.raise_to(key, mant, expo, self.ends[1], power)
        tree = IntervalTree.__new__(IntervalTree)
        tree._build(key, mant, expo, self.ends[1])
        return tree

    def split(self, parents: Sequence[int], line: Line, cells: Cells, budget: int) -> IntervalTree:
        """The function on a line with further rows; a parent and its parts share its mass evenly. O(P)."""
        log = split_log(self.log(), parents, line)
        return IntervalTree.from_pieces(log.edges, log.ends[0])

    def joined(self, n_pieces: int) -> tuple[IntervalTree, float]:
        """A new tree with at most `n_pieces` pieces, made by joining neighbours, and the error δ of that.

        Masses are kept, so that the normalised function has changed nowhere by more than a factor
        between exp(-δ) and exp(δ). Neighbours are joined while their logarithms stay within a range; the
        range is the smallest that will do. O(P) times the 60 steps of a bisection.
        """
        n_pieces = _validate.integer("n_pieces", n_pieces, low=1)
        edges, logs = self.pieces()
        if logs.size <= n_pieces:
            return IntervalTree._of(IntervalTree.state(self)), 0.0
        low, high = 0.0, float(np.ptp(logs))
        for _ in range(60):
            middle = 0.5 * (low + high)
            low, high = (low, middle) if k.group(logs, middle).sum() <= n_pieces else (middle, high)
        first = np.flatnonzero(k.group(logs, high))
        mass = np.logaddexp.reduceat(logs + np.log(np.diff(edges)), first)
        edges = edges[np.append(first, logs.size)]
        joined = mass - np.log(np.diff(edges))
        change = np.repeat(joined, np.diff(np.append(first, logs.size))) - logs
        return IntervalTree.from_pieces(edges, joined), float(np.abs(change).max())

    def log_shares(self, edges: FloatArray) -> FloatArray:
        """The logarithm of the share of the mass between consecutive edges. O(m log P)."""
        edges = _validate.vector("edges", edges)
        lo, hi = self._intervals(edges[:-1], edges[1:])
        return k.log_shares(self._nodes, lo, hi)

    # -- saving ----------------------------------------------------------------------------------

    def state(self) -> npt.NDArray[np.int64]:
        """The rows in use; `from_state` restores the tree to the bit."""
        return self._nodes.whole[: self._nodes.whole.item(k.HEAD, k.N_NODES)]

    @classmethod
    def from_state(cls, state: npt.NDArray[np.int64]) -> IntervalTree:
        """Undo `state`; raises ValueError where the rows are not those of a tree."""
        _expect(state.dtype == np.int64 and state.ndim == 2 and state.shape[1] == k.WORDS, "rows")
        _expect(len(state) > 1 and len(state) == state[k.HEAD, k.N_NODES], "number of nodes")
        tree = cls._of(state)
        tree._check()
        return tree

    @classmethod
    def _of(cls, state: npt.NDArray[np.int64]) -> IntervalTree:
        tree = cls.__new__(cls)
        tree._nodes = _allocate(len(state))
        tree._nodes.whole[:] = state
        return tree

    def __reduce__(self) -> tuple[Any, ...]:
        # Copied one by one, the two views of the rows would part.
        return IntervalTree.from_state, (self.state().copy(),)

    def _check(self) -> None:
        """Verify every invariant of the structure; ValueError where one does not hold. O(P)."""
        # `_reserve` relies on nodes that are filled to more than half of what `build` puts into them.
        fault = first_fault(self._nodes, _FILL // 2 + 1)
        _expect(fault == 0, FAULTS[fault])


def _allocate(n_rows: int) -> k.Nodes:
    whole = np.zeros((n_rows, k.WORDS), np.int64)
    return k.Nodes(whole.view(np.float64), whole)


def _expect(holds: Any, what: str) -> None:
    if not holds:
        raise ValueError(f"interval tree is broken: {what}")


def _limit(name: str, logs: FloatArray) -> None:
    if not (np.abs(logs) <= scaled.LARGEST_LOG).all():
        raise ValueError(f"{name} must be finite and at most 2^40 in size, got {logs}")
