"""The result of a greedy run, and checks and constants that greedy families share."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from semibandit import _validate
from semibandit._validate import FloatArray, IntArray
from semibandit.spaces.interval import Interval

__all__ = ["FEW", "BoolArray", "Solution", "frozen", "margin_of", "positive"]

BoolArray = npt.NDArray[np.bool_]

FEW = 64
"""Up to this many items, a kernel sorts faster than numpy."""


class Solution(tuple[BoolArray, float]):
    """The result of a run: the pair (mask, value), and the order in which the items were tried.

    >>> mask, value = Solution(np.array([True, False]), 3.0, np.array([1, 0]))
    """

    order: IntArray

    def __new__(cls, mask: BoolArray, value: float, order: IntArray) -> Solution:
        solution = super().__new__(cls, (mask, value))
        solution.order = order
        return solution

    @property
    def mask(self) -> BoolArray:
        """The selected items, one bool for each."""
        return self[0]

    @property
    def value(self) -> float:
        """The value of the selected items."""
        return self[1]


def positive(name: str, values: npt.ArrayLike, length: int | None = None) -> FloatArray:
    """Return a frozen copy of numbers that must be > 0."""
    array = frozen(_validate.vector(name, values, length=length))
    if not (array > 0.0).all():
        where = int(np.flatnonzero(~(array > 0.0))[0])
        raise ValueError(f"{name} must be > 0, got {name}[{where}] = {float(array[where])!r}")
    return array


def frozen(array: FloatArray) -> FloatArray:
    """Return a copy that cannot be written to."""
    array = np.array(array)
    array.flags.writeable = False
    return array


def margin_of(largest_v: float, largest_s: float, space: Interval) -> float:
    """Return the difference of scores log v - ρ·log s up to which `order.before` must decide.

    Takes the largest |log v| and |log s|. Rounding moves a critical value, and with it the point where two
    scores are equal, by 2^-43.
    """
    farthest = max(abs(space.lo), abs(space.hi))
    return 2.0**-41 * (largest_v + farthest * largest_s)
