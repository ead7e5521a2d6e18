"""Greedy maximum-weight independent set: take vertices by w / (1 + deg)^ρ (Gupta and Roughgarden)."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from semibandit import _validate
from semibandit._cached import cached_property
from semibandit._validate import IntArray
from semibandit.families.greedy.solution import BoolArray, Solution, margin_of, positive
from semibandit.families.instance import Valued, before_end, interval_or
from semibandit.families.stepwise import Stepwise
from semibandit.spaces.interval import Interval

__all__ = ["IndependentSet"]


class IndependentSet(Valued, Stepwise):
    """Greedy independent set: take vertices by decreasing w / (1 + deg)^ρ, and remove their neighbours.

    Ties go to the vertex that leads just right of ρ (the one of smaller degree), then to the one of smaller
    index. At the right end of the space, which is closed, the run is the one just left of it.

    Parameters
    ----------
    weights
        The weight of each vertex, > 0.
    edges
        Pairs of vertices, shape (m, 2). A pair may come twice; a vertex is no neighbour of itself.
    space
        The parameters ρ; [0, 2] by default. 0 takes the heaviest first.
    adaptive
        Whether degrees are those in the graph that is left (vertices taken and their neighbours removed),
        instead of those in the whole graph.
    loss
        "normalised": 1 - weight / bound in [0, 1]. The bound covers the graph by cliques and adds up their
        largest weights, which no independent set exceeds. "utility": the weight, to be maximised.
    partition
        The feedback sets: the maximal intervals with the same "output", the set that is taken, or with the
        same "loss".

    Notes
    -----
    Ends of intervals are exact as in `Knapsack`: critical values, correctly rounded to 43 bits.

    Examples
    --------
    >>> path = IndependentSet([2, 3, 2], [(0, 1), (1, 2)])
    >>> path.solve(0.0).mask, path.solve(2.0).mask
    (array([False,  True, False]), array([ True, False,  True]))
    >>> path.losses()
    PiecewiseConstant([0.0, 1.0, 2.0], [0.4, 0.19999999999999996])
    """

    def __init__(
        self,
        weights: npt.ArrayLike,
        edges: npt.ArrayLike,
        space: Interval | None = None,
        *,
        adaptive: bool = False,
        loss: str = "normalised",
        partition: str = "output",
    ) -> None:
        Stepwise.__init__(self, interval_or((0.0, 2.0), space), partition)
        Valued.__init__(self, self.space, loss)
        self.weights = positive("weights", weights)
        if self.weights.size == 0:
            raise ValueError("weights must have at least one entry, got none")
        self.edges = _pairs(edges, self.weights.size)
        self.adaptive = _validate.boolean("adaptive", adaptive)
        self._prepare()

    def _prepare(self) -> None:
        """Compute the adjacency arrays, and the margin within which scores are not reliable."""
        n = self.weights.size
        both = np.concatenate((self.edges, self.edges[:, ::-1]))
        both = both[np.lexsort((both[:, 1], both[:, 0]))]
        self._start = np.searchsorted(both[:, 0], np.arange(n + 1))
        self._near = np.ascontiguousarray(both[:, 1])
        size = 1.0 + np.diff(self._start)
        self._items = np.column_stack((np.log(self.weights), np.log(size), self.weights, size))
        largest_v, largest_s = np.abs(self._items[:, :2]).max(axis=0, initial=0.0).tolist()
        self._margin = margin_of(largest_v, largest_s, self.space)

    @cached_property
    def bound(self) -> float:
        """An upper bound on the weight of independent sets. O(n log n + m)."""
        from semibandit.families.greedy import _independent_set_kernels as k

        order = np.argsort(-self.weights, kind="stable")
        return k.clique_bound(self.weights, self._start, self._near, order)

    def solve(self, rho: float) -> Solution:
        """Run once; return the set (a mask) and its weight, with `.order`, in which vertices were taken."""
        point = before_end(self.space, rho)
        taken, order, _, _ = self._take(point, plain=True)
        return Solution(taken, self._worth(taken), order[taken[order]])

    def loss(self, rho: float) -> float:
        """Return the loss at rho (bandit feedback): one run. O(n log n + m), adaptive O(n·|set| + m)."""
        return self.loss_of(self.solve(rho).value)

    def _run(self, rho: float) -> tuple[float, float, float]:
        """Return the ends of the maximal interval with the same set as at rho, and the loss.

        Static: O(m) on top of the run. Adaptive: a run shows the interval with the same order of vertices;
        further runs extend it while the set is the same in another order.
        """
        taken, _, left, right = self._take(rho)
        while self.adaptive and right < self.space.hi:
            beyond, _, _, further = self._take(right)
            if not np.array_equal(beyond, taken):
                break
            right = further
        while self.adaptive and left > self.space.lo:
            beyond, _, further, _ = self._take(math.nextafter(left, -math.inf))
            if not np.array_equal(beyond, taken):
                break
            left = further
        return left, right, self.loss_of(self._worth(taken))

    def _take(self, rho: float, *, plain: bool = False) -> tuple[BoolArray, IntArray, float, float]:
        """Return the set, the order, and (unless `plain`) an interval on which a run takes this set."""
        from semibandit.families.greedy import _independent_set_kernels as k

        ends = (self.space.lo, rho, self.space.hi)
        if self.adaptive:
            picked, left, right = k.run_adaptive(
                self.weights, self._start, self._near, ends, self._margin, plain
            )
            taken = np.zeros(self.weights.size, np.bool_)
            taken[picked] = True
            return taken, picked, left, right
        order = np.argsort(rho * self._items[:, 1] - self._items[:, 0])
        taken = k.run_static(self._items, self._start, self._near, order, rho, self._margin)
        if plain:
            return taken, order, rho, rho
        interval = k.interval_static(self._items, self._start, self._near, taken, ends, self._margin)
        return taken, order, *interval

    def _worth(self, taken: BoolArray) -> float:
        return float(self.weights[taken].sum())

    def __repr__(self) -> str:
        kind = "adaptive" if self.adaptive else "static"
        return f"IndependentSet({self.weights.size} vertices, {len(self.edges)} edges, {kind}, {self.space})"


def _pairs(edges: npt.ArrayLike, n: int) -> IntArray:
    """Return each edge once, the smaller vertex first."""
    pairs = np.asarray(edges)
    if pairs.size == 0:
        return np.empty((0, 2), np.int64)
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise ValueError(f"edges must be pairs of vertices, shape (m, 2), got shape {pairs.shape}")
    if not np.issubdtype(pairs.dtype, np.integer):
        raise TypeError(f"edges must be integers, got {pairs.dtype}")
    outside = ((pairs < 0) | (pairs >= n)).any(axis=1)
    loops = pairs[:, 0] == pairs[:, 1]
    for bad, problem in ((outside, f"must lie between 0 and {n - 1}"), (loops, "must differ")):
        if bad.any():
            where = int(np.flatnonzero(bad)[0])
            raise ValueError(
                f"the vertices of an edge {problem}, got edges[{where}] = {pairs[where].tolist()}"
            )
    return np.unique(np.sort(pairs.astype(np.int64), axis=1), axis=0)
