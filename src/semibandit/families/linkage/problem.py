"""The family of ρ-linkage clusterings of one set of points."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import numpy as np

from semibandit import _validate
from semibandit._validate import FloatArray
from semibandit.clustering.costs import TreeCost
from semibandit.clustering.trees import diameters, layout
from semibandit.functions.constant import PiecewiseConstant
from semibandit.spaces.interval import Interval

if TYPE_CHECKING:
    from semibandit.families.linkage.pieces import Engine, Run

__all__ = ["LINKAGES", "PARTITIONS", "Linkage"]

LINKAGES = ("single-complete", "average-complete", "single-average")
PARTITIONS = ("tree", "sequence")

# Distances in this range (or 0) are compared exactly; others are scaled into it by a power of two.
_RANGE = (2.0**-400, 2.0**400)


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
        What `reveal` and `losses` keep together: "tree", the maximal interval with the same cluster tree, or
        "sequence", the one with the same sequence of merges (Algorithm 3), which is narrower.

    Notes
    -----
    Everything is exact on doubles: `tree` compares exactly where rounding might decide, and an edge is the
    smallest double with the tree to its right (1 - 2^-53 counts as 1). So reveal(rho) is the piece of
    losses() around rho, edge by edge. This asks that the non-zero distances are within a factor of 2^400 of
    each other, and for averages that n² times the ratio of the largest distance to the spacing of doubles
    at the smallest is below 2^106.

    Cost: a tree takes O(n²) (single-average: as a rule), `reveal` some four times that, `losses` O(n²) per
    piece. Memory: that of the square matrix twice, with averages 2.5 times.

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

    def __init__(
        self,
        distances: Any,
        cost: Callable[[FloatArray, FloatArray], float],
        linkage: str = "single-complete",
        *,
        partition: str = "tree",
    ) -> None:
        if not callable(cost):
            raise TypeError(f"cost must be a callable (distances, Z) -> [0, 1], got {cost!r}")
        self.linkage = _validate.choice("linkage", linkage, LINKAGES)
        self.partition = _validate.choice("partition", partition, PARTITIONS)
        self._D, self._scale = _scaled(_validate.distances("distances", distances))
        self.distances = (self._D if self._scale == 1.0 else self._D / self._scale).view()
        self.distances.flags.writeable = False
        check = getattr(cost, "check", None)
        if check is not None:
            check(self._D.shape[0])
        self.cost = cost
        self.space = Interval(0.0, 1.0)
        self._known: dict[bytes, float] = {}

    def __repr__(self) -> str:
        return f"Linkage({self._D.shape[0]} points, {self.cost!r}, {self.linkage!r})"

    def tree(self, rho: float) -> FloatArray:
        """Scipy's linkage matrix Z at rho: rows (cluster, cluster, height, size). O(n²).

        At ρ = 0 and ρ = 1 this is the tree of the one and of the other linkage.
        """
        from semibandit.families.linkage._kernels.certificate import linkage_matrix
        from semibandit.families.linkage._kernels.exact import values_at

        rho = self._check(rho)
        with self._engine() as engine:
            run = engine.run(rho)
        heights = values_at(run.lines, rho) / self._scale
        if self.linkage != "single-average":  # there heights may fall; else only rounding makes them
            heights[run.order] = np.maximum.accumulate(heights[run.order])
        return linkage_matrix(run.into, run.size, run.order, heights)

    def loss(self, rho: float) -> float:
        """The cost of the tree at rho: one plain run."""
        rho = self._check(rho)
        with self._engine() as engine:
            run = engine.run(rho)
        return self._cost_of(run)

    def reveal(self, rho: float) -> PiecewiseConstant:
        """The loss on the interval around rho that `partition` names: one run with bookkeeping."""
        from semibandit.families.linkage.pieces import maximal_piece, sequence_piece

        rho = self._check(rho)
        find = maximal_piece if self.partition == "tree" else sequence_piece
        with self._engine() as engine:
            run = engine.run(rho)
            lo, hi = find(engine, run, rho)
        return PiecewiseConstant.constant(lo, min(hi, 1.0), self._cost_of(run))

    def losses(self) -> PiecewiseConstant:
        """The whole loss function: the pieces from 0 to 1, one after the other."""
        from semibandit.families.linkage.pieces import sequence_pieces, tree_pieces

        edges, values = [], []
        with self._engine() as engine:
            for lo, run in (tree_pieces if self.partition == "tree" else sequence_pieces)(engine):
                edges.append(lo)
                values.append(self._cost_of(run))
        return PiecewiseConstant([*edges, 1.0], values)

    # -- inside ----------------------------------------------------------------------------------

    def _check(self, rho: float) -> float:
        from semibandit.families.linkage.pieces import snap

        return snap(self.space.check(rho))

    def _engine(self) -> AbstractContextManager[Engine]:
        from semibandit.families.linkage.pieces import engine

        return engine(self._D, self.linkage)

    def _cost_of(self, run: Run) -> float:
        """The cost of a run's tree, computed when the tree is first seen."""
        in_order = self.partition == "sequence" and not isinstance(self.cost, TreeCost)
        key = run.key + run.order.tobytes() if in_order else run.key
        digest = hashlib.blake2b(key, digest_size=16).digest()
        if digest not in self._known:
            Z = _matrix_in_order(self.distances, run) if in_order else self._matrix_of_tree(run)
            self._known[digest] = _validate.number("the cost of a tree", self.cost(self.distances, Z))
        return self._known[digest]

    def _matrix_of_tree(self, run: Run) -> FloatArray:
        """The tree as the cost gets it: the same for all ρ that have this tree."""
        from semibandit.families.linkage._kernels.certificate import linkage_matrix

        order = np.argsort(run.size, kind="stable")
        Z = linkage_matrix(run.into, run.size, order, run.size.astype(np.float64))
        if isinstance(self.cost, TreeCost):
            return Z  # these do not look at heights
        heights = np.empty(order.size)
        heights[order] = diameters(self.distances, layout(Z))[order.size + 1 :]
        return linkage_matrix(run.into, run.size, np.lexsort((run.size, heights)), heights)


def _matrix_in_order(distances: FloatArray, run: Run) -> FloatArray:
    """The merge sequence as the cost gets it: heights are the largest diameter so far."""
    from semibandit.families.linkage._kernels.certificate import linkage_matrix

    Z = linkage_matrix(run.into, run.size, run.order, run.size.astype(np.float64))
    Z[:, 2] = np.maximum.accumulate(diameters(distances, layout(Z))[run.order.size + 1 :])
    return Z


def _scaled(D: FloatArray) -> tuple[FloatArray, float]:
    """Distances in the range that is compared exactly, and the power of two that brought them there."""
    largest = float(D.max())
    smallest = float(D.min(where=D > 0.0, initial=largest))
    if largest == 0.0 or (smallest >= _RANGE[0] and largest <= _RANGE[1]):
        return D, 1.0
    scale = 2.0 ** min(399 - math.frexp(largest)[1], 1000)
    return D * scale, scale
