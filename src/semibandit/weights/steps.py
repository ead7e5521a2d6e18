"""What weights are told in a round, by which rule they learn from it, and what they give back."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from semibandit._validate import FloatArray, IntArray

if TYPE_CHECKING:
    from semibandit.weights import Weights

__all__ = ["Learned", "Rule", "Seen"]

_NONE = np.empty(0)


class Seen(NamedTuple):
    """What a round has shown, on the line: losses in [0, 1] between edges, in the sets that were seen.

    Set 0 is the one that holds the parameter that was played; a round with probes may show others.
    """

    edges: FloatArray
    losses: tuple[FloatArray, FloatArray]  # at both ends of each piece, for steps the same array twice
    sets: IntArray  # the set that each piece belongs to, -1 where nothing was seen
    paid: float  # the loss at the parameter that was played
    whole: bool = False  # everything was seen: no more was to be known
    draws: int = 1  # parameters looked at in the round; a set is seen if one of them falls into it
    p: FloatArray | None = None  # the probability that each set is seen, where it is on record
    shares_at_ask: Callable[[FloatArray], FloatArray] | None = None  # between edges, where a tell is late

    def chances(self) -> FloatArray:
        """A fresh array of the probabilities that the sets are seen; negative: still to be computed."""
        if self.p is not None:
            return np.array(self.p)
        return np.full(int(self.sets.max()) + 1, 1.0 if self.whole else -1.0)

    def late_shares(self) -> FloatArray:
        """The shares of the pieces at the time of the ask where that is past; nothing where it is now."""
        return _NONE if self.shares_at_ask is None else self.shares_at_ask(self.edges)


class Rule(NamedTuple):
    """How losses become estimates: max((loss - shift) / (p + explore), floor), learned at a rate."""

    shift: float
    explore: float
    floor: float
    rate: float


class Learned(NamedTuple):
    """The weights after a step, the probability that each set is seen, the mixability gap, what was done.

    `weights` are the same object where they were changed in place; `factors` are then the logarithms of the
    factors on the pieces that were told, with which the step can be undone. `clipped` bounds by how much the
    floor has raised estimates, `moved` by how much joins have moved the logarithm of a weight.
    """

    weights: Weights
    p: FloatArray
    gap: float
    factors: FloatArray | None = None
    clipped: float = 0.0
    moved: float = 0.0
