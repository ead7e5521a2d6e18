"""What weights are told in a round, by which rule they learn from it, and what they give back."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np

from semibandit._validate import FloatArray, IntArray
from semibandit.functions import PiecewiseLinear

if TYPE_CHECKING:
    from semibandit.weights import Weights

__all__ = ["Learned", "Rule", "Seen", "united"]

_NONE = np.empty(0)
_ONCE = np.ones(1, np.int64)


class Seen(msgspec.Struct, frozen=True, gc=False):
    """What a round has shown, on the line: losses in [0, 1] between edges, in the sets that were seen.

    Set 0 is the one that holds the parameter that was played; a round with probes may show others.
    """

    edges: FloatArray
    losses: tuple[FloatArray, FloatArray]  # at both ends of each piece, for steps the same array twice
    sets: IntArray  # the set that each piece belongs to, -1 where nothing was seen
    paid: float  # the loss at the parameter that was played
    home: float  # the place of that parameter
    whole: bool = False  # everything was seen: no more was to be known
    draws: int = 1  # parameters looked at in the round; a set is seen if one of them falls into it
    times: IntArray = _ONCE  # how many of them fell into each set
    p: FloatArray | None = None  # the probability that each set is seen, where it is on record
    shares_at_ask: Callable[[FloatArray], FloatArray] | None = None  # between edges, where a tell is late
    single: bool = False  # only the loss at a point was told, and is taken to hold nearby

    def chances(self) -> FloatArray:
        """A fresh array of the probabilities that the sets are seen; negative: still to be computed."""
        if self.p is not None:
            return np.array(self.p)
        p = np.empty(self.times.size)
        p.fill(1.0 if self.whole else -1.0)
        return p

    def late_shares(self) -> FloatArray:
        """The shares of the pieces at the time of the ask where that is past; nothing where it is now."""
        return _NONE if self.shares_at_ask is None else self.shares_at_ask(self.edges)


class Rule(NamedTuple):
    """How losses become estimates: max((loss - shift) / (p + explore), floor), learned at a rate."""

    shift: float
    explore: float
    floor: float
    rate: float


class Learned(msgspec.Struct, frozen=True, gc=False):
    """The weights after a step, the probability that each set is seen, the mixability gap, what was done.

    `weights` are the same object where they were changed in place; `factors` are then the logarithms of the
    factors on the pieces that were told, with which the step can be undone. `clipped` is by how much the
    floor has raised estimates in the mean, `most_clipped` at most, where weights do not keep account of it.
    Where drift is believed in, `speed` says how much; `kept` is then the part of the weights' past that still
    counts, and `remembered` that of statistics.
    """

    weights: Weights
    p: FloatArray
    gap: float
    factors: FloatArray | None = None
    clipped: float = 0.0
    most_clipped: float = 0.0
    kept: float = 1.0
    speed: float = 0.0
    remembered: float = 1.0


def united(looks: list[tuple[float, Seen]]) -> Seen:
    """What several looks at one instance have shown together, each set once.

    A look is where it stands on the line, and what it has shown. Sets form a partition: a look that stands in
    a set seen before has shown the same set again.
    """
    first = looks[0][1]
    if len(looks) == 1:
        return first
    whole = next((seen for _, seen in looks if seen.whole), None)
    if whole is not None:
        return msgspec.structs.replace(whole, paid=first.paid)
    distinct: list[Seen] = []
    times: list[int] = []
    for home, seen in looks:
        known = next((i for i, other in enumerate(distinct) if _covers(other, home)), None)
        if known is None:
            distinct.append(seen)
            times.append(1)
        else:
            times[known] += 1
    edges = np.unique(np.concatenate([seen.edges for seen in distinct]))
    left, right = np.full((2, edges.size - 1), np.nan)
    sets = np.full(edges.size - 1, -1)
    for i, seen in enumerate(distinct):
        ends = PiecewiseLinear.trusted(seen.edges.copy(), *map(np.copy, seen.losses)).spread(edges)
        new = ~np.isnan(ends[0]) & (sets < 0)
        left[new], right[new], sets[new] = ends[0][new], ends[1][new], i
    steps = all(seen.losses[0] is seen.losses[1] for seen in distinct)
    return Seen(
        edges,
        (left, left if steps else right),
        sets,
        first.paid,
        first.home,
        draws=len(looks),
        times=np.array(times),
        single=all(seen.single for seen in distinct),
    )


def _covers(seen: Seen, x: float) -> bool:
    inside = (seen.edges[:-1] <= x) & (x < seen.edges[1:]) & (seen.sets >= 0)
    return bool(inside.any() or (x == seen.edges[-1] and seen.sets[-1] >= 0))
