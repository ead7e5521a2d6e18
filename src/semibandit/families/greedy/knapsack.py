"""Greedy knapsack: try the items by decreasing v / s^ρ, add what fits (Section 4.1 of the paper)."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from semibandit import _validate
from semibandit._cached import cached_property
from semibandit._validate import FloatArray, IntArray
from semibandit.families.greedy.solution import FEW, BoolArray, Solution, margin_of, positive
from semibandit.families.instance import Valued, before_end, interval_or
from semibandit.families.levels import level_set
from semibandit.functions.constant import PiecewiseConstant
from semibandit.spaces.interval import Interval

__all__ = ["Knapsack"]

_PARTITIONS = ("output", "loss", "order")


class Knapsack(Valued):
    """Greedy knapsack: try the items by decreasing v / s^ρ, add each that fits.

    Ties go to the item that leads just right of ρ (the smaller one), then to the one given first. Items
    without value come last for every ρ; items of the same size never swap. At the right end of the space,
    which is closed, the order is the one just left of it.

    Parameters
    ----------
    values
        The value of each item, >= 0.
    sizes
        The size of each item, > 0. Leave out items of size zero, which always fit, and add their values.
    capacity
        The capacity, >= 0.
    space
        The parameters ρ; [0, 10] by default.
    loss
        "normalised": 1 - value / bound in [0, 1], where the bound is that of the fractional (LP) relaxation;
        "paper": capacity - value, for instances where it is never negative (such as values <= 1 <= sizes);
        "utility": the value itself, to be maximised.
    partition
        The feedback sets of `reveal` and the pieces of `losses`. "output": the maximal intervals with the
        same selected set. "loss": those with the same loss, which take several runs. "order": those with the
        same order of the items (Algorithm 2 of the paper).

    Notes
    -----
    Items i and j swap at log(v_i / v_j) / log(s_i / s_j), correctly rounded to 43 significant bits. `solve`,
    `loss`, `reveal` and `losses` agree to the bit.

    Sizes are added exactly, as the doubles that they are: ten sizes of 0.1 do not fit into 1.0. Only bits of
    a size below n · capacity / 2^102 are rounded off, so an item smaller than that always fits.

    Examples
    --------
    >>> problem = Knapsack(values=[6, 5, 4], sizes=[5, 4, 3], capacity=7)
    >>> problem.solve(1.0).mask
    array([False,  True,  True])
    >>> problem.loss(0.0)
    0.33333333333333337
    >>> problem.reveal(2.0)
    PiecewiseConstant([0.79..., 10.0], [0.0])
    >>> problem.losses()
    PiecewiseConstant([0.0, 0.79..., 10.0], [0.33333333333333337, 0.0])
    """

    kinds = ("normalised", "paper", "utility")

    def __init__(
        self,
        values: npt.ArrayLike,
        sizes: npt.ArrayLike,
        capacity: float,
        space: Interval | None = None,
        *,
        loss: str = "normalised",
        partition: str = "output",
    ) -> None:
        super().__init__(interval_or((0.0, 10.0), space), loss)
        self.capacity = _validate.number("capacity", capacity, low=0.0)
        self.partition = _validate.choice("partition", partition, _PARTITIONS)
        self.values, self.sizes = self._prepare(values, sizes)
        if self.kind == "paper" and self.bound > self.capacity:
            raise ValueError(
                "loss='paper' is capacity - value, which needs values that cannot exceed the capacity "
                f"(values <= 1 <= sizes will do), got capacity {self.capacity:g} and a value of up to "
                f"{self.bound:g}"
            )

    def _prepare(self, values: npt.ArrayLike, sizes: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Compute what every run needs; return frozen copies of the arguments, or raise an error."""
        k, _ = _kernels()
        v, s = np.array(_validate.floats("values", values)), np.array(_validate.floats("sizes", sizes))
        if v.ndim != 1 or v.shape != s.shape or v.size == 0:
            raise _fault(v, s)
        items, weights = np.empty((v.size, 4)), np.empty((v.size, 2))
        valid, n, self._room, largest_v, largest_s, self._spread = k.prepare(
            v, s, self.capacity, items, weights
        )
        if not valid:
            raise _fault(v, s)
        self._items, self._weights = (
            (items, weights) if n == v.size else (items[:n].copy(), weights[:n].copy())
        )
        self._margin = margin_of(largest_v, largest_s, self.space)
        self._bound: float | None = None
        v.flags.writeable = s.flags.writeable = False
        return v, s

    @cached_property
    def _valuable(self) -> IntArray:
        """Items of positive value: the rows of `_items`."""
        return np.flatnonzero(self.values)

    @property
    def bound(self) -> float:
        """The value of the fractional (LP) relaxation, which no selection exceeds."""
        if self._bound is None:
            k, _ = _kernels()
            self._bound = k.relaxation(self._items, self.capacity, self._order(1.0), self._margin)
        return self._bound

    @property
    def high(self) -> float:
        """The upper end of the loss."""
        return self.capacity if self.kind == "paper" else super().high

    def loss_of(self, value: float) -> float:
        """Return the loss of a run with this value."""
        if self.kind == "paper":
            return self.capacity - min(value, self.bound)
        return super().loss_of(value)

    def _losses_of(self, values: FloatArray) -> FloatArray:
        """Return the losses of many runs, each as `loss_of` has it."""
        bound = self.bound
        values = np.minimum(values, bound)
        if self.kind == "utility":
            return values
        if self.kind == "paper":
            return np.asarray(self.capacity - values)
        return np.asarray(1.0 - values / bound) if bound > 0.0 else np.zeros_like(values)

    def solve(self, rho: float) -> Solution:
        """Run once; return the selected items (a mask) and their value, with `.order`. O(n log n).

        >>> mask, value = Knapsack([6, 5, 4], [5, 4, 3], 7).solve(0.0)
        >>> mask, value
        (array([ True, False, False]), 6.0)
        """
        order, taken, rest, value = self._run(before_end(self.space, rho))
        mask = np.zeros(self.values.size, np.bool_)
        mask[self._valuable] = taken
        worthless = np.flatnonzero(self.values == 0.0)
        if worthless.size:
            k, _ = _kernels()
            weights = np.empty((worthless.size, 2))
            k.weigh(self.sizes[worthless], self._room, self.values.size, weights)
            mask[worthless] = k.fill(np.arange(worthless.size), weights, rest)[0]
        return Solution(mask, value, np.concatenate((self._valuable[order], worthless)))

    def loss(self, rho: float) -> float:
        """Return the loss at rho (bandit feedback): one greedy run, O(n log n)."""
        return self.loss_of(self._run(before_end(self.space, rho))[-1])

    def reveal(self, rho: float, partition: str | None = None) -> PiecewiseConstant:
        """Return the loss on the interval around rho (semi-bandit feedback), from a single run.

        With partition="order" this is Algorithm 2 of the paper (Lemma 7), O(n log n). With "output" the
        interval is the maximal one with the same selected set, and takes about ten steps of O(n) after the
        run. With "loss", adjacent intervals of the same loss are joined.
        """
        partition = self._partition(partition)
        k, sets = _kernels()
        if partition == "loss":
            return level_set(partial(self.reveal, partition="output"), rho, self.space)
        point, lo, hi = before_end(self.space, rho), self.space.lo, self.space.hi
        if partition == "output":
            order = self._order(point)
            lo, hi, value = sets.reveal(
                self._items, self._weights, self._room, order, (lo, point, hi), self._margin
            )
        else:
            order, *_, value = self._run(point)
            lo, hi = k.order_interval(self._items, order, lo, point, hi, self._spread, self._margin)
        return PiecewiseConstant.constant(lo, hi, self.loss_of(value))

    def losses(self, partition: str | None = None) -> PiecewiseConstant:
        """Return the loss everywhere (full information). Its pieces are the intervals of `reveal`.

        Cost: with partition="output", O(n) per piece plus at most O(n²) for all swaps; with "order", which
        has up to n² / 2 pieces, O(n² log n).
        """
        partition = self._partition(partition)
        k, sets = _kernels()
        lo, hi = self.space.lo, self.space.hi
        edges, values = sets.sweep(
            self._items, self._weights, self._room, self._order(lo), lo, hi, self._margin
        )
        losses = PiecewiseConstant.trusted(edges, self._losses_of(values))
        if partition == "loss":
            return losses.compress()
        if partition == "order":
            edges = np.concatenate(([lo], np.unique(k.all_critical(self._items, lo, hi)), [hi]))
            losses = PiecewiseConstant(edges, losses(edges[:-1]))
        return losses

    def _order(self, point: float) -> IntArray:
        """Return the order of the scores for a run to start from; kernels sort a few items themselves."""
        if len(self._items) <= FEW:
            return np.arange(len(self._items))
        return np.argsort(point * self._items[:, 1] - self._items[:, 0])

    def _run(self, point: float) -> tuple[IntArray, BoolArray, tuple[float, float], float]:
        """Run on the items of positive value; return (order, taken, room left, value)."""
        k, _ = _kernels()
        order = self._order(point)
        return order, *k.run(self._items, self._weights, self._room, order, point, self._margin)

    def _partition(self, partition: str | None) -> str:
        return self.partition if partition is None else _validate.choice("partition", partition, _PARTITIONS)

    def __repr__(self) -> str:
        return f"Knapsack({self.values.size} items, capacity {self.capacity:g}, {self.space})"


@cache
def _kernels() -> tuple[Any, Any]:
    """Return the modules of kernels. Cached, as an import statement in each run costs more."""
    from semibandit.families.greedy import _knapsack_kernels, _knapsack_output

    return _knapsack_kernels, _knapsack_output


def _fault(values: FloatArray, sizes: FloatArray) -> ValueError:
    """Return the error for invalid values or sizes."""
    try:
        values = _validate.vector("values", values, low=0.0)
        sizes = positive("sizes", sizes, values.size)
    except ValueError as error:
        return error
    if values.size == 0:
        return ValueError("values must have at least one entry, got none")
    return ValueError(f"values must have a finite sum, got values up to {values.max():g}")
