"""Interval tree (appendix A.2): a step function with Draw, Integrate and Update in O(log P)."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from semibandit import _validate
from semibandit._validate import FloatArray
from semibandit.functions import Piecewise, PiecewiseConstant
from semibandit.weights import _scaled as scaled
from semibandit.weights import _tree_kernels as k
from semibandit.weights._invariants import FAULTS, first_fault
from semibandit.weights._tree_rule import learn
from semibandit.weights.cells import Cells
from semibandit.weights.feedback import Feedback, Rule, Update

__all__ = ["IntervalTree", "finite_density"]

# New trees fill their nodes to two thirds, as random insertions would in the long run.
_FILL = 2 * k.FANOUT // 3
_AT_ONCE = 16  # room is made for so many intervals at least
_STEPS = 256  # pieces of the line for losses with a slope, at least


class IntervalTree:
    """A positive step function on [lo, hi), initially 1 (appendix A.2 of the paper).

    `draw`, `integrate` and `update` cost O(log P) for P pieces; an update makes at most two new pieces.
    Weights are scaled numbers m·2^e, so that their logarithms may lie any distance apart.

    Examples
    --------
    >>> tree = IntervalTree(0, 1)
    >>> tree.update(0.5, 1, -1000)
    >>> tree.share(0, 0.5), tree.integrate(0.5, 1)
    (1.0, -1000.6931471805599)
    >>> tree.draw(0.5)
    0.25
    """

    kind: ClassVar[str] = "interval tree"
    tie_tolerance = 1e-9  # log-weights this close are equal but for rounding
    _spare = 0  # number of intervals that there is room for

    def __init__(self, lo: float, hi: float) -> None:
        lo = _validate.number("lo", lo)
        hi = _validate.number("hi", hi)
        if not (lo < hi and math.isfinite(hi - lo)):
            raise ValueError(f"lo must be below hi, a finite distance apart, got {lo!r} and {hi!r}")
        mant, expo = math.frexp(hi - lo)
        self._build(np.array([lo]), np.array([mant]), np.array([expo]), hi)

    @classmethod
    def from_pieces(cls, edges: FloatArray, log_weights: FloatArray) -> IntervalTree:
        """Return a tree with the weights exp(log_weights) on [edges[i], edges[i + 1]). O(P)."""
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
            # For several at once, in which the root is split once at most.
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
        """Return the point with a share u in [0, 1) of the mass to its left. O(log P)."""
        if not (type(u) is float and 0.0 <= u < 1.0):  # the common case first
            u = _validate.number("u", u)
            if not 0.0 <= u < 1.0:
                raise ValueError(f"u must be in [0, 1), got {u!r}")
        return k.draw(self._nodes.whole, u)

    def integrate(self, lo: Any, hi: Any) -> float:
        """Return the logarithm of the integral over [lo, hi), or over a union given as arrays."""
        return scaled.log(*k.integrate_all(self._nodes, *self._intervals(lo, hi)))

    def share(self, lo: Any, hi: Any) -> float:
        """Return the integral over [lo, hi), or a union of intervals, divided by that over the line."""
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

    def detached(self) -> IntervalTree:
        """Return the tree itself: its steps can be undone."""
        return self

    def learn(self, feedback: Feedback, rule: Rule) -> Update:
        """Perform one step of Algorithm 1 in place. O(m log P) for m pieces of feedback; lines cost O(P)."""
        if feedback.rises is not None:
            feedback = self._in_steps(feedback)
        edges, seen, factors = feedback.edges, feedback.revealed(), np.zeros(feedback.losses.size)
        self._reserve(factors.size)
        shares = feedback.late_shares(edges)[:2]
        gap, regret, raised = learn(self._nodes.whole, seen, shares, factors, rule)
        if feedback.rises is not None:  # the loss at a place may be below the mean of its piece by half
            observed = feedback.sets >= 0
            p = seen.p[feedback.sets[observed]] + rule.explore
            raised += 0.5 * float((np.abs(feedback.rises[observed]) / p).max())
        return Update(self, tuple(seen.p.tolist()), gap, regret, None, edges, factors, raised)

    def _in_steps(self, feedback: Feedback) -> Feedback:
        """Replace lines by means over the pieces of the tree, and of 256 equal parts of the line."""
        lo, hi = self.ends
        parts = lo + (hi - lo) * (np.arange(1, _STEPS) / _STEPS)
        edges = np.unique(np.concatenate((self._edges(), parts)))
        edges = edges[(lo <= edges) & (edges <= hi)]
        return feedback.in_steps(edges, np.exp(self.log_shares(edges)))

    # -- the whole function ----------------------------------------------------------------------

    def __len__(self) -> int:
        """Return the number of pieces."""
        return self._nodes.whole.item(k.HEAD, k.N_PIECES)

    @property
    def ends(self) -> tuple[float, float]:
        """Ends of the line."""
        return self._nodes.real.item(k.HEAD, k.LO), self._nodes.real.item(k.HEAD, k.HI)

    @property
    def nbytes(self) -> int:
        """Memory of the structure."""
        return self._nodes.whole.nbytes

    def log_total(self) -> float:
        """Return the logarithm of the integral over the line."""
        return scaled.log(*k.grand_total(self._nodes))

    def _collect(self) -> tuple[FloatArray, FloatArray, npt.NDArray[np.int64]]:
        n = len(self)
        key, mant, expo = np.empty(n), np.empty(n), np.empty(n, np.int64)
        k.collect(self._nodes, key, mant, expo)
        return key, mant, expo

    def _edges(self) -> FloatArray:
        return np.append(self._collect()[0], self.ends[1])

    def pieces(self) -> tuple[FloatArray, FloatArray]:
        """Return the edges, and on each piece the log-weight relative to the largest one. O(P)."""
        key, mant, expo = self._collect()
        edges = np.append(key, self.ends[1])
        width, width_expo = np.frexp(np.diff(edges))
        mant, shift = np.frexp(mant / width)
        expo += shift - width_expo
        # Divided by the largest before taking logarithms, to keep small differences of large ones.
        top = np.lexsort((mant, expo))[-1]
        return edges, np.log(mant / mant[top]) + (expo - expo[top]) * scaled.LN2

    def spread(self, share: float, kept: float, gaps: float, speed: float) -> IntervalTree:
        """Return a tree with a share of the uniform density mixed in; a tree has no statistics. O(P)."""
        edges, logs = self.pieces()
        even = math.log(share) - math.log(edges[-1] - edges[0])
        norm = np.logaddexp.reduce(logs + np.log(np.diff(edges)))
        return IntervalTree.from_pieces(edges, np.logaddexp(math.log1p(-share) + logs - norm, even))

    def account(self) -> None:
        """Return None: the learner adds up what each step reports."""
        return None

    def with_history(self, total: Piecewise, count: int, weight: float, rule: Rule) -> IntervalTree:
        """Return the weights after `count` whole functions with this sum, each counted `weight` times."""
        tree = self.raised_to(1.0)
        edges = total.edges
        if total.degree:
            edges = np.union1d(edges, np.linspace(*self.ends, _STEPS + 1))
        left, right = total.spread(edges)
        tree.update(edges[:-1], edges[1:], -rule.rate * weight * 0.5 * (left + right))
        return tree

    def log(self) -> PiecewiseConstant:
        """Return the logarithm of the weight, relative to the largest one. O(P)."""
        return PiecewiseConstant.trusted(*self.pieces())

    def density(self) -> PiecewiseConstant:
        """Return the function, normalised to a density. O(P)."""
        edges, logs = self.pieces()
        weights = np.exp(logs)
        with np.errstate(over="ignore"):
            return finite_density(edges, weights / np.dot(weights, np.diff(edges)))

    def raised_to(self, power: float) -> IntervalTree:
        """Return a tree with the function to a positive power, for a change of the learning rate. O(P)."""
        power = _validate.number("power", power, low=0.0, open=True)
        key, mant, expo = self._collect()
        k.raise_to(key, mant, expo, self.ends[1], power)
        tree = IntervalTree.__new__(IntervalTree)
        tree._build(key, mant, expo, self.ends[1])
        return tree

    def joined(self, n_pieces: int) -> tuple[IntervalTree, float]:
        """Return a tree with at most `n_pieces` pieces, made by joining neighbours, and the error δ.

        Masses are kept, so that the normalised function changes nowhere by more than a factor between
        exp(-δ) and exp(δ). Neighbours are joined while their log-weights stay within a range; the range is
        the smallest that suffices. O(P) times the 60 steps of a bisection.
        """
        n_pieces = _validate.integer("n_pieces", n_pieces, low=1)
        edges, logs = self.pieces()
        if logs.size <= n_pieces:
            return IntervalTree._of(self._rows), 0.0
        low, high = 0.0, float(np.ptp(logs))
        for _ in range(60):
            middle = 0.5 * (low + high)
            low, high = (low, middle) if k.group(logs, middle).sum() <= n_pieces else (middle, high)
        first = np.append(np.flatnonzero(k.group(logs, high)), logs.size)
        widths = np.diff(edges)
        mean = np.logaddexp.reduceat(logs + np.log(widths), first[:-1]) - np.log(np.diff(edges[first]))
        change = np.repeat(mean, np.diff(first)) - logs
        _, mant, expo = self._collect()
        tree = IntervalTree.__new__(IntervalTree)
        mant, expo = k.add_up(mant, expo, first)
        tree._build(edges[first[:-1]], mant, expo, self.ends[1])
        return tree, float(np.abs(change).max())

    def log_shares(self, edges: FloatArray) -> FloatArray:
        """Return the logarithm of the share of the mass between consecutive edges. O(m log P)."""
        edges = _validate.vector("edges", edges)
        lo, hi = self._intervals(edges[:-1], edges[1:])
        return k.log_shares(self._nodes, lo, hi)

    def shares(self, edges: FloatArray) -> FloatArray:
        """Return three equal rows of shares between edges."""
        return np.tile(np.exp(self.log_shares(edges)), (3, 1))

    # -- saving ----------------------------------------------------------------------------------

    @property
    def _rows(self) -> npt.NDArray[np.int64]:
        """The rows of the array that are in use."""
        return self._nodes.whole[: self._nodes.whole.item(k.HEAD, k.N_NODES)]

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return the nodes; `from_state` restores the tree to the bit."""
        return {"nodes": self._rows.copy()}

    @classmethod
    def from_state(cls, state: dict[str, npt.NDArray[Any]], cells: Cells | None = None) -> IntervalTree:
        """Return the tree with this state; ValueError if it is not one."""
        _expect(state.keys() == {"nodes"}, "arrays")
        rows = state["nodes"]
        _expect(rows.dtype == np.int64 and rows.ndim == 2 and rows.shape[1] == k.WORDS, "rows")
        _expect(len(rows) > 1 and len(rows) == rows[k.HEAD, k.N_NODES], "number of nodes")
        tree = cls._of(rows)
        tree._check()
        if cells is not None:
            _expect(tree.ends == (cells.edges[0], cells.edges[-1]), "ends of the line")
        return tree

    @classmethod
    def _of(cls, rows: npt.NDArray[np.int64]) -> IntervalTree:
        tree = cls.__new__(cls)
        tree._nodes = _allocate(len(rows))
        tree._nodes.whole[:] = rows
        return tree

    def __reduce__(self) -> tuple[Any, ...]:
        # The two views of the rows must share their memory in the copy, too.
        return IntervalTree.from_state, (self.state(),)

    def _check(self) -> None:
        """Verify every invariant of the structure; ValueError if one does not hold. O(P)."""
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


def finite_density(edges: FloatArray, values: FloatArray) -> PiecewiseConstant:
    """Return a step function whose values are capped at the largest float."""
    return PiecewiseConstant(edges, np.minimum(values, np.finfo(np.float64).max))
