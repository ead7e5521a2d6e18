"""Weights with a local baseline: estimates subtract the loss that is expected at the parameter."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from semibandit import _validate
from semibandit._validate import FloatArray, IntArray
from semibandit.functions import Piecewise, PiecewiseConstant
from semibandit.weights import _local_rule as rules
from semibandit.weights import _pieces as k
from semibandit.weights.cells import COARSE, Cells, n_nodes
from semibandit.weights.feedback import Feedback, Rule, Update
from semibandit.weights.interval_tree import finite_density

if TYPE_CHECKING:
    from semibandit.weights import Weights

__all__ = ["LocalPieces"]

_SHORT_GAME = 7.0  # ln of about a thousand rounds
_ROOM = 24  # spare columns for the pieces that a round may add
_CHANGING = "_a", "_tree", "_sums"  # arrays that a step changes in place
_FORGOTTEN = [i for i in range(rules.SUMS) if i != rules.MEAN]
_PROMPT = np.empty(0)
_STATE = {"pieces", "tree", "sums", "numbers"}


class LocalPieces:
    """exp(-rate · sum of estimates) on pieces, with an estimate of the loss at every place in every round.

    For any function b that is fixed before the round, b + 1{observed}·(loss - b)/p is an unbiased estimate of
    the loss; the better b predicts the loss, the smaller the variance. Here b is the mean loss observed on a
    piece, shrunk to that of its cell, of the cell's parent and so on, and lowered where there are few
    observations. The correction (loss - b)/p is averaged over cells, which are finer where the mass is.

    A round costs O(P) for P pieces, at most `budget`: time and memory do not grow with the rounds. A step
    changes the weights in place.

    Parameters
    ----------
    cells
        See `dyadic_cells`.
    rate
        The learning rate.
    budget
        Above this number of pieces, neighbours within a cell are joined; at least two per cell.
    prior
        Initial density on the line, positive everywhere; uniform by default.
    """

    kind: ClassVar[str] = "local pieces"
    finest_rate_step: ClassVar[float] = 0.97  # a change of the rate costs no more than a round
    tie_tolerance = 1.0  # baselines differ from cell to cell: a factor of e is a tie

    def __init__(
        self, cells: Cells, rate: float, budget: int, prior: PiecewiseConstant | None = None
    ) -> None:
        self._cells, self._rate = cells, rate
        self._budget = max(budget, 2 * cells.leaf.size)
        self._tree = np.zeros((2, n_nodes(cells)))
        self._sums = np.zeros(rules.SUMS)
        edges = cells.edges if prior is None else np.union1d(prior.edges, cells.edges)
        pieces = np.zeros((k.ROWS, edges.size))
        pieces[k.EDGE] = edges
        pieces[k.PRIOR, :-1] = _even(edges) if prior is None else prior.between(edges)
        self._take(pieces)

    @classmethod
    def of(cls, other: Weights, cells: Cells, rate: float, budget: int) -> LocalPieces:
        """Return pieces with the weights of another kind, without statistics of losses."""
        weights = cls(cells, rate, budget)
        logs = other.joined(weights._budget // 2)[0].log()
        edges = np.union1d(logs.edges, cells.edges)
        pieces = np.zeros((k.ROWS, edges.size))
        pieces[k.EDGE] = edges
        pieces[k.PRIOR, :-1] = _even(edges)
        pieces[k.SUM, :-1] = -logs.spread(edges)[0] / rate
        weights._take(pieces)
        return weights

    def _take(self, pieces: FloatArray) -> None:
        """Store pieces and the end of the line, with spare columns; compute masses if there are none."""
        self._n: int = pieces.shape[1] - 1
        self._a = np.zeros((k.ROWS, max(self._n, self._budget) + _ROOM))
        self._a[:, : self._n + 1] = pieces
        if not self._a[k.MASS, self._n]:
            k.weigh(self._a, self._n, self._rate)

    @property
    def _pieces(self) -> FloatArray:
        """The pieces, and the end of the line."""
        return self._a[:, : self._n + 1]

    def _cut(self, edges: FloatArray, sets: IntArray) -> FloatArray:
        """Cut the pieces at the ends of the observed pieces; return all edges."""
        self._make_room(edges.size)
        self._n = k.cut(self._a, self._n, edges, sets, np.empty(edges.size, np.int64))
        return self._a[k.EDGE, : self._n + 1].copy()

    def _make_room(self, n: int) -> None:
        """Make room for n further pieces."""
        if self._n + n >= self._a.shape[1]:
            self._a = np.concatenate((self._a, np.zeros((k.ROWS, 2 * n))), axis=1)

    def detached(self) -> LocalPieces:
        """Return a copy: pending trials need the weights as they are. O(P)."""
        weights = LocalPieces.__new__(LocalPieces)
        weights.__dict__ = self.__dict__ | {name: getattr(self, name).copy() for name in _CHANGING}
        return weights

    # -- draw, integrate, learn ------------------------------------------------------------------

    def draw(self, u: float) -> float:
        """Return the point with a share u in [0, 1) of the mass to its left. O(P)."""
        return k.draw(self._a, self._n, u)

    def log_shares(self, edges: FloatArray) -> FloatArray:
        """Return the logarithm of the share of the mass between consecutive edges. O(P)."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(k.shares(self._a, self._n, edges)))

    def learn(self, feedback: Feedback, rule: Rule) -> Update:
        """Perform one step of Algorithm 1 in place, with the local baseline instead of the shift. O(P)."""
        if feedback.rises is not None:
            feedback = self._in_steps(feedback, rule.explore)
        asked = _PROMPT
        if feedback.shares_at_ask is not None:
            asked = feedback.shares_at_ask(self._cut(feedback.edges, feedback.sets))
        self._make_room(feedback.edges.size)
        p = feedback.probabilities()
        state = rules.State(self._a, self._tree, self._sums, self._cells.edges, self._cells.leaf)
        self._n, gap, raised = rules.learn(
            state, self._n, feedback.edges, feedback.losses, feedback.sets, feedback.looks, p, asked,
            feedback.paid, self._config(feedback, rule),
        )  # fmt: skip
        return Update(self, tuple(p.tolist()), gap, raised_mean=raised)

    def _config(self, feedback: Feedback, rule: Rule) -> rules.Config:
        """Return the parameters of the rule for this feedback (found by experiment, docs/learner.md)."""
        single, rows = feedback.single, self._cells.along_rows
        doubt = 0.0
        if rows:  # observed sets are much narrower than cells: pieces have too few observations
            shrink, optimism = (8.0, 0.5) if single else (4.0, 0.2)
        elif single:
            # Single losses are noisy. Neighbours get more weight, and in games of more than a thousand rounds
            # confidence bounds keep an unlucky piece from being excluded.
            shrink, optimism = 5.0, 1.0
            doubt = 1.2 * math.sqrt(max(math.log1p(self._sums[rules.TOLD]) - _SHORT_GAME, 0.0))
        else:
            shrink, optimism = 2.0, 0.6
        # A single loss is taken to hold on its cell; on rows, the cells beside it share its node.
        exact = feedback.whole or (single and not rows)
        return rules.Config(
            rule.rate, rule.explore, rule.floor, 0.0 if exact else COARSE, not rows, shrink, optimism, doubt,
            feedback.whole, self._budget,
        )  # fmt: skip

    def _in_steps(self, feedback: Feedback, explore: float) -> Feedback:
        """Replace lines by means over pieces, and count the difference as raised.

        The loss at a place may be below the mean of its piece by half of the rise.
        """
        edges, mass = self._a[k.EDGE, : self._n + 1], self._a[k.MASS, : self._n]
        feedback = feedback.in_steps(edges, mass / self._a[k.MASS, self._n])
        assert feedback.rises is not None
        edges, sets = feedback.edges, feedback.sets
        pieces = np.searchsorted(self._cut(edges, sets), edges[:-1])
        observed = sets >= 0
        shares = feedback.late_shares(edges)
        if not shares.size:
            shares = k.shares(self._a, self._n, edges)
        looks = feedback.looks / feedback.looks.sum()
        factors = looks / (np.bincount(sets[observed], shares[observed]) + explore)
        below = 0.5 * np.abs(feedback.rises)[observed]
        self._a[k.RAISED, pieces[observed]] += below * factors[sets[observed]]
        return feedback

    def spread(self, share: float, kept: float) -> LocalPieces:
        """Mix a share of the prior in, and multiply the statistics by `kept`, in place. O(P)."""
        k.spread(self._a, self._n, share, self._rate)
        self._a[[k.COUNT, k.LOSS], : self._n] *= kept
        self._tree *= kept
        self._sums[_FORGOTTEN] *= kept
        return self

    def with_history(self, total: Piecewise, count: int, weight: float, rate: float) -> LocalPieces:
        """Return the weights after `count` whole functions with this sum, each counted `weight` times."""
        weights = self.detached()
        edges = weights._cut(np.array(total.edges), np.zeros(total.edges.size - 1, np.int64))
        pieces = weights._pieces
        means = 0.5 * np.add(*total.spread(edges))
        pieces[k.SUM, :-1] += weight * means
        pieces[k.COUNT, :-1] += weight * count
        pieces[k.LOSS, :-1] += weight * means
        widths = np.diff(self._cells.edges)
        cells = np.add.reduceat(means * np.diff(edges), np.searchsorted(edges[:-1], self._cells.edges[:-1]))
        for leaf, loss in zip(self._cells.leaf.tolist(), (cells / widths).tolist(), strict=True):
            node = leaf
            while node >= 1:
                weights._tree[:, node] += weight * count, weight * loss
                node >>= 1
        k.weigh(weights._a, weights._n, self._rate)
        weights, _ = weights.joined(self._budget)
        pieces = weights._pieces
        expected = float(pieces[k.MASS, :-1] @ pieces[k.LOSS, :-1] / (pieces[k.MASS, -1] * weight * count))
        told, mean = self._sums[: rules.SQUARES]
        after = told + weight * count
        weights._sums[: rules.SQUARES] = after, (told * mean + weight * count * expected) / after
        return weights

    # -- the whole function ----------------------------------------------------------------------

    def __len__(self) -> int:
        """Return the number of pieces."""
        return self._n

    @property
    def ends(self) -> tuple[float, float]:
        """Ends of the line."""
        return float(self._cells.edges[0]), float(self._cells.edges[-1])

    @property
    def nbytes(self) -> int:
        """Memory of the structure."""
        return self._a.nbytes + self._tree.nbytes

    def max_advantage(self) -> float:
        """Return the largest advantage of a place: by its density, and by what was added to its sum. O(P)."""
        _, prior, total, raised, _, _, mass = self._pieces
        # ln(density / prior) from the sums: masses far behind underflow to 0.
        ahead = total[-1] - total[:-1] - math.log(mass[-1] / prior[:-1].sum()) / self._rate
        return float((ahead + raised[:-1])[prior[:-1] > 0.0].max())

    def log(self) -> PiecewiseConstant:
        """Return the logarithm of the weight, relative to the largest one. O(P)."""
        pieces = self._pieces
        edges = pieces[k.EDGE]
        logs = np.log(pieces[k.PRIOR, :-1]) - np.log(np.diff(edges)) - self._rate * pieces[k.SUM, :-1]
        return PiecewiseConstant.trusted(edges.copy(), logs - logs.max())

    def density(self) -> PiecewiseConstant:
        """Return the function, normalised to a density. O(P)."""
        edges, mass = self._pieces[k.EDGE], self._pieces[k.MASS, :-1]
        with np.errstate(over="ignore"):
            return finite_density(edges, mass / mass.sum() / np.diff(edges))

    def raised_to(self, power: float) -> LocalPieces:
        """Return the function for another learning rate. O(P)."""
        weights = self.detached()
        weights._rate *= _validate.number("power", power, low=0.0, open=True)
        k.weigh(weights._a, weights._n, weights._rate)
        return weights

    def joined(self, n_pieces: int) -> tuple[LocalPieces, float]:
        """Return weights with at most `n_pieces` pieces, but one per cell at least, and the error. O(P)."""
        weights, target = self.detached(), max(n_pieces, self._cells.leaf.size)
        weights._n, moved = k.join(weights._a, self._n, target, self._cells.edges, self._rate)
        return weights, moved

    # -- saving ----------------------------------------------------------------------------------

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return arrays from which `from_state` restores the weights to the bit."""
        numbers = np.array([self._rate, self._budget])
        return {"pieces": self._pieces.copy(), "tree": self._tree, "sums": self._sums, "numbers": numbers}

    @classmethod
    def from_state(cls, state: dict[str, npt.NDArray[Any]], cells: Cells) -> LocalPieces:
        """Return the weights with this state; ValueError if it is not one."""
        if state.keys() != _STATE or any(array.dtype != np.float64 for array in state.values()):
            raise ValueError("local weights are broken: arrays")
        pieces, tree, sums, numbers = (state[name] for name in ("pieces", "tree", "sums", "numbers"))
        shapes = tree.shape == (2, n_nodes(cells)) and sums.shape == (rules.SUMS,) and numbers.shape == (2,)
        if not (shapes and pieces.ndim == 2 and pieces.shape[0] == k.ROWS and pieces.shape[1] > 1):
            raise ValueError("local weights are broken: shapes")
        rate, budget = numbers.tolist()
        if not (0.0 < rate < math.inf and 2 * cells.leaf.size <= budget < 2**40):
            raise ValueError("local weights are broken: rate or budget")
        weights = cls.__new__(cls)
        weights._cells, weights._rate, weights._budget = cells, rate, int(budget)
        weights._tree, weights._sums = tree.copy(), sums.copy()
        weights._take(pieces)
        weights._check()
        return weights

    def _check(self) -> None:
        """Verify every invariant; ValueError if one does not hold. O(P)."""
        pieces, edges = self._pieces, self._cells.edges
        increasing = (np.diff(pieces[k.EDGE]) > 0.0).all()
        finite = all(np.isfinite(numbers).all() for numbers in (pieces, self._tree, self._sums))
        inside = (pieces[k.EDGE, 0], pieces[k.EDGE, -1]) == (edges[0], edges[-1])
        if not (increasing and finite and inside and np.isin(edges, pieces[k.EDGE]).all()):
            raise ValueError("local weights are broken: edges, cells or numbers")
        again = pieces.copy()
        k.weigh(again, again.shape[1] - 1, self._rate)
        masses, expected = pieces[k.MASS, :-1], again[k.MASS, :-1]
        if not np.allclose(masses / masses.sum(), expected / expected.sum(), rtol=1e-6):
            raise ValueError("local weights are broken: masses")


def _even(edges: FloatArray) -> FloatArray:
    """Return the masses of the uniform density between edges."""
    return np.asarray(np.diff(edges) / (edges[-1] - edges[0]))
