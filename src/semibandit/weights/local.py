"""Weights with a local baseline: what is expected of a piece is subtracted from what was seen of it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from semibandit import _validate
from semibandit._validate import FloatArray
from semibandit.functions import PiecewiseConstant
from semibandit.weights import _local_kernels as k
from semibandit.weights._tree_kernels import WORDS
from semibandit.weights.exponential import ExponentialPieces
from semibandit.weights.interval_tree import IntervalTree
from semibandit.weights.steps import Learned, Rule, Seen

__all__ = ["LocalPieces", "WholeSoFar"]

_HEADER = 8  # numbers before the arrays in a state


class LocalPieces:
    """exp(-rate · sum of estimates) on pieces, with an estimate of the loss everywhere in every round.

    For any b that is fixed before the round, b + 1{seen}·(loss - b)/p is an unbiased estimate of the loss,
    and the better b predicts the loss, the less it varies. Here b is the mean of what was seen of a piece,
    shrunk to that of its cell, of the cell's parent and so on, and lowered where little was seen. So pieces
    that nobody has seen learn from their neighbours (coarse cells at first), and those that were seen often
    trust themselves (exact edges in the end).

    A round costs O(P) for P pieces, of which there are at most `budget`: neither time nor memory grows with
    the rounds. Objects do not change; a step returns a new one.

    Parameters
    ----------
    cells
        Where neighbours learn from each other; see `dyadic_cells`.
    rate
        The learning rate.
    budget
        Above this number of pieces, neighbours within a cell are joined.
    """

    def __init__(self, cells: k.Cells, rate: float, budget: int) -> None:
        n = cells.leaf.size
        self._cells, self._rate = cells, rate
        self._budget = max(budget, 2 * n)
        self._a = np.zeros((k.ROWS, n + 1))
        self._a[k.EDGE] = cells.edges
        self._a[k.PRIOR, :n] = np.diff(cells.edges) / (cells.edges[-1] - cells.edges[0])
        self._tree = np.zeros((2, 2 << int(cells.leaf.max()).bit_length() - 1))
        self._losses = (0, 0.0, 0.0)  # told, mean, Σ (loss - mean)²
        k.weigh(self._a, n, rate)

    @classmethod
    def of(cls, tree: IntervalTree, cells: k.Cells, rate: float, budget: int) -> LocalPieces:
        """What a tree has learned so far, with nothing known of single pieces."""
        weights = cls(cells, rate, budget)
        logs = tree.joined(weights._budget // 2)[0].log()
        edges = np.union1d(logs.edges, cells.edges)
        n = edges.size - 1
        a = np.zeros((k.ROWS, n + 1))
        a[k.EDGE] = edges
        a[k.PRIOR, :n] = np.diff(edges) / (edges[-1] - edges[0])
        a[k.SUM, :n] = -logs.spread(edges)[0] / rate
        k.weigh(a, n, rate)
        weights._a = a
        return weights

    def _with(self, a: FloatArray, **changes: Any) -> LocalPieces:
        weights = LocalPieces.__new__(LocalPieces)
        weights.__dict__.update(self.__dict__, _a=a, **changes)
        return weights

    # -- draw, integrate, learn ------------------------------------------------------------------

    def draw(self, u: float) -> float:
        """The point that has a share u in [0, 1) of the mass to its left. O(P)."""
        return k.draw(self._a, u)

    def log_shares(self, edges: FloatArray) -> FloatArray:
        """The logarithm of the share of the mass between consecutive edges. O(P)."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(k.shares(self._a, edges)))

    def learn(self, seen: Seen, rule: Rule) -> Learned:
        """One round of Algorithm 1 with the local baseline in place of the rule's shift. O(P).

        Losses with a slope turn the weights into `ExponentialPieces`, which learn with the shift.
        """
        left, right = seen.losses
        if left is not right:
            logs = self.log()
            return ExponentialPieces(logs.edges, logs.values, logs.values).learn(seen, rule)
        a, n, told = k.refine(self._a, seen.edges, seen.sets)
        asked = np.empty(0) if seen.shares_at_ask is None else seen.shares_at_ask(a[k.EDGE, : n + 1])
        tree, p = self._tree.copy(), seen.chances()
        count, mean, squares = self._losses
        moments = k.Moments(mean, math.sqrt(squares / count) if count else 0.0)
        n, gap, raised, moved = k.learn(
            a, n, told, left, seen.sets, asked, seen.draws, p, self._cells, tree, moments, rule, self._budget
        )
        delta = seen.paid - mean
        mean += delta / (count + 1)
        losses = count + 1, mean, squares + delta * (seen.paid - mean)
        after = self._with(_trimmed(a, n), _tree=tree, _losses=losses)
        return Learned(after, p, gap, None, raised, moved)

    # -- the whole function ----------------------------------------------------------------------

    def __len__(self) -> int:
        """The number of pieces."""
        return self._a.shape[1] - 1

    @property
    def ends(self) -> tuple[float, float]:
        """The ends of the line."""
        return float(self._a[k.EDGE, 0]), float(self._a[k.EDGE, -1])

    @property
    def nbytes(self) -> int:
        """Memory of the structure."""
        return self._a.nbytes + self._tree.nbytes

    def log(self) -> PiecewiseConstant:
        """The logarithm of the weight, relative to the largest one. O(P)."""
        edges = self._a[k.EDGE]
        prior = np.log(self._a[k.PRIOR, :-1] / np.diff(edges))
        logs = prior - self._rate * self._a[k.SUM, :-1]
        return PiecewiseConstant.trusted(edges.copy(), logs - logs.max())

    def density(self) -> PiecewiseConstant:
        """The function, normalised to a density. O(P)."""
        mass = self._a[k.MASS, :-1]
        return PiecewiseConstant(self._a[k.EDGE], mass / mass.sum() / np.diff(self._a[k.EDGE]))

    @property
    def finest_rate_step(self) -> float:
        """The rate may follow its formula closely: another rate costs no more than a round."""
        return 0.97

    def raised_to(self, power: float) -> LocalPieces:
        """The function for another learning rate. O(P)."""
        a, rate = self._a.copy(), self._rate * _validate.number("power", power, low=0.0, open=True)
        k.weigh(a, len(self), rate)
        return self._with(a, _rate=rate)

    def joined(self, n_pieces: int) -> tuple[LocalPieces, float]:
        """At most `n_pieces` pieces, but no fewer than there are cells, and the error of that. O(P)."""
        a = self._a.copy()
        n, moved = k.join(a, len(self), max(n_pieces, self._cells.leaf.size), self._cells.edges, self._rate)
        return self._with(_trimmed(a, n)), moved

    # -- saving ----------------------------------------------------------------------------------

    def state(self) -> FloatArray:
        """All numbers in a row; `from_state` restores the weights to the bit."""
        sizes = len(self), self._cells.leaf.size, self._tree.shape[1], self._budget
        header = np.array([*sizes, self._rate, *self._losses], np.float64)
        leaf = self._cells.leaf.astype(np.float64)
        return np.concatenate((header, self._cells.edges, leaf, self._a.ravel(), self._tree.ravel()))

    @classmethod
    def from_state(cls, state: npt.NDArray[Any]) -> LocalPieces:
        """Undo `state`; raises ValueError where the numbers are not those of weights."""
        if state.dtype != np.float64 or state.ndim != 1 or state.size < _HEADER:
            raise ValueError("local weights are broken: numbers")
        n, n_cells, n_nodes, budget = (int(x) for x in state[:4])
        sizes = (n_cells + 1, n_cells, k.ROWS * (n + 1), 2 * n_nodes)
        if min(n, n_cells, n_nodes) < 1 or state.size != _HEADER + sum(sizes):
            raise ValueError("local weights are broken: sizes")
        edges, leaf, a, tree = np.split(state[_HEADER:], np.cumsum(sizes)[:-1])
        weights = cls.__new__(cls)
        weights._cells = k.Cells(edges.copy(), leaf.astype(np.int64))
        weights._rate, weights._budget = float(state[4]), budget
        weights._losses = (int(state[5]), float(state[6]), float(state[7]))
        weights._a = a.reshape(k.ROWS, n + 1).copy()
        weights._tree = tree.reshape(2, n_nodes).copy()
        weights._check()
        return weights

    def _check(self) -> None:
        """Verify every invariant; ValueError where one does not hold. O(P)."""
        edges, leaf = self._cells
        increasing = (np.diff(edges) > 0.0).all() and (np.diff(self._a[k.EDGE]) > 0.0).all()
        finite = np.isfinite(self._a).all() and np.isfinite(self._tree).all()
        inside = leaf.min() >= 1 and leaf.max() < self._tree.shape[1]
        if not (increasing and finite and inside and np.isin(edges, self._a[k.EDGE]).all()):
            raise ValueError("local weights are broken: edges, cells or numbers")
        masses = self._a.copy()
        k.weigh(masses, len(self), self._rate)
        if not np.allclose(masses[k.MASS], self._a[k.MASS], rtol=1e-6):
            raise ValueError("local weights are broken: masses")


