"""Where the rows of a space lie along its further parameters."""

from __future__ import annotations

from typing import NamedTuple

from semibandit._validate import FloatArray

__all__ = ["Axis"]


class Axis(NamedTuple):
    """A further parameter: the place of each row along it, in [0, 1)."""

    places: FloatArray
    size: float  # the number of its values
    apart: bool = False  # whether none is a neighbour of another
