"""The family of ρ-linkage clusterings of one set of points."""

from __future__ import annotations

from typing import Any

from semibandit import _validate
from semibandit._validate import FloatArray
from semibandit.families.instance import interval_or
from semibandit.families.linkage.distances import Distances, require_comparable
from semibandit.families.linkage.rho_trees import Cost, TreeCosts, Trees
from semibandit.functions.constant import PiecewiseConstant

__all__ = ["LINKAGES", "PARTITIONS", "Linkage"]

UNIT = 2.0**-53  # the spacing of parameters: that of doubles below 1
LINKAGES = ("single-complete", "average-complete", "single-average")
PARTITIONS = ("tree", "loss", "sequence")


class Linkage:
    """Hierarchical clustering by the linkage (1 - ρ)·a + ρ·b, as a function of ρ in [0, 1].

    Each step merges the two closest clusters, where a and b are two of the single, average and complete
    linkages. Ties go to the pair that is closer just right of ρ (at 1: just left), then to the pair of
    smaller names, where a cluster is named by its largest point.

    Parameters
    ----------
    distances
        Symmetric, non-negative, zero on the diagonal: an (n, n) matrix, or scipy's condensed form.
    cost
        A callable (distances, Z) -> [0, 1], such as those of `semibandit.clustering`. The distances are a
        square matrix. The cost must depend on the tree alone, so the heights in Z are the diameters of the
        clusters, and its rows are sorted by them; with partition="sequence" rows keep the order of the
        merges. The cost is called once per tree (per sequence).
    linkage
        "single-complete" (the paper's), "average-complete" or "single-average": a and b.
    partition
        The feedback sets of `reveal` and the pieces of `losses`. "tree": the maximal intervals with the same
        cluster tree. "loss": those with the same cost (equal as doubles), found by a walk over their trees.
        "sequence": those with the same sequence of merges (Algorithm 3), which are narrower.

    Attributes
    ----------
    n_runs
        Number of trees built so far.

    Notes
    -----
    Parameters are multiples of 2^-53; other doubles are rounded down, and 1 - 2^-53 counts as 1. On these
    everything is exact: `tree` compares exactly where rounding might decide, and an edge is the first
    parameter with the tree to its right. So reveal(rho) is the piece of losses() around rho, edge by edge.
    The non-zero distances must be within a factor of 2^400 of each other. For averages, n² times the ratio of
    the largest distance to the spacing of doubles at the smallest must be below 2^106.

    Cost: O(n²) for a tree, about four times that for `reveal`, O(n²) per piece for `losses`. `reveal` with
    partition="loss" takes O(n²) for each tree of the interval and one beyond either end. Single-average finds
    pieces sequence by sequence: a `reveal` takes the time of tens of trees. Memory: twice that of the square
    matrix, with averages 2.5 times.

    Examples
    --------
    >>> import semibandit as sb
    >>> D = [[0, 1, 3, 6], [1, 0, 2, 5], [3, 2, 0, 2.5], [6, 5, 2.5, 0]]
    >>> problem = sb.Linkage(D, sb.clustering.TargetDistance([0, 0, 1, 1]))
    >>> problem.losses()
    PiecewiseConstant([0.0, 0.5, 1.0], [0.25, 0.0])
    >>> problem.reveal(0.7)
    PiecewiseConstant([0.5, 1.0], [0.0])
    >>> problem.tree(0.0)[:, 2]
    array([1. , 2. , 2.5])
    """

    high = 1.0
    maximize = False

    def __init__(
        self,
        distances: Any,
        cost: Cost,
        linkage: str = "single-complete",
        *,
        partition: str = "tree",
    ) -> None:
        self.linkage = _validate.choice("linkage", linkage, LINKAGES)
        self.partition = _validate.choice("partition", partition, PARTITIONS)
        self.cost = cost
        self.space = interval_or((0.0, 1.0), None)
        costs = TreeCosts(cost, in_order=partition == "sequence")
        read = Distances.read("distances", distances)
        require_comparable("distances", "average" in linkage, read)
        self._trees = Trees(read, linkage, costs, UNIT)

    @property
    def distances(self) -> FloatArray:
        """The distances, as a square matrix."""
        return self._trees.distances

    @property
    def n_runs(self) -> int:
        """Number of trees built so far."""
        return self._trees.n_trees

    def __repr__(self) -> str:
        return f"Linkage({len(self.distances)} points, {self.cost!r}, {self.linkage!r})"

    def tree(self, rho: float) -> FloatArray:
        """Return scipy's linkage matrix Z at rho: rows (cluster, cluster, height, size). O(n²)."""
        return self._trees.matrix(self.space.check(rho))

    def loss(self, rho: float) -> float:
        """Return the cost of the tree at rho (bandit feedback): one plain run."""
        return self._trees.cost(self.space.check(rho))

    def reveal(self, rho: float) -> PiecewiseConstant:
        """Return the loss on the feedback set around rho (semi-bandit feedback, Algorithm 3)."""
        return self._trees.reveal(self.space.check(rho), self.partition)

    def losses(self) -> PiecewiseConstant:
        """Return the loss everywhere (full information)."""
        return self._trees.losses(self.partition)
