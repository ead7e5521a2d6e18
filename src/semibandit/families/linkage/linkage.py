"""The family of ρ-linkage clusterings of one set of points."""

from __future__ import annotations

from typing import Any

from semibandit import _validate
from semibandit._validate import FloatArray
from semibandit.families.instance import interval_or
from semibandit.families.linkage.distances import Distances, require_comparable
from semibandit.families.linkage.trees import Cost, TreeCosts, Trees
from semibandit.functions.constant import PiecewiseConstant

__all__ = ["LINKAGES", "PARTITIONS", "Linkage"]

LINKAGES = ("single-complete", "average-complete", "single-average")
PARTITIONS = ("tree", "loss", "sequence")


class Linkage:
    """Hierarchical clustering by the linkage (1 - ρ)·a + ρ·b, as a function of ρ in [0, 1].

    Repeatedly merges the two clusters that are closest, where a and b are two of the single, average and
    complete linkages. Ties go to the pair that is closer just right of ρ, then to the one whose clusters
    come first; a cluster is named by its largest point.

    Parameters
    ----------
    distances
        Symmetric, non-negative, zero on the diagonal: an (n, n) matrix, or scipy's condensed form.
    cost
        A callable (distances, Z) -> [0, 1], such as those of `semibandit.clustering`; the distances come as a
        square matrix. It must depend on the tree alone. The Z that it gets therefore has the clusters'
        diameters for heights, and its rows are sorted by them; with partition="sequence" they keep the order
        of the merges. It is called once per tree (per sequence), and the result kept.
    linkage
        "single-complete" (the paper's), "average-complete" or "single-average": a and b.
    partition
        What `reveal` and `losses` keep together: "tree", the maximal interval with the same cluster tree;
        "loss", the one with the same cost (equal as doubles), which is wider where many trees cost the same,
        and takes a walk over these trees; or "sequence", the one with the same sequence of merges
        (Algorithm 3), which is narrower.

    Attributes
    ----------
    n_runs
        How many trees were built so far.

    Notes
    -----
    Everything is exact on doubles: `tree` compares exactly where rounding might decide, and an edge is the
    smallest double with the tree to its right (1 - 2^-53 counts as 1). So reveal(rho) is the piece of
    losses() around rho, edge by edge. This asks that the non-zero distances are within a factor of 2^400 of
    each other, and for averages that n² times the ratio of the largest distance to the spacing of doubles
    at the smallest is below 2^106.

    Cost: a tree takes O(n²) (single-average: as a rule), `reveal` some four times that, `losses` O(n²) per
    piece; `reveal` with partition="loss" O(n²) for each tree of the interval and for one beyond either end.
    With single-average, whose pieces are found sequence by sequence, a `reveal` took the time of 15, 25 and
    96 trees in the median on 60, 120 and 250 random points, of 207 at worst. Memory: that of the square
    matrix twice, with averages 2.5 times.

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
        self._trees = Trees(read, linkage, costs)

    @property
    def distances(self) -> FloatArray:
        """The distances, as a square matrix."""
        return self._trees.distances

    @property
    def n_runs(self) -> int:
        """How many trees were built so far."""
        return self._trees.n_trees

    def __repr__(self) -> str:
        return f"Linkage({len(self.distances)} points, {self.cost!r}, {self.linkage!r})"

    def tree(self, rho: float) -> FloatArray:
        """Scipy's linkage matrix Z at rho: rows (cluster, cluster, height, size). O(n²).

        At ρ = 0 and ρ = 1 this is the tree of the one and of the other linkage.
        """
        return self._trees.matrix(self.space.check(rho))

    def loss(self, rho: float) -> float:
        """The cost of the tree at rho (bandit feedback): one plain run."""
        return self._trees.cost(self.space.check(rho))

    def reveal(self, rho: float) -> PiecewiseConstant:
        """The loss on the interval around rho that `partition` names (semi-bandit feedback, Algorithm 3)."""
        return self._trees.reveal(self.space.check(rho), self.partition)

    def losses(self) -> PiecewiseConstant:
        """The loss everywhere (full information): the pieces from 0 to 1, one after the other."""
        return self._trees.losses(self.partition)
