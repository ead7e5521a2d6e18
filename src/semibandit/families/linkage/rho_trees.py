"""The cluster trees of one matrix of distances as functions of ρ, and their costs."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from semibandit import _validate
from semibandit._validate import FloatArray
from semibandit.clustering.costs import TreeCost
from semibandit.clustering.trees import diameters, layout, trusted_layout
from semibandit.families.linkage.distances import Distances, power_of_two
from semibandit.functions.constant import PiecewiseConstant

if TYPE_CHECKING:
    from semibandit.families.linkage.pieces import Run

__all__ = ["Cost", "TreeCosts", "Trees"]

Cost = Callable[[FloatArray, FloatArray], float]


class TreeCosts:
    """Costs of trees, each computed once.

    Parameters
    ----------
    cost
        A callable (distances, Z) -> [0, 1].
    in_order
        Whether the cost may depend on the order of the merges, and not on the tree alone.
    """

    def __init__(self, cost: Cost, in_order: bool = False) -> None:
        self.cost: Cost = _validate.function("cost", cost)
        # The costs of this package use the layout alone, which needs no heights and no checks.
        ours: Any = cost if type(cost).__call__ is TreeCost.__call__ else None
        self._of_layout = None if ours is None else ours.of_layout
        self.in_order = in_order and ours is None
        self._known: dict[bytes, float] = {}

    def __call__(self, run: Run, distances: FloatArray) -> float:
        """Return the cost of a run's tree over these distances."""
        key = run.key + run.order.tobytes() if self.in_order else run.key
        digest = hashlib.blake2b(key, digest_size=16).digest()
        if digest not in self._known:
            self._known[digest] = _validate.number("the cost of a tree", self._of(run, distances))
        return self._known[digest]

    def _of(self, run: Run, distances: FloatArray) -> float:
        from semibandit.families.linkage._kernels.certificate import linkage_matrix

        # Rows in an order that depends on the tree alone, unless the cost may see the order of the merges.
        order = run.order if self.in_order else np.argsort(run.size, kind="stable")
        Z = linkage_matrix(run.into, run.size, order, run.size.astype(np.float64))
        if self._of_layout is not None:
            return float(self._of_layout(distances, trusted_layout(Z[:, :2].astype(np.int64))))
        widths = diameters(distances, layout(Z))[order.size + 1 :]
        if self.in_order:
            Z[:, 2] = np.maximum.accumulate(widths)
            return self.cost(distances, Z)
        heights = np.empty(order.size)
        heights[order] = widths
        return self.cost(
            distances, linkage_matrix(run.into, run.size, np.lexsort((run.size, heights)), heights)
        )


class Trees:
    """The trees of ρ-linkage over one matrix of distances, and their costs, as functions of ρ in [0, 1].

    Parameters
    ----------
    distances
        Exactly symmetric.
    linkage
        The name of the linkage.
    costs
        The costs of trees. Several `Trees` may share them if costs do not depend on the distances.
    unit
        The spacing of parameters; see `pieces`.

    Attributes
    ----------
    n_trees
        Number of trees built so far.
    """

    def __init__(self, distances: Distances, linkage: str, costs: TreeCosts, unit: float) -> None:
        square = distances.square
        self._scale = power_of_two(distances)
        self._scaled = square if self._scale == 1.0 else square * self._scale
        self.distances = square.view()
        self.distances.flags.writeable = False
        self.linkage, self.costs, self.unit = linkage, costs, unit
        self.n_trees = 0
        check = getattr(costs.cost, "check", None)
        if check is not None:
            check(square.shape[0])

    def matrix(self, rho: float) -> FloatArray:
        """Return scipy's linkage matrix Z at rho. O(n²)."""
        from semibandit.families.linkage._kernels.certificate import linkage_matrix
        from semibandit.families.linkage._kernels.crossings import values_at

        run, rho = self._run(rho)
        heights = values_at(run.lines, rho) / self._scale
        if self.linkage != "single-average":  # there heights may fall; else only by rounding
            heights[run.order] = np.maximum.accumulate(heights[run.order])
        return linkage_matrix(run.into, run.size, run.order, heights)

    def cost(self, rho: float) -> float:
        """Return the cost of the tree at rho: one plain run."""
        return self.costs(self._run(rho)[0], self.distances)

    def reveal(self, rho: float, partition: str) -> PiecewiseConstant:
        """Return the cost on the interval around rho with the same tree, merge sequence, or cost."""
        from semibandit.families.linkage.pieces import engine, level_piece, maximal_piece, sequence_piece

        one = engine(self._scaled, self.linkage, self.unit)
        rho = one.parameter(rho)
        run = one.run(rho)
        cost = self.costs(run, self.distances)
        if partition == "loss":
            lo, hi = level_piece(one, run, rho, lambda run: self.costs(run, self.distances) == cost)
        else:
            lo, hi = (maximal_piece if partition == "tree" else sequence_piece)(one, run, rho)
        self.n_trees += one.n_trees
        return PiecewiseConstant.constant(lo, min(hi, 1.0), cost)

    def losses(self, partition: str) -> PiecewiseConstant:
        """Return the cost everywhere: the pieces from 0 to 1, one after the other."""
        from semibandit.families.linkage.pieces import engine, sequence_pieces, tree_pieces

        edges, values = [], []
        one = engine(self._scaled, self.linkage, self.unit)
        for lo, run in (sequence_pieces if partition == "sequence" else tree_pieces)(one):
            edges.append(lo)
            values.append(self.costs(run, self.distances))
        self.n_trees += one.n_trees
        losses = PiecewiseConstant([*edges, 1.0], values)
        return losses.compress() if partition == "loss" else losses

    def _run(self, rho: float) -> tuple[Run, float]:
        """Build the tree at rho; return it with the parameter that rho stands for."""
        from semibandit.families.linkage.pieces import engine

        one = engine(self._scaled, self.linkage, self.unit)
        rho = one.parameter(rho)
        self.n_trees += 1
        return one.run(rho), rho
