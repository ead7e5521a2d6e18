"""Weights with a local baseline: what is expected of a piece is subtracted from what was seen of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from semibandit import _validate
from semibandit._validate import FloatArray, IntArray
from semibandit.functions import Piecewise, PiecewiseConstant, PiecewiseLinear
from semibandit.spaces import Line
from semibandit.weights import _local_kernels
from semibandit.weights import _pieces as k
from semibandit.weights._tree_kernels import WORDS, Nodes
from semibandit.weights.cells import COARSE, Cells, n_nodes
from semibandit.weights.drift import Drift, PageTest
from semibandit.weights.exponential import ExponentialPieces
from semibandit.weights.interval_tree import IntervalTree
from semibandit.weights.splitting import moved, parts
from semibandit.weights.steps import Learned, Rule, Seen, Step

__all__ = ["LocalPieces", "WholeSoFar"]

_HEADER = 14  # numbers before the arrays in a state
_PAIRS = 4  # and after them, but in states of earlier versions
_TESTED = 3.0  # there is a drift with a test; in states of earlier versions 1 without one, 2 of rises alone
_FOUND = {2.0: 5, _TESTED: 6}  # numbers of the test, and the speed since the last alarm
_NONE = np.empty(0)
_SHORT_GAME = 7.0  # the logarithm of some thousand rounds
_FINEST_PIECES = 64  # with losses that have a slope no piece holds more than such a part of the mass for long
_ROOM = 24  # for pieces that a round may add
_CHANGING = "_a", "_tree", "_sums"  # what a step changes in place
_FORGOTTEN = [i for i in range(_local_kernels.SUMS) if i != _local_kernels.MEAN]


class LocalPieces:
    """exp(-rate · sum of estimates) on pieces, with an estimate of the loss everywhere in every round.

    For any b that is fixed before the round, b + 1{seen}·(loss - b)/p is an unbiased estimate of the loss,
    and the better b predicts the loss, the less it varies. Here b is the mean of what was seen of a piece,
    shrunk to that of its cell, of the cell's parent and so on, and lowered where little was seen. So pieces
    that nobody has seen learn from their neighbours (coarse cells at first), and those that were seen often
    trust themselves (exact edges in the end). (loss - b)/p is averaged over cells, finer where much is
    played, as that of a narrow set would be large and seldom.

    A round costs O(P) for P pieces, of which there are at most `budget`: neither time nor memory grows with
    the rounds. A step changes the weights in place; `apart` makes a copy where the old ones are still needed.

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

    finest_rate_step = 0.97  # the rate may follow its formula closely: another one costs no more than a round

    def __init__(
        self,
        cells: Cells,
        rate: float,
        budget: int,
        prior: PiecewiseConstant | None = None,
        drift: Drift | None = None,
    ) -> None:
        self._cells, self._rate, self._drift = cells, rate, drift
        self._budget = max(budget, 2 * cells.leaf.size)
        self._tree = np.zeros((2, n_nodes(cells)))
        self._sums = np.zeros(_local_kernels.SUMS)
        edges = cells.edges if prior is None else np.union1d(prior.edges, cells.edges)
        even = np.diff(edges) / (edges[-1] - edges[0])
        pieces = np.zeros((k.ROWS, edges.size))
        pieces[k.EDGE] = edges
        pieces[k.PRIOR, :-1] = even if prior is None else prior.between(edges)
        self._take(pieces)

    @classmethod
    def of(cls, tree: IntervalTree, cells: Cells, rate: float, budget: int) -> LocalPieces:
        """What a tree has learned so far, with nothing known of single pieces."""
        weights = cls(cells, rate, budget)
        logs = tree.joined(weights._budget // 2)[0].log()
        edges = np.union1d(logs.edges, cells.edges)
        pieces = np.zeros((k.ROWS, edges.size))
        pieces[k.EDGE] = edges
        pieces[k.PRIOR, :-1] = np.diff(edges) / (edges[-1] - edges[0])
        pieces[k.SUM, :-1] = -logs.spread(edges)[0] / rate
        weights._take(pieces)
        return weights

    def _take(self, pieces: FloatArray) -> None:
        """Begin with these pieces and the end of the line, weighed if they were not, and room for more."""
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
        """Cut the pieces at the ends of what was seen; return where pieces begin, and the end of the line."""
        self._make_room(edges.size)
        self._n = k.cut(self._a, self._n, edges, sets, np.empty(edges.size, np.int64))
        return self._a[k.EDGE, : self._n + 1].copy()

    def _make_room(self, n: int) -> None:
        """Make room for n further pieces."""
        if self._n + n >= self._a.shape[1]:
            self._a = np.concatenate((self._a, np.zeros((k.ROWS, 2 * n))), axis=1)

    def apart(self) -> LocalPieces:
        """A copy: a step on it leaves these weights as they are. O(P)."""
        weights = LocalPieces.__new__(LocalPieces)
        weights.__dict__ = self.__dict__ | {name: getattr(self, name).copy() for name in _CHANGING}
        return weights

    __copy__ = apart

    def _outlook(self, drift: Drift | None, single: bool) -> tuple[bool, float, float, float]:
        """The numbers of an `Outlook`, but for those of the losses paid."""
        speed = 0.0 if drift is None else drift.speed
        # On rows the sets seen are much narrower than cells: pieces know too little of themselves.
        if self._cells.along_rows:
            shrink, hope = (8.0, 0.5) if single else (4.0, 0.2)
            return False, shrink, hope * (1.0 - 0.5 * speed), 0.0
        if not single:
            return True, 2.0, 0.6 * (1.0 - 0.7 * speed), 0.0
        # Single losses are few and noisy: neighbours count for more, and bad luck must not lock a piece out.
        # In a long game that takes confidence bounds; in a short one they would cost more than they save.
        late = max(math.log1p(self._sums[_local_kernels.TOLD]) - _SHORT_GAME, 0.0)
        return True, 5.0, 1.0 - 0.7 * speed, 1.2 * math.sqrt(late)

    def _coarse(self, seen: Seen | Step) -> float:
        """The share from which on cells are halved, in the first round; 0: nothing is averaged over them."""
        # A single loss speaks for a cell as it is; on rows there are neighbours beside it that are alike.
        exact = seen.whole or (seen.single and not self._cells.along_rows)
        return 0.0 if exact else COARSE

    # -- draw, integrate, learn ------------------------------------------------------------------

    def draw(self, u: float) -> float:
        """The point that has a share u in [0, 1) of the mass to its left. O(P)."""
        return k.draw(self._a, self._n, u)

    def log_shares(self, edges: FloatArray) -> FloatArray:
        """The logarithm of the share of the mass between consecutive edges. O(P)."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(k.shares(self._a, self._n, edges)))

    def learn(self, seen: Seen | Step, rule: Rule) -> Learned:
        """One round of Algorithm 1 with the local baseline in place of the rule's shift. O(P).

        Whole functions with a slope turn the weights into `ExponentialPieces`, which learn them exactly.
        """
        if seen.sloped:
            if seen.whole:
                logs = self.log()
                return ExponentialPieces(logs.edges, logs.values, logs.values).learn(seen, rule)
            seen = self._in_steps(seen.in_arrays(), rule.explore)
        drift, before = self._drift, self._tree
        if drift is not None:
            drift, before = drift.told(self._leaf(seen.home), seen.paid, seen.whole), before.copy()
        told, asked = seen.table(), _NONE
        if seen.shares_at_ask is not None:
            asked = seen.shares_at_ask(self._cut(seen.edges, seen.sets))
        self._make_room(seen.n_edges)
        cells = self._cells
        self._n, gap, raised, p = _local_kernels.learn(
            self._a, self._n, seen.lo, seen.hi, seen.paid, told, asked,
            cells.edges, cells.leaf, self._tree, self._sums, *self._outlook(drift, seen.single),
            rule.explore, rule.floor, rule.rate, self._coarse(seen), seen.whole, self._budget,
        )  # fmt: skip
        learned = Learned(self, seen.chances_in(told, p), gap, None, raised)
        return learned if drift is None else self._moved(drift.remembering(self._tree - before), learned)

    def _in_steps(self, seen: Seen, explore: float) -> Seen:
        """Losses with a slope by their means over the pieces, which are halved where much is played.

        A place may be better than the mean by half of what the loss varies over the piece: the estimates
        count as raised by so much, in expectation.
        """
        starts, mass = self._a[k.EDGE, : self._n + 1], self._a[k.MASS, : self._n]
        heavy = mass * _FINEST_PIECES > self._a[k.MASS, self._n]
        cuts = np.concatenate((starts, 0.5 * (starts[:-1] + starts[1:])[heavy]))
        edges = np.union1d(seen.edges, cuts[(seen.edges[0] < cuts) & (cuts < seen.edges[-1])])
        left, right = PiecewiseLinear.trusted(seen.edges, *seen.losses).spread(edges)
        sets = seen.sets[np.searchsorted(seen.edges, edges[:-1], side="right") - 1]
        pieces = np.searchsorted(self._cut(edges, sets), edges[:-1])
        there = sets >= 0
        shares = k.shares(self._a, self._n, edges)
        if seen.shares_at_ask is not None:
            shares = seen.shares_at_ask(edges)
        looks = seen.times / seen.times.sum() / (np.bincount(sets[there], shares[there]) + explore)
        self._a[k.RAISED, pieces[there]] += 0.5 * np.abs(right - left)[there] * looks[sets[there]]
        losses = 0.5 * (left + right)
        return replace(seen, edges=edges, losses=(losses, losses), sets=sets)

    def _moved(self, drift: Drift, learned: Learned) -> Learned:
        """Spread a share of the mass after a step, and forget a part of the past."""
        self._drift, keep = drift, drift.remembered
        if drift.share > 0.0:
            k.spread(self._a, self._n, drift.share, self._rate)
        self._a[[k.COUNT, k.LOSS], : self._n] *= keep
        self._tree *= keep
        self._sums[_FORGOTTEN] *= keep
        return replace(learned, kept=drift.kept, speed=drift.urgency, remembered=keep)

    def _leaf(self, x: float) -> int:
        cell = int(np.searchsorted(self._cells.edges, x, side="right")) - 1
        return int(self._cells.leaf[min(max(cell, 0), self._cells.leaf.size - 1)])

    def warmed(self, total: Piecewise, count: int, weight: float, rate: float) -> LocalPieces:
        """As if so many whole functions had been seen, given by their sum, each for `weight` rounds."""
        weights = self.apart()
        edges = weights._cut(np.array(total.edges), np.zeros(total.edges.size - 1, np.int64))
        pieces = weights._pieces
        mean_of = total.middles[np.searchsorted(total.edges, edges[:-1], side="right") - 1]
        pieces[k.SUM, :-1] += weight * mean_of
        pieces[k.COUNT, :-1] += weight * count
        pieces[k.LOSS, :-1] += weight * mean_of
        tree = weights._tree
        widths = np.diff(self._cells.edges)
        cells = np.add.reduceat(mean_of * np.diff(edges), np.searchsorted(edges[:-1], self._cells.edges[:-1]))
        for leaf, loss in zip(self._cells.leaf.tolist(), (cells / widths).tolist(), strict=True):
            node = leaf
            while node >= 1:
                tree[:, node] += weight * count, weight * loss
                node >>= 1
        k.weigh(weights._a, weights._n, self._rate)
        weights, _ = weights.joined(self._budget)
        pieces = weights._pieces
        expected = float(pieces[k.MASS, :-1] @ pieces[k.LOSS, :-1]) / (
            float(pieces[k.MASS, -1]) * weight * count
        )
        told, mean, *_ = self._sums
        weights._sums[:2] = (
            told + weight * count,
            (told * mean + weight * count * expected) / (told + weight * count),
        )
        return weights

    # -- the whole function ----------------------------------------------------------------------

    def __len__(self) -> int:
        """The number of pieces."""
        return self._n

    @property
    def ends(self) -> tuple[float, float]:
        """The ends of the line."""
        return float(self._cells.edges[0]), float(self._cells.edges[-1])

    @property
    def nbytes(self) -> int:
        """Memory of the structure."""
        return self._a.nbytes + self._tree.nbytes

    def lead(self) -> float:
        """By how many losses a place is ahead, at most: by its density, and by what was added to its sum."""
        _, prior, total, raised, _, _, mass = self._pieces
        # ln(density / prior) from the sums, as masses far behind are rounded to 0.
        ahead = total[-1] - total[:-1] - math.log(mass[-1] / prior[:-1].sum()) / self._rate
        return float((ahead + raised[:-1])[prior[:-1] > 0.0].max())

    def log(self) -> PiecewiseConstant:
        """The logarithm of the weight, relative to the largest one. O(P)."""
        pieces = self._pieces
        edges = pieces[k.EDGE]
        logs = np.log(pieces[k.PRIOR, :-1] / np.diff(edges)) - self._rate * pieces[k.SUM, :-1]
        return PiecewiseConstant.trusted(edges.copy(), logs - logs.max())

    def density(self) -> PiecewiseConstant:
        """The function, normalised to a density. O(P)."""
        edges, mass = self._pieces[k.EDGE], self._pieces[k.MASS, :-1]
        return PiecewiseConstant(edges, mass / mass.sum() / np.diff(edges))

    @property
    def alike(self) -> float:
        """Weights within a factor of e are as good as each other: expectations differ from cell to cell."""
        return 1.0

    def raised_to(self, power: float) -> LocalPieces:
        """The function for another learning rate. O(P)."""
        weights = self.apart()
        weights._rate *= _validate.number("power", power, low=0.0, open=True)
        k.weigh(weights._a, weights._n, weights._rate)
        return weights

    def joined(self, n_pieces: int) -> tuple[LocalPieces, float]:
        """At most `n_pieces` pieces, but no fewer than there are cells, and the error of that. O(P)."""
        weights, target = self.apart(), max(n_pieces, self._cells.leaf.size)
        weights._n, moved = k.join(weights._a, self._n, target, self._cells.edges, self._rate)
        return weights, moved

    def split(self, parents: Sequence[int], line: Line, cells: Cells, budget: int) -> LocalPieces:
        """The function on a line with further rows; parts know what was known of the row. O(P)."""
        ends, n_rows = self._cells.edges, line.n_rows - len(parents)
        per_row = cells.leaf.size // line.n_rows
        a = self._pieces.copy()
        first = np.searchsorted(a[k.EDGE], ends[::per_row])
        a[k.PRIOR, :-1] /= np.repeat(parts(parents, n_rows), np.diff(first))
        blocks = [a[:, :-1]]
        for new, row in enumerate(parents, n_rows):
            block = a[:, first[row] : first[row + 1]].copy()
            here, there = ((at * per_row, (at + 1) * per_row + 1) for at in (row, new))
            block[k.EDGE] = moved(block[k.EDGE], ends[slice(*here)], cells.edges[slice(*there)])
            blocks.append(block)
        a = np.concatenate((*blocks, np.zeros((k.ROWS, 1))), axis=1)
        a[k.EDGE, -1] = cells.edges[-1]
        weights = self.apart()
        weights._cells, weights._budget = cells, max(budget, 2 * cells.leaf.size)
        weights._take(a[:, np.append(np.diff(a[k.EDGE]) > 0.0, True)])
        return weights

    # -- saving ----------------------------------------------------------------------------------

    def state(self) -> FloatArray:
        """All numbers in a row; `from_state` restores the weights to the bit."""
        cells, drift = self._cells, self._drift
        sizes = len(self), cells.leaf.size, self._tree.shape[1], self._budget
        moving = (0.0,) * 5 if drift is None else (_TESTED, drift.share_given, *drift[2:5])
        paid, pairs = np.split(self._sums, [_local_kernels.PRODUCTS])
        header = np.array([*sizes, cells.along_rows, self._rate, *paid, *moving], np.float64)
        memory = _NONE if drift is None else np.array([*drift.memory.ravel(), *drift.test, drift.alarmed])
        leaf = cells.leaf.astype(np.float64)
        arrays = cells.edges, leaf, self._pieces.ravel(), self._tree.ravel(), memory, pairs
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
        remembered, tested = 4 * nodes * bool(header[9]), _FOUND.get(header[9], 0)
        sizes = (n_cells + 1, n_cells, k.ROWS * (n + 1), 2 * nodes, remembered, tested)
        if min(n, n_cells, nodes) < 1 or state.size - _HEADER - sum(sizes) not in (0, _PAIRS):
            raise ValueError("local weights are broken: sizes")
        edges, leaf, pieces, tree, memory, found, pairs = np.split(state[_HEADER:], np.cumsum(sizes))
        weights = cls.__new__(cls)
        weights._cells = Cells(edges.copy(), leaf.astype(np.int64), bool(header[4]))
        weights._rate, weights._budget = header[5], budget
        weights._sums = np.concatenate((header[6:9], pairs if pairs.size else np.zeros(_PAIRS)))
        weights._tree = tree.reshape(2, nodes).copy()
        weights._drift = None
        if header[9]:
            *test, alarmed = found.tolist() or (*PageTest(), 0.0)
            drift = Drift(header[10], memory.reshape(2, 2, nodes).copy(), *header[11:])
            weights._drift = drift._replace(test=PageTest(*test), alarmed=alarmed)
        weights._take(pieces.reshape(k.ROWS, n + 1))
        weights._check()
        return weights

    def _check(self) -> None:
        """Verify every invariant; ValueError where one does not hold. O(P)."""
        pieces, (edges, leaf, _) = self._pieces, self._cells
        increasing = (np.diff(edges) > 0.0).all() and (np.diff(pieces[k.EDGE]) > 0.0).all()
        finite = all(np.isfinite(numbers).all() for numbers in (pieces, self._tree, self._sums))
        inside = leaf.min() >= 1 and leaf.max() < self._tree.shape[1]
        if not (increasing and finite and inside and np.isin(edges, pieces[k.EDGE]).all()):
            raise ValueError("local weights are broken: edges, cells or numbers")
        again = pieces.copy()
        k.weigh(again, again.shape[1] - 1, self._rate)
        masses, expected = pieces[k.MASS, :-1], again[k.MASS, :-1]
        if not np.allclose(masses / masses.sum(), expected / expected.sum(), rtol=1e-6):
            raise ValueError("local weights are broken: masses")


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

    def learn(self, seen: Seen | Step, rule: Rule) -> Learned:
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