def _trimmed(a: FloatArray, n: int) -> FloatArray:
    """The first n pieces, and the end of the line."""
    out = a[:, : n + 1].copy()
    out[1:, n] = 0.0
    return out


class WholeSoFar(IntervalTree):
    """The weights of a learner that has been told whole functions only: Hedge, on exact pieces.

    The first function that is seen in part turns them into `LocalPieces`.
    """

    def __init__(self, cells: k.Cells, budget: int) -> None:
        super().__init__(float(cells.edges[0]), float(cells.edges[-1]))
        self._cells, self._budget = cells, budget

    def _wrap(self, tree: IntervalTree) -> WholeSoFar:
        weights = WholeSoFar.__new__(WholeSoFar)
        weights.__dict__.update(tree.__dict__, _cells=self._cells, _budget=self._budget)
        return weights

    def learn(self, seen: Seen, rule: Rule) -> Learned:
        """One step: of Hedge if everything was seen, or of `LocalPieces` from here on."""
        if seen.whole:
            return super().learn(seen, rule)
        return LocalPieces.of(self, self._cells, rule.rate, self._budget).learn(seen, rule)

    def raised_to(self, power: float) -> WholeSoFar:
        """The function to a positive power, for a change of the learning rate. O(P)."""
        return self._wrap(super().raised_to(power))

    def joined(self, n_pieces: int) -> tuple[WholeSoFar, float]:
        """At most `n_pieces` pieces, made by joining neighbours, and the error of that."""
        tree, error = super().joined(n_pieces)
        return self._wrap(tree), error

    def state(self) -> npt.NDArray[np.int64]:
        """All numbers in a row, as integers of the same bits."""
        rows = super().state()
        header = np.array([self._cells.leaf.size, self._budget], np.int64)
        return np.concatenate((header, self._cells.edges.view(np.int64), self._cells.leaf, rows.ravel()))

    @classmethod
    def from_state(cls, state: npt.NDArray[np.int64]) -> WholeSoFar:
        """Undo `state`; raises ValueError where the numbers are not those of weights."""
        n = int(state[0]) if state.size > 2 else 0
        if state.ndim != 1 or not 1 <= n < state.size or state.size < 2 + 2 * n + 1:
            raise ValueError("weights of whole functions are broken: sizes")
        edges, leaf, rows = np.split(state[2:], [n + 1, 2 * n + 1])
        if rows.size % WORDS:
            raise ValueError("weights of whole functions are broken: rows")
        weights = cls.__new__(cls)
        tree = IntervalTree.from_state(rows.reshape(-1, WORDS))
        cells = k.Cells(edges.view(np.float64).copy(), leaf.copy())
        weights.__dict__.update(tree.__dict__, _cells=cells, _budget=int(state[1]))
        return weights

    def __reduce__(self) -> tuple[Any, ...]:
        return WholeSoFar.from_state, (self.state().copy(),)
