"""What a step of learning gives back."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from semibandit._validate import FloatArray

if TYPE_CHECKING:
    from semibandit.weights import Weights

__all__ = ["Learned"]


class Learned(NamedTuple):
    """The weights after a step, the probability that it used, its mixability gap, and what it did.

    `weights` are the same object where they were changed in place; `factors` are then the logarithms of the
    factors on the pieces that were told, with which the step can be undone.
    """

    weights: Weights
    p: float
    gap: float
    factors: FloatArray | None = None
