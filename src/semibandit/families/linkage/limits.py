"""How far apart distances may be for exact comparisons."""

from __future__ import annotations

import math

import numpy as np

from semibandit._validate import FloatArray

__all__ = ["require_comparable"]

_RATIO = 400  # bits
_AVERAGED = 106


def require_comparable(names: str, averages: bool, *matrices: FloatArray) -> None:
    """Raise where products of three such distances would underflow, or a sum of them needs too many bits."""
    positive = [d[d > 0.0] for d in matrices]
    smallest = min((float(d.min()) for d in positive if d.size), default=1.0)
    largest = max((float(d.max()) for d in positive if d.size), default=1.0)
    if math.log2(largest) - math.log2(smallest) > _RATIO:
        raise ValueError(
            f"{names} must be within a factor of 2^{_RATIO} of each other where they are not zero, "
            f"got {smallest!r} and {largest!r}"
        )
    bits = 2.0 * math.log2(len(matrices[0])) + math.log2(largest) - math.log2(np.spacing(smallest))
    if averages and bits > _AVERAGED:
        raise ValueError(
            f"{names} must be closer to each other for averages of {len(matrices[0])} points to be exact, "
            f"got {smallest!r} and {largest!r}"
        )
