"""Cluster trees of one set of points: the tree at ρ, where it stays the same, and what it costs."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from semibandit import _validate
from semibandit._validate import FloatArray
from semibandit.clustering.costs import TreeCost
from semibandit.clustering.trees import diameters, layout, trusted_layout
from semibandit.families.linkage.distances import Distances, power_of_two
from semibandit.functions.constant import PiecewiseConstant

if TYPE_CHECKING:
    from semibandit.families.linkage.pieces import Engine, Run

__all__ = ["Cost", "TreeCosts", "Trees"]

Cost = Callable[[FloatArray, FloatArray], float]


class TreeCosts:
    """What trees cost, each computed when it is first seen.

    Parameters
    ----------
    cost
        A callable (distances, Z) -> [0, 1].
    in_order
        Whether the cost may look at the order of the merges, and not at the tree alone.
    """

    def __init__(self, cost: Cost, in_order: bool = False) -> None:
        if not callable(cost):
            raise TypeError(f"cost must be a callable (distances, Z) -> [0, 1], got {cost!r}")
        self.cost = cost
        self.in_order = in_order and not isinstance(cost, TreeCost)
        self._known: dict[bytes, float] = {}

    def __call__(self, run: Run, distances: FloatArray) -> float:
        """The cost of a run's tree over these distances."""
        key = run.key + run.order.tobytes() if self.in_order else run.key
        digest = hashlib.blake2b(key, digest_size=16).digest()
        if digest not in self._known:
            self._known[digest] = _validate.number("the cost of a tree", self._of(run, distances))
        return self._known[digest]

    def _of(self, run: Run, distances: FloatArray) -> float:
        Z = _matrix_in_order(distances, run) if self.in_order else self._matrix_of_tree(distances, run)
        if isinstance(self.cost, TreeCost) and type(self.cost).__call__ is TreeCost.__call__:
            # Neither the tree nor the distances need a check.
            return self.cost._of(distances, trusted_layout(Z[:, :2].astype(np.int64)))
        return self.cost(distances, Z)

    def _matrix_of_tree(self, distances: FloatArray, run: Run) -> FloatArray:
        """The tree as the cost gets it: the same for all ρ that have this tree."""
        from semibandit.families.linkage._kernels.certificate import linkage_matrix

        order = np.argsort(run.size, kind="stable")
        Z = linkage_matrix(run.into, run.size, order, run.size.astype(np.float64))
        if isinstance(self.cost, TreeCost):
            return Z  # these do not look at heights
        heights = np.empty(order.size)
        heights[order] = diameters(distances, layout(Z))[order.size + 1 :]
        return linkage_matrix(run.into, run.size, np.lexsort((run.size, heights)), heights)


def _matrix_in_order(distances: FloatArray, run: Run) -> FloatArray:
    """The merge sequence as the cost gets it: heights are the largest diameter so far."""
    from semibandit.families.linkage._kernels.certificate import linkage_matrix

    Z = linkage_matrix(run.into, run.size, run.order, run.size.astype(np.float64))
    Z[:, 2] = np.maximum.accumulate(diameters(distances, layout(Z))[run.order.size + 1 :])
    return Z


class Trees:
    """The trees of ρ-linkage over one matrix of distances, and their costs, as functions of ρ in [0, 1].

    Parameters
    ----------
    distances
        Exactly symmetric.
    linkage
        The linkage, by its name.
    costs
        The costs of trees; several `Trees` may share one where costs do not depend on the distances.

    Attributes
    ----------
    n_trees
        How many trees were built so far.
    """

    def __init__(self, distances: Distances, linkage: str, costs: TreeCosts) -> None:
        square = distances.square
        self._scale = power_of_two(distances)
        self._scaled = square if self._scale == 1.0 else square * self._scale
        self.distances = square.view()
        self.distances.flags.writeable = False
        self.linkage, self.costs = linkage, costs
        self.n_trees = 0
        check = getattr(costs.cost, "check", None)
        if check is not None:
            check(square.shape[0])

    def matrix(self, rho: float) -> FloatArray:
        """Scipy's linkage matrix Z at rho. O(n²)."""
        from semibandit.families.linkage._kernels.certificate import linkage_matrix
        from semibandit.families.linkage._kernels.exact import values_at
        from semibandit.families.linkage.pieces import snap

        run = self.run(rho)
        heights = values_at(run.lines, snap(rho)) / self._scale
        if self.linkage != "single-average":  # there heights may fall; else only rounding makes them
            heights[run.order] = np.maximum.accumulate(heights[run.order])
        return linkage_matrix(run.into, run.size, run.order, heights)

    def run(self, rho: float) -> Run:
        """The tree at rho, as the kernels know it."""
        from semibandit.families.linkage.pieces import snap

        with self._engine() as engine:
            return engine.run(snap(rho))

    def cost(self, rho: float) -> float:
        """The cost of the tree at rho: one plain run."""
        return self.costs(self.run(rho), self.distances)

    def reveal(self, rho: float, partition: str) -> PiecewiseConstant:
        """The cost on the interval around rho with the same tree, merge sequence, or cost."""
        from semibandit.families.linkage.pieces import level_piece, maximal_piece, sequence_piece, snap

        rho = snap(rho)
        with self._engine() as engine:
            run = engine.run(rho)
            cost = self.costs(run, self.distances)
            if partition == "loss":
                lo, hi = level_piece(engine, run, rho, lambda run: self.costs(run, self.distances) == cost)
            else:
                lo, hi = (maximal_piece if partition == "tree" else sequence_piece)(engine, run, rho)
        return PiecewiseConstant.constant(lo, min(hi, 1.0), cost)

    def losses(self, partition: str) -> PiecewiseConstant:
        """The cost everywhere: the pieces from 0 to 1, one after the other."""
        from semibandit.families.linkage.pieces import sequence_pieces, tree_pieces

        edges, values = [], []
        with self._engine() as engine:
            for lo, run in (sequence_pieces if partition == "sequence" else tree_pieces)(engine):
                edges.append(lo)
                values.append(self.costs(run, self.distances))
        losses = PiecewiseConstant([*edges, 1.0], values)
        return losses.compress() if partition == "loss" else losses

    @contextmanager
    def _engine(self) -> Iterator[Engine]:
        from semibandit.families.linkage.pieces import engine

        with engine(self._scaled, self.linkage) as one:
            yield one
            self.n_trees += one.n_trees
