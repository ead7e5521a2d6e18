"""Matrices of distances: square, exactly symmetric, and in a range that allows exact comparisons."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from semibandit import _validate
from semibandit._validate import FloatArray

__all__ = ["EXACT", "Distances", "power_of_two", "require_comparable"]

# Distances in this range (or 0) are compared exactly; others are scaled into it by a power of two.
EXACT = 400  # bits
_AVERAGED = 106


class Distances(NamedTuple):
    """A square matrix of distances, the smallest of them above zero (or inf), and the largest."""

    square: FloatArray
    smallest: float
    largest: float

    @classmethod
    def of(cls, square: FloatArray) -> Distances:
        """Return a valid matrix with its extremes. O(n²)."""
        from semibandit.families.linkage._kernels.matrices import extremes

        return cls(square, *extremes(square.ravel())[1:])

    @classmethod
    def read(cls, name: str, values: Any) -> Distances:
        """Return a new matrix from a square one or scipy's condensed form. O(n²).

        Asymmetries and diagonals within rounding (1e-12 of the largest distance) are evened out.
        """
        from semibandit.families.linkage._kernels.matrices import extremes, unfold

        _validate.unmasked(name, values)
        try:
            # Writable, contiguous and no subclass, as the kernels want them.
            array = np.require(values, np.float64, ["C", "A", "W", "E"])
        except (TypeError, ValueError, OverflowError):
            raise TypeError(f"{name} must be a matrix of numbers, got {values!r}") from None
        bad, smallest, largest = extremes(array.ravel())
        if bad >= 0:
            where = [int(i) for i in np.unravel_index(bad, array.shape)]
            raise ValueError(f"{name} must be finite and >= 0, got {name}{where} = {array.flat[bad]!s}")
        if array.ndim == 1:
            square = np.empty((_n_points(name, array.size),) * 2)
            unfold(array, square)
            return cls(square, smallest, largest)
        if array.ndim != 2 or array.shape[0] != array.shape[1] or array.size == 0:
            raise ValueError(f"{name} must be a square matrix or a condensed one, got shape {array.shape}")
        square = _symmetric(name, array, 1e-12 * largest)
        if np.diagonal(square).any():
            np.fill_diagonal(square, 0.0)
            return cls.of(square)
        return cls(square, smallest, largest)


def _n_points(name: str, size: int) -> int:
    n = round((1.0 + math.sqrt(1.0 + 8.0 * size)) / 2.0)
    if n * (n - 1) // 2 != size:
        raise ValueError(f"{name} must have n(n - 1)/2 entries if condensed, got {size}")
    return n


def _symmetric(name: str, array: FloatArray, slack: float) -> FloatArray:
    """Return a symmetric copy of a matrix that is symmetric, and zero on the diagonal, up to some slack."""
    from semibandit.families.linkage._kernels.matrices import asymmetry

    if (np.diagonal(array) > slack).any():
        i = int(np.flatnonzero(np.diagonal(array) > slack)[0])
        raise ValueError(f"{name} must be zero on the diagonal, got {name}[{i}, {i}] = {array[i, i]!s}")
    worst, i, j = asymmetry(array)
    if worst == 0.0:
        return array.copy()
    if worst > slack:
        raise ValueError(
            f"{name} must be symmetric, got {name}[{i}, {j}] = {array[i, j]!s} "
            f"and {name}[{j}, {i}] = {array[j, i]!s}"
        )
    return np.asarray(0.5 * array + 0.5 * array.T)


def power_of_two(*distances: Distances, exponent: int = EXACT) -> float:
    """Return the power of two that scales distances into 2^±exponent; 1 if they are in that range."""
    largest = max(d.largest for d in distances)
    smallest = min(d.smallest for d in distances)
    if largest == 0.0 or (smallest >= 2.0**-exponent and largest <= 2.0**exponent):
        return 1.0
    return float(2.0 ** min(exponent - 1 - math.frexp(largest)[1], 1000))


def require_comparable(names: str, averages: bool, *distances: Distances) -> None:
    """Raise where products of three such distances would underflow, or a sum of them needs too many bits."""
    positive = [d for d in distances if d.largest > 0.0]
    smallest = min((d.smallest for d in positive), default=1.0)
    largest = max((d.largest for d in positive), default=1.0)
    if math.log2(largest) - math.log2(smallest) > EXACT:
        raise ValueError(
            f"{names} must be within a factor of 2^{EXACT} of each other where they are not zero, "
            f"got {smallest!r} and {largest!r}"
        )
    n = len(distances[0].square)
    bits = 2.0 * math.log2(n) + math.log2(largest) - math.log2(np.spacing(smallest))
    if averages and bits > _AVERAGED:
        raise ValueError(
            f"{names} must be closer to each other for averages of {n} points to be exact, "
            f"got {smallest!r} and {largest!r}"
        )
