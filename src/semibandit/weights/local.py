"""Weights with a local baseline: what is expected of a piece is subtracted from what was seen of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from semibandit import _validate
from semibandit._validate import FloatArray
from semibandit.functions import Piecewise, PiecewiseConstant
from semibandit.spaces import Line
from semibandit.weights import _local_kernels as k
from semibandit.weights._tree_kernels import WORDS, Nodes
from semibandit.weights.cells import Cells, n_nodes
from semibandit.weights.drift import Drift
from semibandit.weights.exponential import ExponentialPieces
from semibandit.weights.interval_tree import IntervalTree
from semibandit.weights.splitting import moved, parts
from semibandit.weights.steps import Learned, Rule, Seen

__all__ = ["LocalPieces", "WholeSoFar"]

_HEADER = 14  # numbers before the arrays in a state
_LINK = 4  # and after them, but in states of earlier versions
_NONE = np.empty(0)


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
        Above this number of pieces, neighbours within a cell are joined; each cell may have two at least.
    prior
        A density on the line, positive everywhere, from which weights start; even by default.
    drift
        How fast the best parameter is believed to move; None: it does not.
    """

    def __init__(
        self,
        cells: Cells,
        rate: float,
        budget: int,
        prior: PiecewiseConstant | None = None,
        drift: Drift | None = None,
    ) -> None:
        edges = cells.edges if prior is None else np.union1d(prior.edges, cells.edges)
        n = edges.size - 1
        self._cells, self._rate, self._drift = cells, rate, drift
        self._budget = max(budget, 2 * cells.leaf.size)
        self._a = np.zeros((k.ROWS, n + 1))
        self._a[k.EDGE] = edges
        even = np.diff(edges) / (edges[-1] - edges[0])
        self._a[k.PRIOR, :n] = even if prior is None else prior.between(edges)
        self._tree = np.zeros((2, n_nodes(cells)))
        self._losses = (0.0, 0.0, 0.0)  # told, mean, Σ (loss - mean)²
        self._link = np.zeros(_LINK)  # what looks at one instance have in common, see `paired`
        k.weigh(self._a, n, rate)

    @classmethod
    def of(cls, tree: IntervalTree, cells: Cells, rate: float, budget: int) -> LocalPieces:
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

    def _outlook(self, drift: Drift | None, single: bool) -> tuple[float, float, bool, float, float]:
        """The numbers of an `Outlook`."""
        count, mean, squares = self._losses
        deviation = math.sqrt(squares / count) if count else 0.0
        speed = 0.0 if drift is None else drift.speed
        # On rows the sets seen are much narrower than cells: pieces know too little of themselves.
        if self._cells.along_rows:
            return mean, deviation, False, 4.0, 0.2 * (1.0 - 0.5 * speed)
        # Single losses are few and noisy: neighbours count for more, and bad luck must not lock a piece out.
        shrink, hope = (3.0, 1.0) if single else (1.0, 0.7)
        return mean, deviation, True, shrink, hope * (1.0 - 0.7 * speed)

    def _with(self, a: FloatArray, **changes: Any) -> LocalPieces:
        weights = LocalPieces.__new__(LocalPieces)
        weights.__dict__ = {**self.__dict__, **changes, "_a": a}
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
        tree, p = self._tree.copy(), seen.chances()
        link = self._link if seen.draws == 1 else self._link.copy()
        drift = self._drift
        if drift is not None:
            drift = drift.told(self._leaf(seen.home), seen.paid, seen.whole)
        a = self._room_for(seen.edges)
        asked = _NONE
        if seen.shares_at_ask is not None:
            n = k.refine(self._a, seen.edges, seen.sets, a, np.empty(a.shape[1], np.int64))
            asked = seen.shares_at_ask(a[k.EDGE, : n + 1])
        n, gap, raised = k.learn(
            self._a, a, seen.edges, left, seen.sets, asked, seen.times, p,
            self._cells.edges, self._cells.leaf, tree, *self._outlook(drift, seen.single),
            rule.explore, rule.floor, rule.rate, seen.whole, self._budget, link,
        )  # fmt: skip
        count, mean, squares = self._losses
        delta = seen.paid - mean
        mean += delta / (count + 1)
        losses = count + 1, mean, squares + delta * (seen.paid - mean)
        kept, remembered, speed = 1.0, 1.0, 0.0
        if drift is not None:
            drift = drift.remembering(tree - self._tree)
            k.spread(a, n, drift.share, rule.rate)
            keep = 1.0 - drift.forgetting
            a[[k.COUNT, k.LOSS], :n] *= keep
            tree *= keep
            link = keep * link
            losses = keep * losses[0], losses[1], keep * losses[2]
            kept, remembered, speed = 1.0 - drift.share, keep, drift.speed
        after = self._with(_trimmed(a, n), _tree=tree, _losses=losses, _drift=drift, _link=link)
        return Learned(after, p, float(gap), None, float(raised), 0.0, kept, speed, remembered)

    def _room_for(self, edges: FloatArray) -> FloatArray:
        """Where the pieces can be copied to, cut at each of these edges."""
        return np.empty((k.ROWS, self._a.shape[1] + edges.size))

    def _leaf(self, x: float) -> int:
        cell = int(np.searchsorted(self._cells.edges, x, side="right")) - 1
        return int(self._cells.leaf[min(max(cell, 0), self._cells.leaf.size - 1)])

    def warmed(self, total: Piecewise, count: int, weight: float, rate: float) -> LocalPieces:
        """As if so many whole functions had been seen, given by their sum, each for `weight` rounds."""
        a, edges = self._room_for(total.edges), np.array(total.edges)
        n = k.refine(self._a, edges, np.zeros(edges.size - 1, np.int64), a, np.empty(a.shape[1], np.int64))
        mean_of = total.middles[np.searchsorted(total.edges, a[k.EDGE, :n], side="right") - 1]
        a[k.SUM, :n] += weight * mean_of
        a[k.COUNT, :n] += weight * count
        a[k.LOSS, :n] += weight * mean_of
        tree = self._tree.copy()
        widths = np.diff(self._cells.edges)
        cells = np.add.reduceat(
            mean_of * np.diff(a[k.EDGE, : n + 1]), np.searchsorted(a[k.EDGE, :n], self._cells.edges[:-1])
        )
        for leaf, loss in zip(self._cells.leaf.tolist(), (cells / widths).tolist(), strict=True):
            node = leaf
            while node >= 1:
                tree[:, node] += weight * count, weight * loss
                node >>= 1
        k.weigh(a, n, self._rate)
        n, _ = k.join(a, n, self._budget, self._cells.edges, self._rate)
        expected = float(k.shares(a[:, : n + 1], a[k.EDGE, : n + 1]) @ (a[k.LOSS, :n] / (weight * count)))
        told, mean, squares = self._losses
        mean = (told * mean + weight * count * expected) / (told + weight * count)
        return self._with(_trimmed(a, n), _tree=tree, _losses=(told + weight * count, mean, squares))

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

    def raised(self) -> float:
        """By how much clips and joins have made a sum of estimates larger than an unbiased one, at most."""
        return float(self._a[k.RAISED, :-1].max())

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
    def alike(self) -> float:
        """Weights within a factor of e are as good as each other: expectations differ from cell to cell."""
        return 1.0

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

    def split(self, parents: Sequence[int], line: Line, cells: Cells, budget: int) -> LocalPieces:
        """The function on a line with further rows; parts know what was known of the row. O(P)."""
        ends, n_rows = self._cells.edges, line.n_rows - len(parents)
        per_row = cells.leaf.size // line.n_rows
        first = np.searchsorted(self._a[k.EDGE], ends[::per_row])
        a = self._a.copy()
        a[k.PRIOR, :-1] /= np.repeat(parts(parents, n_rows), np.diff(first))
        blocks = [a[:, :-1]]
        for new, row in enumerate(parents, n_rows):
            block = a[:, first[row] : first[row + 1]].copy()
            here, there = ((at * per_row, (at + 1) * per_row + 1) for at in (row, new))
            block[k.EDGE] = moved(block[k.EDGE], ends[slice(*here)], cells.edges[slice(*there)])
            blocks.append(block)
        a = np.concatenate((*blocks, np.zeros((k.ROWS, 1))), axis=1)
        a[k.EDGE, -1] = cells.edges[-1]
        a = a[:, np.append(np.diff(a[k.EDGE]) > 0.0, True)]
        k.weigh(a, a.shape[1] - 1, self._rate)
        return self._with(a, _cells=cells, _budget=max(budget, 2 * cells.leaf.size))

    # -- saving ----------------------------------------------------------------------------------

    def state(self) -> FloatArray:
        """All numbers in a row; `from_state` restores the weights to the bit."""
        cells, drift = self._cells, self._drift
        sizes = len(self), cells.leaf.size, self._tree.shape[1], self._budget
        moving = (0.0,) * 5 if drift is None else (1.0, drift.share_given, *drift[2:])
        header = np.array([*sizes, cells.along_rows, self._rate, *self._losses, *moving], np.float64)
        memory = np.empty(0) if drift is None else drift.memory.ravel()
        leaf = cells.leaf.astype(np.float64)
        arrays = cells.edges, leaf, self._a.ravel(), self._tree.ravel(), memory, self._link
        return np.concatenate((header, *arrays))

    @classmethod
    def from_state(cls, state: npt.NDArray[Any]) -> LocalPieces:
        """Undo `state`; raises ValueError where the numbers are not those of weights."""
        if state.dtype != np.float64 or state.ndim != 1 or state.size < _HEADER:
            raise ValueError("local weights are broken: numbers")
        header = state[:_HEADER].tolist()
        if not np.isfinite(header[:10]).all():
            raise ValueError("local weights are broken: header")
        n, n_cells, nodes, budget = (int(x) for x in header[:4])
        sizes = (n_cells + 1, n_cells, k.ROWS * (n + 1), 2 * nodes, 4 * nodes * bool(header[9]))
        if min(n, n_cells, nodes) < 1 or state.size - _HEADER - sum(sizes) not in (0, _LINK):
            raise ValueError("local weights are broken: sizes")
        edges, leaf, a, tree, memory, link = np.split(state[_HEADER:], np.cumsum(sizes))
        weights = cls.__new__(cls)
        weights._cells = Cells(edges.copy(), leaf.astype(np.int64), bool(header[4]))
        weights._rate, weights._budget = header[5], budget
        weights._losses = (header[6], header[7], header[8])
        weights._a = a.reshape(k.ROWS, n + 1).copy()
        weights._tree = tree.reshape(2, nodes).copy()
        weights._drift = (
            Drift(header[10], memory.reshape(2, 2, nodes).copy(), *header[11:]) if header[9] else None
        )
        weights._link = link.copy() if link.size else np.zeros(_LINK)
        weights._check()
        if weights._a[k.MASS, -1] == 0.0:  # a file from before level and total of the masses were kept
            k.weigh(weights._a, n, weights._rate)
        return weights

    def _check(self) -> None:
        """Verify every invariant; ValueError where one does not hold. O(P)."""
        edges, leaf, _ = self._cells
        increasing = (np.diff(edges) > 0.0).all() and (np.diff(self._a[k.EDGE]) > 0.0).all()
        finite = all(np.isfinite(numbers).all() for numbers in (self._a, self._tree, self._link))
        inside = leaf.min() >= 1 and leaf.max() < self._tree.shape[1]
        if not (increasing and finite and inside and np.isin(edges, self._a[k.EDGE]).all()):
            raise ValueError("local weights are broken: edges, cells or numbers")
        again = self._a.copy()
        k.weigh(again, len(self), self._rate)
        masses, expected = self._a[k.MASS], again[k.MASS]
        if not np.allclose(masses / masses.sum(), expected / expected.sum(), rtol=1e-6):
            raise ValueError("local weights are broken: masses")


