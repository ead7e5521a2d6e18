"""What weights are told in a round, by which rule they learn from it, and what they give back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

import msgspec
import numpy as np

from semibandit._validate import FloatArray, IntArray
from semibandit.functions import PiecewiseLinear
from semibandit.weights import _told

if TYPE_CHECKING:
    from semibandit.weights import Weights

__all__ = ["Learned", "Rule", "Seen", "Step", "united"]

_NONE = np.empty(0)
_NO_TABLE = np.empty((_told.ROWS, 0))
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
    times: IntArray = _ONCE  # how many looks of the round fell into each set
    p: FloatArray | None = None  # the probability that each set is seen, where it is on record
    shares_at_ask: Callable[[FloatArray], FloatArray] | None = None  # between edges, where a tell is late
    single: bool = False  # only the loss at a point was told, and is taken to hold nearby

    @property
    def n_edges(self) -> int:
        """The number of edges."""
        return self.edges.size

    @property
    def lo(self) -> float:
        """Where the first piece begins."""
        return float(self.edges[0])

    @property
    def hi(self) -> float:
        """Where the last piece ends."""
        return float(self.edges[-1])

    @property
    def sloped(self) -> bool:
        """Whether losses vary within a piece."""
        return self.losses[0] is not self.losses[1]

    def in_arrays(self) -> Seen:
        """The same."""
        return self

    def table(self) -> FloatArray:
        """A fresh table of steps, as kernels take it (see `_told`)."""
        table = np.zeros((_told.ROWS, self.edges.size))
        table[_told.EDGE] = self.edges
        table[_told.LOSS, :-1] = self.losses[0]
        table[_told.SET, :-1] = self.sets
        table[_told.TIMES, : self.times.size] = self.times
        table[_told.CHANCE, : self.times.size] = self.chances()
        return table

    def chances_in(self, table: FloatArray, first: float) -> tuple[float, ...]:
        """The probabilities that the sets are seen, from the table that a kernel has completed."""
        return tuple(table[_told.CHANCE, : self.times.size].tolist())

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


class Step(msgspec.Struct, frozen=True, gc=False):
    """What most rounds show: one loss between two edges. A `Seen` in plain numbers, quick to hand over."""

    lo: float
    hi: float
    paid: float
    home: float
    whole: bool = False
    single: bool = False

    n_edges: ClassVar[int] = 2
    sloped: ClassVar[bool] = False
    shares_at_ask: ClassVar[None] = None

    def in_arrays(self) -> Seen:
        """The same, as it is told together with other looks, or late."""
        edges, losses = np.array((self.lo, self.hi)), np.array((self.paid,))
        sets = np.zeros(1, np.int64)
        return Seen(edges, (losses, losses), sets, self.paid, self.home, self.whole, single=self.single)

    @property
    def edges(self) -> FloatArray:
        """The two edges."""
        return np.array((self.lo, self.hi))

    def table(self) -> FloatArray:
        """An empty one: kernels take the numbers."""
        return _NO_TABLE

    def chances_in(self, table: FloatArray, first: float) -> tuple[float, ...]:
        """The probability that the only set is seen, which a kernel returns."""
        return (first,)

    def late_shares(self) -> FloatArray:
        """Nothing: what is told late is told `in_arrays`."""
        return _NONE


class Rule(msgspec.Struct, frozen=True, gc=False):
    """How losses become estimates: max((loss - shift) / (p + explore), floor), learned at a rate.

    The shift is a function, as weights with a baseline of their own never ask for it.
    """

    shift: Callable[[], float]
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
    p: tuple[float, ...]
    gap: float
    factors: Sequence[float] | FloatArray | None = None
    clipped: float = 0.0
    most_clipped: float = 0.0
    kept: float = 1.0
    speed: float = 0.0
    remembered: float = 1.0


def united(looks: list[tuple[float, Seen | Step]]) -> Seen | Step:
    """What several looks at one instance have shown together, each set once.

    A look is where it stands on the line, and what it has shown. Sets form a partition: a look that stands in
    a set seen before has shown the same set again.
    """
    if len(looks) == 1:
        return looks[0][1]
    spelled = [(home, seen.in_arrays()) for home, seen in looks]
    first = spelled[0][1]
    whole = next((seen for _, seen in spelled if seen.whole), None)
    if whole is not None:
        return msgspec.structs.replace(whole, paid=first.paid)
    distinct: list[Seen] = []
    times: list[int] = []
    for home, seen in spelled:
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
        times=np.array(times),
        single=all(seen.single for seen in distinct),
    )


def _covers(seen: Seen, x: float) -> bool:
    inside = (seen.edges[:-1] <= x) & (x < seen.edges[1:]) & (seen.sets >= 0)
    return bool(inside.any() or (x == seen.edges[-1] and seen.sets[-1] >= 0))
