"""Weights with a local baseline: estimates subtract the loss that is expected at the parameter."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from semibandit import _validate
from semibandit._validate import FloatArray, IntArray
from semibandit.functions import Piecewise, PiecewiseConstant
from semibandit.weights import _local_rule as kernels
from semibandit.weights import _local_state as rules
from semibandit.weights import _pieces as k
from semibandit.weights._tree_rule import SMALLEST_SHARE, set_probabilities
from semibandit.weights.cells import Cells, n_nodes
from semibandit.weights.feedback import Feedback, Rule, Update
from semibandit.weights.interval_tree import finite_density

if TYPE_CHECKING:
    from semibandit.weights import Weights

__all__ = ["LocalPieces"]

_SHORT_GAME = 7.0  # ln of about a thousand rounds
_ROOM = 24  # spare columns for the pieces that a round may add
_CHANGING = "_a", "_tree", "_sums"  # arrays that a step changes in place
_PROMPT = np.empty((3, 0))
_STATE = {"pieces", "tree", "sums", "numbers"}


class LocalPieces:
    """A mixture of two densities, each prior · exp(-rate · sum of estimates) on pieces.

    The fast learner estimates the loss at every place in every round, by b + 1{observed}·(loss - b)/p. Here b
    is the mean loss observed on a piece, shrunk to that of its cell, of the cell's parent and so on, and
    lowered where there are few observations. The correction (loss - b)/p is averaged over cells, which are
    finer where the mass is. Its density falls only as far as the evidence against a place goes.

    The safe learner, with a small share, uses the one-sided unbiased estimates 1{observed}·loss/p, and has a
    regret bound. Both learn from every round. Rates are in units of the range of the losses.

    A round costs O(P) for P pieces, at most `budget`: time and memory do not grow with the rounds. A step
    changes the weights in place.

    Parameters
    ----------
    cells
        See `dyadic_cells`.
    budget
        Above this number of pieces, neighbours within a cell are joined; at least two per cell.
    prior
        Initial density on the line, positive everywhere; uniform by default.
    """

    kind: ClassVar[str] = "local pieces"
    constants: ClassVar[rules.Constants] = rules.Constants()
    tie_tolerance = 1.0  # baselines differ from cell to cell: a factor of e is a tie

    def __init__(self, cells: Cells, budget: int, prior: PiecewiseConstant | None = None) -> None:
        self._cells = cells
        self._budget = max(budget, 2 * cells.leaf.size)
        self._tree = np.zeros((rules.TREE_ROWS, n_nodes(cells)))
        self._sums = np.zeros(rules.SUMS)
        edges = cells.edges if prior is None else np.union1d(prior.edges, cells.edges)
        pieces = np.zeros((k.ROWS, edges.size))
        pieces[k.EDGE] = edges
        pieces[k.PRIOR, :-1] = _even(edges) if prior is None else prior.between(edges)
        self._take(pieces)

    @classmethod
    def of(cls, other: Weights, cells: Cells, rate: float, budget: int) -> LocalPieces:
        """Return pieces with the weights of another kind, without statistics of losses."""
        weights = cls(cells, budget)
        joined, error = other.joined(weights._budget // 2)
        logs = joined.log()
        edges = np.union1d(logs.edges, cells.edges)
        pieces = np.zeros((k.ROWS, edges.size))
        pieces[k.EDGE] = edges
        pieces[k.PRIOR, :-1] = _even(edges)
        pieces[[k.FAST, k.SAFE], :-1] = -logs.spread(edges)[0] / rate
        pieces[k.RAISED, :-1] = error / rate
        weights._sums[[rules.FAST_RATE, rules.SAFE_RATE, rules.STAGE]] = rate, rate, rules.KNOWN
        weights._take(pieces)
        weights._sums[rules.SOFT_MINIMUM] = weights._soft_minimum()
        return weights

    @property
    def _rates(self) -> tuple[float, float]:
        return self._sums.item(rules.FAST_RATE), self._sums.item(rules.SAFE_RATE)

    @property
    def rate(self) -> float:
        """Learning rate of the fast learner; 0 while the range of the losses is unknown."""
        return self._sums.item(rules.FAST_RATE)

    def _weigh(self) -> None:
        k.weigh(self._a, self._n, self._rates, kernels.safe_share(self._sums, self.constants.share))

    def _soft_minimum(self) -> float:
        """Return -ln(mean of exp(-rate · sum) by the prior) / rate of the safe learner."""
        prior, total = self._a[k.PRIOR, : self._n].sum(), self._a[k.OF_SAFE, self._n]
        return float(self._a[k.SAFE, self._n] - math.log(total / prior) / self._rates[1])

    def _take(self, pieces: FloatArray) -> None:
        """Store pieces and the end of the line, with spare columns; compute masses if there are none."""
        self._n: int = pieces.shape[1] - 1
        self._a = np.zeros((k.ROWS, max(self._n, self._budget) + _ROOM))
        self._a[:, : self._n + 1] = pieces
        if not self._a[k.MASS, self._n]:
            self._weigh()

    @property
    def _pieces(self) -> FloatArray:
        """The pieces, and the end of the line."""
        return self._a[:, : self._n + 1]

    def _cut(self, edges: FloatArray, sets: IntArray) -> FloatArray:
        """Cut the pieces at the ends of the observed pieces; return all edges."""
        self._make_room(edges.size)
        self._n = k.cut(self._a, self._n, edges, sets, np.empty(edges.size, np.int64))
        return self._a[k.EDGE, : self._n + 1].copy()

    def _shares_beside(self, feedback: Feedback, other: LocalPieces, part: float) -> FloatArray:
        """Cut the pieces; return their shares, the first row for the mixture with other weights."""
        edges = feedback.edges
        self._make_room(edges.size)
        self._n = k.cut(self._a, self._n, edges, feedback.sets, np.empty(edges.size, np.int64))
        return np.asarray(k.shares_beside(self._a, self._n, other._a, other._n, part))

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
            return np.asarray(np.log(k.shares(self._a, self._n, k.MASS, edges)))

    def shares(self, edges: FloatArray) -> FloatArray:
        """Return the shares between edges of the mixture, the fast learner, and the safe learner. O(P)."""
        return np.asarray(k.all_shares(self._a, self._n, edges))

    def learn(self, feedback: Feedback, rule: Rule) -> Update:
        """Perform one step of both learners in place. O(P).

        While the range of the losses is not known, nothing is learned.
        """
        if feedback.rises is not None:
            feedback = self._in_steps(feedback)
        asked = _PROMPT
        beside = feedback.beside
        if beside is not None and isinstance(beside.weights, LocalPieces):
            asked = self._shares_beside(feedback, beside.weights, beside.part)
        elif feedback.shares_at_ask is not None:
            asked = feedback.shares_at_ask(self._cut(feedback.edges, feedback.sets))
        self._make_room(feedback.edges.size)
        p = feedback.probabilities()
        if not rule.high > rule.low:
            self._find_probabilities(feedback, p)
            return Update(self, tuple(p.tolist()), rate=self.rate)
        self._enter(rule.stage)
        state = rules.State(self._a, self._tree, self._sums, self._cells.edges, self._cells.leaf)
        told = rules.Told(feedback.edges, feedback.losses, feedback.sets, feedback.looks, p)
        self._n = kernels.learn(state, self._n, told, asked, feedback.paid, self._config(feedback, rule))
        return Update(self, tuple(p.tolist()), rate=self.rate)

    def _enter(self, stage: int) -> None:
        """Drop sums in units of a provisional range when a better one is known; keep the statistics."""
        before = self._sums[rules.STAGE]
        self._sums[rules.STAGE] = max(before, stage)
        if 0.0 < before < stage:
            self._a[[k.FAST, k.SAFE, k.RAISED]] = 0.0
            self._sums[rules.FAST_RATE : rules.STAGE] = 0.0
            self._weigh()

    def _find_probabilities(self, feedback: Feedback, p: FloatArray) -> None:
        """Write the probabilities of the sets to `p`."""
        shares = feedback.late_shares(feedback.edges)
        shares = shares[0] if shares.size else k.shares(self._a, self._n, k.MASS, feedback.edges)
        set_probabilities(feedback.sets, shares, p)

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
            shrink, optimism = self.constants.shrink, self.constants.optimism
        # A single loss is taken to hold on its cell; on rows, the cells beside it share its node.
        exact = feedback.whole or (single and not rows)
        return rules.Config(
            rule.rate, rule.log_term, rule.low, rule.high, rule.explore,
            0.0 if exact else self.constants.coarse, not rows, shrink, optimism, doubt,
            feedback.whole, self._budget, self.constants,
        )  # fmt: skip

    def _in_steps(self, feedback: Feedback) -> Feedback:
        """Replace lines by means over pieces, and count the difference as raised.

        The loss at a place may be below the mean of its piece by half of the rise.
        """
        feedback = feedback.in_steps(self._pieces[k.EDGE], self._pieces[k.MASS, :-1])
        assert feedback.rises is not None
        edges, sets = feedback.edges, feedback.sets
        pieces = np.searchsorted(self._cut(edges, sets), edges[:-1])
        observed = sets >= 0
        shares = feedback.late_shares(edges)
        shares = shares[0] if shares.size else k.shares(self._a, self._n, k.MASS, edges)
        looks = feedback.looks / feedback.looks.sum()
        factors = looks / np.maximum(np.bincount(sets[observed], shares[observed]), SMALLEST_SHARE)
        below = 0.5 * np.abs(feedback.rises)[observed]
        self._a[k.RAISED, pieces[observed]] += below * factors[sets[observed]]
        return feedback

    def spread(self, share: float, kept: float, gaps: float, speed: float) -> LocalPieces:
        """Mix a share of the prior in, and multiply statistics by `kept`, gaps by `gaps`, in place. O(P)."""
        if self.rate > 0.0:
            k.spread(self._a, self._n, share, self._rates)
        self._a[[k.COUNT, k.LOSS], : self._n] *= kept
        self._tree *= kept
        self._sums[list(rules.FORGOTTEN)] *= kept
        self._sums[[rules.FAST_GAPS, rules.SAFE_GAPS]] *= gaps
        self._sums[rules.SPEED] = speed
        self._weigh()
        return self

    def with_history(self, total: Piecewise, count: int, weight: float, rule: Rule) -> LocalPieces:
        """Return the weights after `count` whole functions with this sum, each counted `weight` times."""
        weights = self.detached()
        edges = weights._cut(np.array(total.edges), np.zeros(total.edges.size - 1, np.int64))
        pieces, sums = weights._pieces, weights._sums
        means = 0.5 * np.add(*total.spread(edges))
        pieces[[k.FAST, k.SAFE], :-1] += weight * means
        pieces[k.COUNT, :-1] += weight * count
        pieces[k.LOSS, :-1] += weight * means
        widths = np.diff(self._cells.edges)
        cells = np.add.reduceat(means * np.diff(edges), np.searchsorted(edges[:-1], self._cells.edges[:-1]))
        for leaf, loss in zip(self._cells.leaf.tolist(), (cells / widths).tolist(), strict=True):
            node = leaf
            while node >= 1:
                # Without the squares, a standard deviation of a quarter of the range is assumed.
                squares = loss * loss / count + count * (rule.high - rule.low) ** 2 / 16.0
                weights._tree[: rules.LAST, node] += weight * np.array([count, loss, squares, count])
                weights._tree[rules.LAST, node] = self._sums[rules.TOLD] + weight * count
                node >>= 1
        if rule.high > rule.low and self.rate == 0.0:
            rate = rule.rate if rule.rate > 0.0 else rule.log_term / (rule.high - rule.low)
            sums[[rules.FAST_RATE, rules.SAFE_RATE, rules.STAGE]] = rate, rate, rule.stage
        weights._weigh()
        weights, _ = weights.joined(self._budget)
        if weights.rate > 0.0:
            weights._sums[rules.SOFT_MINIMUM] = weights._soft_minimum()
        pieces = weights._pieces
        expected = float(pieces[k.MASS, :-1] @ pieces[k.LOSS, :-1] / (weight * count))
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

    def account(self) -> tuple[float, float, float] | None:
        """Return the safe learner's rate, the regret beyond ln(1/π(B))/rate, and what clips added. O(P)."""
        rate, sums = self._rates[1], self._sums
        if sums[rules.STAGE] == 0.0:
            return None
        if sums[rules.STAGE] < rules.KNOWN:  # nothing is learned for good
            return math.inf, 0.0, 0.0
        raised = float(self._pieces[k.RAISED, :-1].max())
        return rate, float(sums[rules.BOUND] + sums[rules.SECOND]), float(sums[rules.CLIPPED]) + raised

    def log(self) -> PiecewiseConstant:
        """Return the logarithm of the weight, relative to the largest one. O(P)."""
        edges, n = self._pieces[k.EDGE], self._n
        share = kernels.safe_share(self._sums, self.constants.share)
        fast, safe = (
            -rate * (self._a[row, :n] - self._a[row, n]) - math.log(self._a[mass, n])
            for row, mass, rate in zip((k.FAST, k.SAFE), (k.OF_FAST, k.OF_SAFE), self._rates, strict=True)
        )
        with np.errstate(divide="ignore"):
            logs = np.logaddexp(np.log1p(-share) + fast, math.log(share) + safe)
            logs += np.log(self._a[k.PRIOR, :n]) - np.log(np.diff(edges))
        return PiecewiseConstant.trusted(edges.copy(), logs - logs.max())

    def density(self) -> PiecewiseConstant:
        """Return the function, normalised to a density. O(P)."""
        edges, mass = self._pieces[k.EDGE], self._pieces[k.MASS, :-1]
        with np.errstate(over="ignore"):
            return finite_density(edges, mass / mass.sum() / np.diff(edges))

    def raised_to(self, power: float) -> LocalPieces:
        """Return the function for other learning rates. O(P)."""
        weights = self.detached()
        weights._sums[[rules.FAST_RATE, rules.SAFE_RATE]] *= _validate.number(
            "power", power, low=0.0, open=True
        )
        weights._weigh()
        return weights

    def joined(self, n_pieces: int) -> tuple[LocalPieces, float]:
        """Return weights with at most `n_pieces` pieces, but one per cell at least, and the error. O(P)."""
        weights, target = self.detached(), max(n_pieces, self._cells.leaf.size)
        weights._n, moved = k.join(weights._a, self._n, target, self._cells.edges, self._rates)
        return weights, moved

    # -- saving ----------------------------------------------------------------------------------

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return arrays from which `from_state` restores the weights to the bit."""
        numbers = np.array([float(self._budget)])
        return {"pieces": self._pieces.copy(), "tree": self._tree, "sums": self._sums, "numbers": numbers}

    @classmethod
    def from_state(cls, state: dict[str, npt.NDArray[Any]], cells: Cells) -> LocalPieces:
        """Return the weights with this state; ValueError if it is not one."""
        if state.keys() != _STATE or any(array.dtype != np.float64 for array in state.values()):
            raise ValueError("local weights are broken: arrays")
        pieces, tree, sums, numbers = (state[name] for name in ("pieces", "tree", "sums", "numbers"))
        shapes = (
            tree.shape == (rules.TREE_ROWS, n_nodes(cells))
            and sums.shape == (rules.SUMS,)
            and numbers.shape == (1,)
        )
        if not (shapes and pieces.ndim == 2 and pieces.shape[0] == k.ROWS and pieces.shape[1] > 1):
            raise ValueError("local weights are broken: shapes")
        budget = numbers.item()
        if not 2 * cells.leaf.size <= budget < 2**40:
            raise ValueError("local weights are broken: budget")
        weights = cls.__new__(cls)
        weights._cells, weights._budget = cells, int(budget)
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
        if not (self._sums[[rules.FAST_RATE, rules.SAFE_RATE, rules.TOLD]] >= 0.0).all():
            raise ValueError("local weights are broken: rates")
        again = pieces.copy()
        k.weigh(again, again.shape[1] - 1, self._rates, kernels.safe_share(self._sums, self.constants.share))
        for row in (k.OF_FAST, k.OF_SAFE, k.MASS):
            masses, expected = pieces[row, :-1], again[row, :-1]
            if not np.allclose(masses / masses.sum(), expected / expected.sum(), rtol=1e-6):
                raise ValueError("local weights are broken: masses")


def _even(edges: FloatArray) -> FloatArray:
    """Return the masses of the uniform density between edges."""
    return np.asarray(np.diff(edges) / (edges[-1] - edges[0]))