def _trimmed(a: FloatArray, n: int) -> FloatArray:
    """The first n pieces, and the end of the line."""
    return a if a.shape[1] == n + 1 else a[:, : n + 1].copy()


class WholeSoFar(IntervalTree):
    """The weights of a learner that has been told whole functions only: Hedge, on exact pieces.

    The first function that is seen in part turns them into `LocalPieces`. If that is the first of all, no
    tree is ever made: its kernels would take seconds to compile.
    """

    def __init__(self, cells: Cells, budget: int) -> None:
        self._cells, self._budget = cells, budget

    @cached_property
    def _nodes(self) -> Nodes:  # type: ignore[override]
        return IntervalTree(*self._ends)._nodes

    @property
    def _ends(self) -> tuple[float, float]:
        return float(self._cells.edges[0]), float(self._cells.edges[-1])

    @property
    def _even(self) -> bool:
        """Whether all weights are alike."""
        return "_nodes" not in self.__dict__ or len(self) == 1

    def _wrap(self, tree: IntervalTree) -> WholeSoFar:
        weights = WholeSoFar.__new__(WholeSoFar)
        weights.__dict__.update(tree.__dict__, _cells=self._cells, _budget=self._budget)
        return weights

    def learn(self, seen: Seen, rule: Rule) -> Learned:
        """One step: of Hedge if everything was seen, or of `LocalPieces` from here on."""
        return super().learn(seen, rule) if seen.whole else self._in_part(rule.rate).learn(seen, rule)

    def warmed(self, total: Piecewise, count: int, weight: float, rate: float) -> LocalPieces:
        """`LocalPieces` that have seen so many whole functions."""
        return self._in_part(rate).warmed(total, count, weight, rate)

    def _in_part(self, rate: float) -> LocalPieces:
        """`LocalPieces` that know as much."""
        if self._even:
            return LocalPieces(self._cells, rate, self._budget)
        return LocalPieces.of(self, self._cells, rate, self._budget)

    def draw(self, u: float) -> float:
        """The point that has a share u in [0, 1) of the mass to its left."""
        if not self._even:
            return super().draw(u)
        lo, hi = self._ends
        return min(lo + (hi - lo) * u, math.nextafter(hi, lo))

    def raised_to(self, power: float) -> WholeSoFar:
        """The function to a positive power, for a change of the learning rate. O(P)."""
        return self._wrap(super().raised_to(power))

    def joined(self, n_pieces: int) -> tuple[WholeSoFar, float]:
        """At most `n_pieces` pieces, made by joining neighbours, and the error of that."""
        tree, error = super().joined(n_pieces)
        return self._wrap(tree), error

    def split(self, parents: Sequence[int], line: Line, cells: Cells, budget: int) -> WholeSoFar:
        """The function on a line with further rows. O(P)."""
        weights = WholeSoFar.__new__(WholeSoFar)
        tree = super().split(parents, line, cells, budget)
        weights.__dict__.update(tree.__dict__, _cells=cells, _budget=budget)
        return weights

    def state(self) -> npt.NDArray[np.int64]:
        """All numbers in a row, as integers of the same bits."""
        rows = super().state()
        cells = self._cells
        header = np.array([cells.leaf.size, self._budget, cells.along_rows], np.int64)
        return np.concatenate((header, cells.edges.view(np.int64), cells.leaf, rows.ravel()))

    @classmethod
    def from_state(cls, state: npt.NDArray[np.int64]) -> WholeSoFar:
        """Undo `state`; raises ValueError where the numbers are not those of weights."""
        n = int(state[0]) if state.size > 3 else 0
        if state.ndim != 1 or not 1 <= n < state.size or state.size < 3 + 2 * n + 1:
            raise ValueError("weights of whole functions are broken: sizes")
        edges, leaf, rows = np.split(state[3:], [n + 1, 2 * n + 1])
        if rows.size % WORDS:
            raise ValueError("weights of whole functions are broken: rows")
        weights = cls.__new__(cls)
        tree = IntervalTree.from_state(rows.reshape(-1, WORDS))
        cells = Cells(edges.view(np.float64).copy(), leaf.copy(), bool(state[2]))
        weights.__dict__.update(tree.__dict__, _cells=cells, _budget=int(state[1]))
        return weights

    def __reduce__(self) -> tuple[Any, ...]:
        return WholeSoFar.from_state, (self.state().copy(),)
