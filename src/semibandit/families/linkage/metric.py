"""The family of clusterings with two metrics, and a linkage between two (appendix C.2, Theorem 14)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from semibandit import _validate
from semibandit._validate import FloatArray
from semibandit.families.linkage.distances import Distances, power_of_two, require_comparable
from semibandit.families.linkage.rho_trees import Cost, TreeCosts, Trees
from semibandit.functions.constant import PiecewiseConstant
from semibandit.spaces.interval import Interval
from semibandit.spaces.strips import Strips

if TYPE_CHECKING:
    from collections.abc import Callable

    from semibandit.families.linkage.pieces import Run

__all__ = ["MetricLinkage"]

LINKAGES = ("single-complete", "average-complete")
PARTITIONS = ("tree", "loss")

_DEFAULT_ROWS = 33
# Mixed distances stay in the range that is compared exactly.
_EXACT = 390


class MetricLinkage:
    """Hierarchical clustering by ρ-linkage of the distances (1 - α)·d0 + α·d1.

    α weighs the metrics, ρ the linkages; see `Linkage`. The space has a row for each of several α, and is
    continuous in ρ.

    Parameters
    ----------
    d0, d1
        The distances by either metric, each as `Linkage` takes them. Bring them to the same scale first, so
        that α = 1/2 gives both the same weight.
    cost
        The cost of a tree, as for `Linkage`; the distances that it gets are the mixed ones.
    linkage
        "single-complete" (the paper's) or "average-complete".
    space
        The rows: `Strips` of [0, 1] over a range of α in [0, 1].
    partition
        The feedback sets: connected sets with the same "tree", or with the same "loss" (equal as doubles),
        which are larger and take more trees.

    Attributes
    ----------
    n_runs
        Number of trees built so far.
    unit
        The spacing of the parameters ρ.

    Notes
    -----
    `reveal` returns the loss on a connected set: the maximal interval with the same tree (or loss) around ρ,
    then all intervals with this tree (loss) in neighbouring rows that overlap it, and so on. The set is the
    same from every point in it, so these sets are a partition of the space.

    Parameters ρ are multiples of `unit`, the spacing of doubles at the end of the line on which `Strips` lays
    the rows; a point of that line is rounded down. On these a row is as exact as `Linkage`.

    Cost: `reveal` takes O(n²) for each interval of the set; with partition="loss" for each tree of the set
    and of what its intervals meet in neighbouring rows. `losses` takes O(n²) for each piece of each row.
    Memory: three times that of the square matrix, for any number of rows.

    Examples
    --------
    >>> import semibandit as sb
    >>> d0 = [[0, 1, 3, 6], [1, 0, 2, 5], [3, 2, 0, 2.5], [6, 5, 2.5, 0]]
    >>> d1 = [[0, 1, 4, 4], [1, 0, 4, 4], [4, 4, 0, 1], [4, 4, 1, 0]]
    >>> space = sb.Strips(3, sb.Interval(0, 1))
    >>> problem = sb.MetricLinkage(d0, d1, sb.clustering.TargetDistance([0, 0, 1, 1]), space=space)
    >>> problem.losses()
    PiecewiseConstant([0.0, 0.5, 1.0, 2.0, 3.0], [0.25, 0.0, 0.0, 0.0])
    >>> problem.reveal(0.7, alpha=0.5)
    PiecewiseConstant([0.5, 1.0, 2.0, 3.0], [0.0, 0.0, 0.0])
    """

    high = 1.0
    maximize = False

    def __init__(
        self,
        d0: Any,
        d1: Any,
        cost: Cost,
        linkage: str = "single-complete",
        *,
        space: Strips | None = None,
        partition: str = "tree",
    ) -> None:
        self.linkage = _validate.choice("linkage", linkage, LINKAGES)
        self.partition = _validate.choice("partition", partition, PARTITIONS)
        self.space = Strips(_DEFAULT_ROWS, Interval(0.0, 1.0)) if space is None else _checked(space)
        both = Distances.read("d0", d0), Distances.read("d1", d1)
        self._d0, self._d1 = (d.square for d in both)
        if self._d0.shape != self._d1.shape:
            raise ValueError(
                f"d0 and d1 must be distances of the same points, got {self._d0.shape[0]} "
                f"and {self._d1.shape[0]} points"
            )
        require_comparable("d0 and d1", "average" in linkage, *both)
        self.cost = cost
        # A cost that depends on the tree alone is the same in all rows.
        self._shared = None if getattr(cost, "needs_distances", True) else TreeCosts(cost)
        scale = power_of_two(*both, exponent=_EXACT)
        self._scaled = (self._d0, self._d1) if scale == 1.0 else (self._d0 * scale, self._d1 * scale)
        end = self.space.line.ends[1]
        self.unit = end - math.nextafter(end, 0.0)
        self._first = self._at(self._alphas[0])  # checks that the cost fits the points
        self.n_runs = 0

    def __repr__(self) -> str:
        return f"MetricLinkage({self._d0.shape[0]} points, {self.cost!r}, {len(self.space)} rows)"

    def distances(self, alpha: float) -> FloatArray:
        """Return (1 - α)·d0 + α·d1 for any α in [0, 1]."""
        from semibandit.families.linkage.connected import mixed

        return mixed(self._d0, self._d1, _validate.number("alpha", alpha, low=0.0, high=1.0))

    def tree(self, rho: float, alpha: float) -> FloatArray:
        """Return scipy's linkage matrix Z at (rho, alpha), which need not be on a row. O(n²)."""
        matrix = self._at(alpha).matrix(self._placed(rho, alpha))
        self.n_runs += 1
        return matrix

    def loss(self, rho: float, alpha: float) -> float:
        """Return the cost of the tree at (rho, alpha), on a row or not (bandit feedback)."""
        loss = self._at(alpha).cost(self._placed(rho, alpha))
        self.n_runs += 1
        return loss

    def reveal(self, rho: float, alpha: float) -> PiecewiseConstant:
        """Return the loss on the connected set around (rho, alpha) (semi-bandit feedback, Theorem 14).

        alpha must be that of a row. The function is on the line of the rows; `Strips.row` splits it.
        """
        from semibandit.families.linkage.connected import LossSearch, MixedDistances, TreeSearch

        row, rho = self.space.row_of(alpha), self._placed(rho, alpha)
        distances, kind = MixedDistances(*self._scaled, self._alphas), LINKAGES.index(self.linkage)
        cost = self._costs()
        by_loss = self.partition == "loss"
        search = (
            LossSearch(distances, kind, self.unit, cost)
            if by_loss
            else TreeSearch(distances, kind, self.unit)
        )
        run, pieces = search.connected(row, rho)
        self.n_runs += search.n_trees
        rows, lo, hi = (np.array(column) for column in zip(*pieces, strict=True))
        if by_loss or self._shared is not None:
            values = np.full(rows.size, cost(run, row))
        else:
            values = np.array([cost(run, i) for i in rows.tolist()])
        return self.space.lay_pieces(rows, lo, np.minimum(hi, 1.0), values)

    def losses(self) -> PiecewiseConstant:
        """Return the loss on all rows (full information), as a function on their line."""
        rows = [self._at(alpha) for alpha in self._alphas]
        whole = self.space.lay_rows({i: trees.losses(self.partition) for i, trees in enumerate(rows)})
        self.n_runs += sum(trees.n_trees for trees in rows)
        return whole

    # -- helpers -----------------------------------------------------------------------------------

    @property
    def _alphas(self) -> tuple[float, ...]:
        return self.space.alphas

    def _placed(self, rho: float, alpha: float) -> float:
        """Return rho, checked; on a row, rounded to its point on the line of the rows."""
        rho = self.space.interval.check(rho)
        if alpha not in self._alphas:
            return rho
        return self.space.line.read(self.space.place(rho, alpha))[1]

    def _at(self, alpha: float) -> Trees:
        """Return the trees at a fixed alpha."""
        costs = self._shared or TreeCosts(self.cost)
        return Trees(Distances.of(self.distances(alpha)), self.linkage, costs, self.unit)

    def _costs(self) -> Callable[[Run, int], float]:
        """Return the function (run, row) -> cost."""
        if (shared := self._shared) is not None:
            return lambda run, row: shared(run, self._first.distances)
        rows: dict[int, Trees] = {}

        def cost(run: Run, row: int) -> float:
            if row not in rows:
                rows[row] = self._at(self._alphas[row])
            return rows[row].costs(run, rows[row].distances)

        return cost


def _checked(space: Any) -> Strips:
    if not isinstance(space, Strips):
        raise TypeError(f"space must be Strips, got {space!r}")
    if space.interval.margin or space.interval.span != (0.0, 1.0):
        raise ValueError(f"space must have rows of Interval(0, 1), got {space.interval!r}")
    alphas = space.alphas
    if alphas[0] < 0.0 or alphas[-1] > 1.0:
        raise ValueError(f"space must have alpha in [0, 1], got {alphas[0]} to {alphas[-1]}")
    return space
