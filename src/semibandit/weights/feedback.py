"""Feedback of a round, as weights take it, and the update that it leads to."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np
from msgspec.structs import replace

from semibandit._validate import FloatArray, IntArray
from semibandit.functions import PiecewiseLinear

if TYPE_CHECKING:
    from semibandit.weights import Weights

__all__ = ["Beside", "Feedback", "Revealed", "Rule", "Update", "combined"]

_NONE = np.empty((3, 0))
_ONE_LOOK = np.ones(1, np.int64)
_ONE_SET = np.zeros(1, np.int64)
_HEAVY = 1.0 / 64.0  # a piece with a larger share of the mass is halved for losses with a slope


class Beside(NamedTuple):
    """Weights that took part in the play, unchanged since the ask, and their part."""

    weights: Weights
    part: float


class Feedback(msgspec.Struct, frozen=True, gc=False):
    """Losses in [0, 1] on pieces of the line, grouped into the feedback sets that were observed.

    Set 0 contains the parameter that was played; a round with probes may observe other sets.

    Parameters
    ----------
    edges, losses, sets
        The ends of the pieces, the mean loss on each (nan: not observed), and the index of the set that
        it belongs to (-1: not observed).
    paid, position
        The loss of the parameter that was played, and its place on the line.
    whole
        The pieces cover the line: full information.
    single
        A single loss, taken to hold on the cell around the parameter.
    averaged
        A single loss was told whose cell holds several parameters.
    looks
        For each set, the number of looks of the round (the play and its probes) that fell into it.
    rises
        For each piece, the loss at its right end minus that at its left end; None for steps.
    recorded
        The probability that one draw falls into each set, if it is on record.
    shares_at_ask
        For a late tell, or one in a context: maps edges to the `Weights.shares` between them at the time of
        the ask.
    beside
        For a prompt tell in a context: the other weights of the mixture that was played. Weights may use
        them instead of `shares_at_ask`, which gives the same numbers.
    """

    edges: FloatArray
    losses: FloatArray
    sets: IntArray
    paid: float
    position: float
    whole: bool = False
    single: bool = False
    looks: IntArray = _ONE_LOOK
    rises: FloatArray | None = None
    recorded: FloatArray | None = None
    shares_at_ask: Callable[[FloatArray], FloatArray] | None = None
    averaged: bool = False
    beside: Beside | None = None

    @classmethod
    def step(
        cls, lo: float, hi: float, loss: float, position: float, *, whole: bool = False, single: bool = False
    ) -> Feedback:
        """Return the feedback of most rounds: one loss on [lo, hi)."""
        return cls(np.array((lo, hi)), np.array((loss,)), _ONE_SET, loss, position, whole, single)

    def revealed(self) -> Revealed:
        """Return the arguments of kernels; a probability of -1 is computed by the kernel."""
        if self.recorded is not None:
            p = np.array(self.recorded)
        else:
            p = np.array((1.0 if self.whole else -1.0,) * self.looks.size)
        return Revealed(self.edges, self.losses, self.sets, self.looks, p)

    def late_shares(self, edges: FloatArray) -> FloatArray:
        """Return the shares between edges at the time of the ask; an empty array if the tell is prompt."""
        return _NONE if self.shares_at_ask is None else self.shares_at_ask(edges)

    def minus(self, amount: float) -> Feedback:
        """Return the feedback with this amount subtracted from all losses."""
        return replace(self, losses=self.losses - amount, paid=self.paid - amount)

    def place_inside(self, x: float) -> float:
        """Return the place, or the double before it if it is the closed right end of an observed stretch."""
        inside = (self.edges[:-1] <= x) & (x < self.edges[1:]) & (self.sets == 0)
        return x if inside.any() else math.nextafter(x, -math.inf)

    def in_steps(self, edges: FloatArray, shares: FloatArray) -> Feedback:
        """Replace lines by their means over pieces, cut at `edges` and halved where the mass is. O(P).

        `shares` are the shares of the mass between `edges`: a piece with more than 1/64 of it is halved.
        """
        assert self.rises is not None
        middles = (0.5 * edges[:-1] + 0.5 * edges[1:])[shares > _HEAVY]
        cuts = np.concatenate((edges, middles))
        fine = np.union1d(self.edges, cuts[(self.edges[0] < cuts) & (cuts < self.edges[-1])])
        left, right = self.losses - 0.5 * self.rises, self.losses + 0.5 * self.rises
        left, right = PiecewiseLinear.trusted(self.edges, left, right).spread(fine)
        sets = self.sets[np.searchsorted(self.edges, fine[:-1], side="right") - 1]
        return replace(self, edges=fine, losses=0.5 * (left + right), rises=right - left, sets=sets)


class Revealed(NamedTuple):
    """What a round reveals, for kernels (see `Feedback`)."""

    edges: FloatArray
    losses: FloatArray
    sets: IntArray
    looks: IntArray
    p: FloatArray  # probabilities of the sets, which the kernel writes


class Rule(NamedTuple):
    """Estimates are max((loss - shift) / (p + explore), floor); weights are exp(-rate · their sum).

    Weights that adapt the rate themselves use `log_term`, and the inner range [low, high] of the losses,
    which is known in stage 3, and provisional in stages 1 and 2 (see `LossRange`).
    """

    shift: float
    explore: float
    floor: float
    rate: float
    log_term: float = 0.0
    low: float = 0.0
    high: float = 1.0
    stage: int = 3


class Update(msgspec.Struct, frozen=True, gc=False):
    """Result of one step of Algorithm 1.

    Parameters
    ----------
    weights
        The weights after the step; the same object if they changed in place.
    p
        The probability that one draw falls into each set, at the time of the ask.
    gap
        The mixability gap of the step by the shares at the time of the ask, for the learning rate.
    regret
        The expected estimate at the time of the ask plus ln(mean of exp(-rate · estimate))/rate by the
        shares now, for certificates. Equal to the gap if the tell is prompt.
    rate
        The learning rate after the step, if the weights adapt it themselves.
    edges, factors
        The pieces that changed and the logarithms of the factors there, if the step can be undone with them.
    raised
        By how much the floor raised an estimate at most.
    """

    weights: Weights
    p: tuple[float, ...]
    gap: float = 0.0
    regret: float = 0.0
    rate: float | None = None
    edges: FloatArray | None = None
    factors: FloatArray | None = None
    raised: float = 0.0


def combined(observed: list[tuple[float, Feedback]]) -> Feedback:
    """Combine the looks of one round into one `Feedback`, each set once.

    A look is its position on the line and its feedback. Sets form a partition: a look whose position lies
    in a set that was observed before has observed the same set again.
    """
    first = observed[0][1]
    if len(observed) == 1:
        return first
    whole = next((one for _, one in observed if one.whole), None)
    if whole is not None:
        return replace(whole, paid=first.paid, position=first.position)
    distinct: list[Feedback] = []
    looks: list[int] = []
    for position, one in observed:
        known = next((i for i, other in enumerate(distinct) if _covers(other, position)), None)
        if known is None:
            distinct.append(one)
            looks.append(1)
        else:
            looks[known] += 1
    edges = np.unique(np.concatenate([one.edges for one in distinct]))
    left, right = np.full((2, edges.size - 1), np.nan)
    sets = np.full(edges.size - 1, -1)
    for i, one in enumerate(distinct):
        half = np.zeros(one.losses.size) if one.rises is None else 0.5 * one.rises
        ends = PiecewiseLinear.trusted(one.edges, one.losses - half, one.losses + half).spread(edges)
        new = ~np.isnan(ends[0]) & (sets < 0)
        left[new], right[new], sets[new] = ends[0][new], ends[1][new], i
    steps = all(one.rises is None for one in distinct)
    return Feedback(
        edges,
        0.5 * (left + right),
        sets,
        first.paid,
        first.position,
        single=all(one.single for one in distinct),
        looks=np.array(looks),
        rises=None if steps else right - left,
        averaged=any(one.averaged for one in distinct),
    )


def _covers(feedback: Feedback, x: float) -> bool:
    inside = (feedback.edges[:-1] <= x) & (x < feedback.edges[1:]) & (feedback.sets >= 0)
    return bool(inside.any() or (x == feedback.edges[-1] and feedback.sets[-1] >= 0))
